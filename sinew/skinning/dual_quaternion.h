#pragma once

#include <span>

#include <sinew/core/held_bytes.h>
#include <sinew/core/math.h>
#include <sinew/skinning/linear_blend.h>
#include <sinew/skinning/packed_weights.h>

namespace sinew {

/// A rigid motion as a unit dual quaternion, x y z w each.
struct alignas(32) DualQuaternion {
  float real[4];
  float dual[4];
};

/// A joint's transform T split into a rigid motion and what comes before it: T p = R (S p) + t. `stretch` is
/// the symmetric polar factor S as an affine matrix without translation, negated for mirrored transforms so
/// that R is a rotation always.
struct SplitTransform {
  DualQuaternion rigid;
  Affine3d stretch;
  bool is_rigid;  ///< the stretch differs from 1 by less than a few millionths and may be dropped
};
SplitTransform split_transform(const Affine3d& posed_from_rest);

/// Scratch for one caller of dual_quaternion_skinning; sized once, reused each frame.
struct DualQuaternionScratch {
  std::vector<DualQuaternion> rigid;
  std::vector<SkinMatrix> stretch;
  std::vector<Vec3f> stretched;
  std::size_t bytes() const { return held_bytes(rigid, stretch, stretched); }
};
DualQuaternionScratch make_dual_quaternion_scratch(std::size_t joint_count, std::size_t vertex_count);

/// Dual quaternion skinning (Vaillant 2015, §2.1.2; Kavan et al. 2007): q̂ = Σ w_i s_i q̂_i, s_i = ±1 so that
/// every real part lies in the hemisphere of the vertex's heaviest joint; divided by the norm of the real
/// part; applied. Scale and shear, which dual quaternions cannot hold, are blended linearly first, joint by
/// joint, never dropped. Same contract as linear_blend_skinning, but for the scratch.
void dual_quaternion_skinning(std::span<const Vec3f> rest, const PackedWeights& weights,
                              std::span<const Affine3d> posed_from_rest, DualQuaternionScratch& scratch,
                              std::span<Vec3f> posed);

}  // namespace sinew
