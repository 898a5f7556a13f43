#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <sinew/geometry/mesh.h>

// What goes wrong with meshes on their way from a modeller to a file, done on purpose.
namespace sinew::test {

/// A surface whose vertices know where they come from.
struct TracedMesh {
  std::vector<Vec3f> positions;
  std::vector<Triangle> triangles;
  std::vector<int> source;  ///< per vertex: the vertex of the whole mesh that it is, or -1 where it was added
  std::vector<int> anchor;  ///< per vertex: its source, or the vertex of the whole mesh it sits on; -1: none
  Affine3d placement = Affine3d::Identity();  ///< what has to be done to the bones, too

  MeshView view() const { return {positions, triangles}; }
};

/// Every vertex is its own source.
TracedMesh traced(const MeshView& whole);

/// Without the triangles in front of the plane through `point`, and without the vertices only they used.
TracedMesh cut_open(const TracedMesh& mesh, const Vec3f& point, const Vec3f& normal);

/// Opened along the plane: vertices that have triangles on both sides of it (by their middles) double.
TracedMesh slit(const TracedMesh& mesh, const Vec3f& point, const Vec3f& normal);

/// Every triangle a second time, with the same vertices.
TracedMesh listed_twice(const TracedMesh& mesh);

/// A second sheet in the same place, with its own vertices.
TracedMesh glued_double(const TracedMesh& mesh);

/// About that share of the triangles faces the wrong side; 1 turns all inside out.
TracedMesh flipped_faces(const TracedMesh& mesh, double share, std::uint32_t seed);

/// About that share of the edges gets an own vertex in its middle, on one of its sides only.
TracedMesh t_junctions(const TracedMesh& mesh, double share, std::uint32_t seed);

/// Walls across the inside where `planes` planes per axis cut the surface. They use its vertices, so that
/// edges have three triangles and more.
TracedMesh internal_faces(const TracedMesh& mesh, int planes);

/// Small pieces: tetrahedra, buttons, single triangles and vertices without any. Half sit on the surface, the
/// others hover above it, hide inside or float away (those have no anchor).
TracedMesh islands(const TracedMesh& mesh, int count, std::uint32_t seed);

/// Triangles without area: repeated corners, corners on a line, slivers between vertices in one place.
TracedMesh zero_area_faces(const TracedMesh& mesh, double share, std::uint32_t seed);

/// About that share of the vertices doubles; their triangles take one or the other at random.
TracedMesh duplicate_vertices(const TracedMesh& mesh, double share, std::uint32_t seed);

/// The same surface with vertices, triangles and the triangles' first corners in another order.
TracedMesh renumbered(const TracedMesh& mesh, std::uint32_t seed);

/// Turned about an axis through the origin by `angle` (radians), the bones, too.
TracedMesh turned(const TracedMesh& mesh, double angle, const Vec3d& axis);

/// x ↦ scale · x + shift, the bones, too.
TracedMesh placed(const TracedMesh& mesh, double scale, const Vec3d& shift = Vec3d::Zero());

/// Every coordinate off by up to `amount` times the diagonal of the mesh's box.
TracedMesh noisy(const TracedMesh& mesh, double amount, std::uint32_t seed);

/// A copy of the part in front of the plane, `distance` outside of it: cloth.
TracedMesh clothed(const TracedMesh& mesh, const Vec3f& point, const Vec3f& normal, float distance);

/// Every triangle has its own three vertices.
TracedMesh unwelded(const TracedMesh& mesh);

/// Vertices in the same place made one (geometry/weld.h), with the first one's source.
TracedMesh welded(const TracedMesh& mesh);

/// The middle of the box round all vertices, and its diagonal's length.
Vec3f middle_of(const TracedMesh& mesh);
float size_of(const TracedMesh& mesh);

/// An entry of the list of damages. The same mesh gives the same damage every time.
struct Damage {
  std::string_view name;
  TracedMesh (*apply)(const TracedMesh& whole);
};
/// All of the above with the amounts tests use, and some together. The whole mesh must be closed and
/// manifold, with at least 200 triangles.
std::span<const Damage> damages();

}  // namespace sinew::test
