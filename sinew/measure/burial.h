#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sinew/geometry/fast_winding.h>
#include <sinew/geometry/incidence.h>
#include <sinew/measure/closed_surface.h>

namespace sinew {

/// The winding number just outside each vertex of the surface: a ten-thousandth of an edge off it along its
/// normal. Above ½ the vertex is buried: the body lies over it. Where a fold is so sharp that the normal may
/// point into the vertex's own triangles, the least winding number just off one of them counts instead. 0 for
/// vertices in no triangle and those whose triangles have no area.
///
/// Along a closed surface this number changes only where the surface meets itself, so it is computed once for
/// each patch of triangles that meet no others. `meets_another` has one entry per triangle of the closed
/// surface; `positions` are placed (ClosedSurface::place) and those `winding` was made for; `incidence` is
/// that of the surface's own triangles.
std::vector<double> winding_just_outside(const ClosedSurface& surface, const Incidence& incidence,
                                         std::span<const Vec3f> positions, const WindingTree& winding,
                                         std::span<const std::uint8_t> meets_another);

}  // namespace sinew
