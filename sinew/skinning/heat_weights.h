#pragma once

#include <span>

#include <sinew/geometry/mesh.h>
#include <sinew/geometry/oriented_surface.h>
#include <sinew/skeleton/bones.h>
#include <sinew/skinning/weights.h>

namespace sinew {

struct HeatOptions {
  /// Every weight is raised to this power before rows are scaled to sum 1. Heat alone (1) has tails that
  /// reach far past a joint; artists' weights do not. In [1, 8].
  double sharpness = 2;
};

/// What the heat had to find its way around. Counts are of vertices, but for components.
struct HeatReport {
  std::size_t components = 0;          ///< pieces of surface that hang together, stray vertices included
  std::size_t blind_vertices = 0;      ///< something stands between them and their bone
  std::size_t linked_components = 0;   ///< see no bone, and follow the surface they sit on …
  std::size_t linked_vertices = 0;     ///< … with so many vertices
  std::size_t stray_vertices = 0;      ///< in no triangle
  std::size_t outside_bones = 0;       ///< lie outside of the surface for the most part
  std::size_t repaired_triangles = 0;  ///< with a repeated corner, or the same twice: left out
  std::size_t non_manifold_edges = 0;
  std::size_t boundary_edges = 0;
  std::size_t flipped_edges = 0;  ///< between triangles that face opposite sides
};

/// Weights by heat diffusion (Baran & Popović 2007, §4; Vaillant 2015, §2.2): each bone is hot, warms the
/// skin nearest to it, and the warmth w_i of bone i spreads over the skin until it is steady:
/// (L + M H) w_i = M H p_i, with the Laplacian L, the areas M, H = k c / d² on the diagonal, c = 1, d the
/// distance to the nearest bone, k the number of equally near ones and p_i = 1/k for those, 0 for others. One
/// factorisation serves all bones.
///
/// Where it departs from the paper, so that it never fails:
/// - L is that of the tufted intrinsic Delaunay triangulation (geometry/intrinsic_laplacian.h), which exists
///   for any triangles and keeps every weight within 0 and 1.
/// - "Nearest" is a matter of degree (skinning/heat_sources.h), so every vertex has some bone and no piece of
///   surface makes the system singular.
/// - Pieces of surface most of which see no bone (eyes, teeth, buttons, clothes) follow the nearest surface
///   that does: (L + M / d²) w_i = M / d² s_i with the distance d to it and its weights s_i there, unless
///   they are nearer to a bone. So small pieces move almost rigidly and wide ones like what they lie on.
/// - Pieces that see bones take heat from those alone, so that limbs which are pieces of their own stay
/// apart.
/// - Rows are sharpened at the end, see HeatOptions.
///
/// Rows are whole, heaviest first, and sum to 1; heat below a thousandth (less where there are over
/// a hundred joints) is dropped before rows are sharpened. Joint numbers are
/// Bone::joint. There is at least one bone; positions and bones are finite. `oriented` is of the surface, for
/// callers that have it already.
SkinWeights heat_weights(const MeshView& surface, std::span<const Bone> bones,
                         const HeatOptions& options = {}, HeatReport* report = nullptr,
                         const OrientedSurface* oriented = nullptr);

}  // namespace sinew
