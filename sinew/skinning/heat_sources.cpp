#include <sinew/skinning/heat_sources.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include <Eigen/Geometry>

#include <sinew/core/parallel.h>

namespace sinew {

namespace {

constexpr double kPastEnds = 1.5;
constexpr double kLeastFacing = 0.2;  // a bone straight outside is five times as far
constexpr double kOutsideWay = 3;     // counts once anyway, and this much more
constexpr double kOutsideBone = 4;
constexpr double kEquallyNear = 1e-3;  // relative difference of two bones that share a vertex
// The part of the way at either end in which the surface is not looked for: the vertex's own triangles.
constexpr float kEnds = 1e-3f;
// Bones on the surface would heat it without bound; they count as this share of the surface's size away.
constexpr double kSmallestDistance = 1e-3;
constexpr std::size_t kBlock = 256;

struct NearPoint {
  Vec3d point;
  double distance;
  double score;  ///< the distance as it counts, visibility left aside
};

NearPoint nearest_on_bone(const Bone& bone, const Vec3d& p, const Vec3d& normal, double outside) {
  const Vec3d along = bone.tail - bone.head;
  const double squared_length = along.squaredNorm();
  const double raw = squared_length > 0 ? (p - bone.head).dot(along) / squared_length : 0;
  const double t = std::clamp(raw, 0.0, 1.0);
  const Vec3d point = bone.head + t * along;
  const double distance = (point - p).norm();
  const double past = (raw - t) * std::sqrt(squared_length);
  double score = outside * std::sqrt(distance * distance + (kPastEnds * kPastEnds - 1) * past * past);
  if (distance > 0 && !normal.isZero()) {
    const double facing = 0.5 * (1 - normal.dot(point - p) / distance);
    score /= std::max(kLeastFacing, facing * facing);
  }
  return {point, distance, score};
}

/// What share of the way to a bone lies outside of the flesh.
double outside_share(const SurfaceQuery& query, std::span<const std::uint8_t> reversed, const Ray& ray,
                     bool starts_inside) {
  const std::vector<RayHit> hits = query.all_hits(ray);
  double outside = 0, last = 0;
  bool inside = starts_inside;
  for (const RayHit& hit : hits) {
    if (!inside) outside += hit.t - last;
    last = hit.t;
    inside = hit.from_front != (reversed[hit.triangle] != 0);
  }
  if (!inside) outside += 1 - last;
  return outside;
}

bool is_outside(const Bone& bone, const SurfaceQuery& query, std::span<const std::uint8_t> reversed) {
  constexpr int kSamples = 8;
  const Vec3f directions[] = {{1, 0.1f, 0.05f}, {-0.1f, 1, 0.07f}, {0.03f, -0.12f, 1}};
  int inside = 0;
  for (int i = 0; i < kSamples; ++i) {
    const Vec3d point = bone.head + (i + 0.5) / kSamples * (bone.tail - bone.head);
    int votes = 0;
    for (const Vec3f& direction : directions) {
      const std::optional<RayHit> hit =
          query.first_hit({.origin = point.cast<float>(), .direction = direction});
      if (hit && hit->from_front == (reversed[hit->triangle] != 0)) ++votes;
    }
    if (votes >= 2) ++inside;
  }
  return 2 * inside < kSamples;
}

}  // namespace

HeatSources find_heat_sources(std::span<const Vec3f> positions, std::span<const Vec3d> normals,
                              const SurfaceQuery& query, std::span<const std::uint8_t> reversed,
                              std::span<const Bone> bones) {
  assert(!bones.empty() && normals.size() == positions.size());
  HeatSources sources;
  sources.vertices.resize(positions.size());
  sources.bone_is_outside.resize(bones.size());
  parallel_blocks(bones.size(), 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b)
      sources.bone_is_outside[b] = is_outside(bones[b], query, reversed) ? 1 : 0;
  });
  Eigen::AlignedBox3d box;
  for (const Vec3f& p : positions) box.extend(p.cast<double>());
  const double size = box.isEmpty() ? 0 : box.diagonal().norm();
  const double smallest = std::max(kSmallestDistance * size, 1e-100);

  parallel_blocks(positions.size(), kBlock, [&](std::size_t begin, std::size_t end) {
    std::vector<NearPoint> near(bones.size());
    std::vector<std::uint32_t> order(bones.size());
    for (std::size_t v = begin; v < end; ++v) {
      const Vec3d p = positions[v].cast<double>();
      for (std::size_t b = 0; b < bones.size(); ++b) {
        near[b] =
            nearest_on_bone(bones[b], p, normals[v], sources.bone_is_outside[b] != 0 ? kOutsideBone : 1);
        order[b] = static_cast<std::uint32_t>(b);
      }
      HeatSources::Vertex& vertex = sources.vertices[v];
      // Nearest first, lazily: mostly the first is it. What is hidden moves back, so all that could still
      // be equally near are looked at.
      double best = std::numeric_limits<double>::infinity();
      const auto farther = [&](std::uint32_t a, std::uint32_t b) {
        return near[a].score != near[b].score ? near[a].score > near[b].score : a > b;
      };
      std::make_heap(order.begin(), order.end(), farther);
      for (auto last = order.end(); last != order.begin(); --last) {
        const std::uint32_t b = order.front();
        if (near[b].score > best * (1 + kEquallyNear)) break;
        std::pop_heap(order.begin(), last, farther);
        double score = near[b].score;
        const Vec3d way = near[b].point - p;
        const Ray ray{
            .origin = positions[v], .direction = way.cast<float>(), .t_near = kEnds, .t_far = 1 - kEnds};
        const bool hidden = near[b].distance > 0 && query.occluded(ray);
        if (hidden) score *= 1 + kOutsideWay * outside_share(query, reversed, ray, normals[v].dot(way) < 0);
        if (score > best * (1 + kEquallyNear)) continue;
        const auto joint = static_cast<std::uint32_t>(bones[b].joint);
        if (score < best * (1 - kEquallyNear)) vertex.count = 0;
        if (score < best) {
          best = score;
          vertex.sees_bone = !hidden;
          vertex.distance = std::max(near[b].distance, smallest);
        }
        const auto known = vertex.joints.begin() + vertex.count;
        if (vertex.count < HeatSources::kMostEqual && std::find(vertex.joints.begin(), known, joint) == known)
          vertex.joints[vertex.count++] = joint;
      }
    }
  });
  return sources;
}

}  // namespace sinew
