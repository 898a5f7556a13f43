// Rigs with controllers in glTF: sinew/scene/gltf_rig.cpp.
#include <cmath>
#include <functional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sinew/authoring/bind_scene.h>
#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/scene/gltf.h>
#include <sinew/scene/gltf_document.h>
#include <sinew/scene/merge_rig.h>
#include <sinew/scene/rig_file.h>

#include "tests/support/assets.h"
#include "tests/support/grid_tube.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/validator.h"

namespace sinew {
namespace {

using Json = nlohmann::ordered_json;

// Two bones along the tube of make_grid_tube(), and what moves them; a child stands before its parent.
constexpr const char* kRig = R"({
  "sinew_rig": 1, "name": "tube", "studio": 7,
  "bones": [
    {"name": "upper", "parent": "lower", "head": [0, 0, 0], "tail": [1, 0, 0], "roll": 0.3, "connected": true,
     "constraints": [{"type": "ik", "name": "reach", "target": "goal", "chain_length": 2, "iterations": 9}]},
    {"name": "lower", "parent": "root", "head": [-1, 0, 0], "tail": [0, 0, 0], "roll": 0.3, "colour": "red"},
    {"name": "root", "head": [-1, -1, 0], "tail": [-1, -1, 0.5], "deform": false},
    {"name": "goal", "parent": "root", "head": [1, 0, 0], "tail": [1, 0.2, 0], "deform": false}],
  "drivers": [{"a": 1}]})";

class RigGltf : public testing::Test {
 protected:
  Scene rig_scene() const { return scene_from_rig(parse_rig(kRig, "rig.json"), "rig.json"); }
  Scene tube() const {
    Scene scene = test::make_grid_tube({.rings = 16, .segments = 8});
    scene.skins.clear();
    scene.clips.clear();
    scene.skeleton = {};
    scene.meshes[0].skin = -1;
    scene.meshes[0].joint = -1;
    scene.meshes[0].weights = {};
    return scene;
  }
  Scene written(const Scene& scene, const std::string& name = "out.glb") const {
    write_glb(scene, directory_ / name);
    return read_gltf(directory_ / name);
  }
  /// The scene's document with a change.
  static Scene changed(const Scene& scene, const std::function<void(Json&)>& change) {
    GltfDocument document = *scene.document;
    change(document.json);
    return scene_from_document(std::make_shared<const GltfDocument>(std::move(document)), "changed.glb");
  }
  static Json& node(Json& document, const std::string& name) {
    for (Json& json : document["nodes"])
      if (json.value("name", "") == name) return json;
    throw Error("no node " + name);
  }

  test::TemporaryDirectory directory_;
};

TEST_F(RigGltf, RigsComeBackWhole) {
  const Scene scene = rig_scene(), again = written(scene);
  ASSERT_TRUE(again.control_rig);
  EXPECT_EQ(*again.control_rig, *scene.control_rig);
  EXPECT_EQ(again.joint_bones, scene.joint_bones);
  EXPECT_EQ(again.skeleton, scene.skeleton);
  EXPECT_TRUE(again.warnings.empty());
  EXPECT_EQ(rig_joints(again).size(), 2u);
  test::expect_valid(directory_ / "out.glb");
}

TEST_F(RigGltf, WhatDidNotChangeIsWrittenAsItWas) {
  const Scene first = written(rig_scene(), "first.glb"), second = written(first, "second.glb");
  EXPECT_EQ(first.document->json, second.document->json);
}

TEST_F(RigGltf, BindingNeverWeightsControllers) {
  BindSceneReport report;
  const Scene bound = bind_scene(tube(), rig_scene(), {}, &report);
  EXPECT_EQ(report.joints.size(), 2u);
  ASSERT_EQ(report.left_out.size(), 2u);
  EXPECT_EQ(report.left_out[0].reason, "a controller of the rig");
  const Scene again = written(bound);
  test::expect_valid(directory_ / "out.glb");
  ASSERT_TRUE(again.control_rig);
  EXPECT_EQ(*again.control_rig, *rig_scene().control_rig);
  ASSERT_EQ(again.skins.size(), 1u);
  for (const int joint : again.skins[0].joints) {
    const int bone = again.joint_bones[to_size(joint)];
    ASSERT_GE(bone, 0);
    EXPECT_TRUE(again.control_rig->bones[to_size(bone)].deforms);
  }
  EXPECT_EQ(rig_joints(again), again.skins[0].joints);
  // And again, with the file's own rig.
  const Scene rebound = bind_scene(again, again);
  EXPECT_EQ(rebound.skins[0].joints, again.skins[0].joints);
  EXPECT_EQ(rebound.joint_bones, again.joint_bones);
  EXPECT_EQ(*rebound.control_rig, *again.control_rig);
}

