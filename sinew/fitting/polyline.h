#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <sinew/core/math.h>
#include <sinew/geometry/segment.h>

namespace sinew {

/// A way through points, measured along it; metres. At least one point.
class Polyline {
 public:
  explicit Polyline(std::vector<Vec3d> points) : points_(std::move(points)), along_{0} {
    for (std::size_t k = 1; k < points_.size(); ++k)
      along_.push_back(along_.back() + (points_[k] - points_[k - 1]).norm());
  }

  double length() const { return along_.back(); }
  std::size_t size() const { return points_.size(); }
  const Vec3d& point(std::size_t k) const { return points_[k]; }
  /// How far along point k is.
  double along(std::size_t k) const { return along_[k]; }
  /// The point so far along, between the ends.
  Vec3d at(double along) const {
    if (points_.size() == 1 || along <= 0) return points_[0];
    const auto next = std::upper_bound(along_.begin(), along_.end(), along);
    if (next == along_.end()) return points_.back();
    const auto k = static_cast<std::size_t>(next - along_.begin());
    const double step = along_[k] - along_[k - 1];
    const double share = step > 0 ? (along - along_[k - 1]) / step : 0;
    return points_[k - 1] + share * (points_[k] - points_[k - 1]);
  }
  /// How far along the point nearest to `p` is.
  double nearest(const Vec3d& p) const { return look(p).second; }
  double distance(const Vec3d& p) const { return look(p).first; }
  /// The point of those given that is nearest to being so far along.
  std::size_t nearest_index(double along) const {
    std::size_t best = 0;
    for (std::size_t k = 1; k < along_.size(); ++k)
      if (std::abs(along_[k] - along) < std::abs(along_[best] - along)) best = k;
    return best;
  }
  /// `count` points at even distances, both ends included.
  std::vector<Vec3d> resampled(std::size_t count) const {
    std::vector<Vec3d> points;
    for (std::size_t k = 0; k < count; ++k)
      points.push_back(at(length() * static_cast<double>(k) / static_cast<double>(count - 1)));
    points.back() = points_.back();
    return points;
  }

 private:
  std::pair<double, double> look(const Vec3d& p) const {
    double best = (points_[0] - p).norm(), where = 0;
    for (std::size_t k = 1; k < points_.size(); ++k) {
      const Vec3d on = nearest_on_segment(points_[k - 1], points_[k], p);
      if (const double distance = (on - p).norm(); distance < best) {
        best = distance;
        where = along_[k - 1] + (on - points_[k - 1]).norm();
      }
    }
    return {best, where};
  }

  std::vector<Vec3d> points_;
  std::vector<double> along_;
};

}  // namespace sinew
