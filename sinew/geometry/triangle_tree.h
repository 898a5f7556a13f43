#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <span>
#include <vector>

#include <Eigen/Geometry>

#include <sinew/geometry/mesh.h>

namespace sinew {

/// A tree over the triangles of a surface: built once, then fitted to the positions of each frame. Balanced,
/// so that no order of triangles and no placement makes it deep.
class TriangleTree {
 public:
  /// Children of an inner node: the next node, and `right`. Its triangles are begin … end - 1 in the tree's
  /// order.
  struct Node {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    std::uint32_t right = 0;  ///< 0 for a leaf

    bool is_leaf() const { return right == 0; }
  };

  /// Positions must be finite and every corner must exist.
  explicit TriangleTree(const MeshView& mesh);

  std::span<const Node> nodes() const { return nodes_; }  ///< parents first; empty without triangles
  std::span<const Triangle> triangles() const { return triangles_; }  ///< in the tree's order
  std::span<const std::uint32_t> order() const { return order_; }     ///< their numbers in the mesh

 private:
  std::uint32_t split(std::uint32_t begin, std::uint32_t end, std::span<const Vec3f> centres);

  std::vector<Node> nodes_;
  std::vector<Triangle> triangles_;
  std::vector<std::uint32_t> order_;
};

/// The boxes of a tree's nodes round one frame's positions. The tree must outlive it.
class FittedTriangleTree {
 public:
  /// `positions` has one entry per vertex of the mesh the tree was made for, all finite.
  FittedTriangleTree(const TriangleTree& tree, std::span<const Vec3f> positions);

  std::span<const Eigen::AlignedBox3f> boxes() const { return boxes_; }  ///< per node of the tree

  /// Calls visit(t) for the numbers in the mesh of all triangles in leaves whose boxes, like those of all
  /// nodes above, satisfy meets(box).
  template <class Meets, class Visit>
  void for_each(const Meets& meets, const Visit& visit) const;

 private:
  const TriangleTree& tree_;
  std::vector<Eigen::AlignedBox3f> boxes_;
};

/// More nodes than a walk down any tree ever has waiting: 2^32 triangles halve 32 times.
inline constexpr std::size_t kTreeStack = 64;

template <class Meets, class Visit>
void FittedTriangleTree::for_each(const Meets& meets, const Visit& visit) const {
  if (boxes_.empty()) return;
  std::array<std::uint32_t, kTreeStack> waiting;
  std::size_t count = 0;
  waiting[count++] = 0;
  while (count > 0) {
    const std::uint32_t n = waiting[--count];
    if (!meets(boxes_[n])) continue;
    const TriangleTree::Node& node = tree_.nodes()[n];
    if (node.is_leaf()) {
      for (std::uint32_t t = node.begin; t < node.end; ++t) visit(tree_.order()[t]);
    } else {
      assert(count + 2 <= kTreeStack);
      waiting[count++] = node.right;
      waiting[count++] = n + 1;
    }
  }
}

}  // namespace sinew
