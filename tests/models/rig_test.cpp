#include <sinew/models/rig.h>

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace sinew {
namespace {

Rig make_leg() {
  Rig rig;
  const JointLimits free{{-180, 180}, {-90, 90}, {-180, 180}};
  rig.add("hips", -1, {0, 1, 0}, {0, 1.1, 0}, Vec3d::UnitX(), free);
  rig.add("thigh", 0, {0.1, 0.95, 0}, {0.1, 0.5, 0.01}, -Vec3d::UnitX(), free);
  rig.add("shin", 1, {0.1, 0.5, 0.01}, {0.1, 0.08, -0.01}, Vec3d::UnitX(), {{0, 150}, {-3, 3}, {-10, 10}});
  rig.add("foot", 2, {0.1, 0.08, -0.01}, {0.1, 0.02, 0.1}, -Vec3d::UnitX(), free);
  return rig;
}

TEST(Rig, AnglesAndRotationsAreInverse) {
  const Rig rig = make_leg();
  std::mt19937 random(3);
  std::uniform_real_distribution<double> full(-179, 179), half(-89, 89);
  for (int i = 0; i < 500; ++i) {
    const Angles angles{full(random), half(random), full(random)};
    const Angles back = rig.angles_of(1, rig.rotation(1, angles));
    EXPECT_NEAR(back.flex, angles.flex, 1e-6);
    EXPECT_NEAR(back.spread, angles.spread, 1e-6);
    EXPECT_NEAR(back.twist, angles.twist, 1e-6);
  }
}

TEST(Rig, ReachBringsTheEndToTheTargetWithTheMiddleTowardsThePole) {
  const Rig rig = make_leg();
  std::mt19937 random(5);
  std::uniform_real_distribution<double> offset(-0.2, 0.2);
  for (int i = 0; i < 200; ++i) {
    Posture posture = rig.rest();
    posture.angles[0] = {20 * offset(random), 30 * offset(random), 100 * offset(random)};
    posture.root_offset = Vec3d(offset(random), 0, offset(random));
    const Vec3d target =
        Vec3d(0.1 + offset(random), 0.35 + offset(random), offset(random)) + posture.root_offset;
    rig.reach(posture, 1, 2, target, Vec3d::UnitZ());
    const std::vector<Affine3d> world = rig.world(posture);
    EXPECT_LT((world[3].translation() - target).norm(), 1e-9);
    // The knee is a pure hinge that closes, and lies in front of the line from hip to ankle.
    EXPECT_GT(posture.angles[2].flex, 0);
    EXPECT_NEAR(posture.angles[2].spread, 0, 1e-6);
    EXPECT_NEAR(posture.angles[2].twist, 0, 1e-6);
    const Vec3d line = (target - world[1].translation()).normalized();
    const Vec3d knee = world[2].translation() - world[1].translation();
    EXPECT_GT((knee - knee.dot(line) * line).z(), 0);
  }
}

TEST(Rig, ReachGoesAsFarAsItCan) {
  const Rig rig = make_leg();
  Posture posture = rig.rest();
  rig.reach(posture, 1, 2, {0.1, 0.95, 5}, Vec3d::UnitY());
  const Vec3d ankle = rig.world(posture)[3].translation();
  EXPECT_NEAR(ankle.z(), 0.45 + 0.42, 0.01);
  EXPECT_TRUE(ankle.allFinite());
}

TEST(Rig, OrientSetsTheWorldRotation) {
  const Rig rig = make_leg();
  Posture posture = rig.rest();
  posture.angles[1].flex = 50;
  posture.angles[2].flex = 80;
  const Quatd wanted(Eigen::AngleAxisd(0.3, Vec3d(1, 2, 0.5).normalized()));
  rig.orient(posture, 3, wanted);
  EXPECT_LT(Quatd(rig.world(posture)[3].linear()).angularDistance(wanted), 1e-9);
}

TEST(Rig, ClipsKeepTheLimitsAndLeaveOutWhatStandsStill) {
  const Rig rig = make_leg();
  const Clip clip = make_clip(rig, "kick", 10, 30, [&](int frame) {
    Posture posture = rig.rest();
    posture.angles[2].flex = 20 * frame;
    return posture;
  });
  ASSERT_EQ(clip.channels.size(), 1u);
  EXPECT_EQ(clip.channels[0].target, 2);
  EXPECT_NEAR(clip.duration(), 10 / 30.0, 1e-6);
  Pose pose = rest_pose(rig.skeleton());
  sample_clip(clip, 10 / 30.0, pose);
  EXPECT_NEAR(pose.joints[2].rotation.angularDistance(Quatf::Identity()), 150 * M_PI / 180, 1e-4);
}

}  // namespace
}  // namespace sinew
