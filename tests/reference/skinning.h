#pragma once

#include <span>
#include <vector>

#include <sinew/core/math.h>
#include <sinew/skinning/weights.h>

/// The formulas of geometric skinning, one vertex at a time, with nothing done for speed. Tests hold the
/// kernels against the double versions; benches give the ratio to the float ones.
namespace sinew::reference {

/// v = Σ w_i T_i p (Vaillant 2015, §2.1.1).
template <class Real>
void linear_blend(std::span<const Vec3f> rest, const SkinWeights& weights,
                  std::span<const Affine3d> posed_from_rest, std::span<Vec3f> posed);

/// q̂ = Σ w_i s_i q̂_i, s_i = ±1 towards the heaviest joint, divided by the norm of the real part (Kavan et
/// al. 2007); scale and shear first, by linear blending.
template <class Real>
void dual_quaternion(std::span<const Vec3f> rest, const SkinWeights& weights,
                     std::span<const Affine3d> posed_from_rest, std::span<Vec3f> posed);

}  // namespace sinew::reference
