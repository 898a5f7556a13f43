#include <sinew/tracking/probe.h>

#include <algorithm>
#include <limits>

#include <sinew/geometry/segment.h>

namespace sinew {

namespace {

// Distance to the bone at rest, in support radii, up to which a part is near, and from which on it is not.
constexpr float kNear = 1.5f;
constexpr float kFar = 2.5f;
// What a stranger's long edges add to the gap, times the square of these in own support radii.
constexpr float kCoarseGap = 0.18f;

/// From a point to the nearest one of some segments.
Vec3f way_to(std::span<const ProbeTables::Segment> segments, const Vec3f& from) {
  Vec3f way = Vec3f::Zero();
  float least = std::numeric_limits<float>::max();
  for (const ProbeTables::Segment& segment : segments) {
    const Vec3f to = nearest_on_segment(segment[0], segment[1], from) - from;
    if (to.squaredNorm() < least) least = to.squaredNorm(), way = to;
  }
  return way;
}

}  // namespace

float ProbeTables::stranger_gap(std::size_t own_field, std::size_t field) const {
  const float edges = std::min(skin_edge[field] / radius[own_field], 1.0f);
  return gap + kCoarseGap * edges * edges;
}

float ProbeTables::rest_nearness(std::size_t i, std::size_t field) const {
  if (kin[own[i] * posed.size() + field] == 0) return 0;
  const std::size_t first = segment_starts[field], count = segment_starts[field + 1] - first;
  const float distance = way_to(rest_segments.subspan(first, count), rest[i]).norm();
  return 1 - smooth_step(kNear, kFar, distance / radius[field]);
}

float ProbeTables::faced(std::size_t i, std::size_t field, float near) const {
  if (near == 0) return 1;
  const std::size_t first = segment_starts[field], count = segment_starts[field + 1] - first;
  const Vec3f way = way_to(segments.subspan(first, count), bone[i]);
  const float lengths = way.norm() * out[i].norm();
  if (!(lengths > 0)) return 1;
  return 1 - near * (1 - smooth_step(meeting::kAway, meeting::kTowards, out[i].dot(way) / lengths));
}

float ProbeTables::slides_over(std::size_t i, std::uint32_t e) const {
  if (slides[e] != kNotAsked) return slides[e];
  const FieldNeighbour& neighbour = neighbours->entries[e];
  const Vec3f way = centers[neighbour.field] - bone[i];
  const float lengths = way.norm() * out[i].norm();
  const float facing = lengths > 0 ? out[i].dot(way) / lengths : 0.0f;
  float result = neighbour.nearness * (1 - smooth_step(meeting::kFacesAway, meeting::kFaces, facing));
  if (neighbour.nearness < 1)
    result = std::max(result, (1 - neighbour.nearness) * (1 - faced(i, neighbour.field, neighbour.rest_near)));
  return slides[e] = result;
}

Vec3f ProbeTables::seen_place(std::size_t i, std::size_t field, const Vec3f& at) const {
  Vec3f x = at;
  for (std::uint32_t e = twist_shares->starts[i]; e < twist_shares->starts[i + 1]; ++e) {
    const TwistShare& share = twist_shares->entries[e];
    if (share.field == field) x = twists[share.joint].turned(x, seen[e].cosine, seen[e].sine);
  }
  return x;
}

Vec3f ProbeTables::seen_gradient(std::size_t i, std::size_t field, const Vec3f& gradient) const {
  Vec3f g = gradient;
  for (std::uint32_t e = twist_shares->starts[i + 1]; e-- > twist_shares->starts[i];) {
    const TwistShare& share = twist_shares->entries[e];
    if (share.field == field) g = twists[share.joint].turned_direction(g, seen[e].cosine, -seen[e].sine);
  }
  return g;
}

FieldSample ProbeTables::turned_sample(std::size_t i, std::size_t field, const Vec3f& at) const {
  FieldSample result = posed[field].sample(seen_place(i, field, at));
  result.gradient = seen_gradient(i, field, result.gradient);
  return result;
}

}  // namespace sinew
