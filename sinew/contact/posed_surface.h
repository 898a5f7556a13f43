#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <sinew/contact/tree_blocks.h>
#include <sinew/core/math.h>
#include <sinew/geometry/triangle_tree.h>

namespace sinew {

/// Where a line passes through a triangle.
struct Crossing {
  float t = 0;      ///< along the line
  int winding = 0;  ///< +1: the line enters the body there, −1: it leaves
  std::uint32_t triangle = 0;
  std::array<float, 3> place{};  ///< weights of the triangle's corners, sum 1
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
/// number so that both triangles of an edge see the same number. Where the foot lies on an edge or a corner
/// it counts as moved by (ε, ε²), so that of the triangles round it one is crossed.
inline float directed_area(const Vec3f& a, const Vec3f& b, std::uint32_t number_a, std::uint32_t number_b) {
  constexpr float kHair = 1e-37f;  // less than any area that matters
  const bool turned = number_a > number_b;
  float area = turned ? edge_area(b, a) : edge_area(a, b);
  if (area == 0) {
    const Vec3f &low = turned ? b : a, &high = turned ? a : b;
    const bool left = low.y() != high.y() ? low.y() > high.y() : low.x() < high.x();
    area = left ? kHair : -kHair;
  }
  return turned ? -area : area;
}

}  // namespace detail

/// A surface in the pose of a frame, for rays: a tree over its triangles that is made once and refitted. Rays
/// have no cracks: one that passes through an edge or a corner that triangles share crosses exactly one of
/// those that lie on either side of it (Woop et al. 2013, with ties told by the order of vertices).
class PosedSurface {
 public:
  /// The tree must outlive it.
  explicit PosedSurface(const TriangleTree& tree);

  /// Fits the boxes to these positions, which must stay where they are while rays are asked.
  void refit(std::span<const Vec3f> positions);
  /// After refit(), and before cross_facing() and normals(): finds which way triangles face.
  void find_normals();

  std::span<const Vec3f> positions() const { return positions_; }
  const TriangleTree& tree() const { return *tree_; }

  /// Calls visit(crossing) for every triangle that origin + t direction crosses with from < t < to; in no
  /// order.
  template <class Visit>
  void cross(const Vec3f& origin, const Vec3f& direction, float from, float to, const Visit& visit) const;

  /// The same for triangles that face the line's beginning only, where `direction` leads into the body. What
  /// is near but faces away, as the skin that a ray begins on, costs next to nothing.
  template <class Visit>
  void cross_facing(const Vec3f& origin, const Vec3f& direction, float from, float to,
                    const Visit& visit) const;

  /// How often the surface winds round the origin, told by what a ray from there crosses.
  int winding(const Vec3f& origin, const Vec3f& direction) const;

  struct Box {
    Vec4f low = Vec4f::Constant(0), high = Vec4f::Constant(0);
  };
  std::span<const Box> boxes() const { return boxes_; }  ///< per node of the tree
  /// Per node, round the unit normals of its triangles; empty where none has an area.
  std::span<const Box> normals() const { return normals_; }
  /// Per node that is a leaf, the sum of its triangles' normals times twice their areas.
  std::span<const Vec3f> areas() const { return areas_; }

  const TreeBlocks& blocks() const { return blocks_; }

  using Numbers = Eigen::Array<float, 4, 1>;
  /// The triangles of a leaf, four at a time: per corner and axis; `count` of them are there.
  struct Leaf {
    std::array<std::array<Numbers, 3>, 3> corners;
    std::uint32_t begin = 0, count = 0;
  };
  /// Four nodes of the tree at a time: the nodes two levels below another one, or leaves above.
  struct Four {
    std::array<Numbers, 3> low, high;
    std::array<Numbers, 3> normal_low, normal_high;
    std::array<std::uint32_t, 4> node{};   ///< of the tree
    std::array<std::uint32_t, 4> below{};  ///< the four of that node, or kLeaf and the number of its leaf
    std::uint32_t count = 0;
  };
  /// Of nodes that are leaves.
  const Leaf& leaf(std::uint32_t node) const { return leaves_[place_of_node_[node]]; }
  /// Of the root and of nodes in a Four that are no leaves.
  const Four& four(std::uint32_t node) const { return fours_[place_of_node_[node]]; }

 private:
  static constexpr std::uint32_t kLeaf = 0x80000000;

  /// Appends the four below a node, and all below them; returns its number.
  std::uint32_t gather(std::uint32_t node);
  template <bool kFacing, class Visit>
  void walk(const Vec3f& origin, const Vec3f& direction, float from, float to, const Visit& visit) const;
  /// A triangle of the tree; `t` counts in the tree's order.
  template <class Visit>
  void cross_triangle(const detail::ShearedLine& line, std::uint32_t t, float from, float to,
                      const Visit& visit) const;

