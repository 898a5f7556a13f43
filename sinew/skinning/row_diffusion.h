#pragma once

#include <cstdint>
#include <span>

#include <sinew/geometry/mesh.h>
#include <sinew/geometry/topology.h>
#include <sinew/skinning/weights.h>

namespace sinew {

/// What weights diffuse over in one piece: as connected_components(), without triangles that name a vertex
/// twice.
Components connected_parts(const MeshView& surface);

/// Rows for vertices that have none, from those that have: each joint's weight is harmonic on the surface
/// between the vertices with known[v] != 0, whose rows stay as they are. So filled weights lie between those
/// round them, and rows sum to 1 when the known ones do. Rows of vertices in parts without a known row, or
/// with empty ones only, come out empty. Weights below a millionth are dropped. `weights` and `known` have
/// one entry per vertex, positions are finite. Same bits for any number of threads.
SkinWeights fill_rows(const MeshView& surface, const SkinWeights& weights,
                      std::span<const std::uint8_t> known);

}  // namespace sinew
