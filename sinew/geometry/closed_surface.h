#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>

namespace sinew {

/// A surface made closed, so that every point of space lies inside of it a whole number of times: where its
/// triangles leave a border (also one of three triangles at an edge, or of two that face different sides),
/// a fan of triangles goes from the border to a new vertex, the mean of the border's vertices. Connected
/// pieces of border get one fan each. A surface that is closed already stays as it is.
struct ClosedSurface {
  std::size_t vertex_count = 0;     ///< of the surface, without the fans' middles
  std::size_t triangle_count = 0;   ///< of the surface, without the fans
  std::vector<Triangle> triangles;  ///< the surface's, then the fans'
  std::vector<std::uint32_t> part;  ///< per triangle, which connected part of the surface it belongs to
  std::size_t part_count = 0;       ///< parts with triangles
  std::vector<std::vector<std::uint32_t>> borders;  ///< per fan, the border's vertices, ascending
  /// Triangles, fans' included, that share an edge with nobody else and face the same side.
  std::vector<std::array<std::uint32_t, 2>> neighbours;

  bool was_closed() const { return borders.empty(); }
  /// The positions of all vertices: the surface's own as given, then the fans' middles.
  std::vector<Vec3f> place(std::span<const Vec3f> positions) const;
};

/// Corners must be smaller than `vertex_count`, and no triangle may name a vertex twice.
ClosedSurface close_surface(std::size_t vertex_count, std::span<const Triangle> triangles);

}  // namespace sinew