TEST_F(RigGltf, BonesEndWhereTheRigSays) {
  // The lower bone ends half a metre before the upper one begins: skin parts midway between them, not where
  // bones that run from joint to joint would have it.
  Json json = Json::parse(kRig);
  json["bones"][1]["tail"] = {-0.5, 0, 0};
  const Scene rig = scene_from_rig(parse_rig(json.dump(), "rig.json"), "rig.json");
  const Scene bound = bind_scene(tube(), rig, {.method = BindMethod::rigid});
  const SceneMesh& mesh = bound.meshes[0];
  int lower = 0, upper = 0;
  for (std::size_t v = 0; v < mesh.surface.positions.size(); ++v) {
    const float x = mesh.surface.positions[v].x();
    if (std::abs(x + 0.25f) < 0.02f || x < -0.49f || x > -0.01f) continue;
    const int joint = bound.skins[0].joints[mesh.weights.row_joints(v)[0]];
    const std::string& name = bound.skeleton.joints[to_size(joint)].name;
    EXPECT_EQ(name, x < -0.25f ? "lower" : "upper") << x;
    ++(x < -0.25f ? lower : upper);
  }
  EXPECT_GE(lower, 8);
  EXPECT_GE(upper, 8);
}

TEST_F(RigGltf, ARigOfControllersOnlyIsRefused) {
  ControlRig rig = parse_rig(kRig, "rig.json");
  for (RigBone& bone : rig.bones) bone.deforms = false;
  try {
    bind_scene(tube(), scene_from_rig(rig, "rig.json"));
    FAIL() << "bound to controllers";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("none of the rig's 4 bones deforms"), std::string::npos);
  }
}

TEST_F(RigGltf, BonesFollowNodesThatMoved) {
  const Scene scene = changed(written(rig_scene()), [](Json& json) {
    node(json, "goal")["translation"] = {0, 0, 0};
    node(json, "lower").erase("rotation");
  });
  ASSERT_TRUE(scene.control_rig);
  ASSERT_EQ(scene.warnings.size(), 1u);
  EXPECT_NE(scene.warnings[0].find("3 of 4 bones of its rig stand elsewhere"), std::string::npos)
      << scene.warnings[0];
  const ControlRig& rig = *scene.control_rig;
  const RigBone& goal = rig.bones[to_size(rig.find("goal"))];
  EXPECT_LT((goal.head - Vec3d(-1, -1, 0)).norm(), 1e-6) << "at its parent's head";
  EXPECT_NEAR(goal.length(), 0.2, 1e-6);
  std::vector<Affine3d> world(scene.skeleton.size());
  forward_kinematics(scene.skeleton, rest_pose(scene.skeleton).joints, world);
  for (std::size_t j = 0; j < world.size(); ++j) {
    const RigBone& bone = rig.bones[to_size(scene.joint_bones[j])];
    EXPECT_LT((world[j].linear() - bone_frame(bone.tail - bone.head, bone.roll)).cwiseAbs().maxCoeff(), 1e-3);
  }
}

TEST_F(RigGltf, HierarchyIsTheNodes) {
  const Scene scene = changed(written(rig_scene()), [](Json& json) {
    Json& children = node(json, "root")["children"];
    const Json moved = children.back();
    children.erase(children.size() - 1);
    json["scenes"][0]["nodes"].push_back(moved);
  });
  ASSERT_TRUE(scene.control_rig);
  EXPECT_FALSE(scene.warnings.empty());
  EXPECT_NE(scene.warnings[0].find("1 of 4 bones of its rig hang on other nodes"), std::string::npos);
}

