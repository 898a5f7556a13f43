#include <sinew/implicit/bone_field.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <Eigen/Eigenvalues>

#include <sinew/core/index.h>
#include <sinew/core/parallel.h>
#include <sinew/geometry/sampling.h>
#include <sinew/geometry/segment.h>
#include <sinew/implicit/compact_support.h>

namespace sinew {

namespace {

// A field ends where it is farther from both its bone and its part than this, in support radii: a part that
// covers a third of a limb would otherwise close far out on its missing side. From kFadeStart on it fades.
constexpr double kFadeStart = 0.75;
constexpr double kFadeEnd = 1.05;
// Round the bone of a part with one bone, in support radii: what is near to this tube is not beyond the part.
constexpr double kTube = 0.3;
// Culling stops before fewer than this share of the samples is left, and before there are too few.
constexpr double kLeastKept = 0.4;
constexpr std::size_t kFewest = 8;
// Only samples this near to the next part are culled, in distances from joint to skin: the jaw hangs below
// the head's joint, but is no part of the neck.
constexpr double kBorder = 0.25;
// Other parts' skin may be as deep as this in a field; where it is deeper, it bounds it.
constexpr float kBeyondSkin = 0.6f;
constexpr double kBoundSpacing = 0.4;  // of the support's radius
constexpr std::size_t kMostBounds = 40;
constexpr int kBoundPasses = 2;
// Depth of a bone in its field, in support radii: there t_r is 0.94.
constexpr double kBoneDepth = 0.6;
constexpr double kBoneQuantile = 0.8;  // of the points of the bone, by depth, that is to be so deep
constexpr double kLeastDepth = 0.1;
constexpr double kDeepest = 0.9;
constexpr double kMostDeepening = 40;

Vec3d interpolated_normal(const MeshView& mesh, std::span<const Vec3d> normals, const SurfaceSample& sample) {
  Vec3d normal = Vec3d::Zero();
  const Triangle& t = mesh.triangles[sample.triangle];
  for (int c = 0; c < 3; ++c) normal += static_cast<double>(sample.barycentric[c]) * normals[t[to_size(c)]];
  return normal;
}

double distance_to_segment(const Vec3d& x, const BoneSegment& segment) {
  return (x - nearest_on_segment(segment.head, segment.tail, x)).norm();
}

double distance_to_bone(const Vec3d& x, std::span<const BoneSegment> segments) {
  double least = std::numeric_limits<double>::infinity();
  for (const BoneSegment& segment : segments) least = std::min(least, distance_to_segment(x, segment));
  return least;
}

/// Whether a sample lies within the share `cull` of a closed end of its segment, or beyond the end (eq. 2).
bool near_closed_end(const Vec3d& x, const BoneSegment& segment, double cull) {
  const Vec3d along = segment.tail - segment.head;
  const double length2 = along.squaredNorm();
  if (!(length2 > 0)) return false;
  const double t = (x - segment.head).dot(along) / length2;
  return (segment.close_head && t < cull) || (segment.close_tail && t > 1 - cull);
}

/// Where the part ends because another begins, not because the mesh ends: vertices that it shares.
std::vector<Vec3d> shared_border(const MeshView& mesh, const BonePart& part) {
  std::vector<std::uint8_t> inside(mesh.triangles.size(), 0), uses(mesh.positions.size(), 0);
  for (const std::uint32_t t : part.triangles) {
    inside[t] = 1;
    for (const std::uint32_t v : mesh.triangles[t]) uses[v] = 1;
  }
  std::vector<Vec3d> border;
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
    if (inside[t]) continue;
    for (const std::uint32_t v : mesh.triangles[t]) {
      if (uses[v] != 1) continue;
      uses[v] = 2;
      border.push_back(mesh.positions[v].cast<double>());
    }
  }
  return border;
}

double distance_to_nearest(const Vec3d& x, std::span<const Vec3d> positions) {
  double least = std::numeric_limits<double>::infinity();
  for (const Vec3d& p : positions) least = std::min(least, (p - x).squaredNorm());
  return std::sqrt(least);
}

std::vector<HermitePoint> cull(const std::vector<HermitePoint>& samples,
                               std::span<const BoneSegment> segments, double share,
                               std::span<const Vec3d> border, double border_width) {
  // With several segments the ends of one are the middle of the part.
  if (segments.size() != 1 || !(share > 0)) return samples;
  std::vector<HermitePoint> kept;
  for (const HermitePoint& sample : samples)
    if (!near_closed_end(sample.position, segments[0], share) ||
        distance_to_nearest(sample.position, border) > border_width)
      kept.push_back(sample);
  // Short, wide and leaf parts need their samples.
  const bool enough = kept.size() >= kFewest &&
                      static_cast<double>(kept.size()) >= kLeastKept * static_cast<double>(samples.size());
  return enough ? kept : samples;
}

double distance_to_nearest(const Vec3d& x, std::span<const Vec3f> positions) {
  double least = std::numeric_limits<double>::infinity();
  for (const Vec3f& p : positions) least = std::min(least, (p.cast<double>() - x).squaredNorm());
  return std::sqrt(least);
}

/// The part's vertex that is nearest to a point, with its normal; none when it has none with a normal.
std::optional<HermitePoint> nearest_vertex(const MeshView& mesh, std::span<const Vec3d> normals,
                                           const BonePart& part, const Vec3d& wanted) {
  std::optional<HermitePoint> nearest;
  double least = std::numeric_limits<double>::infinity();
  for (const std::uint32_t t : part.triangles)
    for (const std::uint32_t v : mesh.triangles[t]) {
      const Vec3d position = mesh.positions[v].cast<double>();
      const double distance = (position - wanted).squaredNorm();
      if (!(distance < least) || !(normals[v].norm() > 0.5)) continue;
      least = distance;
      nearest = HermitePoint{position, normals[v].normalized()};
    }
  return nearest;
}

/// Where several bones leave a joint they run near to the skin.
double tube_share(const BoneField& field) {
  return field.segments.size() == 1 ? kTube : 0.0;
}

/// Fades a field out beyond its part.
struct Fade {
  double factor = 1;
  Vec3d gradient = Vec3d::Zero();
};
Fade fade_at(const Vec3d& x, const BoneField& field) {
  double least = std::numeric_limits<double>::infinity();
  Vec3d nearest = x;
  const auto look_at = [&](const Vec3d& p) {
    const double d2 = (x - p).squaredNorm();
    if (d2 < least) least = d2, nearest = p;
  };
  for (const HermitePoint& sample : field.samples) look_at(sample.position);
  for (const HermitePoint& closure : field.closures) look_at(closure.position);
  for (const BoneSegment& segment : field.segments) {
    // Samples are few, and there are none on the caps of closed ends: the tube round the bone counts, too.
    const Vec3d at = nearest_on_segment(segment.head, segment.tail, x), from = x - at;
    const double far = from.norm(), tube = tube_share(field) * field.radius;
    look_at(far > tube ? Vec3d(at + from * (tube / far)) : x);
  }
  const double distance = std::sqrt(least) / field.radius;
  Fade fade;
  if (distance <= kFadeStart) return fade;
  const double t = std::min(1.0, (distance - kFadeStart) / (kFadeEnd - kFadeStart));
  fade.factor = 1 - t * t * (3 - 2 * t);
  fade.gradient =
      (-6 * t * (1 - t) / (kFadeEnd - kFadeStart) / (field.radius * field.radius * distance)) * (x - nearest);
  return fade;
}

}  // namespace

