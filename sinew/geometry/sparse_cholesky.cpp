#include <sinew/geometry/sparse_cholesky.h>

#include <algorithm>
#include <cassert>

#include <sinew/core/error.h>

namespace sinew {

namespace {

constexpr std::size_t kLanes = SparseCholesky::kLanes;
using Lanes = Eigen::Array<double, kLanes, 1>;

}  // namespace

SparseCholesky::SparseCholesky(const Eigen::SparseMatrix<double>& matrix)
    : factor_(matrix), size_(static_cast<std::size_t>(matrix.rows())) {
  if (factor_.info() != Eigen::Success || (size_ > 0 && !(factor_.vectorD().minCoeff() > 0)))
    throw Error("sparse Cholesky: the matrix is not positive definite");
}

void SparseCholesky::solve(std::span<double> block, std::span<double> scratch) const {
  assert(block.size() == size_ * kLanes && scratch.size() == block.size());
  const Eigen::SparseMatrix<double>& lower = factor_.matrixL().nestedExpression();  // without its diagonal
  const int* starts = lower.outerIndexPtr();
  const int* rows = lower.innerIndexPtr();
  const double* values = lower.valuePtr();
  const auto& diagonal = factor_.vectorD();
  const auto& place = factor_.permutationP().indices();
  const auto at = [](std::span<double> numbers, std::size_t i) {
    return Eigen::Map<Lanes>(numbers.data() + i * kLanes);
  };

  const bool permuted = place.size() > 0;
  const auto place_of = [&](std::size_t i) {
    return permuted ? static_cast<std::size_t>(place[static_cast<Eigen::Index>(i)]) : i;
  };
  for (std::size_t i = 0; i < size_; ++i) at(scratch, place_of(i)) = at(block, i);
  // L y = b, column by column. Heat from one joint starts at few vertices: most columns have nothing to
  // pass on for a while.
  for (std::size_t j = 0; j < size_; ++j) {
    const Lanes x = at(scratch, j);
    if ((x == 0).all()) continue;
    for (int k = starts[j]; k < starts[j + 1]; ++k)
      at(scratch, static_cast<std::size_t>(rows[k])) -= values[k] * x;
  }
  // D Lᵀ x = y.
  for (std::size_t j = size_; j-- > 0;) {
    Lanes x = at(scratch, j) / diagonal[static_cast<Eigen::Index>(j)];
    for (int k = starts[j]; k < starts[j + 1]; ++k)
      x -= values[k] * at(scratch, static_cast<std::size_t>(rows[k]));
    at(scratch, j) = x;
  }
  for (std::size_t i = 0; i < size_; ++i) at(block, i) = at(scratch, place_of(i));
}

}  // namespace sinew
