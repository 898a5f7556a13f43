// Runs `sinew bind` and `sinew transfer` as a user would.
#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sinew/core/file.h>
#include <sinew/core/index.h>
#include <sinew/scene/gltf.h>
#include <sinew/scene/obj.h>

#include "tests/support/assets.h"
#include "tests/support/cli_fixture.h"
#include "tests/support/grid_tube.h"
#include "tests/support/sanitized.h"
#include "tests/support/validator.h"

namespace sinew {
namespace {

namespace fs = std::filesystem;

using Json = nlohmann::ordered_json;
using test::Outcome;

class BindCli : public test::CliFixture {
 protected:
  void SetUp() override {
    const Scene tube = test::make_grid_tube({.rings = 16, .segments = 8});
    write_glb(tube, directory_ / "rig.glb");
    write_obj(tube, directory_ / "mesh.obj");
  }
  std::string bind(const std::string& rest) const {
    return "bind " + path("mesh.obj") + " --rig " + path("rig.glb") + " -o " + path("out.glb") + " " + rest;
  }
};

TEST_F(BindCli, AMeshGetsARig) {
  const Outcome outcome = sinew(bind(""));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("bound to 2 joints"), std::string::npos) << outcome.err;
  test::expect_valid(directory_ / "out.glb");
  const Scene bound = read_gltf(directory_ / "out.glb"), mesh = read_obj(directory_ / "mesh.obj");
  ASSERT_EQ(bound.meshes.size(), 1u);
  EXPECT_EQ(bound.meshes[0].surface.positions, mesh.meshes[0].surface.positions);
  EXPECT_GE(bound.meshes[0].skin, 0);
  EXPECT_EQ(bound.clips.size(), 2u);
  expect_success("render " + path("out.glb") + " --clip bend --frames 90 --size 64x64 --quality draft -o " +
                 path("bent.png"));
}

TEST_F(BindCli, TheReportIsJson) {
  const Outcome outcome = sinew(bind("--json --ignore 'up*' --influences all --smooth 2 --prune 0.02"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["unbound_vertices"], 0);
  EXPECT_EQ(json["meshes"][0]["unbound"], 0);
  ASSERT_EQ(json["joints"].size(), 1u);
  EXPECT_EQ(json["joints"][0]["vertices"], json["meshes"][0]["vertices"]);
  EXPECT_EQ(json["left_out"].back()["reason"], "ignored");
  EXPECT_TRUE(json["symmetry"].is_null());
  EXPECT_EQ(json["welded_vertices"], json["meshes"][0]["vertices"]);
  EXPECT_TRUE(json["warnings"].is_array());
}

TEST_F(BindCli, WithoutARigTheMeshsOwnIsTaken) {
  expect_success("bind " + path("rig.glb") + " -o " + path("out.glb") + " --method envelope --symmetry none");
  const Scene was = read_gltf(directory_ / "rig.glb"), is = read_gltf(directory_ / "out.glb");
  EXPECT_EQ(is.skins, was.skins);
  EXPECT_EQ(is.skeleton, was.skeleton);
  EXPECT_NE(is.meshes[0].weights, was.meshes[0].weights);
  expect_success("bind " + path("rig.glb") + " --rig " + path("rig.glb") + " -o " + path("same.glb") +
                 " --method envelope --symmetry none");
  EXPECT_TRUE(read_file(directory_ / "out.glb") == read_file(directory_ / "same.glb"));
  expect_failure("bind " + path("mesh.obj") + " -o " + path("b.glb"),
                 "has no skeleton of its own; name the file of one with --rig");
}

TEST_F(BindCli, BuiltInCharactersServeAsMeshAndRig) {
  expect_success("bind model:tube@300 --rig model:tube@400 -o " + path("out.glb"));
  EXPECT_EQ(read_gltf(directory_ / "out.glb").meshes[0].surface.positions.size(), 300u);
}

TEST_F(BindCli, PicturesShowTheWeights) {
  const Outcome outcome = sinew(bind("--json --pictures " + path("pictures")));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  ASSERT_EQ(json["pictures"].size(), 3u);
  for (const auto& picture : json["pictures"]) {
    const std::vector<std::byte> bytes = read_file(picture.get<std::string>());
    EXPECT_TRUE(as_text(bytes).starts_with("\x89PNG"));
  }
  EXPECT_TRUE(fs::exists(directory_ / "pictures/partition.png"));
}

TEST_F(BindCli, PicturesHaveSafeNames) {
  Scene tube = test::make_grid_tube({.rings = 8, .segments = 6});
  const std::vector<int> joints = tube.skins[0].joints;
  tube.skeleton.joints[to_size(joints[0])].name = "../a b";
  tube.skeleton.joints[to_size(joints[1])].name = "_.._A_B";
  write_glb(tube, directory_ / "odd.glb");
  const Outcome outcome =
      sinew("bind " + path("odd.glb") + " -o " + path("out.glb") + " --json --pictures " + path("pictures"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory_ / "pictures"))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"_.._A_B-2.png", "_.._a_b.png", "partition.png"}));
}

