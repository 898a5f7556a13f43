#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sinew/core/math.h>
#include <sinew/fitting/edge_table.h>
#include <sinew/geometry/mesh.h>

namespace sinew {

/// The Reeb graph of a function on a surface: every piece of every level set is a point of it. Ties between
/// values are broken by vertex number.
struct ReebGraph {
  /// A vertex at which pieces of the level set begin, end, part or meet.
  struct Node {
    std::uint32_t vertex = 0;
    std::vector<std::uint32_t> lower;  ///< arcs that end here
    std::vector<std::uint32_t> upper;  ///< arcs that start here
  };
  struct Arc {
    std::uint32_t from = 0;               ///< node at its lower end
    std::uint32_t to = 0;                 ///< node at its upper end
    std::vector<std::uint32_t> vertices;  ///< in between, by value; may be empty
  };
  std::vector<Node> nodes;  ///< by value
  std::vector<Arc> arcs;
};

/// Sweeps the level from below and follows the pieces of the level set from vertex to vertex: the graph that
/// Pascucci et al. 2007 ("Robust on-line computation of Reeb graphs") build triangle by triangle, in which
/// most vertices cost only a look at their neighbours; that algorithm is this one's twin in tests/reference.
/// Any triangles will do: open, non-manifold, several components (each with a graph of its own). Triangles
/// that name a vertex twice are left out. `values` has one entry per vertex, finite.
ReebGraph reeb_graph(const MeshView& mesh, std::span<const double> values);

/// One piece of a level set.
struct Contour {
  Vec3d centre = Vec3d::Zero();  ///< of the curve, by length
  double length = 0;
  double radius = 0;  ///< of the circle with the area that the curve spans, or of its length if it is open
};

/// Traces pieces of level sets, for the places of arcs in space.
class ContourTracer {
 public:
  /// The mesh and the values must outlive the tracer.
  ContourTracer(const MeshView& mesh, std::span<const double> values);
  /// The piece of the level set at `level` that crosses an edge down from `vertex`, whose value is above the
  /// level while a neighbour's is not. Without such an edge: the vertex itself, without length.
  Contour trace(std::uint32_t vertex, double level);

 private:
  MeshView mesh_;
  std::span<const double> values_;
  EdgeTable edges_;
  std::vector<std::uint32_t> seen_;  // per edge, the round in which it was met
  std::uint32_t round_ = 0;
  std::vector<std::uint32_t> stack_;
};

}  // namespace sinew
