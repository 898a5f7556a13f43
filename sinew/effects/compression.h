#pragma once

#include <array>
#include <span>
#include <vector>

#include <sinew/core/math.h>
#include <sinew/geometry/mesh.h>

namespace sinew {

/// How much a surface is pressed together at a point, and in which direction.
struct Compression {
  double amount = 0;                ///< 1 less the smallest stretch: 0.3 where 10 cm became 7; not below 0
  Vec3d direction = Vec3d::Zero();  ///< at rest, of that stretch; unit length, or zero where there is none
};

/// Of a triangle, from its corners at rest and now: singular values of the map between their planes. None for
/// triangles without area at rest.
Compression triangle_compression(const std::array<Vec3d, 3>& rest, const std::array<Vec3d, 3>& now);

/// Per vertex, that of its triangles weighed by their area at rest: the largest eigenvector of the sum of
/// amount · direction · directionᵀ, which knows no sign and lets opposing directions cancel.
std::vector<Compression> surface_compression(const MeshView& rest, std::span<const Vec3f> now);

}  // namespace sinew
