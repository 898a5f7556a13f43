#include <sinew/fitting/joint_placement.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>

#include <sinew/core/index.h>
#include <sinew/geometry/segment.h>

namespace sinew {

namespace {

constexpr double kUnreachable = std::numeric_limits<double>::infinity();

/// Bones with a shorter initial length count as so long, as a share of the arc: relative changes of nothing
/// have no bound. By hand.
constexpr double kMinInitialLength = 0.01;
/// Points per bone of an arc that has fewer points than joints: upper_bound to keep the chain's proportions.
/// By hand.
constexpr std::size_t kResampledPerBone = 4;

double polyline_length(std::span<const Vec3d> points) {
  double length = 0;
  for (std::size_t k = 1; k < points.size(); ++k) length += (points[k] - points[k - 1]).norm();
  return length;
}

Vec3d unit_or_zero(const Vec3d& v) {
  const double length = v.norm();
  return length > 0 ? Vec3d(v / length) : Vec3d(Vec3d::Zero());
}

/// Angle between two unit directions; 0 where one of them is zero.
double angle_between_units(const Vec3d& a, const Vec3d& b) {
  if (a.isZero(0) || b.isZero(0)) return 0;
  return std::acos(std::clamp(a.dot(b), -1.0, 1.0));
}

std::vector<Vec3d> resample(std::span<const Vec3d> points, std::size_t count) {
  std::vector<Vec3d> even(count, points.back());
  const double step = polyline_length(points) / static_cast<double>(count - 1);
  double before = 0;
  std::size_t next = 0;
  for (std::size_t k = 1; k < points.size(); ++k) {
    const double length = (points[k] - points[k - 1]).norm();
    for (; next + 1 < count && static_cast<double>(next) * step <= before + length; ++next) {
      const double t = length > 0 ? (static_cast<double>(next) * step - before) / length : 0;
      even[next] = points[k - 1] + std::clamp(t, 0.0, 1.0) * (points[k] - points[k - 1]);
    }
    before += length;
  }
  return even;
}

/// Eq. 3.1 for one chain and one arc.
class JointPlacementSolver {
 public:
  /// `extra` per joint and point, joint by joint; may be empty.
  JointPlacementSolver(std::span<const Vec3d> joints, std::span<const Vec3d> arc,
                       std::span<const double> extra, const JointPlacementOptions& options);

  /// Per joint its point; sets the cost.
  std::vector<std::size_t> solve(double& cost);

 private:
  std::size_t pair(std::size_t a, std::size_t b) const { return a * points_ + b; }
  double& bone_cost(std::size_t bone, std::size_t a, std::size_t b) {
    return bone_cost_[bone * points_ * points_ + pair(a, b)];
  }
  // k_i < k_j for i < j: each of the other joints needs its point too.
  std::size_t first(std::size_t joint) const { return joint == bones_ ? points_ - 1 : joint; }
  std::size_t last(std::size_t joint) const { return joint == 0 ? 0 : points_ - 1 - (bones_ - joint); }

  std::vector<std::size_t> solve_without_angles();

