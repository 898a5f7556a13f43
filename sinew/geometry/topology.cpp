#include <sinew/geometry/topology.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <numeric>
#include <unordered_map>

#include <sinew/core/index.h>
#include <sinew/geometry/one_rings.h>
#include <sinew/geometry/predicates.h>

namespace sinew {

namespace {

// One side of one triangle.
struct Side {
  std::uint32_t low, high;  // the edge's vertices
  bool rises;               // the triangle runs from low to high
  bool operator<(const Side& other) const {
    if (low != other.low) return low < other.low;
    if (high != other.high) return high < other.high;
    return rises < other.rises;
  }
  bool same_edge(const Side& other) const { return low == other.low && high == other.high; }
};

// Triangles that repeat no corner, each three vertices with one orientation once.
std::vector<Triangle> distinct_triangles(std::span<const Triangle> triangles) {
  std::vector<Triangle> result;
  result.reserve(triangles.size());
  for (Triangle f : triangles) {
    if (repeats_corner(f)) continue;
    std::rotate(f.begin(), std::min_element(f.begin(), f.end()), f.end());
    result.push_back(f);
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::vector<Side> sorted_sides(std::span<const Triangle> triangles) {
  std::vector<Side> sides;
  sides.reserve(3 * triangles.size());
  for (const Triangle& f : triangles)
    for (int k = 0; k < 3; ++k) {
      const std::uint32_t a = f[k], b = f[(k + 1) % 3];
      sides.push_back({std::min(a, b), std::max(a, b), a < b});
    }
  std::sort(sides.begin(), sides.end());
  return sides;
}

// Calls visit(sides of one edge) for every edge.
template <class Visit>
void for_each_edge(std::span<const Side> sides, const Visit& visit) {
  for (std::size_t begin = 0; begin < sides.size();) {
    std::size_t end = begin + 1;
    while (end < sides.size() && sides[end].same_edge(sides[begin])) ++end;
    visit(sides.subspan(begin, end - begin));
    begin = end;
  }
}

// The border edges as a graph to be walked, each edge once.
class Border {
 public:
  explicit Border(std::span<const Side> sides) {
    for_each_edge(sides, [&](std::span<const Side> edge) {
      if (edge.size() != 1) return;
      const Side& side = edge.front();
      edges_.push_back(side.rises ? Edge{side.low, side.high} : Edge{side.high, side.low});
    });
    used_.assign(edges_.size(), 0);
    std::sort(edges_.begin(), edges_.end());
    for (std::uint32_t e = 0; e < edges_.size(); ++e) {
      ends_.push_back({edges_[e][0], 0, e});
      ends_.push_back({edges_[e][1], 1, e});
    }
    std::sort(ends_.begin(), ends_.end());
  }

  std::vector<BoundaryLoop> loops() {
    std::vector<BoundaryLoop> result;
    // Borders that end somewhere first, from their ends, so that each comes out in one piece.
    for (std::size_t begin = 0; begin < ends_.size();) {
      std::size_t end = begin;
      while (end < ends_.size() && ends_[end].vertex == ends_[begin].vertex) ++end;
      if ((end - begin) % 2 == 1) walk(ends_[begin].vertex, result);
      begin = end;
    }
    for (const Edge& edge : edges_) walk(edge[0], result);
    return result;
  }

 private:
  using Edge = std::array<std::uint32_t, 2>;  // in the direction of its triangle
  struct End {
    std::uint32_t vertex;
    std::uint32_t incoming;  // 0: the edge leaves the vertex. Leaving edges are walked first.
    std::uint32_t edge;
    bool operator<(const End& other) const {
      if (vertex != other.vertex) return vertex < other.vertex;
      if (incoming != other.incoming) return incoming < other.incoming;
      return edge < other.edge;
    }
  };

  // An edge at `vertex` that has not been walked yet, or kNoIndex.
  std::uint32_t take_edge(std::uint32_t vertex) {
    auto& first = first_end_.try_emplace(vertex, kNoIndex).first->second;
    if (first == kNoIndex)
      first = static_cast<std::uint32_t>(std::lower_bound(ends_.begin(), ends_.end(), End{vertex, 0, 0}) -
                                         ends_.begin());
    while (first < ends_.size() && ends_[first].vertex == vertex && used_[ends_[first].edge]) ++first;
    if (first == ends_.size() || ends_[first].vertex != vertex) return kNoIndex;
    used_[ends_[first].edge] = 1;
    return ends_[first].edge;
  }

  // Walks from `start` until no edge is left; whenever the path meets itself, the loop is cut off.
  void walk(std::uint32_t start, std::vector<BoundaryLoop>& result) {
    std::vector<std::uint32_t> path = {start};
    std::unordered_map<std::uint32_t, std::size_t> place = {{start, 0}};
    for (std::uint32_t e = take_edge(start); e != kNoIndex; e = take_edge(path.back())) {
      const std::uint32_t next = edges_[e][0] == path.back() ? edges_[e][1] : edges_[e][0];
      const auto [found, is_new] = place.try_emplace(next, path.size());
      if (is_new) {
        path.push_back(next);
        continue;
      }
      const auto begin = path.begin() + static_cast<std::ptrdiff_t>(found->second);
      result.push_back({{begin, path.end()}, true});
      for (auto v = begin + 1; v != path.end(); ++v) place.erase(*v);
      path.erase(begin + 1, path.end());
    }
    if (path.size() > 1) result.push_back({std::move(path), false});
  }

  std::vector<Edge> edges_;
  std::vector<char> used_;
  std::vector<End> ends_;
  std::unordered_map<std::uint32_t, std::uint32_t> first_end_;
};

}  // namespace

Components connected_components(std::size_t vertex_count, std::span<const Triangle> triangles) {
  assert(vertex_count < kNoIndex);
  // Union-find whose roots are always the smallest vertex of their set.
  std::vector<std::uint32_t> parent(vertex_count);
  std::iota(parent.begin(), parent.end(), 0u);
  const auto root = [&](std::uint32_t v) {
    while (parent[v] != v) v = parent[v] = parent[parent[v]];
    return v;
  };
  const auto unite = [&](std::uint32_t a, std::uint32_t b) {
    a = root(a);
    b = root(b);
    parent[std::max(a, b)] = std::min(a, b);
  };
  for (const Triangle& f : triangles) {
    unite(f[0], f[1]);
    unite(f[1], f[2]);
  }
  Components components;
  components.of_vertex.resize(vertex_count);
  for (std::uint32_t v = 0; v < vertex_count; ++v) {
    const std::uint32_t r = root(v);
    components.of_vertex[v] =
        r == v ? static_cast<std::uint32_t>(components.count++) : components.of_vertex[r];
  }
  components.of_triangle.reserve(triangles.size());
  for (const Triangle& f : triangles) components.of_triangle.push_back(components.of_vertex[f[0]]);
  return components;
}

std::vector<BoundaryLoop> boundary_loops(std::span<const Triangle> triangles) {
  return Border(sorted_sides(distinct_triangles(triangles))).loops();
}

TopologyReport inspect_topology(const MeshView& mesh) {
  TopologyReport report;
  report.vertices = mesh.positions.size();
  report.triangles = mesh.triangles.size();
  for (const Triangle& f : mesh.triangles) {
    report.repeated_corner_triangles += repeats_corner(f);
    report.zero_area_triangles += collinear(mesh.positions[f[0]], mesh.positions[f[1]], mesh.positions[f[2]]);
  }
  std::vector<Triangle> unordered;
  unordered.reserve(mesh.triangles.size());
  for (Triangle f : mesh.triangles) {
    std::sort(f.begin(), f.end());
    unordered.push_back(f);
  }
  std::sort(unordered.begin(), unordered.end());
  for (std::size_t t = 1; t < unordered.size(); ++t)
    report.duplicate_triangles += unordered[t] == unordered[t - 1];

  const std::vector<Side> sides = sorted_sides(distinct_triangles(mesh.triangles));
  for_each_edge(sides, [&](std::span<const Side> edge) {
    ++report.edges;
    report.boundary_edges += edge.size() == 1;
    report.non_manifold_edges += edge.size() > 2;
    report.flipped_edges += edge.size() == 2 && edge[0].rises == edge[1].rises;
  });
  report.boundary_loops = Border(sides).loops().size();
  const OneRings rings = one_rings(mesh.positions.size(), mesh.triangles);
  for (const RingKind kind : rings.kinds) report.non_manifold_vertices += kind == RingKind::irregular;
  std::vector<char> used(mesh.positions.size(), 0);
  for (const Triangle& f : mesh.triangles)
    for (const std::uint32_t v : f) used[v] = 1;
  report.isolated_vertices = to_size(std::count(used.begin(), used.end(), 0));
  report.components =
      connected_components(mesh.positions.size(), mesh.triangles).count - report.isolated_vertices;
  return report;
}

}  // namespace sinew
