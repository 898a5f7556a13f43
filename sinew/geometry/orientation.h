#pragma once

#include <cstdint>
#include <vector>

#include <sinew/geometry/mesh.h>
#include <sinew/geometry/ray_query.h>

namespace sinew {

/// Which way round triangles must go for a surface to face outwards.
struct Orientation {
  std::vector<std::uint8_t> reversed;  ///< per triangle, 1 where it must be reversed
  /// Per triangle, 1 where it belongs to a patch from which no ray gets out on either side: walls inside of
  /// the flesh, the inner one of two skins.
  std::vector<std::uint8_t> interior;
  std::size_t patches = 0;  ///< pieces that hang together by edges of exactly two triangles
  bool closed = false;      ///< every edge has exactly two triangles
};

/// Triangles that share an edge with exactly one other are made to agree with it. What hangs together so, a
/// patch, is one closed surface, and faces the way in which it encloses volume; or there are several, and
/// each faces the side from which more of some rays get out, as in Takayama et al. 2014, "A simple method for
/// correcting facet orientations in polygon meshes based on ray casting". Where that does not tell, it is
/// the way in which it encloses volume seen from its middle, or the way most of its area faced where it is
/// flat. So files whose triangles are wound at random, or all the wrong way round, come out right, and open
/// parts mostly do. Moebius strips stay inconsistent somewhere. Triangles with repeated corners do not count.
/// Positions must be finite; `query` is of the mesh. Same bits for any number of threads.
Orientation find_orientation(const MeshView& mesh, const SurfaceQuery& query);

/// One area-weighted unit normal per vertex, of the triangles as find_orientation() turns them, without
/// interior ones where there are others; zero where a vertex has no triangle with area, or they cancel out.
std::vector<Vec3d> outward_normals(const MeshView& mesh, const Orientation& orientation);

}  // namespace sinew