namespace {

void deepen(double deepening, double radius, double& distance, Vec3d& gradient) {
  if (!(distance < 0)) return;
  const double relative = distance / radius, square = relative * relative;
  // Never quite as deep as the support's radius: f stays below 1 and keeps its gradient.
  const double deep = relative * (1 + deepening * square) / kDeepest, fourth = deep * deep * deep * deep;
  const double limit = std::pow(1 + fourth, -0.25);
  gradient *= (1 + 3 * deepening * square) * limit / (1 + fourth);
  distance = kDeepest * radius * deep * limit;
}

/// So that kBoneQuantile of the bone's points are no deeper than kBoneDepth.
double find_deepening(const BoneField& field) {
  std::vector<double> depths;
  constexpr int kPoints = 9;
  for (const BoneSegment& segment : field.segments)
    for (int k = 1; k <= kPoints; ++k)
      depths.push_back(-field.rbf.distance(segment.head + (segment.tail - segment.head) * k / (kPoints + 1)) /
                       field.radius);
  std::sort(depths.begin(), depths.end());
  const double depth =
      depths.empty() ? 0 : depths[to_size(static_cast<double>(depths.size() - 1) * kBoneQuantile)];
  if (!(depth > kLeastDepth)) return 0;  // a bone that lies outside of its part says nothing
  return std::clamp((kBoneDepth / depth - 1) / (depth * depth), 0.0, kMostDeepening);
}

}  // namespace

HermiteRbf::Value BoneField::evaluate(const Vec3d& x) const {
  if (!(radius > 0)) return {};
  HermiteRbf::Value d = rbf.evaluate(x);
  deepen(deepening, radius, d.distance, d.gradient);
  const Fade fade = fade_at(x, *this);
  const double f = compact_support(d.distance, radius);
  return {f * fade.factor,
          compact_support_slope(d.distance, radius) * fade.factor * d.gradient + f * fade.gradient};
}

