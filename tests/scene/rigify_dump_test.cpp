#include <sinew/scene/rigify_dump.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/core/index.h>
#include <sinew/scene/merge_rig.h>
#include <sinew/scene/rig_file.h>
#include <sinew/scene/rig_json.h>

#include "tests/support/assets.h"
#include "tests/support/temporary_directory.h"

namespace sinew {
namespace {

using Json = nlohmann::ordered_json;

// A hand on an arm, reaching for a goal; Z up, as Blender has it.
constexpr const char* kArm = R"({
  "blender": "3.4.1", "object": "rig", "n_bones": 3, "note": [1, {"a": null}],
  "bones": [
    {"name": "arm", "parent": null, "head": [0, 0, 1], "tail": [0, -0.5, 1], "roll": 0.5, "length": 0.5,
     "use_connect": false, "use_deform": true, "layers": [3], "matrix_rest": "kept while nothing moves",
     "constraints": [
       {"type": "IK", "name": "IK", "influence": 0.5, "target": {"id": "Object", "name": "rig"}, "subtarget": "goal",
        "pole_target": {"id": "Object", "name": "rig"}, "pole_subtarget": "goal", "pole_angle": -1.5,
        "chain_count": 2, "iterations": 500},
       {"type": "STRETCH_TO", "name": "S", "target": "rig", "subtarget": "goal", "rest_length": 0.4},
       {"type": "LIMIT_DISTANCE", "name": "L", "target": "other", "subtarget": "goal", "distance": 0.3},
       {"type": "ARMATURE", "name": "A", "targets": [{"target": "other", "subtarget": "x", "weight": 0.5},
                                                     {"target": "rig", "subtarget": "hand", "weight": 1.0}]},
       {"type": "CHILD_OF", "name": "C", "target": {"id": "Object", "name": "rig"}, "subtarget": "gone"}]},
    {"name": "hand", "parent": "arm", "head": [0, -0.5, 1], "tail": [0, -0.7, 1.1], "roll": 0.0, "use_connect": true,
     "category": "deform"},
    {"name": "goal", "parent": null, "head": [0, -0.5, 1], "tail": [0, -0.5, 1.2], "roll": 0.0, "category": "control"}],
  "drivers": [{"data_path": "x"}], "n_drivers": 1})";

TEST(RigifyDump, TurnsBlendersSpaceIntoOurs) {
  const ControlRig rig = parse_rigify_dump(kArm, "dump.json");
  EXPECT_EQ(rig.name, "rig");
  ASSERT_EQ(rig.bones.size(), 3u);
  const RigBone& arm = rig.bones[0];
  EXPECT_EQ(arm.head, Vec3d(0, 1, 0));
  EXPECT_EQ(arm.tail, Vec3d(0, 1, 0.5));
  EXPECT_EQ(arm.roll, 0.5);
  EXPECT_TRUE(arm.deforms);
  EXPECT_TRUE(rig.bones[1].deforms && rig.bones[1].connected);
  EXPECT_FALSE(rig.bones[2].deforms);
  EXPECT_EQ(rig.bones[1].parent, 0);
  EXPECT_EQ(rig.drivers, R"([{"data_path":"x"}])");
}

TEST(RigifyDump, ReadsConstraints) {
  const ControlRig rig = parse_rigify_dump(kArm, "dump.json");
  const std::vector<RigConstraint>& constraints = rig.bones[0].constraints;
  ASSERT_EQ(constraints.size(), 5u);
  EXPECT_EQ(constraints[0].kind, ConstraintKind::ik);
  EXPECT_EQ(constraints[0].targets, (std::vector<ConstraintTarget>{{"goal"}}));
  EXPECT_EQ(constraints[0].pole, "goal");
  EXPECT_EQ(constraints[0].pole_angle, -1.5);
  EXPECT_EQ(constraints[0].chain_length, 2);
  EXPECT_EQ(constraints[0].influence, 0.5);
  EXPECT_EQ(constraints[1].length, 0.4);
  EXPECT_EQ(constraints[2].length, 0.3);
  EXPECT_TRUE(constraints[2].targets.empty()) << "another object's bone";
  EXPECT_EQ(constraints[3].targets, (std::vector<ConstraintTarget>{{"", 0.5}, {"hand", 1}}));
  EXPECT_EQ(constraints[4].kind, ConstraintKind::other);
  EXPECT_EQ(constraints[4].type, "CHILD_OF");
  EXPECT_TRUE(constraints[4].targets.empty()) << "no such bone";
}

TEST(RigifyDump, UnchangedComesBackAsItWas) {
  const ControlRig rig = parse_rigify_dump(kArm, "dump.json");
  EXPECT_TRUE(is_from_dump(rig));
  EXPECT_EQ(Json::parse(rigify_dump_text(rig)), Json::parse(kArm)) << "also in the order of members";
  // Through our own format, too.
  const ControlRig again = parse_rig_json(rig_json_text(rig), "own.json");
  EXPECT_EQ(again, rig);
  EXPECT_EQ(Json::parse(rigify_dump_text(again)), Json::parse(kArm));
}

