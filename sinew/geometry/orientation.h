#pragma once

#include <cstdint>
#include <vector>

#include <sinew/geometry/mesh.h>
#include <sinew/geometry/ray_query.h>

namespace sinew {

/// Per triangle, 1 where it must be reversed so that the surface faces outwards. Triangles that share an edge
/// with exactly one other agree with it; what hangs together so faces the way in which it encloses volume, as
/// seen from its middle, or the way most of its area faced where it is flat. So files whose triangles are
/// wound at random, or all the wrong way round, come out right, and open parts mostly do. Moebius strips stay
/// inconsistent somewhere. Triangles with repeated corners are 0. Positions must be finite.
std::vector<std::uint8_t> outward_reversals(const MeshView& mesh);

/// One area-weighted unit normal per vertex, of the triangles as outward_reversals() turns them; zero where a
/// vertex has no triangle with area, or they cancel out.
std::vector<Vec3d> outward_normals(const MeshView& mesh, const std::vector<std::uint8_t>& reversals);

/// A surface with its inside known, for rays: what binding asks again and again, made once.
struct OrientedSurface {
  SurfaceQuery query;
  std::vector<std::uint8_t> reversed;  ///< outward_reversals()

  /// Copies what it needs of the mesh. Throws Error when a position that a triangle uses is not finite.
  explicit OrientedSurface(const MeshView& mesh) : query(mesh), reversed(outward_reversals(mesh)) {}

  /// Whether a ray that made this hit leaves the flesh there.
  bool leaves(const RayHit& hit) const { return hit.from_front == (reversed[hit.triangle] != 0); }
};

}  // namespace sinew
