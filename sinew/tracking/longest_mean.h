#pragma once

#include <cmath>

#include <sinew/core/math.h>

namespace sinew {

/// A mean in which the longest vectors count most, by the fourth power of their lengths: nearly the longest
/// one, but without jumps. What is not finite does not count.
struct LongestMean {
  Vec3f sum = Vec3f::Zero();
  float weights = 0;

  void add(const Vec3f& way) {
    const float weight = way.squaredNorm() * way.squaredNorm();
    if (!(weight > 0) || !std::isfinite(weight)) return;
    sum += weight * way;
    weights += weight;
  }
  Vec3f mean() const { return weights > 0 ? Vec3f(sum / weights) : Vec3f(Vec3f::Zero()); }
};

}  // namespace sinew
