#include <sinew/scene/rig_json.h>

#include <cmath>
#include <functional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/scene/rig_file.h>
#include <sinew/scene/scene.h>

#include "tests/support/temporary_directory.h"

namespace sinew {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kArm = R"({
  "sinew_rig": 1, "name": "arm", "studio": {"unit": [1, 2.5]},
  "bones": [
    {"name": "hand", "parent": "lower", "head": [1, 0, 0], "tail": [1.2, 0, 0], "connected": true, "colour": "red",
     "constraints": [{"type": "ik", "name": "reach", "target": "goal", "pole": "elbow", "pole_angle": -1.5,
                      "chain_length": 2, "influence": 0.75, "iterations": 500},
                     {"type": "CHILD_OF", "target": "goal", "set_inverse": true},
                     {"type": "armature", "targets": [{"bone": "goal", "weight": 0.3, "lock": 1}, {"bone": "lower"}]},
                     {"type": "stretch_to", "length": 0.2}]},
    {"name": "lower", "parent": null, "head": [0, 0, 0], "tail": [1, 0, 0], "roll": 0.1},
    {"name": "goal", "head": [1, 0, 0], "tail": [1, 0.1, 0], "deform": false},
    {"name": "elbow", "head": [0, 0, -1], "tail": [0, 0.1, -1], "deform": false}],
  "drivers": [{"path": "x", "expression": "var + 1"}]})";

