#include <sinew/geometry/sparse_cholesky.h>

#include <random>

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include <sinew/core/error.h>
#include <sinew/geometry/laplacian.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

constexpr std::size_t kLanes = SparseCholesky::kLanes;

TEST(SparseCholesky, SolvesAllLanesAsADenseSolverDoes) {
  const Mesh mesh = test::make_icosphere(2);
  Eigen::SparseMatrix<double> matrix = cotangent_laplacian(mesh.view());
  matrix.diagonal() += lumped_mass(mesh.view());
  const SparseCholesky solver(matrix);
  const std::size_t size = mesh.positions.size();
  ASSERT_EQ(solver.size(), size);

  std::mt19937 random(3);
  std::uniform_real_distribution<double> number(-1, 1);
  Eigen::MatrixXd right(size, kLanes);
  for (Eigen::Index i = 0; i < right.rows(); ++i)
    for (Eigen::Index l = 0; l < right.cols(); ++l) right(i, l) = l == 5 ? 0 : number(random);
  std::vector<double> block(size * kLanes), scratch(size * kLanes, 1e300);
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t l = 0; l < kLanes; ++l)
      block[i * kLanes + l] = right(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(l));
  solver.solve(block, scratch);

  const Eigen::MatrixXd expected = Eigen::MatrixXd(matrix).ldlt().solve(right);
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t l = 0; l < kLanes; ++l)
      EXPECT_NEAR(block[i * kLanes + l], expected(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(l)),
                  1e-10);
}

TEST(SparseCholesky, RefusesMatricesThatAreNotPositiveDefinite) {
  Eigen::SparseMatrix<double> matrix(2, 2);
  matrix.insert(0, 0) = 1;
  matrix.insert(1, 1) = -1;
  EXPECT_THROW(SparseCholesky{matrix}, Error);
  matrix.coeffRef(1, 1) = 0;
  EXPECT_THROW(SparseCholesky{matrix}, Error);
}

TEST(SparseCholesky, EntangledMatricesAreSolvedWithoutAFactor) {
  // Edges between random vertices: the factor is nearly full.
  constexpr int kSize = 300;
  std::mt19937 random(5);
  Eigen::MatrixXd dense = Eigen::MatrixXd::Identity(kSize, kSize);
  for (int e = 0; e < 4 * kSize; ++e) {
    const auto i = static_cast<Eigen::Index>(random() % kSize),
               j = static_cast<Eigen::Index>(random() % kSize);
    if (i == j) continue;
    dense(i, j) -= 1;
    dense(j, i) -= 1;
    dense(i, i) += 1;
    dense(j, j) += 1;
  }
  const Eigen::SparseMatrix<double> matrix = dense.sparseView();
  const SparseCholesky whole(matrix), entangled(matrix, 1e5);
  EXPECT_TRUE(whole.is_factorised());
  ASSERT_FALSE(entangled.is_factorised());
  std::vector<double> a(kSize * kLanes), b, scratch(kSize * kLanes);
  for (double& number : a) number = static_cast<double>(random() % 1000) / 1000;
  b = a;
  whole.solve(a, scratch);
  entangled.solve(b, scratch);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-6);
  // A surface's matrix is far from that.
  const Mesh mesh = test::make_icosphere(4);
  Eigen::SparseMatrix<double> slim = cotangent_laplacian(mesh.view());
  slim.diagonal() += lumped_mass(mesh.view());
  EXPECT_TRUE(SparseCholesky(slim, 1e7).is_factorised());
}

TEST(SparseCholesky, OneNumber) {
  Eigen::SparseMatrix<double> matrix(1, 1);
  matrix.insert(0, 0) = 4;
  std::vector<double> block(kLanes, 2), scratch(kLanes);
  SparseCholesky(matrix).solve(block, scratch);
  EXPECT_EQ(block, std::vector<double>(kLanes, 0.5));
}

}  // namespace
}  // namespace sinew
