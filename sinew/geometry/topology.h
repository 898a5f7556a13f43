#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>

namespace sinew {

/// Which vertices and triangles hang together. Two triangles do when they share a vertex. Components are
/// numbered in the order of their first vertices; a vertex without triangles is a component of its own.
struct Components {
  std::size_t count = 0;
  std::vector<std::uint32_t> of_vertex;
  std::vector<std::uint32_t> of_triangle;
};
Components connected_components(std::size_t vertex_count, std::span<const Triangle> triangles);

/// A part of the surface's border.
struct BoundaryLoop {
  /// Each vertex once, in the direction of the triangles along the border (the surface lies to the left).
  std::vector<std::uint32_t> vertices;
  /// The last vertex joins the first. False only where borders end at a non-manifold edge.
  bool closed = true;
};

/// The borders of the surface: edges with exactly one triangle, joined to loops that visit no vertex twice.
/// Triangles with two equal corners are left out; the same triangle twice counts once. Every border edge is
/// in exactly one loop, whatever the triangles look like.
std::vector<BoundaryLoop> boundary_loops(std::span<const Triangle> triangles);

/// What a user should know about a mesh before anything is computed on it.
struct TopologyReport {
  std::size_t vertices = 0;
  std::size_t isolated_vertices = 0;      ///< in no triangle
  std::size_t non_manifold_vertices = 0;  ///< their triangles do not form one fan that faces one side
  std::size_t triangles = 0;
  /// Two corners name one vertex; left out of all counts of edges.
  std::size_t repeated_corner_triangles = 0;
  std::size_t zero_area_triangles = 0;  ///< corners exactly on a line, the repeated ones included
  std::size_t duplicate_triangles = 0;  ///< the same three vertices as an earlier one, in any order
  std::size_t edges = 0;
  std::size_t boundary_edges = 0;      ///< one triangle
  std::size_t non_manifold_edges = 0;  ///< three or more triangles
  std::size_t flipped_edges = 0;       ///< two triangles that run the same way: one faces the wrong side
  std::size_t boundary_loops = 0;
  std::size_t components = 0;  ///< without isolated vertices

  /// Every edge has two triangles that agree on which side is out.
  bool watertight() const {
    return triangles > 0 && boundary_edges == 0 && non_manifold_edges == 0 && flipped_edges == 0;
  }
};
TopologyReport inspect_topology(const MeshView& mesh);

}  // namespace sinew
