#include <sinew/picture/strokes.h>

#include <cmath>

#include <gtest/gtest.h>

namespace sinew {
namespace {

double ink(const Image& image) {
  double sum = 0;
  for (const Rgb& pixel : image.pixels) sum += (255.0 - pixel.r) / 255;
  return sum;
}

TEST(Strokes, CoverTheirArea) {
  for (const float width : {1.0f, 2.5f, 6.0f}) {
    Image image(100, 100);
    const Stroke stroke{{20.3f, 30.1f}, {70.9f, 64.7f}};
    draw_strokes(image, {&stroke, 1}, width, {0, 0, 0});
    const double length = (stroke.to - stroke.from).norm();
    EXPECT_NEAR(ink(image), length * width + M_PI * width * width / 4, 0.04 * length * width + 1) << width;
  }
}

TEST(Strokes, OverlapIsDrawnOnce) {
  Image one(50, 20), two(50, 20);
  const Stroke strokes[2] = {{{5, 10}, {45, 10}}, {{5, 10}, {45, 10}}};
  draw_strokes(one, {strokes, 1}, 3, {0, 0, 0}, 0.5f);
  draw_strokes(two, {strokes, 2}, 3, {0, 0, 0}, 0.5f);
  EXPECT_EQ(one, two);
}

TEST(Strokes, OutsideAndNotFiniteIsLeftOut) {
  Image image(20, 20);
  const Stroke strokes[3] = {{{-1e30f, 5}, {-100, 5}}, {{NAN, 3}, {4, 4}}, {{1e9f, 1e9f}, {INFINITY, 0}}};
  draw_strokes(image, strokes, 2, {0, 0, 0});
  EXPECT_EQ(ink(image), 0);
}

}  // namespace
}  // namespace sinew
