#include <sinew/fitting/reeb_graph.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace sinew {

namespace {

constexpr std::uint32_t kNone = EdgeTable::kNone;

/// The sweep. At a level just above a vertex, edges with one end at or below it and the other above it cross
/// the level; two of them hang together when they share a triangle.
class Sweep {
 public:
  Sweep(const MeshView& mesh, std::span<const double> values)
      : mesh_(mesh), edges_(mesh.positions.size(), mesh.triangles), rank_(mesh.positions.size()) {
    order_.resize(mesh.positions.size());
    std::iota(order_.begin(), order_.end(), 0u);
    std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return values[a] != values[b] ? values[a] < values[b] : a < b;
    });
    for (std::uint32_t r = 0; r < order_.size(); ++r) rank_[order_[r]] = r;
    arc_of_edge_.assign(edges_.size(), kNone);
    seen_.assign(edges_.size(), 0);
  }

  ReebGraph run() {
    for (const std::uint32_t v : order_)
      if (!edges_.edges(v).empty()) pass(v);
    return std::move(graph_);
  }

 private:
  void pass(std::uint32_t v) {
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
    // Which pieces of the level set leave the vertex upwards: all that is left of those below has an edge
    // there.
    ++round_;
    pieces_.clear();
    for (const std::uint32_t e : upper_)
      if (seen_[e] != round_) pieces_.push_back(flood(e, v));
    if (below_.size() == 1 && pieces_.size() == 1) {
      for (const std::uint32_t e : pieces_[0]) arc_of_edge_[e] = below_[0];
      graph_.arcs[below_[0]].vertices.push_back(v);
      return;
    }
    const auto node = static_cast<std::uint32_t>(graph_.nodes.size());
    graph_.nodes.push_back({v, below_, {}});
    for (const std::uint32_t arc : below_) graph_.arcs[arc].to = node;
    for (const std::vector<std::uint32_t>& piece : pieces_) {
      const auto arc = static_cast<std::uint32_t>(graph_.arcs.size());
      graph_.arcs.push_back({node, node, {}});
      graph_.nodes[node].upper.push_back(arc);
      for (const std::uint32_t e : piece) arc_of_edge_[e] = arc;
    }
  }

  /// Where the neighbours form one closed ring with one run of lower and one of upper ones, the level set's
  /// piece goes on as it was. Such a ring has exactly two triangles with a lower and an upper neighbour.
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
      std::uint32_t next = kNone;
      for (const std::uint32_t e : edges_.edges_of_triangle[triangle])
        if (e != edge && (edges_.ends[e][0] == v || edges_.ends[e][1] == v)) next = e;
      if (next == kNone || ++walked > triangles) return false;
      const auto pair = edges_.triangles(next);
      triangle = pair[0] == triangle ? pair[1] : pair[0];
      edge = next;
    } while (edge != start);
    return walked == edges_.edges(v).size();
  }

  /// All edges that cross the level just above `v` and hang together with `start`.
  std::vector<std::uint32_t> flood(std::uint32_t start, std::uint32_t v) {
    const std::uint32_t level = rank_[v];
    std::vector<std::uint32_t> piece{start};
    seen_[start] = round_;
    for (std::size_t next = 0; next < piece.size(); ++next)
      for (const std::uint32_t t : edges_.triangles(piece[next]))
        for (const std::uint32_t e : edges_.edges_of_triangle[t]) {
          if (seen_[e] == round_) continue;
          const bool a = rank_[edges_.ends[e][0]] <= level, b = rank_[edges_.ends[e][1]] <= level;
          if (a == b) continue;
          seen_[e] = round_;
          piece.push_back(e);
        }
    return piece;
  }

  MeshView mesh_;
  EdgeTable edges_;
  std::vector<std::uint32_t> order_, rank_;
  std::vector<std::uint32_t> arc_of_edge_;  // of edges that cross the level
  std::vector<std::uint32_t> seen_;
  std::uint32_t round_ = 0;
  std::vector<std::uint32_t> lower_, upper_, below_;
  std::vector<std::vector<std::uint32_t>> pieces_;
  ReebGraph graph_;
};

}  // namespace

ReebGraph reeb_graph(const MeshView& mesh, std::span<const double> values) {
  return Sweep(mesh, values).run();
}

ContourTracer::ContourTracer(const MeshView& mesh, std::span<const double> values)
    : mesh_(mesh), values_(values), edges_(mesh.positions.size(), mesh.triangles), seen_(edges_.size(), 0) {}

Contour ContourTracer::trace(std::uint32_t vertex, double level) {
  ++round_;
  stack_.clear();
  for (const std::uint32_t e : edges_.edges(vertex))
    if (values_[edges_.other(e, vertex)] <= level && values_[vertex] > level) {
      stack_.push_back(e);
      seen_[e] = round_;
      break;
    }
  Contour contour;
  contour.centre = mesh_.positions[vertex].cast<double>();
  if (stack_.empty()) return contour;
  const auto crossing = [&](std::uint32_t e) {
    const auto [a, b] = edges_.ends[e];
    const double share = (level - values_[a]) / (values_[b] - values_[a]);
    return Vec3d(mesh_.positions[a].cast<double>() +
                 share * (mesh_.positions[b] - mesh_.positions[a]).cast<double>());
  };
  const Vec3d origin = crossing(stack_[0]);  // near the curve, for sums without cancellation
  Vec3d moment = Vec3d::Zero(), area = Vec3d::Zero();
  bool open = false;
  for (std::size_t next = 0; next < stack_.size(); ++next) {
    const std::uint32_t from = stack_[next];
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
        if (seen_[e] == round_) continue;
        seen_[e] = round_;
        stack_.push_back(e);
      }
  }
  if (contour.length > 0) contour.centre = origin + moment / contour.length;
  const double round_radius = contour.length / (2 * std::numbers::pi);
  const double spanned = std::sqrt(area.norm() / std::numbers::pi);
  contour.radius = open ? round_radius : std::min(spanned, round_radius);
  return contour;
}

}  // namespace sinew
