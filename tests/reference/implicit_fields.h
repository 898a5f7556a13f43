#pragma once

#include <span>
#include <vector>

#include <sinew/implicit/composition.h>
#include <sinew/implicit/field_grid.h>
#include <sinew/implicit/hermite_rbf.h>

// The fields of implicit skinning, straight from their formulas.
namespace sinew::reference {

/// d(x) = Σ_k λ_k φ(|x − v_k|) + <β_k, ∇φ(|x − v_k|)> with φ(r) = r³, d(v_k) = 0 and ∇d(v_k) = n_k (Vaillant
/// 2015, eq. 4.1), in extended precision, at the size the points have.
class HermiteRbf {
 public:
  explicit HermiteRbf(std::span<const HermitePoint> points);
  double distance(const Vec3d& x) const;

 private:
  std::vector<Vec3d> centers_;
  Eigen::Matrix<long double, Eigen::Dynamic, 1> coefficients_;  // λ_k, then β_k, for each k
};

/// t_r(x) as printed (Vaillant 2015, §4.4).
double compact_support(double x, double r);

/// Value and gradient of a grid's nodes at a point in grid coordinates: all eight corners of its cell, each
/// with the product of its three weights.
Eigen::Vector4d trilinear(const FieldGrid& grid, const Vec3d& at);

/// The tree's value from the root down; subtrees in which no leaf is `used` do not count.
FieldSample compose(const CompositionTree& tree, std::span<const FieldSample> samples,
                    const std::vector<bool>& used);

/// Mean value coordinates of the origin in a polygon of the plane that it is seen in along `normal`: weights
/// (tan(α_{i−1}/2) + tan(α_i/2)) / |q_i| (Hormann & Floater 2006, eq. 9), the half angles' tangents without
/// trigonometry, (|q_i| |q_{i+1}| − <q_i, q_{i+1}>) / |q_i × q_{i+1}|.
std::vector<double> mean_value_coordinates(std::span<const Vec3d> polygon, const Vec3d& normal);

}  // namespace sinew::reference