double BoneField::value(const Vec3d& x) const {
  return evaluate(x).distance;
}

namespace {

/// A grid round the part, turned into its principal axes, that ends where the field does.
FieldGrid make_grid(const BoneField& field, int node_count) {
  std::vector<Vec3d> points;
  for (const HermitePoint& p : field.samples) points.push_back(p.position);
  for (const HermitePoint& p : field.closures) points.push_back(p.position);
  for (const BoneSegment& s : field.segments) points.push_back(s.head), points.push_back(s.tail);
  Vec3d mean = Vec3d::Zero();
  for (const Vec3d& p : points) mean += p / static_cast<double>(points.size());
  Mat3d covariance = Mat3d::Zero();
  for (const Vec3d& p : points) covariance += (p - mean) * (p - mean).transpose();
  Mat3d axes = Eigen::SelfAdjointEigenSolver<Mat3d>(covariance).eigenvectors();
  if (!axes.allFinite()) axes.setIdentity();
  if (axes.determinant() < 0) axes.col(0) = -axes.col(0);

  const Mat3d to_axes = axes.transpose();
  Vec3d low = Vec3d::Constant(std::numeric_limits<double>::infinity()), high = -low;
  for (const Vec3d& p : points) low = low.cwiseMin(to_axes * p), high = high.cwiseMax(to_axes * p);
  const Vec3d tube = Vec3d::Constant(tube_share(field) * field.radius);
  for (const BoneSegment& s : field.segments)
    for (const Vec3d& end : {s.head, s.tail})
      low = low.cwiseMin(to_axes * end - tube), high = high.cwiseMax(to_axes * end + tube);
  const Vec3d margin = Vec3d::Constant(kFadeEnd * field.radius);
  low -= margin, high += margin;
  const Vec3d extent = high - low;
  const double cell = std::cbrt(extent.prod() / node_count);
  std::array<int, 3> nodes{};
  Vec3d per_metre;
  for (int axis = 0; axis < 3; ++axis) {
    const int n = std::clamp(static_cast<int>(std::ceil(extent[axis] / cell)) + 1, 6, 256);
    nodes[to_size(axis)] = n;
    per_metre[axis] = (n - 1) / extent[axis];
  }
  Affine3d grid_from_rest = Affine3d::Identity();
  grid_from_rest.linear() = per_metre.asDiagonal() * to_axes;
  grid_from_rest.translation() = -(per_metre.asDiagonal() * low);
  return FieldGrid(grid_from_rest, nodes);
}

void fill_grid(const BoneField& field, FieldGrid& grid) {
  const Affine3d rest_from_grid = grid.grid_from_rest().inverse();
  const Mat3d by_grid = rest_from_grid.linear().transpose();
  const auto& size = grid.size();
  const std::size_t row = to_size(size[2]);
  parallel_blocks(to_size(size[0] * size[1]), 16, [&](std::size_t begin, std::size_t end) {
    std::vector<Vec3f> at(row);
    std::vector<Vec4f> d(row);
    for (std::size_t xy = begin; xy < end; ++xy) {
      const auto x = static_cast<double>(xy / to_size(size[1]));
      const auto y = static_cast<double>(xy % to_size(size[1]));
      for (std::size_t z = 0; z < row; ++z)
        at[z] = (rest_from_grid * Vec3d(x, y, static_cast<double>(z))).cast<float>();
      field.rbf.evaluate(at, d);
      for (std::size_t z = 0; z < row; ++z) {
        double distance = static_cast<double>(d[z][0]);
        Vec3d gradient = d[z].tail<3>().cast<double>();
        deepen(field.deepening, field.radius, distance, gradient);
        FieldGrid::Node& node = grid.nodes()[xy * row + z];
        node = {0, 0, 0, 0};
        const double f = compact_support(distance, field.radius);
        if (!(f > 0)) continue;
        const Fade fade = fade_at(at[z].cast<double>(), field);
        if (!(fade.factor > 0)) continue;
        const Vec3d g = by_grid * (compact_support_slope(distance, field.radius) * fade.factor * gradient +
                                   f * fade.gradient);
        node = {static_cast<float>(f * fade.factor), static_cast<float>(g.x()), static_cast<float>(g.y()),
                static_cast<float>(g.z())};
      }
    }
  });
}

}  // namespace

