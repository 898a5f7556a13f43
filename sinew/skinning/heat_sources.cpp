#include <sinew/skinning/heat_sources.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include <Eigen/Geometry>

#include <sinew/core/parallel.h>

namespace sinew {

namespace {

/// Which bone heats a vertex. By hand, on the built-in characters and the corpus of docs/binding.md, which
/// has the figures of each step; epsilons are marked.
struct HeatSourceTuning {
  /// Distance along the bone beyond its ends counts this many times.
  double past_ends = 1.5;
  /// A bone straight outside of the skin is 1 / this as far.
  double least_facing = 0.2;
  /// What of the segment to the bone lies outside of the flesh counts once and this much more.
  double outside_cost = 3;
  /// A bone that itself lies outside is this many times as far.
  double outside_bone = 4;
  /// Relative difference of two bones that share a vertex (epsilon).
  double equally_near = 1e-3;
  /// Share of the segment to the bone at either end in which the surface is not looked for: the vertex's own
  /// triangles (epsilon).
  float ends = 1e-3f;
  /// Squared length of a bone that has none; its inverse is still finite (epsilon).
  double no_length = 1e-200;
};
constexpr HeatSourceTuning kSources;
constexpr std::size_t kSourcesPerTask = 256;

/// The bones as the search reads them: number after number, so that the compiler can take several at once.
struct BoneTable {
  std::vector<double> head[3], along[3];       ///< along: head to tail
  std::vector<double> inverse_squared_length;  ///< 0 for bones without length
  std::vector<double> penalty;                 ///< for lying outside, squared

