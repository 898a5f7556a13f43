#pragma once

#include <cstddef>
#include <vector>

#include <sinew/geometry/mesh.h>

namespace sinew::test {

struct DecimatedMesh {
  std::vector<Vec3f> positions;
  std::vector<Triangle> triangles;
  std::vector<int> source;  ///< per vertex, its number before: no vertex moves
};

/// A coarse version of a closed manifold surface that is closed and manifold, too, of `triangles` triangles
/// or one less; more where no edge is left that can go. Edges collapse into one of their ends, those that
/// change the shape the least first (Garland and Heckbert's quadrics).
DecimatedMesh decimate(const MeshView& mesh, std::size_t triangles);

}  // namespace sinew::test
