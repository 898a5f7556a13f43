#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sinew {

/// How many places a vertex's ring has that ring_areas() takes: seven neighbours and the first once more.
/// Shorter ones repeat their last.
inline constexpr std::size_t kPaddedRing = 8;

/// What a patch's vertices could do along one axis (volume_patch.h).
struct AxisSums {
  double strength = 0;  ///< Σ displacement · area
  double farthest = 0;  ///< the largest |displacement|
};

/// For `count` vertices with rings of kPaddedRing places, one after the other: displacement = freedom ·
/// area, where the area is six times ∂V/∂x, that is twice the area of the ring as seen along the axis; `b`
/// and `c` are the coordinates along the two axes after it. Compiled for each instruction set; it is their
/// fused multiply-add that counts.
AxisSums ring_areas(const std::uint32_t* rings, std::size_t count, const double* b, const double* c,
                    const double* freedom, double* displacement);

/// Σ freedom · area² of all three axes at once.
std::array<double, 3> ring_strengths(const std::uint32_t* rings, std::size_t count, const double* x,
                                     const double* y, const double* z, const double* freedom);

}  // namespace sinew