namespace {

void fit(BoneField& field, const BoneFieldOptions& options) {
  std::vector<HermitePoint> points = field.samples;
  points.insert(points.end(), field.closures.begin(), field.closures.end());
  points.insert(points.end(), field.bounds.begin(), field.bounds.end());
  field.rbf = HermiteRbf(points);
  field.deepening = options.deepen ? find_deepening(field) : 0.0;
  FieldGrid grid = make_grid(field, options.grid_nodes);
  fill_grid(field, grid);
  grid.bound(0);
  field.grid = std::move(grid);
}

/// Looks for skin of other parts that lies deep in the field, and takes some of it as bounds. Whether there
/// was any.
bool find_bounds(const MeshView& mesh, std::span<const Vec3d> normals, const BonePart& part,
                 BoneField& field) {
  if (part.last_body_vertex <= part.first_body_vertex) return false;
  std::vector<std::uint8_t> inside(part.last_body_vertex - part.first_body_vertex, 0);
  for (const std::uint32_t t : part.triangles)
    for (const std::uint32_t v : mesh.triangles[t])
      if (v >= part.first_body_vertex && v < part.last_body_vertex) inside[v - part.first_body_vertex] = 1;
  const std::size_t before = field.bounds.size();
  const double apart = kBoundSpacing * field.radius;
  for (std::uint32_t v = part.first_body_vertex; v < part.last_body_vertex; ++v) {
    if (inside[v - part.first_body_vertex] || !(normals[v].norm() > 0.5)) continue;
    const Vec3d x = mesh.positions[v].cast<double>();
    if (!(field.grid.sample_rest(x).value > kBeyondSkin)) continue;
    const auto near = [&](const HermitePoint& p) { return (p.position - x).norm() < apart; };
    if (std::any_of(field.bounds.begin(), field.bounds.end(), near) ||
        std::any_of(field.samples.begin(), field.samples.end(), near))
      continue;
    field.bounds.push_back({x, normals[v].normalized()});
    if (field.bounds.size() >= kMostBounds) break;
  }
  return field.bounds.size() > before;
}

}  // namespace

BoneField make_bone_field(const MeshView& mesh, std::span<const Vec3d> normals, const BonePart& part,
                          const BoneFieldOptions& options) {
  BoneField field;
  field.segments = part.segments;
  const SurfaceSamples drawn =
      poisson_disk_samples(mesh, part.triangles, to_size(std::max(4, options.samples)), options.seed);
  std::vector<HermitePoint> all;
  for (const SurfaceSample& sample : drawn.samples) {
    Vec3d normal = interpolated_normal(mesh, normals, sample);
    if (!(normal.norm() > 1e-6)) normal = sample.normal.cast<double>();
    if (!(normal.norm() > 1e-6)) continue;
    const Vec3d position = sample.position.cast<double>();
    const bool removed = std::any_of(
        options.removed.begin(), options.removed.end(),
        [&](const BoneFieldOptions::Ball& ball) { return (position - ball.center).norm() <= ball.radius; });
    if (!removed) all.push_back({position, normal.normalized()});
  }
  if (all.empty() && options.added.empty()) return field;
  double width = std::numeric_limits<double>::infinity();
  for (const BoneSegment& segment : part.segments)
    width = std::min({width, kBorder * distance_to_nearest(segment.head, mesh.positions),
                      kBorder * distance_to_nearest(segment.tail, mesh.positions)});
  field.samples = cull(all, part.segments, options.cull, shared_border(mesh, part), width);

  for (const Vec3d& wanted : options.added)
    if (const std::optional<HermitePoint> sample = nearest_vertex(mesh, normals, part, wanted))
      field.samples.push_back(*sample);

  for (const BoneSegment& segment : part.segments) {
    const Vec3d along = segment.tail - segment.head;
    const double length = along.norm();
    if (!(length > 0)) continue;
    const auto close = [&](const Vec3d& joint, const Vec3d& direction, double closure_share) {
      const double reach = closure_share * distance_to_nearest(joint, mesh.positions);
      if (!(reach > 0)) return;
      const HermitePoint closure{joint + reach * direction, direction};
      // A closure that comes too near to the skin would fight it.
      for (const HermitePoint& sample : field.samples)
        if ((sample.position - closure.position).norm() <
            (sample.normal.dot(direction) < 0.5 ? 0.3 : 0.1) * reach)
          return;
      field.closures.push_back(closure);
    };
    if (segment.close_head) close(segment.head, -along / length, options.closure_head);
    if (segment.close_tail)
      close(segment.tail,
            segment.tail_direction.norm() > 0 ? Vec3d(segment.tail_direction.normalized()) : along / length,
            options.closure_tail);
  }

  for (const HermitePoint& sample : field.samples)
    field.radius = std::max(field.radius, options.support * distance_to_bone(sample.position, part.segments));
  if (!(field.radius > 0) || !std::isfinite(field.radius)) {
    field.radius = 0;
    return field;
  }
  if (field.samples.size() < 2) {
    field.radius = 0;
    return field;
  }
  fit(field, options);
  for (int pass = 0; pass < kBoundPasses && find_bounds(mesh, normals, part, field); ++pass)
    fit(field, options);
  return field;
}

}  // namespace sinew
