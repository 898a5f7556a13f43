#include <sinew/core/index.h>
#include <sinew/skeleton/rig_from_skeleton.h>

#include <numeric>

#include <gtest/gtest.h>

#include <sinew/scene/merge_rig.h>

#include "tests/support/assets.h"

namespace sinew {
namespace {

Joint joint(const char* name, int parent, const Vec3f& offset) {
  Joint result{name, parent, {}, false};
  result.rest.translation = offset;
  return result;
}

std::vector<Affine3d> world(const Skeleton& skeleton) {
  std::vector<Affine3d> result(skeleton.size());
  forward_kinematics(skeleton, rest_pose(skeleton).joints, result);
  return result;
}

std::vector<int> all(const Skeleton& skeleton) {
  std::vector<int> joints(skeleton.size());
  std::iota(joints.begin(), joints.end(), 0);
  return joints;
}

ControlRig rig_of(const Skeleton& skeleton, const std::vector<int>& joints) {
  return rig_from_skeleton(skeleton, world(skeleton), joints);
}

const RigBone& bone(const ControlRig& rig, std::string_view name) {
  const int number = rig.find(name);
  EXPECT_GE(number, 0) << name;
  return rig.bones[to_size(std::max(number, 0))];
}

TEST(RigFromSkeleton, BonesRunToTheOneChild) {
  const Skeleton skeleton{{joint("a", -1, {0, 1, 0}), joint("b", 0, {1, 0, 0}), joint("c", 1, {0, 0, 2})}};
  const ControlRig rig = rig_of(skeleton, all(skeleton));
  ASSERT_EQ(rig.bones.size(), 3u);
  EXPECT_EQ(bone(rig, "a").tail, Vec3d(1, 1, 0));
  EXPECT_EQ(bone(rig, "b").tail, Vec3d(1, 1, 2));
  EXPECT_LT((bone(rig, "c").tail - Vec3d(1, 1, 3)).norm(), 1e-6) << "half its parent's bone, on";
  EXPECT_EQ(bone(rig, "c").parent, 1);
  EXPECT_FALSE(bone(rig, "a").connected);
  EXPECT_TRUE(bone(rig, "c").connected);
  for (const RigBone& b : rig.bones) EXPECT_TRUE(b.deforms);
}

TEST(RigFromSkeleton, OnlyTheListedJointsCount) {
  const Skeleton skeleton{
      {joint("a", -1, {0, 0, 0}), joint("helper", 0, {0, 1, 0}), joint("c", 1, {0, 1, 0})}};
  const ControlRig rig = rig_of(skeleton, {2, 0});
  ASSERT_EQ(rig.bones.size(), 2u);
  EXPECT_EQ(rig.bones[0].name, "c");
  EXPECT_EQ(rig.bones[0].parent, 1);
  EXPECT_EQ(rig.bones[1].tail, Vec3d(0, 2, 0));
  EXPECT_TRUE(rig_of(skeleton, {}).bones.empty());
}

// A spine along the joints' own y, with arms beside its end and a neck a little off.
Skeleton body() {
  return {{joint("hips", -1, {0, 1, 0}), joint("leg.L", 0, {0.1f, -0.1f, 0}), joint("spine", 0, {0, 0.2f, 0}),
           joint("chest", 2, {0, 0.2f, 0}), joint("arm.L", 3, {0.3f, 0.1f, 0}),
           joint("neck", 3, {0, 0.3f, 0.05f}), joint("head", 5, {0, 0.1f, 0}),
           joint("crown", 6, {0, 0.2f, 0})}};
}

TEST(RigFromSkeleton, OfSeveralChildrenTheOneAlongTheAxis) {
  const ControlRig rig = rig_of(body(), all(body()));
  EXPECT_LT((bone(rig, "hips").tail - Vec3d(0, 1.2, 0)).norm(), 1e-6);
  EXPECT_LT((bone(rig, "chest").tail - Vec3d(0, 1.7, 0)).norm(), 1e-6) << "as far as the neck, straight up";
  EXPECT_FALSE(bone(rig, "neck").connected);
  EXPECT_LT((bone(rig, "arm.L").tail - bone(rig, "arm.L").head).normalized().x(), 1e-6) << "along the axis";
}

TEST(RigFromSkeleton, WithoutAnAxisTheOneThatCarriesMost) {
  const Skeleton skeleton{{joint("hips", -1, {0, 0, 0}), joint("tail", 0, {0, 0, -1}),
                           joint("a", 0, {1, 0, 0}), joint("b", 2, {0, 1, 0}), joint("c", 3, {0, 0, 1})}};
  EXPECT_EQ(bone(rig_of(skeleton, all(skeleton)), "hips").tail, Vec3d(1, 0, 0));
}

TEST(RigFromSkeleton, NoBoneIsAPoint) {
  const Skeleton skeleton{{joint("a", -1, {1, 1, 1}), joint("b", 0, {0, 0, 0}), joint("c", 1, {0, 0, 0})}};
  for (const RigBone& b : rig_of(skeleton, all(skeleton)).bones) EXPECT_GT(b.length(), 0.01) << b.name;
  Skeleton flat = skeleton;
  flat.joints[0].rest.scale = Vec3f::Zero();
  for (const RigBone& b : rig_of(flat, all(flat)).bones) {
    EXPECT_GT(b.length(), 0.01) << b.name;
    EXPECT_TRUE(std::isfinite(b.roll));
  }
}

TEST(RigFromSkeleton, NamesAreMadeUnique) {
  const Skeleton skeleton{{joint("", -1, {0, 0, 0}), joint("a", 0, {0, 1, 0}), joint("a.001", 0, {1, 1, 0}),
                           joint("a", 0, {2, 1, 0}), joint("", 0, {3, 1, 0})}};
  const ControlRig rig = rig_of(skeleton, all(skeleton));
  std::vector<std::string> names;
  for (const RigBone& b : rig.bones) names.push_back(b.name);
  EXPECT_EQ(names, (std::vector<std::string>{"joint", "a", "a.001", "a.002", "joint.001"}));
  check_rig(rig, "names");
}

TEST(RigFromSkeleton, RollKeepsTheJointsAxes) {
  // Joints with the bone along their own y: the bone's frame is the joint's.
  Skeleton skeleton;
  for (int j = 0; j < 6; ++j) {
    Joint next = joint("", j - 1, {0, j == 0 ? 0.0f : 1.0f, 0});
    const Vec3f axis = Vec3f(1, static_cast<float>(j), 2).normalized();
    next.rest.rotation = Quatf(Eigen::AngleAxisf(0.4f * static_cast<float>(j + 1), axis));
    skeleton.joints.push_back(next);
  }
  const std::vector<Affine3d> places = world(skeleton);
  const ControlRig rig = rig_from_skeleton(skeleton, places, all(skeleton));
  for (std::size_t b = 0; b < rig.bones.size(); ++b) {
    const Mat3d frame = bone_frame(rig.bones[b].tail - rig.bones[b].head, rig.bones[b].roll);
    EXPECT_LT((frame - places[b].linear()).cwiseAbs().maxCoeff(), 1e-5) << b;
  }
}

TEST(RigFromSkeleton, OfRealCharacters) {
  for (const char* name : {"human.glb", "fox.glb", "rigged_figure.glb"}) {
    const auto path = test::asset(name);
    if (!path) GTEST_SKIP() << test::missing_asset(name);
    const Scene scene = read_scene(*path);
    const std::vector<Affine3d> places = bind_pose(scene).world_from_joint;
    const std::vector<int> joints = rig_joints(scene);
    const ControlRig rig = rig_from_skeleton(scene.skeleton, places, joints);
    check_rig(rig, name);
    ASSERT_EQ(rig.bones.size(), joints.size());
    int roots = 0, in_line = 0;
    for (std::size_t b = 0; b < rig.bones.size(); ++b) {
      const RigBone& made = rig.bones[b];
      roots += made.parent < 0;
      EXPECT_LT((made.head - places[to_size(joints[b])].translation()).norm(), 1e-9);
      EXPECT_GT(made.length(), 0) << name << ": " << made.name;
      in_line += made.connected;
    }
    EXPECT_EQ(roots, 1) << name;
    EXPECT_GT(2 * in_line, static_cast<int>(rig.bones.size()))
        << name << ": most bones go on from each other";
  }
}

TEST(SkeletonFromRig, StandsWhereTheBonesDo) {
  ControlRig rig;
  const auto add = [&](const char* name, int parent, const Vec3d& head, const Vec3d& tail, double roll,
                       bool deforms) {
    RigBone b;
    b.name = name;
    b.parent = parent;
    b.head = head;
    b.tail = tail;
    b.roll = roll;
    b.deforms = deforms;
    rig.bones.push_back(b);
  };
  add("hand", 1, {1, 1, 0.5}, {1.5, 1, 0.4}, 0.3, true);
  add("arm", 2, {0.2, 1.3, 0}, {1, 1, 0.5}, -2, true);
  add("control", -1, {0, 0, 0}, {0, 0, 1}, 0, false);
  std::vector<int> bones;
  const Skeleton skeleton = skeleton_from_rig(rig, &bones);
  EXPECT_EQ(bones, (std::vector<int>{2, 1, 0}));
  check_skeleton(skeleton, "rig");
  const std::vector<Affine3d> places = world(skeleton);
  for (std::size_t j = 0; j < skeleton.size(); ++j) {
    const RigBone& b = rig.bones[to_size(bones[j])];
    EXPECT_EQ(skeleton.joints[j].name, b.name);
    EXPECT_EQ(skeleton.joints[j].deforms, b.deforms);
    EXPECT_LT((places[j].translation() - b.head).norm(), 1e-6);
    EXPECT_LT((places[j].linear() - bone_frame(b.tail - b.head, b.roll)).cwiseAbs().maxCoeff(), 1e-6);
  }
  EXPECT_EQ(skeleton.joints[2].parent, 1);
}

TEST(SkeletonFromRig, ErrorsDoNotAddUp) {
  ControlRig rig;
  Vec3d at = Vec3d::Zero();
  for (int b = 0; b < 500; ++b) {
    RigBone next;
    next.name = std::to_string(b);
    next.parent = b - 1;
    next.head = at;
    at += Vec3d(std::sin(b), 1 + std::cos(3 * b), std::sin(2 * b)).normalized() * 0.1;
    next.tail = at;
    next.roll = b;
    rig.bones.push_back(next);
  }
  const std::vector<Affine3d> places = world(skeleton_from_rig(rig));
  for (std::size_t b = 0; b < places.size(); ++b)
    EXPECT_LT((places[b].translation() - rig.bones[b].head).norm(), 1e-6) << b;
}

}  // namespace
}  // namespace sinew
