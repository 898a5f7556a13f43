#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/core/math.h>
#include <sinew/effects/limb_chart.h>
#include <sinew/effects/volume_patch.h>
#include <sinew/geometry/one_rings.h>

namespace sinew {

/// A curve drawn along a joint's bones: how far the skin is to swell there (Rohmer 2014, §II.4, figure 9).
/// One bump makes a muscle, two make rolls of fat.
class SwellProfile {
 public:
  struct Point {
    double along = 0;  ///< from -1 to 1, see JointPlace::along
    double value = 0;  ///< from 0 to 1
  };

  SwellProfile() = default;
  /// Smooth: cubic Hermite pieces without overshoot (Fritsch and Carlson); else straight pieces. Throws Error
  /// unless there are at least two points and `along` ascends.
  SwellProfile(std::vector<Point> points, bool smooth);

  bool empty() const { return points_.empty(); }
  /// Zero before the first and after the last point.
  double operator()(double along) const;

 private:
  std::vector<Point> points_;
  std::vector<double> slopes_;  // per point; empty: straight pieces
};

/// How freely the skin round a joint moves to restore the joint's volume: σ of its vertices.
struct FreedomRule {
  SwellProfile profile;  ///< empty: all round the joint, fading out along its bones
  /// From 0 to 1: how much skin near the bone is held by it. At 1, freedom grows with the distance from it.
  double softness = 0.5;
  Vec3d side = Vec3d::Zero();  ///< of the bone that swells, at rest; zero: all sides
  double spread = 0.7;         ///< standard deviation of the angle from that side, radians
  struct Ball {
    Vec3d centre = Vec3d::Zero();
    double radius = 0;
  };
  std::vector<Ball> region;  ///< skin outside of these stays; none: all is free
};

/// σ at a place along a joint's bones, as far as that alone counts.
double freedom_along(const FreedomRule& rule, double along);

/// The vertices that are free, ascending, with their σ, from 0 to 1. With the surface's rings it changes
/// gradually along the surface, too, where the skin of one bone meets that of another.
std::vector<VolumePatch::Vertex> find_freedom(const LimbChart& chart, std::span<const Vec3f> rest,
                                              std::uint32_t anchor, const FreedomRule& rule,
                                              const OneRings* rings = nullptr);

}  // namespace sinew
