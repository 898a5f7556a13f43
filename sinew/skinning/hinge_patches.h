#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <sinew/geometry/mesh.h>
#include <sinew/skinning/weights.h>

namespace sinew {

/// A joint as the surface sees it: where a binding meets the one that it turns against.
struct Hinge {
  std::string name;                ///< the joint's
  std::uint32_t binding = 0;       ///< number in the weights
  std::uint32_t parent = 0;        ///< another such number
  Vec3d position = Vec3d::Zero();  ///< of the joint, on the rest surface's side: in bind space
};

/// The skin of a limb round a hinge: of the triangles whose corners all lie within 1.5 limb radii of the
/// joint at rest, and have at least half of their weight on bindings below or above the hinge, the connected
/// piece with the largest area.
struct HingePatch {
  std::vector<std::uint32_t> vertices;  ///< of the surface, ascending; empty: the hinge has no patch
  std::vector<Triangle> triangles;      ///< by places in that list; facing outwards
  double reach = 0;                     ///< 1.5 limb radii
};

/// Those of all hinges. `weights` has one row per vertex of `rest`, `radius` is the limb's at each hinge; 0:
/// no patch.
std::vector<HingePatch> hinge_patches(const MeshView& rest, const SkinWeights& weights,
                                      std::span<const Hinge> hinges, std::span<const double> radius);

/// The vertices that say how thick the limb is at a hinge: the 24 nearest to it of those that its binding or
/// the one above moves and for which `known`, one entry per vertex or none, is not 0.
std::vector<std::vector<std::uint32_t>> vertices_nearest_to(const MeshView& rest, const SkinWeights& weights,
                                                            std::span<const Hinge> hinges,
                                                            std::span<const double> known);

}  // namespace sinew
