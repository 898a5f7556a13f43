#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <sinew/core/index.h>
#include <sinew/core/math.h>

namespace sinew {

/// A colour as files hold it: sRGB, 8 bits.
struct Rgb {
  std::uint8_t r = 0;
  std::uint8_t g = 0;
  std::uint8_t b = 0;

  bool operator==(const Rgb&) const = default;
};

/// Linear light, 0 to 1, from and to sRGB. Numbers outside of 0 to 1 are clamped, NaN becomes 0.
Vec3f linear_from_srgb(const Rgb& color);
Rgb srgb_from_linear(const Vec3f& linear);

/// Most pixels an image may have: 16 384 squared, 0.8 GB.
inline constexpr std::size_t kMostPixels = std::size_t{1} << 28;

/// Rows of pixels, the topmost first.
struct Image {
  int width = 0;
  int height = 0;
  std::vector<Rgb> pixels;

  Image() = default;
  /// Throws Error when a size is not positive or there are more than kMostPixels pixels.
  Image(int width, int height, const Rgb& fill = {255, 255, 255});

  Rgb& at(int x, int y) { return pixels[to_size(y) * width + x]; }
  const Rgb& at(int x, int y) const { return pixels[to_size(y) * width + x]; }
  bool contains(int x, int y) const { return x >= 0 && y >= 0 && x < width && y < height; }
  bool operator==(const Image&) const = default;
};

/// Copies `source` with its upper left corner to (x, y) of `target`; what falls outside is cut off.
void blit(const Image& source, Image& target, int x, int y);

/// Fills the pixels x … x + width - 1, y … y + height - 1, as far as they lie in the image.
void fill_rectangle(Image& image, int x, int y, int width, int height, const Rgb& color);

/// Mixes `color` into a pixel: coverage 0 leaves it, 1 replaces it. Outside of the image it does nothing.
void blend(Image& image, int x, int y, const Rgb& color, float coverage);

/// The mean, in linear light, of blocks of factor × factor pixels. Columns and rows that do not fill a block
/// are left out; at least one block must fit.
Image downscale(const Image& image, int factor);

}  // namespace sinew
