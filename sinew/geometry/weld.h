#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>

namespace sinew {

/// Files split vertices at UV and normal seams. A weld names one welded vertex for all that are the same
/// point of the surface, in the order in which they first appear.
struct Weld {
  std::vector<std::uint32_t> welded_of_vertex;  ///< per file vertex
  std::vector<std::uint32_t> first_vertex;      ///< per welded vertex: the first file vertex it stands for

  std::size_t size() const { return first_vertex.size(); }
};

/// Vertices weld when their positions are the same numbers (-0 is +0) and their keys are equal. `keys` is
/// empty or has one number per vertex, such as the class of its row of skin weights, so that closed lips stay
/// apart.
///
/// With `tolerance` > 0 (metres) a point also joins the nearest earlier welded vertex of its key within that
/// distance. Distances are measured to the first vertex of the group, so that chains of near points do not
/// melt into one. Throws Error when the tolerance is negative or not finite. Positions must be finite.
Weld weld_vertices(std::span<const Vec3f> positions, std::span<const std::uint32_t> keys = {},
                   float tolerance = 0);

/// The welded surface's triangles, without those that collapse (two corners in one welded vertex).
struct WeldedTriangles {
  std::vector<Triangle> triangles;     ///< corners are welded vertices
  std::vector<std::uint32_t> sources;  ///< per entry of `triangles`: which file triangle it was; increasing
};
WeldedTriangles weld_triangles(const Weld& weld, std::span<const Triangle> triangles);

/// Positions of the welded vertices: those of their first vertices.
std::vector<Vec3f> welded_positions(const Weld& weld, std::span<const Vec3f> positions);

}  // namespace sinew
