#include <sinew/effects/compression.h>

#include <algorithm>
#include <cmath>

#include <Eigen/Eigenvalues>

namespace sinew {

Compression triangle_compression(const std::array<Vec3d, 3>& rest, const std::array<Vec3d, 3>& now) {
  const Vec3d e1 = rest[1] - rest[0], e2 = rest[2] - rest[0];
  const double length = e1.norm(), area = e1.cross(e2).norm();
  if (!(area > 1e-12 * e1.squaredNorm()) || !(area > 1e-12 * e2.squaredNorm()) || !std::isfinite(area))
    return {};
  // The triangle's own axes at rest.
  const Vec3d x = e1 / length, y = (e2 - e2.dot(x) * x).normalized();
  Eigen::Matrix2d at_rest;
  at_rest << length, e2.dot(x), 0, e2.dot(y);
  Eigen::Matrix<double, 3, 2> edges;
  edges << now[1] - now[0], now[2] - now[0];
  const Eigen::Matrix<double, 3, 2> gradient = edges * at_rest.inverse();
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix2d> solver(gradient.transpose() * gradient);
  if (solver.info() != Eigen::Success || !solver.eigenvalues().allFinite()) return {};
  const double smallest = std::sqrt(std::max(solver.eigenvalues()[0], 0.0));
  if (smallest >= 1) return {};
  const Eigen::Vector2d axis = solver.eigenvectors().col(0);
  return {1 - smallest, (axis[0] * x + axis[1] * y).normalized()};
}

std::vector<Compression> surface_compression(const MeshView& rest, std::span<const Vec3f> now) {
  std::vector<Mat3d> sums(rest.positions.size(), Mat3d::Zero());
  std::vector<double> areas(rest.positions.size(), 0);
  for (const Triangle& triangle : rest.triangles) {
    std::array<Vec3d, 3> before, after;
    for (std::size_t c = 0; c < 3; ++c) {
      before[c] = rest.positions[triangle[c]].cast<double>();
      after[c] = now[triangle[c]].cast<double>();
    }
    const double area = (before[1] - before[0]).cross(before[2] - before[0]).norm();
    const Compression compression = triangle_compression(before, after);
    for (const std::uint32_t v : triangle) {
      areas[v] += area;
      sums[v] += area * compression.amount * compression.direction * compression.direction.transpose();
    }
  }
  std::vector<Compression> result(sums.size());
  for (std::size_t v = 0; v < sums.size(); ++v) {
    if (!(areas[v] > 0)) continue;
    const Eigen::SelfAdjointEigenSolver<Mat3d> solver(Mat3d(sums[v] / areas[v]));
    if (solver.info() != Eigen::Success || !(solver.eigenvalues()[2] > 0)) continue;
    result[v] = {solver.eigenvalues()[2], solver.eigenvectors().col(2)};
  }
  return result;
}

}  // namespace sinew
