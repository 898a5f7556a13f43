#include <sinew/models/flesh.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include <sinew/core/index.h>

namespace sinew {

namespace {

// What a point far from everything sees.
constexpr double kFar = 1e3;

}  // namespace

Flesh::Flesh() : groups_(1), parents_{-1} {}

int Flesh::add_group(int parent, double blend) {
  const int number = static_cast<int>(groups_.size());
  groups_.emplace_back();
  groups_.back().blend = blend;
  parents_.push_back(parent);
  Group& above = groups_[to_size(parent)];
  above.parts.push_back({true, number});
  above.largest_blend = std::max(above.largest_blend, blend);
  return number;
}

void Flesh::add(Shape shape, const Joining& joining) {
  shape.blend = joining.blend;
  shape.joints = joining.joints;
  if (!shape.carves) {
    for (int g = joining.group; g >= 0; g = parents_[to_size(g)]) {
      Group& group = groups_[to_size(g)];
      if (group.bound_radius < 0) {
        group.bound_centre = shape.bound_centre;
        group.bound_radius = shape.bound_radius;
        continue;
      }
      // The smallest sphere round both.
      const Vec3d apart = shape.bound_centre - group.bound_centre;
      const double distance = apart.norm();
      if (distance + shape.bound_radius <= group.bound_radius) continue;
      const double radius =
          std::max(shape.bound_radius, 0.5 * (distance + group.bound_radius + shape.bound_radius));
      if (distance > 0) group.bound_centre += apart * std::min(1.0, (radius - group.bound_radius) / distance);
      group.bound_radius = radius;
    }
  }
  Group& group = groups_[to_size(joining.group)];
  const int number = static_cast<int>(shapes_.size());
  if (shape.carves) {
    group.cuts.push_back(number);
  } else {
    group.parts.push_back({false, number});
    group.largest_blend = std::max(group.largest_blend, shape.blend);
  }
  shapes_.push_back(std::move(shape));
}

void Flesh::add_cone(const Joining& joining, const Vec3d& a, double radius_a, const Vec3d& b,
                     double radius_b) {
  Shape shape{Form::cone, false, 0, a, b, radius_a, radius_b, Mat3d::Identity(), {}, 0.5 * (a + b), 0};
  shape.bound_radius = 0.5 * (a - b).norm() + std::max(radius_a, radius_b);
  add(std::move(shape), joining);
}

void Flesh::add_ellipsoid(const Joining& joining, const Vec3d& centre, const Vec3d& radii,
                          const Mat3d& axes) {
  add({Form::ellipsoid,
       false,
       0,
       centre,
       radii,
       std::cbrt(radii.prod()),
       0,
       axes,
       {},
       centre,
       radii.maxCoeff()},
      joining);
}

void Flesh::carve_ellipsoid(const Joining& joining, const Vec3d& centre, const Vec3d& radii,
                            const Mat3d& axes) {
  add({Form::ellipsoid, true, 0, centre, radii, 0, 0, axes, {}, centre, radii.maxCoeff()}, joining);
}

void Flesh::carve_beyond(const Joining& joining, const Vec3d& point, const Vec3d& outward) {
  add({Form::plane, true, 0, point, outward, 0, 0, Mat3d::Identity(), {}, point, kFar}, joining);
}

Flesh::Sample Flesh::sample(const Shape& shape, const Vec3d& p) {
  switch (shape.form) {
    case Form::plane:
      // The inside of what is taken away lies beyond the plane.
      return {-(p - shape.a).dot(shape.b), -shape.b, kFar};
    case Form::cone: {
      // Distance to the segment with a radius that changes along it: the exact distance where the slope is
      // gentle, and smooth everywhere that matters.
      const Vec3d along = shape.b - shape.a;
      const double length_2 = along.squaredNorm();
      const double slope = (shape.radius_a - shape.radius_b);
      const Vec3d from_a = p - shape.a;
      const double t0 = length_2 > 0 ? from_a.dot(along) / length_2 : 0;
      // The nearest point of a cone lies nearer to the thin end's side by the slope.
      const double off = (from_a - t0 * along).norm();
      const double sine = length_2 > 0 ? std::clamp(slope / std::sqrt(length_2), -0.95, 0.95) : 0;
      const double shift = length_2 > 0 ? off * sine / std::sqrt((1 - sine * sine) * length_2) : 0;
      const double t = std::clamp(t0 - shift, 0.0, 1.0);
      const Vec3d apart = from_a - t * along;
      const double distance = apart.norm();
      const double radius = shape.radius_a - t * slope;
      const Vec3d gradient = distance > 1e-12 ? Vec3d(apart / distance) : Vec3d(Vec3d::UnitX());
      return {distance - radius, gradient, radius};
    }
    case Form::ellipsoid: {
      // k0 (k0 - 1) / k1 with k0 = |q / r|, k1 = |q / r²|: a first-order distance, exact on the surface.
      const Vec3d q = shape.axes.transpose() * (p - shape.a);
      const Vec3d scaled = q.cwiseQuotient(shape.b);
      const Vec3d twice = scaled.cwiseQuotient(shape.b);
      const double k0 = scaled.norm(), k1 = twice.norm();
      if (k0 < 1e-9 || k1 < 1e-9) return {-shape.b.minCoeff(), Vec3d::UnitX(), shape.radius_a};
      const double value = k0 * (k0 - 1) / k1;
      const Vec3d thrice = twice.cwiseQuotient(shape.b).cwiseQuotient(shape.b);
      // ∇k0 = twice / k0, ∇k1 = thrice / k1.
      const Vec3d gradient = (2 * k0 - 1) / k1 * twice / k0 - value / (k1 * k1) * thrice;
      return {value, shape.axes * gradient, shape.radius_a};
    }
  }
  return {kFar, Vec3d::UnitX(), kFar};
}

Flesh::Sample Flesh::sample(const Group& group, const Vec3d& p) const {
  Sample sum{kFar, Vec3d::UnitX(), 1};
  const auto join = [&](const Sample& next, double blend) {
    // Quadratic smooth minimum. Its derivatives by the two values are the shares themselves.
    const double share = blend > 0 ? std::clamp(0.5 + 0.5 * (sum.value - next.value) / blend, 0.0, 1.0)
                                   : (next.value < sum.value ? 1.0 : 0.0);
    sum.value = share * next.value + (1 - share) * sum.value - blend * share * (1 - share);
    sum.gradient = share * next.gradient + (1 - share) * sum.gradient;
    sum.thickness = share * next.thickness + (1 - share) * sum.thickness;
  };
  // Near the surface no part's value is below this (ellipsoids' distances are not exact, hence the factor).
  const auto least = [&](const Vec3d& centre, double radius) {
    const double distance = (p - centre).norm() - radius;
    return distance > 0 ? 0.7 * distance : distance;
  };
  // The part whose bounds are nearest is looked at first: what lies farther away than it by more than the
  // blend changes nothing.
  int nearest = -1;
  double nearest_bound = kFar;
  for (std::size_t i = 0; i < group.parts.size(); ++i) {
    const Part& part = group.parts[i];
    const double bound = least(part.is_group ? group_at(part).bound_centre : shape_at(part).bound_centre,
                               part.is_group ? group_at(part).bound_radius : shape_at(part).bound_radius);
    if (bound < nearest_bound) {
      nearest_bound = bound;
      nearest = static_cast<int>(i);
    }
  }
  if (nearest < 0) return sum;
  const auto value_of = [&](const Part& part) {
    return part.is_group ? sample(group_at(part), p) : sample(shape_at(part), p);
  };
  const Sample first = value_of(group.parts[to_size(nearest)]);
  for (std::size_t i = 0; i < group.parts.size(); ++i) {
    const Part& part = group.parts[i];
    const double blend = part.is_group ? group_at(part).blend : shape_at(part).blend;
    if (static_cast<int>(i) == nearest) {
      join(first, blend);
      continue;
    }
    const double bound = least(part.is_group ? group_at(part).bound_centre : shape_at(part).bound_centre,
                               part.is_group ? group_at(part).bound_radius : shape_at(part).bound_radius);
    if (bound < first.value + group.largest_blend) join(value_of(part), blend);
  }
  for (const int c : group.cuts) {
    const Shape& shape = shapes_[to_size(c)];
    const Sample cut = sample(shape, p);
    // Smooth maximum of the solid and the outside of the cut.
    const double outside = -cut.value;
    const double share = shape.blend > 0
                             ? std::clamp(0.5 + 0.5 * (outside - sum.value) / shape.blend, 0.0, 1.0)
                             : (outside > sum.value ? 1.0 : 0.0);
    sum.value = share * outside + (1 - share) * sum.value + shape.blend * share * (1 - share);
    sum.gradient = -share * cut.gradient + (1 - share) * sum.gradient;
  }
  return sum;
}

SolidSample Flesh::sample(const Vec3d& p) const {
  const Sample all = sample(groups_[0], p);
  const double root = std::sqrt(std::clamp(all.thickness, 1e-4, 10.0));
  return {all.value, all.gradient, root * std::sqrt(root)};
}

double Flesh::thickness(const Vec3d& p) const {
  return sample(groups_[0], p).thickness;
}

SolidFunction Flesh::solid() const {
  return [this](const Vec3d& p) { return sample(p); };
}

void Flesh::deepest(const Group& group, const Vec3d& p, double& best, const Shape*& winner) const {
  for (const Part& part : group.parts) {
    if (part.is_group) {
      deepest(group_at(part), p, best, winner);
      continue;
    }
    const Shape& shape = shape_at(part);
    if (shape.joints.empty()) continue;
    const double value = sample(shape, p).value;
    if (value < best) {
      best = value;
      winner = &shape;
    }
  }
}

const std::vector<int>& Flesh::joints_at(const Vec3d& p) const {
  double best = std::numeric_limits<double>::infinity();
  const Shape* winner = nullptr;
  deepest(groups_[0], p, best, winner);
  assert(winner != nullptr);
  return winner->joints;
}

}  // namespace sinew
