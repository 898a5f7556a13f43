#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/geometry/closed_surface.h>
#include <sinew/geometry/fast_winding.h>
#include <sinew/geometry/incidence.h>
#include <sinew/geometry/intersections.h>
#include <sinew/geometry/triangle_tree.h>

namespace sinew {

/// How a triangle of the closed surface stands to others.
enum class Meeting : std::uint8_t {
  none,
  touching,      ///< along an edge or at a corner only, without sharing its vertices
  intersecting,  ///< in a point inside of one of both, see triangles_intersect()
};

/// Where a closed surface meets itself.
struct Contacts {
  std::vector<Meeting> triangles;      ///< per triangle of the closed surface
  std::vector<std::uint8_t> vertices;  ///< per vertex, fans' middles included: 1 where it lies on a triangle
                                       ///< that is not its own
  /// Such vertices, each with a triangle it lies on.
  std::vector<std::array<std::uint32_t, 2>> touches;
};

/// `pairs` are all that intersect; those that only touch are found here. Where surfaces cross exactly along
/// their edges, as boxes on one grid do, no triangles intersect. Such a line ends, on every edge it runs
/// along, in a vertex that lies on another's edge: so vertices on triangles are looked for. `boxes` was
/// fitted to `positions`.
Contacts find_contacts(const ClosedSurface& surface, std::span<const Vec3f> positions,
                       const FittedTriangleTree& boxes, std::span<const TrianglePair> pairs);

/// What of a surface lies inside of the body.
struct Burial {
  std::vector<double> outside;          ///< per vertex of the surface, see find_burial()
  std::vector<std::uint8_t> triangles;  ///< per triangle of the closed one: 1, buried as a whole; of
                                        ///< intersecting ones only their vertices are known

  bool vertex(std::uint32_t v) const { return v < outside.size() && outside[v] > 0.5; }
};

/// The winding number just outside each vertex of the surface: a ten-thousandth of an edge off it along its
/// normal. Above ½ the vertex is buried: the body lies over it. Where a fold is so sharp that the normal may
/// point into the vertex's own triangles, or the vertex lies on another triangle, the least winding number
/// just off one of its own counts instead. 0 for vertices in no triangle and those whose triangles have no
/// area.
///
/// Along a closed surface this number changes only where the surface meets itself, so it is computed once for
/// each patch of triangles that meet no others. `positions` are placed (ClosedSurface::place) and those
/// `winding` was made for; `incidence` is that of the surface's own triangles.
Burial find_burial(const ClosedSurface& surface, const Incidence& incidence, std::span<const Vec3f> positions,
                   const WindingTree& winding, const Contacts& contacts);

}  // namespace sinew
