#include <sinew/measure/flicker.h>

#include <cmath>

#include <gtest/gtest.h>

namespace sinew {
namespace {

SkinWeights two_bones(std::size_t vertices) {
  SkinWeights weights;
  for (std::size_t v = 0; v < vertices; ++v) {
    weights.joints.insert(weights.joints.end(), {0, 1});
    weights.values.insert(weights.values.end(), {0.3f, 0.7f});
    weights.starts.push_back(static_cast<std::uint32_t>(weights.joints.size()));
  }
  return weights;
}

std::vector<Affine3d> bones_at(int frame) {
  std::vector<Affine3d> bones(2, Affine3d::Identity());
  bones[0].pretranslate(Vec3d(9, 9, frame * frame));
  bones[1].rotate(Eigen::AngleAxisd(0.4 * frame * frame, Vec3d(1, 1, 0).normalized()));
  bones[1].pretranslate(Vec3d(std::sin(frame), 0, 3 * frame));
  return bones;
}

const std::vector<Vec3f> kRest = {{0, 0, 0}, {1, 0, 0}, {0, 2, 0}, {1, 1, 1}};

std::vector<Vec3f> carried(const std::vector<Vec3f>& rest, const Affine3d& bone) {
  std::vector<Vec3f> positions;
  for (const Vec3f& p : rest) positions.push_back((bone * p.cast<double>()).cast<float>());
  return positions;
}

TEST(Flicker, RidingOnTheStrongestBoneIsNone) {
  FlickerMeter meter(two_bones(4), std::vector<std::uint8_t>(4, 1));
  for (int frame = 0; frame < 6; ++frame) {
    const auto bones = bones_at(frame);
    const auto flicker = meter.add(carried(kRest, bones[1]), bones);
    ASSERT_EQ(flicker.has_value(), frame >= 2);
    if (flicker) {
      EXPECT_LT(flicker->largest, 1e-5);
    }
  }
}

TEST(Flicker, OneVertexToAndFro) {
  // +a, -a, +a …: the second difference is 4a, on one vertex of four.
  const float a = 0.01f;
  FlickerMeter meter(two_bones(4), std::vector<std::uint8_t>(4, 1));
  for (int frame = 0; frame < 5; ++frame) {
    std::vector<Vec3f> shaken = kRest;
    shaken[2] += Vec3f(0, 0, frame % 2 == 0 ? a : -a);
    const auto bones = bones_at(frame);
    const auto flicker = meter.add(carried(shaken, bones[1]), bones);
    if (frame < 2) continue;
    EXPECT_NEAR(flicker->largest, 4 * a, 1e-5);
    EXPECT_NEAR(flicker->rms, 4 * a / std::sqrt(4.0), 1e-5);
  }
}

TEST(Flicker, SteadySlidingIsNoneAndAcceleratingIsItsAcceleration) {
  FlickerMeter steady(two_bones(4), std::vector<std::uint8_t>(4, 1));
  FlickerMeter faster(two_bones(4), std::vector<std::uint8_t>(4, 1));
  for (int frame = 0; frame < 4; ++frame) {
    std::vector<Vec3f> slid = kRest, sped = kRest;
    for (Vec3f& p : slid) p.x() += 0.1f * static_cast<float>(frame);
    for (Vec3f& p : sped) p.y() += 0.05f * static_cast<float>(frame * frame);
    const auto none = steady.add(slid, {});
    const auto some = faster.add(sped, {});
    if (frame < 2) continue;
    EXPECT_LT(none->rms, 1e-6);
    EXPECT_NEAR(some->rms, 0.1, 1e-6);
  }
}

TEST(Flicker, LeavesOutWhatCannotBeSeen) {
  // Each vertex on a bone of its own. Vertex 1 does not count, vertex 0's bone is flat in the second frame;
  // both leap about. Vertex 2 goes to and fro by a known amount, vertex 3 rests.
  SkinWeights weights;
  for (std::uint32_t v = 0; v < 4; ++v) {
    weights.joints.push_back(v);
    weights.values.push_back(1);
    weights.starts.push_back(v + 1);
  }
  const float a = 0.01f;
  const auto measure = [&](bool flat, std::uint8_t counts_one) {
    FlickerMeter meter(weights, std::vector<std::uint8_t>{1, counts_one, 1, 1});
    std::optional<Flicker> flicker;
    for (int frame = 0; frame < 3; ++frame) {
      std::vector<Affine3d> bones(4, Affine3d::Identity());
      if (flat && frame == 1) bones[0].scale(Vec3d(1, 0, 1));
      std::vector<Vec3f> positions = kRest;
      const float side = frame % 2 == 0 ? 1.0f : -1.0f;
      positions[0] += Vec3f(side, 0, 0);
      positions[1] += Vec3f(0, 2 * side, 0);
      positions[2] += Vec3f(0, 0, a * side);
      flicker = meter.add(positions, bones);
    }
    return flicker.value();
  };
  const Flicker two = measure(true, 0);
  EXPECT_NEAR(two.largest, 4 * a, 1e-6);
  EXPECT_NEAR(two.rms, 4 * a / std::sqrt(2.0), 1e-6);
  // Neither is left out for another reason.
  EXPECT_NEAR(measure(false, 0).largest, 4, 1e-6);
  EXPECT_NEAR(measure(true, 1).largest, 8, 1e-6);
  std::optional<Flicker> flicker;
  FlickerMeter nothing(SkinWeights{}, {});
  for (int frame = 0; frame < 3; ++frame) flicker = nothing.add({}, {});
  EXPECT_EQ(flicker->rms, 0);
}

}  // namespace
}  // namespace sinew
