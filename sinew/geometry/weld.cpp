#include <sinew/geometry/weld.h>

#include <array>
#include <bit>
#include <cassert>
#include <cmath>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

namespace sinew {

namespace {

std::uint64_t mix(std::uint64_t x) {  // splitmix64's finisher
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// A hash table of numbers with linear probing; the caller knows what a number stands for and compares.
class Table {
 public:
  explicit Table(std::size_t capacity) : slots_(std::bit_ceil(2 * capacity + 1), kNoIndex) {}

  // The place of the number that `equal` accepts. It holds kNoIndex when there is none; setting it enters
  // one.
  template <class Equal>
  std::uint32_t& find(std::uint64_t hash, const Equal& equal) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = hash & mask;
    while (slots_[i] != kNoIndex && !equal(slots_[i])) i = (i + 1) & mask;
    return slots_[i];
  }

 private:
  std::vector<std::uint32_t> slots_;
};

struct ExactPoint {
  std::uint32_t x, y, z, key;
  bool operator==(const ExactPoint&) const = default;
};

// Adding +0 turns -0 into +0 and leaves every other number alone.
std::uint32_t bits(float x) {
  return std::bit_cast<std::uint32_t>(x + 0.0f);
}

Weld weld_exactly(std::span<const Vec3f> positions, std::span<const std::uint32_t> keys) {
  Weld weld;
  weld.welded_of_vertex.resize(positions.size());
  std::vector<ExactPoint> points;
  points.reserve(positions.size());
  Table table(positions.size());
  for (std::uint32_t v = 0; v < positions.size(); ++v) {
    const Vec3f& p = positions[v];
    const ExactPoint point{bits(p.x()), bits(p.y()), bits(p.z()), keys.empty() ? 0 : keys[v]};
    const std::uint64_t xy = std::uint64_t{point.x} << 32 | point.y;
    const std::uint64_t zk = std::uint64_t{point.z} << 32 | point.key;
    std::uint32_t& welded =
        table.find(mix(mix(xy) + zk), [&](std::uint32_t w) { return points[w] == point; });
    if (welded == kNoIndex) {
      welded = static_cast<std::uint32_t>(points.size());
      points.push_back(point);
      weld.first_vertex.push_back(v);
    }
    weld.welded_of_vertex[v] = welded;
  }
  return weld;
}

// A cube of the grid whose cells are as wide as the tolerance, so that all points within it lie in the 27
// cells around. Cell numbers are doubles: far from the origin neighbouring floats are many cells apart, and
// the numbers no longer fit an integer.
struct Cell {
  std::array<double, 3> at;
  std::uint32_t key;
  bool operator==(const Cell&) const = default;
  std::uint64_t hash() const {
    std::uint64_t h = key;
    for (const double x : at) h = mix(h + std::bit_cast<std::uint64_t>(x + 0.0));
    return h;
  }
};

Weld weld_near(const Weld& exact, std::span<const Vec3f> positions, std::span<const std::uint32_t> keys,
               double tolerance) {
  Weld weld;
  Table table(exact.size());
  std::vector<Cell> cells;
  std::vector<std::uint32_t> newest_in_cell;    // per cell, a welded vertex
  std::vector<std::uint32_t> previous_in_cell;  // per welded vertex, the one that entered its cell before it
  std::vector<std::uint32_t> welded_of_exact(exact.size());
  const auto find = [&](const Cell& cell) -> std::uint32_t& {
    return table.find(cell.hash(), [&](std::uint32_t c) { return cells[c] == cell; });
  };
  for (std::size_t e = 0; e < exact.size(); ++e) {
    const std::uint32_t v = exact.first_vertex[e];
    const Vec3d p = positions[v].cast<double>();
    const std::uint32_t key = keys.empty() ? 0 : keys[v];
    const Cell own{
        {std::floor(p.x() / tolerance), std::floor(p.y() / tolerance), std::floor(p.z() / tolerance)}, key};
    std::uint32_t nearest = kNoIndex;
    double nearest_squared = tolerance * tolerance;
    for (int neighbour = 0; neighbour < 27; ++neighbour) {
      Cell cell = own;
      cell.at[0] += neighbour % 3 - 1;
      cell.at[1] += neighbour / 3 % 3 - 1;
      cell.at[2] += neighbour / 9 - 1;
      const std::uint32_t c = find(cell);
      if (c == kNoIndex) continue;
      for (std::uint32_t w = newest_in_cell[c]; w != kNoIndex; w = previous_in_cell[w]) {
        const double squared = (positions[weld.first_vertex[w]].cast<double>() - p).squaredNorm();
        if (squared < nearest_squared || (squared == nearest_squared && w < nearest)) {
          nearest = w;
          nearest_squared = squared;
        }
      }
    }
    if (nearest == kNoIndex) {
      nearest = static_cast<std::uint32_t>(weld.first_vertex.size());
      weld.first_vertex.push_back(v);
      std::uint32_t& c = find(own);
      if (c == kNoIndex) {
        c = static_cast<std::uint32_t>(cells.size());
        cells.push_back(own);
        newest_in_cell.push_back(kNoIndex);
      }
      previous_in_cell.push_back(newest_in_cell[c]);
      newest_in_cell[c] = nearest;
    }
    welded_of_exact[e] = nearest;
  }
  weld.welded_of_vertex = exact.welded_of_vertex;
  for (std::uint32_t& w : weld.welded_of_vertex) w = welded_of_exact[w];
  return weld;
}

}  // namespace

Weld weld_vertices(std::span<const Vec3f> positions, std::span<const std::uint32_t> keys, float tolerance) {
  assert(keys.empty() || keys.size() == positions.size());
  assert(positions.size() < kNoIndex);
  if (!(tolerance >= 0) || std::isinf(tolerance))
    throw Error(fmt::format("weld tolerance {} m: must be 0 or more", tolerance));
  Weld weld = weld_exactly(positions, keys);
  return tolerance > 0 ? weld_near(weld, positions, keys, tolerance) : weld;
}

WeldedTriangles weld_triangles(const Weld& weld, std::span<const Triangle> triangles) {
  WeldedTriangles welded;
  welded.triangles.reserve(triangles.size());
  welded.sources.reserve(triangles.size());
  for (std::uint32_t t = 0; t < triangles.size(); ++t) {
    const Triangle f = {weld.welded_of_vertex[triangles[t][0]], weld.welded_of_vertex[triangles[t][1]],
                        weld.welded_of_vertex[triangles[t][2]]};
    if (f[0] == f[1] || f[1] == f[2] || f[2] == f[0]) continue;
    welded.triangles.push_back(f);
    welded.sources.push_back(t);
  }
  return welded;
}

std::vector<Vec3f> welded_positions(const Weld& weld, std::span<const Vec3f> positions) {
  std::vector<Vec3f> result;
  result.reserve(weld.size());
  for (const std::uint32_t v : weld.first_vertex) result.push_back(positions[v]);
  return result;
}

}  // namespace sinew