std::string error_of(const std::string& text) {
  try {
    parse_rig(text, "arm.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// What is said of the arm with a change.
std::string error_with(const std::function<void(Json&)>& change) {
  Json json = Json::parse(kArm);
  change(json);
  return error_of(json.dump());
}

TEST(RigJson, ReadsEveryField) {
  const ControlRig rig = parse_rig_json(kArm, "arm.json");
  EXPECT_EQ(rig.name, "arm");
  EXPECT_EQ(rig.extras, R"({"studio":{"unit":[1,2.5]}})");
  EXPECT_EQ(rig.drivers, R"([{"path":"x","expression":"var + 1"}])");
  ASSERT_EQ(rig.bones.size(), 4u);
  const RigBone& hand = rig.bones[0];
  EXPECT_EQ(hand.parent, 1);
  EXPECT_EQ(hand.tail, Vec3d(1.2, 0, 0));
  EXPECT_EQ(hand.roll, 0);
  EXPECT_TRUE(hand.connected && hand.deforms);
  EXPECT_EQ(hand.extras, R"({"colour":"red"})");
  ASSERT_EQ(hand.constraints.size(), 4u);
  const RigConstraint& ik = hand.constraints[0];
  EXPECT_EQ(ik.kind, ConstraintKind::ik);
  EXPECT_EQ(ik.targets, (std::vector<ConstraintTarget>{{"goal"}}));
  EXPECT_EQ(ik.pole, "elbow");
  EXPECT_EQ(ik.pole_angle, -1.5);
  EXPECT_EQ(ik.chain_length, 2);
  EXPECT_EQ(ik.influence, 0.75);
  EXPECT_EQ(ik.extras, R"({"iterations":500})");
  EXPECT_EQ(hand.constraints[1].kind, ConstraintKind::other);
  EXPECT_EQ(hand.constraints[1].type, "CHILD_OF");
  EXPECT_EQ(hand.constraints[2].targets,
            (std::vector<ConstraintTarget>{{"goal", 0.3, R"({"lock":1})"}, {"lower"}}));
  EXPECT_EQ(hand.constraints[3].length, 0.2);
  EXPECT_EQ(rig.bones[1].roll, 0.1);
  EXPECT_FALSE(rig.bones[2].deforms || rig.bones[2].connected);
  EXPECT_EQ(rig.bones[2].parent, -1);
}

TEST(RigJson, ComesBackNumberByNumber) {
  ControlRig rig = parse_rig_json(kArm, "arm.json");
  rig.bones[0].head = {0.1, 1.0 / 3, std::nextafter(2.0, 3.0)};
  rig.bones[0].roll = M_PI;
  rig.bones[0].name = "ünï \"quoted\"";
  rig.bones[1].constraints.emplace_back().type = "mystery";
  rig.bones[1].constraints.back().targets = {{""}};
  const std::string text = rig_json_text(rig);
  EXPECT_EQ(parse_rig_json(text, "again.json"), rig);
  EXPECT_EQ(rig_json_text(parse_rig_json(text, "again.json")), text);
}

TEST(RigJson, FilesAppearWhole) {
  const test::TemporaryDirectory directory;
  const ControlRig rig = parse_rig_json(kArm, "arm.json");
  write_rig(rig, directory / "out.json");
  EXPECT_EQ(read_rig_json(directory / "out.json"), rig);
  EXPECT_EQ(read_rig(directory / "out.json"), rig);
  EXPECT_THROW(write_rig_json(rig, directory / "nowhere/out.json"), Error);
}

TEST(RigJson, ErrorsSayWhereAndWhatIsAllowed) {
  EXPECT_EQ(error_with([](Json&) {}), "");
  EXPECT_EQ(error_with([](Json& j) {
              j["bones"][0]["head"] = {1, 2};
            }),
            "arm.json: bone 'hand': head: expected three numbers, found [1,2]");
  EXPECT_EQ(error_with([](Json& j) { j["bones"][1].erase("tail"); }),
            "arm.json: bone 'lower': tail: expected three numbers, found nothing");
  EXPECT_EQ(error_with([](Json& j) { j["bones"][1]["roll"] = "a"; }),
            "arm.json: bone 'lower': roll: expected a number, found \"a\"");
  EXPECT_EQ(error_with([](Json& j) { j["bones"][1]["deform"] = 1; }),
            "arm.json: bone 'lower': deform: expected true or false, found 1");
  EXPECT_EQ(error_with([](Json& j) { j["bones"][1]["name"] = ""; }),
            "arm.json: bones[1]: name: expected a text that is not empty, found \"\"");
  EXPECT_EQ(error_with([](Json& j) { j["bones"][1]["parent"] = "nobody"; }),
            "arm.json: bone 'lower': parent: expected null or the name of a bone, found \"nobody\"");
  EXPECT_EQ(error_with([](Json& j) { j["bones"][1]["parent"] = "hand"; }),
            "arm.json: bone 'hand': is its own ancestor");
  EXPECT_EQ(error_with([](Json& j) { j["bones"][3]["name"] = "goal"; }),
            "arm.json: bone 'goal': there are two of that name");
  EXPECT_EQ(error_with([](Json& j) { j["bones"][0]["constraints"][0]["target"] = "nobody"; }),
            "arm.json: bone 'hand': constraint 'reach': target 'nobody' is no bone of the rig");
  EXPECT_EQ(error_with([](Json& j) { j["bones"][0]["constraints"][0]["influence"] = 2; }),
            "arm.json: bone 'hand': constraints[0]: influence: expected a number from 0 to 1, found 2");
  EXPECT_EQ(error_with([](Json& j) { j["bones"][0]["constraints"][0]["chain_length"] = 1.5; }),
            "arm.json: bone 'hand': constraints[0]: chain_length: expected a whole number from 0 to 1000000, "
            "found 1.5");
  EXPECT_EQ(error_with([](Json& j) { j["bones"][0]["constraints"][0].erase("type"); }),
            "arm.json: bone 'hand': constraints[0]: type: expected a text such as ik or copy_rotation, found "
            "nothing");
  EXPECT_EQ(error_with([](Json& j) { j["bones"][0]["constraints"][2]["target"] = "goal"; }).substr(0, 76),
            "arm.json: bone 'hand': constraints[2]: targets: expected nothing beside targ");
  EXPECT_EQ(error_with([](Json& j) { j["bones"] = Json::array(); }),
            "arm.json: bones: expected a list of at least one bone, found []");
  EXPECT_EQ(error_with([](Json& j) { j["sinew_rig"] = 2; }),
            "arm.json: sinew_rig: expected version 1, which this program reads, found 2");
  EXPECT_EQ(error_with([](Json& j) { j["drivers"] = 2; }), "arm.json: drivers: expected a list, found 2");
  EXPECT_NE(error_of("{").find("arm.json: is not JSON"), std::string::npos);
  EXPECT_NE(
      error_of(R"({"sinew_rig": 1, "bones": [{"name": "a", "head": [1e999, 0, 0]}]})").find("is not JSON"),
      std::string::npos);
  EXPECT_NE(error_of(std::string(100, '[')).find("nested"), std::string::npos)
      << error_of(std::string(100, '['));
}

TEST(RigJson, OtherJsonIsToldApart) {
  EXPECT_EQ(error_of(R"({"layers": ["dqs"]})"), "arm.json: is a recipe, not a rig; give it with --recipe");
  EXPECT_NE(error_of("[]").find("is no rig: expected a Sinew rig"), std::string::npos);
  EXPECT_NE(error_of("{}").find("is no rig: expected a Sinew rig"), std::string::npos);
  EXPECT_THROW(parse_rig_json("{}", "x.json"), Error);
}

TEST(RigJson, BrokenExtrasAreNotWritten) {
  ControlRig rig = parse_rig_json(kArm, "arm.json");
  rig.bones[0].extras = "[1]";
  EXPECT_THROW(rig_json_text(rig), Error);
  rig.bones[0].extras = "{";
  EXPECT_THROW(rig_json_text(rig), Error);
  rig.bones[0].extras = R"({"roll": 7, "mine": 1})";
  EXPECT_EQ(parse_rig_json(rig_json_text(rig), "x").bones[0].extras, R"({"mine":1})");
  rig.bones[0].extras = "";
  rig.name = "\xff";
  EXPECT_THROW(rig_json_text(rig), Error);
}

TEST(RigJson, IsASceneWithControllers) {
  const test::TemporaryDirectory directory;
  write_file(directory / "arm.json", kArm);
  const Scene scene = read_scene(directory / "arm.json");
  ASSERT_EQ(scene.skeleton.size(), 4u);
  ASSERT_TRUE(scene.control_rig);
  EXPECT_EQ(*scene.control_rig, parse_rig_json(kArm, "arm.json"));
  EXPECT_EQ(scene.joint_bones, (std::vector<int>{1, 0, 2, 3}));
  EXPECT_TRUE(scene.skeleton.joints[1].deforms);
  EXPECT_FALSE(scene.skeleton.joints[2].deforms);
  EXPECT_TRUE(scene.meshes.empty());
  write_file(directory / "recipe.json", R"({"layers": ["dqs"]})");
  EXPECT_THROW(read_scene(directory / "recipe.json"), Error);
  EXPECT_THROW(read_scene(directory / "missing.json"), Error);
}

TEST(CheckScene, BonesAndJointsAgree) {
  Scene scene = scene_from_rig(parse_rig_json(kArm, "arm.json"), "arm.json");
  check_scene(scene);
  const auto refused = [](Scene broken, const std::function<void(Scene&)>& change) {
    change(broken);
    EXPECT_THROW(check_scene(broken), Error);
  };
  refused(scene, [](Scene& s) { s.joint_bones.pop_back(); });
  refused(scene, [](Scene& s) { s.joint_bones[0] = 4; });
  refused(scene, [](Scene& s) { s.joint_bones[0] = -2; });
  refused(scene, [](Scene& s) { s.joint_bones[0] = s.joint_bones[1]; });
  refused(scene, [](Scene& s) { s.joint_bones[0] = -1; });
  refused(scene, [](Scene& s) { s.control_rig.reset(); });
}

}  // namespace
}  // namespace sinew
