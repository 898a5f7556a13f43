#pragma once

#include <cstddef>

#include <sinew/geometry/mesh.h>
#include <sinew/skinning/weights.h>

namespace sinew {

struct TransferOptions {
  /// Largest distance from a vertex to its closest point, as a share of the diagonal of the source's box;
  /// from 0 on.
  double max_distance = 0.05;
  double max_angle = 60;  ///< degrees between the normals of a vertex and its closest point; in (0, 90]
  /// Takes over weights also where the two surfaces face each other, as a lining faces the body; see
  /// transfer_weights().
  bool either_side = true;
};

/// Where the target's rows come from. Counts of vertices, but for components.
struct TransferReport {
  std::size_t vertices = 0;
  std::size_t transferred_vertices =
      0;                              ///< took the weights of their closest points; `filled` are the rest …
  std::size_t filled_vertices = 0;    ///< … between those on the target's surface …
  std::size_t fallback_vertices = 0;  ///< … or had none there: closest point at any distance and angle
  std::size_t fallback_components = 0;  ///< pieces of the target, none of whose vertices was close enough
  std::size_t too_far_vertices = 0;     ///< rejected by distance
  std::size_t wrong_side_vertices = 0;  ///< rejected by their normals
  std::size_t facing_vertices = 0;      ///< transferred though they face their closest points
  std::size_t stray_vertices = 0;       ///< in no triangle: closest point, whichever way it faces
  std::size_t turned_components = 0;    ///< pieces of the target wound the wrong way round
};

/// Weights for a mesh round the same skeleton as a bound one, such as clothes round a body, both in the same
/// space and posture. A vertex takes the weights of its closest point of the source, interpolated on the
/// triangle, unless that is too far away or faces another way, which means that it is on another limb or on
/// the other side of a thin part. The rest is filled in by diffusion over the target's surface
/// (row_diffusion.h). The method is that of Abdrashitov et al. 2023, "Robust Skin Weights Transfer via Weight
/// Inpainting". Differs: they fill in smoothly (L M⁻¹ L + L), we harmonically, which keeps weights in range;
/// and they accept a reversed normal always or never, we do this:
/// - A piece of the target more than 80 % of which has reversed normals is wound the wrong way round, and
///   turned. One with less than 20 % has no lining, and reversed vertices are rejected.
/// - Else such a vertex is on a lining when it lies outside of the surface that it faces and has no other
///   part of the source behind its back within reach, as the glove of one finger has close to the next one.
///
/// Every row sums to 1 and is heaviest first, whatever the meshes look like; rows are whole:
/// limit_influences() afterwards. Triangles of the source with a corner without weights are left out. Seams
/// must be welded, or diffusion stops there. Same bits for any number of threads.
///
/// Throws Error when no triangle of the source has weights, a position is not finite, rows do not fit the
/// source, or an option is out of range.
SkinWeights transfer_weights(const MeshView& source, const SkinWeights& source_weights,
                             const MeshView& target, const TransferOptions& options = {},
                             TransferReport* report = nullptr);

}  // namespace sinew
