#pragma once

#include <cstdint>
#include <vector>

#include <sinew/core/math.h>
#include <sinew/fitting/ids.h>
#include <sinew/geometry/mesh.h>

namespace sinew {

/// The limbs of a mesh, or the chains of bones of a rig, as a tree with its root at the head (Poirier 2009,
/// §3.1.2). Positions in metres.
struct LimbGraph {
  static constexpr NodeId kHead{0};

  struct Node {
    Vec3d position = Vec3d::Zero();
    ArcId parent_arc;               ///< the arc that ends here; kNone for the head
    std::vector<ArcId> child_arcs;  ///< the arcs that start here
    /// Meshes: the saddle vertex at which the surface branches, such as the crotch. Elsewhere the same as
    /// `position`.
    Vec3d saddle = Vec3d::Zero();
  };
  struct Arc {
    NodeId from;  ///< nearer to the head
    NodeId to;
    /// The polyline from `from` to `to`. It does not include `from`'s position; `to`'s is its last.
    std::vector<Vec3d> points;
    /// Meshes: radius of the limb's cross-section at each point. Empty for rigs.
    std::vector<double> radii;

    bool operator==(const Arc&) const = default;
  };
  PerNode<Node> nodes;  ///< the head first; an arc's `from` stands before its `to`
  PerArc<Arc> arcs;

  /// All nodes but the head, parents first.
  IndexRange<NodeId> below_head() const { return nodes.ids(NodeId(1)); }
  /// kNone for the head.
  NodeId parent(NodeId node) const;
  bool is_leaf(NodeId node) const { return nodes[node].child_arcs.empty(); }
  /// Along its points, from `from`'s position on; metres.
  double length(ArcId arc) const;
  /// The nodes from `ancestor` (not included) down to `node`; empty when `ancestor` is not above it.
  std::vector<NodeId> path(NodeId ancestor, NodeId node) const;
};

/// Length of the path from the head to each node; metres.
PerNode<double> distances_from_head(const LimbGraph& graph);

/// All lengths are shares of the mesh's size (mesh_size()). Set by hand, on the built-in characters.
struct MeshGraphOptions {
  /// Limbs whose extremity is less prominent than this do not count.
  double prominence = 0.012;
  /// Distance between points of an arc …
  double spacing = 0.005;
  /// … of which there are at least and at most so many.
  int min_points = 4, max_points = 160;
};

/// Intermediate results of mesh_graph(), for pictures and tests.
struct MeshGraphReport {
  std::vector<double> values;  ///< the harmonic function, one per vertex
  std::size_t reeb_nodes = 0;
  /// Handles of the surface: each closes a loop of the Reeb graph, which is cut where the limb that closes it
  /// meets the rest.
  std::size_t cut_loops = 0;
};

/// The Reeb graph of the harmonic function from `head` to the extremities of the mesh, embedded: each point
/// of an arc is the centre of the limb's cross-section there, which is a component of a level set. The mesh
/// is connected; its triangles may be anything. `head` is one of its vertices.
LimbGraph mesh_graph(const MeshView& mesh, std::uint32_t head, const MeshGraphOptions& options = {},
                     MeshGraphReport* report = nullptr);

/// Diagonal of the box round all positions that triangles use.
double mesh_size(const MeshView& mesh);

}  // namespace sinew
