#include <sinew/skinning/leaf_bones.h>

#include <gtest/gtest.h>

namespace sinew {
namespace {

Joint joint(const char* name, int parent, const Vec3f& offset) {
  Joint result{name, parent, {}, true};
  result.rest.translation = offset;
  return result;
}

TEST(LeafBones, ReachTheSkinTheyMove) {
  const Skeleton skeleton{{joint("a", -1, {0, 0, 0}), joint("tip", 0, {0, 1, 0})}};
  std::vector<Affine3d> world(2);
  forward_kinematics(skeleton, rest_pose(skeleton).joints, world);
  // Skin of the tip lies along +x up to 3, another vertex is mostly the other joint's.
  const std::vector<Vec3f> positions{{1, 1, 0.5f}, {3, 1, 0}, {1, 1, -0.5f}, {9, 1, 0}};
  SkinWeights weights;
  WeightRepairs repairs;
  for (float share : {1.0f, 1.0f, 0.8f, 0.3f}) {
    Influence row[] = {{0, 1 - share}, {1, share}};
    append_row(weights, row, 0, repairs);
  }
  const std::vector<int> joint_of_weight{0, 1};
  const std::vector<Bone> bones =
      derive_bones(skeleton, world, leaf_tail_from_weights(positions, weights, joint_of_weight));
  ASSERT_EQ(bones.size(), 2u);
  EXPECT_LT((bones[1].tail - Vec3d(3, 1, 0)).norm(), 1e-9);
}

}  // namespace
}  // namespace sinew
