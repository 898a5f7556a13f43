#include <sinew/picture/webp.h>

#include <cstring>
#include <string>

#include <gtest/gtest.h>
#include <webp/decode.h>

#include <sinew/core/error.h>
#include <sinew/core/file.h>

#include "tests/support/temporary_directory.h"

namespace sinew {
namespace {

struct Chunk {
  std::string name;
  std::vector<unsigned char> content;
};

/// The chunks of a RIFF file of kind WEBP.
std::vector<Chunk> chunks_of(const std::vector<std::byte>& file) {
  std::vector<Chunk> chunks;
  const auto* bytes = reinterpret_cast<const unsigned char*>(file.data());
  const auto number = [&](std::size_t at) {
    return bytes[at] | bytes[at + 1] << 8 | bytes[at + 2] << 16 | static_cast<unsigned>(bytes[at + 3]) << 24;
  };
  EXPECT_GE(file.size(), 12u);
  EXPECT_EQ(std::memcmp(bytes, "RIFF", 4), 0);
  EXPECT_EQ(std::memcmp(bytes + 8, "WEBP", 4), 0);
  EXPECT_EQ(number(4) + 8, file.size());
  for (std::size_t at = 12; at + 8 <= file.size();) {
    const std::size_t size = number(at + 4);
    EXPECT_LE(at + 8 + size, file.size());
    if (at + 8 + size > file.size()) break;
    chunks.push_back(
        {std::string(reinterpret_cast<const char*>(bytes + at), 4), {bytes + at + 8, bytes + at + 8 + size}});
    at += 8 + size + size % 2;
  }
  return chunks;
}

unsigned number24(const std::vector<unsigned char>& bytes, std::size_t at) {
  return bytes[at] | bytes[at + 1] << 8 | bytes[at + 2] << 16;
}

Image square_at(int x) {
  Image image(40, 24, {230, 230, 230});
  fill_rectangle(image, x, 8, 8, 8, {200, 30, 30});
  return image;
}

TEST(WebpAnimation, HasItsFramesSizeAndTimes) {
  WebpAnimation animation(40, 24);
  for (int i = 0; i < 7; ++i) animation.add(square_at(4 * i), 1.0 / 30);
  int frames = 0;
  unsigned milliseconds = 0;
  for (const Chunk& chunk : chunks_of(animation.finish())) {
    if (chunk.name == "VP8X") {
      EXPECT_NE(chunk.content[0] & 2, 0) << "not marked as an animation";
      EXPECT_EQ(number24(chunk.content, 4) + 1, 40u);
      EXPECT_EQ(number24(chunk.content, 7) + 1, 24u);
    }
    if (chunk.name == "ANIM") {
      EXPECT_EQ(chunk.content[4] | chunk.content[5] << 8, 0) << "does not play for ever";
    }
    if (chunk.name == "ANMF") {
      ++frames;
      milliseconds += number24(chunk.content, 12);
    }
  }
  EXPECT_EQ(frames, 7);
  EXPECT_EQ(milliseconds, 233u);  // 7 / 30 s: rounding does not add up
}

TEST(WebpAnimation, RefusesWhatCannotBe) {
  EXPECT_THROW(WebpAnimation(0, 10), Error);
  EXPECT_THROW(WebpAnimation(20000, 10), Error);
  WebpAnimation animation(40, 24);
  EXPECT_THROW(animation.finish(), Error);
  EXPECT_THROW(animation.add(Image(41, 24), 0.1), Error);
}

TEST(WebpAnimation, WritesTheFile) {
  const test::TemporaryDirectory directory;
  WebpAnimation animation(40, 24);
  animation.add(square_at(0), 0.5);
  animation.add(square_at(20), 0.5);
  write_webp(animation, directory / "a.webp");
  EXPECT_EQ(directory.files(), std::vector<std::string>{"a.webp"});
  chunks_of(read_file(directory / "a.webp"));
}

TEST(Webp, StillPictureDecodes) {
  const Image image = square_at(12);
  for (const float quality : {80.0f, 100.0f}) {
    const std::vector<std::byte> bytes = encode_webp(image, {.quality = quality});
    int width = 0, height = 0;
    std::uint8_t* pixels =
        WebPDecodeRGB(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(), &width, &height);
    ASSERT_NE(pixels, nullptr);
    EXPECT_EQ(width, 40);
    EXPECT_EQ(height, 24);
    const int tolerance = quality < 100 ? 40 : 0;
    EXPECT_NEAR(pixels[3 * (12 * 40 + 16)], 200, tolerance);
    EXPECT_NEAR(pixels[0], 230, tolerance);
    WebPFree(pixels);
  }
}

}  // namespace
}  // namespace sinew
