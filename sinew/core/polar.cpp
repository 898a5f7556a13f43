#include <sinew/core/polar.h>

#include <Eigen/SVD>

namespace sinew {

Mat3d nearest_rotation(const Mat3d& matrix) {
  if (!matrix.allFinite()) return Mat3d::Identity();
  const Eigen::JacobiSVD<Mat3d> svd(matrix, Eigen::ComputeFullU | Eigen::ComputeFullV);
  const Mat3d rotation = svd.matrixU() * svd.matrixV().transpose();
  if (!(rotation.determinant() < 0)) return rotation;
  Mat3d u = svd.matrixU();
  u.col(2) = -u.col(2);
  return u * svd.matrixV().transpose();
}

PolarFactors polar_factors(const Mat3d& matrix) {
  const Eigen::JacobiSVD<Mat3d> svd(matrix, Eigen::ComputeFullU | Eigen::ComputeFullV);
  Mat3d rotation = svd.matrixU() * svd.matrixV().transpose();
  if (rotation.determinant() < 0) rotation = -rotation;
  return {rotation, rotation.transpose() * matrix};
}

}  // namespace sinew
