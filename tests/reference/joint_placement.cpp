#include <tests/reference/joint_placement.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace sinew::reference {

namespace {

double angle_between(const Vec3d& a, const Vec3d& b) {
  return std::atan2(a.cross(b).norm(), a.dot(b));
}

double length_of(std::span<const Vec3d> line) {
  double length = 0;
  for (std::size_t k = 1; k < line.size(); ++k) length += (line[k] - line[k - 1]).norm();
  return length;
}

struct Problem {
  std::span<const Vec3d> joints, arc;
  const JointPlacementOptions& options;

  /// At joint j, which stands at b.
  double angle(std::size_t j, std::size_t a, std::size_t b, std::size_t c) const {
    const double initial = angle_between(joints[j] - joints[j - 1], joints[j + 1] - joints[j]);
    const double theta = angle_between(arc[b] - arc[a], arc[c] - arc[b]) - initial;
    return options.angle * std::abs(theta);
  }

  /// Of the bone that ends in joint j.
  double bone(std::size_t j, std::size_t a, std::size_t b) const {
    const double whole = length_of(arc);
    const double initial = (joints[j] - joints[j - 1]).norm() * whole / length_of(joints);
    const double l = ((arc[b] - arc[a]).norm() - initial) / std::max(initial, 0.01 * whole);
    double x = 0;
    for (std::size_t k = a; k <= b; ++k) {
      const Vec3d along = arc[b] - arc[a];
      const double t = std::clamp((arc[k] - arc[a]).dot(along) / along.squaredNorm(), 0.0, 1.0);
      x = std::max(x, (arc[a] + t * along - arc[k]).norm());
    }
    const bool inner = j + 1 < joints.size();
    const double extra = inner && options.extra ? options.extra(static_cast<int>(j), b) : 0;
    return options.length * l * l + options.distance * x / whole + extra;
  }

  /// résoudreJointsInterne: previous and current joint's point, how many inner joints remain.
  JointPlacement solve(std::size_t previous, std::size_t current, std::size_t remaining) const {
    const std::size_t j = joints.size() - 1 - remaining;  // the next joint
    const auto step = [&](std::size_t next) {
      return (j > 1 ? angle(j - 1, previous, current, next) : 0) + bone(j, current, next);
    };
    JointPlacement result;
    if (remaining == 0) {
      result.points = {arc.size() - 1};
      result.cost = step(arc.size() - 1);
      return result;
    }
    result.cost = std::numeric_limits<double>::infinity();
    for (std::size_t next = current + 1; next + remaining < arc.size(); ++next) {
      const JointPlacement child = solve(current, next, remaining - 1);
      const double cost = step(next) + child.cost;
      if (cost >= result.cost) continue;
      result.cost = cost;
      result.points = {next};
      result.points.insert(result.points.end(), child.points.begin(), child.points.end());
    }
    return result;
  }
};

}  // namespace

double placement_cost(std::span<const Vec3d> joints, std::span<const Vec3d> arc,
                      std::span<const std::size_t> points, const JointPlacementOptions& options) {
  const Problem problem{joints, arc, options};
  double cost = 0;
  for (std::size_t j = 1; j < points.size(); ++j) cost += problem.bone(j, points[j - 1], points[j]);
  for (std::size_t j = 1; j + 1 < points.size(); ++j)
    cost += problem.angle(j, points[j - 1], points[j], points[j + 1]);
  return cost;
}

JointPlacement place_joints(std::span<const Vec3d> joints, std::span<const Vec3d> arc,
                            const JointPlacementOptions& options) {
  JointPlacement result = Problem{joints, arc, options}.solve(0, 0, joints.size() - 2);
  result.points.insert(result.points.begin(), 0);
  result.arc.assign(arc.begin(), arc.end());
  return result;
}

}  // namespace sinew::reference
