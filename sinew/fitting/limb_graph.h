#pragma once

#include <cstdint>
#include <vector>

#include <sinew/core/math.h>
#include <sinew/geometry/mesh.h>

namespace sinew {

/// The limbs of a mesh, or the chains of a rig, as a tree that starts at the head (Poirier 2009, §3.1.2).
/// Positions in metres.
struct LimbGraph {
  struct Node {
    Vec3d position = Vec3d::Zero();
    int arc = -1;           ///< the arc that ends here; -1 for the head
    std::vector<int> arcs;  ///< the arcs that start here
    /// Meshes: where the skin parts, such as the crotch. Elsewhere the same as `position`.
    Vec3d saddle = Vec3d::Zero();
  };
  struct Arc {
    int from = -1;  ///< nearer to the head
    int to = -1;
    /// The way from `from` to `to`; `from`'s position is not in it, `to`'s is its last.
    std::vector<Vec3d> points;
    /// Meshes: thickness of the limb at each point. Empty for rigs.
    std::vector<double> radii;

    bool operator==(const Arc&) const = default;
  };
  std::vector<Node> nodes;  ///< the head first; an arc's `from` stands before its `to`
  std::vector<Arc> arcs;

  const Node& node(int n) const { return nodes[static_cast<std::size_t>(n)]; }
  const Arc& arc(int a) const { return arcs[static_cast<std::size_t>(a)]; }
  /// Along its points, from `from`'s position on; metres.
  double length(int a) const;
  /// The nodes from `ancestor` (not included) down to `node`; empty when `ancestor` is not above it.
  std::vector<int> path(int ancestor, int node) const;
  bool is_leaf(int n) const { return node(n).arcs.empty(); }
};

struct MeshGraphOptions {
  /// Limbs that stand out by less than this share of the mesh's size do not count.
  double prominence = 0.012;
  /// Distance between points of an arc, as a share of the mesh's size; arcs have 4 to 160 points.
  double spacing = 0.005;
};

/// What mesh_graph() made on its way, for pictures and tests.
struct MeshGraphReport {
  std::vector<double> values;  ///< the harmonic function, one per vertex
  std::size_t reeb_nodes = 0;
  std::size_t cut_loops =
      0;  ///< handles of the surface: the limb that closes each was cut where it meets the rest
};

/// The Reeb graph of the harmonic function from `head` to the extremities of the mesh, embedded: each point
/// of an arc is the centre of the limb's cross-section there, which is a piece of a level set. The mesh hangs
/// together; its triangles may be anything. `head` is one of its vertices.
LimbGraph mesh_graph(const MeshView& mesh, std::uint32_t head, const MeshGraphOptions& options = {},
                     MeshGraphReport* report = nullptr);

/// Diagonal of the box round all positions that triangles use.
double mesh_size(const MeshView& mesh);

}  // namespace sinew
