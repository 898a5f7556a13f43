#pragma once

#include <span>

#include <sinew/core/math.h>
#include <sinew/skinning/bulge_free.h>
#include <sinew/skinning/weights.h>

namespace sinew::reference {

/// BulgeFreeCorrection, one vertex at a time, straight from its description: `posed` is what dual quaternions
/// made of `rest`, and is replaced.
void bulge_free(std::span<const Vec3f> rest, const SkinWeights& weights, std::span<const BulgeFreeBone> bones,
                std::span<const Affine3d> posed_from_rest, double strength, std::span<Vec3f> posed);

}  // namespace sinew::reference
