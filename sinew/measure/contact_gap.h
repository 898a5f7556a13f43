#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>
#include <sinew/geometry/triangle_tree.h>

namespace sinew {

/// How far apart skins are that ought to touch.
struct ContactGaps {
  std::vector<double> gaps;  ///< metres, one per vertex that found other skin before it
  std::size_t misses = 0;    ///< vertices that found none
};

/// For each of the `vertices`, the way along its normal (area-weighted, of the triangles that use it) to the
/// first triangle that faces it. Which vertices ought to touch is for the caller to say: those that the base
/// skin buries. `boxes` are fitted to `positions`; triangles of their tree beyond those of the surface (fans)
/// are passed over. Vertices without a normal count as misses.
ContactGaps contact_gaps(const MeshView& surface, const FittedTriangleTree& boxes,
                         std::span<const std::uint32_t> vertices);

/// The value below which a share of the values lies; 0 when there are none. Sorts them.
double quantile(std::span<double> values, double share);

}  // namespace sinew
