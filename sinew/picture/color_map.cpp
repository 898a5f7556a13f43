#include <sinew/picture/color_map.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include <sinew/picture/text.h>

namespace sinew {

namespace {

constexpr Rgb kUnknown{150, 150, 150};

// Ottosson 2020, "A perceptual color space for image processing".
Vec3d linear_from_oklab(double lightness, double a, double b) {
  const double l = lightness + 0.3963377774 * a + 0.2158037573 * b;
  const double m = lightness - 0.1055613458 * a - 0.0638541728 * b;
  const double s = lightness - 0.0894841775 * a - 1.2914855480 * b;
  const double l3 = l * l * l, m3 = m * m * m, s3 = s * s * s;
  return {4.0767416621 * l3 - 3.3077115913 * m3 + 0.2309699292 * s3,
          -1.2684380046 * l3 + 2.6097574011 * m3 - 0.3413193965 * s3,
          -0.0041960863 * l3 - 0.7034186147 * m3 + 1.7076147010 * s3};
}

}  // namespace

Rgb oklch(double lightness, double chroma, double hue_degrees) {
  const double hue = hue_degrees * std::numbers::pi / 180;
  for (double c = chroma;; c -= 0.01) {
    const Vec3d linear =
        linear_from_oklab(lightness, std::max(0.0, c) * std::cos(hue), std::max(0.0, c) * std::sin(hue));
    if (c <= 0 || (linear.minCoeff() >= -1e-4 && linear.maxCoeff() <= 1 + 1e-4))
      return srgb_from_linear(Vec3f(linear.cast<float>()));
  }
}

Rgb heat_color(double share) {
  const double s = std::clamp(share, 0.0, 1.0);
  // From deep blue-violet over magenta and orange to pale yellow.
  return oklch(0.40 + 0.53 * s, 0.11 + 0.09 * std::sin(std::numbers::pi * std::min(1.0, 0.15 + 0.85 * s)),
               285 + 180 * s);
}

Rgb diverging_color(double share) {
  const double s = std::clamp(share, -1.0, 1.0), size = std::abs(s);
  return oklch(0.90 - 0.38 * size, 0.19 * std::pow(size, 0.85), s < 0 ? 255 : 28);
}

Rgb distinct_color(std::size_t number) {
  const double hue = std::fmod(25 + 137.50776 * static_cast<double>(number % 1000), 360.0);
  constexpr double kLightness[3] = {0.74, 0.62, 0.84};
  return oklch(kLightness[number % 3], 0.15, hue);
}

Rgb ColorScale::color(double value) const {
  if (std::isnan(value)) return kUnknown;
  const double share = high > low ? std::clamp((value - low) / (high - low), 0.0, 1.0) : 0.5;
  return diverging ? diverging_color(2 * share - 1) : heat_color(share);
}

std::vector<Rgb> colors_of(std::span<const float> values, const ColorScale& scale) {
  std::vector<Rgb> colors;
  colors.reserve(values.size());
  for (const float value : values) colors.push_back(scale.color(value));
  return colors;
}

void draw_color_bar(Image& image, const ColorScale& scale) {
  TextStyle style;
  style.size = std::clamp(0.022f * static_cast<float>(image.height), 11.0f, 18.0f);
  const int unit = static_cast<int>(style.size);
  const int width = std::min(12 * unit, image.width - 2 * unit), height = std::max(6, 4 * unit / 5);
  if (width < 4 * unit || image.height < 8 * unit) return;  // no room to read it in
  const int left = image.width - unit - width, bottom = image.height - unit - text_line_height(style);
  // Paler behind the bar, so that it can be read where the character reaches into the corner.
  const int panel_top = bottom - height - unit - text_cap_height(style);
  for (int y = panel_top; y < image.height - unit / 3; ++y)
    for (int x = left - unit / 2; x < image.width - unit / 3; ++x) blend(image, x, y, {250, 251, 252}, 0.72f);
  for (int x = 0; x < width; ++x) {
    const double share = static_cast<double>(x) / (width - 1);
    fill_rectangle(image, left + x, bottom - height, 1, height,
                   scale.color(scale.low + share * (scale.high - scale.low)));
  }
  const int labels = bottom + text_cap_height(style) + unit / 3;
  draw_text(image, left, labels, scale.low_label, style);
  draw_centered_text(image, left + width / 2, labels, scale.middle_label, style);
  draw_text(image, left + width - text_width(scale.high_label, style), labels, scale.high_label, style);
  draw_text(image, left, bottom - height - unit / 2, fit_text(scale.title, width, style), style);
}

}  // namespace sinew
