#include <sinew/skeleton/bones.h>

#include <gtest/gtest.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

Joint joint(const char* name, int parent, const Vec3f& offset, bool deforms = true) {
  Joint result{name, parent, {}, deforms};
  result.rest.translation = offset;
  return result;
}

std::vector<Affine3d> world(const Skeleton& skeleton) {
  std::vector<Affine3d> result(skeleton.size());
  forward_kinematics(skeleton, rest_pose(skeleton).joints, result);
  return result;
}

TEST(Bones, RunFromJointToChild) {
  const Skeleton skeleton{{joint("a", -1, {0, 0, 0}), joint("b", 0, {0, 2, 0})}};
  const std::vector<Bone> bones = derive_bones(skeleton, world(skeleton));
  ASSERT_EQ(bones.size(), 2u);
  EXPECT_EQ(bones[0].child, 1);
  EXPECT_EQ(bones[0].tail, Vec3d(0, 2, 0));
  // The leaf goes on in its parent's direction.
  EXPECT_EQ(bones[1].child, -1);
  EXPECT_EQ(bones[1].tail, Vec3d(0, 3, 0));
}

TEST(Bones, OneSegmentPerChild) {
  const Skeleton skeleton{
      {joint("pelvis", -1, {0, 0, 0}), joint("l", 0, {1, 0, 0}), joint("r", 0, {-1, 0, 0})}};
  const std::vector<Bone> bones = derive_bones(skeleton, world(skeleton));
  ASSERT_EQ(bones.size(), 4u);
  EXPECT_EQ(bones[0].joint, 0);
  EXPECT_EQ(bones[1].joint, 0);
  EXPECT_NE(bones[0].child, bones[1].child);
}

TEST(Bones, PassOverNodesThatDoNotDeform) {
  const Skeleton skeleton{{joint("root", -1, {5, 0, 0}, false), joint("a", 0, {0, 0, 0}),
                           joint("between", 1, {0, 1, 0}, false), joint("b", 2, {0, 1, 0})}};
  const std::vector<Bone> bones = derive_bones(skeleton, world(skeleton));
  ASSERT_EQ(bones.size(), 2u);
  EXPECT_EQ(bones[0].joint, 1);
  EXPECT_EQ(bones[0].child, 3);
  EXPECT_EQ(bones[0].tail, Vec3d(5, 2, 0));
}

TEST(Bones, WithoutDeformingJointsAllCount) {
  const Skeleton skeleton{{joint("a", -1, {0, 0, 0}, false), joint("b", 0, {0, 2, 0}, false)}};
  EXPECT_EQ(derive_bones(skeleton, world(skeleton)).size(), 2u);
}

TEST(Bones, ZeroLengthSegmentsGiveWayToOthers) {
  const Skeleton skeleton{{joint("a", -1, {0, 0, 0}), joint("twin", 0, {0, 0, 0}), joint("b", 0, {0, 1, 0})}};
  const std::vector<Bone> bones = derive_bones(skeleton, world(skeleton));
  EXPECT_EQ(std::count_if(bones.begin(), bones.end(), [](const Bone& bone) { return bone.joint == 0; }), 1);
  // A lone joint keeps one.
  const Skeleton lone{{joint("a", -1, {0, 0, 0})}};
  ASSERT_EQ(derive_bones(lone, world(lone)).size(), 1u);
  EXPECT_TRUE(derive_bones(lone, world(lone))[0].tail.allFinite());
}

TEST(Bones, LeavesReachTheSurface) {
  const Mesh sphere = test::make_icosphere(3, 5.0f);
  const SurfaceQuery surface(sphere.view());
  const Skeleton inside{{joint("a", -1, {0, 0, 0}), joint("tip", 0, {0, 1, 0})}};
  const std::vector<Bone> bones = derive_bones(inside, world(inside), leaf_tail_to_surface(surface));
  ASSERT_EQ(bones.size(), 2u);
  EXPECT_LT((bones[1].tail - Vec3d(0, 5, 0)).norm(), 0.05);
  // A leaf outside of the surface goes on by half its parent's length, though the ray would hit.
  const Skeleton outside{{joint("a", -1, {0, 9, 0}), joint("tip", 0, {0, -2, 0})}};
  EXPECT_LT(
      (derive_bones(outside, world(outside), leaf_tail_to_surface(surface))[1].tail - Vec3d(0, 6, 0)).norm(),
      1e-9);
}

}  // namespace
}  // namespace sinew
