#pragma once

#include <span>
#include <vector>

#include <sinew/geometry/one_rings.h>

namespace sinew {

/// Mean value coordinates of every vertex in its one-ring, seen along a direction of its own: v = Σ Φ_j q_j
/// with q_j the ring projected on the plane through v across that direction (Hormann & Floater 2006). Holds
/// exactly at rest, so that relaxation does nothing there.
struct MeanValueRings {
  std::vector<float> values;        ///< along OneRings::neighbours
  std::vector<std::uint8_t> valid;  ///< per vertex: closed ring, whose polygon surrounds it
};

/// `across` has one vector per vertex, of any length; vertices where it vanishes have no coordinates, nor
/// have those with open or irregular rings, or whose projected ring does not go round them once.
MeanValueRings mean_value_rings(std::span<const Vec3f> positions, const OneRings& rings,
                                std::span<const Vec3f> across);

}  // namespace sinew
