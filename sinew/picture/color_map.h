#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <sinew/picture/image.h>

namespace sinew {

/// A colour in Oklab's cylinder (Ottosson 2020): lightness 0 to 1, chroma 0 to about 0.3, hue in degrees.
/// Equal steps look equally large. Colours that sRGB does not have are brought in by lowering the chroma.
Rgb oklch(double lightness, double chroma, double hue_degrees);

/// Dark to bright as `share` goes from 0 to 1, by even steps of lightness: ordered even in grey.
Rgb heat_color(double share);
/// Blue below, pale grey at 0, red above; `share` from -1 to 1.
Rgb diverging_color(double share);
/// Colours easy to tell apart, neighbours in number most of all.
Rgb distinct_color(std::size_t number);

/// How numbers become colours, and what the bar beside the picture says.
struct ColorScale {
  double low = 0;
  double high = 1;
  bool diverging = false;  ///< middle of the scale is neutral
  std::string title;
  std::string low_label, middle_label, high_label;

  /// Numbers outside take the colour of the end; NaN is grey.
  Rgb color(double value) const;
};

std::vector<Rgb> colors_of(std::span<const float> values, const ColorScale& scale);

/// Draws the scale's bar with title and labels into the lower right corner.
void draw_color_bar(Image& image, const ColorScale& scale);

}  // namespace sinew
