#include "tests/reference/curve_skeleton.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace sinew::reference {

namespace {

constexpr int kSteps = 150;  // per bone

struct Frame {
  Vec3d point;
  Mat3d axes;
};

// Cubic Hermite through `knots` with Catmull-Rom velocities for the parameters `times`.
Vec3d spline(const std::vector<Vec3d>& knots, const std::vector<double>& times, std::size_t bone, double x) {
  const std::size_t last = knots.size() - 1;
  const auto chord = [&](std::size_t k) -> Vec3d {
    return (knots[k + 1] - knots[k]) / (times[k + 1] - times[k]);
  };
  const auto inner = [&](std::size_t k) -> Vec3d {
    const double before = times[k] - times[k - 1], after = times[k + 1] - times[k];
    return (before * chord(k) + after * chord(k - 1)) / (before + after);
  };
  const auto velocity = [&](std::size_t k) -> Vec3d {
    if (k == 0) return chord(0);
    if (k < last) return inner(k);
    return last == 1 ? chord(0) : Vec3d(1.5 * chord(last - 1) - 0.5 * inner(last - 1));
  };
  const double h = times[bone + 1] - times[bone];
  return (2 * x * x * x - 3 * x * x + 1) * knots[bone] + (x * x * x - 2 * x * x + x) * h * velocity(bone) +
         (3 * x * x - 2 * x * x * x) * knots[bone + 1] + (x * x * x - x * x) * h * velocity(bone + 1);
}

std::vector<Frame> frames(const std::vector<Vec3d>& knots, const std::vector<double>& times,
                          const Vec3d& first_normal) {
  std::vector<Frame> result;
  Vec3d normal = first_normal;
  for (std::size_t bone = 0; bone + 1 < knots.size(); ++bone)
    for (int s = 0; s < kSteps + (bone + 2 == knots.size() ? 1 : 0); ++s) {
      const double x = static_cast<double>(s) / kSteps;
      constexpr double kNear = 1e-5;
      const Vec3d tangent =
          (spline(knots, times, bone, x + kNear) - spline(knots, times, bone, x - kNear)).normalized();
      if (!result.empty()) normal = Quatd::FromTwoVectors(result.back().axes.col(0), tangent) * normal;
      normal = (normal - normal.dot(tangent) * tangent).normalized();
      Frame frame;
      frame.point = spline(knots, times, bone, x);
      frame.axes << tangent, normal, tangent.cross(normal);
      result.push_back(frame);
    }
  return result;
}

}  // namespace

void curve_skeleton(std::span<const Vec3f> rest, const SkinWeights& weights, const CurveChain& chain,
                    std::span<const Affine3d> posed_from_rest, std::span<Vec3f> positions) {
  std::vector<Vec3d> rest_knots = chain.places, posed_knots;
  rest_knots.push_back(chain.tip);
  std::vector<Mat3d> rotations;
  std::vector<double> times{0};
  for (std::size_t k = 0; k < rest_knots.size(); ++k) {
    const Affine3d& transform = posed_from_rest[chain.joints[std::min(k, chain.joints.size() - 1)]];
    posed_knots.push_back(transform * rest_knots[k]);
    rotations.push_back(transform.linear());
    if (k > 0) times.push_back(times.back() + std::sqrt((rest_knots[k] - rest_knots[k - 1]).norm()));
  }
  const Vec3d direction = (rest_knots[1] - rest_knots[0]).normalized();
  const Vec3d normal = direction.unitOrthogonal();
  const std::vector<Frame> at_rest = frames(rest_knots, times, normal);
  const std::vector<Frame> posed = frames(posed_knots, times, rotations[0] * normal);

  std::vector<double> twists;
  for (std::size_t k = 0; k < rest_knots.size(); ++k) {
    const std::size_t s = k * kSteps;
    const Mat3d carried = posed[s].axes * at_rest[s].axes.transpose();
    const Quatd missing(Mat3d(rotations[k] * carried.transpose()));
    const double angle = 2 * std::atan2(missing.vec().dot(posed[s].axes.col(0)), missing.w());
    const double last = twists.empty() ? 0 : twists.back();
    twists.push_back(last + std::remainder(angle - last, 2 * std::numbers::pi));
  }
  const auto steepness = [&](std::size_t bone) {
    return (twists[bone + 1] - twists[bone]) / (times[bone + 1] - times[bone]);
  };
  const auto slope = [&](std::size_t k) {
    if (k == 0) return steepness(0);
    if (k + 1 == twists.size()) return steepness(k - 1);
    const double a = steepness(k - 1), b = steepness(k);
    return a * b > 0 ? 2 * a * b / (a + b) : 0;
  };

  for (std::size_t v = 0; v < rest.size(); ++v) {
    double share = 0;
    for (std::size_t i = weights.starts[v]; i < weights.starts[v + 1]; ++i)
      for (const std::uint32_t joint : chain.joints)
        if (weights.joints[i] == joint) share += static_cast<double>(weights.values[i]);
    if (share == 0) continue;
    share *= share;
    const Vec3d p = rest[v].cast<double>();
    std::size_t best = 0;
    double nearest = std::numeric_limits<double>::max();
    for (std::size_t s = 0; s < at_rest.size(); ++s) {
      const double distance = (at_rest[s].point - p).squaredNorm();
      if (distance < nearest) nearest = distance, best = s;
    }
    const std::size_t bone = std::min(best / kSteps, rest_knots.size() - 2);
    const double x = static_cast<double>(best - bone * kSteps) / kSteps, h = times[bone + 1] - times[bone];
    const double angle =
        (2 * x * x * x - 3 * x * x + 1) * twists[bone] + (x * x * x - 2 * x * x + x) * h * slope(bone) +
        (3 * x * x - 2 * x * x * x) * twists[bone + 1] + (x * x * x - x * x) * h * slope(bone + 1);
    const Vec3d local = at_rest[best].axes.transpose() * (p - at_rest[best].point);
    const Vec3d moved = posed[best].point +
                        Eigen::AngleAxisd(angle, posed[best].axes.col(0)) * Vec3d(posed[best].axes * local);
    positions[v] = ((1 - share) * positions[v].cast<double>() + share * moved).cast<float>();
  }
}

}  // namespace sinew::reference
