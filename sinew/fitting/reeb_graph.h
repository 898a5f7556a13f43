#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sinew/core/math.h>
#include <sinew/fitting/edge_table.h>
#include <sinew/fitting/ids.h>
#include <sinew/geometry/mesh.h>

namespace sinew {

/// The Reeb graph of a function on a surface: every connected component of every level set is a point of it.
/// Ties between values are broken by vertex index.
struct ReebGraph {
  /// A critical vertex: components of the level set appear, vanish, split or merge there.
  struct Node {
    std::uint32_t vertex = 0;
    std::vector<ReebArcId> lower;  ///< arcs that end here
    std::vector<ReebArcId> upper;  ///< arcs that start here
  };
  struct Arc {
    ReebNodeId from;                      ///< at its lower end
    ReebNodeId to;                        ///< at its upper end
    std::vector<std::uint32_t> vertices;  ///< in between, sorted by value; may be empty
  };
  IndexedVector<ReebNodeId, Node> nodes;  ///< sorted by value
  IndexedVector<ReebArcId, Arc> arcs;
};

/// Sweeps the level upwards and follows the components of the level set from vertex to vertex. The result is
/// the graph that Pascucci et al. 2007 ("Robust on-line computation of Reeb graphs") build triangle by
/// triangle, but most vertices cost only a look at their neighbours. Their algorithm is this one's twin in
/// tests/reference. Any triangles will do: open, non-manifold, several components (each with a graph of its
/// own). Triangles that name a vertex twice are left out. `values` has one entry per vertex, finite.
ReebGraph reeb_graph(const MeshView& mesh, std::span<const double> values);

/// A connected component of a level set.
struct Contour {
  Vec3d centre = Vec3d::Zero();  ///< of the curve, by length
  double length = 0;
  double radius = 0;  ///< of the circle with the same area, or the same length if the curve is open
};

/// Traces components of level sets, to embed arcs in space.
class ContourTracer {
 public:
  /// The mesh and the values must outlive the tracer.
  ContourTracer(const MeshView& mesh, std::span<const double> values);
  /// The component of the level set at `level` that crosses an edge from `vertex`, whose value is above the
  /// level, to a neighbour whose value is not. Without such an edge: the vertex itself, without length.
  Contour trace(std::uint32_t vertex, double level);

 private:
  MeshView mesh_;
  std::span<const double> values_;
  EdgeTable edges_;
  std::vector<std::uint32_t> visited_in_;  // per edge, the last pass that visited it
  std::uint32_t pass_ = 0;
  std::vector<std::uint32_t> open_;
};

}  // namespace sinew
