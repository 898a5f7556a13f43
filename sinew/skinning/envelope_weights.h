#pragma once

#include <span>

#include <sinew/core/math.h>
#include <sinew/skeleton/bones.h>
#include <sinew/skinning/weights.h>

namespace sinew {

struct EnvelopeOptions {
  /// A joint has a say up to (1 + reach) times the distance of the nearest bone. Above 0.
  double reach = 1;
};

/// Weights by distance to the bones alone: with d the distance to the nearest bone of joint i and d₀ that to
/// the nearest of all, w_i ~ (1 - (d / d₀ - 1) / reach)², 0 where that bracket is negative. Does not look at
/// the surface, so it takes anything, and mistakes one limb for another where they are close. Rows are whole,
/// heaviest first, and sum to 1. There is at least one bone; all numbers are finite.
SkinWeights envelope_weights(std::span<const Vec3f> positions, std::span<const Bone> bones,
                             const EnvelopeOptions& options = {});

}  // namespace sinew