  const TriangleTree* tree_;
  TreeBlocks blocks_;
  std::span<const Vec3f> positions_;
  std::vector<Box> boxes_, normals_;
  std::vector<Vec3f> areas_;
  std::vector<Four> fours_;
  std::vector<Leaf> leaves_;
  std::vector<std::uint32_t> place_of_node_;  // in leaves_ or fours_
};

template <class Visit>
void PosedSurface::cross_triangle(const detail::ShearedLine& line, std::uint32_t t, float from, float to,
                                  const Visit& visit) const {
  const Triangle& f = tree_->triangles()[t];
  const Vec3f a = line.place(positions_[f[0]]), b = line.place(positions_[f[1]]),
              c = line.place(positions_[f[2]]);
  const float u = detail::directed_area(b, c, f[1], f[2]), v = detail::directed_area(c, a, f[2], f[0]),
              w = detail::directed_area(a, b, f[0], f[1]);
  const bool positive = u > 0 && v > 0 && w > 0, negative = u < 0 && v < 0 && w < 0;
  if (!positive && !negative) return;
  const float scale = 1 / (u + v + w);
  const float depth = (u * a.z() + v * b.z() + w * c.z()) * scale;
  if (!(depth > from && depth < to)) return;
  // Corners that run counter-clockwise round the line face the way it goes: it leaves there.
  visit(Crossing{depth, positive ? -1 : 1, tree_->order()[t], {u * scale, v * scale, w * scale}});
}

template <class Visit>
void PosedSurface::cross(const Vec3f& origin, const Vec3f& direction, float from, float to,
                         const Visit& visit) const {
  walk<false>(origin, direction, from, to, visit);
}

template <class Visit>
void PosedSurface::cross_facing(const Vec3f& origin, const Vec3f& direction, float from, float to,
                                const Visit& visit) const {
  walk<true>(origin, direction, from, to, [&](const Crossing& crossing) {
    if (crossing.winding > 0) visit(crossing);
  });
}

template <bool kFacing, class Visit>
void PosedSurface::walk(const Vec3f& origin, const Vec3f& direction, float from, float to,
                        const Visit& visit) const {
  if (fours_.empty() || !(direction.squaredNorm() > 0)) return;
  const detail::ShearedLine line(origin, direction);
  constexpr float kSlack = 1e-6f, kFar = 1e30f;  // rounding of the slabs
  const Vec3f inverse = direction.cwiseInverse();
  std::array<std::uint32_t, 4 * kTreeStack> waiting;
  std::size_t waits = 0;
  waiting[waits++] = 0;
  while (waits > 0) {
    const std::uint32_t number = waiting[--waits];
    if ((number & kLeaf) != 0) {
      // Corners as the line sees them; triangles that it surely misses are told four at a time.
      const Leaf& leaf = leaves_[number & ~kLeaf];
      std::array<std::array<Numbers, 2>, 3> seen;
      for (std::size_t k = 0; k < 3; ++k) {
        const std::array<Numbers, 3>& corner = leaf.corners[k];
        const Numbers z = corner[static_cast<std::size_t>(line.z)] - origin[line.z];
        seen[k][0] = corner[static_cast<std::size_t>(line.x)] - origin[line.x] - line.shear_x * z;
        seen[k][1] = corner[static_cast<std::size_t>(line.y)] - origin[line.y] - line.shear_y * z;
      }
      const auto area = [&](std::size_t i, std::size_t j) -> Numbers {
        return seen[i][0] * seen[j][1] - seen[i][1] * seen[j][0];
      };
      const Numbers u = area(1, 2), v = area(2, 0), w = area(0, 1);
      const Numbers least = u.min(v).min(w), most = u.max(v).max(w);
      for (unsigned i = 0; i < leaf.count; ++i)
        if (least[i] >= 0 || most[i] <= 0) cross_triangle(line, leaf.begin + i, from, to, visit);
      continue;
    }
    const Four& four = fours_[number];
    Numbers near = Numbers::Constant(from), far = Numbers::Constant(to);
    for (std::size_t k = 0; k < 3; ++k) {
      const float start = origin[static_cast<int>(k)], over = inverse[static_cast<int>(k)];
      if (direction[static_cast<int>(k)] == 0) {
        // Beside the slab, or on it all the way.
        const auto beside = four.low[k] > start || four.high[k] < start;
        near = beside.select(Numbers::Constant(std::numeric_limits<float>::infinity()), near);
        continue;
      }
      const Numbers a = (four.low[k] - start) * over, b = (four.high[k] - start) * over;
      near = near.max(a.min(b));
      far = far.min(a.max(b));
    }
    far += kSlack * near.abs().min(kFar).max(far.abs().min(kFar));
    unsigned met = 0;  // bits of the boxes that the ray meets
    for (unsigned i = 0; i < 4; ++i) met |= static_cast<unsigned>(near[i] <= far[i]) << i;
    if constexpr (kFacing) {
      Numbers along = Numbers::Zero();  // at least that much, of the normals in a box
      for (std::size_t k = 0; k < 3; ++k) {
        const float d = direction[static_cast<int>(k)];
        along += d * (d > 0 ? four.normal_low[k] : four.normal_high[k]);
      }
      for (unsigned i = 0; i < 4; ++i) met &= ~(static_cast<unsigned>(along[i] > 0) << i);
    }
    for (met &= (1u << four.count) - 1; met != 0; met &= met - 1)
      waiting[waits++] = four.below[static_cast<std::size_t>(std::countr_zero(met))];
  }
}

}  // namespace sinew