  std::size_t bones_, points_;
  double angle_;
  std::vector<double> bend_;        // per joint, in the rig; the ends' are not used
  std::vector<Vec3d> direction_;    // per pair of points
  std::vector<double> bone_cost_;   // per bone and pair; with the extra cost of its last joint
  std::vector<double> cost_after_;  // per joint and point: least cost of all bones after it, without angles
};

JointPlacementSolver::JointPlacementSolver(std::span<const Vec3d> joints, std::span<const Vec3d> arc,
                                           std::span<const double> extra,
                                           const JointPlacementOptions& options)
    : bones_(joints.size() - 1), points_(arc.size()), angle_(options.angle), bend_(joints.size(), 0) {
  const double arc_length = polyline_length(arc);
  const double chain_length = polyline_length(joints);
  for (std::size_t j = 1; j < bones_; ++j)
    bend_[j] =
        angle_between_units(unit_or_zero(joints[j] - joints[j - 1]), unit_or_zero(joints[j + 1] - joints[j]));

  direction_.assign(points_ * points_, Vec3d::Zero());
  bone_cost_.assign(bones_ * points_ * points_, 0);
  for (std::size_t a = 0; a + 1 < points_; ++a)
    for (std::size_t b = a + 1; b < points_; ++b) {
      direction_[pair(a, b)] = unit_or_zero(arc[b] - arc[a]);
      double away = 0;  // squared distance
      for (std::size_t k = a + 1; k < b; ++k)
        away = std::max(away, (nearest_on_segment(arc[a], arc[b], arc[k]) - arc[k]).squaredNorm());
      // Lengths as parts of the arc's; an arc without length has nothing to choose.
      const double length = arc_length > 0 ? (arc[b] - arc[a]).norm() / arc_length : 0;
      const double x = arc_length > 0 ? std::sqrt(away) / arc_length : 0;
      for (std::size_t i = 0; i < bones_; ++i) {
        const double initial = chain_length > 0 ? (joints[i + 1] - joints[i]).norm() / chain_length
                                                : 1 / static_cast<double>(bones_);
        const double l = (length - initial) / std::max(initial, kMinInitialLength);
        const double here = extra.empty() ? 0 : extra[(i + 1) * points_ + b];
        bone_cost(i, a, b) = options.length * l * l + options.distance * x + here;  // Poirier, eq. 3.1
      }
    }
}

/// The same without γ_θ: one joint after the other. Fills cost_after_, which bounds the whole from below.
std::vector<std::size_t> JointPlacementSolver::solve_without_angles() {
  cost_after_.assign((bones_ + 1) * points_, kUnreachable);
  cost_after_[bones_ * points_ + points_ - 1] = 0;
  std::vector<std::size_t> next(bones_ * points_, 0);
  for (std::size_t j = bones_; j-- > 0;)
    for (std::size_t a = first(j); a <= last(j); ++a)
      for (std::size_t b = std::max(a + 1, first(j + 1)); b <= last(j + 1); ++b) {
        const double cost = bone_cost(j, a, b) + cost_after_[(j + 1) * points_ + b];
        if (cost >= cost_after_[j * points_ + a]) continue;
        cost_after_[j * points_ + a] = cost;
        next[j * points_ + a] = b;
      }
  std::vector<std::size_t> path{0};
  for (std::size_t j = 0; j < bones_; ++j) path.push_back(next[j * points_ + path.back()]);
  return path;
}

std::vector<std::size_t> JointPlacementSolver::solve(double& cost) {
  const std::vector<std::size_t> start = solve_without_angles();
  const auto angle_cost = [&](std::size_t joint, double angle) {
    return angle_ * std::abs(angle - bend_[joint]);  // Poirier, eq. 3.1: γ_θ |θ_i|
  };
  // The start's cost is an upper bound: no part of the best costs more. The margin is for rounding.
  double upper_bound = cost_after_[0];
  for (std::size_t j = 1; j < bones_; ++j)
    upper_bound += angle_cost(j, angle_between_units(direction_[pair(start[j - 1], start[j])],
                                                     direction_[pair(start[j], start[j + 1])]));
  upper_bound += 1e-12 * (1 + std::abs(upper_bound));

  // least[i][a, b]: the chain up to bone i, which lies on a-b; from[i][a, b]: where bone i - 1 starts then.
  // One sweep over the point b in the middle serves all joints, so that an angle is computed once at most.
  std::vector<double> least(bones_ * points_ * points_, kUnreachable);
  std::vector<std::uint32_t> from(bones_ * points_ * points_, 0);
  const auto slot = [&](std::size_t bone, std::size_t a, std::size_t b) {
    return bone * points_ * points_ + pair(a, b);
  };
  const auto can_win = [&](std::size_t bone, std::size_t b, double value) {
    return value + cost_after_[(bone + 1) * points_ + b] <= upper_bound;
  };
  for (std::size_t b = first(1); b <= last(1); ++b)
    if (const double value = bone_cost(0, 0, b); can_win(0, b, value)) least[slot(0, 0, b)] = value;

  struct Candidate {
    std::size_t joint, a;
    double cost;
  };
  std::vector<Candidate> candidates;
  std::vector<double> angles(points_);
  for (std::size_t b = 1; b + 1 < points_; ++b) {
    candidates.clear();
    for (std::size_t j = 1; j < bones_; ++j)
      for (std::size_t a = 0; a < b; ++a)
        if (const double value = least[slot(j - 1, a, b)]; value < kUnreachable)
          candidates.push_back({j, a, value});
    if (candidates.empty()) continue;
    // Cheap ones first, so that most others are rejected before their angle is computed.
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& p, const Candidate& q) { return p.cost < q.cost; });
    for (std::size_t c = b + 1; c < points_; ++c) {
      std::fill(angles.begin(), angles.begin() + static_cast<std::ptrdiff_t>(b), -1.0);
      for (const Candidate& candidate : candidates) {
        const std::size_t j = candidate.joint;
        if (c < first(j + 1) || c > last(j + 1)) continue;
        const double straight = candidate.cost + bone_cost(j, b, c);
        double& best = least[slot(j, b, c)];
        if (straight >= best || !can_win(j, c, straight)) continue;  // Algorithm 2: "récursion inutile"
        double& angle = angles[candidate.a];
        if (angle < 0) angle = angle_between_units(direction_[pair(candidate.a, b)], direction_[pair(b, c)]);
        const double value = straight + angle_cost(j, angle);
        if (value >= best || !can_win(j, c, value)) continue;
        best = value;
        from[slot(j, b, c)] = static_cast<std::uint32_t>(candidate.a);
      }
    }
  }

