#include <sinew/implicit/operator_profile.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

namespace sinew {

namespace {

using Point = Eigen::Vector2d;

// De Boor's algorithm, on knots 0 (degree + 1 times), evenly spaced in between, 1 (degree + 1 times).
Point clamped_spline(const std::vector<Point>& points, double t) {
  const int count = static_cast<int>(points.size());
  const int degree = std::min(3, count - 1);
  const int spans = count - degree;
  const auto knot = [&](int i) { return std::clamp(i - degree, 0, spans) / static_cast<double>(spans); };
  const int span = degree + std::clamp(static_cast<int>(t * spans), 0, spans - 1);
  std::array<Point, 4> corner;
  for (int j = 0; j <= degree; ++j) corner[to_size(j)] = points[to_size(span - degree + j)];
  for (int level = 1; level <= degree; ++level)
    for (int j = degree; j >= level; --j) {
      const double from = knot(span - degree + j), to = knot(j + 1 + span - level);
      const Point before = corner[to_size(j - 1)];
      Point& here = corner[to_size(j)];
      // In this form equal coordinates stay what they are to the bit.
      here = before + (t - from) / (to - from) * (here - before);
    }
  return corner[to_size(degree)];
}

}  // namespace

void validate(const OperatorProfile& profile) {
  const std::vector<Point>& points = profile.points;
  if (points.size() < 2 || points.size() > OperatorProfile::kMostPoints)
    throw Error(
        fmt::format("operator profile: {} points, not 2 to {}", points.size(), OperatorProfile::kMostPoints));
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double f1 = points[i].x(), f2 = points[i].y();
    // NaN fails this.
    if (!(f1 >= 0 && f1 <= 1 && f2 >= 0 && f2 <= 1))
      throw Error(fmt::format("operator profile: point {} ({}, {}) is outside the unit square", i, f1, f2));
    if (f2 < f1)
      throw Error(fmt::format("operator profile: point {} ({}, {}) is beyond the diagonal", i, f1, f2));
    if (i > 0 && (f1 < points[i - 1].x() || f1 == 0))
      throw Error(fmt::format("operator profile: f1 of point {} is {} after {}; it must ascend", i, f1,
                              points[i - 1].x()));
  }
  if (points.front() != Point(0, 0.5))
    throw Error(fmt::format("operator profile: starts at ({}, {}), not at (0, 0.5)", points.front().x(),
                            points.front().y()));
  if (points.back() != Point(0.5, 0.5))
    throw Error(fmt::format("operator profile: ends at ({}, {}), not at (0.5, 0.5)", points.back().x(),
                            points.back().y()));
}

OperatorProfile contact_profile() {
  return {{{0, 0.5}, {0.5, 0.5}}, true};
}

OperatorProfile bulge_profile() {
  return {{{0, 0.5}, {0.15, 0.45}, {0.39, 0.40}, {0.44, 0.44}, {0.5, 0.5}}, true};
}

std::vector<Point> half_curve(const OperatorProfile& profile, double depth, int segments) {
  std::vector<Point> control = profile.points;
  for (Point& point : control) point.y() = 0.5 + depth * (point.y() - 0.5);
  std::vector<Point> curve;
  curve.reserve(to_size(segments) + 1);
  for (int i = 0; i <= segments; ++i)
    curve.push_back(clamped_spline(control, i / static_cast<double>(segments)));
  return curve;
}

double contact_end(const OperatorProfile& profile, double depth) {
  return profile.contact ? 0.5 + depth / 2 : 0.5;
}

}  // namespace sinew
