#pragma once

#include <span>
#include <vector>

#include <Eigen/Core>

#include <sinew/geometry/mesh.h>
#include <sinew/skeleton/bones.h>

namespace sinew::reference {

/// Bone heat as Baran & Popović 2007, §4 state it, solved densely: (L + M H) w_i = M H p_i with cotangent L,
/// H = k / d². All bones are visible from everywhere; distances within `equal` of the least count as equally
/// near. One column per bone. For small meshes without obtuse angles.
Eigen::MatrixXd heat_weights(const MeshView& surface, std::span<const Bone> bones, double equal = 1e-6);

}  // namespace sinew::reference
