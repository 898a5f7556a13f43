#pragma once

#include <span>

#include <sinew/core/math.h>

namespace sinew {

/// Uniform scale, rotation and translation: x ↦ scale · rotation · x + translation.
struct Similarity {
  double scale = 1;
  Mat3d rotation = Mat3d::Identity();
  Vec3d translation = Vec3d::Zero();

  Vec3d operator()(const Vec3d& x) const { return scale * (rotation * x) + translation; }
};

/// The similarity that takes `from` to `to` best, by least squares (Umeyama 1991), never a mirror image.
/// `default_rotation` and `default_scale` decide what the points leave open: a single point tells neither
/// rotation nor scale, two or such on a line not the rotation about it. Both spans have the same size.
Similarity best_similarity(std::span<const Vec3d> from, std::span<const Vec3d> to,
                           const Mat3d& default_rotation, double default_scale);

/// Where `p` goes when `from` goes to `to`: by the best similarity, plus its residuals at the points,
/// interpolated by inverse squared distance (Shepard 1968). Meets `to` exactly at `from`.
Vec3d warped(std::span<const Vec3d> from, std::span<const Vec3d> to, const Vec3d& p,
             const Mat3d& default_rotation, double default_scale);

}  // namespace sinew
