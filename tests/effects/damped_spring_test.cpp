#include <sinew/effects/damped_spring.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include <sinew/core/error.h>

namespace sinew {
namespace {

constexpr double kFar = 1e9;
constexpr double kTau = 2 * std::numbers::pi;

/// The closed form: u'' + 2ζω u' + ω² u = 0 from u(0) = u, u'(0) = 0.
double released(double frequency, double damping, double u, double t) {
  const double omega = kTau * frequency, decay = damping * omega;
  if (damping == 1) return std::exp(-decay * t) * u * (1 + decay * t);
  if (damping < 1) {
    const double d = omega * std::sqrt(1 - damping * damping);
    return std::exp(-decay * t) * u * (std::cos(d * t) + decay / d * std::sin(d * t));
  }
  const double d = omega * std::sqrt(damping * damping - 1);
  return std::exp(-decay * t) * u * (std::cosh(d * t) + decay / d * std::sinh(d * t));
}

SpringState stretched(double u) {
  SpringState state;
  state.started = true;
  state.stretch = Vec3d(u, 0, 0);
  return state;
}

TEST(DampedSpring, IsTheClosedFormInStepsOfAnyLength) {
  for (const double damping : {0.0, 0.1, 0.7, 1.0, 1.5, 4.0})
    for (const double step : {0.001, 1.0 / 60, 0.1, 0.37}) {
      const DampedSpring spring(2, damping);
      SpringState state = stretched(0.3);
      for (int i = 1; i * step < 2; ++i) {
        spring.step(state, Vec3d::Zero(), step, Vec3d::Zero(), kFar, kFar);
        ASSERT_NEAR(state.stretch.x(), released(2, damping, 0.3, i * step), 1e-9) << damping << " " << step;
      }
    }
}

TEST(DampedSpring, ConstantsAndFrequencyAreTheSame) {
  const DampedSpring spring = DampedSpring::from_constants(2, 50, 4);
  EXPECT_NEAR(spring.frequency(), 5 / kTau, 1e-12);
  EXPECT_NEAR(spring.damping(), 4 / (2 * 2 * 5.0), 1e-12);
  EXPECT_THROW(DampedSpring::from_constants(0, 50, 4), Error);
  EXPECT_THROW(DampedSpring::from_constants(1, -1, 4), Error);
  EXPECT_THROW(DampedSpring(0, 1), Error);
  EXPECT_THROW(DampedSpring(1, -0.1), Error);
  EXPECT_THROW(DampedSpring(std::nan(""), 0.1), Error);
}

TEST(DampedSpring, EnergyNeverGrowsWhileTheLeaderStands) {
  for (const double damping : {0.0, 0.05, 1.0, 3.0})
    for (const double frequency : {0.2, 3.0, 500.0}) {
      const DampedSpring spring(frequency, damping);
      SpringState state = stretched(0.2);
      double before = spring.energy(state);
      for (int i = 0; i < 200; ++i) {
        spring.step(state, Vec3d::Zero(), 1.0 / 24, Vec3d::Zero(), kFar, kFar);
        const double now = spring.energy(state);
        ASSERT_LE(now, before * (1 + 1e-9)) << damping << " " << frequency;
        before = now;
      }
    }
}

/// A leader that sets off, swings for three times and stops, smoothly.
Vec3d leader_at(double t) {
  const double s = std::clamp(t / 2, 0.0, 1.0), ease = s * s * s * (s * (6 * s - 15) + 10);
  return {0.4 * ease, 0.1 * ease * (1 - ease) * std::sin(kTau * 1.5 * t), 0.05 * std::sin(kTau * ease)};
}

TEST(DampedSpring, FrameRatesAgree) {
  for (const double frequency : {1.0, 2.0, 3.0, 4.5, 6.0})
    for (const double damping : {0.1, 0.3, 0.8}) {
      const DampedSpring spring(frequency, damping);
      const auto play = [&](double rate) {
        std::vector<Vec3d> every_sixth;
        SpringState state;
        for (int i = 0; i <= std::lround(3 * rate); ++i) {
          spring.step(state, leader_at(i / rate), 1 / rate, Vec3d::Zero(), kFar, kFar);
          if (i % std::lround(rate / 6) == 0) every_sixth.push_back(spring.shown(state, kFar));
        }
        return every_sixth;
      };
      const std::vector<Vec3d> fine = play(2400);
      double peak = 0;
      for (const Vec3d& u : fine) peak = std::max(peak, u.norm());
      for (const double rate : {24.0, 30.0, 60.0}) {
        const std::vector<Vec3d> coarse = play(rate);
        ASSERT_EQ(coarse.size(), fine.size());
        double worst = 0;
        for (std::size_t i = 0; i < fine.size(); ++i) worst = std::max(worst, (coarse[i] - fine[i]).norm());
        EXPECT_LT(worst, 0.02 * peak) << frequency << " Hz, " << damping << ", " << rate << " fps";
      }
    }
}

TEST(DampedSpring, BeginsInTheMidstOfARunWithoutABlow) {
  const DampedSpring spring(3, 0.1);
  SpringState state;
  for (int i = 0; i < 60; ++i) {
    spring.step(state, Vec3d(2 * i / 30.0, 0, 0), 1.0 / 30, Vec3d::Zero(), kFar, kFar);
    EXPECT_LT(state.stretch.norm(), 1e-12) << i;
  }
}

TEST(DampedSpring, HangsWhereAForcePullsIt) {
  const DampedSpring spring(2, 0.5);
  SpringState state;
  const Vec3d gravity(0, -9.81, 0);
  spring.step(state, Vec3d(1, 2, 3), 1.0 / 30, gravity, kFar, kFar);
  const Vec3d rest = gravity / std::pow(kTau * 2, 2);
  EXPECT_LT((state.stretch - rest).norm(), 1e-12) << "it begins at rest";
  for (int i = 0; i < 300; ++i) spring.step(state, Vec3d(1, 2, 3), 1.0 / 30, -gravity, kFar, kFar);
  EXPECT_LT((state.stretch + rest).norm(), 1e-9);
}

TEST(DampedSpring, StretchIsBoundedAndSmoothNearTheBound) {
  const DampedSpring spring(1, 0.05);
  SpringState state;
  const double most = 0.1;
  double last = 0, largest = 0;
  for (int i = 0; i < 400; ++i) {
    const double t = i / 60.0;
    spring.step(state, Vec3d(0.5 * std::sin(kTau * 0.9 * t), 0, 0), 1.0 / 60, Vec3d::Zero(), most, kFar);
    const double shown = spring.shown(state, most).x();
    EXPECT_LE(state.stretch.norm(), most * (1 + 1e-12));
    EXPECT_LT(std::abs(shown), most);
    EXPECT_LT(std::abs(shown - last), 0.5 * most);
    last = shown;
    largest = std::max(largest, std::abs(shown));
  }
  EXPECT_GT(largest, 0.8 * most);
  // At the bound it does not push outwards any more.
  state = stretched(most);
  state.velocity = Vec3d(50, 1, 0);
  spring.step(state, state.leader, 1e-6, Vec3d::Zero(), most, kFar);
  EXPECT_LT(state.velocity.x(), 1e-3);
  EXPECT_GT(state.velocity.y(), 0.9);
  // Below the bent part nothing is changed.
  EXPECT_EQ(spring.shown(stretched(0.5 * most), most).x(), 0.5 * most);
  // Strength counts before the bound, or takes a share of what is shown.
  for (const double stretch : {0.1, 0.5, 0.8, 1.0}) {
    const double usual = spring.shown(stretched(stretch * most), most).x();
    EXPECT_EQ(spring.shown(stretched(stretch * most), most, 1).x(), usual);
    EXPECT_EQ(spring.shown(stretched(stretch * most), most, 0.5).x(), 0.5 * usual);
    double before = usual;
    for (const double strength : {1.5, 4.0, 100.0}) {
      const double shown = spring.shown(stretched(stretch * most), most, strength).x();
      EXPECT_LE(shown, most * (1 + 1e-12));
      EXPECT_GE(shown, before);
      before = shown;
    }
  }
}

TEST(DampedSpring, LeapsAndBadStepsBeginAnew) {
  const DampedSpring spring(2, 0.2);
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const auto after = [&](const Vec3d& leader, double seconds, const Vec3d& force) {
    SpringState state = stretched(0.05);
    spring.step(state, leader, seconds, force, 0.1, 1);
    return state;
  };
  EXPECT_GT(after(Vec3d(0.2, 0, 0), 1.0 / 30, Vec3d::Zero()).stretch.norm(), 0.01);
  EXPECT_EQ(after(Vec3d(2, 0, 0), 1.0 / 30, Vec3d::Zero()).stretch, Vec3d(0, 0, 0)) << "a leap";
  EXPECT_EQ(after(Vec3d(0.2, 0, 0), 0, Vec3d::Zero()).stretch, Vec3d(0, 0, 0)) << "no time";
  EXPECT_EQ(after(Vec3d(0, 0, 0), 0, Vec3d::Zero()).stretch, Vec3d(0.05, 0, 0)) << "the same frame again";
  for (const SpringState& state :
       {after(Vec3d(nan, 0, 0), 0.1, Vec3d::Zero()), after(Vec3d::Zero(), nan, Vec3d::Zero()),
        after(Vec3d::Zero(), -1, Vec3d::Zero()), after(Vec3d::Zero(), 0.1, Vec3d(0, inf, 0))}) {
    EXPECT_TRUE(state.stretch.allFinite());
    EXPECT_TRUE(state.velocity.allFinite());
    SpringState next = state;
    for (int i = 0; i < 3; ++i) spring.step(next, Vec3d(0.1, 0, 0), 1.0 / 30, Vec3d::Zero(), 0.1, 1);
    EXPECT_TRUE(next.started);
    EXPECT_LE(next.stretch.norm(), 0.1);
  }
}

}  // namespace
}  // namespace sinew
