#include <sinew/effects/volume_freedom.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/core/smooth_step.h>

namespace sinew {

namespace {

/// By hand, on the built-in characters (docs/volume.md); epsilons are marked.
struct VolumeFreedomTuning {
  /// Share of the largest freedom: what has less moves too little to be worth the work. It is taken off all,
  /// so that there is no edge.
  double least_freedom = 0.1;
  /// Distance over which jumps are evened out, in radii of the limb.
  double evened = 0.15;
  /// Of evening out.
  double most_sweeps = 60;
  /// Freedom that does not spread farther (epsilon).
  double least_spread = 1e-3;
  /// Quantile of the distance from the bone at which skin is free altogether.
  double softest = 0.9;
};
constexpr VolumeFreedomTuning kFreedom;

/// The distance from the bone at which skin is as free as it can be.
double softest_distance(const LimbChart& chart, std::span<const JointPlace> around) {
  std::vector<double> distances;
  for (const JointPlace& place : around) distances.push_back(chart.places()[place.vertex].outwards.norm());
  if (distances.empty()) return 0;
  const auto at = distances.begin() +
                  static_cast<std::ptrdiff_t>(kFreedom.softest * static_cast<double>(distances.size() - 1));
  std::nth_element(distances.begin(), at, distances.end());
  return *at;
}

/// The Gaussian of the angle between the vertex and `side`, as seen along the bone.
double beside(const LimbChart& chart, const LimbPlace& place, const FreedomRule& rule) {
  if (rule.side.squaredNorm() == 0) return 1;
  const LimbBone& bone = chart.bones()[place.bone];
  const Vec3d axis = (bone.tail - bone.head).normalized();
  const Vec3d side = rule.side - axis.dot(rule.side) * axis;
  const Vec3d out = place.outwards - axis.dot(place.outwards) * axis;
  if (side.norm() < 1e-6 * rule.side.norm() || out.squaredNorm() == 0) return 0;
  const double angle = std::atan2(side.cross(out).norm(), side.dot(out));
  return std::exp(-angle * angle / (2 * rule.spread * rule.spread));
}

double within(std::span<const FreedomRule::Ball> region, const Vec3d& at) {
  if (region.empty()) return 1;
  double most = 0;
  for (const FreedomRule::Ball& ball : region)
    if (ball.radius > 0)
      most = std::max(most, smooth_step(0.0, 1.0, 1 - (at - ball.centre).norm() / ball.radius));
  return most;
}

/// Means over rings, as often as it takes to reach about so far: where skin of one bone meets that of another
/// the place along them jumps. Vertices stay ascending; those that something has come to are added.
void even_out(std::vector<VolumePatch::Vertex>& free, const OneRings& rings, std::span<const Vec3f> rest,
              double reach) {
  double edges = 0;
  std::size_t count = 0;
  for (const VolumePatch::Vertex& v : free)
    for (const std::uint32_t n : rings[v.vertex]) {
      edges += (rest[n] - rest[v.vertex]).norm();
      ++count;
    }
  if (count == 0 || !(edges > 0)) return;
  const double steps = reach * static_cast<double>(count) / edges;
  const int sweeps = static_cast<int>(std::clamp(steps * steps, 0.0, kFreedom.most_sweeps));
  std::vector<double> now(rest.size(), 0), next(rest.size(), 0);
  std::vector<std::uint8_t> seen(rest.size(), 0);
  std::vector<std::uint32_t> vertices;
  for (const VolumePatch::Vertex& v : free)
    now[v.vertex] = v.freedom, seen[v.vertex] = 1, vertices.push_back(v.vertex);
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    for (std::size_t i = 0, end = vertices.size(); i < end; ++i) {
      if (now[vertices[i]] < kFreedom.least_spread) continue;
      for (const std::uint32_t n : rings[vertices[i]])
        if (!seen[n]) seen[n] = 1, vertices.push_back(n);
    }
    for (const std::uint32_t v : vertices) {
      double sum = now[v];
      for (const std::uint32_t n : rings[v]) sum += now[n];
      next[v] = sum / static_cast<double>(rings[v].size() + 1);
    }
    std::swap(now, next);
  }
  std::sort(vertices.begin(), vertices.end());
  free.clear();
  for (const std::uint32_t v : vertices) free.push_back({v, now[v]});
}

}  // namespace

