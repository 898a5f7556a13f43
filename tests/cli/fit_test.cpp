// Runs `sinew fit` as a user would.
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sinew/core/file.h>
#include <sinew/core/index.h>
#include <sinew/scene/gltf.h>
#include <sinew/scene/rig_file.h>

#include "tests/support/cli_fixture.h"
#include "tests/support/sanitized.h"
#include "tests/support/validator.h"

namespace sinew {
namespace {

namespace fs = std::filesystem;

using Json = nlohmann::ordered_json;
using test::Outcome;

class FitCli : public test::CliFixture {
 protected:
  std::string fit(const std::string& output, const std::string& rest = "") const {
    return "fit model:hand@2500 --rig template:hand -o " + path(output) + " " + rest;
  }
};

TEST_F(FitCli, ARigIsFittedAndBound) {
  if (test::kSanitized) GTEST_SKIP() << "too slow under a sanitizer";
  const Outcome outcome = sinew("fit model:mannequin@8000 --rig template:biped -o " + path("x.glb"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("63 bones and"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("head: bone 'head'"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("left and right are mirror images"), std::string::npos) << outcome.err;
  test::expect_valid(directory_ / "x.glb");
  const Scene fitted = read_gltf(directory_ / "x.glb");
  ASSERT_TRUE(fitted.control_rig);
  EXPECT_GE(fitted.control_rig->find("hand_ik.L"), 0);
  ASSERT_EQ(fitted.meshes.size(), 1u);
  EXPECT_EQ(fitted.meshes[0].surface.positions.size(), 8000u);
  expect_success("bind " + path("x.glb") + " -o " + path("y.glb"));
  const Scene bound = read_gltf(directory_ / "y.glb");
  EXPECT_GE(bound.meshes[0].skin, 0);
  test::expect_valid(directory_ / "y.glb");
}

TEST_F(FitCli, TheRigAloneIsJson) {
  expect_success(fit("x.json"));
  const ControlRig fitted = read_rig(directory_ / "x.json");
  EXPECT_GE(fitted.find("index_3"), 0);
  EXPECT_EQ(directory_.files(), std::vector<std::string>{"x.json"});
  // It can be bound as it is.
  expect_success("bind model:hand@2500 --rig " + path("x.json") + " -o " + path("y.glb"));
}

TEST_F(FitCli, TheReportIsJson) {
  const Outcome outcome = sinew(fit("x.glb", "--json --asymmetric"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["mesh"], "model:hand@2500");
  EXPECT_EQ(json["rig"], "template:hand");
  EXPECT_EQ(json["output"], path("x.glb"));
  EXPECT_EQ(json["head"]["guessed"], true);
  EXPECT_EQ(json["head"]["point"].size(), 3u);
  EXPECT_EQ(json["turn"].size(), 4u);
  EXPECT_GT(json["scale"], 0);
  EXPECT_LT(json["score"], 1.8);
  EXPECT_TRUE(json["matched_by"] == "descriptors" || json["matched_by"] == "alignment");
  EXPECT_EQ(json["pieces"], 1);
  EXPECT_EQ(json["wrapped"], false);
  EXPECT_GE(json["limbs"], 5);
  EXPECT_EQ(json["symmetric"], false);
  EXPECT_TRUE(json["carried"].is_array());
  EXPECT_EQ(json["dropped"], Json::array());
  // The model's own clips are for joints that stand elsewhere.
  EXPECT_EQ(json["warnings"].size(), 2u);
  for (const auto& warning : json["warnings"])
    EXPECT_NE(outcome.err.find(warning.get<std::string>()), std::string::npos) << outcome.err;
  for (const char* step : {"graph", "matching", "placement", "controllers"})
    EXPECT_GE(json["seconds"][step], 0) << step;
  // The bones are those of the file.
  const Scene fitted = read_gltf(directory_ / "x.glb");
  ASSERT_TRUE(fitted.control_rig);
  ASSERT_EQ(json["bones"].size(), fitted.control_rig->bones.size());
  for (std::size_t b = 0; b < json["bones"].size(); ++b) {
    const RigBone& bone = fitted.control_rig->bones[b];
    EXPECT_EQ(json["bones"][b]["name"], bone.name);
    EXPECT_EQ(json["bones"][b]["deform"], bone.deforms);
    for (int k = 0; k < 3; ++k)
      EXPECT_NEAR(json["bones"][b]["head"][to_size(k)].get<double>(), bone.head[k], 1e-5);
  }
}

TEST_F(FitCli, TheHeadIsSaid) {
  const Outcome guessed = sinew(fit("x.json", "--json"));
  ASSERT_EQ(guessed.exit_code, 0) << guessed.err;
  const Json head = Json::parse(guessed.out)["head"];
  const std::string point =
      head["point"][0].dump() + "," + head["point"][1].dump() + "," + head["point"][2].dump();
  const Outcome said =
      sinew(fit("y.json", "--json --head=" + point + " --head-bone " + head["bone"].get<std::string>()));
  ASSERT_EQ(said.exit_code, 0) << said.err;
  const Json json = Json::parse(said.out);
  EXPECT_EQ(json["head"]["guessed"], false);
  EXPECT_EQ(json["head"]["bone"], head["bone"]);
  EXPECT_EQ(json["head"]["point"], head["point"]);
}

TEST_F(FitCli, APictureIsDrawn) {
  expect_success(fit("x.glb", "--picture " + path("x.png")));
  const std::vector<std::byte> bytes = read_file(directory_ / "x.png");
  EXPECT_TRUE(as_text(bytes).starts_with("\x89PNG"));
}

TEST_F(FitCli, ThreadsDoNotChangeTheFit) {
  expect_success("--threads 1 " + fit("one.json"));
  expect_success("--threads 2 " + fit("two.json"));
  EXPECT_TRUE(read_file(directory_ / "one.json") == read_file(directory_ / "two.json"));
}

TEST_F(FitCli, Refusals) {
  expect_failure("fit model:hand@2500 --rig template:octopus -o " + path("x.glb"), "octopus");
  expect_failure("fit model:hand@2500 --rig template:octopus -o " + path("x.glb"),
                 "biped, quadruped, insect, hand");
  expect_failure(fit("x.fbx"), "choose a name that ends in .glb (mesh and rig) or .json (the rig alone)");
  expect_failure(fit("nowhere/x.glb"), "nowhere/x.glb");
  expect_failure(fit("x.glb", "--picture " + path("nowhere/x.png")), "nowhere/x.png");
  for (const char* head : {"1,2", "1,2,3,4", "here", "1,2,nan", "1;2;3", ","})
    expect_failure(fit("x.glb", std::string("--head '") + head + "'"), "expected a point of the mesh");
  expect_failure(fit("x.glb", "--head-bone nobody"), "'nobody'");
  expect_failure("fit model:tube@400 --rig template:biped -o " + path("x.glb"), "rig 'biped': ");
  expect_failure("fit " + path("missing.obj") + " --rig template:hand -o " + path("x.glb"),
                 "missing.obj: no such file");
}

TEST_F(FitCli, InputsAreNotOverwritten) {
  expect_success(fit("rig.json"));
  const std::vector<std::byte> before = read_file(directory_ / "rig.json");
  expect_failure("fit model:hand@2500 --rig " + path("rig.json") + " -o " + path("rig.json"), "is an input");
  EXPECT_TRUE(read_file(directory_ / "rig.json") == before);
  expect_success("generate tube --vertices 400 -o " + path("tube.glb"));
  expect_failure("fit " + path("tube.glb") + " --rig template:hand -o " + path("tube.glb"), "is an input");
}

}  // namespace
}  // namespace sinew
