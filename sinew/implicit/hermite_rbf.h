#pragma once

#include <span>
#include <vector>

#include <sinew/core/math.h>

namespace sinew {

/// A point of a surface and the outward unit normal there.
struct HermitePoint {
  Vec3d position = Vec3d::Zero();
  Vec3d normal = Vec3d::UnitY();
};

/// A signed distance-like function through points with normals: Hermite radial basis functions with
/// φ(r) = r³ (Wendland 2005, ch. 16.2),
///   d(x) = Σ_k λ_k φ(|x − v_k|) + <β_k, ∇φ(|x − v_k|)>,  d(v_k) = 0,  ∇d(v_k) = n_k.
/// Negative inside, a distance near the surface only: half a radius deep it is already too flat.
class HermiteRbf {
 public:
  HermiteRbf() = default;
  /// Solved at unit size, as the system's condition grows with the fourth power of the scale. Points nearer
  /// to an earlier one than a thousandth of the whole set's extent are left out: they would make the system
  /// singular. Throws Error for no points, more than kMostPoints, values that are not finite, normals that
  /// are not of unit length (to 1 %), and sets that defy solving.
  explicit HermiteRbf(std::span<const HermitePoint> points);
  static constexpr std::size_t kMostPoints = 1000;

  struct Value {
    double distance = 0;
    Vec3d gradient = Vec3d::Zero();
  };
  Value evaluate(const Vec3d& x) const;
  double distance(const Vec3d& x) const { return evaluate(x).distance; }

  /// The points it goes through: those given, without near duplicates.
  std::span<const HermitePoint> points() const { return points_; }

  /// Many points at once: `out` gets (d, ∇d) per point. Fast enough to fill grids: in single precision, off
  /// by less than 1e-4 of the points' extent (most parts: 1e-5), and only where that will not do in double.
  void evaluate(std::span<const Vec3f> at, std::span<Vec4f> out) const;

 private:
  std::vector<HermitePoint> points_;
  Vec3d center_ = Vec3d::Zero();
  double scale_ = 1;  // unit size from metres
  // Centres and coefficients at unit size, component after component for the kernel.
  std::vector<double> x_, y_, z_, lambda_, bx_, by_, bz_;
};

}  // namespace sinew