SwellProfile::SwellProfile(std::vector<Point> points, bool smooth) : points_(std::move(points)) {
  if (points_.size() < 2)
    throw Error(fmt::format("a profile has at least two points, not {}", points_.size()));
  for (std::size_t i = 0; i + 1 < points_.size(); ++i)
    if (!(points_[i].along < points_[i + 1].along))
      throw Error(fmt::format("point {} of a profile lies at {}, not beyond the one before it, at {}", i + 1,
                              points_[i + 1].along, points_[i].along));
  if (!smooth) return;
  const std::size_t last = points_.size() - 1;
  std::vector<double> rise(last);
  for (std::size_t i = 0; i < last; ++i)
    rise[i] = (points_[i + 1].value - points_[i].value) / (points_[i + 1].along - points_[i].along);
  slopes_.assign(points_.size(), 0);
  // Level at both ends and at every peak; else the harmonic mean of both rises.
  for (std::size_t i = 1; i < last; ++i)
    if (rise[i - 1] * rise[i] > 0) slopes_[i] = 2 * rise[i - 1] * rise[i] / (rise[i - 1] + rise[i]);
}

double SwellProfile::operator()(double along) const {
  if (points_.empty() || !(along >= points_.front().along) || along > points_.back().along) return 0;
  const auto above = std::upper_bound(points_.begin() + 1, points_.end() - 1, along,
                                      [](double value, const Point& point) { return value < point.along; });
  const Point &a = above[-1], &b = above[0];
  const double width = b.along - a.along, t = (along - a.along) / width;
  if (slopes_.empty()) return a.value + t * (b.value - a.value);
  const auto i = to_size(above - points_.begin());
  const double t2 = t * t, t3 = t2 * t;
  return (2 * t3 - 3 * t2 + 1) * a.value + (t3 - 2 * t2 + t) * width * slopes_[i - 1] +
         (3 * t2 - 2 * t3) * b.value + (t3 - t2) * width * slopes_[i];
}

double freedom_along(const FreedomRule& rule, double along) {
  return rule.profile.empty() ? smooth_step(0.0, 1.0, 1 - std::abs(along)) : rule.profile(along);
}

std::vector<VolumePatch::Vertex> find_freedom(const LimbChart& chart, std::span<const Vec3f> rest,
                                              std::uint32_t anchor, const FreedomRule& rule,
                                              const OneRings* rings) {
  const std::vector<JointPlace> around = chart.around(anchor);
  std::vector<VolumePatch::Vertex> free;
  for (const JointPlace& at : around) free.push_back({at.vertex, freedom_along(rule, at.along)});
  if (rings != nullptr) even_out(free, *rings, rest, kFreedom.evened * chart.radius(anchor));
  const double softest = softest_distance(chart, around);
  double most = 0;
  for (VolumePatch::Vertex& v : free) {
    const LimbPlace& place = chart.places()[v.vertex];
    if (place.bone == LimbPlace::kNoBone) v.freedom = 0;
    if (v.freedom == 0) continue;
    if (softest > 0)
      v.freedom *= 1 - rule.softness + rule.softness * std::min(1.0, place.outwards.norm() / softest);
    v.freedom *= beside(chart, place, rule) * within(rule.region, rest[v.vertex].cast<double>());
    most = std::max(most, v.freedom);
  }
  for (VolumePatch::Vertex& v : free)
    v.freedom = (v.freedom - kFreedom.least_freedom * most) / (1 - kFreedom.least_freedom);
  std::erase_if(free, [](const VolumePatch::Vertex& v) { return !(v.freedom > 0); });
  return free;
}

}  // namespace sinew
