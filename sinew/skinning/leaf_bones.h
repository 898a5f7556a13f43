#pragma once

#include <span>

#include <sinew/core/math.h>
#include <sinew/skeleton/bones.h>
#include <sinew/skinning/weights.h>

namespace sinew {

/// Ends leaf bones at the skin they move: from the joint towards the middle of the vertices it dominates
/// (weight above one half), as far as the farthest of them reaches in that direction. `joint_of_weight` gives
/// the skeleton joint of each joint number in `weights`. All spans must outlive the result.
LeafTail leaf_tail_from_weights(std::span<const Vec3f> positions, const SkinWeights& weights,
                                std::span<const int> joint_of_weight);

}  // namespace sinew
