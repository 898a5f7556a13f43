#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>

namespace sinew {

/// A point of a surface that goes wherever the surface goes.
struct WalkPoint {
  std::uint32_t triangle = 0;
  std::array<float, 3> place{1, 0, 0};  ///< weights of the triangle's corners, none negative, 1 together
};

/// Moves points over a surface without leaving it. Immutable; the surface's positions come with each call, so
/// that it may bend.
class SurfaceWalk {
 public:
  /// Triangles may name a vertex twice; walks end there. Every index must be smaller than `vertex_count`.
  SurfaceWalk(std::size_t vertex_count, std::span<const Triangle> triangles);

  /// A vertex as a point; of a vertex without triangles nothing is known, see has_triangle().
  WalkPoint at(std::uint32_t vertex) const { return corner_[vertex]; }
  bool has_triangle(std::uint32_t vertex) const { return known_[vertex] != 0; }
  Vec3f position(const WalkPoint& point, std::span<const Vec3f> positions) const;

  /// From a point straight ahead, bent round edges as a tape would lie on the surface. What of `move` is
  /// across the first triangle does not count. Ends early at borders, at edges with three or more triangles,
  /// in triangles without area and after kMostTriangles.
  WalkPoint walk(WalkPoint from, const Vec3f& move, std::span<const Vec3f> positions) const;

  static constexpr int kMostTriangles = 32;

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;

  std::vector<Triangle> triangles_;
  std::vector<WalkPoint> corner_;                         // per vertex
  std::vector<std::uint8_t> known_;                       // per vertex
  std::vector<std::array<std::uint32_t, 3>> neighbours_;  // beyond the edge across from each corner
};

}  // namespace sinew
