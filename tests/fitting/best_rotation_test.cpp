#include <sinew/fitting/best_rotation.h>

#include <random>

#include <gtest/gtest.h>

namespace sinew {
namespace {

ControlRig bones(const std::vector<Vec3d>& ends) {
  ControlRig rig;
  for (std::size_t k = 0; k + 1 < ends.size(); k += 2) {
    RigBone bone;
    bone.name = "b" + std::to_string(k);
    bone.head = ends[k];
    bone.tail = ends[k + 1];
    rig.bones.push_back(bone);
  }
  return rig;
}

TEST(BestRotation, FindsTheTurnOfASimilarCharacter) {
  std::mt19937 random(2);
  std::normal_distribution<double> normal;
  for (const double depth : {1.0, 0.0})  // flat ones too
    for (int round = 0; round < 20; ++round) {
      const Quatd q = Quatd(normal(random), normal(random), normal(random), normal(random)).normalized();
      std::vector<Vec3d> was(8), is(8);
      for (std::size_t k = 0; k < 8; ++k) {
        was[k] = Vec3d(normal(random), normal(random), depth * normal(random));
        is[k] = 3 * (q * was[k]) + Vec3d(1, 2, 3);
      }
      const Quatd found = best_rotation(bones(was), PerBone<char>(4, 1), bones(is));
      EXPECT_LT(found.angularDistance(q), 1e-6);
    }
}

TEST(BestRotation, TakesTheShortestForALine) {
  const ControlRig was = bones({Vec3d(0, 0, 0), Vec3d(0, 1, 0), Vec3d(0, 1, 0), Vec3d(0, 3, 0)});
  const ControlRig is = bones({Vec3d(0, 0, 0), Vec3d(1, 0, 0), Vec3d(1, 0, 0), Vec3d(3, 0, 0)});
  const Quatd found = best_rotation(was, PerBone<char>(2, 1), is);
  EXPECT_LT(found.angularDistance(Quatd::FromTwoVectors(Vec3d::UnitY(), Vec3d::UnitX())), 1e-6);
}

TEST(BestRotation, IsNoneForNothing) {
  const ControlRig rig = bones({Vec3d(0, 0, 0), Vec3d(0, 0, 0)});
  EXPECT_LT(best_rotation(rig, PerBone<char>(1, 1), rig).angularDistance(Quatd::Identity()), 1e-12);
  EXPECT_LT(best_rotation(rig, PerBone<char>(1, 0), rig).angularDistance(Quatd::Identity()), 1e-12);
  EXPECT_EQ(rotation_between(Vec3d::Zero(), Vec3d::UnitX()).w(), 1);
}

}  // namespace
}  // namespace sinew
