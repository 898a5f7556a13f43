// Runs `sinew generate` and `sinew demo` as a user would.
#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include <sinew/character/layer.h>
#include <sinew/core/file.h>
#include <sinew/models/models.h>
#include <sinew/scene/scene.h>

#include "tests/support/cli_fixture.h"
#include "tests/support/sanitized.h"
#include "tests/support/validator.h"

namespace sinew {
namespace {

class DemoCli : public test::CliFixture {};

TEST_F(DemoCli, GeneratesWhatItSays) {
  const test::Outcome outcome = sinew("generate hand --vertices 1234 -o " + path("hand.glb"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("1234 vertices"), std::string::npos) << outcome.err;
  test::expect_valid(directory_ / "hand.glb");
  const Scene scene = read_scene(directory_ / "hand.glb");
  EXPECT_EQ(scene.meshes[0].surface.positions.size(), 1234u);
  EXPECT_EQ(scene.clips.size(), 2u);
  EXPECT_EQ(scene.skins[0].joints.size(), 21u);

  expect_success("generate tube --vertices 500 --girth 2 -o " + path("tube.obj"));
  const Scene mesh_alone = read_scene(directory_ / "tube.obj");
  EXPECT_EQ(mesh_alone.meshes[0].surface.positions.size(), 500u);
  float widest = 0;
  for (const Vec3f& p : mesh_alone.meshes[0].surface.positions) widest = std::max(widest, p.y());
  EXPECT_NEAR(widest, 0.4, 0.01);
}

TEST_F(DemoCli, ModelsAreInputsToo) {
  const test::Outcome outcome = sinew("info model:tube@321 --json");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("\"vertices\": 321"), std::string::npos) << outcome.out;
  expect_failure("info model:dog", "there are: tube, arm, hand, mannequin, cat, insect");
  expect_failure("info model:tube@", "number of vertices");
  expect_failure("info model:tube@x", "number of vertices");
  expect_failure("info model:tube@5", "it takes 150 to 1000000");
}

TEST_F(DemoCli, GenerateSaysWhatIsWrong) {
  expect_failure("generate dog -o " + path("a.glb"), "there are: tube, arm, hand, mannequin, cat, insect");
  expect_failure("generate hand -o " + path("a.fbx"), ".glb or .obj");
  expect_failure("generate hand --vertices 10 -o " + path("a.glb"), "it takes 800 to 1000000");
  expect_failure("generate hand --vertices 2000000 -o " + path("a.glb"), "--vertices");
  expect_failure("generate hand --girth 3 -o " + path("a.glb"), "girth is 3");
  expect_failure("generate hand --vertices 900 -o " + path("no/such/a.glb"), "does not exist");
}

TEST_F(DemoCli, DemoShowsFourMethodsFirst) {
  if (test::kSanitized) GTEST_SKIP() << "takes a minute here; each method has tests of its own";
  const test::Outcome outcome = sinew("demo --quick --only arm --size 40 -o " + path("out"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("report.html"), std::string::npos);
  EXPECT_NE(outcome.out.find("sinew demo --all"), std::string::npos);
  const std::string report(as_text(read_file(directory_ / "out" / "report.html")));
  EXPECT_NE(report.find("sinew demo --all"), std::string::npos);
  for (const LayerMethod& method : layer_methods()) {
    const std::string name(method.name);
    const bool shown = name == "lbs" || name == "dqs" || name == "implicit" || name == "elastic";
    EXPECT_EQ(std::filesystem::exists(directory_ / "out" / ("arm_bend_" + name + ".glb")), shown) << name;
    EXPECT_EQ(report.find(">" + name + "</th>") != std::string::npos, shown) << name;
    EXPECT_NE(report.find(name), std::string::npos) << name << " is not named as one that --all shows";
  }
  EXPECT_FALSE(std::filesystem::exists(directory_ / "out" / "fit.glb"));
}

TEST_F(DemoCli, DemoShowsEveryMethod) {
  if (test::kSanitized) GTEST_SKIP() << "takes a minute here; each method has tests of its own";
  const test::Outcome outcome = sinew("demo --all --quick --only hand --size 40 -o " + path("out"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("report.html"), std::string::npos);
  const std::string report(as_text(read_file(directory_ / "out" / "report.html")));
  for (const LayerMethod& method : layer_methods()) {
    const std::string name(method.name);
    if (name == "curves") continue;  // a hand has no tail: nothing to show
    test::expect_valid(directory_ / "out" / ("hand_fist_" + name + ".glb"));
    EXPECT_NE(report.find(">" + name + "</th>"), std::string::npos) << name << " is not in the table";
  }
  EXPECT_EQ(report.find(">curves</th>"), std::string::npos);
  test::expect_valid(directory_ / "out" / "hand.glb");
  for (const char* name : {"hand.webp", "hand_bend.png", "hand_fist.png", "hand_close_up.png"})
    EXPECT_GT(std::filesystem::file_size(directory_ / "out" / name), 100u) << name;
  // Self-contained: pictures and plots stand in the page, nothing is fetched.
  EXPECT_NE(report.find("data:image/webp;base64,"), std::string::npos);
  EXPECT_NE(report.find("<svg"), std::string::npos);
  EXPECT_EQ(report.find("src=\"http"), std::string::npos);
  EXPECT_EQ(report.find("href=\"http"), std::string::npos);
  expect_failure("demo --only dog -o " + path("out"), "arm, hand, mannequin and cat");
}

}  // namespace
}  // namespace sinew
