#pragma once

#include <cstdint>
#include <vector>

#include <sinew/geometry/mesh.h>

namespace sinew {

/// The one surface in which a rig is to be: what hangs together and shows a character's limbs.
struct BodySurface {
  std::vector<Vec3f> positions;
  std::vector<Triangle> triangles;
  std::size_t components = 0;  ///< pieces that the mesh has
  std::size_t used = 0;        ///< of them, in this surface
  bool wrapped = false;        ///< made anew round several pieces, see body_surface()

  MeshView view() const { return {positions, triangles}; }
};

/// Poirier's graphs need one connected surface. Vertices at one place are one (files split them at seams). If
/// the largest piece, by area, reaches nearly as far as all of them do, it is the body (others are eyes,
/// buttons, stray faces). Else the character is made of several pieces (a head, a shirt, gloves), and a new
/// closed surface is wrapped round them: all points within a two-hundredth of the mesh's size of the flesh.
/// Throws Error for meshes without area.
BodySurface body_surface(const MeshView& mesh);

}  // namespace sinew
