#include <sinew/core/polar.h>

#include <limits>
#include <random>

#include <gtest/gtest.h>
#include <Eigen/SVD>

#include <sinew/core/math.h>

namespace sinew {
namespace {

Mat3d random_matrix(std::mt19937& random) {
  std::uniform_real_distribution<double> number(-1, 1);
  Mat3d matrix;
  for (int k = 0; k < 9; ++k) matrix(k / 3, k % 3) = number(random);
  return matrix;
}

Mat3d by_svd(const Mat3d& matrix) {
  const Eigen::JacobiSVD<Mat3d> svd(matrix, Eigen::ComputeFullU | Eigen::ComputeFullV);
  return svd.matrixU() * svd.matrixV().transpose();
}

TEST(Polar, IsTheOrthogonalMatrixOfTheSvd) {
  std::mt19937 random(7);
  int mirrored = 0;
  for (int k = 0; k < 400; ++k) {
    const Mat3d matrix = random_matrix(random);
    mirrored += matrix.determinant() < 0;
    EXPECT_LT((polar_rotation<double>(matrix) - by_svd(matrix)).norm(), 1e-9) << matrix;
    EXPECT_LT((polar_rotation<double>(1e-5 * matrix) - by_svd(matrix)).norm(), 1e-9);
    // Those that are nearly flat are not told apart in single precision.
    if (std::abs(matrix.determinant()) < 1e-2) continue;
    const Eigen::Matrix3f single = matrix.cast<float>();
    EXPECT_LT((polar_rotation<float>(single).cast<double>() - by_svd(single.cast<double>())).norm(), 1e-4);
  }
  EXPECT_GT(mirrored, 120);
  EXPECT_LT(mirrored, 280);
}

TEST(Polar, BlendsOfTurnsGiveTheTurnBetween) {
  for (const double degrees : {1.0, 90.0, 170.0}) {
    const double angle = degrees * 0.017453292519943295;
    const Vec3d axis = Vec3d(1, 2, -2) / 3;
    const Mat3d blend = Mat3d::Identity() + Eigen::AngleAxisd(angle, axis).toRotationMatrix();
    const Mat3d expected = Eigen::AngleAxisd(angle / 2, axis).toRotationMatrix();
    EXPECT_LT((polar_rotation<double>(blend) - expected).norm(), 1e-9) << degrees;
  }
}

TEST(Polar, WhatHasNoneIsTheIdentity) {
  Mat3d flat = Mat3d::Identity();
  flat(2, 2) = 0;
  Mat3d broken = Mat3d::Identity();
  broken(0, 1) = std::numeric_limits<double>::quiet_NaN();
  Mat3d infinite = Mat3d::Identity();
  infinite(1, 1) = std::numeric_limits<double>::infinity();
  for (const Mat3d& matrix : {flat, broken, infinite, Mat3d(Mat3d::Zero())})
    EXPECT_EQ(polar_rotation<double>(matrix), Mat3d(Mat3d::Identity()));
}

TEST(NearestRotation, IsARotationForAllMatrices) {
  std::mt19937 random(8);
  int mirrored = 0;
  for (int k = 0; k < 400; ++k) {
    const Mat3d matrix = random_matrix(random), rotation = nearest_rotation(matrix);
    EXPECT_LT((rotation * rotation.transpose() - Mat3d::Identity()).norm(), 1e-12);
    EXPECT_NEAR(rotation.determinant(), 1, 1e-12);
    // None beside it is nearer.
    for (int axis = 0; axis < 3; ++axis)
      for (const double angle : {-1e-3, 1e-3}) {
        const Mat3d beside = Eigen::AngleAxisd(angle, Vec3d::Unit(axis)).toRotationMatrix() * rotation;
        EXPECT_GE((beside - matrix).norm(), (rotation - matrix).norm() - 1e-12);
      }
    if (matrix.determinant() < 0)
      ++mirrored;
    else
      EXPECT_EQ(rotation, by_svd(matrix));
  }
  EXPECT_GT(mirrored, 120);
  EXPECT_LT(mirrored, 280);
  Mat3d broken = Mat3d::Identity();
  broken(0, 1) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(nearest_rotation(broken), Mat3d(Mat3d::Identity()));
}

TEST(PolarFactors, MultiplyToTheMatrix) {
  std::mt19937 random(9);
  for (int k = 0; k < 400; ++k) {
    const Mat3d matrix = random_matrix(random);
    const PolarFactors factors = polar_factors(matrix);
    EXPECT_NEAR(factors.rotation.determinant(), 1, 1e-12);
    EXPECT_LT((factors.rotation * factors.stretch - matrix).norm(), 1e-12);
    EXPECT_LT((factors.stretch - factors.stretch.transpose()).norm(), 1e-12);
    EXPECT_EQ(factors.stretch.determinant() < 0, matrix.determinant() < 0);
  }
}

}  // namespace
}  // namespace sinew
