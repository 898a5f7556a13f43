#include <sinew/fitting/fit_scene.h>

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/fitting/template_rigs.h>
#include <sinew/models/models.h>
#include <sinew/scene/gltf.h>
#include <sinew/scene/rig_file.h>

#include "tests/support/shared_models.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/validator.h"

namespace sinew {
namespace {

BuiltModel hand(std::size_t vertices, const Proportions& proportions = {}) {
  ModelOptions options;
  options.vertices = vertices;
  options.proportions = proportions;
  return test::shared_model("hand", options);
}

/// The surface alone.
Scene bare(const Scene& scene) {
  Scene result;
  result.source = "bare.obj";
  result.meshes.push_back({});
  result.meshes[0].name = "bare";
  result.meshes[0].surface = scene.meshes[0].surface;
  check_scene(result);
  return result;
}

/// The bone or joint turns by 30° about `axis` of its own, within a second.
Clip turning(const Scene& scene, const std::string& name, const Vec3f& axis) {
  const int joint = scene.skeleton.find(name);
  const Quatf rest = scene.skeleton.joints[to_size(joint)].rest.rotation;
  const Quatf turned = rest * Quatf(Eigen::AngleAxisf(std::numbers::pi_v<float> / 6, axis.normalized()));
  Channel channel{joint, ChannelPath::rotation, Interpolation::linear, 4, {0, 1}, {}};
  for (const Quatf& q : {rest, turned})
    channel.values.insert(channel.values.end(), {q.x(), q.y(), q.z(), q.w()});
  return {"turn", {channel}};
}

std::vector<Affine3d> world_of(const Skeleton& skeleton, const std::vector<Transform>& local) {
  std::vector<Affine3d> world(skeleton.size());
  forward_kinematics(skeleton, local, world);
  return world;
}

TEST(FitScene, ARigWithControllersKeepsThem) {
  const Scene mesh = bare(hand(2500).scene);
  const ControlRig rig = make_hand_template();
  const FittedScene fitted = fit_scene(mesh, scene_from_rig(rig, "hand.json"));
  EXPECT_NO_THROW(check_scene(fitted.scene));
  EXPECT_EQ(fitted.scene.meshes[0].surface, mesh.meshes[0].surface);
  ASSERT_TRUE(fitted.scene.control_rig);
  EXPECT_EQ(*fitted.scene.control_rig, fitted.rig);
  EXPECT_TRUE(fitted.scene.skins.empty());
  EXPECT_TRUE(fitted.report.dropped.empty());
  ASSERT_EQ(fitted.rig.bones.size(), rig.bones.size());
  const std::vector<Affine3d> world =
      world_of(fitted.scene.skeleton, rest_pose(fitted.scene.skeleton).joints);
  for (std::size_t b = 0; b < rig.bones.size(); ++b) {
    EXPECT_EQ(fitted.rig.bones[b].name, rig.bones[b].name);
    const int joint = fitted.scene.skeleton.find(rig.bones[b].name);
    ASSERT_GE(joint, 0) << rig.bones[b].name;
    EXPECT_EQ(fitted.scene.joint_bones[to_size(joint)], static_cast<int>(b));
    EXPECT_EQ(fitted.scene.skeleton.joints[to_size(joint)].deforms, rig.bones[b].deforms);
    // The joint is where the bone is, with its axes.
    const RigBone& bone = fitted.rig.bones[b];
    EXPECT_LT((world[to_size(joint)].translation() - bone.head).norm(), 1e-5) << bone.name;
    EXPECT_LT((world[to_size(joint)].linear() - bone_frame(bone.tail - bone.head, bone.roll)).norm(), 1e-4)
        << bone.name;
  }
}

TEST(FitScene, APlainSkeletonGetsASkin) {
  const Scene rig = hand(2500).scene;
  const FittedScene fitted = fit_scene(bare(hand(2600, {1.2, 1, 1, 1}).scene), rig);
  EXPECT_NO_THROW(check_scene(fitted.scene));
  EXPECT_FALSE(fitted.scene.control_rig);
  EXPECT_TRUE(fitted.scene.joint_bones.empty());
  ASSERT_EQ(fitted.scene.skins.size(), 1u);
  EXPECT_EQ(fitted.scene.skins[0].joints.size(), rig.skins[0].joints.size());
  EXPECT_EQ(fitted.scene.meshes[0].skin, -1);  // not bound yet
  const std::vector<Affine3d> world =
      world_of(fitted.scene.skeleton, rest_pose(fitted.scene.skeleton).joints);
  for (std::size_t k = 0; k < fitted.scene.skins[0].joints.size(); ++k) {
    const Mat4d both = world[to_size(fitted.scene.skins[0].joints[k])].matrix() *
                       fitted.scene.skins[0].joint_from_mesh[k].cast<double>();
    EXPECT_LT((both - Mat4d::Identity()).norm(), 1e-4);
  }
  for (const Joint& joint : rig.skeleton.joints) {
    const int found = fitted.scene.skeleton.find(joint.name);
    ASSERT_GE(found, 0) << joint.name;
    const int parent = fitted.scene.skeleton.joints[to_size(found)].parent;
    EXPECT_EQ(parent >= 0 ? fitted.scene.skeleton.joints[to_size(parent)].name : "",
              joint.parent >= 0 ? rig.skeleton.joints[to_size(joint.parent)].name : "");
  }
  ASSERT_EQ(fitted.scene.clips.size(), rig.clips.size());
  for (std::size_t c = 0; c < rig.clips.size(); ++c) {
    EXPECT_EQ(fitted.scene.clips[c].name, rig.clips[c].name);
    EXPECT_EQ(fitted.scene.clips[c].channels.size(), rig.clips[c].channels.size());
  }
}

TEST(FitScene, ClipsTurnJointsByAsMuch) {
  Scene rig = scene_from_rig(make_hand_template(), "hand.json");
  rig.clips.push_back(turning(rig, "index_2", Vec3f(1, 0, 0)));
  check_scene(rig);
  const FittedScene fitted = fit_scene(bare(hand(2500).scene), rig);
  ASSERT_EQ(fitted.scene.clips.size(), 1u);
  ASSERT_EQ(fitted.scene.clips[0].channels.size(), 1u);
  const int joint = fitted.scene.skeleton.find("index_2");
  EXPECT_EQ(fitted.scene.clips[0].channels[0].target, joint);
  Pose pose = rest_pose(fitted.scene);
  const Quatf rest = pose.joints[to_size(joint)].rotation;
  sample_clip(fitted.scene.clips[0], 0, pose);
  EXPECT_LT(rest.angularDistance(pose.joints[to_size(joint)].rotation),
            1e-3);  // starts from its new rest
  sample_clip(fitted.scene.clips[0], 1, pose);
  const Eigen::AngleAxisf turn(Quatf(rest.conjugate() * pose.joints[to_size(joint)].rotation));
  EXPECT_NEAR(turn.angle(), std::numbers::pi / 6, 1e-3);
  EXPECT_GT(std::abs(turn.axis().x()), 0.999f);
}

TEST(FitScene, SurvivesAFile) {
  const FittedScene fitted =
      fit_scene(bare(hand(2500).scene), scene_from_rig(make_hand_template(), "hand.json"));
  const test::TemporaryDirectory directory;
  write_glb(fitted.scene, directory / "fitted.glb");
  const Scene read = read_gltf(directory / "fitted.glb");
  ASSERT_TRUE(read.control_rig);
  EXPECT_EQ(read.control_rig->bones.size(), fitted.rig.bones.size());
  for (const Joint& joint : fitted.scene.skeleton.joints)
    EXPECT_GE(read.skeleton.find(joint.name), 0) << joint.name;
  const FittedScene plain = fit_scene(bare(hand(2500).scene), hand(2500).scene);
  write_glb(plain.scene, directory / "plain.glb");
  EXPECT_EQ(read_gltf(directory / "plain.glb").clips.size(), plain.scene.clips.size());
  test::expect_valid(directory / "fitted.glb");
  test::expect_valid(directory / "plain.glb", true);  // nothing uses the skin yet
}

TEST(FitScene, DroppedBonesLeaveNoTrace) {
  FittedRig fitted;
  const auto add = [&](const std::string& name, int parent, BoneFate fate) -> RigBone& {
    RigBone bone;
    bone.name = name;
    bone.parent = parent;
    bone.tail = Vec3d::UnitY();
    bone.connected = parent >= 0;
    fitted.rig.bones.push_back(bone);
    fitted.fate.push_back(fate);
    return fitted.rig.bones.back();
  };
  add("gone", -1, BoneFate::dropped);
  add("body", -1, BoneFate::placed);
  add("tail", 1, BoneFate::dropped);
  add("tip", 2, BoneFate::dropped);
  RigConstraint ik;
  ik.kind = ConstraintKind::ik;
  ik.targets = {{"tip"}, {"body"}};
  ik.pole = "tail";
  add("ribbon", 3, BoneFate::carried).constraints.push_back(ik);
  add("arm", 1, BoneFate::placed);
  add("orphan", 0, BoneFate::carried);
  const ControlRig rig = without_dropped(fitted);
  ASSERT_EQ(rig.bones.size(), 4u);
  EXPECT_EQ(rig.bones[0].name, "body");
  EXPECT_EQ(rig.bones[1].name, "ribbon");
  EXPECT_EQ(rig.bones[1].parent, 0);
  EXPECT_FALSE(rig.bones[1].connected);
  EXPECT_EQ(rig.bones[1].constraints[0].targets[0].bone, "");
  EXPECT_EQ(rig.bones[1].constraints[0].targets[1].bone, "body");
  EXPECT_EQ(rig.bones[1].constraints[0].pole, "");
  EXPECT_EQ(rig.bones[2].name, "arm");
  EXPECT_EQ(rig.bones[2].parent, 0);
  EXPECT_TRUE(rig.bones[2].connected);
  EXPECT_EQ(rig.bones[3].parent, -1);
  EXPECT_NO_THROW(check_rig(rig, "rig"));
}

TEST(FitScene, RefusesScenesWithoutMeshOrJoints) {
  const Scene mesh = bare(hand(2500).scene), rig = scene_from_rig(make_hand_template(), "hand.json");
  EXPECT_THROW(fit_scene(rig, rig), Error);
  EXPECT_THROW(fit_scene(mesh, mesh), Error);
}

}  // namespace
}  // namespace sinew
