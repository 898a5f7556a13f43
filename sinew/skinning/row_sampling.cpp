#include <sinew/skinning/row_sampling.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

namespace sinew {

namespace {

// What is left of normals that cancel out is rounding.
constexpr double kCancelled = 1e-9;

}  // namespace

std::vector<Vec3d> smooth_normals(const MeshView& surface) {
  std::vector<Vec3d> normals(surface.positions.size(), Vec3d::Zero());
  std::vector<double> areas(surface.positions.size(), 0.0);
  for (const Triangle& f : surface.triangles) {
    const Vec3d a = surface.positions[f[0]].cast<double>();
    const Vec3d area =
        (surface.positions[f[1]].cast<double>() - a).cross(surface.positions[f[2]].cast<double>() - a);
    for (const std::uint32_t v : f) {
      normals[v] += area;
      areas[v] += area.norm();
    }
  }
  for (std::size_t v = 0; v < normals.size(); ++v) {
    const double length = normals[v].norm();
    if (length > kCancelled * areas[v])
      normals[v] /= length;
    else
      normals[v].setZero();
  }
  return normals;
}

Vec3d interpolated_normal(std::span<const Vec3d> normals, const Triangle& triangle,
                          const Vec3f& barycentric) {
  Vec3d sum = Vec3d::Zero();
  for (int k = 0; k < 3; ++k) sum += double{barycentric[k]} * normals[triangle[to_size(k)]];
  const double length = sum.norm();
  if (!(length > kCancelled)) return Vec3d::Zero();
  return sum / length;
}

void add_interpolated_row(const SkinWeights& weights, const Triangle& triangle, const Vec3f& barycentric,
                          std::vector<Influence>& row) {
  for (int k = 0; k < 3; ++k) {
    if (!(barycentric[k] > 0)) continue;
    const std::uint32_t v = triangle[to_size(k)];
    for (std::uint32_t i = weights.starts[v]; i < weights.starts[v + 1]; ++i)
      row.push_back({weights.joints[i], barycentric[k] * weights.values[i]});
  }
}

void check_triangles(const MeshView& surface, const char* what) {
  for (std::size_t t = 0; t < surface.triangles.size(); ++t)
    for (const std::uint32_t v : surface.triangles[t])
      if (v >= surface.positions.size())
        throw Error(
            fmt::format("{}: triangle {} names vertex {} of {}", what, t, v, surface.positions.size()));
}

void check_rows(const SkinWeights& weights, std::size_t vertices, const char* what) {
  if (weights.rows() != vertices)
    throw Error(fmt::format("{}: {} rows of weights for {} vertices", what, weights.rows(), vertices));
  if (weights.joints.size() != weights.values.size() || weights.starts.front() != 0 ||
      weights.starts.back() != weights.joints.size() ||
      !std::is_sorted(weights.starts.begin(), weights.starts.end()))
    throw Error(fmt::format("{}: rows do not follow one another", what));
  for (std::size_t v = 0; v < vertices; ++v)
    for (std::uint32_t i = weights.starts[v]; i < weights.starts[v + 1]; ++i)
      if (!std::isfinite(weights.values[i]) || weights.values[i] < 0)
        throw Error(fmt::format("{}: vertex {}: weight {} of joint {} is not a number from 0 on", what, v,
                                weights.values[i], weights.joints[i]));
}

}  // namespace sinew
