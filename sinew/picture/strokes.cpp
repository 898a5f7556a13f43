#include <sinew/picture/strokes.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include <sinew/core/index.h>

namespace sinew {

namespace {

struct PixelBox {
  int left, top, right, bottom;  // inclusive

  bool empty() const { return left > right || top > bottom; }
};

PixelBox box_of(const Stroke& stroke, float reach, const Image& image) {
  const Vec2f low = stroke.from.cwiseMin(stroke.to).array() - reach;
  const Vec2f high = stroke.from.cwiseMax(stroke.to).array() + reach;
  const auto inside = [](float x, int size) {
    return static_cast<int>(std::floor(std::clamp(x, -1.0f, static_cast<float>(size))));
  };
  return {std::max(0, inside(low.x(), image.width)), std::max(0, inside(low.y(), image.height)),
          std::min(image.width - 1, inside(high.x(), image.width)),
          std::min(image.height - 1, inside(high.y(), image.height))};
}

float distance(const Vec2f& point, const Stroke& stroke) {
  const Vec2f along = stroke.to - stroke.from, offset = point - stroke.from;
  const float length = along.squaredNorm();
  const float share = length > 0 ? std::clamp(offset.dot(along) / length, 0.0f, 1.0f) : 0.0f;
  return (offset - share * along).norm();
}

}  // namespace

void draw_strokes(Image& image, std::span<const Stroke> strokes, float width, const Rgb& color,
                  float opacity) {
  const float reach = 0.5f * width + 0.5f;
  PixelBox all{image.width, image.height, -1, -1};
  for (const Stroke& stroke : strokes) {
    if (!stroke.from.allFinite() || !stroke.to.allFinite()) continue;
    const PixelBox box = box_of(stroke, reach, image);
    if (box.empty()) continue;
    all = {std::min(all.left, box.left), std::min(all.top, box.top), std::max(all.right, box.right),
           std::max(all.bottom, box.bottom)};
  }
  if (all.empty()) return;
  const auto columns = to_size(all.right - all.left + 1);
  std::vector<float> coverage(columns * to_size(all.bottom - all.top + 1), 0.0f);
  for (const Stroke& stroke : strokes) {
    if (!stroke.from.allFinite() || !stroke.to.allFinite()) continue;
    const PixelBox box = box_of(stroke, reach, image);
    for (int y = box.top; y <= box.bottom; ++y)
      for (int x = box.left; x <= box.right; ++x) {
        const Vec2f middle(static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f);
        float& most = coverage[to_size(y - all.top) * columns + to_size(x - all.left)];
        most = std::max(most, std::clamp(reach - distance(middle, stroke), 0.0f, std::min(1.0f, width)));
      }
  }
  for (int y = all.top; y <= all.bottom; ++y)
    for (int x = all.left; x <= all.right; ++x)
      blend(image, x, y, color, opacity * coverage[to_size(y - all.top) * columns + to_size(x - all.left)]);
}

}  // namespace sinew
