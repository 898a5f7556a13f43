#pragma once

#include <cstddef>
#include <span>

#include <Eigen/SparseCholesky>

namespace sinew {

/// A symmetric positive definite matrix, factorised once for many right-hand sides. They are solved for
/// several at a time, so that each number of the factor is fetched once for all of them.
///
/// Matrices of surfaces have slim factors. One of triangles between random vertices would take hours and more
/// memory than there is; such a matrix is not factorised but solved for by conjugate gradients, to a relative
/// residual of 1e-8.
class SparseCholesky {
 public:
  /// How many right-hand sides are solved for together.
  static constexpr std::size_t kLanes = 8;
  /// Multiplications that a factorisation may take: a minute or two.
  static constexpr double kMostWork = 1e11;

  /// Throws Error when the matrix is not positive definite, as far as that shows.
  explicit SparseCholesky(const Eigen::SparseMatrix<double>& matrix, double most_work = kMostWork);

  std::size_t size() const { return size_; }
  bool is_factorised() const { return rest_.size() == 0; }
  /// `block` holds kLanes right-hand sides side by side: number i of lane l at i * kLanes + l; their
  /// solutions take their place. `scratch` has the same size and is overwritten. Safe to call from many
  /// threads.
  void solve(std::span<double> block, std::span<double> scratch) const;

 private:
  void solve_iteratively(std::span<double> block) const;

  Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> place_;  // of each row in the factor
  Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>, Eigen::Lower, Eigen::NaturalOrdering<int>> factor_;
  Eigen::SparseMatrix<double> rest_;  // the matrix itself, where it was not factorised
  std::size_t size_ = 0;
};

}  // namespace sinew
