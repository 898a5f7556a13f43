#pragma once

#include <span>

#include <sinew/core/math.h>
#include <sinew/skinning/curve_skeleton.h>
#include <sinew/skinning/weights.h>

namespace sinew::reference {

/// One chain, all vertices searched along the whole curve in very small steps, frames carried along by the
/// smallest rotation from step to step: v = (1 − w²) v' + w² F'(t) F(t)⁻¹ p (Vaillant 2015, §2.1.3).
/// `positions` are v' and become v. Rigid transforms only; no two neighbouring joints in one place.
void curve_skeleton(std::span<const Vec3f> rest, const SkinWeights& weights, const CurveChain& chain,
                    std::span<const Affine3d> posed_from_rest, std::span<Vec3f> positions);

}  // namespace sinew::reference