TEST(RigifyDump, WhatMovedIsReplaced) {
  ControlRig rig = parse_rigify_dump(kArm, "dump.json");
  rig.bones[0].head = {0.1, 1.5, 0.2};
  rig.bones[0].constraints[0].pole_angle = 0.25;
  rig.bones[0].constraints[1].length = 0.8;
  rig.bones[0].constraints[2].length = 0.9;
  rig.bones[0].constraints[3].targets[1].bone = "goal";
  rig.bones[2].roll = 1;
  const Json was = Json::parse(kArm), is = Json::parse(rigify_dump_text(rig));
  const Json &arm = is["bones"][0], &goal = is["bones"][2];
  EXPECT_EQ(arm["head"], (Json{0.1, -0.2, 1.5}));
  EXPECT_EQ(arm["tail"], was["bones"][0]["tail"]);
  EXPECT_NEAR(arm["length"].get<double>(), rig.bones[0].length(), 1e-12);
  EXPECT_EQ(arm["layers"], was["bones"][0]["layers"]);
  EXPECT_EQ(arm["matrix_rest"][1][3], -0.2);
  EXPECT_EQ(arm["matrix_rest"][3], (Json{0.0, 0.0, 0.0, 1.0}));
  EXPECT_EQ(arm["constraints"][0]["pole_angle"], 0.25);
  EXPECT_EQ(arm["constraints"][0]["iterations"], 500);
  EXPECT_EQ(arm["constraints"][1]["rest_length"], 0.8);
  EXPECT_EQ(arm["constraints"][2]["distance"], 0.9);
  EXPECT_EQ(arm["constraints"][2]["subtarget"], "goal") << "another object's stays";
  EXPECT_EQ(arm["constraints"][3]["targets"][1]["subtarget"], "goal");
  EXPECT_EQ(goal["roll"], 1.0);
  EXPECT_EQ(goal["head"], was["bones"][2]["head"]);
  EXPECT_TRUE(goal.contains("matrix_rest"));
  EXPECT_EQ(is["bones"][1], was["bones"][1]);
  // And it reads as what was written.
  const ControlRig again = parse_rigify_dump(is.dump(), "again.json");
  EXPECT_EQ(again.bones[0].head, rig.bones[0].head);
  EXPECT_EQ(again.bones[0].constraints[1].length, 0.8);
}

TEST(RigifyDump, RenamedRigsKeepTheirTargets) {
  ControlRig rig = parse_rigify_dump(kArm, "dump.json");
  rig.name = "new";
  const ControlRig again = parse_rigify_dump(rigify_dump_text(rig), "again.json");
  EXPECT_EQ(again.name, "new");
  EXPECT_EQ(again.bones[0].constraints[0].targets, rig.bones[0].constraints[0].targets);
  EXPECT_EQ(again.bones[0].constraints[0].pole, "goal");
}

TEST(RigifyDump, RigsFromElsewhereAreWrittenToo) {
  ControlRig rig = parse_rigify_dump(kArm, "dump.json");
  rig.extras.clear();
  for (RigBone& bone : rig.bones) {
    bone.extras.clear();
    for (RigConstraint& constraint : bone.constraints) constraint.extras.clear();
  }
  rig.bones[0].constraints[3].targets.erase(rig.bones[0].constraints[3].targets.begin());
  EXPECT_FALSE(is_from_dump(rig));
  ControlRig again = parse_rigify_dump(rigify_dump_text(rig), "again.json");
  again.extras.clear();
  for (RigBone& bone : again.bones) {
    bone.extras.clear();
    for (RigConstraint& constraint : bone.constraints) constraint.extras.clear();
  }
  EXPECT_EQ(again, rig);
}

TEST(RigifyDump, ErrorsNameTheBone) {
  const auto error_with = [](auto&& change) {
    Json json = Json::parse(kArm);
    change(json);
    try {
      parse_rig(json.dump(), "dump.json");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(error_with([](Json&) {}), "");
  EXPECT_EQ(error_with([](Json& j) { j["bones"][1]["parent"] = "x"; }),
            "dump.json: bone 'hand': parent: expected null or the name of a bone, found \"x\"");
  EXPECT_EQ(error_with([](Json& j) { j["bones"][1].erase("head"); }),
            "dump.json: bone 'hand': head: expected three numbers, found nothing");
  EXPECT_EQ(error_with([](Json& j) { j["bones"][1].erase("name"); }),
            "dump.json: bones[1]: expected an object with a name");
  EXPECT_EQ(error_with([](Json& j) { j["bones"][0]["constraints"][0] = 3; }),
            "dump.json: bone 'arm': constraints[0]: expected an object");
  EXPECT_THROW(parse_rigify_dump("{}", "x.json"), Error);
}

// --- real dumps

class RealDump : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto path = test::asset(GetParam());
    if (!path) GTEST_SKIP() << test::missing_asset(GetParam());
    const std::vector<std::byte> bytes = read_file(*path);
    text_ = as_text(bytes);
    rig_ = parse_rig(text_, GetParam());
  }

  std::string text_;
  ControlRig rig_;
};

