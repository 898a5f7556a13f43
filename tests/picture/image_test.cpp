#include <sinew/picture/image.h>

#include <gtest/gtest.h>

#include <sinew/core/error.h>

namespace sinew {
namespace {

TEST(Image, RefusesSizesThatCannotBe) {
  EXPECT_THROW(Image(0, 4), Error);
  EXPECT_THROW(Image(4, -1), Error);
  EXPECT_THROW(Image(1 << 20, 1 << 20), Error);
}

TEST(Image, SrgbThereAndBackKeepsEveryValue) {
  for (int v = 0; v < 256; ++v) {
    const auto value = static_cast<std::uint8_t>(v);
    const Rgb color{value, static_cast<std::uint8_t>(255 - v), 7};
    EXPECT_EQ(srgb_from_linear(linear_from_srgb(color)), color);
  }
  EXPECT_EQ(srgb_from_linear(Vec3f(-1, 2, std::nanf(""))), (Rgb{0, 255, 0}));
}

TEST(Image, BlitCutsOffWhatFallsOutside) {
  const Image source(3, 2, {9, 8, 7});
  Image target(4, 4, {0, 0, 0});
  blit(source, target, -1, 3);
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 4; ++x)
      EXPECT_EQ(target.at(x, y), (y == 3 && x < 2 ? Rgb{9, 8, 7} : Rgb{0, 0, 0})) << x << " " << y;
  blit(source, target, 100, 100);
  blit(source, target, -100, 0);
}

TEST(Image, RectanglesAndBlending) {
  Image image(4, 3, {100, 100, 100});
  fill_rectangle(image, 2, -1, 10, 2, {1, 2, 3});
  EXPECT_EQ(image.at(2, 0), (Rgb{1, 2, 3}));
  EXPECT_EQ(image.at(1, 0), (Rgb{100, 100, 100}));
  EXPECT_EQ(image.at(2, 1), (Rgb{100, 100, 100}));
  blend(image, 0, 0, {200, 0, 100}, 0.5f);
  EXPECT_EQ(image.at(0, 0), (Rgb{150, 50, 100}));
  blend(image, 0, 1, {200, 0, 100}, 0);
  EXPECT_EQ(image.at(0, 1), (Rgb{100, 100, 100}));
  blend(image, -1, 99, {0, 0, 0}, 1);  // outside: nothing
}

TEST(Image, DownscaleTakesTheMeanInLinearLight) {
  Image image(4, 2, {0, 0, 0});
  image.at(0, 0) = image.at(1, 1) = {255, 255, 255};
  const Image small = downscale(image, 2);
  ASSERT_EQ(small.width, 2);
  ASSERT_EQ(small.height, 1);
  EXPECT_EQ(small.at(0, 0), (Rgb{188, 188, 188}));  // half the light
  EXPECT_EQ(small.at(1, 0), (Rgb{0, 0, 0}));
}

}  // namespace
}  // namespace sinew
