#pragma once

#include <cmath>

#include <sinew/core/math.h>
#include <sinew/core/smooth_step.h>

namespace sinew {

/// Cosine of the angle between two gradients; 1 where one vanishes.
inline float gradient_cosine(const Vec3f& a, const Vec3f& b) {
  const float squares = a.squaredNorm() * b.squaredNorm();
  return squares > 0 ? a.dot(b) / std::sqrt(squares) : 1.0f;
}

/// Cosines of two gradients up to which they oppose each other wholly, and from which on not at all.
inline constexpr float kOpposed = 0, kAlong = 0.7f;

/// How far two gradients oppose each other, by their cosine: 0 up to 45°, 1 from a right angle on. Then two
/// skins face each other.
inline float opposition(float gradient_cosine) {
  return 1 - smooth_step(kOpposed, kAlong, gradient_cosine);
}
inline float opposition(const Vec3f& a, const Vec3f& b) {
  return opposition(gradient_cosine(a, b));
}

}  // namespace sinew
