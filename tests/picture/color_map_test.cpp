#include <sinew/picture/color_map.h>

#include <cmath>

#include <gtest/gtest.h>

namespace sinew {
namespace {

double luminance(const Rgb& color) {
  return linear_from_srgb(color).dot(Vec3f(0.2126f, 0.7152f, 0.0722f));
}

int difference(const Rgb& a, const Rgb& b) {
  return std::abs(a.r - b.r) + std::abs(a.g - b.g) + std::abs(a.b - b.b);
}

TEST(ColorMap, HeatGetsBrighterAllTheWay) {
  for (int i = 0; i < 50; ++i)
    EXPECT_LT(luminance(heat_color(i / 50.0)), luminance(heat_color((i + 1) / 50.0)));
  EXPECT_EQ(heat_color(-3), heat_color(0));
  EXPECT_EQ(heat_color(7), heat_color(1));
}

TEST(ColorMap, DivergingIsPalestInTheMiddle) {
  for (int i = 0; i < 20; ++i)
    for (const double side : {-1.0, 1.0})
      EXPECT_GT(luminance(diverging_color(side * i / 20.0)),
                luminance(diverging_color(side * (i + 1) / 20.0)));
  EXPECT_GT(diverging_color(-1).b, diverging_color(-1).r + 80);
  EXPECT_GT(diverging_color(1).r, diverging_color(1).b + 80);
}

TEST(ColorMap, NeighboursInNumberDiffer) {
  for (std::size_t i = 0; i < 60; ++i)
    for (std::size_t j = i + 1; j < i + 4; ++j)
      EXPECT_GT(difference(distinct_color(i), distinct_color(j)), 60);
}

TEST(ColorMap, ScaleMapsItsEndsAndNan) {
  const ColorScale scale{.low = 2,
                         .high = 4,
                         .diverging = false,
                         .title = "",
                         .low_label = "",
                         .middle_label = "",
                         .high_label = ""};
  EXPECT_EQ(scale.color(2), heat_color(0));
  EXPECT_EQ(scale.color(5), heat_color(1));
  EXPECT_EQ(scale.color(3), heat_color(0.5));
  const Rgb unknown = scale.color(NAN);
  EXPECT_EQ(unknown.r, unknown.b);
  const std::vector<float> values{2, 3, 4};
  EXPECT_EQ(colors_of(values, scale).size(), 3u);
}

TEST(ColorMap, BarStandsInTheCornerWithItsColors) {
  Image image(400, 300, {250, 251, 252});
  const ColorScale scale{.low = 0,
                         .high = 1,
                         .diverging = false,
                         .title = "weight",
                         .low_label = "0",
                         .middle_label = "0.5",
                         .high_label = "1"};
  draw_color_bar(image, scale);
  int low = 0, high = 0;
  for (int y = 0; y < 300; ++y)
    for (int x = 0; x < 400; ++x) {
      low += image.at(x, y) == heat_color(0);
      high += image.at(x, y) == heat_color(1);
      EXPECT_TRUE((image.at(x, y) == Rgb{250, 251, 252}) || (x > 200 && y > 200));
    }
  EXPECT_GT(low, 3);
  EXPECT_GT(high, 3);
  Image tiny(20, 20);
  draw_color_bar(tiny, scale);  // no room: stays empty
  EXPECT_EQ(tiny, Image(20, 20));
}

}  // namespace
}  // namespace sinew
