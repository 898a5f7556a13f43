#pragma once

#include <cstddef>
#include <span>

#include <Eigen/SparseCholesky>

namespace sinew {

/// A symmetric positive definite matrix, factorised once for many right-hand sides. They are solved for
/// several at a time, so that each number of the factor is fetched once for all of them.
class SparseCholesky {
 public:
  /// How many right-hand sides are solved for together.
  static constexpr std::size_t kLanes = 8;

  /// Throws Error when the matrix is not positive definite.
  explicit SparseCholesky(const Eigen::SparseMatrix<double>& matrix);

  std::size_t size() const { return size_; }
  /// `block` holds kLanes right-hand sides side by side: number i of lane l at i * kLanes + l; their
  /// solutions take their place. `scratch` has the same size and is overwritten. Safe to call from many
  /// threads.
  void solve(std::span<double> block, std::span<double> scratch) const;

 private:
  Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> factor_;
  std::size_t size_ = 0;
};

}  // namespace sinew
