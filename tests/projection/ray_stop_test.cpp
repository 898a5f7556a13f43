#include <sinew/projection/ray_stop.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <sinew/core/index.h>

namespace sinew {
namespace {

constexpr int kSamples = 8;
constexpr float kWidth = 0.03f, kFade = 0.17f, kReach = 0.85f;

using Runs = std::vector<OverlapRun>;

/// A run that is on the same side throughout.
OverlapRun even_run(float from, float to, float side) {
  OverlapRun run;
  run.from = from, run.to = to;
  std::fill(std::begin(run.side), std::end(run.side), side);
  return run;
}

Runs random_runs(std::mt19937& random, int samples, int most = 4) {
  std::uniform_real_distribution<float> number(0, 1);
  std::vector<float> places(2 * std::uniform_int_distribution<std::size_t>(0, to_size(most))(random));
  for (float& place : places) place = number(random);
  std::sort(places.begin(), places.end());
  Runs runs;
  for (std::size_t i = 0; i < places.size(); i += 2) {
    runs.push_back(even_run(places[i], places[i + 1], 0));
    for (int k = 0; k < samples; ++k) runs.back().side[k] = 0.05f * (number(random) - 0.5f);
  }
  return runs;
}

/// T' = −clamp(½ − side / width) / fade from T = 1, and ∫ T, in many small steps.
double stepped(std::span<const OverlapRun> runs, int samples, double width, double fade) {
  constexpr int kSteps = 20000;
  double left = 1, stop = 0;
  for (int step = 0; step < kSteps; ++step) {
    const double t = (step + 0.5) / kSteps;
    double rate = 0;
    for (const OverlapRun& run : runs) {
      if (!(t >= run.from && t < run.to)) continue;
      const double place = (t - run.from) / (double{run.to} - run.from) * samples;
      const double side = run.side[std::min(static_cast<int>(place), samples - 1)];
      rate = std::clamp(0.5 - side / width, 0.0, 1.0) / fade;
    }
    const double next = std::max(left - rate / kSteps, 0.0);
    stop += (left + next) / 2 / kSteps;
    left = next;
  }
  return stop;
}

/// Each run's part in where the first crossing is, by how far it holds the vertex.
double stepped_on_ray(std::span<const OverlapRun> runs, int samples, double width, double fade,
                      double reach) {
  double stop = 1;
  for (std::size_t k = 0; k < runs.size(); ++k) {
    const double part =
        stepped(runs.subspan(k + 1), samples, width, fade) - stepped(runs.subspan(k), samples, width, fade);
    stop -= std::clamp(1 - (1 - double{runs[k].to}) / reach, 0.0, 1.0) * part;
  }
  return stop;
}

float soft(const Runs& runs) {
  return soft_first_crossing(runs, kSamples, kWidth, kFade);
}

float on_ray(const Runs& runs, float reach = kReach) {
  return stop_on_ray(runs, kSamples, kWidth, kFade, reach);
}

TEST(SoftFirstCrossing, IsTheIntegralThatItSays) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 40; ++trial) {
    const int samples = trial % 2 == 0 ? kSamples : 1 + trial % OverlapRun::kMostSamples;
    const Runs runs = random_runs(random, samples);
    const float fade = trial % 3 == 0 ? 0.5f : kFade;
    EXPECT_NEAR(soft_first_crossing(runs, samples, kWidth, fade), stepped(runs, samples, kWidth, fade), 1e-3)
        << trial;
  }
}