  BoneTable(std::span<const Bone> bones, std::span<const std::uint8_t> outside) {
    for (std::size_t b = 0; b < bones.size(); ++b) {
      const Vec3d axis = bones[b].tail - bones[b].head;
      for (int i = 0; i < 3; ++i) {
        head[i].push_back(bones[b].head[i]);
        along[i].push_back(axis[i]);
      }
      const double squared_length = axis.squaredNorm();
      inverse_squared_length.push_back(squared_length > kSources.no_length ? 1 / squared_length : 0);
      penalty.push_back(outside[b] != 0 ? kSources.outside_bone * kSources.outside_bone : 1);
    }
  }
  std::size_t size() const { return penalty.size(); }
};

/// The point of a bone nearest to a vertex.
struct NearPoint {
  std::uint32_t bone;
  Vec3d offset;     ///< to it, from the vertex
  double distance;  ///< metres
  double score;     ///< the distance as it counts, visibility left aside
};

/// The squares of distances as they count, facing and visibility left aside: never more than the score's.
void least_scores(const BoneTable& bones, const Vec3d& p, std::span<double> squared) {
  const double x = p.x(), y = p.y(), z = p.z();
  for (std::size_t b = 0; b < squared.size(); ++b) {
    const double px = x - bones.head[0][b], py = y - bones.head[1][b], pz = z - bones.head[2][b];
    const double ax = bones.along[0][b], ay = bones.along[1][b], az = bones.along[2][b];
    const double t =
        std::min(1.0, std::max(0.0, (px * ax + py * ay + pz * az) * bones.inverse_squared_length[b]));
    const double dx = px - t * ax, dy = py - t * ay, dz = pz - t * az;
    squared[b] = bones.penalty[b] * (dx * dx + dy * dy + dz * dz);
  }
}

NearPoint near_point(const BoneTable& bones, std::size_t b, const Vec3d& p, const Vec3d& normal) {
  const Vec3d from_head = p - Vec3d(bones.head[0][b], bones.head[1][b], bones.head[2][b]);
  const Vec3d along(bones.along[0][b], bones.along[1][b], bones.along[2][b]);
  const double raw = from_head.dot(along) * bones.inverse_squared_length[b];
  const double t = std::min(1.0, std::max(0.0, raw));
  const Vec3d offset = t * along - from_head;
  const double squared_past = (raw - t) * (raw - t) * along.squaredNorm();
  const double distance = offset.norm();
  double score = std::sqrt(bones.penalty[b] * (distance * distance +
                                               (kSources.past_ends * kSources.past_ends - 1) * squared_past));
  if (distance > 0 && !normal.isZero()) {
    const double facing = 0.5 * (1 - normal.dot(offset) / distance);
    score /= std::max(kSources.least_facing, facing * facing);
  }
  return {static_cast<std::uint32_t>(b), offset, distance, score};
}

bool is_outside(const Bone& bone, const OrientedSurface& surface) {
  constexpr int kSamples = 8;
  int inside = 0;
  for (int i = 0; i < kSamples; ++i)
    if (surface.contains(bone.head + (i + 0.5) / kSamples * (bone.tail - bone.head))) ++inside;
  return 2 * inside < kSamples;
}

}  // namespace

HeatSources find_heat_sources(std::span<const Vec3f> positions, std::span<const Vec3d> normals,
                              std::span<const double> smallest, const OrientedSurface& surface,
                              std::span<const Bone> bones) {
  assert(!bones.empty() && normals.size() == positions.size() && smallest.size() == positions.size());
  HeatSources sources;
  sources.vertices.resize(positions.size());
  sources.bone_is_outside.resize(bones.size());
  parallel_blocks(bones.size(), 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b)
      sources.bone_is_outside[b] = is_outside(bones[b], surface) ? 1 : 0;
  });
  const BoneTable table(bones, sources.bone_is_outside);
  parallel_blocks(positions.size(), kSourcesPerTask, [&](std::size_t begin, std::size_t end) {
    std::vector<double> least(bones.size());
    std::vector<NearPoint> candidates;
    for (std::size_t v = begin; v < end; ++v) {
      const Vec3d p = positions[v].cast<double>();
      least_scores(table, p, least);
      // The least score of all, then whatever could still turn out as near: what is hidden moves back by up
      // to a factor.
      double first = std::numeric_limits<double>::infinity();
      for (std::size_t b = 0; b < bones.size(); ++b)
        if (least[b] < first * first) first = std::min(first, near_point(table, b, p, normals[v]).score);
      double best = std::numeric_limits<double>::infinity();
      HeatSources::Vertex& vertex = sources.vertices[v];
      double looked_at = -1, reach = first * (1 + kSources.equally_near);
      while (true) {
        candidates.clear();
        for (std::size_t b = 0; b < bones.size(); ++b)
          if (least[b] <= reach * reach) {
            const NearPoint near = near_point(table, b, p, normals[v]);
            if (near.score <= reach && near.score > looked_at) candidates.push_back(near);
          }
        std::sort(candidates.begin(), candidates.end(), [](const NearPoint& a, const NearPoint& b) {
          return a.score != b.score ? a.score < b.score : a.bone < b.bone;
        });
        for (const NearPoint& near : candidates) {
          if (near.score > best * (1 + kSources.equally_near)) break;
          double score = near.score;
          const Ray ray{.origin = positions[v],
                        .direction = near.offset.cast<float>(),
                        .t_near = kSources.ends,
                        .t_far = 1 - kSources.ends};
          const bool hidden = near.distance > 0 && surface.query().occluded(ray);
          if (hidden)
            score *= 1 + kSources.outside_cost * surface.outside_share(ray, normals[v].dot(near.offset) < 0);
          if (score > best * (1 + kSources.equally_near)) continue;
          if (score < best * (1 - kSources.equally_near)) vertex.count = 0;
          if (score < best) {
            best = score;
            vertex.sees_bone = !hidden;
            vertex.faces_bone = normals[v].dot(near.offset) < 0;
            vertex.distance = std::max(near.distance, smallest[v]);
          }
          const auto joint = static_cast<std::uint32_t>(bones[near.bone].joint);
          const auto known = vertex.joints.begin() + vertex.count;
          if (vertex.count < HeatSources::kMostEqual &&
              std::find(vertex.joints.begin(), known, joint) == known)
            vertex.joints[vertex.count++] = joint;
        }
        if (reach >= best * (1 + kSources.equally_near)) break;
        looked_at = reach;
        reach = best * (1 + kSources.equally_near);
      }
    }
  });
  return sources;
}

}  // namespace sinew
