#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/core/math.h>
#include <sinew/geometry/triangle_tree.h>

namespace sinew {

/// Where a line passes through a triangle.
struct Crossing {
  float t = 0;      ///< along the line
  int winding = 0;  ///< +1: the line enters the body there, −1: it leaves
  std::uint32_t triangle = 0;
};

/// A surface in the pose of a frame, for rays: a tree over its triangles that is made once and refitted. Rays
/// have no cracks: one that passes through an edge or a corner that triangles share crosses exactly one of
/// those that lie on either side of it (Woop et al. 2013, with ties told by the order of vertices).
class PosedSurface {
 public:
  /// The tree must outlive it.
  explicit PosedSurface(const TriangleTree& tree) : tree_(&tree), boxes_(tree.nodes().size()) {}

  /// Fits the boxes to these positions, which must stay where they are while rays are asked.
  void refit(std::span<const Vec3f> positions);

  std::span<const Vec3f> positions() const { return positions_; }
  const TriangleTree& tree() const { return *tree_; }

  /// Calls visit(crossing) for every triangle that origin + t direction crosses with from < t < to; in no
  /// order.
  template <class Visit>
  void cross(const Vec3f& origin, const Vec3f& direction, float from, float to, const Visit& visit) const;

  /// How often the surface winds round the origin, told by what a ray from there crosses.
  int winding(const Vec3f& origin, const Vec3f& direction) const;

  struct Box {
    Vec4f low = Vec4f::Constant(0), high = Vec4f::Constant(0);
  };
  std::span<const Box> boxes() const { return boxes_; }  ///< per node of the tree

 private:
  const TriangleTree* tree_;
  std::span<const Vec3f> positions_;
  std::vector<Box> boxes_;
};

namespace detail {

/// A line as triangles are sheared by it: its largest axis becomes z (Woop et al. 2013, §3).
struct ShearedLine {
  Vec3f origin;
  int x, y, z;
  float shear_x, shear_y, shear_z;

  ShearedLine(const Vec3f& from, const Vec3f& direction) : origin(from) {
    direction.cwiseAbs().maxCoeff(&z);
    x = (z + 1) % 3;
    y = (x + 1) % 3;
    if (direction[z] < 0) std::swap(x, y);
    shear_x = direction[x] / direction[z];
    shear_y = direction[y] / direction[z];
    shear_z = 1 / direction[z];
  }

  Vec3f place(const Vec3f& at) const {
    const Vec3f from = at - origin;
    return {from[x] - shear_x * from[z], from[y] - shear_y * from[z], shear_z * from[z]};
  }
};

/// Twice the area that the line's foot spans with an edge.
inline float edge_area(const Vec3f& a, const Vec3f& b) {
  const float area = a.x() * b.y() - a.y() * b.x();
  if (area != 0) [[likely]]
    return area;
  return static_cast<float>(static_cast<double>(a.x()) * static_cast<double>(b.y()) -
                            static_cast<double>(a.y()) * static_cast<double>(b.x()));
}

/// The same as the triangle sees it whose edge runs from a to b, computed from the corner with the lower
/// number so that both triangles of an edge see the same number; an edge that the foot lies on counts as a
/// hair to one side of it, the same side for both of its triangles.
inline float directed_area(const Vec3f& a, const Vec3f& b, std::uint32_t number_a, std::uint32_t number_b) {
  constexpr float kHair = 1e-37f;  // less than any area that matters
  const bool turned = number_a > number_b;
  float area = turned ? edge_area(b, a) : edge_area(a, b);
  if (area == 0) area = kHair;
  return turned ? -area : area;
}

}  // namespace detail

template <class Visit>
void PosedSurface::cross(const Vec3f& origin, const Vec3f& direction, float from, float to,
                         const Visit& visit) const {
  if (boxes_.empty() || !(direction.squaredNorm() > 0)) return;
  const detail::ShearedLine line(origin, direction);
  const Vec4f start(origin.x(), origin.y(), origin.z(), 0);
  // A direction along an axis divides by zero: infinities compare as they should, 0 · ∞ is caught below.
  const Vec4f inverse(1 / direction.x(), 1 / direction.y(), 1 / direction.z(), 0);
  constexpr float kSlack = 1.000001f;  // rounding of the slabs
  std::array<std::uint32_t, kTreeStack> waiting;
  std::size_t count = 0;
  waiting[count++] = 0;
  while (count > 0) {
    const std::uint32_t n = waiting[--count];
    const Box& box = boxes_[n];
    bool misses = false;
    float near = from, far = to;
    for (int k = 0; k < 3; ++k) {
      if (direction[k] == 0) {
        misses |= origin[k] < box.low[k] || origin[k] > box.high[k];
        continue;
      }
      const float a = (box.low[k] - start[k]) * inverse[k], b = (box.high[k] - start[k]) * inverse[k];
      near = std::max(near, std::min(a, b));
      far = std::min(far, std::max(a, b));
    }
    const float slack = (kSlack - 1) * std::max(std::abs(near), std::abs(far));
    if (misses || near > far + slack) continue;
    const TriangleTree::Node& node = tree_->nodes()[n];
    if (!node.is_leaf()) {
      waiting[count++] = node.right;
      waiting[count++] = n + 1;
      continue;
    }
    for (std::uint32_t i = node.begin; i < node.end; ++i) {
      const Triangle& f = tree_->triangles()[i];
      const Vec3f a = line.place(positions_[f[0]]), b = line.place(positions_[f[1]]),
                  c = line.place(positions_[f[2]]);
      const float u = detail::directed_area(b, c, f[1], f[2]), v = detail::directed_area(c, a, f[2], f[0]),
                  w = detail::directed_area(a, b, f[0], f[1]);
      const bool positive = u > 0 && v > 0 && w > 0, negative = u < 0 && v < 0 && w < 0;
      if (!positive && !negative) continue;
      const float sum = u + v + w;
      const float t = (u * a.z() + v * b.z() + w * c.z()) / sum;
      if (!(t > from && t < to)) continue;
      // Corners that run counter-clockwise round the line face the way it goes: it leaves there.
      visit(Crossing{t, positive ? -1 : 1, tree_->order()[i]});
    }
  }
}

}  // namespace sinew
