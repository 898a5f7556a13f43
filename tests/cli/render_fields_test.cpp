// What `sinew render` shows of implicit skinning: contact, a slice of the composed field, the bones' fields.
#include <cstring>

#include <gtest/gtest.h>
#include <png.h>

#include <sinew/core/file.h>
#include <sinew/picture/image.h>

#include "tests/support/assets.h"
#include "tests/support/cli_fixture.h"
#include "tests/support/sanitized.h"

namespace sinew {
namespace {

using test::Outcome;

Image decode(const std::vector<std::byte>& bytes) {
  png_image reader;
  std::memset(&reader, 0, sizeof reader);
  reader.version = PNG_IMAGE_VERSION;
  EXPECT_NE(png_image_begin_read_from_memory(&reader, bytes.data(), bytes.size()), 0) << reader.message;
  reader.format = PNG_FORMAT_RGB;
  Image image(static_cast<int>(reader.width), static_cast<int>(reader.height));
  EXPECT_NE(png_image_finish_read(&reader, nullptr, image.pixels.data(), 0, nullptr), 0) << reader.message;
  return image;
}

/// A window of a picture, in shares of its sides.
struct Window {
  double left = 0, top = 0, right = 1, bottom = 1;
};

/// The share of a window's pixels that `holds` is true for.
template <class Predicate>
double share(const Image& image, const Predicate& holds, const Window& window = {}) {
  int count = 0, in_all = 0;
  for (int y = static_cast<int>(window.top * image.height); y < window.bottom * image.height; ++y)
    for (int x = static_cast<int>(window.left * image.width); x < window.right * image.width; ++x) {
      ++in_all;
      count += holds(image.at(x, y));
    }
  return static_cast<double>(count) / in_all;
}

// Clay is none of these, whatever light falls on it.
bool is_red(const Rgb& c) {
  return c.r > c.g + 70 && c.r > c.b + 50;
}
/// The lower end of a colour scale.
bool is_indigo(const Rgb& c) {
  return c.b > c.g + 40 && c.b > c.r + 15;
}

bool is_blue(const Rgb& c) {
  return c.b > c.r + 40;
}
bool is_green(const Rgb& c) {
  return c.g > c.r + 40;
}
bool is_warm(const Rgb& c) {
  return c.r > c.b + 45;
}

/// Pixels that are not the backdrop, which is the same all along a row, but for soft shadows.
double body_share(const Image& image, const Window& window = {}) {
  double sum = 0;
  int rows = 0;
  for (int y = static_cast<int>(window.top * image.height); y < window.bottom * image.height; ++y, ++rows) {
    const Rgb backdrop = image.at(0, y);
    for (int x = 0; x < image.width; ++x) {
      const Rgb& c = image.at(x, y);
      sum += std::abs(c.r - backdrop.r) + std::abs(c.g - backdrop.g) + std::abs(c.b - backdrop.b) > 30;
    }
  }
  return sum / (rows * image.width);
}

class RenderFieldsCli : public test::CliFixture {
 protected:
  void expect_success(const std::string& arguments) {
    CliFixture::expect_success("render " + arguments + " --quality draft");
  }
  void expect_failure(const std::string& arguments, const std::string& expected) {
    CliFixture::expect_failure("render " + arguments, expected);
  }
  Image picture(const std::string& arguments) {
    expect_success(arguments + " -o " + path("picture.png"));
    return decode(read_file(directory_ / "picture.png"));
  }
  std::string recipe(const std::string& name, const std::string& json) {
    write_file(directory_ / name, json);
    return path(name);
  }
};

// Too small for a legend, whose colours would count.
const std::string kTube = "model:tube@1200 --clip none --no-floor --size 88x88 ";
const std::string kBent = kTube + "--pose upper=0,0,130 --skin implicit ";
// Where the bent tube's upper half is, and nothing of it when it is straight.
constexpr Window kUpper{0, 0, 1, 0.45};

TEST_F(RenderFieldsCli, ContactIsWhereTheTubeFolds) {
  const Image rest = picture(kTube + "--skin implicit --color contact");
  EXPECT_EQ(share(rest, is_red), 0);
  EXPECT_EQ(share(rest, is_blue), 0);
  const Image bent = picture(kBent + "--color contact");
  EXPECT_GT(share(bent, is_red), 0.0005);
  EXPECT_LT(share(bent, is_red), 0.07);
  EXPECT_GT(share(bent, is_blue), 0.035);  // moved: all round the joint
  EXPECT_LT(share(bent, is_blue), 0.4);   // but not to the ends
}

TEST_F(RenderFieldsCli, EveryFrameHasItsOwnContact) {
  // A close-up, so that all frames are seen alike.
  const std::string clip =
      "model:tube@1200 --clip bend --skin implicit --color contact --focus upper --no-floor --size 64x64 ";
  const auto blue_tiles = [&](const std::string& frames) {
    const Image sheet = picture(clip + frames + " --sheet 3");
    std::vector<bool> blue;
    for (int column = 0; column < sheet.width / (64 + 16); ++column) {
      const double left = 16 + column * (64 + 16);
      blue.push_back(share(sheet, is_blue, {left / sheet.width, 0, (left + 64) / sheet.width, 1}) > 0.01);
    }
    return blue;
  };
  EXPECT_EQ(blue_tiles("--frames 0-150 --every 75"), (std::vector<bool>{false, true, true}));
  // The same clip from the other side ends straight: nothing is left of the frames before.
  EXPECT_EQ(blue_tiles("--frames 0-150 --every 75 --pose upper=0,0,-150"),
            (std::vector<bool>{true, true, false}));
}

TEST_F(RenderFieldsCli, FreedomIsWhereTheProfileIs) {
  // Held skin is indigo; a muscle at the joint leaves the half behind it held.
  write_file(path("muscle.json"), R"({"layers": ["lbs", {"method": "volume", "preset": "muscle"}]})");
  const std::string muscle =
      "model:tube@1200 --clip none --no-floor --size 320x320 --recipe " + path("muscle.json");
  const auto held = [&](const std::string& color) {
    return share(picture(muscle + " --color " + color), is_indigo);
  };
  EXPECT_GT(held("freedom:upper"), held("clay") + 0.03);
  EXPECT_GE(held("freedom:upper"), held("freedom"));
  expect_failure(kTube + "--skin dqs --color freedom -o " + path("a.png"), "no volume layer");
  expect_failure(muscle + " --color freedom:nobody -o " + path("a.png"), "no joint of that name");
}

TEST_F(RenderFieldsCli, ContactBesideAMethodWithoutIt) {
  const std::string bent = kTube + "--pose upper=0,0,130 --compare ";
  const Image pair = picture(bent + "dqs,implicit --color contact");
  EXPECT_EQ(share(pair, is_blue, {0, 0, 0.5, 1}), 0);
  EXPECT_GT(share(pair, is_blue, {0.5, 0, 1, 1}), 0.03);
  // Nor does it have a legend.
  const Image straight =
      picture("model:tube@1200 --clip none --no-floor --size 160x160 --compare dqs,implicit --color contact");
  EXPECT_EQ(share(straight, is_red, {0, 0, 0.5, 1}), 0);
  EXPECT_GT(share(straight, is_red, {0.5, 0, 1, 1}), 0);
  expect_failure(bent + "lbs,dqs --color contact -o " + path("a.png"), "none of --compare has");
}

TEST_F(RenderFieldsCli, TheSliceShowsThePosedField) {
  const Image skin = picture(kBent);
  const Image slice = picture(kBent + "--field-slice z=0");
  EXPECT_EQ(share(skin, is_warm), 0);
  // Inside of the field and of the skin is much the same, but for lines and for what stands before the plane.
  for (const Window& window : {Window(), kUpper}) {
    EXPECT_GT(share(slice, is_warm, window), 0.65 * body_share(skin, window));
    EXPECT_LT(share(slice, is_warm, window), body_share(skin, window));
  }
  EXPECT_GT(share(slice, is_blue), 0.1);  // round it
  // Off the middle the field is lower, and beside the tube there is none.
  const Image beside = picture(kBent + "--field-slice z=0.19");
  EXPECT_LT(share(beside, is_warm), 0.9 * share(slice, is_warm));
  EXPECT_GT(share(beside, is_warm), 0);
}

TEST_F(RenderFieldsCli, ASmallSliceHasNoKey) {
  const auto key = [&](const std::string& size) {
    const Image image =
        picture("model:tube@1200 --clip none --no-floor --skin implicit --field-slice z=0 --size " + size);
    return share(image, [](const Rgb& c) { return c.r < 120; }, {0.5, 0.8, 1, 1}) > 0;
  };
  EXPECT_FALSE(key("240x240"));
  EXPECT_TRUE(key("340x340"));
}

TEST_F(RenderFieldsCli, TheSliceIsLookedAtFromItsFront) {
  const struct {
    const char* plane;
    const char* camera;
  } cases[] = {{"x=0", "left"}, {"y=0", "top"}, {"z=0", "front"}};
  for (const auto& [plane, camera] : cases) {
    if (test::kSanitized && *plane != 'x') continue;
    const std::string slice = kBent + "--field-slice " + plane;
    const Image chosen = picture(slice);
    EXPECT_GT(share(chosen, is_warm), 0.01) << plane;
    EXPECT_TRUE(chosen == picture(slice + " --camera " + camera)) << plane;
  }
  // Without a slice it stays where it was.
  EXPECT_TRUE(picture(kBent) == picture(kBent + "--camera front"));
  const std::string to = " -o " + path("a.png");
  expect_failure(kBent + "--field-slice x=0 --camera front" + to, "looks along that plane");
  expect_failure(kBent + "--field-slice y=0 --camera 30,0" + to, "looks along that plane");
}

TEST_F(RenderFieldsCli, FieldsAreSolidsInTheSkin) {
  const Image skin = picture(kBent);
  const Image fields = picture(kBent + "--fields");
  EXPECT_EQ(share(skin, is_green), 0);
  // The second joint is green and was carried up, the first is red and stays.
  EXPECT_GT(share(fields, is_green, kUpper), 0.7 * body_share(skin, kUpper));
  EXPECT_EQ(share(fields, is_red, kUpper), 0);
  EXPECT_GT(share(fields, is_red, {0, 0.45, 1, 1}), 0.05);
  // Glass is as large as the skin: where a field falls short of it something is seen, too.
  EXPECT_GE(body_share(fields), 0.985 * body_share(skin));
  EXPECT_FALSE(fields == picture(kBent + "--fields --skeleton"));
  EXPECT_FALSE(fields == picture(kBent + "--fields --cut z=0"));
}

TEST_F(RenderFieldsCli, ThreadsDoNotChangeThem) {
  for (const char* option : {"--color contact", "--field-slice z=0", "--fields"})
    EXPECT_TRUE(picture(kBent + option + " --threads 1") == picture(kBent + option + " --threads 2"))
        << option;
}

TEST_F(RenderFieldsCli, SheetsAnimationsAndComparisons) {
  const std::string bend = "model:tube@1200 --clip bend --every 40 --size 40x40 ";
  for (const char* option : {"--color contact", "--field-slice z=0 --skeleton --wireframe", "--fields"}) {
    expect_success(bend + "--frames 40-80 --skin implicit " + option + " -o " + path("a.webp"));
    if (test::kSanitized) continue;
    expect_success(bend + "--frames 40-80 --skin implicit " + option + " -o " + path("a.png"));
  }
  const std::string other =
      recipe("few.json", R"({"layers": ["dqs", {"method": "implicit", "samples": 20}]})");
  const Image pair = picture(bend + "--frames 80 --compare implicit," + other + " --fields");
  EXPECT_EQ(pair.width, 82);
  EXPECT_GT(share(pair, is_green, {0, 0, 0.5, 1}), 0.02);
  EXPECT_GT(share(pair, is_green, {0.5, 0, 1, 1}), 0.02);
}

TEST_F(RenderFieldsCli, Mistakes) {
  const std::string to = " -o " + path("a.png");
  const std::string tube = "model:tube@1200 --size 32x32 ";
  for (const char* option : {"--color contact", "--field-slice z=0", "--fields"}) {
    expect_failure(tube + option + to, std::string(option).substr(0, 7));
    expect_failure(tube + option + to, "'dqs' has no implicit layer; choose --skin implicit");
    expect_failure(tube + "--skin lbs " + option + to, "'lbs' has no implicit layer");
  }
  expect_failure(tube + "--compare dqs,implicit --fields" + to, "'dqs' of --compare has no implicit layer");
  expect_failure(tube + "--compare dqs,implicit --field-slice z=0" + to, "'dqs' of --compare");
  const std::string implicit = tube + "--skin implicit ";
  for (const char* slice : {"z", "z=", "w=0", "z=a", "z<0", "z=nan", "z=0x"})
    expect_failure(implicit + "'--field-slice=" + slice + "'" + to, "expected x=OFFSET");
  expect_failure(implicit + "--field-slice z=5" + to, "no skin is there; it reaches from -0.");
  expect_failure(implicit + "--field-slice z=-5" + to, "no skin is there");
  expect_failure(implicit + "--field-slice z=0 --cut z=0" + to, "--cut excludes --field-slice");
  expect_failure(implicit + "--field-slice z=0 --fields" + to, " excludes --field");
  expect_failure(implicit + "--field-slice z=0 --color weights" + to, "--color excludes --field-slice");
  expect_failure(implicit + "--fields --color contact" + to, "--color excludes --fields");
  expect_failure(implicit + "--fields --wireframe" + to, "--wireframe excludes --fields");
}

TEST_F(RenderFieldsCli, CharactersWithoutFields) {
  write_file(directory_ / "plain.obj",
             "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n");
  const std::string plain = path("plain.obj") + " --skin implicit --size 32x32 ";
  for (const char* option : {"--fields", "--field-slice z=0.2"}) {
    const Outcome outcome = sinew("render " + plain + option + " -o " + path("a.png"));
    EXPECT_EQ(outcome.exit_code, 1) << option;
    EXPECT_NE(outcome.err.find("no bone has a field"), std::string::npos) << outcome.err;
  }
  const Image unmoved = picture(plain + "--color contact");
  EXPECT_EQ(share(unmoved, is_red) + share(unmoved, is_blue), 0);
}

TEST_F(RenderFieldsCli, RealCharacters) {
  if (test::kSanitized) GTEST_SKIP() << "takes too long under sanitizers";
  const auto file = test::asset("human.glb");
  if (!file) GTEST_SKIP() << test::missing_asset("human.glb");
  const std::string human = file->string() + " --clip crouch --frames 59 --skin implicit --size 80x80 ";
  EXPECT_GT(share(picture(human + "--color contact"), is_blue), 0.02);
  EXPECT_GT(share(picture(human + "--field-slice x=0.12"), is_warm), 0.02);
}

}  // namespace
}  // namespace sinew
