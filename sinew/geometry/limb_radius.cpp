#include <sinew/geometry/limb_radius.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include <sinew/core/parallel.h>
#include <sinew/geometry/one_rings.h>
#include <sinew/geometry/ray_query.h>
#include <sinew/geometry/vertex_normals.h>

namespace sinew {

namespace {

constexpr int kTiltedRays = 8;
constexpr double kTilt = 25 * std::numbers::pi / 180;
constexpr std::size_t kFewestHits = 5;
constexpr int kSmoothings = 3;
constexpr std::size_t kVerticesPerTask = 64;

constexpr std::uint32_t kNoPart = 0xffffffffu;

struct Parts {
  std::vector<std::uint32_t> of_vertex;
  std::vector<Eigen::AlignedBox3d> boxes;
};

Parts parts_of(const MeshView& mesh, std::span<const std::uint32_t> part) {
  Parts parts{std::vector<std::uint32_t>(mesh.positions.size(), kNoPart), {}};
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
    if (part[t] >= parts.boxes.size()) parts.boxes.resize(part[t] + 1);
    for (const std::uint32_t v : mesh.triangles[t]) {
      parts.of_vertex[v] = part[t];
      parts.boxes[part[t]].extend(mesh.positions[v].cast<double>());
    }
  }
  return parts;
}

/// Half the median way through the part, 0 when too many rays find no other side.
double median_half_way(const SurfaceQuery& surface, std::span<const std::uint32_t> part, const Vec3f& start,
                       const Vec3d& normal, std::uint32_t own_part) {
  const Vec3d across = normal.unitOrthogonal(), along = normal.cross(across);
  std::vector<double> ways;
  for (int i = 0; i <= kTiltedRays; ++i) {
    Vec3d direction = -normal;
    if (i > 0) {
      const double turn = 2 * std::numbers::pi * i / kTiltedRays;
      direction =
          -std::cos(kTilt) * normal + std::sin(kTilt) * (std::cos(turn) * across + std::sin(turn) * along);
    }
    Ray ray;
    ray.origin = start;
    ray.direction = direction.cast<float>();
    // The other side is left from behind; the vertex's own triangles, hit at the start, are not it.
    for (const RayHit& hit : surface.all_hits(ray))
      if (!hit.from_front && part[hit.triangle] == own_part && hit.t > 0) {
        ways.push_back(hit.t);
        break;
      }
  }
  if (ways.size() < kFewestHits) return 0;
  std::nth_element(ways.begin(), ways.begin() + static_cast<std::ptrdiff_t>(ways.size() / 2), ways.end());
  return ways[ways.size() / 2] / 2;
}

/// Vertices without a radius take the mean of their neighbours', ring after ring.
void fill_from_neighbours(const OneRings& rings, std::vector<double>& radius) {
  bool changed = true;
  while (changed) {
    changed = false;
    std::vector<double> filled = radius;
    for (std::size_t v = 0; v < radius.size(); ++v) {
      if (radius[v] > 0) continue;
      double sum = 0;
      int known = 0;
      for (const std::uint32_t n : rings[v])
        if (radius[n] > 0) {
          sum += radius[n];
          ++known;
        }
      if (known == 0) continue;
      filled[v] = sum / known;
      changed = true;
    }
    radius = std::move(filled);
  }
}

}  // namespace

std::vector<double> limb_radius_at(const MeshView& mesh, std::span<const std::uint32_t> part,
                                   std::span<const std::uint32_t> vertices) {
  std::vector<double> radius(vertices.size(), 0);
  if (mesh.triangles.empty() || vertices.empty()) return radius;
  const SurfaceQuery surface(mesh);
  const std::vector<Vec3d> normals = angle_weighted_normals(mesh);
  const Parts parts = parts_of(mesh, part);
  parallel_blocks(vertices.size(), kVerticesPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint32_t v = vertices[i];
      if (parts.of_vertex[v] == kNoPart || normals[v].isZero(0)) continue;
      // From a little inside, so that rays tilted along a bump do not end at once.
      const double inset = 1e-5 * parts.boxes[parts.of_vertex[v]].diagonal().norm();
      const Vec3f start = (mesh.positions[v].cast<double>() - inset * normals[v]).cast<float>();
      radius[i] = median_half_way(surface, part, start, normals[v], parts.of_vertex[v]);
    }
  });
  return radius;
}

std::vector<double> limb_radius(const MeshView& mesh, std::span<const std::uint32_t> part) {
  std::vector<std::uint32_t> all(mesh.positions.size());
  std::iota(all.begin(), all.end(), 0u);
  std::vector<double> radius = limb_radius_at(mesh, part, all);
  if (mesh.triangles.empty()) return radius;
  const Parts parts = parts_of(mesh, part);
  const OneRings rings = one_rings(radius.size(), mesh.triangles);
  fill_from_neighbours(rings, radius);
  for (int i = 0; i < kSmoothings; ++i) {
    std::vector<double> smooth = radius;
    for (std::size_t v = 0; v < radius.size(); ++v) {
      double sum = radius[v];
      for (const std::uint32_t n : rings[v]) sum += radius[n];
      smooth[v] = sum / static_cast<double>(1 + rings[v].size());
    }
    radius = std::move(smooth);
  }
  for (std::size_t v = 0; v < radius.size(); ++v) {
    if (radius[v] > 0 || parts.of_vertex[v] == kNoPart) continue;
    double smallest = 0;
    for (const double side : parts.boxes[parts.of_vertex[v]].sizes())
      if (side > 0 && (smallest == 0 || side < smallest)) smallest = side;
    radius[v] = smallest / 2;
  }
  return radius;
}

}  // namespace sinew