TEST_P(RealDump, FramesAreBlenders) {
  const Json document = Json::parse(text_);
  double worst = 0;
  for (std::size_t b = 0; b < rig_.bones.size(); ++b) {
    const RigBone& bone = rig_.bones[b];
    const Mat3d frame = bone_frame(bone.tail - bone.head, bone.roll);
    const Json& matrix = document["bones"][b]["matrix_rest"];
    for (std::size_t c = 0; c < 3; ++c) {
      const Vec3d column(matrix[0][c].get<double>(), matrix[2][c].get<double>(), -matrix[1][c].get<double>());
      const double off = (frame.col(static_cast<Eigen::Index>(c)) - column).cwiseAbs().maxCoeff();
      EXPECT_LT(off, 1e-4) << bone.name << " column " << c;
      worst = std::max(worst, off);
    }
    EXPECT_NEAR(bone.length(), document["bones"][b]["length"].get<double>(), 1e-5) << bone.name;
  }
  RecordProperty("worst", std::to_string(worst));
}

TEST_P(RealDump, NothingIsLost) {
  const Json document = Json::parse(text_);
  EXPECT_TRUE(Json::parse(rigify_dump_text(rig_)) == document);
  const ControlRig again = parse_rig(rig_json_text(rig_), "own.json");
  EXPECT_TRUE(again == rig_);
  EXPECT_TRUE(Json::parse(rigify_dump_text(again)) == document);
}

TEST_P(RealDump, IsAScene) {
  const test::TemporaryDirectory directory;
  write_file(directory / "rig.json", text_);
  const Scene scene = read_scene(directory / "rig.json");
  EXPECT_EQ(scene.original_space.up_axis, 'z');
  EXPECT_EQ(scene.skeleton.size(), rig_.bones.size());
  std::size_t deforming = 0;
  for (const RigBone& bone : rig_.bones) deforming += bone.deforms;
  EXPECT_EQ(rig_joints(scene).size(), deforming);
}

INSTANTIATE_TEST_SUITE_P(Assets, RealDump, testing::Values("rigify_metarig.json", "rigify_generated.json"),
                         [](const auto& test) {
                           return std::string(test.param) == "rigify_metarig.json" ? "Metarig" : "Generated";
                         });

TEST(RigifyGenerated, DeformingBonesHangOnEachOther) {
  const auto path = test::asset("rigify_generated.json");
  if (!path) GTEST_SKIP() << test::missing_asset("rigify_generated.json");
  const ControlRig rig = read_rig(*path);
  ASSERT_EQ(rig.bones.size(), 706u);
  const std::vector<int> parents = deform_parents(rig);
  const auto parent_of = [&](const std::string& bone) {
    const int number = rig.find(bone);
    if (number < 0) return "no bone " + bone;
    const int parent = parents[to_size(number)];
    return parent < 0 ? std::string() : rig.bones[to_size(parent)].name;
  };
  EXPECT_EQ(parent_of("DEF-thigh.L"), "DEF-spine");
  EXPECT_EQ(parent_of("DEF-thigh.R"), "DEF-spine");
  EXPECT_EQ(parent_of("DEF-shin.L"), "DEF-thigh.L.001");
  EXPECT_EQ(parent_of("DEF-upper_arm.L"), "DEF-shoulder.L");
  EXPECT_EQ(parent_of("DEF-shoulder.L"), "DEF-spine.003");
  EXPECT_EQ(parent_of("DEF-spine.001"), "DEF-spine");
  EXPECT_EQ(parent_of("DEF-spine"), "");
  std::size_t constraints = 0, targets = 0;
  for (std::size_t b = 0; b < rig.bones.size(); ++b) {
    for (const RigConstraint& constraint : rig.bones[b].constraints) {
      ++constraints;
      targets += !constraint.targets.empty();
      EXPECT_NE(constraint.kind, ConstraintKind::other) << constraint.type;
    }
    if (!rig.bones[b].deforms) {
      EXPECT_EQ(parents[b], -1);
      continue;
    }
    EXPECT_EQ(parents[b] < 0, rig.bones[b].name == "DEF-spine") << rig.bones[b].name;
    int steps = 0;
    for (int up = static_cast<int>(b); up >= 0; up = parents[to_size(up)])
      ASSERT_LT(++steps, 50) << "a cycle at " << rig.bones[b].name;
  }
  EXPECT_EQ(constraints, 533u);
  EXPECT_EQ(targets, 527u) << "all but six limits of rotation";
}

}  // namespace
}  // namespace sinew
