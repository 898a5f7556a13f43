#include <sinew/geometry/sparse_cholesky.h>

#include <algorithm>
#include <cassert>
#include <vector>

#include <Eigen/IterativeLinearSolvers>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

namespace sinew {

namespace {

constexpr std::size_t kLanes = SparseCholesky::kLanes;
using Lanes = Eigen::Array<double, kLanes, 1>;

/// Whether L of the matrix's L D Lᵀ can be had: its numbers fit 32-bit counts, and the multiplications, the
/// sum of squares of its columns' lengths, stay within `most_work`. Walks the elimination tree row by row
/// (Liu 1990), which takes as long as L has numbers, and stops when it is too many. `upper` is the upper
/// triangle.
bool is_affordable(const Eigen::SparseMatrix<double>& upper, double most_work) {
  constexpr std::size_t kMostNumbers = std::size_t{1} << 30;
  const int size = static_cast<int>(upper.cols());
  std::vector<int> parent(to_size(size), -1), reached(to_size(size), -1);
  std::vector<std::size_t> length(to_size(size), 0);
  std::size_t numbers = 0;
  double work = 0;
  for (int k = 0; k < size; ++k) {
    reached[to_size(k)] = k;
    for (Eigen::SparseMatrix<double>::InnerIterator it(upper, k); it; ++it)
      for (auto i = to_size(it.row()); static_cast<int>(i) < k && reached[i] != k; i = to_size(parent[i])) {
        if (parent[i] < 0) parent[i] = k;
        // (n + 1)² - n²: the column has become longer by one.
        work += 2.0 * static_cast<double>(length[i]++) + 1;
        ++numbers;
        reached[i] = k;
      }
    if (numbers > kMostNumbers || work > most_work) return false;
  }
  return true;
}

}  // namespace

SparseCholesky::SparseCholesky(const Eigen::SparseMatrix<double>& matrix, double most_work)
    : size_(to_size(matrix.rows())) {
  if (size_ == 0) return;
  // The ordering's inverse says where each row goes.
  Eigen::AMDOrdering<int> ordering;
  Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> inverse;
  ordering(matrix.selfadjointView<Eigen::Lower>(), inverse);
  place_ = inverse.inverse();
  Eigen::SparseMatrix<double> upper(matrix.rows(), matrix.cols());
  upper.selfadjointView<Eigen::Upper>() = matrix.selfadjointView<Eigen::Lower>().twistedBy(place_);
  if (!is_affordable(upper, most_work)) {
    if (!(matrix.diagonal().minCoeff() > 0))
      throw Error("sparse Cholesky: the matrix is not positive definite");
    rest_ = matrix;
    return;
  }
  Eigen::SparseMatrix<double> lower(matrix.rows(), matrix.cols());
  lower.selfadjointView<Eigen::Lower>() = upper.selfadjointView<Eigen::Upper>();
  upper.resize(0, 0);
  factor_.compute(lower);
  if (factor_.info() != Eigen::Success || !(factor_.vectorD().minCoeff() > 0))
    throw Error("sparse Cholesky: the matrix is not positive definite");
}

void SparseCholesky::solve_iteratively(std::span<double> block) const {
  Eigen::ConjugateGradient<Eigen::SparseMatrix<double>, Eigen::Lower | Eigen::Upper> solver;
  solver.setTolerance(1e-8);
  solver.setMaxIterations(2000);
  solver.compute(rest_);
  Eigen::VectorXd right(static_cast<Eigen::Index>(size_));
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    for (std::size_t i = 0; i < size_; ++i) right[static_cast<Eigen::Index>(i)] = block[i * kLanes + lane];
    if (right.isZero(0)) continue;
    const Eigen::VectorXd solution = solver.solve(right);
    for (std::size_t i = 0; i < size_; ++i) block[i * kLanes + lane] = solution[static_cast<Eigen::Index>(i)];
  }
}

void SparseCholesky::solve(std::span<double> block, std::span<double> scratch) const {
  assert(block.size() == size_ * kLanes && scratch.size() == block.size());
  if (size_ == 0) return;
  if (!is_factorised()) return solve_iteratively(block);
  const Eigen::SparseMatrix<double>& lower = factor_.matrixL().nestedExpression();  // without its diagonal
  const int* starts = lower.outerIndexPtr();
  const int* rows = lower.innerIndexPtr();
  const double* values = lower.valuePtr();
  const auto& diagonal = factor_.vectorD();
  const auto& place = place_.indices();
  const auto at = [](std::span<double> numbers, std::size_t i) {
    return Eigen::Map<Lanes>(numbers.data() + i * kLanes);
  };

  const auto place_of = [&](std::size_t i) { return to_size(place[static_cast<Eigen::Index>(i)]); };
  for (std::size_t i = 0; i < size_; ++i) at(scratch, place_of(i)) = at(block, i);
  // L y = b, column by column. Heat from one joint starts at few vertices: most columns have nothing to
  // pass on for a while.
  for (std::size_t j = 0; j < size_; ++j) {
    const Lanes x = at(scratch, j);
    if ((x == 0).all()) continue;
    for (int k = starts[j]; k < starts[j + 1]; ++k) at(scratch, to_size(rows[k])) -= values[k] * x;
  }
  // D Lᵀ x = y.
  for (std::size_t j = size_; j-- > 0;) {
    Lanes x = at(scratch, j) / diagonal[static_cast<Eigen::Index>(j)];
    for (int k = starts[j]; k < starts[j + 1]; ++k) x -= values[k] * at(scratch, to_size(rows[k]));
    at(scratch, j) = x;
  }
  for (std::size_t i = 0; i < size_; ++i) at(block, i) = at(scratch, place_of(i));
}

}  // namespace sinew
