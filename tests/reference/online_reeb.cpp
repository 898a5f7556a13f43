#include <tests/reference/online_reeb.h>

#include <algorithm>
#include <list>
#include <map>
#include <set>
#include <utility>

#include <sinew/core/index.h>

namespace sinew::reference {

namespace {

/// Vertices here are their ranks by value: a lower number is a lower value.
class Graph {
 public:
  void add_triangle(std::array<int, 3> corners) {
    std::sort(corners.begin(), corners.end());
    const Edge whole{corners[0], corners[2]}, lower{corners[0], corners[1]}, upper{corners[1], corners[2]};
    for (const Edge& edge : {whole, lower, upper}) add_edge(edge);
    // MergePaths: both ways go up from the lowest corner; where they are not yet the same arc they become it.
    int at = corners[0];
    while (at < corners[2]) {
      const int a = arc_from(at, whole), b = arc_from(at, at < corners[1] ? lower : upper);
      if (a != b) merge(a, b);
      at = end_of_arc_from(at, whole);
    }
  }

  /// Nodes that just pass on one arc are none.
  void remove_regular_nodes() {
    std::map<int, std::vector<int>> ending, starting;
    for (const auto& entry : arcs_) {
      ending[entry.second.high].push_back(entry.first);
      starting[entry.second.low].push_back(entry.first);
    }
    for (const auto& entry : starting) {  // from below: what ends at a vertex has been joined already
      const int vertex = entry.first;
      if (starting[vertex].size() != 1 || ending[vertex].size() != 1) continue;
      const int below = ending[vertex][0], above = starting[vertex][0];
      arcs_[below].high = arcs_[above].high;
      std::vector<int>& next = ending[arcs_[above].high];
      std::replace(next.begin(), next.end(), above, below);
      arcs_.erase(above);
    }
  }

  std::vector<std::pair<int, int>> arcs() const {
    std::vector<std::pair<int, int>> result;
    for (const auto& entry : arcs_) result.emplace_back(entry.second.low, entry.second.high);
    return result;
  }

 private:
  using Edge = std::pair<int, int>;
  struct Arc {
    int low = 0, high = 0;
    std::set<Edge> edges;  // that it is part of
  };

  void add_edge(const Edge& edge) {
    if (paths_.count(edge) > 0) return;
    const int arc = next_++;
    arcs_[arc] = {edge.first, edge.second, {edge}};
    paths_[edge] = {arc};
  }

  int arc_from(int vertex, const Edge& edge) const {
    for (const int arc : paths_.at(edge))
      if (arcs_.at(arc).low == vertex) return arc;
    return -1;
  }
  int end_of_arc_from(int vertex, const Edge& edge) const { return arcs_.at(arc_from(vertex, edge)).high; }

  /// Two arcs that start at the same vertex: the longer one goes along the shorter one first.
  void merge(int shorter, int longer) {
    if (arcs_[shorter].high > arcs_[longer].high) std::swap(shorter, longer);
    const bool same = arcs_[shorter].high == arcs_[longer].high;
    for (const Edge& edge : arcs_[longer].edges) {
      std::list<int>& path = paths_[edge];
      const auto place = std::find(path.begin(), path.end(), longer);
      path.insert(place, shorter);
      if (same) path.erase(place);
      arcs_[shorter].edges.insert(edge);
    }
    if (same)
      arcs_.erase(longer);
    else
      arcs_[longer].low = arcs_[shorter].high;
  }

  std::map<int, Arc> arcs_;
  std::map<Edge, std::list<int>> paths_;  // each edge's arcs, from below
  int next_ = 0;
};

}  // namespace

OnlineReeb online_reeb(const MeshView& mesh, std::span<const double> values) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t v = 0; v < values.size(); ++v) order.push_back(v);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return values[a] < values[b]; });
  std::vector<int> rank(values.size());
  for (std::size_t r = 0; r < order.size(); ++r) rank[order[r]] = static_cast<int>(r);

  Graph graph;
  for (const Triangle& t : mesh.triangles)
    if (t[0] != t[1] && t[1] != t[2] && t[2] != t[0])
      graph.add_triangle({rank[t[0]], rank[t[1]], rank[t[2]]});
  graph.remove_regular_nodes();

  OnlineReeb result;
  std::set<int> nodes;
  for (const auto& [low, high] : graph.arcs()) {
    nodes.insert({low, high});
    result.arcs.push_back({order[to_size(low)], order[to_size(high)]});
  }
  for (const int r : nodes) result.nodes.push_back(order[to_size(r)]);
  std::sort(result.arcs.begin(), result.arcs.end());
  return result;
}

}  // namespace sinew::reference
