#include <sinew/measure/flips.h>

#include <random>

#include <gtest/gtest.h>
#include <Eigen/LU>
#include <Eigen/SVD>

namespace sinew {
namespace {

TEST(NearestOrthogonal, AgreesWithTheSingularValues) {
  std::mt19937 random(5);
  std::normal_distribution<double> spread;
  int mirrored = 0;
  for (int i = 0; i < 500; ++i) {
    Mat3d matrix;
    for (int k = 0; k < 9; ++k) matrix(k / 3, k % 3) = spread(random);
    const Eigen::JacobiSVD<Mat3d> svd(matrix, Eigen::ComputeFullU | Eigen::ComputeFullV);
    EXPECT_LT((nearest_orthogonal(1e6 * matrix) - svd.matrixU() * svd.matrixV().transpose()).norm(), 1e-8);
    mirrored += matrix.determinant() < 0;
  }
  EXPECT_GT(mirrored, 150);
  EXPECT_LT(mirrored, 350);
}

TEST(NearestOrthogonal, SingularMatricesGiveRotations) {
  const Mat3d opposite = Eigen::Vector3d(1, 0, 0).asDiagonal();
  for (const Mat3d& matrix : {Mat3d(Mat3d::Zero()), opposite, Mat3d(Mat3d::Ones())}) {
    const Mat3d rotation = nearest_orthogonal(matrix);
    EXPECT_LT((rotation * rotation.transpose() - Mat3d::Identity()).norm(), 1e-9);
    EXPECT_NEAR(rotation.determinant(), 1, 1e-9);
  }
}

}  // namespace
}  // namespace sinew
