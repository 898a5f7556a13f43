#include <sinew/picture/drawn_surface.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>
#include <numeric>

#include <sinew/geometry/disjoint_sets.h>
#include <sinew/geometry/incidence.h>

namespace sinew {

namespace {

// Volume over area^1.5: 0.094 for a ball, 0.02 for a hand, 0 for a flat sheet.
constexpr double kClearBulge = 0.004;

struct PartShape {
  Vec3d middle = Vec3d::Zero();  // area-weighted
  double area = 0;
  double volume = 0;
  std::int64_t open_edges = 0;
};

}  // namespace

DrawnSurface::DrawnSurface(const MeshView& rest, double crease_degrees)
    : vertex_count_(rest.positions.size()),
      triangles_(rest.triangles.begin(), rest.triangles.end()),
      two_sided_(rest.triangles.size(), 0) {
  orient_parts(rest);
  find_smooth_corners(rest, crease_degrees);
  solver_.emplace_back(triangles_, corner_slots_, slot_count_);
}

void DrawnSurface::orient_parts(const MeshView& rest) {
  DisjointSets parts(vertex_count_);
  for (const Triangle& f : triangles_) {
    parts.join(f[0], f[1]);
    parts.join(f[0], f[2]);
  }
  std::vector<PartShape> shapes(vertex_count_);
  const auto corner = [&](const Triangle& f, int k) { return Vec3d(rest.positions[f[k]].cast<double>()); };
  for (const Triangle& f : triangles_) {
    const Vec3d a = corner(f, 0), b = corner(f, 1), c = corner(f, 2);
    const double area = (b - a).cross(c - a).norm() / 2;
    if (!std::isfinite(area)) continue;
    PartShape& shape = shapes[parts.find(f[0])];
    shape.area += area;
    shape.middle += area / 3 * (a + b + c);
  }
  for (PartShape& shape : shapes)
    if (shape.area > 0) shape.middle /= shape.area;
  for (const Triangle& f : triangles_) {
    PartShape& shape = shapes[parts.find(f[0])];
    const Vec3d a = corner(f, 0) - shape.middle, b = corner(f, 1) - shape.middle,
                c = corner(f, 2) - shape.middle;
    const double volume = a.dot(b.cross(c)) / 6;
    if (std::isfinite(volume)) shape.volume += volume;
  }
  // An edge is closed when it runs as often one way as the other.
  struct Edge {
    std::uint32_t low, high;
    std::int32_t way;
  };
  std::vector<Edge> edges;
  edges.reserve(3 * triangles_.size());
  for (const Triangle& f : triangles_)
    for (int k = 0; k < 3; ++k) {
      const std::uint32_t from = f[k], to = f[(k + 1) % 3];
      edges.push_back({std::min(from, to), std::max(from, to), from < to ? 1 : -1});
    }
  std::sort(edges.begin(), edges.end(),
            [](const Edge& a, const Edge& b) { return a.low != b.low ? a.low < b.low : a.high < b.high; });
  for (std::size_t i = 0; i < edges.size();) {
    std::int32_t balance = 0;
    std::size_t end = i;
    for (; end < edges.size() && edges[end].low == edges[i].low && edges[end].high == edges[i].high; ++end)
      balance += edges[end].way;
    if (balance != 0) ++shapes[parts.find(edges[i].low)].open_edges;
    i = end;
  }
  for (std::size_t t = 0; t < triangles_.size(); ++t) {
    const PartShape& shape = shapes[parts.find(triangles_[t][0])];
    const double bulge = shape.area > 0 ? shape.volume / (shape.area * std::sqrt(shape.area)) : 0;
    const double clear = shape.open_edges == 0 ? 0 : kClearBulge;
    if (bulge < -clear) {
      std::swap(triangles_[t][1], triangles_[t][2]);
    } else if (!(bulge > clear)) {
      two_sided_[t] = 1;
    }
  }
}

void DrawnSurface::find_smooth_corners(const MeshView& rest, double crease_degrees) {
  const auto smooth_cosine = static_cast<float>(std::cos(crease_degrees * std::numbers::pi / 180));
  std::vector<Vec3f> facing(triangles_.size());
  for (std::size_t t = 0; t < triangles_.size(); ++t) {
    const Triangle& f = triangles_[t];
    const Vec3d a = rest.positions[f[0]].cast<double>(), b = rest.positions[f[1]].cast<double>(),
                c = rest.positions[f[2]].cast<double>();
    const Vec3d normal = (b - a).cross(c - a);
    const double length = normal.norm();
    // Zero: triangles without area bend neither way and join any group.
    facing[t] =
        std::isfinite(length) && length > 0 ? Vec3f((normal / length).cast<float>()) : Vec3f(Vec3f::Zero());
  }
  const Incidence incidence = vertex_incidence(vertex_count_, triangles_);
  corner_slots_.resize(triangles_.size());
  slot_count_ = 0;
  std::vector<std::uint32_t> group;
  for (std::size_t v = 0; v < vertex_count_; ++v) {
    // Corners at a vertex belong together when a chain of triangles, each sharing an edge with the next and
    // bending little at it, leads from one to the other.
    const std::span<const std::uint32_t> corners = incidence[v];
    group.resize(corners.size());
    std::iota(group.begin(), group.end(), 0u);
    const auto find = [&](std::uint32_t i) {
      while (group[i] != i) i = group[i];
      return i;
    };
    constexpr std::size_t kMostCorners = 256;
    const bool pole = corners.size() > kMostCorners;  // one smooth point: the search is quadratic
    if (pole) std::fill(group.begin(), group.end(), 0u);
    for (std::size_t i = 0; i < corners.size() && !pole; ++i)
      for (std::size_t j = i + 1; j < corners.size(); ++j) {
        const Triangle &f = triangles_[corners[i] / 3], &g = triangles_[corners[j] / 3];
        const std::size_t fk = corners[i] % 3, gk = corners[j] % 3;
        const std::uint32_t f_next = f[(fk + 1) % 3], f_last = f[(fk + 2) % 3];
        const std::uint32_t g_next = g[(gk + 1) % 3], g_last = g[(gk + 2) % 3];
        if (f_next != g_last && f_last != g_next && f_next != g_next && f_last != g_last) continue;
        const Vec3f &a = facing[corners[i] / 3], &b = facing[corners[j] / 3];
        if (!a.isZero(0) && !b.isZero(0) && a.dot(b) < smooth_cosine) continue;
        const std::uint32_t one = find(static_cast<std::uint32_t>(i)),
                            two = find(static_cast<std::uint32_t>(j));
        group[std::max(one, two)] = std::min(one, two);
      }
    for (std::size_t i = 0; i < corners.size(); ++i) {
      const std::uint32_t first = find(static_cast<std::uint32_t>(i));
      std::uint32_t& slot = corner_slots_[corners[i] / 3][corners[i] % 3];
      slot = first == i ? static_cast<std::uint32_t>(slot_count_++)
                        : corner_slots_[corners[first] / 3][corners[first] % 3];
    }
  }
}

std::vector<Vec3f> DrawnSurface::normals(std::span<const Vec3f> positions) const {
  assert(positions.size() == vertex_count_);
  std::vector<Vec3f> normals(slot_count_);
  std::vector<Vec4f> scratch(solver_.front().scratch_size());
  solver_.front().compute(positions, scratch, normals);
  return normals;
}

std::vector<std::array<Vec3f, 2>> plane_section(std::span<const Vec3f> positions,
                                                std::span<const Triangle> triangles, const Vec3f& normal,
                                                float offset) {
  std::vector<std::array<Vec3f, 2>> section;
  for (const Triangle& f : triangles) {
    float height[3];
    for (int k = 0; k < 3; ++k) height[k] = normal.dot(positions[f[k]]) - offset;
    if (!std::isfinite(height[0]) || !std::isfinite(height[1]) || !std::isfinite(height[2])) continue;
    std::array<Vec3f, 2> crossing;
    std::size_t crossings = 0;
    for (int k = 0; k < 3 && crossings < 2; ++k) {
      const int next = (k + 1) % 3;
      if ((height[k] < 0) == (height[next] < 0)) continue;
      const float share = height[k] / (height[k] - height[next]);
      crossing[crossings++] = positions[f[k]] + share * (positions[f[next]] - positions[f[k]]);
    }
    if (crossings == 2) section.push_back(crossing);
  }
  return section;
}

}  // namespace sinew
