#include <sinew/contact/posed_surface.h>

#include <limits>

namespace sinew {

void PosedSurface::refit(std::span<const Vec3f> positions) {
  positions_ = positions;
  const std::span<const TriangleTree::Node> nodes = tree_->nodes();
  const std::span<const Triangle> triangles = tree_->triangles();
  const auto place = [&](std::uint32_t v) {
    const Vec3f& p = positions[v];
    return Vec4f(p.x(), p.y(), p.z(), 0);
  };
  for (std::size_t n = boxes_.size(); n-- > 0;) {
    const TriangleTree::Node& node = nodes[n];
    Box box;
    if (node.is_leaf()) {
      box.low = box.high = place(triangles[node.begin][0]);
      for (std::uint32_t t = node.begin; t < node.end; ++t)
        for (const std::uint32_t v : triangles[t]) {
          const Vec4f p = place(v);
          box.low = box.low.cwiseMin(p);
          box.high = box.high.cwiseMax(p);
        }
    } else {
      const Box &left = boxes_[n + 1], &right = boxes_[node.right];
      box.low = left.low.cwiseMin(right.low);
      box.high = left.high.cwiseMax(right.high);
    }
    boxes_[n] = box;
  }
}

int PosedSurface::winding(const Vec3f& origin, const Vec3f& direction) const {
  int sum = 0;
  cross(origin, direction, 0, std::numeric_limits<float>::infinity(),
        [&](const Crossing& crossing) { sum -= crossing.winding; });
  return sum;
}

}  // namespace sinew
