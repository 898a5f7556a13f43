// Runs `sinew render` as a user would: arguments in; exit code, messages and pictures out.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <gtest/gtest.h>

#include <sinew/core/file.h>
#include <sinew/scene/gltf.h>

#include "tests/support/assets.h"
#include "tests/support/cli_fixture.h"
#include "tests/support/grid_tube.h"

namespace sinew {
namespace {

namespace fs = std::filesystem;

using test::Outcome;

class RenderCli : public test::CliFixture {
 protected:
  void expect_success(const std::string& arguments) {
    CliFixture::expect_success("render " + arguments + " --quality draft");
  }
  void expect_failure(const std::string& arguments, const std::string& expected) {
    CliFixture::expect_failure("render " + arguments, expected);
  }

  struct Size {
    unsigned width = 0, height = 0;
    bool operator==(const Size&) const = default;
  };
  /// Of a PNG, from its header.
  Size png_size(const std::string& name) const {
    const std::vector<std::byte> bytes = read_file(directory_ / name);
    EXPECT_GT(bytes.size(), 24u);
    EXPECT_TRUE(as_text(bytes).starts_with("\x89PNG"));
    const auto number = [&](std::size_t at) {
      unsigned value = 0;
      for (std::size_t i = 0; i < 4; ++i) value = value << 8 | std::to_integer<unsigned>(bytes[at + i]);
      return value;
    };
    return {number(16), number(20)};
  }
  int webp_frames(const std::string& name) const {
    const std::vector<std::byte> bytes = read_file(directory_ / name);
    EXPECT_TRUE(as_text(bytes).starts_with("RIFF"));
    int frames = 0;
    for (std::size_t at = 12; at + 8 <= bytes.size();) {
      std::uint32_t size;
      std::memcpy(&size, bytes.data() + at + 4, 4);
      frames += as_text(bytes).substr(at, 4) == "ANMF";
      at += 8 + size + size % 2;
    }
    return frames;
  }
};

TEST_F(RenderCli, AFileWithSeveralClipsShowsItsRestPose) {
  const Outcome outcome = sinew("render model:tube --size 64x48 -o " + path("a.png"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(png_size("a.png"), (Size{64, 48}));
  EXPECT_EQ(directory_.files(), std::vector<std::string>{"a.png"});
}

TEST_F(RenderCli, ThreadsDoNotChangeThePicture) {
  expect_success("model:tube --clip bend --frames 100 --size 80x80 --wireframe --threads 1 -o " +
                 path("a.png"));
  expect_success("model:tube --clip bend --frames 100 --size 80x80 --wireframe --threads 2 -o " +
                 path("b.png"));
  EXPECT_TRUE(read_file(directory_ / "a.png") == read_file(directory_ / "b.png"));
}

TEST_F(RenderCli, EveryOptionDraws) {
  int number = 0;
  for (const char* options :
       {"--wireframe", "--skeleton", "--color weights", "--color partition", "--color stretch",
        "--color bone:upper", "--cut y=0", "'--cut=x<0.2'", "--camera three-quarter", "--camera 20,-10",
        "--camera top", "--focus upper", "--focus upper --zoom 2", "--follow", "--no-floor", "--caption Tube",
        "--pose upper=0,0,60"}) {
    const std::string name = std::to_string(number++) + ".png";
    expect_success(std::string("model:tube --clip bend --frames 70 --size 72x72 ") + options + " -o " +
                   path(name));
    for (int other = 0; other + 1 < number; ++other)
      EXPECT_FALSE(read_file(directory_ / name) == read_file(directory_ / (std::to_string(other) + ".png")))
          << options << " looks like number " << other;
  }
}

TEST_F(RenderCli, SheetsAndComparisons) {
  expect_success("model:tube --clip bend --size 40x30 --frames 0-150 --every 50 --sheet 2 -o " +
                 path("sheet.png"));
  EXPECT_EQ(png_size("sheet.png").width, 16 + 2 * (40 + 16));
  expect_success("model:tube --clip bend --size 40x30 --frames 90 --compare lbs,dqs -o " + path("pair.png"));
  EXPECT_EQ(png_size("pair.png").width, 82u);
  expect_success("model:tube --clip bend --size 40x30 -o " + path("picked.png"));  // 12 of 151 frames
  EXPECT_GT(png_size("picked.png").width, 100u);
}

TEST_F(RenderCli, AnimationsHaveTheirFrames) {
  expect_success("model:tube --clip bend --frames 0-40 --every 10 --size 48x48 -o " + path("a.webp"));
  EXPECT_EQ(webp_frames("a.webp"), 5);
  expect_success("model:tube --clip bend --frames 10-12 --compare lbs,dqs --caption Tube --size 48x48 -o " +
                 path("b.webp"));
  EXPECT_EQ(webp_frames("b.webp"), 3);
}

TEST_F(RenderCli, MeshesWithoutSkeletonOrSense) {
  write_file(directory_ / "plain.obj",
             "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 4 2\nf 1 3 4\nf 2 4 3\n");
  expect_success(path("plain.obj") + " --size 40x40 --skeleton --color weights -o " + path("plain.png"));
  write_file(directory_ / "flat.obj", "v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n");
  expect_success(path("flat.obj") + " --size 40x40 -o " + path("flat.png"));
  write_file(directory_ / "empty.obj", "v 0 0 0\n");
  expect_failure(path("empty.obj") + " --size 40x40 -o " + path("empty.png"), "no faces");
}

TEST_F(RenderCli, RealCharacters) {
  for (const char* name : {"human.glb", "fox.glb", "rigged_figure.glb"}) {
    const auto file = test::asset(name);
    if (!file) GTEST_SKIP() << test::missing_asset(name);
    expect_success(file->string() + " --size 64x64 --skeleton -o " + path(std::string(name) + ".png"));
  }
}

TEST_F(RenderCli, Mistakes) {
  const std::string to = " --size 32x32 -o " + path("a.png");
  expect_failure("model:tube -o " + path("a.jpg"), ".png or .webp");
  expect_failure("model:tube -o " + path("no/such/a.png") + " --size 32x32", "does not exist");
  expect_failure("model:tube -o " + path("a.webp"), "choose one with --clip");
  expect_failure("model:tube --clip wave" + to, "has no clip 'wave'");
  expect_failure("model:tube --focus elbow" + to, "no joint");
  expect_failure("model:tube --color bone:elbow" + to, "no joint");
  expect_failure("model:tube --color red" + to, "--color red");
  expect_failure("model:tube --camera up" + to, "camera 'up'");
  expect_failure("model:tube --cut w=1" + to, "--cut w=1");
  expect_failure("model:tube --cut x=a" + to, "--cut x=a");
  expect_failure("model:tube --compare lbs,foo" + to, "no method 'foo'");
  expect_failure("model:tube --compare lbs,," + to, "a name is empty");
  expect_failure("model:tube --compare lbs,dqs --skin lbs" + to, "--compare");
  for (const char* size : {"0x10", "10", "axb", "10x", "99999x10"})
    expect_failure(std::string("model:tube --size ") + size + " -o " + path("a.png"), "--size");
  expect_failure("nothing.glb" + to, "nothing.glb: no such file");
}

TEST_F(RenderCli, InputsAreNeverOverwritten) {
  write_glb(test::make_grid_tube(), directory_ / "t.png");  // whatever its name, it is an input
  fs::create_hard_link(directory_ / "t.png", directory_ / "t.glb");
  expect_failure(path("t.glb") + " --size 32x32 -o " + path("t.png"), "is an input");
}

}  // namespace
}  // namespace sinew
