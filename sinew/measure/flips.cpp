#include <sinew/measure/flips.h>

#include <cassert>
#include <cmath>

#include <Eigen/LU>
#include <Eigen/SVD>

namespace sinew {

Mat3d nearest_orthogonal(const Mat3d& matrix) {
  const double size = matrix.norm();
  if (!(size > 0) || !std::isfinite(size)) return Mat3d::Identity();
  Mat3d x = matrix / size;
  // Higham 1986, eq. 3.1: Newton's iteration for the polar factor; near to a rotation four steps do.
  constexpr int kMostSteps = 12;
  for (int step = 0; step < kMostSteps; ++step) {
    const double determinant = x.determinant();
    if (std::abs(determinant) < 1e-4) break;
    const Mat3d next = (x + x.inverse().transpose()) / 2;
    const bool done = (next - x).squaredNorm() < 1e-20;
    x = next;
    if (done) return x;
  }
  const Eigen::JacobiSVD<Mat3d> svd(matrix / size, Eigen::ComputeFullU | Eigen::ComputeFullV);
  Mat3d u = svd.matrixU();
  const Mat3d v = svd.matrixV();
  const bool singular = std::abs((matrix / size).determinant()) < 1e-12;
  if (singular && (u * v.transpose()).determinant() < 0) u.col(2) = -u.col(2);
  return u * v.transpose();
}

std::vector<std::uint32_t> flipped_triangles(const MeshView& rest, std::span<const Vec3f> positions,
                                             const SkinWeights& weights,
                                             std::span<const Affine3d> posed_from_rest) {
  std::vector<Mat3d> blended;
  if (!posed_from_rest.empty()) {
    assert(weights.rows() == positions.size());
    blended.resize(positions.size());
    for (std::size_t v = 0; v < positions.size(); ++v) {
      blended[v].setZero();
      for (std::size_t i = 0; i < weights.row_size(v); ++i)
        blended[v] += double{weights.row_values(v)[i]} * posed_from_rest[weights.row_joints(v)[i]].linear();
    }
  }
  const auto normal = [](std::span<const Vec3f> at, const Triangle& f) -> Vec3d {
    const Vec3d a = at[f[0]].cast<double>();
    return (at[f[1]].cast<double>() - a).cross(at[f[2]].cast<double>() - a);
  };
  std::vector<std::uint32_t> flipped;
  for (std::uint32_t t = 0; t < rest.triangles.size(); ++t) {
    const Triangle& f = rest.triangles[t];
    Vec3d carried = normal(rest.positions, f);
    if (!blended.empty()) {
      const Mat3d rotation = nearest_orthogonal(blended[f[0]] + blended[f[1]] + blended[f[2]]);
      carried = (rotation.determinant() < 0 ? -1.0 : 1.0) * (rotation * carried);
    }
    if (carried.dot(normal(positions, f)) < 0) flipped.push_back(t);
  }
  return flipped;
}

}  // namespace sinew
