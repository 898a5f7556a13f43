#pragma once

#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>
#include <sinew/skinning/weights.h>

namespace sinew {

/// Smooth weights from a rigid partition: each joint's indicator is diffused over the surface by two steps of
/// the screened Poisson equation (M / l² + L) w = M / l² w₀ with l = `reach` metres at each vertex, so that a
/// thick limb's joint blends over a longer way than a thin one's. The four heaviest are kept; weights
/// below a fifth fade, without a kink, and those below a hundredth are gone. `part` gives the joint of each
/// vertex, below `joint_count`.
SkinWeights diffused_weights(const MeshView& mesh, std::span<const int> part, std::size_t joint_count,
                             std::span<const double> reach);

}  // namespace sinew
