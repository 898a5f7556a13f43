#pragma once

#include <span>

#include <sinew/core/math.h>
#include <sinew/skinning/packed_weights.h>

namespace sinew {

/// An affine transform as the kernels read it: three rows of linear part and translation, and a row of zeros,
/// so that it fills one AVX-512 vector.
struct alignas(64) SkinMatrix {
  float rows[4][4];
};

/// Rounds the joints' transforms (rest to posed) for the kernel. Same sizes.
void pack_matrices(std::span<const Affine3d> posed_from_rest, std::span<SkinMatrix> packed);

/// Linear blend skinning (Vaillant 2015, §2.1.1): v = Σ w_i T_i p for every vertex. `rest` and `posed` have
/// weights.vertex_count() entries and do not overlap; every joint number is below matrices.size(). Allocates
/// nothing; SIMD for the processor it runs on, on the caller's oneTBB arena, same bits for any number of
/// threads.
void linear_blend_skinning(std::span<const Vec3f> rest, const PackedWeights& weights,
                           std::span<const SkinMatrix> matrices, std::span<Vec3f> posed);

}  // namespace sinew
