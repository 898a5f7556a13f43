#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>

namespace sinew {

/// Two triangle numbers, the smaller one first.
using TrianglePair = std::array<std::uint32_t, 2>;

/// Whether two triangles intersect: some point of both lies inside one of them, not on its border. So
/// triangles that only touch along edges or at corners do not, whether they share vertices or not; neighbours
/// that fold back over each other, that pierce each other beyond a shared vertex, that coincide or overlap in
/// one plane do. Triangles without area have no inside, but may pierce others. Exact for all finite
/// positions.
bool triangles_intersect(const std::array<Vec3f, 3>& a, const std::array<Vec3f, 3>& b);

/// Finds all pairs of triangles of a surface that intersect each other, frame after frame: the tree over the
/// triangles is built once and follows the positions.
class SelfIntersections {
 public:
  /// Builds the tree from the mesh's positions. They must be finite, as everywhere below.
  explicit SelfIntersections(const MeshView& mesh);

  /// All intersecting pairs in ascending order. `positions` has one entry per vertex of the mesh. Throws
  /// Error when there are more than `pair_limit` (a broken mesh can have n² pairs).
  std::vector<TrianglePair> find(std::span<const Vec3f> positions,
                                 std::size_t pair_limit = std::size_t{1} << 26) const;

 private:
  std::vector<Triangle> triangles_;   // in the tree's order
  std::vector<std::uint32_t> order_;  // per entry of triangles_: its number in the mesh
};

/// The same, once.
std::vector<TrianglePair> self_intersections(const MeshView& mesh);

}  // namespace sinew
