#pragma once

#include <cmath>

#include <sinew/core/math.h>

namespace sinew {

/// The rotation of a transform, whatever it scales or mirrors; the identity for one that flattens.
inline Quatd rotation_of(const Affine3d& transform) {
  Mat3d m = transform.linear();
  if (m.determinant() < 0) m = -m;
  Vec3d x = m.col(0), y = m.col(1);
  if (!(x.norm() > 0)) return Quatd::Identity();
  x.normalize();
  y -= x.dot(y) * x;
  if (!(y.norm() > 0)) return Quatd::Identity();
  y.normalize();
  Mat3d rotation;
  rotation << x, y, x.cross(y);
  return Quatd(rotation);
}

/// Its axis, as long as its angle in radians, from 0 to π.
inline Vec3d rotation_vector(Quatd turn) {
  if (turn.w() < 0) turn.coeffs() = -turn.coeffs();
  const double sine = turn.vec().norm();
  if (!(sine > 1e-12)) return 2 * turn.vec();
  return turn.vec() * (2 * std::atan2(sine, turn.w()) / sine);
}

/// The smallest turn that takes one direction to another; both have unit length. For opposite ones, half a
/// turn about an axis across them.
inline Quatd shortest_turn(const Vec3d& from, const Vec3d& to) {
  const double w = 1 + from.dot(to);
  if (w < 1e-12) {
    const Vec3d axis = std::abs(from.x()) < 0.6 ? Vec3d::UnitX() : Vec3d::UnitY();
    const Vec3d across = from.cross(axis).normalized();
    return Quatd(0, across.x(), across.y(), across.z());
  }
  const Vec3d v = from.cross(to);
  return Quatd(w, v.x(), v.y(), v.z()).normalized();
}

}  // namespace sinew
