#include <sinew/picture/image.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

namespace sinew {

namespace {

const std::array<float, 256>& linear_table() {
  static const std::array<float, 256> table = [] {
    std::array<float, 256> values{};
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double s = static_cast<double>(i) / 255;
      values[i] = static_cast<float>(s <= 0.04045 ? s / 12.92 : std::pow((s + 0.055) / 1.055, 2.4));
    }
    return values;
  }();
  return table;
}

std::uint8_t srgb_from_linear(float linear) {
  if (!(linear > 0)) return 0;
  if (linear >= 1) return 255;
  const float s = linear <= 0.0031308f ? 12.92f * linear : 1.055f * std::pow(linear, 1 / 2.4f) - 0.055f;
  return static_cast<std::uint8_t>(std::lround(255 * s));
}

}  // namespace

Vec3f linear_from_srgb(const Rgb& color) {
  const std::array<float, 256>& table = linear_table();
  return {table[color.r], table[color.g], table[color.b]};
}

Rgb srgb_from_linear(const Vec3f& linear) {
  return {srgb_from_linear(linear.x()), srgb_from_linear(linear.y()), srgb_from_linear(linear.z())};
}

Image::Image(int columns, int rows, const Rgb& fill) : width(columns), height(rows) {
  if (columns <= 0 || rows <= 0 || to_size(columns) > kMostPixels / to_size(rows))
    throw Error(fmt::format("a picture cannot have {} × {} pixels", columns, rows));
  pixels.assign(to_size(columns) * to_size(rows), fill);
}

void blit(const Image& source, Image& target, int x, int y) {
  const int first_column = std::max(0, -x), last_column = std::min(source.width, target.width - x);
  if (first_column >= last_column) return;
  for (int row = std::max(0, -y); row < std::min(source.height, target.height - y); ++row)
    std::copy(&source.at(first_column, row), &source.at(first_column, row) + (last_column - first_column),
              &target.at(x + first_column, y + row));
}

void fill_rectangle(Image& image, int x, int y, int width, int height, const Rgb& color) {
  for (int row = std::max(0, y); row < std::min(image.height, y + height); ++row)
    for (int column = std::max(0, x); column < std::min(image.width, x + width); ++column)
      image.at(column, row) = color;
}

void blend(Image& image, int x, int y, const Rgb& color, float coverage) {
  if (!image.contains(x, y) || !(coverage > 0)) return;
  Rgb& pixel = image.at(x, y);
  const float share = std::min(coverage, 1.0f);
  const auto mix = [share](std::uint8_t from, std::uint8_t to) {
    return static_cast<std::uint8_t>(std::lround(from + share * (static_cast<float>(to) - from)));
  };
  pixel = {mix(pixel.r, color.r), mix(pixel.g, color.g), mix(pixel.b, color.b)};
}

Image downscale(const Image& image, int factor) {
  assert(factor >= 1 && image.width >= factor && image.height >= factor);
  Image small(image.width / factor, image.height / factor);
  for (int y = 0; y < small.height; ++y)
    for (int x = 0; x < small.width; ++x) {
      Vec3f sum = Vec3f::Zero();
      for (int j = 0; j < factor; ++j)
        for (int i = 0; i < factor; ++i) sum += linear_from_srgb(image.at(x * factor + i, y * factor + j));
      small.at(x, y) = srgb_from_linear(Vec3f(sum / static_cast<float>(factor * factor)));
    }
  return small;
}

}  // namespace sinew
