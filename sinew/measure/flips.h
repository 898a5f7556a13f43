#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sinew/core/math.h>
#include <sinew/geometry/mesh.h>
#include <sinew/skinning/weights.h>

namespace sinew {

/// The numbers, ascending, of triangles whose normal is more than 90° from where the bones carry their rest
/// normal: the rotation nearest to the mean, over its corners, of their bindings' matrices, blended by
/// weight. Bindings that mirror turn normals as they turn triangles, so mirroring is no flip. Triangles
/// without area now or at rest count as not flipped. `weights` has one row per vertex, with numbers of
/// `posed_from_rest`; without `posed_from_rest` nothing turns.
std::vector<std::uint32_t> flipped_triangles(const MeshView& rest, std::span<const Vec3f> positions,
                                             const SkinWeights& weights,
                                             std::span<const Affine3d> posed_from_rest);

/// The orthogonal matrix nearest to `matrix`, mirrored when it mirrors. For a singular matrix one of several,
/// never a mirrored one.
Mat3d nearest_orthogonal(const Mat3d& matrix);

}  // namespace sinew
