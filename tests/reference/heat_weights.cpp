#include "tests/reference/heat_weights.h"

#include <algorithm>
#include <limits>

#include <Eigen/Dense>

#include <sinew/core/index.h>

namespace sinew::reference {

Eigen::MatrixXd heat_weights(const MeshView& surface, std::span<const Bone> bones, double equal) {
  const auto count = static_cast<Eigen::Index>(surface.positions.size());
  Eigen::MatrixXd laplacian = Eigen::MatrixXd::Zero(count, count);
  Eigen::VectorXd mass = Eigen::VectorXd::Zero(count);
  for (const Triangle& f : surface.triangles)
    for (std::size_t k = 0; k < 3; ++k) {
      const std::uint32_t i = f[(k + 1) % 3], j = f[(k + 2) % 3];
      const Vec3d at = surface.positions[f[k]].cast<double>();
      const Vec3d a = surface.positions[i].cast<double>() - at, b = surface.positions[j].cast<double>() - at;
      const double half_cotangent = 0.5 * a.dot(b) / a.cross(b).norm();
      laplacian(i, j) -= half_cotangent;
      laplacian(j, i) -= half_cotangent;
      laplacian(i, i) += half_cotangent;
      laplacian(j, j) += half_cotangent;
      mass[f[k]] += a.cross(b).norm() / 6;
    }
  const auto bone_count = static_cast<Eigen::Index>(bones.size());
  Eigen::MatrixXd right = Eigen::MatrixXd::Zero(count, bone_count);
  for (Eigen::Index v = 0; v < count; ++v) {
    const Vec3d p = surface.positions[to_size(v)].cast<double>();
    Eigen::VectorXd distance(bone_count);
    for (Eigen::Index b = 0; b < bone_count; ++b) {
      const Bone& bone = bones[to_size(b)];
      const Vec3d along = bone.tail - bone.head;
      const double t = std::clamp((p - bone.head).dot(along) / along.squaredNorm(), 0.0, 1.0);
      distance[b] = (bone.head + t * along - p).norm();
    }
    const double nearest = distance.minCoeff();
    const auto is_near = (distance.array() < nearest * (1 + equal)).cast<double>().eval();
    const double heat = is_near.sum() / (nearest * nearest);
    laplacian(v, v) += mass[v] * heat;
    right.row(v) = mass[v] * heat * (is_near / is_near.sum()).matrix().transpose();
  }
  return laplacian.ldlt().solve(right);
}

}  // namespace sinew::reference