TEST_F(BindCli, Refusals) {
  expect_failure(bind("--method wishes"), "--method wishes: expected one of heat, rigid, envelope");
  expect_failure(bind("--symmetry w"), "--symmetry w: expected one of auto, none, x, y, z");
  expect_failure(bind("--influences 0"), "--influences 0: expected a number from 1 to 64, or all");
  expect_failure(bind("--influences 4x"), "--influences");
  expect_failure(bind("--prune 0.7"), "--prune");
  expect_failure(bind("--smooth -1"), "--smooth");
  expect_failure(bind("--ignore nobody"), "none is called 'nobody'");
  expect_failure(bind("--lock 'up*'"), "has no weights of joints called 'up*'");
  expect_failure(bind("--mesh nobody"), "no mesh is called 'nobody'");
  const std::string both = "bind " + path("mesh.obj") + " --rig " + path("rig.glb") + " -o ";
  expect_failure(both + path("out.fbx"), "choose a name that ends in .glb");
  expect_failure(both + path("rig.glb"), "is an input; choose another name");
  expect_failure(both + path("nowhere/out.glb"), "nowhere/out.glb");
  expect_failure("bind " + path("missing.obj") + " -o " + path("out.glb"), "missing.obj: no such file");
  expect_failure("bind " + path("mesh.obj") + " --rig " + path("mesh.obj") + " -o " + path("out.glb"),
                 "has no skeleton");
}

TEST_F(BindCli, JsonRigsKeepTheirControllers) {
  write_file(directory_ / "rig.json", R"({"sinew_rig": 1, "name": "tube", "bones": [
    {"name": "root", "head": [-1, -1, 0], "tail": [-1, -1, 0.5], "deform": false},
    {"name": "lower", "parent": "root", "head": [-1, 0, 0], "tail": [0, 0, 0]},
    {"name": "upper", "parent": "lower", "head": [0, 0, 0], "tail": [1, 0, 0], "connected": true,
     "constraints": [{"type": "ik", "target": "goal", "chain_length": 2}]},
    {"name": "goal", "parent": "root", "head": [1, 0, 0], "tail": [1, 0.2, 0], "deform": false}]})");
  const std::string command =
      "bind " + path("mesh.obj") + " --rig " + path("rig.json") + " -o " + path("out.glb");
  const Outcome outcome = sinew(command + " --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["unbound_vertices"], 0);
  ASSERT_EQ(json["joints"].size(), 2u);
  EXPECT_EQ(json["left_out"][0], (Json{{"name", "root"}, {"reason", "a controller of the rig"}}));
  test::expect_valid(directory_ / "out.glb");
  const Scene bound = read_gltf(directory_ / "out.glb");
  ASSERT_TRUE(bound.control_rig);
  EXPECT_EQ(bound.control_rig->bones[2].constraints.size(), 1u);
  EXPECT_GE(bound.skeleton.find("goal"), 0);
  ASSERT_EQ(bound.skins.size(), 1u);
  EXPECT_EQ(bound.skins[0].joints.size(), 2u);
  const Outcome info = sinew("info " + path("out.glb"));
  EXPECT_NE(info.out.find("rig 'tube' of 4 bones: deforming 2, controllers 2, constraints 1"),
            std::string::npos)
      << info.out;
  write_file(directory_ / "recipe.json", R"({"layers": ["dqs"]})");
  expect_failure("bind " + path("mesh.obj") + " --rig " + path("recipe.json") + " -o " + path("b.glb"),
                 "is a recipe, not a rig");
}