TEST(SoftFirstCrossing, KnownCases) {
  EXPECT_EQ(soft({}), 1);
  EXPECT_FLOAT_EQ(soft({even_run(0.2f, 0.9f, 1)}), 1);  // all on its own side
  // Wholly beyond: T falls from 1 to 0 over `fade`, and half of that is still gone.
  EXPECT_NEAR(soft({even_run(0.3f, 0.9f, -1)}), 0.3f + kFade / 2, 1e-6);
  EXPECT_NEAR(soft({even_run(0.3f, 0.9f, -0.5f * kWidth)}), 0.3f + kFade / 2, 1e-6);
  EXPECT_NEAR(soft({even_run(0.3f, 0.9f, 0.5f * kWidth)}), 1, 1e-6);
  EXPECT_NEAR(soft({even_run(0.3f, 0.9f, 0)}), 0.3f + kFade, 1e-6);  // half as fast
  // Too short to use up T: the rest of the ray keeps what is left.
  const float left = 1 - 0.1f / kFade;
  EXPECT_NEAR(soft({even_run(0.3f, 0.4f, -1)}), 0.3f + 0.1f * (1 + left) / 2 + 0.6f * left, 1e-6);
  EXPECT_NEAR(soft({even_run(0, 1, -1)}), kFade / 2, 1e-6);
  // Once nothing is left, what comes is nothing.
  EXPECT_FLOAT_EQ(soft({even_run(0.1f, 0.5f, -1), even_run(0.6f, 0.9f, -1)}),
                  soft({even_run(0.1f, 0.5f, -1)}));
  // Own side until the middle of the run.
  OverlapRun run = even_run(0.2f, 1, 1);
  for (int k = 4; k < kSamples; ++k) run.side[k] = -1;
  EXPECT_NEAR(soft({run}), 0.6f + kFade / 2, 1e-6);
}

TEST(SoftFirstCrossing, MoreBeyondTheContactNeverGoesFurther) {
  std::mt19937 random(2);
  std::uniform_real_distribution<float> number(0, 0.02f);
  for (int trial = 0; trial < 300; ++trial) {
    Runs runs = random_runs(random, kSamples);
    const float before = soft(runs);
    EXPECT_GE(before, 0);
    EXPECT_LE(before, 1 + 1e-6f);
    for (OverlapRun& run : runs)
      for (float& side : run.side) side -= number(random);
    EXPECT_LE(soft(runs), before + 1e-6f);
  }
}

TEST(StopOnRay, WithoutRunsIsTheVertex) {
  EXPECT_EQ(on_ray({}), 1);
  EXPECT_FLOAT_EQ(on_ray({even_run(0.1f, 0.9f, 1), even_run(0.95f, 1, 1)}), 1);
}

TEST(StopOnRay, AgreesWithSmallSteps) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 20; ++trial) {
    const Runs runs = random_runs(random, kSamples, 3);
    const float reach = trial % 2 == 0 ? kReach : 0.3f;
    EXPECT_NEAR(on_ray(runs, reach), stepped_on_ray(runs, kSamples, kWidth, kFade, reach), 3e-3) << trial;
  }
}

TEST(StopOnRay, RunsThatHoldTheVertexCountWholly) {
  std::mt19937 random(4);
  for (int trial = 0; trial < 100; ++trial) {
    Runs runs = random_runs(random, kSamples, 1);
    if (runs.empty()) continue;
    runs[0].to = 1;
    EXPECT_NEAR(on_ray(runs), soft(runs), 1e-6);
    EXPECT_NEAR(on_ray(runs, 1e-3f), soft(runs), 1e-6);
  }
  EXPECT_LT(on_ray({even_run(0.9f, 1, -1)}), 0.98f);
}

TEST(StopOnRay, RunsThatDoNotHoldTheVertexFadeWithReach) {
  const float whole = 1 - soft({even_run(0.1f, 0.4f, -1)});
  ASSERT_GT(whole, 0.7f);
  for (const float reach : {0.7f, 0.8f, 1.2f, 5.0f})
    EXPECT_NEAR(1 - on_ray({even_run(0.1f, 0.4f, -1)}, reach), whole * (1 - 0.6f / reach), 1e-6) << reach;
  EXPECT_FLOAT_EQ(on_ray({even_run(0.1f, 0.4f, -1)}, 0.6f), 1);
  EXPECT_FLOAT_EQ(on_ray({even_run(0.1f, 0.4f, -1)}, 0.2f), 1);
  // The one that is far away counts for nothing, the one at the vertex all the same.
  const OverlapRun far = even_run(0.05f, 0.2f, -1), near = even_run(0.8f, 1, -1);
  EXPECT_FLOAT_EQ(on_ray({far, near}, 0.5f), on_ray({near}, 0.5f));
  // The nearer it ends to the vertex, the more it counts.
  float before = 1;
  for (const float to : {0.3f, 0.5f, 0.7f, 0.9f, 1.0f}) {
    const float stop = on_ray({even_run(0.1f, to, -1)});
    EXPECT_LT(stop, before);
    before = stop;
  }
}

