#pragma once

#include <cstdint>
#include <span>

#include <sinew/scene/scene.h>

namespace sinew {

/// The mesh with some triangles halved, `levels[t]` times for triangle t of its surface (and as often for
/// their neighbours as butterfly.h needs). The file's vertices, UVs and normals come first and in their
/// order, new ones after them. New positions, morph displacements and skin weights are the modified
/// butterfly's, over the surface as it hangs together across UV seams, but for ripples of more than a
/// fiftieth of an edge, which its normals do not bear out; UVs, normals and attributes are those halfway
/// along the edge. Polygons of which no triangle changes stay as they are, others become triangles. Edges at
/// which the file's normals turn by more than 30° stay creases.
///
/// `levels` has one entry per triangle, at most kMostRefinement; the mesh must pass check_scene.
SceneMesh refine_mesh(const SceneMesh& mesh, std::span<const std::uint8_t> levels, float weld_tolerance = 0);

inline constexpr int kMostRefinement = 4;

}  // namespace sinew
