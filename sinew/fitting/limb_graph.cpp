#include <sinew/fitting/limb_graph.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <sinew/fitting/extremities.h>
#include <sinew/fitting/reeb_graph.h>

namespace sinew {

namespace {

/// How many level sets measure an arc's length before its points are spaced evenly. By hand, on the built-in
/// characters.
constexpr int kMeasuringLevels = 24;
/// How far below an arc's upper end its last centre is measured, as a share of its range of values: at the
/// end itself the level set touches its neighbour. By hand.
constexpr double kBeforeEnd = 0.01;

/// Gives arcs of the Reeb graph their positions in space.
class ReebEmbedding {
 public:
  ReebEmbedding(const MeshView& mesh, std::span<const double> values, const ReebGraph& reeb,
                const MeshGraphOptions& options, double spacing)
      : mesh_(mesh),
        values_(values),
        reeb_(reeb),
        tracer_(mesh, values),
        options_(options),
        spacing_(spacing) {}

  void embed(const ReebGraph::Arc& source, const Vec3d& end, bool ends_in_tip, LimbGraph::Arc& arc) {
    const double low = value_at(source.from), high = value_at(source.to);
    std::vector<double> levels, along{0};
    for (int k = 0; k < kMeasuringLevels; ++k)
      levels.push_back(low + (high - low) * (k + 0.5) / kMeasuringLevels);
    std::vector<Contour> contours = trace(source, levels);
    for (std::size_t k = 1; k < contours.size(); ++k)
      along.push_back(along.back() + (contours[k].centre - contours[k - 1].centre).norm());
    // Again, at even distances.
    const int count =
        std::clamp(static_cast<int>(along.back() / spacing_), options_.min_points, options_.max_points);
    std::vector<double> even;
    std::size_t segment = 0;
    for (int k = 0; k < count; ++k) {
      const double wanted = along.back() * k / (count - 1);
      while (segment + 2 < along.size() && along[segment + 1] < wanted) ++segment;
      const double step = along[segment + 1] - along[segment];
      const double share = step > 0 ? std::clamp((wanted - along[segment]) / step, 0.0, 1.0) : 0;
      even.push_back(levels[segment] + share * (levels[segment + 1] - levels[segment]));
    }
    contours = trace(source, even);
    for (const Contour& contour : contours) {
      arc.points.push_back(contour.centre);
      arc.radii.push_back(contour.radius);
    }
    arc.points.push_back(end);
    arc.radii.push_back(ends_in_tip ? 0 : arc.radii.back());
  }

  /// The centre of the limb just before it branches at the arc's upper end.
  Vec3d centre_at_end(const ReebGraph::Arc& source) {
    const double low = value_at(source.from), high = value_at(source.to);
    return trace(source, {high - kBeforeEnd * (high - low)})[0].centre;
  }

 private:
  double value_at(ReebNodeId node) const { return values_[reeb_.nodes[node].vertex]; }

  std::vector<Contour> trace(const ReebGraph::Arc& source, const std::vector<double>& levels) {
    std::vector<Contour> contours;
    for (const double level : levels) {
      const auto above =
          std::upper_bound(source.vertices.begin(), source.vertices.end(), level,
                           [&](double value, std::uint32_t vertex) { return value < values_[vertex]; });
      contours.push_back(
          tracer_.trace(above == source.vertices.end() ? reeb_.nodes[source.to].vertex : *above, level));
    }
    return contours;
  }

  MeshView mesh_;
  std::span<const double> values_;
  const ReebGraph& reeb_;
  ContourTracer tracer_;
  const MeshGraphOptions& options_;
  double spacing_;
};

}  // namespace

NodeId LimbGraph::parent(NodeId node) const {
  const ArcId arc = nodes[node].parent_arc;
  return arc.valid() ? arcs[arc].from : NodeId::kNone;
}

double LimbGraph::length(ArcId arc) const {
  double length = 0;
  Vec3d last = nodes[arcs[arc].from].position;
  for (const Vec3d& point : arcs[arc].points) {
    length += (point - last).norm();
    last = point;
  }
  return length;
}

std::vector<NodeId> LimbGraph::path(NodeId ancestor, NodeId node) const {
  std::vector<NodeId> path;
  for (; node.valid() && node != ancestor; node = parent(node)) path.push_back(node);
  if (!node.valid()) return {};
  std::reverse(path.begin(), path.end());
  return path;
}

PerNode<double> distances_from_head(const LimbGraph& graph) {
  PerNode<double> distances(graph.nodes.size(), 0);
  for (const NodeId n : graph.below_head())
    distances[n] = distances[graph.parent(n)] + graph.length(graph.nodes[n].parent_arc);
  return distances;
}

double mesh_size(const MeshView& mesh) {
  Eigen::AlignedBox3d box;
  for (const Triangle& triangle : mesh.triangles)
    for (const std::uint32_t v : triangle) box.extend(mesh.positions[v].cast<double>());
  return box.isEmpty() ? 0 : box.diagonal().norm();
}

LimbGraph mesh_graph(const MeshView& mesh, std::uint32_t head, const MeshGraphOptions& options,
                     MeshGraphReport* report) {
  const double size = mesh_size(mesh);
  const std::vector<double> distances = edge_distances(mesh, std::span(&head, 1));
  const std::vector<double> values =
      harmonic_function(mesh, head, find_extremities(mesh, distances, options.prominence * size));
  const ReebGraph reeb = reeb_graph(mesh, values);
  ReebEmbedding embedding(mesh, values, reeb, options, options.spacing * size);

  LimbGraph graph;
  const auto position = [&](std::uint32_t v) { return Vec3d(mesh.positions[v].cast<double>()); };
  IndexedVector<ReebNodeId, NodeId> node_of(reeb.nodes.size());
  std::size_t cut = 0;
  graph.nodes.push_back({position(head), ArcId::kNone, {}, position(head)});
  for (const ReebNodeId n : reeb.nodes.ids())
    if (reeb.nodes[n].vertex == head) node_of[n] = LimbGraph::kHead;
  // Nodes are sorted by value, so that those below a node are known already.
  for (const ReebNodeId n : reeb.nodes.ids()) {
    const ReebGraph::Node& node = reeb.nodes[n];
    bool first = true;
    for (const ReebArcId lower : node.lower) {
      const ReebGraph::Arc& source = reeb.arcs[lower];
      const NodeId from = node_of[source.from];
      if (!from.valid()) continue;  // of a component without the head
      const bool tip = node.upper.empty();
      cut += !first;
      const Vec3d end = tip ? position(node.vertex) : embedding.centre_at_end(source);
      const NodeId to = graph.nodes.push_back({end, graph.arcs.next_id(), {}, position(node.vertex)});
      graph.nodes[from].child_arcs.push_back(graph.arcs.next_id());
      graph.arcs.push_back({from, to, {}, {}});
      embedding.embed(source, end, tip, graph.arcs.back());
      // Where several arcs meet, a handle closes: the surface goes on from one of them, the others end.
      if (first) node_of[n] = to;
      first = false;
    }
  }
  if (report != nullptr) *report = {values, reeb.nodes.size(), cut};
  return graph;
}

}  // namespace sinew
