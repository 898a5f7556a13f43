#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>

namespace sinew {

/// The edges of a triangle soup, for walks across it: the two vertices and the triangles of each edge.
/// Triangles that name a vertex twice are left out.
struct EdgeTable {
  EdgeTable(std::size_t vertex_count, std::span<const Triangle> triangles) {
    struct Half {
      std::uint64_t key;
      std::uint32_t triangle, corner;
    };
    std::vector<Half> halves;
    halves.reserve(3 * triangles.size());
    for (std::uint32_t t = 0; t < triangles.size(); ++t) {
      const Triangle& corners = triangles[t];
      if (corners[0] == corners[1] || corners[1] == corners[2] || corners[2] == corners[0]) continue;
      for (std::uint32_t k = 0; k < 3; ++k) {
        const std::uint64_t a = corners[(k + 1) % 3], b = corners[(k + 2) % 3];
        halves.push_back({std::min(a, b) << 32 | std::max(a, b), t, k});
      }
    }
    std::sort(halves.begin(), halves.end(), [](const Half& a, const Half& b) {
      return a.key != b.key ? a.key < b.key : a.triangle < b.triangle;
    });
    edges_of_triangle.assign(triangles.size(), {kNone, kNone, kNone});
    triangle_starts.push_back(0);
    for (std::size_t h = 0; h < halves.size(); ++h) {
      if (h == 0 || halves[h].key != halves[h - 1].key) {
        ends.push_back({static_cast<std::uint32_t>(halves[h].key >> 32),
                        static_cast<std::uint32_t>(halves[h].key & 0xffffffffu)});
        triangle_starts.push_back(triangle_starts.back());
      }
      edges_of_triangle[halves[h].triangle][halves[h].corner] = static_cast<std::uint32_t>(ends.size() - 1);
      triangles_at.push_back(halves[h].triangle);
      ++triangle_starts.back();
    }
    edge_starts.assign(vertex_count + 1, 0);
    for (const auto& [a, b] : ends) ++edge_starts[a + 1], ++edge_starts[b + 1];
    std::partial_sum(edge_starts.begin(), edge_starts.end(), edge_starts.begin());
    edges_at.resize(2 * ends.size());
    std::vector<std::uint32_t> fill(edge_starts.begin(), edge_starts.end() - 1);
    for (std::uint32_t e = 0; e < ends.size(); ++e)
      for (const std::uint32_t v : ends[e]) edges_at[fill[v]++] = e;
  }

  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::size_t size() const { return ends.size(); }
  std::uint32_t other(std::uint32_t e, std::uint32_t v) const {
    return ends[e][0] == v ? ends[e][1] : ends[e][0];
  }
  std::span<const std::uint32_t> triangles(std::uint32_t e) const {
    return {triangles_at.data() + triangle_starts[e], triangle_starts[e + 1] - triangle_starts[e]};
  }
  std::span<const std::uint32_t> edges(std::uint32_t v) const {
    return {edges_at.data() + edge_starts[v], edge_starts[v + 1] - edge_starts[v]};
  }

  std::vector<std::array<std::uint32_t, 2>> ends;               ///< the smaller vertex first
  std::vector<std::array<std::uint32_t, 3>> edges_of_triangle;  ///< opposite each corner; kNone: left out
  std::vector<std::uint32_t> triangle_starts, triangles_at, edge_starts, edges_at;
};

}  // namespace sinew
