#pragma once

#include <span>

#include <sinew/implicit/muscle.h>

// Muscles of implicit skinning, straight from their formulas.
namespace sinew::reference {

/// A spindle of revolution in the rest space of its host: the ellipsoid with half axes `half` along `axis`
/// and `radius` across it; a ball where it is shorter than thick.
struct Spindle {
  Vec3d center = Vec3d::Zero();
  Vec3d axis = Vec3d::UnitX();
  double half = 0;
  double radius = 0;
};

/// s = 3t² − 2t³, t = min(α / full angle, 1), α between the driver's bone as the joint before carries it and
/// as the driver does.
double muscle_bend(const Muscle& muscle, std::span<const Affine3d> posed_from_rest);

/// Ends A and B brought to the host's rest space; c = (A + B)/2 + lift s r₀ outwards;
/// r = r₀ (1 + swell s) clamp(√(L₀/L), 0.7, 1.5).
Spindle muscle_spindle(const Muscle& muscle, const Affine3d& host, std::span<const Affine3d> posed_from_rest);

/// t_R(d), d = r √(1+e²) (√(k²+e²) − √(1+e²)), k² = (z/half)² + (ρ/radius)², e = ½, at a point of the host's
/// rest space at height z along the axis and distance ρ from it.
double muscle_value(const Spindle& spindle, double host_support, const Vec3d& rest);

/// max(a, b) + (w − |a − b|)² / 4w, w = kMuscleBlend (a + b), where |a − b| < w; at most 1.
double merged_value(double a, double b);

}  // namespace sinew::reference
