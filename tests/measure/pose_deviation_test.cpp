#include <sinew/measure/pose_deviation.h>

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace sinew {
namespace {

/// Two limbs of 40 vertices each, along x; a vertex belongs to its limb's binding.
struct Limbs {
  std::vector<Vec3f> rest;
  SkinWeights weights;
  std::vector<std::uint8_t> counts;

  Limbs() {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> jitter(-0.05f, 0.05f);
    for (std::uint32_t v = 0; v < 80; ++v) {
      const std::uint32_t limb = v / 40;
      rest.emplace_back(static_cast<float>(limb) + static_cast<float>(v % 40) / 40, jitter(random),
                        jitter(random));
      weights.joints.push_back(limb);
      weights.values.push_back(1);
      weights.starts.push_back(v + 1);
    }
    counts.assign(rest.size(), 1);
  }
};

std::vector<Affine3d> pose() {
  std::vector<Affine3d> posed(2, Affine3d::Identity());
  posed[0].pretranslate(Vec3d(3, 1, 0));
  posed[1].prerotate(Eigen::AngleAxisd(0.7, Vec3d::UnitY()));
  return posed;
}

std::vector<Vec3f> carried(const Limbs& limbs, const std::vector<Affine3d>& posed) {
  std::vector<Vec3f> positions;
  for (std::size_t v = 0; v < limbs.rest.size(); ++v)
    positions.push_back((posed[v / 40] * limbs.rest[v].cast<double>()).cast<float>());
  return positions;
}

TEST(PoseDeviation, OfRigidSkinIsNone) {
  const Limbs limbs;
  const PoseDeviationMeter meter(limbs.rest, limbs.weights, limbs.counts);
  const auto all = meter.measure(limbs.rest, carried(limbs, pose()), pose());
  ASSERT_EQ(all.size(), 2u);
  for (const BindingDeviation& d : all) EXPECT_LT(d.largest, 1e-6);
}

TEST(PoseDeviation, OfALimbThatIsTurnedIsItsTurn) {
  const Limbs limbs;
  const PoseDeviationMeter meter(limbs.rest, limbs.weights, limbs.counts);
  // The second limb turned by 10° about its middle: its ends go by 2 sin 5° of half its length.
  std::vector<Affine3d> elsewhere = pose();
  const Vec3d middle = elsewhere[1] * Vec3d(1.4875, 0, 0);
  elsewhere[1] = Eigen::Translation3d(middle) *
                 Eigen::AngleAxisd(10 * kDegree, elsewhere[1].linear() * Vec3d::UnitZ()) *
                 Eigen::Translation3d(-middle) * elsewhere[1];
  const auto all = meter.measure(limbs.rest, carried(limbs, elsewhere), pose());
  ASSERT_EQ(all.size(), 2u);
  EXPECT_LT(all[0].largest, 1e-6);
  EXPECT_EQ(all[1].binding, 1u);
  EXPECT_NEAR(all[1].largest, 2 * std::sin(5 * kDegree) * 0.4875, 0.002);
  EXPECT_NEAR(all[1].rms, all[1].largest / std::sqrt(3.0), 0.005);
}

TEST(PoseDeviation, OfALimbThatIsShiftedIsTheShift) {
  const Limbs limbs;
  const PoseDeviationMeter meter(limbs.rest, limbs.weights, limbs.counts);
  std::vector<Vec3f> positions = carried(limbs, pose());
  for (std::size_t v = 0; v < 40; ++v) positions[v] += Vec3f(0, 0.02f, 0);
  const auto all = meter.measure(limbs.rest, positions, pose());
  EXPECT_NEAR(all[0].rms, 0.02, 1e-6);
  EXPECT_NEAR(all[0].largest, 0.02, 1e-6);
}

TEST(PoseDeviation, SwellingIsNone) {
  const Limbs limbs;
  const PoseDeviationMeter meter(limbs.rest, limbs.weights, limbs.counts);
  std::vector<Vec3f> positions = carried(limbs, pose());
  Vec3f middle = Vec3f::Zero();
  for (std::size_t v = 0; v < 40; ++v) middle += positions[v] / 40;
  for (std::size_t v = 0; v < 40; ++v) positions[v] += 0.3f * (positions[v] - middle);
  EXPECT_LT(meter.measure(limbs.rest, positions, pose())[0].largest, 1e-6);
}

TEST(PoseDeviation, LeavesOutBonesWithLittleSkinAndFlatOnes) {
  Limbs limbs;
  for (std::size_t v = 0; v < 33; ++v) limbs.counts[v] = 0;  // 7 vertices are left
  const PoseDeviationMeter meter(limbs.rest, limbs.weights, limbs.counts);
  const auto all = meter.measure(limbs.rest, carried(limbs, pose()), pose());
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].binding, 1u);
  std::vector<Affine3d> flat = pose();
  flat[1].linear().setZero();
  EXPECT_TRUE(meter.measure(limbs.rest, carried(limbs, pose()), flat).empty());
}

}  // namespace
}  // namespace sinew
