#include <sinew/fitting/similarity.h>

#include <cassert>
#include <cmath>

#include <Eigen/SVD>

namespace sinew {

namespace {

/// How much the default rotation counts, as a share of the points' covariance: it decides where that is
/// singular and hardly counts elsewhere. By hand.
constexpr double kDefaultWeight = 1e-3;

Vec3d mean(std::span<const Vec3d> points) {
  Vec3d sum = Vec3d::Zero();
  for (const Vec3d& point : points) sum += point;
  return points.empty() ? sum : Vec3d(sum / static_cast<double>(points.size()));
}

}  // namespace

Similarity best_similarity(std::span<const Vec3d> from, std::span<const Vec3d> to,
                           const Mat3d& default_rotation, double default_scale) {
  assert(from.size() == to.size());
  const Vec3d from_mean = mean(from), to_mean = mean(to);
  Mat3d covariance = Mat3d::Zero();
  double from_spread = 0, to_spread = 0;
  for (std::size_t k = 0; k < from.size(); ++k) {
    covariance += (to[k] - to_mean) * (from[k] - from_mean).transpose();
    from_spread += (from[k] - from_mean).squaredNorm();
    to_spread += (to[k] - to_mean).squaredNorm();
  }
  Similarity result{default_scale, default_rotation, Vec3d::Zero()};
  if (from_spread > 0 && to_spread > 0) {
    // A little of the default rotation, which rules where the points do not.
    covariance += kDefaultWeight * std::sqrt(from_spread * to_spread) * default_rotation;
    const Eigen::JacobiSVD<Mat3d> svd(covariance, Eigen::ComputeFullU | Eigen::ComputeFullV);
    Mat3d sign = Mat3d::Identity();
    if ((svd.matrixU() * svd.matrixV().transpose()).determinant() < 0) sign(2, 2) = -1;
    result.rotation = svd.matrixU() * sign * svd.matrixV().transpose();
    double matched = 0;
    for (std::size_t k = 0; k < from.size(); ++k)
      matched += (to[k] - to_mean).dot(result.rotation * (from[k] - from_mean));
    if (matched > 0) result.scale = matched / from_spread;
  }
  result.translation = to_mean - result.scale * (result.rotation * from_mean);
  return result;
}

Vec3d warped(std::span<const Vec3d> from, std::span<const Vec3d> to, const Vec3d& p,
             const Mat3d& default_rotation, double default_scale) {
  const Similarity similarity = best_similarity(from, to, default_rotation, default_scale);
  Vec3d residual = Vec3d::Zero();
  double total = 0;
  for (std::size_t k = 0; k < from.size(); ++k) {
    const double squared_distance = (from[k] - p).squaredNorm();
    if (squared_distance < 1e-20) return to[k];
    residual += (to[k] - similarity(from[k])) / squared_distance;
    total += 1 / squared_distance;
  }
  return similarity(p) + (total > 0 ? Vec3d(residual / total) : residual);
}

}  // namespace sinew
