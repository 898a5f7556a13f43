#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <numbers>

#include <sinew/core/math.h>

/// What the clips of built-in characters are put together from.
namespace sinew {

inline constexpr double kFramesPerSecond = 30;  ///< of all clips
inline constexpr double kTurn = 2 * std::numbers::pi;

/// From 0 to 1, level at both ends; constant outside.
inline double smooth(double x) {
  x = std::clamp(x, 0.0, 1.0);
  return x * x * (3 - 2 * x);
}

/// A value through {time, value} keys at rising times, smooth in between; before and after them, the first
/// and the last.
template <std::size_t Count>
double through(const std::array<std::array<double, 2>, Count>& keys, double time) {
  if (time <= keys[0][0]) return keys[0][1];
  for (std::size_t k = 0; k + 1 < Count; ++k)
    if (time <= keys[k + 1][0]) {
      const double share = (time - keys[k][0]) / (keys[k + 1][0] - keys[k][0]);
      return keys[k][1] + smooth(share) * (keys[k + 1][1] - keys[k][1]);
    }
  return keys.back()[1];
}

/// Positive takes the front end (+z) down.
inline Quatd about_x(double degrees) {
  return Quatd(Eigen::AngleAxisd(degrees * kDegree, Vec3d::UnitX()));
}

}  // namespace sinew