TEST(StopOnRay, StaysOnTheRay) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 300; ++trial) {
    const Runs runs = random_runs(random, kSamples, 8);
    for (const float reach : {0.01f, 0.4f, 9.0f}) {
      EXPECT_GE(on_ray(runs, reach), soft(runs) - 1e-5f);
      EXPECT_LE(on_ray(runs, reach), 1);
    }
  }
}

TEST(StopOnRay, RunsWithoutLengthDoNothing) {
  std::mt19937 random(6);
  std::uniform_real_distribution<float> number(0, 1);
  for (int trial = 0; trial < 200; ++trial) {
    const Runs runs = random_runs(random, kSamples);
    // Before, between or behind the others.
    const std::size_t place = std::uniform_int_distribution<std::size_t>(0, runs.size())(random);
    const float low = place == 0 ? 0.0f : runs[place - 1].to,
                high = place == runs.size() ? 1.0f : runs[place].from;
    const float at = trial % 5 == 0 ? high : low + number(random) * (high - low);
    Runs more = runs;
    more.insert(more.begin() + static_cast<std::ptrdiff_t>(place), even_run(at, at, -1));
    EXPECT_NEAR(soft(more), soft(runs), 1e-6);
    EXPECT_NEAR(on_ray(more), on_ray(runs), 2e-6);
    // It comes from there without a jump.
    more[place].to = std::min(at + 1e-4f, high);
    EXPECT_NEAR(on_ray(more), on_ray(runs), 1e-4f / kFade + 1e-5f);
  }
}

TEST(StopOnRay, SmallChangesStaySmall) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> number(-1, 1);
  double steepest = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const Runs runs = random_runs(random, kSamples);
    if (runs.empty()) continue;
    const auto count = static_cast<float>(runs.size());
    // Places: every border of a piece moves, and there the rate steps by at most 1/fade; and what a run
    // counts.
    const float moved = 1e-4f, per_run = moved * static_cast<float>(kSamples + 1) / kFade;
    Runs changed = runs;
    float last = 0;
    for (OverlapRun& run : changed) {
      run.from = std::clamp(run.from + moved * number(random), last, 1.0f);
      run.to = std::clamp(run.to + moved * number(random), run.from, 1.0f);
      last = run.to;
    }
    const float change = std::abs(on_ray(changed) - on_ray(runs));
    EXPECT_LE(std::abs(soft(changed) - soft(runs)), count * per_run + 1e-5f) << trial;
    EXPECT_LE(change, 2 * count * count * per_run + count * moved / kReach + 1e-5f) << trial;
    steepest = std::max(steepest, double{change} / double{moved});
    // Sides: the rate changes by at most change / width / fade.
    const float other = 1e-4f, bound = other / kWidth / kFade;
    changed = runs;
    for (OverlapRun& run : changed)
      for (float& side : run.side) side += other * number(random);
    EXPECT_LE(std::abs(soft(changed) - soft(runs)), bound + 1e-5f) << trial;
    EXPECT_LE(std::abs(on_ray(changed) - on_ray(runs)), 2 * count * bound + 1e-5f) << trial;
    // Everything else.
    EXPECT_LE(std::abs(on_ray(runs, kReach + moved) - on_ray(runs)),
              count * moved / (kReach * kReach) + 1e-5f);
  }
  EXPECT_LT(steepest, 20);  // in practice far below the bound
}

// What a performance does: an overlap that grows from nothing while it is passed through.
TEST(StopOnRay, SlidesWithoutJumpsWhileAnOverlapPasses) {
  float before = 1;
  constexpr int kFrames = 2000;
  for (int frame = 0; frame <= kFrames; ++frame) {
    // A body 0.5 of the ray long comes in at the vertex and goes out at the bone.
    const float far = 1.5f - 1.5f * static_cast<float>(frame) / kFrames;
    const float from = std::clamp(far - 0.5f, 0.0f, 1.0f), to = std::clamp(far, 0.0f, 1.0f);
    const float stop = on_ray(from < to ? Runs{even_run(from, to, -1)} : Runs{});
    EXPECT_NEAR(stop, before, 1.5f / kFrames * (1 / kFade + 1 / kReach + 1)) << frame;
    before = stop;
  }
  EXPECT_NEAR(before, 1, 1e-2);
}

}  // namespace
}  // namespace sinew
