#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <Eigen/SparseCore>

#include <sinew/core/math.h>

// What elastic skin wants (Vaillant 2015, §4.6.3, and a hold on what is under it), written for reading: in
// double, with a direct solve.
namespace sinew::reference {

/// Skin with edges of weight w_ij = −L_ij; `laplacian` is symmetric and its rows sum to 0.
struct ElasticEnergy {
  std::span<const Vec3d> rest;                   ///< p
  const Eigen::SparseMatrix<double>& laplacian;  ///< L
  std::span<const double> hold;                  ///< a; 0: the vertex does not move
  std::span<const Mat3d> turns;                  ///< R
};

/// Σ_i Σ_j w_ij |(x_i − x_j) − R_i (p_i − p_j)|² + 2 Σ_i a_i |s_i|²: every edge counts twice, with the turn
/// of either end.
double elastic_energy(const ElasticEnergy& energy, std::span<const Vec3d> positions,
                      std::span<const Vec3d> slid);

/// A quarter of its gradient: (L x)_i − ½ Σ_j w_ij (R_i + R_j)(p_i − p_j) + a_i s_i.
std::vector<Vec3d> elastic_gradient(const ElasticEnergy& energy, std::span<const Vec3d> positions,
                                    std::span<const Vec3d> slid);

/// The moves that lead to the least energy when each vertex stays in the plane through it across its normal
/// (zero: goes anywhere): Bᵀ (L + A) B t = −Bᵀ gradient, moves = B t.
std::vector<Vec3d> elastic_moves(const ElasticEnergy& energy, std::span<const Vec3d> positions,
                                 std::span<const Vec3d> slid, std::span<const Vec3d> normals);

}  // namespace sinew::reference