TEST_F(BindCli, RigifysRigsBindAsTheyAre) {
  const auto rig = test::asset("rigify_generated.json"), body = test::asset("human_unrigged.obj");
  if (!rig || !body) GTEST_SKIP() << test::missing_asset("rigify_generated.json");
  if (test::kSanitized) GTEST_SKIP() << "too slow under a sanitizer";
  expect_success("bind " + body->string() + " --rig " + rig->string() + " -o " + path("out.glb"));
  test::expect_valid(directory_ / "out.glb");
  const Scene bound = read_gltf(directory_ / "out.glb");
  ASSERT_TRUE(bound.control_rig);
  EXPECT_EQ(bound.control_rig->bones.size(), 706u);
  EXPECT_TRUE(bound.warnings.empty());
  for (const int joint : bound.skins[0].joints)
    EXPECT_TRUE(bound.skeleton.joints[to_size(joint)].name.starts_with("DEF-"));
}

TEST_F(BindCli, ThreadsDoNotChangeTheWeights) {
  expect_success("--threads 1 " + bind(""));
  fs::rename(directory_ / "out.glb", directory_ / "one.glb");
  expect_success("--threads 2 " + bind(""));
  EXPECT_TRUE(read_file(directory_ / "one.glb") == read_file(directory_ / "out.glb"));
}

TEST_F(BindCli, WeightsAreTransferred) {
  write_obj(test::make_grid_tube({.rings = 10, .segments = 9, .radius = 0.21f}), directory_ / "sleeve.obj");
  const std::string transfer =
      "transfer " + path("rig.glb") + " " + path("sleeve.obj") + " -o " + path("out.glb") + " ";
  const Outcome outcome = sinew(transfer + "--json --distance 0.1 --angle 80 --influences 8");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["unbound_vertices"], 0);
  EXPECT_EQ(json["joints"].size(), 2u);
  EXPECT_GT(json["surface"]["transferred_vertices"], 0);
  test::expect_valid(directory_ / "out.glb");
  EXPECT_EQ(read_gltf(directory_ / "out.glb").clips.size(), 2u);
  fs::remove(directory_ / "out.glb");
  expect_failure("transfer " + path("sleeve.obj") + " " + path("mesh.obj") + " -o " + path("out.glb"),
                 "no mesh of it is bound to a skeleton");
  expect_failure(transfer + "--angle 100", "--angle");
  expect_failure("transfer " + path("rig.glb") + " " + path("sleeve.obj") + " -o " + path("rig.glb"),
                 "is an input");
}

TEST_F(BindCli, ARealCharacterIsBoundAndPosed) {
  const auto mesh = test::asset("human_unrigged.obj"), rig = test::asset("human.glb");
  if (!mesh || !rig) GTEST_SKIP() << test::missing_asset("human.glb");
  if (test::kSanitized) GTEST_SKIP() << "too slow with sanitizers";
  const Outcome outcome =
      sinew("bind " + mesh->string() + " --rig " + rig->string() + " -o " + path("out.glb") + " --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["unbound_vertices"], 0);
  EXPECT_GT(json["symmetry"]["joint_pairs"], 20);
  EXPECT_EQ(json["joints"].size(), 52u);  // all but the root on the floor
  test::expect_valid(directory_ / "out.glb");
}

}  // namespace
}  // namespace sinew
