#include <sinew/measure/contact_gap.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <sinew/core/index.h>
#include <sinew/core/parallel.h>

namespace sinew {

namespace {

constexpr std::size_t kGapsPerTask = 64;
constexpr double kNone = std::numeric_limits<double>::infinity();

/// Whether the box is met by origin + t direction, 0 ≤ t ≤ longest.
bool meets_ray(const Eigen::AlignedBox3f& box, const Vec3d& origin, const Vec3d& inverse, double longest) {
  const Vec3d low = (box.min().cast<double>() - origin).cwiseProduct(inverse);
  const Vec3d high = (box.max().cast<double>() - origin).cwiseProduct(inverse);
  const double from = low.cwiseMin(high).maxCoeff(), to = low.cwiseMax(high).minCoeff();
  return !(from > to) && !(to < 0) && !(from > longest);
}

/// The way along the direction to a triangle that faces the origin (Möller and Trumbore 1997).
double way_to(const std::array<Vec3d, 3>& f, const Vec3d& origin, const Vec3d& direction) {
  const Vec3d ab = f[1] - f[0], ac = f[2] - f[0], across = direction.cross(ac);
  const double determinant = ab.dot(across);
  // Positive: the ray comes from the side that the triangle faces.
  if (!(determinant > 0)) return kNone;
  const Vec3d from = origin - f[0];
  const double u = from.dot(across);
  if (!(u >= 0 && u <= determinant)) return kNone;
  const Vec3d turned = from.cross(ab);
  const double v = direction.dot(turned);
  if (!(v >= 0 && u + v <= determinant)) return kNone;
  const double t = ac.dot(turned) / determinant;
  return t >= 0 ? t : kNone;
}

}  // namespace

ContactGaps contact_gaps(const MeshView& surface, const FittedTriangleTree& boxes,
                         std::span<const std::uint32_t> vertices) {
  const auto at = [&](std::uint32_t v) { return Vec3d(surface.positions[v].cast<double>()); };
  std::vector<Vec3d> normals(surface.positions.size(), Vec3d::Zero());
  for (const Triangle& f : surface.triangles) {
    const Vec3d normal = (at(f[1]) - at(f[0])).cross(at(f[2]) - at(f[0]));
    for (const std::uint32_t v : f) normals[v] += normal;
  }
  std::vector<double> ways(vertices.size(), kNone);
  parallel_blocks(vertices.size(), kGapsPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint32_t v = vertices[i];
      const double length = normals[v].norm();
      if (!(length > 0)) continue;
      const Vec3d origin = at(v), direction = normals[v] / length, inverse = direction.cwiseInverse();
      double& least = ways[i];
      boxes.for_each([&](const Eigen::AlignedBox3f& box) { return meets_ray(box, origin, inverse, least); },
                     [&](std::uint32_t t) {
                       if (t >= surface.triangles.size()) return;
                       const Triangle& f = surface.triangles[t];
                       if (f[0] == v || f[1] == v || f[2] == v) return;
                       least = std::min(least, way_to({at(f[0]), at(f[1]), at(f[2])}, origin, direction));
                     });
    }
  });
  ContactGaps result;
  for (const double way : ways)
    if (way < kNone)
      result.gaps.push_back(way);
    else
      ++result.misses;
  return result;
}

double quantile(std::span<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = to_size(static_cast<std::int64_t>(place));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

}  // namespace sinew
