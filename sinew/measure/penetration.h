#pragma once

#include <cstdint>
#include <span>

#include <sinew/geometry/closed_surface.h>
#include <sinew/geometry/intersections.h>
#include <sinew/measure/burial.h>

namespace sinew {

struct PenetrationDepth {
  double largest = 0;                ///< metres
  double mean = 0;                   ///< metres
  double largest_share_of_limb = 0;  ///< of the vertex's own limb radius: 1 is 100 %
  double mean_share_of_limb = 0;
  /// False when there are vertices to measure but nothing is exposed; all depths are then 0.
  bool known = true;
};

/// How far the given vertices are from the exposed surface: the triangles that are not buried and
/// have no buried vertex, together with the lines where `pairs`, all
/// intersecting pairs of the closed surface, cut each other and at least one of their vertices is not buried.
/// Those lines are the exposed surface's rim, so that a depth does not grow by the triangles that are buried
/// in part. The middle of a fan is buried when its whole border is. `limb_radius` is per vertex.
PenetrationDepth penetration_depth(const ClosedSurface& surface, std::span<const Vec3f> positions,
                                   std::span<const TrianglePair> pairs, const Burial& burial,
                                   std::span<const std::uint32_t> vertices,
                                   std::span<const double> limb_radius);

}  // namespace sinew
