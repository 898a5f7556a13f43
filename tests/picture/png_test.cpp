#include <sinew/picture/png.h>

#include <cstring>

#include <gtest/gtest.h>
#include <png.h>

#include <sinew/core/error.h>
#include <sinew/core/file.h>

#include "tests/support/temporary_directory.h"

namespace sinew {
namespace {

Image colorful(int width, int height) {
  Image image(width, height);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      image.at(x, y) = {static_cast<std::uint8_t>(37 * x + y), static_cast<std::uint8_t>(x * y),
                        static_cast<std::uint8_t>(255 - 11 * y)};
  return image;
}

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

TEST(Png, DecodesToTheSamePixels) {
  for (const auto& [width, height] : {std::pair{1, 1}, {7, 3}, {64, 65}}) {
    const Image image = colorful(width, height);
    EXPECT_EQ(decode(encode_png(image)), image) << width << " × " << height;
  }
}

TEST(Png, SamePixelsGiveSameBytes) {
  EXPECT_EQ(encode_png(colorful(20, 30)), encode_png(colorful(20, 30)));
}

TEST(Png, FileAppearsWholeOrNotAtAll) {
  const test::TemporaryDirectory directory;
  const Image image = colorful(9, 8);
  write_png(image, directory / "a.png");
  EXPECT_EQ(directory.files(), std::vector<std::string>{"a.png"});
  EXPECT_EQ(decode(read_file(directory / "a.png")), image);
  EXPECT_THROW(write_png(image, directory / "no/such/b.png"), Error);
  EXPECT_EQ(directory.files(), std::vector<std::string>{"a.png"});
}

}  // namespace
}  // namespace sinew