  std::size_t at = 0;
  cost = kUnreachable;
  for (std::size_t a = first(bones_ - 1); a <= last(bones_ - 1); ++a)
    if (const double value = least[slot(bones_ - 1, a, points_ - 1)]; value < cost) {
      cost = value;
      at = a;
    }
  std::vector<std::size_t> path(bones_ + 1, points_ - 1);
  for (std::size_t i = bones_; i-- > 0;) {
    path[i] = at;
    at = from[slot(i, at, path[i + 1])];
  }
  return path;
}

}  // namespace

JointPlacement place_joints(std::span<const Vec3d> joints, std::span<const Vec3d> arc,
                            const JointPlacementOptions& options) {
  assert(joints.size() >= 2 && !arc.empty());
  assert(std::all_of(joints.begin(), joints.end(), [](const Vec3d& p) { return p.allFinite(); }));
  assert(std::all_of(arc.begin(), arc.end(), [](const Vec3d& p) { return p.allFinite(); }));
  JointPlacement placement;
  placement.arc = arc.size() >= joints.size() ? std::vector<Vec3d>(arc.begin(), arc.end())
                                              : resample(arc, kResampledPerBone * (joints.size() - 1) + 1);
  const std::size_t points = placement.arc.size();
  std::vector<double> extra;
  if (options.extra) {
    extra.assign(joints.size() * points, 0);
    for (std::size_t j = 1; j + 1 < joints.size(); ++j)
      for (std::size_t k = 0; k < points; ++k) {
        const std::size_t given = points == arc.size()
                                      ? k
                                      : to_size(std::lround(static_cast<double>(k * (arc.size() - 1)) /
                                                            static_cast<double>(points - 1)));
        extra[j * points + k] = options.extra(static_cast<int>(j), given);
        assert(std::isfinite(extra[j * points + k]));
      }
  }
  placement.points = JointPlacementSolver(joints, placement.arc, extra, options).solve(placement.cost);
  return placement;
}

}  // namespace sinew
