#pragma once

#include <algorithm>
#include <cmath>

#include <sinew/core/math.h>

namespace sinew {

/// 0 up to `low`, 1 from `high` on, C¹ between.
inline float smooth_step(float low, float high, float x) {
  const float t = std::clamp((x - low) / (high - low), 0.0f, 1.0f);
  return t * t * (3 - 2 * t);
}

/// Cosine of the angle between two gradients; 1 where one vanishes.
inline float gradient_cosine(const Vec3f& a, const Vec3f& b) {
  const float squares = a.squaredNorm() * b.squaredNorm();
  return squares > 0 ? a.dot(b) / std::sqrt(squares) : 1.0f;
}

/// How far two gradients oppose each other: 0 up to 45°, 1 from a right angle on. Then two skins face each
/// other.
inline float opposition(const Vec3f& a, const Vec3f& b) {
  return 1 - smooth_step(0, 0.7f, gradient_cosine(a, b));
}

}  // namespace sinew
