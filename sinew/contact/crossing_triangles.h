#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sinew/contact/posed_surface.h>
#include <sinew/geometry/incidence.h>
#include <sinew/geometry/mesh.h>

namespace sinew {

/// Scratch of one performer; made by CrossingTriangles::make_scratch().
struct CrossingScratch {
  struct Task {
    std::uint32_t a, b;  ///< nodes of the tree; the same: within it
  };
  std::vector<std::vector<Task>> waiting;         ///< per task
  std::vector<std::vector<std::uint32_t>> found;  ///< per task: triangles
};

/// Finds where a surface passes through itself: the triangles that cross another one. In float, for rays to
/// begin with; which pairs there are exactly is the business of geometry/intersections.h. Triangles that
/// share a corner are not looked at, nor is skin that goes on without a bend: where all normals of a
/// connected piece lie in one half space it does not pass through itself (Volino and Magnenat-Thalmann 1994,
/// without their test of the piece's border).
class CrossingTriangles {
 public:
  /// The tree must outlive it.
  explicit CrossingTriangles(const TriangleTree& tree);

  CrossingScratch make_scratch() const;
  /// Lists in CrossingScratch::found the numbers in the mesh of triangles that cross others, some of them
  /// more than once. The surface knows its normals. Where there are more than it has room for, not all of
  /// them: rays that start there find the rest.
  void find(const PosedSurface& surface, CrossingScratch& scratch) const;

 private:
  void search(const PosedSurface& surface, std::size_t task, CrossingScratch& scratch) const;
  void meet(const PosedSurface& surface, std::uint32_t leaf, std::uint32_t other,
            std::vector<std::uint32_t>& found) const;
  /// Whether two nodes, none of which holds the other, share a corner.
  bool are_neighbours(std::uint32_t node, std::uint32_t other) const;

  void find_connected(const Incidence& incidence);
  void find_neighbours(const Incidence& incidence, std::span<const std::uint32_t> leaf_of);

  const TriangleTree* tree_;
  std::vector<std::uint8_t> connected_;  // per node of the tree: its triangles hang together by corners
  std::vector<CrossingScratch::Task> tasks_;
  // Per node of the tree, the leaves outside of it that share a corner with it, ascending; and where the
  // nodes below it end.
  std::vector<std::uint32_t> neighbour_starts_, neighbours_, node_ends_;
};

}  // namespace sinew
