#include <sinew/measure/penetration.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include <Eigen/Geometry>

#include <sinew/geometry/ray_query.h>

namespace sinew {

namespace {

using Corners = std::array<Vec3d, 3>;

constexpr double kInsideMargin = 1e-9;

/// Adds the points where sides of `a` pierce `b`.
void add_piercings(const Corners& a, const Corners& b, std::vector<Vec3d>& points) {
  const Vec3d normal = (b[1] - b[0]).cross(b[2] - b[0]);
  const double area = normal.squaredNorm();
  if (!(area > 0)) return;
  for (int k = 0; k < 3; ++k) {
    const Vec3d &from = a[k], &to = a[(k + 1) % 3];
    const double height_from = normal.dot(from - b[0]), height_to = normal.dot(to - b[0]);
    if ((height_from < 0) == (height_to < 0)) continue;
    const Vec3d point = from + height_from / (height_from - height_to) * (to - from);
    bool inside = true;
    for (int j = 0; j < 3; ++j)
      inside = inside && (b[(j + 1) % 3] - b[j]).cross(point - b[j]).dot(normal) >= -kInsideMargin * area;
    if (inside) points.push_back(point);
  }
}

/// The two ends of the line along which the triangles cut each other.
std::optional<std::array<Vec3d, 2>> cut_line(const Corners& a, const Corners& b, std::vector<Vec3d>& points) {
  points.clear();
  add_piercings(a, b, points);
  add_piercings(b, a, points);
  if (points.empty()) return std::nullopt;
  std::array<Vec3d, 2> ends = {points[0], points[0]};
  for (const Vec3d& p : points)
    for (const Vec3d& q : points)
      if ((p - q).squaredNorm() > (ends[0] - ends[1]).squaredNorm()) ends = {p, q};
  return ends;
}

}  // namespace

PenetrationDepth penetration_depth(const ClosedSurface& surface, std::span<const Vec3f> positions,
                                   std::span<const TrianglePair> pairs, const Burial& burial,
                                   std::span<const std::uint32_t> vertices,
                                   std::span<const double> limb_radius) {
  PenetrationDepth depth;
  if (vertices.empty()) return depth;
  std::vector<std::uint8_t> middle_buried;
  for (const std::vector<std::uint32_t>& border : surface.borders)
    middle_buried.push_back(
        std::all_of(border.begin(), border.end(), [&](std::uint32_t v) { return burial.vertex(v); }));
  const auto buried = [&](std::uint32_t v) {
    return v < surface.vertex_count ? burial.vertex(v) : middle_buried[v - surface.vertex_count] != 0;
  };
  const auto corners = [&](std::uint32_t t) {
    const Triangle& f = surface.triangles[t];
    return Corners{positions[f[0]].cast<double>(), positions[f[1]].cast<double>(),
                   positions[f[2]].cast<double>()};
  };

  std::vector<Vec3f> points(positions.begin(), positions.end());
  std::vector<Triangle> exposed;
  for (std::size_t t = 0; t < surface.triangle_count; ++t) {
    const Triangle& f = surface.triangles[t];
    if (!burial.triangles[t] && std::none_of(f.begin(), f.end(), buried)) exposed.push_back(f);
  }
  std::vector<Vec3d> scratch;
  for (const TrianglePair& pair : pairs) {
    bool bare = false;
    for (const std::uint32_t t : pair)
      for (const std::uint32_t v : surface.triangles[t]) bare = bare || !buried(v);
    if (!bare) continue;
    const auto line = cut_line(corners(pair[0]), corners(pair[1]), scratch);
    if (!line) continue;
    const auto first = static_cast<std::uint32_t>(points.size());
    for (const Vec3d& end : *line) points.push_back(end.cast<float>());
    exposed.push_back({first, first + 1, first + 1});
  }
  if (exposed.empty()) {
    depth.known = false;
    return depth;
  }

  const SurfaceQuery query({points, exposed});
  std::vector<Vec3f> from;
  for (const std::uint32_t v : vertices) from.push_back(positions[v]);
  std::vector<std::optional<NearestHit>> hits(from.size());
  query.nearest(from, hits);
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    if (!hits[i]) continue;
    const double distance = hits[i]->distance;
    const double radius = limb_radius[vertices[i]];
    const double share = radius > 0 ? distance / radius : 0;
    depth.largest = std::max(depth.largest, distance);
    depth.largest_share_of_limb = std::max(depth.largest_share_of_limb, share);
    depth.mean += distance / static_cast<double>(vertices.size());
    depth.mean_share_of_limb += share / static_cast<double>(vertices.size());
  }
  return depth;
}

}  // namespace sinew
