#include <sinew/fitting/reeb_graph.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace sinew {

namespace {

/// The sweep. At a level just above a vertex, edges with one end at or below it and the other above it cross
/// the level; two of them are connected when they share a triangle.
class LevelSetSweep {
 public:
  LevelSetSweep(const MeshView& mesh, std::span<const double> values)
      : mesh_(mesh), edges_(mesh.positions.size(), mesh.triangles), rank_(mesh.positions.size()) {
    order_.resize(mesh.positions.size());
    std::iota(order_.begin(), order_.end(), 0u);
    std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return values[a] != values[b] ? values[a] < values[b] : a < b;
    });
    for (std::uint32_t r = 0; r < order_.size(); ++r) rank_[order_[r]] = r;
    arc_of_edge_.assign(edges_.size(), ReebArcId::kNone);
    visited_in_.assign(edges_.size(), 0);
  }

  ReebGraph run() {
    for (const std::uint32_t v : order_)
      if (!edges_.edges(v).empty()) sweep_over(v);
    return std::move(graph_);
  }

 private:
  void sweep_over(std::uint32_t v) {
    lower_.clear();
    upper_.clear();
    below_.clear();
    for (const std::uint32_t e : edges_.edges(v))
      (rank_[edges_.other(e, v)] < rank_[v] ? lower_ : upper_).push_back(e);
    for (const std::uint32_t e : lower_) below_.push_back(arc_of_edge_[e]);
    std::sort(below_.begin(), below_.end());
    below_.erase(std::unique(below_.begin(), below_.end()), below_.end());
    if (below_.size() == 1 && !upper_.empty() && is_regular(v)) {
      for (const std::uint32_t e : upper_) arc_of_edge_[e] = below_[0];
      graph_.arcs[below_[0]].vertices.push_back(v);
      return;
    }
    // Components of the level set above the vertex: all that is left of those below has an edge there.
    ++pass_;
    components_.clear();
    for (const std::uint32_t e : upper_)
      if (visited_in_[e] != pass_) components_.push_back(flood(e, v));
    if (below_.size() == 1 && components_.size() == 1) {
      for (const std::uint32_t e : components_[0]) arc_of_edge_[e] = below_[0];
      graph_.arcs[below_[0]].vertices.push_back(v);
      return;
    }
    const ReebNodeId node = graph_.nodes.push_back({v, below_, {}});
    for (const ReebArcId arc : below_) graph_.arcs[arc].to = node;
    for (const std::vector<std::uint32_t>& component : components_) {
      const ReebArcId arc = graph_.arcs.push_back({node, node, {}});
      graph_.nodes[node].upper.push_back(arc);
      for (const std::uint32_t e : component) arc_of_edge_[e] = arc;
    }
  }

  /// A regular vertex: its neighbours form one closed ring with one run of lower and one of upper ones, so
  /// the level set's component stays one. Such a ring has exactly two triangles with a lower and an upper
  /// neighbour.
  bool is_regular(std::uint32_t v) const {
    std::size_t crossing = 0, triangles = 0;
    for (const std::uint32_t e : edges_.edges(v)) {
      if (edges_.triangles(e).size() != 2) return false;
      triangles += 2;
      const bool low = rank_[edges_.other(e, v)] < rank_[v];
      if (!low) continue;
      for (const std::uint32_t t : edges_.triangles(e))
        for (const std::uint32_t w : mesh_.triangles[t])
          if (w != v && rank_[w] > rank_[v]) ++crossing;
    }
    if (crossing != 2) return false;
    // One ring: walking round comes back after all triangles.
    const std::uint32_t start = edges_.edges(v)[0];
    std::uint32_t edge = start, triangle = edges_.triangles(start)[0];
    std::size_t walked = 0;
    do {
      std::uint32_t next = EdgeTable::kNone;
      for (const std::uint32_t e : edges_.edges_of_triangle[triangle])
        if (e != edge && (edges_.ends[e][0] == v || edges_.ends[e][1] == v)) next = e;
      if (next == EdgeTable::kNone || ++walked > triangles) return false;
      const auto pair = edges_.triangles(next);
      triangle = pair[0] == triangle ? pair[1] : pair[0];
      edge = next;
    } while (edge != start);
    return walked == edges_.edges(v).size();
  }

  /// All edges that cross the level just above `v` and are connected with `start`.
  std::vector<std::uint32_t> flood(std::uint32_t start, std::uint32_t v) {
    const std::uint32_t level = rank_[v];
    std::vector<std::uint32_t> component{start};
    visited_in_[start] = pass_;
    for (std::size_t next = 0; next < component.size(); ++next)
      for (const std::uint32_t t : edges_.triangles(component[next]))
        for (const std::uint32_t e : edges_.edges_of_triangle[t]) {
          if (visited_in_[e] == pass_) continue;
          const bool a = rank_[edges_.ends[e][0]] <= level, b = rank_[edges_.ends[e][1]] <= level;
          if (a == b) continue;
          visited_in_[e] = pass_;
          component.push_back(e);
        }
    return component;
  }

  MeshView mesh_;
  EdgeTable edges_;
  std::vector<std::uint32_t> order_, rank_;
  std::vector<ReebArcId> arc_of_edge_;     // of edges that cross the level
  std::vector<std::uint32_t> visited_in_;  // per edge, the last pass that visited it
  std::uint32_t pass_ = 0;
  std::vector<std::uint32_t> lower_, upper_;  // edges at the vertex
  std::vector<ReebArcId> below_;              // arcs that reach it
  std::vector<std::vector<std::uint32_t>> components_;
  ReebGraph graph_;
};

}  // namespace

