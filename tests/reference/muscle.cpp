#include "tests/reference/muscle.h"

#include <algorithm>
#include <cmath>

#include "tests/reference/implicit_fields.h"

namespace sinew::reference {

double muscle_bend(const Muscle& muscle, std::span<const Affine3d> posed_from_rest) {
  const Vec3d before = posed_from_rest[muscle.driver_parent_transform].linear() * muscle.driver_bone;
  const Vec3d after = posed_from_rest[muscle.driver_transform].linear() * muscle.driver_bone;
  const double cosine = before.dot(after) / (before.norm() * after.norm());
  const double t = std::min(std::acos(std::clamp(cosine, -1.0, 1.0)) / muscle.full_angle, 1.0);
  return 3 * t * t - 2 * t * t * t;
}

Spindle muscle_spindle(const Muscle& muscle, const Affine3d& host,
                       std::span<const Affine3d> posed_from_rest) {
  const Vec3d a = host.inverse() * posed_from_rest[muscle.origin_transform] * muscle.origin;
  const Vec3d b = host.inverse() * posed_from_rest[muscle.insertion_transform] * muscle.insertion;
  const double bend = reference::muscle_bend(muscle, posed_from_rest);
  const double length = (b - a).norm(), rest_length = (muscle.insertion - muscle.origin).norm();
  Spindle spindle;
  spindle.radius =
      muscle.radius * (1 + muscle.swell * bend) * std::clamp(std::sqrt(rest_length / length), 0.7, 1.5);
  spindle.half = std::max(length / 2, spindle.radius);
  spindle.axis = (b - a) / length;
  spindle.center = (a + b) / 2 + muscle.lift * bend * muscle.radius * muscle.outwards;
  return spindle;
}

double muscle_value(const Spindle& spindle, double host_support, const Vec3d& rest) {
  const Vec3d from = rest - spindle.center;
  const double z = from.dot(spindle.axis);
  const double across = (from - z * spindle.axis).norm();
  const double k2 = std::pow(z / spindle.half, 2) + std::pow(across / spindle.radius, 2);
  const double surface = std::sqrt(1.25);
  return compact_support(spindle.radius * surface * (std::sqrt(k2 + 0.25) - surface), host_support);
}

double merged_value(double a, double b) {
  const double apart = std::abs(a - b), width = static_cast<double>(kMuscleBlend) * (a + b);
  if (!(apart < width)) return std::max(a, b);
  return std::min(std::max(a, b) + std::pow(width - apart, 2) / (4 * width), 1.0);
}

}  // namespace sinew::reference
