#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <Eigen/SparseCore>

#include <sinew/core/math.h>
#include <sinew/skinning/weights.h>

// The energy of elastic tracking (Vaillant 2015, §4.6.3) and its minimum, written for reading: in double,
// with a direct solve.
namespace sinew::reference {

/// R_i: the rotation of the dual quaternion blend of a vertex's joints, s_k = ±1 towards the heaviest one,
/// times the linear blend of their stretches. Transforms must have an inverse, rows must not be empty.
std::vector<Mat3d> blended_turns(const SkinWeights& weights, std::span<const Affine3d> posed_from_rest);

/// Skin with edges of weight w_ij = −L_ij; `laplacian` is symmetric and its rows sum to 0.
struct ElasticSkin {
  std::span<const Vec3d> rest;
  const Eigen::SparseMatrix<double>& laplacian;
};

/// Σ_i Σ_j w_ij |(v_i − v_j) − R_i (p_i − p_j)|²: every edge counts twice, with the turn of either end.
double elastic_energy(const ElasticSkin& skin, std::span<const Mat3d> turns,
                      std::span<const Vec3d> positions);

/// A quarter of the energy's gradient: (L v)_i − ½ Σ_j w_ij (R_i + R_j)(p_i − p_j).
std::vector<Vec3d> elastic_gradient(const ElasticSkin& skin, std::span<const Mat3d> turns,
                                    std::span<const Vec3d> positions);

/// The same, as far as it lies in the planes across `normals` (unit length, or zero: all of it); none where
/// `fixed`, one per vertex, is not 0.
std::vector<Vec3d> tangential_gradient(const ElasticSkin& skin, std::span<const Mat3d> turns,
                                       std::span<const Vec3d> positions, std::span<const Vec3d> normals,
                                       std::span<const std::uint8_t> fixed);

/// Where the energy is least among all that `positions` can reach when each vertex stays in the plane through
/// it across its normal (zero: goes anywhere) and fixed ones stay: Bᵀ L B t = −Bᵀ gradient. Something must
/// hold every connected part.
std::vector<Vec3d> elastic_minimum(const ElasticSkin& skin, std::span<const Mat3d> turns,
                                   std::span<const Vec3d> positions, std::span<const Vec3d> normals,
                                   std::span<const std::uint8_t> fixed);

}  // namespace sinew::reference
