// Runs the built program as a user would: arguments in; exit code, stdout, stderr and files out.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sinew/character/layer.h>
#include <sinew/core/file.h>
#include <sinew/scene/gltf.h>

#include "tests/support/assets.h"
#include "tests/support/cli_fixture.h"
#include "tests/support/grid_tube.h"
#include "tests/support/sanitized.h"
#include "tests/support/validator.h"

namespace sinew {
namespace {

namespace fs = std::filesystem;

using test::Outcome;

class Cli : public test::CliFixture {};

TEST_F(Cli, HelpAndVersion) {
  EXPECT_EQ(sinew("--help").exit_code, 0);
  EXPECT_NE(sinew("--help").out.find("bake"), std::string::npos);
  EXPECT_NE(sinew("bake --help").out.find("--clip"), std::string::npos);
  EXPECT_EQ(sinew("--version").exit_code, 0);
}

TEST_F(Cli, UsageMistakes) {
  expect_failure("", "see `sinew --help`");
  expect_failure("frobnicate", "sinew: ");
  expect_failure("bake model:tube --clip bend", "--output");
  expect_failure("bake model:tube -o " + path("a.pc2") + " --clip bend --threads 0", "--threads");
  expect_failure("bake model:tube -o " + path("a.pc2") + " --clip bend --up x", "--up");
  expect_failure("bake model:tube -o " + path("a.pc2") + " --clip bend --skin lbs --recipe r.json", "--skin");
}

TEST_F(Cli, InfoTellsWhatIsThere) {
  const Outcome text = sinew("info model:tube");
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_NE(text.out.find("clip 0 'bend': 5.000 s, 151 frames at 30 fps"), std::string::npos) << text.out;
  const auto json = nlohmann::json::parse(sinew("info model:tube --json").out);
  EXPECT_EQ(json["meshes"][0]["watertight"], true);
  EXPECT_EQ(json["joints"].size(), 2u);
}

TEST_F(Cli, InfoTellsWhatIsWrong) {
  write_file(directory_ / "bad.obj",
             "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 9 9 9\nv 5 0 0\nv 6 0 0\nv 7 0 0\n"
             "f 1 2 3\nf 5 6 7\n");
  const auto json = nlohmann::json::parse(sinew("info " + path("bad.obj") + " --json").out);
  const auto& mesh = json["meshes"][0];
  EXPECT_EQ(mesh["open_borders"], 2);
  EXPECT_EQ(mesh["islands"], 2);
  EXPECT_EQ(mesh["zero_area_triangles"], 1);
  EXPECT_EQ(mesh["isolated_vertices"], 1);
  EXPECT_EQ(mesh["skinned"], false);
  EXPECT_GE(json["problems"].size(), 5u);
}

TEST_F(Cli, BakesEveryFormat) {
  for (const char* name : {"a.pc2", "a.mdd", "a.glb", "a.obj"}) {
    const Outcome outcome = sinew("bake model:tube --clip bend --frames 3-5 --json -o " + path(name));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto json = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(json["frames"], 3);
    EXPECT_EQ(json["first_frame"], 3);
    for (const auto& output : json["outputs"]) EXPECT_TRUE(fs::exists(output.get<std::string>())) << output;
  }
  EXPECT_EQ(directory_.files(),
            (std::vector<std::string>{"a.glb", "a.mdd", "a.pc2", "a_0003.obj", "a_0004.obj", "a_0005.obj"}));
  const std::size_t vertices = 64 * 32 + 2;
  EXPECT_EQ(fs::file_size(directory_ / "a.pc2"), 32 + 3 * vertices * 12);
  EXPECT_EQ(fs::file_size(directory_ / "a.mdd"), 8 + 3 * 4 + 3 * vertices * 12);
  test::expect_valid(directory_ / "a.glb");
}

TEST_F(Cli, ExtensionsMayBeInCapitals) {
  const std::string one_frame = " --clip bend --frames 3 -o ";
  for (const char* name : {"a.PC2", "a.Mdd", "A.GLB", "b.OBJ"})
    expect_success("bake model:tube" + one_frame + path(name));
  expect_success("generate tube --vertices 300 -o " + path("TUBE.GLB"));
  expect_success("info " + path("TUBE.GLB"));
  expect_success("bind " + path("TUBE.GLB") + " -o " + path("BOUND.GLB"));
  expect_success("render " + path("TUBE.GLB") + " --size 32x32 -o " + path("TUBE.PNG"));
  expect_success("render " + path("TUBE.GLB") + " --clip bend --frames 0-1 --size 32x32 -o " +
                 path("T.WEBP"));
  write_file(directory_ / "R.JSON", R"({"layers": ["lbs"]})");
  expect_success("measure " + path("TUBE.GLB") + " --clip bend --frames 0-1 --compare dqs," + path("R.JSON"));
}

TEST_F(Cli, PartOfABakeEqualsTheWhole) {
  ASSERT_EQ(sinew("bake model:tube --clip bend -o " + path("all.pc2")).exit_code, 0);
  ASSERT_EQ(sinew("bake model:tube --clip bend --frames 10-12 --threads 1 -o " + path("part.pc2")).exit_code,
            0);
  const auto all = read_file(directory_ / "all.pc2"), part = read_file(directory_ / "part.pc2");
  const std::size_t frame = (64 * 32 + 2) * 12;
  ASSERT_EQ(all.size(), 32 + 151 * frame);
  ASSERT_EQ(part.size(), 32 + 3 * frame);
  EXPECT_TRUE(std::equal(part.begin() + 32, part.end(), all.begin() + 32 + 10 * frame));
}

TEST_F(Cli, PoseTurnsAJoint) {
  // The clip's own frame 90 turns the joint by 90° about z; the pose does the same from rest.
  ASSERT_EQ(sinew("bake model:tube --clip bend --frames 90 -o " + path("clip.pc2")).exit_code, 0);
  ASSERT_EQ(
      sinew("bake model:tube --clip bend --frames 0 --pose upper=0,0,90 -o " + path("pose.pc2")).exit_code,
      0);
  const auto clip = read_file(directory_ / "clip.pc2"), pose = read_file(directory_ / "pose.pc2");
  ASSERT_EQ(clip.size(), pose.size());
  const auto value = [](const std::vector<std::byte>& bytes, std::size_t i) {
    float number;
    std::memcpy(&number, bytes.data() + 32 + 4 * i, 4);
    return number;
  };
  for (std::size_t i = 0; i < (clip.size() - 32) / 4; ++i) ASSERT_NEAR(value(clip, i), value(pose, i), 1e-5);
}

TEST_F(Cli, BakeMistakes) {
  const std::string to = " -o " + path("a.pc2");
  expect_failure("bake model:tube" + to, "choose one with --clip: 0 'bend', 1 'twist'");
  expect_failure("bake model:tube --clip wave" + to, "has no clip 'wave'");
  expect_failure("bake model:tube --clip 2" + to, "has no clip '2'");
  expect_failure("bake model:teapot" + to, "no such built-in character");
  expect_failure("bake nothing.glb" + to, "nothing.glb: no such file");
  expect_failure("bake nothing.xyz" + to, "nothing.xyz: no such file");
  expect_failure("bake model:tube --clip bend -o " + path("a.xyz"), ".xyz");
  expect_failure("bake model:tube --clip bend -o " + path("no/such/a.pc2"), "does not exist");
  expect_failure("bake model:tube --clip bend --skin foo" + to,
                 "'foo' is not a method; allowed are: lbs, dqs");
  expect_failure("bake model:tube --clip bend --recipe missing.json" + to, "missing.json: no such file");
  for (const char* frames : {"x", "5-3", "0-151", "3-", "-3", "1-2-3"})
    expect_failure(std::string("bake model:tube --clip bend --frames=") + frames + to, "--frames");
  for (const char* pose :
       {"upper", "upper=1,2", "upper=1,2,3,4", "upper=a,b,c", "upper=1,2,nan", "elbow=0,0,0"})
    expect_failure(std::string("bake model:tube --clip bend --pose ") + pose + to, "--pose");
}

TEST_F(Cli, MissingFilesAreNamedWithTheNearest) {
  ASSERT_EQ(sinew("generate tube --vertices 300 -o " + path("tube.glb")).exit_code, 0);
  write_file(directory_ / "folds.json", R"({"layers": ["lbs"]})");
  const std::string wrong = path("tub.glb"), right = "did you mean " + path("tube.glb") + "?",
                    output = " -o " + path("out.glb");
  for (const std::string& arguments :
       {"info " + wrong, "bind " + wrong + output, "bind model:tube --rig " + wrong + output,
        "fit model:tube --rig " + wrong + output, "fit " + wrong + " --rig template:biped" + output,
        "transfer " + wrong + " " + path("tube.glb") + output, "transfer model:tube " + wrong + output,
        "bake " + wrong + output, "bake model:tube --motion " + wrong + output, "measure " + wrong,
        "render " + wrong + " -o " + path("out.png"), "suggest " + wrong + " -o " + path("out.json")})
    expect_failure(arguments, right);
  const std::string wrong_recipe = path("fold.json"),
                    right_recipe = "did you mean " + path("folds.json") + "?";
  expect_failure("bake model:tube --clip bend --recipe " + wrong_recipe + output, right_recipe);
  expect_failure("measure model:tube --clip bend --compare lbs," + wrong_recipe, right_recipe);
  expect_failure("recipe --profiles " + wrong_recipe + " -o " + path("out.svg"), right_recipe);
  expect_failure("info " + path("no/such/tube.glb"),
                 "the directory '" + path("no/such") + "' does not exist");
}

TEST_F(Cli, InputsAreNeverOverwritten) {
  write_glb(test::make_grid_tube(), directory_ / "t.glb");
  const auto before = read_file(directory_ / "t.glb");
  expect_failure("bake " + path("t.glb") + " --clip bend -o " + path("t.glb"), "is an input");
  EXPECT_TRUE(read_file(directory_ / "t.glb") == before);
}

TEST_F(Cli, PoseAloneNeedsNoClip) {
  const Outcome outcome =
      sinew("bake --pose upper=0,0,90 --pose lower=0,0,0 model:tube --clip none -o " + path("a.obj"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

TEST_F(Cli, EndlessClipsNeedAChoice) {
  Scene scene = test::make_grid_tube();
  scene.clips.resize(1);
  scene.clips[0].channels[0].times.back() = 1e9f;
  write_glb(scene, directory_ / "long.glb");
  expect_failure("bake " + path("long.glb") + " -o " + path("a.pc2"), "choose some with --frames");
  EXPECT_EQ(sinew("bake " + path("long.glb") + " --frames 5-6 -o " + path("a.pc2")).exit_code, 0);
}

TEST_F(Cli, DamagedFilesGiveOneLine) {
  write_glb(test::make_grid_tube(), directory_ / "tube.glb");
  std::vector<std::byte> bytes = read_file(directory_ / "tube.glb");
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{11}, std::size_t{100}, bytes.size() / 2, bytes.size() - 1}) {
    write_file(directory_ / "cut.glb", as_text(std::span(bytes).first(size)));
    expect_failure("bake " + path("cut.glb") + " --clip bend -o " + path("a.pc2"), "cut.glb: ");
    expect_failure("info " + path("cut.glb"), "cut.glb: ");
  }
  write_file(directory_ / "text.glb", "not a glTF file at all");
  expect_failure("info " + path("text.glb"), "text.glb: ");
}

TEST_F(Cli, RecipeFileIsUsed) {
  write_file(directory_ / "r.json", R"({"layers": ["lbs"], "normals": false})");
  ASSERT_EQ(
      sinew("bake model:tube --clip bend --frames 90 --recipe " + path("r.json") + " -o " + path("r.pc2"))
          .exit_code,
      0);
  ASSERT_EQ(sinew("bake model:tube --clip bend --frames 90 --skin lbs -o " + path("l.pc2")).exit_code, 0);
  ASSERT_EQ(sinew("bake model:tube --clip bend --frames 90 --skin dqs -o " + path("d.pc2")).exit_code, 0);
  EXPECT_TRUE(read_file(directory_ / "r.pc2") == read_file(directory_ / "l.pc2"));
  EXPECT_FALSE(read_file(directory_ / "d.pc2") == read_file(directory_ / "l.pc2"));
  write_file(directory_ / "bad.json", R"({"layer": []})");
  expect_failure("bake model:tube --clip bend --recipe " + path("bad.json") + " -o " + path("a.pc2"),
                 "'layer' is not a field");
}

TEST_F(Cli, OldNamesInRecipesAreToldAndStillRead) {
  write_file(directory_ / "old.json", R"({"layers": ["lbs", {"method": "volume", "most": 0.5}]})");
  write_file(directory_ / "new.json",
             R"({"layers": ["lbs", {"method": "volume", "max_displacement": 0.5}]})");
  const std::string bake = "bake model:tube --clip bend --frames 90 --recipe ";
  const Outcome old = sinew(bake + path("old.json") + " -o " + path("old.pc2"));
  ASSERT_EQ(old.exit_code, 0);
  EXPECT_NE(old.err.find("sinew: warning: " + path("old.json") +
                         ": layers[1].most: is an old name; write 'max_displacement'"),
            std::string::npos)
      << old.err;
  const Outcome now = sinew(bake + path("new.json") + " -o " + path("new.pc2"));
  ASSERT_EQ(now.exit_code, 0);
  EXPECT_EQ(now.err.find("old name"), std::string::npos) << now.err;
  EXPECT_TRUE(read_file(directory_ / "old.pc2") == read_file(directory_ / "new.pc2"));
}

TEST_F(Cli, MotionFromAnotherFile) {
  write_file(
      directory_ / "turn.bvh",
      "HIERARCHY\nROOT lower\n{\nOFFSET -1 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\nJOINT upper\n{\n"
      "OFFSET 1 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\nEnd Site\n{\nOFFSET 1 0 0\n}\n}\n}\n"
      "MOTION\nFrames: 2\nFrame Time: 0.0333333\n0 0 0 0 0 0\n0 0 0 90 0 0\n");
  ASSERT_EQ(
      sinew("bake model:tube --motion " + path("turn.bvh") + " --frames 1 -o " + path("bvh.pc2")).exit_code,
      0);
  ASSERT_EQ(sinew("bake model:tube --clip bend --frames 90 -o " + path("clip.pc2")).exit_code, 0);
  const auto bvh = read_file(directory_ / "bvh.pc2"), clip = read_file(directory_ / "clip.pc2");
  ASSERT_EQ(bvh.size(), clip.size());
  for (std::size_t i = 32; i + 4 <= clip.size(); i += 4) {
    float a, b;
    std::memcpy(&a, bvh.data() + i, 4);
    std::memcpy(&b, clip.data() + i, 4);
    ASSERT_NEAR(a, b, 1e-4);
  }
}

TEST_F(Cli, RecipeVerbListsFields) {
  const Outcome text = sinew("recipe");
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_NE(text.out.find("weld_tolerance"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(sinew("recipe --json").out)["layers"].size(), layer_methods().size());
}

TEST_F(Cli, RecipeVerbDrawsProfiles) {
  const std::string rolls = std::string(SINEW_SOURCE_DIR) + "/examples/recipes/volume_rolls.json";
  ASSERT_EQ(sinew("recipe --profiles " + rolls + " -o " + path("rolls.svg")).exit_code, 0);
  const std::vector<std::byte> bytes = read_file(path("rolls.svg"));
  const std::string_view svg = as_text(bytes);
  for (const char* text : {"<svg", "waist", "other joints"})
    EXPECT_NE(svg.find(text), std::string_view::npos) << text;
  write_file(path("plain.json"), R"({"layers": ["dqs"]})");
  const Outcome plain = sinew("recipe --profiles " + path("plain.json") + " -o " + path("plain.svg"));
  EXPECT_NE(plain.exit_code, 0);
  EXPECT_NE(plain.err.find("no volume layer"), std::string::npos) << plain.err;
  EXPECT_FALSE(std::filesystem::exists(path("plain.svg")));
  EXPECT_NE(sinew("recipe --profiles " + rolls).err.find("--output"), std::string::npos);
}

TEST_F(Cli, SuggestsFlesh) {
  if (test::kSanitized) GTEST_SKIP() << "making a cat takes a minute here";
  const Outcome outcome = sinew("suggest model:cat@3000 --layer flesh -o " + path("flesh.json"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* name : {"thigh", "belly", "tail"})
    EXPECT_NE(outcome.out.find(name), std::string::npos) << name;
  EXPECT_EQ(sinew("bake model:cat@3000 --clip run --frames 0-3 --recipe " + path("flesh.json") + " -o " +
                  path("run.pc2"))
                .exit_code,
            0);
  EXPECT_NE(sinew("suggest model:cat@3000 --layer wood -o " + path("x.json")).exit_code, 0);
}

TEST_F(Cli, SuggestsWrinklesAndBakesThem) {
  if (test::kSanitized) GTEST_SKIP() << "the same code as in the layer's tests, slowly";
  write_file(path("below.json"), R"({"weld_tolerance": 0.00001, "layers": ["lbs", "wrinkles"]})");
  const Outcome outcome = sinew("suggest model:trousers --layer wrinkles --most 3 --recipe " +
                                path("below.json") + " -o " + path("folds.json"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("3 tools"), std::string::npos) << outcome.out;
  // What the recipe said stays, and has one such layer.
  const auto recipe = nlohmann::json::parse(as_text(read_file(path("folds.json"))));
  EXPECT_EQ(recipe["weld_tolerance"], 0.00001);
  ASSERT_EQ(recipe["layers"].size(), 2u);
  EXPECT_EQ(recipe["layers"][0], "lbs");
  EXPECT_EQ(recipe["layers"][1]["tools"].size(), 3u);

  ASSERT_EQ(sinew("generate trousers -o " + path("trousers.glb")).exit_code, 0);
  const std::string bake =
      "bake " + path("trousers.glb") + " --recipe " + path("folds.json") + " --frames 0-15 -o ";
  ASSERT_EQ(sinew(bake + path("sit.glb")).exit_code, 0);
  ASSERT_EQ(sinew(bake + path("sit.pc2")).exit_code, 0);
  ASSERT_EQ(sinew(bake + path("sit.obj")).exit_code, 0);
  test::expect_valid(directory_ / "sit.glb");
  const Scene file = read_gltf(path("trousers.glb")), baked = read_gltf(path("sit.glb")),
              last = read_scene(path("sit_0015.obj"));
  const auto& before = file.meshes[0].surface.positions;
  const auto& after = baked.meshes[0].surface.positions;
  ASSERT_GT(after.size(), before.size());
  EXPECT_EQ(last.meshes[0].surface.positions.size(), after.size());
  for (std::size_t v = 0; v < before.size(); ++v) EXPECT_LT((after[v] - before[v]).norm(), 1e-5f) << v;
  EXPECT_EQ(std::filesystem::file_size(path("sit.pc2")), 32 + after.size() * 12 * 16);

  expect_failure("suggest " + path("sit_0015.obj") + " --layer wrinkles -o " + path("x.json"), "no clip");
  expect_failure("suggest model:trousers --layer wrinkles --clip none -o " + path("x.json"), "no clip");
  expect_failure("info model:forehead@500", "500");
}

TEST_F(Cli, RealCharactersBakeAndValidate) {
  for (const char* name : {"human.glb", "fox.glb", "rigged_figure.glb"}) {
    const auto file = test::asset(name);
    if (!file) GTEST_SKIP() << test::missing_asset(name);
    const Outcome outcome =
        sinew("bake " + file->string() + " --clip 0 --frames 0-4 -o " + path(std::string("out_") + name));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    test::expect_valid(directory_ / (std::string("out_") + name));
  }
}

}  // namespace
}  // namespace sinew
