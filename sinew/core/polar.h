#pragma once

#include <cmath>

#include <Eigen/Geometry>
#include <Eigen/LU>

#include <sinew/core/math.h>

namespace sinew {

/// The rotation nearest to a matrix, by its singular values: never mirrored. Of a matrix that mirrors, the
/// axis that it stretches least is turned round. The identity for one that is not finite.
Mat3d nearest_rotation(const Mat3d& matrix);

/// The polar factors of a matrix: a rotation and what comes before it, matrix = rotation · stretch. A matrix
/// that mirrors has its mirroring in the stretch.
struct PolarFactors {
  Mat3d rotation, stretch;
};
PolarFactors polar_factors(const Mat3d& matrix);

/// The orthogonal matrix nearest to a 3 × 3 one, mirrored when it mirrors: Higham's scaled Newton iteration
/// X ← (γ X + X⁻ᵀ / γ) / 2, a few dozen operations a step. The identity for one that flattens or is not
/// finite.
template <typename Scalar>
Eigen::Matrix<Scalar, 3, 3> polar_rotation(const Eigen::Matrix<Scalar, 3, 3>& matrix) {
  using Matrix = Eigen::Matrix<Scalar, 3, 3>;
  constexpr int kMostSteps = 12;
  const Scalar flat = 100 * Eigen::NumTraits<Scalar>::epsilon();
  const Scalar done = 4 * Eigen::NumTraits<Scalar>::epsilon();
  const Scalar size = matrix.norm();
  if (!(size > 0) || !std::isfinite(size)) return Matrix::Identity();
  Matrix x = matrix / size;
  for (int step = 0; step < kMostSteps; ++step) {
    Matrix cofactors;
    cofactors << x.col(1).cross(x.col(2)), x.col(2).cross(x.col(0)), x.col(0).cross(x.col(1));
    const Scalar determinant = x.col(0).dot(cofactors.col(0));
    if (!(std::abs(determinant) > flat)) return Matrix::Identity();
    const Matrix inverse = cofactors / determinant;  // transposed
    const Scalar gamma = std::sqrt(inverse.norm() / x.norm());
    const Matrix next = (gamma * x + inverse / gamma) / 2;
    const bool arrived = (next - x).squaredNorm() < done;
    x = next;
    if (arrived) break;
  }
  return x;
}

}  // namespace sinew
