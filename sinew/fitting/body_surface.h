#pragma once

#include <cstdint>
#include <vector>

#include <sinew/geometry/mesh.h>

namespace sinew {

/// The one connected surface that a rig is fitted to: it shows a character's limbs.
struct BodySurface {
  std::vector<Vec3f> positions;
  std::vector<Triangle> triangles;
  std::size_t components = 0;  ///< connected components that the mesh has
  std::size_t used = 0;        ///< of them, in this surface
  bool wrapped = false;        ///< a new surface round several components, see body_surface()

  MeshView view() const { return {positions, triangles}; }
};

/// Poirier's graphs need one connected surface. Vertices in one place are merged (files split them at seams).
/// If the largest component, by area, is nearly as large in every direction as all of them together, it is
/// the body (others are eyes, buttons, stray faces). Else the character is made of several components (a
/// head, a shirt, gloves), and a new closed surface is wrapped round them: all points within a two-hundredth
/// of the mesh's size of the flesh. Throws Error for meshes without area.
BodySurface body_surface(const MeshView& mesh);

}  // namespace sinew