TEST_F(RigGltf, BrokenExtrasDoNotSpoilTheFile) {
  const Scene good = written(rig_scene());
  const auto left_out = [&](const std::function<void(Json&)>& change, const std::string& why) {
    const Scene scene = changed(good, change);
    EXPECT_FALSE(scene.control_rig);
    EXPECT_TRUE(scene.joint_bones.empty());
    EXPECT_EQ(scene.skeleton.size(), 4u);
    ASSERT_EQ(scene.warnings.size(), 1u) << why;
    EXPECT_NE(scene.warnings[0].find("its rig with controllers is left out"), std::string::npos);
    EXPECT_NE(scene.warnings[0].find(why), std::string::npos) << scene.warnings[0];
  };
  left_out([](Json& j) { node(j, "upper")["extras"]["sinew_bone"]["head"] = 3; }, "three numbers");
  left_out([](Json& j) { node(j, "goal")["extras"].erase("sinew_bone"); }, "target 'goal' is no bone");
  left_out([](Json& j) { j["scenes"][0]["extras"]["sinew_rig"]["sinew_rig"] = 2; }, "version 1");
  left_out([](Json& j) { node(j, "goal")["extras"]["sinew_bone"]["name"] = "upper"; }, "two of that name");
  const Scene odd = changed(good, [](Json& j) {
    j["scenes"][0].erase("extras");
    for (Json& json : j["nodes"]) json["extras"] = "mine";
  });
  EXPECT_FALSE(odd.control_rig);
  EXPECT_TRUE(odd.warnings.empty());
}

TEST_F(RigGltf, ExtrasOfOthersStay) {
  Scene scene = changed(written(rig_scene()), [](Json& j) {
    node(j, "goal")["extras"]["mine"] = 1;
    j["scenes"][0]["extras"]["mine"] = 2;
  });
  ControlRig rig = *scene.control_rig;
  rig.bones[0].deforms = false;
  scene.control_rig = std::make_shared<const ControlRig>(rig);
  Scene again = written(scene);
  EXPECT_EQ(*again.control_rig, rig);
  Json json = again.document->json;
  EXPECT_EQ(node(json, "goal")["extras"]["mine"], 1);
  // A scene that gives its rig up leaves nothing of it in the file.
  again.control_rig.reset();
  again.joint_bones.clear();
  const Scene without = written(again, "without.glb");
  EXPECT_FALSE(without.control_rig);
  json = without.document->json;
  EXPECT_EQ(json.dump().find("sinew_"), std::string::npos) << json.dump();
  EXPECT_EQ(node(json, "goal")["extras"], (Json{{"mine", 1}}));
  EXPECT_FALSE(node(json, "root").contains("extras"));
  EXPECT_EQ(json["scenes"][0]["extras"], (Json{{"mine", 2}}));
}

TEST_F(RigGltf, MergingTakesTheRigsControllers) {
  const Scene rig = written(rig_scene(), "rig.glb");
  // The mesh's own bound rig gives way to a plain one, with a word about it.
  const Scene bound = written(bind_scene(tube(), rig), "bound.glb");
  const Scene plain = test::make_grid_tube({.rings = 8, .segments = 6});
  const MergedRig merged = merge_rig(bound, plain);
  EXPECT_FALSE(merged.scene.control_rig);
  ASSERT_FALSE(merged.warnings.empty());
  EXPECT_NE(merged.warnings.back().find("give way to the new rig"), std::string::npos);
  check_scene(merged.scene);
  EXPECT_FALSE(written(merged.scene, "merged.glb").control_rig);
  // And a plain mesh's joints stay beside the rig's.
  const MergedRig other = merge_rig(plain, rig);
  check_scene(other.scene);
  EXPECT_EQ(*other.scene.control_rig, *rig.control_rig);
  EXPECT_EQ(*written(other.scene, "other.glb").control_rig, *rig.control_rig);
}

TEST_F(RigGltf, ARealRigKeepsItsDump) {
  const auto path = test::asset("rigify_generated.json");
  if (!path) GTEST_SKIP() << test::missing_asset("rigify_generated.json");
  const Scene scene = read_scene(*path), again = written(scene);
  ASSERT_TRUE(again.control_rig);
  EXPECT_TRUE(*again.control_rig == *scene.control_rig);
  EXPECT_TRUE(again.warnings.empty()) << again.warnings[0];
  test::expect_valid(directory_ / "out.glb");
}

}  // namespace
}  // namespace sinew
