#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <sinew/geometry/closed_surface.h>
#include <sinew/geometry/intersections.h>
#include <sinew/geometry/triangle_tree.h>
#include <sinew/measure/burial.h>

namespace sinew {

/// In m³.
struct OverlapVolume {
  double within_parts = 0;   ///< Σ over parts of ∫ max(w - 1, 0) dV with w of that part alone
  double between_parts = 0;  ///< ∫ max(w - 1, 0) dV with w of the whole surface, less the above

  double total() const { return within_parts + between_parts; }
};

/// The integral of max(w - 1, 0), w being the winding number of the closed surface. Along a straight line w
/// changes by one at each triangle, so the integral along it is exact; lines stand on a grid across each
/// region where triangles meet or are buried, seen along its thinnest direction, at most a quarter of the
/// region's mean edge apart. Two spheres of 2 500 vertices: within 0.3 %.
///
/// `burial` is find_burial(), `pairs` are all pairs of triangles of the closed surface that intersect,
/// `touches` are Contacts::touches, `positions` are placed and those `boxes` was fitted to.
OverlapVolume overlap_volume(const ClosedSurface& surface, std::span<const Vec3f> positions,
                             const FittedTriangleTree& boxes, const Burial& burial,
                             std::span<const TrianglePair> pairs,
                             std::span<const std::array<std::uint32_t, 2>> touches);

}  // namespace sinew
