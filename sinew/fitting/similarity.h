#pragma once

#include <span>

#include <sinew/core/math.h>

namespace sinew {

/// Uniform scale, turn and shift: x ↦ scale · turn · x + shift.
struct Similarity {
  double scale = 1;
  Mat3d turn = Mat3d::Identity();
  Vec3d shift = Vec3d::Zero();

  Vec3d operator()(const Vec3d& x) const { return scale * (turn * x) + shift; }
};

/// The similarity that takes `from` to `to` best, by least squares (Umeyama 1991), never a mirror image.
/// `usual` and `usual_scale` decide what the points leave open: a single point tells neither turn nor scale,
/// two or such on a line not the turn about it. Both spans have the same size.
Similarity best_similarity(std::span<const Vec3d> from, std::span<const Vec3d> to, const Mat3d& usual,
                           double usual_scale);

/// Where `p` goes when `from` goes to `to`: by the best similarity, and by what that leaves over at the
/// points, each counting by its inverse squared distance. Meets `to` exactly at `from`.
Vec3d carried(std::span<const Vec3d> from, std::span<const Vec3d> to, const Vec3d& p, const Mat3d& usual,
              double usual_scale);

}  // namespace sinew
