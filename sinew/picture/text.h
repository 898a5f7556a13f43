#pragma once

#include <string>
#include <string_view>

#include <sinew/picture/image.h>

namespace sinew {

/// Text for captions in a small font of our own, drawn with strokes: printable ASCII and a few signs that
/// measurements need (° · × ± µ ² ³ – — … − → ≤ ≥ ’). Other characters show as a box. UTF-8.
struct TextStyle {
  float size = 14;  ///< pixels from line to line are 1.4 times this, capitals 0.7 times
  Rgb color{32, 36, 42};
  bool bold = false;
};

/// Width in whole pixels; the height of capitals above the baseline; the distance between lines.
int text_width(std::string_view text, const TextStyle& style);
int text_cap_height(const TextStyle& style);
int text_line_height(const TextStyle& style);

/// Draws one line: `x` is its left end, `baseline` the pixel row its letters stand on. Control characters
/// draw nothing.
void draw_text(Image& image, int x, int baseline, std::string_view text, const TextStyle& style);
/// The same with its middle at `x`.
void draw_centered_text(Image& image, int x, int baseline, std::string_view text, const TextStyle& style);

/// The text cut off with … so that it is at most `width` pixels wide.
std::string fit_text(std::string_view text, int width, const TextStyle& style);

}  // namespace sinew
