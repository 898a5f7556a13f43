#pragma once

#include <span>

#include <sinew/core/math.h>
#include <sinew/skinning/stretch_twist.h>
#include <sinew/skinning/weights.h>

namespace sinew::reference {

/// v = Σ w_i ( T_i ( a_i + K_i(e_i) (p − a_i) ) + e_i s_i ), s_i = b_i' − T_i b_i (Jacobson & Sorkine
/// 2011; sinew/skinning/stretch_twist.h says why T_i), a joint's vertices shared among its bones by the
/// inverse fourth power of their distance. At most 4 bones per joint.
void stretch_twist(std::span<const Vec3f> rest, const SkinWeights& weights,
                   std::span<const StretchBone> bones, std::span<const Affine3d> posed_from_rest,
                   std::span<Vec3f> posed);

}  // namespace sinew::reference
