#pragma once

#include <span>

#include <sinew/picture/image.h>

namespace sinew {

/// A straight line between two points of an image, in pixels: (0.5, 0.5) is the middle of the upper left
/// pixel. From a point to itself it is a dot.
struct Stroke {
  Vec2f from = Vec2f::Zero();
  Vec2f to = Vec2f::Zero();
};

/// Draws lines with round ends, anti-aliased, `width` pixels wide. Where strokes of one call overlap they are
/// drawn once: a half transparent line has no darker joints. What lies outside of the image is cut off;
/// strokes that are not finite are left out.
void draw_strokes(Image& image, std::span<const Stroke> strokes, float width, const Rgb& color,
                  float opacity = 1);

}  // namespace sinew
