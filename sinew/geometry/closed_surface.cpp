#include <sinew/geometry/closed_surface.h>

#include <algorithm>
#include <cassert>
#include <map>

#include <sinew/geometry/disjoint_sets.h>
#include <sinew/geometry/topology.h>

namespace sinew {

namespace {

/// One side of a triangle.
struct DirectedSide {
  std::uint32_t low, high;  // vertices
  int direction;            // 1 from low to high
  std::uint32_t triangle;
};

/// All sides of all triangles, those along one edge side by side.
std::vector<DirectedSide> sort_directed_sides(std::span<const Triangle> triangles) {
  std::vector<DirectedSide> sides;
  sides.reserve(3 * triangles.size());
  for (std::uint32_t t = 0; t < triangles.size(); ++t)
    for (int k = 0; k < 3; ++k) {
      const std::uint32_t a = triangles[t][k], b = triangles[t][(k + 1) % 3];
      assert(a != b);
      sides.push_back({std::min(a, b), std::max(a, b), a < b ? 1 : -1, t});
    }
  std::sort(sides.begin(), sides.end(), [](const DirectedSide& a, const DirectedSide& b) {
    if (a.low != b.low) return a.low < b.low;
    return a.high != b.high ? a.high < b.high : a.triangle < b.triangle;
  });
  return sides;
}

/// Calls visit(sides) for each edge with its sides.
template <class Visit>
void for_each_balanced_edge(std::span<const DirectedSide> sides, const Visit& visit) {
  for (std::size_t begin = 0, end = 0; begin < sides.size(); begin = end) {
    while (end < sides.size() && sides[end].low == sides[begin].low && sides[end].high == sides[begin].high)
      ++end;
    visit(sides.subspan(begin, end - begin));
  }
}

/// An edge that the triangles run along more often from `from` to `to` than back.
struct BorderEdge {
  std::uint32_t from, to;
  int times;
};

std::vector<BorderEdge> unbalanced_edges(std::span<const Triangle> triangles) {
  std::vector<BorderEdge> border;
  for_each_balanced_edge(sort_directed_sides(triangles), [&](std::span<const DirectedSide> sides) {
    int balance = 0;
    for (const DirectedSide& side : sides) balance += side.direction;
    if (balance > 0) border.push_back({sides[0].low, sides[0].high, balance});
    if (balance < 0) border.push_back({sides[0].high, sides[0].low, -balance});
  });
  return border;
}

}  // namespace

ClosedSurface close_surface(std::size_t vertex_count, std::span<const Triangle> triangles) {
  ClosedSurface closed;
  closed.vertex_count = vertex_count;
  closed.triangle_count = triangles.size();
  closed.triangles.assign(triangles.begin(), triangles.end());

  const Components components = connected_components(vertex_count, triangles);
  std::vector<std::uint32_t> part_of_component(components.count, 0);
  std::vector<char> has_triangles(components.count, 0);
  for (const std::uint32_t c : components.of_triangle) has_triangles[c] = 1;
  for (std::size_t c = 0; c < components.count; ++c)
    if (has_triangles[c]) part_of_component[c] = static_cast<std::uint32_t>(closed.part_count++);
  for (const std::uint32_t c : components.of_triangle) closed.part.push_back(part_of_component[c]);

  const std::vector<BorderEdge> border = unbalanced_edges(triangles);
  DisjointSets sets(border.empty() ? 0 : vertex_count);
  for (const BorderEdge& edge : border) sets.join(edge.from, edge.to);
  std::map<std::uint32_t, std::size_t> fan_of_set;
  for (const BorderEdge& edge : border) {
    const auto found = fan_of_set.try_emplace(sets.find(edge.from), closed.borders.size());
    if (found.second) closed.borders.emplace_back();
    const std::size_t fan = found.first->second;
    closed.borders[fan].push_back(edge.from);
    closed.borders[fan].push_back(edge.to);
    const auto middle = static_cast<std::uint32_t>(vertex_count + fan);
    for (int i = 0; i < edge.times; ++i) {
      closed.triangles.push_back({edge.to, edge.from, middle});
      closed.part.push_back(part_of_component[components.of_vertex[edge.from]]);
    }
  }
  for (std::vector<std::uint32_t>& vertices : closed.borders) {
    std::sort(vertices.begin(), vertices.end());
    vertices.erase(std::unique(vertices.begin(), vertices.end()), vertices.end());
  }
  for_each_balanced_edge(sort_directed_sides(closed.triangles), [&](std::span<const DirectedSide> sides) {
    if (sides.size() == 2 && sides[0].direction != sides[1].direction)
      closed.neighbours.push_back({sides[0].triangle, sides[1].triangle});
  });
  return closed;
}

std::vector<Vec3f> ClosedSurface::place(std::span<const Vec3f> positions) const {
  assert(positions.size() == vertex_count);
  std::vector<Vec3f> all(positions.begin(), positions.end());
  for (const std::vector<std::uint32_t>& border : borders) {
    Vec3d sum = Vec3d::Zero();
    for (const std::uint32_t v : border) sum += positions[v].cast<double>();
    all.push_back((sum / static_cast<double>(border.size())).cast<float>());
  }
  return all;
}

}  // namespace sinew
