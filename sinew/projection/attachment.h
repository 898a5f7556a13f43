#pragma once

#include <span>
#include <vector>

#include <sinew/contact/contact_params.h>
#include <sinew/geometry/mesh.h>
#include <sinew/geometry/triangle_tree.h>
#include <sinew/implicit/field_set.h>
#include <sinew/skinning/weights.h>

namespace sinew {

/// Where, at rest, the ray of each vertex begins: Σ w_i (nearest point of bone i), kept away from the bones'
/// ends and on this side of whatever skin lies between. Posed by the vertex's
/// weights (linearly) it stays inside the flesh that the vertex belongs to, so that what a pose pushes into
/// other flesh can retreat towards it. Vertices without a bone begin where they are. `tree` is over the
/// closed surface (ClosedSurface), whose triangles and positions are `closed_triangles` and `closed`; those
/// of `rest` come first.
std::vector<Vec3f> ray_origins(const MeshView& rest, const SkinWeights& weights, const FieldSet& fields,
                               const TriangleTree& tree, std::span<const Triangle> closed_triangles,
                               std::span<const Vec3f> closed, const ContactParams& params);

}  // namespace sinew
