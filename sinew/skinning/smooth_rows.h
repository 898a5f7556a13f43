#pragma once

#include <sinew/geometry/mesh.h>
#include <sinew/skinning/weights.h>

namespace sinew {

/// Weights evened out over the surface: `passes` times each row becomes half itself and half the mean of its
/// neighbours', weighted as the intrinsic Laplacian weights them, so that the triangles' shapes do not show.
/// Rows stay non-negative and sum to 1. Weights below a thousandth are dropped. One row per vertex; positions
/// are finite.
SkinWeights smooth_rows(const MeshView& surface, const SkinWeights& weights, int passes);

}  // namespace sinew
