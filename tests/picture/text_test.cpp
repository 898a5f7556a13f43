#include <sinew/picture/text.h>

#include <gtest/gtest.h>

namespace sinew {
namespace {

struct Box {
  int left = 1 << 20, top = 1 << 20, right = -1, bottom = -1;
};

/// Where the image is not white.
Box inked(const Image& image) {
  Box box;
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x)
      if (image.at(x, y) != Rgb{255, 255, 255}) {
        box.left = std::min(box.left, x);
        box.right = std::max(box.right, x);
        box.top = std::min(box.top, y);
        box.bottom = std::max(box.bottom, y);
      }
  return box;
}

TEST(Text, LiesWhereItWasPut) {
  for (const float size : {10.0f, 12.0f, 14.0f, 16.0f, 25.0f}) {
    TextStyle style;
    style.size = size;
    const std::string text = "Hxgj|WM 0129 (mm²) 45°";
    Image image(60 + text_width(text, style), 100);
    draw_text(image, 30, 60, text, style);
    const Box box = inked(image);
    EXPECT_GE(box.left, 29) << size;
    EXPECT_LE(box.left, 32) << size;
    EXPECT_LE(box.right, 30 + text_width(text, style)) << size;
    EXPECT_GE(box.right, 30 + text_width(text, style) - 3) << size;
    EXPECT_GE(box.top, 60 - 1.1 * size) << size;
    EXPECT_LE(box.bottom, 60 + 0.45 * size) << size;
  }
}

TEST(Text, CapitalsStandOnTheBaseline) {
  TextStyle style;
  Image image(40, 60);
  draw_text(image, 5, 40, "E", style);
  const Box box = inked(image);
  EXPECT_NEAR(box.bottom, 40, 1);
  EXPECT_NEAR(box.top, 40 - text_cap_height(style), 1);
  // Its stem is dark: crisp, not a grey smear.
  EXPECT_LT(image.at(5, 35).r, 60);
}

TEST(Text, EveryPrintableCharacterDiffersFromAllOthers) {
  TextStyle style;
  style.size = 14;
  std::vector<Image> seen;
  for (char c = '!'; c <= '~'; ++c) {
    Image image(40, 40);
    draw_text(image, 10, 28, std::string(1, c), style);
    EXPECT_GE(inked(image).right, 0) << c;
    for (const Image& other : seen) EXPECT_FALSE(image == other) << c;
    seen.push_back(std::move(image));
  }
}

TEST(Text, SignsAreNotTheBoxOfUnknownCharacters) {
  TextStyle style;
  const auto draw = [&](std::string_view text) {
    Image image(40, 40);
    draw_text(image, 10, 28, text, style);
    return image;
  };
  const Image box = draw("字");
  EXPECT_GE(inked(box).right, 0);
  for (const char* sign : {"°", "·", "×", "±", "µ", "²", "³", "–", "—", "…", "−", "→", "≤", "≥", "’"}) {
    EXPECT_FALSE(draw(sign) == box) << sign;
    EXPECT_GE(inked(draw(sign)).right, 0) << sign;
  }
  EXPECT_TRUE(draw("\xff") == box);  // not UTF-8
  EXPECT_TRUE(draw("\xe2\x82") == draw("\xff\xff"));
}

TEST(Text, OutsideOfTheImageIsCutOff) {
  Image image(10, 10);
  draw_text(image, -20, 5, "a long line of text that leaves on both sides", {});
  draw_text(image, 500, -700, "far away", {});
  EXPECT_EQ(image.width, 10);
}

TEST(Text, FitTextEndsInAnEllipsis) {
  const TextStyle style;
  EXPECT_EQ(fit_text("short", 500, style), "short");
  const std::string fitted = fit_text("45° of a rather long caption", 80, style);
  EXPECT_TRUE(fitted.ends_with("…"));
  EXPECT_LE(text_width(fitted, style), 80);
  EXPECT_EQ(fit_text("xyz", 1, style), "");
}

}  // namespace
}  // namespace sinew