ReebGraph reeb_graph(const MeshView& mesh, std::span<const double> values) {
  return LevelSetSweep(mesh, values).run();
}

ContourTracer::ContourTracer(const MeshView& mesh, std::span<const double> values)
    : mesh_(mesh),
      values_(values),
      edges_(mesh.positions.size(), mesh.triangles),
      visited_in_(edges_.size(), 0) {}

Contour ContourTracer::trace(std::uint32_t vertex, double level) {
  ++pass_;
  open_.clear();
  for (const std::uint32_t e : edges_.edges(vertex))
    if (values_[edges_.other(e, vertex)] <= level && values_[vertex] > level) {
      open_.push_back(e);
      visited_in_[e] = pass_;
      break;
    }
  Contour contour;
  contour.centre = mesh_.positions[vertex].cast<double>();
  if (open_.empty()) return contour;
  const auto crossing = [&](std::uint32_t e) {
    const auto [a, b] = edges_.ends[e];
    const double share = (level - values_[a]) / (values_[b] - values_[a]);
    return Vec3d(mesh_.positions[a].cast<double>() +
                 share * (mesh_.positions[b] - mesh_.positions[a]).cast<double>());
  };
  const Vec3d origin = crossing(open_[0]);  // near the curve, for sums without cancellation
  Vec3d moment = Vec3d::Zero(), area = Vec3d::Zero();
  bool open = false;
  for (std::size_t next = 0; next < open_.size(); ++next) {
    const std::uint32_t from = open_[next];
    open |= edges_.triangles(from).size() == 1;
    const Vec3d p = crossing(from) - origin;
    for (const std::uint32_t t : edges_.triangles(from))
      for (const std::uint32_t e : edges_.edges_of_triangle[t]) {
        if (e == from) continue;
        const auto [a, b] = edges_.ends[e];
        if ((values_[a] <= level) == (values_[b] <= level)) continue;
        // The triangle's segment, met from both of its ends: each counts half. Its direction is that of the
        // surface: the higher side to the left, so that areas of consistently wound triangles add up.
        const Vec3d q = crossing(e) - origin;
        const double half = 0.5 * (q - p).norm();
        contour.length += half;
        moment += half * 0.5 * (p + q);
        const Triangle& corners = mesh_.triangles[t];
        const Vec3d normal = (mesh_.positions[corners[1]] - mesh_.positions[corners[0]])
                                 .cross(mesh_.positions[corners[2]] - mesh_.positions[corners[0]])
                                 .cast<double>();
        Vec3d up = Vec3d::Zero();  // from the lower to the higher corners
        for (const std::uint32_t w : corners)
          up += (values_[w] <= level ? -1.0 : 1.0) *
                (mesh_.positions[w].cast<double>() - origin - 0.5 * (p + q));
        const double sign = (q - p).cross(up).dot(normal) >= 0 ? 0.25 : -0.25;
        area += sign * p.cross(q);
        if (visited_in_[e] == pass_) continue;
        visited_in_[e] = pass_;
        open_.push_back(e);
      }
  }
  if (contour.length > 0) contour.centre = origin + moment / contour.length;
  const double round_radius = contour.length / (2 * std::numbers::pi);
  const double spanned = std::sqrt(area.norm() / std::numbers::pi);
  contour.radius = open ? round_radius : std::min(spanned, round_radius);
  return contour;
}

}  // namespace sinew
