#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <sinew/core/index.h>
#include <sinew/core/math.h>
#include <sinew/geometry/segment.h>

namespace sinew {

/// A polyline, measured by its arc length; metres. At least one point.
class Polyline {
 public:
  explicit Polyline(std::vector<Vec3d> points) : points_(std::move(points)), arc_length_{0} {
    for (std::size_t k = 1; k < points_.size(); ++k)
      arc_length_.push_back(arc_length_.back() + (points_[k] - points_[k - 1]).norm());
  }

  double length() const { return arc_length_.back(); }
  std::size_t size() const { return points_.size(); }
  const Vec3d& point(std::size_t k) const { return points_[k]; }
  /// From the first point to point k.
  double arc_length(std::size_t k) const { return arc_length_[k]; }
  /// The point at an arc length; the ends where that is beyond them.
  Vec3d at(double arc_length) const {
    if (points_.size() == 1 || arc_length <= 0) return points_[0];
    const auto next = std::upper_bound(arc_length_.begin(), arc_length_.end(), arc_length);
    if (next == arc_length_.end()) return points_.back();
    const auto k = to_size(next - arc_length_.begin());
    const double step = arc_length_[k] - arc_length_[k - 1];
    const double share = step > 0 ? (arc_length - arc_length_[k - 1]) / step : 0;
    return points_[k - 1] + share * (points_[k] - points_[k - 1]);
  }
  /// The arc length of the point nearest to `p`.
  double project(const Vec3d& p) const { return nearest(p).second; }
  double distance(const Vec3d& p) const { return nearest(p).first; }
  /// The point of those given whose arc length is nearest to this one.
  std::size_t nearest_index(double arc_length) const {
    std::size_t best = 0;
    for (std::size_t k = 1; k < arc_length_.size(); ++k)
      if (std::abs(arc_length_[k] - arc_length) < std::abs(arc_length_[best] - arc_length)) best = k;
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
  /// Distance and arc length of the nearest point.
  std::pair<double, double> nearest(const Vec3d& p) const {
    double best = (points_[0] - p).norm(), where = 0;
    for (std::size_t k = 1; k < points_.size(); ++k) {
      const Vec3d on = nearest_on_segment(points_[k - 1], points_[k], p);
      if (const double distance = (on - p).norm(); distance < best) {
        best = distance;
        where = arc_length_[k - 1] + (on - points_[k - 1]).norm();
      }
    }
    return {best, where};
  }

  std::vector<Vec3d> points_;
  std::vector<double> arc_length_;
};

}  // namespace sinew
