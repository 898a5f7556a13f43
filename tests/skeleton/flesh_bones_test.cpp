#include <sinew/skeleton/flesh_bones.h>

#include <gtest/gtest.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

Joint joint(const char* name, int parent, const Vec3f& offset) {
  Joint result{name, parent, {}, true};
  result.rest.translation = offset;
  return result;
}

std::vector<Affine3d> world(const Skeleton& skeleton) {
  std::vector<Affine3d> result(skeleton.size());
  forward_kinematics(skeleton, rest_pose(skeleton).joints, result);
  return result;
}

const Bone& bone_of(const std::vector<Bone>& bones, int joint, int child) {
  for (const Bone& bone : bones)
    if (bone.joint == joint && bone.child == child) return bone;
  ADD_FAILURE() << "no bone of joint " << joint;
  return bones[0];
}

// A box of the given size round the middle.
Mesh box(const Vec3f& middle, const Vec3f& size) {
  Mesh mesh = test::make_cube(1.0f);
  for (Vec3f& p : mesh.positions) p = middle + p.cwiseProduct(size);
  return mesh;
}

TEST(BoneAxis, IsTheOneThatMostJointsShow) {
  // Joints whose frames are turned so that their x points to the child.
  Skeleton skeleton;
  const Quatf along_y(Eigen::AngleAxisf(static_cast<float>(M_PI / 2), Vec3f::UnitZ()));
  for (int j = 0; j < 5; ++j) {
    Joint next = joint("", j - 1, {j == 0 ? 0.0f : 1.0f, 0, 0});
    if (j == 0) next.rest.rotation = along_y;
    skeleton.joints.push_back(next);
  }
  const std::vector<Affine3d> places = world(skeleton);
  const BoneAxis axis = find_bone_axis(derive_bones(skeleton, places), places);
  EXPECT_EQ(axis.axis, 0);
  EXPECT_EQ(axis.sign, 1);
  EXPECT_NEAR((axis.direction(places[4]) - Vec3d::UnitY()).norm(), 0, 1e-6);
}

TEST(BoneAxis, NoneWhereJointsDisagreeOrAreFew) {
  const Skeleton zigzag{{joint("a", -1, {0, 0, 0}), joint("b", 0, {1, 0, 0}), joint("c", 1, {0, 1, 0}),
                         joint("d", 2, {0, 0, 1}), joint("e", 3, {-1, 0, 0})}};
  EXPECT_EQ(find_bone_axis(derive_bones(zigzag, world(zigzag)), world(zigzag)).axis, -1);
  const Skeleton pair{{joint("a", -1, {0, 0, 0}), joint("b", 0, {1, 0, 0})}};
  EXPECT_EQ(find_bone_axis(derive_bones(pair, world(pair)), world(pair)).axis, -1);
}

TEST(FleshBones, ALeafGoesWhereTheFleshGoes) {
  // A foot: the ankle's bone slopes down to the ball; straight on lies the sole, ahead the toes.
  const Skeleton skeleton{{joint("ankle", -1, {0, 0.1f, 0}), joint("ball", 0, {0, -0.07f, 0.12f})}};
  const Mesh foot = box({0, 0.06f, 0.1f}, {0.1f, 0.12f, 0.3f});  // sole at 0, toes at 0.25
  const std::vector<Bone> bones = bones_in_flesh(skeleton, world(skeleton), OrientedSurface(foot.view()));
  const Bone& toes = bone_of(bones, 1, -1);
  EXPECT_NEAR(toes.tail.z(), 0.12 + 0.9 * 0.13, 1e-5);  // reaches the toes, but for a tenth
  EXPECT_GT(toes.tail.y(), 1e-4);                       // not through the sole
  Mesh inside_out = foot;
  for (Triangle& f : inside_out.triangles) std::swap(f[1], f[2]);
  EXPECT_NEAR(
      (bone_of(bones_in_flesh(skeleton, world(skeleton), OrientedSurface(inside_out.view())), 1, -1).tail -
       toes.tail)
          .norm(),
      0, 1e-6);
}

TEST(FleshBones, StraightLeavesStayStraight) {
  const Skeleton skeleton{{joint("a", -1, {0, 0, 0}), joint("b", 0, {0, 0.5f, 0})}};
  const Mesh tube = test::make_tube(24, 10, 0.1f, 1.0f, true);
  const Bone leaf = bone_of(bones_in_flesh(skeleton, world(skeleton), OrientedSurface(tube.view())), 1, -1);
  EXPECT_NEAR((leaf.tail - Vec3d(0, 0.95, 0)).norm(), 0, 1e-5);
}

TEST(FleshBones, AHeadWithAJawHasASkull) {
  const Skeleton skeleton{{joint("neck", -1, {0, 0, 0}), joint("head", 0, {0, 0.1f, 0}),
                           joint("jaw", 1, {0, 0, 0.05f}), joint("eye", 1, {0, 0.05f, 0.06f})}};
  const Mesh head = box({0, 0.15f, 0.02f}, {0.16f, 0.3f, 0.2f});  // up to 0.3
  const std::vector<Bone> bones = bones_in_flesh(skeleton, world(skeleton), OrientedSurface(head.view()));
  const Bone& skull = bone_of(bones, 1, -1);
  EXPECT_NEAR((skull.tail - Vec3d(0, 0.28, 0)).norm(), 0, 1e-5);
  // Where the rig has no axis to tell, the leaves stay short.
  EXPECT_LT((bone_of(bones, 2, -1).tail - bone_of(bones, 2, -1).head).norm(), 0.03);
}

TEST(FleshBones, AFingerIsNotAHead) {
  // The only child of each goes straight on: nothing is added.
  const Skeleton skeleton{
      {joint("a", -1, {0, 0, 0}), joint("b", 0, {0, 0.4f, 0}), joint("c", 1, {0, 0.3f, 0})}};
  const Mesh tube = test::make_tube(24, 10, 0.1f, 1.0f, true);
  EXPECT_EQ(bones_in_flesh(skeleton, world(skeleton), OrientedSurface(tube.view())).size(), 3u);
}

TEST(FleshBones, OutsideOfTheSurfaceTheyAreDeriveBones) {
  const Skeleton skeleton{{joint("a", -1, {5, 0, 0}), joint("b", 0, {0, 0.5f, 0})}};
  const Mesh tube = test::make_tube(24, 10, 0.1f, 1.0f, true);
  const std::vector<Bone> bones = bones_in_flesh(skeleton, world(skeleton), OrientedSurface(tube.view()));
  const std::vector<Bone> plain = derive_bones(skeleton, world(skeleton));
  ASSERT_EQ(bones.size(), plain.size());
  for (std::size_t b = 0; b < bones.size(); ++b) EXPECT_EQ(bones[b].tail, plain[b].tail);
  // No surface at all.
  EXPECT_EQ(bones_in_flesh(skeleton, world(skeleton), OrientedSurface({})).size(), plain.size());
}

}  // namespace
}  // namespace sinew
