#include <sinew/fitting/similarity.h>

#include <cassert>
#include <cmath>

#include <Eigen/SVD>

namespace sinew {

namespace {

Vec3d mean(std::span<const Vec3d> points) {
  Vec3d sum = Vec3d::Zero();
  for (const Vec3d& point : points) sum += point;
  return points.empty() ? sum : Vec3d(sum / static_cast<double>(points.size()));
}

}  // namespace

Similarity best_similarity(std::span<const Vec3d> from, std::span<const Vec3d> to, const Mat3d& usual,
                           double usual_scale) {
  assert(from.size() == to.size());
  const Vec3d from_mean = mean(from), to_mean = mean(to);
  Mat3d covariance = Mat3d::Zero();
  double from_spread = 0, to_spread = 0;
  for (std::size_t k = 0; k < from.size(); ++k) {
    covariance += (to[k] - to_mean) * (from[k] - from_mean).transpose();
    from_spread += (from[k] - from_mean).squaredNorm();
    to_spread += (to[k] - to_mean).squaredNorm();
  }
  Similarity result{usual_scale, usual, Vec3d::Zero()};
  if (from_spread > 0 && to_spread > 0) {
    // A little of the usual turn, which rules where the points do not.
    covariance += 1e-3 * std::sqrt(from_spread * to_spread) * usual;
    const Eigen::JacobiSVD<Mat3d> svd(covariance, Eigen::ComputeFullU | Eigen::ComputeFullV);
    Mat3d sign = Mat3d::Identity();
    if ((svd.matrixU() * svd.matrixV().transpose()).determinant() < 0) sign(2, 2) = -1;
    result.turn = svd.matrixU() * sign * svd.matrixV().transpose();
    double matched = 0;
    for (std::size_t k = 0; k < from.size(); ++k)
      matched += (to[k] - to_mean).dot(result.turn * (from[k] - from_mean));
    if (matched > 0) result.scale = matched / from_spread;
  }
  result.shift = to_mean - result.scale * (result.turn * from_mean);
  return result;
}

Vec3d carried(std::span<const Vec3d> from, std::span<const Vec3d> to, const Vec3d& p, const Mat3d& usual,
              double usual_scale) {
  const Similarity similarity = best_similarity(from, to, usual, usual_scale);
  Vec3d over = Vec3d::Zero();
  double total = 0;
  for (std::size_t k = 0; k < from.size(); ++k) {
    const double distance = (from[k] - p).squaredNorm();
    if (distance < 1e-20) return to[k];
    over += (to[k] - similarity(from[k])) / distance;
    total += 1 / distance;
  }
  return similarity(p) + (total > 0 ? Vec3d(over / total) : over);
}

}  // namespace sinew
