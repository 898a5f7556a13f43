#include <sinew/fitting/limb_graph.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <sinew/fitting/extremities.h>
#include <sinew/fitting/reeb_graph.h>

namespace sinew {

namespace {

/// Places arcs of the Reeb graph in space.
class Embedding {
 public:
  Embedding(const MeshView& mesh, std::span<const double> values, const ReebGraph& reeb, double spacing)
      : mesh_(mesh), values_(values), reeb_(reeb), tracer_(mesh, values), spacing_(spacing) {}

  void embed(const ReebGraph::Arc& source, const Vec3d& end, bool ends_in_tip, LimbGraph::Arc& arc) {
    const double low = values_[reeb_.nodes[source.from].vertex],
                 high = values_[reeb_.nodes[source.to].vertex];
    constexpr int kRough = 24;
    std::vector<double> levels, along{0};
    for (int k = 0; k < kRough; ++k) levels.push_back(low + (high - low) * (k + 0.5) / kRough);
    std::vector<Contour> contours = trace(source, levels);
    for (std::size_t k = 1; k < contours.size(); ++k)
      along.push_back(along.back() + (contours[k].centre - contours[k - 1].centre).norm());
    // Again, at even distances.
    const int count = std::clamp(static_cast<int>(along.back() / spacing_), 4, 160);
    std::vector<double> even;
    std::size_t place = 0;
    for (int k = 0; k < count; ++k) {
      const double wanted = along.back() * k / (count - 1);
      while (place + 2 < along.size() && along[place + 1] < wanted) ++place;
      const double step = along[place + 1] - along[place];
      const double share = step > 0 ? std::clamp((wanted - along[place]) / step, 0.0, 1.0) : 0;
      even.push_back(levels[place] + share * (levels[place + 1] - levels[place]));
    }
    contours = trace(source, even);
    for (const Contour& contour : contours) {
      arc.points.push_back(contour.centre);
      arc.radii.push_back(contour.radius);
    }
    arc.points.push_back(end);
    arc.radii.push_back(ends_in_tip ? 0 : arc.radii.back());
  }

  /// The centre of the limb just before it parts at the arc's upper end.
  Vec3d centre_at_end(const ReebGraph::Arc& source) {
    const double low = values_[reeb_.nodes[source.from].vertex],
                 high = values_[reeb_.nodes[source.to].vertex];
    return trace(source, {high - 0.01 * (high - low)})[0].centre;
  }

 private:
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
  double spacing_;
};

}  // namespace

double LimbGraph::length(int a) const {
  double length = 0;
  Vec3d last = node(arc(a).from).position;
  for (const Vec3d& point : arc(a).points) {
    length += (point - last).norm();
    last = point;
  }
  return length;
}

std::vector<int> LimbGraph::path(int ancestor, int n) const {
  std::vector<int> path;
  for (; n >= 0 && n != ancestor; n = node(n).arc >= 0 ? arc(node(n).arc).from : -1) path.push_back(n);
  if (n < 0) return {};
  std::reverse(path.begin(), path.end());
  return path;
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
  Embedding embedding(mesh, values, reeb, options.spacing * size);

  LimbGraph graph;
  const auto position = [&](std::uint32_t v) { return Vec3d(mesh.positions[v].cast<double>()); };
  std::vector<int> place(reeb.nodes.size(), -1);
  std::size_t cut = 0;
  for (std::size_t n = 0; n < reeb.nodes.size(); ++n)
    if (reeb.nodes[n].vertex == head) {
      place[n] = 0;
      graph.nodes.push_back({position(head), -1, {}, position(head)});
    }
  if (graph.nodes.empty()) graph.nodes.push_back({position(head), -1, {}, position(head)});
  // Nodes come by value, so that what lies below a node has its place already.
  for (std::size_t n = 0; n < reeb.nodes.size(); ++n) {
    const ReebGraph::Node& node = reeb.nodes[n];
    bool first = true;
    for (const std::uint32_t lower : node.lower) {
      const ReebGraph::Arc& source = reeb.arcs[lower];
      const int from = place[source.from];
      if (from < 0) continue;  // of a piece that does not hang together with the head
      const bool tip = node.upper.empty();
      cut += !first;
      const int to = static_cast<int>(graph.nodes.size());
      const Vec3d end = tip ? position(node.vertex) : embedding.centre_at_end(source);
      graph.nodes.push_back({end, static_cast<int>(graph.arcs.size()), {}, position(node.vertex)});
      graph.nodes[static_cast<std::size_t>(from)].arcs.push_back(static_cast<int>(graph.arcs.size()));
      graph.arcs.push_back({from, to, {}, {}});
      embedding.embed(source, end, tip, graph.arcs.back());
      // Where several arcs meet, a handle closes: the surface goes on from one of them, the others end.
      if (first) place[n] = to;
      first = false;
    }
  }
  if (report != nullptr) *report = {values, reeb.nodes.size(), cut};
  return graph;
}

}  // namespace sinew
