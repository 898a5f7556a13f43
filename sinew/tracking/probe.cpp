#include <sinew/tracking/probe.h>

#include <algorithm>
#include <limits>

#include <sinew/geometry/segment.h>
#include <sinew/tracking/gradients.h>

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
    result =
        std::max(result, (1 - neighbour.nearness) * (1 - faced(i, neighbour.field, neighbour.rest_near)));
  return slides[e] = result;
}

SkinContact ProbeTables::meet_neighbour(std::size_t i, std::uint32_t entry, const FieldSample& mine,
                                        const FieldSample& other, const Vec3f& at) const {
  using namespace meeting;
  const FieldNeighbour& neighbour = neighbours->entries[entry];
  SkinContact contact;
  contact.rival = neighbour.damping * other.gradient;
  contact.back = mine.gradient - contact.rival;
  contact.side = contact.apart = mine.value - other.value;
  if (contact.side > kClear) return contact;
  float sliding = slides_over(i, entry);
  contact.meets = 1 - sliding;
  float rest_side = neighbour.rest_side;
  float least_gap = gap;
  if (neighbour.joint >= 0) {
    const auto joint = static_cast<std::size_t>(neighbour.joint);
    const Vec3f from_joint = at - joints[joint];
    contact.apart -= neighbour.joint_bias * joint_bias_share(from_joint.norm(), joint_radius[joint]);
    const FoldPlane& plane = planes[joint];
    // Of a coarse mesh a fold has too few vertices to be flat.
    contact.firm = fineness[i] * plane.share(from_joint, joint_radius[joint]);
    if (contact.firm > 0) {
      const float plane_side = neighbour.plane_sign * plane.side(from_joint, joint_radius[joint]);
      const Vec3f plane_back = neighbour.plane_sign * plane.side_gradient(joint_radius[joint]);
      contact.apart += contact.firm * (plane_side - contact.apart);
      contact.back += contact.firm * (plane_back - contact.back);
      rest_side += contact.firm * (neighbour.rest_plane_side - rest_side);
      const float edges = std::min(edge[i] / neighbours->joint_radius[joint], kCoarsest);
      least_gap = std::max(gap + contact.firm * (kFlat + kPlaneGap * edges * edges), 0.0f);
      // In there all skin faces what it meets.
      sliding *= 1 - contact.firm;
      contact.meets = 1 - sliding;
    }
  }
  const float cosine = gradient_cosine(mine.gradient, other.gradient);
  const float shift =
      kShift + kShiftAlong * neighbour.nearness * smooth_step(kShiftsFrom, kShiftsWholly, cosine);
  float allowed = std::min(rest_side - shift, least_gap);
  const float folds = std::max(0.0f, opposition(cosine) - neighbour.rest_opposition);
  allowed += folds * (least_gap - allowed);
  // What overlaps at rest may overlap as much where it slides. Cubed: skin that just begins to turn away
  // still meets it.
  contact.side = contact.apart - (allowed > 0 ? 1 - sliding : 1.0f) * allowed +
                 sliding * sliding * sliding * SkinContact::kNone;
  return contact;
}

SkinProbe ProbeTables::meet_fields(std::span<const std::uint16_t> fields, bool unions, std::size_t i,
                                   const Vec3f& at, std::span<FieldSample> felt) const {
  using namespace meeting;
  SkinProbe result;
  if (posed[own[i]].usable) result.own = own_sample(i, at);
  const FieldNeighbour* const first = neighbours->entries.data();
  const FieldNeighbour* neighbour = first + neighbours->starts[i];
  const FieldNeighbour* const last = first + neighbours->starts[i + 1];
  for (std::size_t k = 0; k < fields.size(); ++k) {
    const std::uint16_t field = fields[k];
    const bool is_present = (present[i] >> k & 1) != 0;
    felt[k] = {};
    if (field == own[i]) {
      // A palm's mean need not reach as far as the own field.
      if (is_present || !(*palm_shares)[i].empty()) felt[k] = result.own;
      continue;
    }
    if (!is_present || are_one_palm(own[i], field)) continue;
    FieldSample other = sample(i, field, at);
    if (!(other.value > 0)) continue;
    while (neighbour != last && neighbour->field < field) ++neighbour;
    SkinContact contact;
    if (neighbour != last && neighbour->field == field) {
      contact = meet_neighbour(i, static_cast<std::uint32_t>(neighbour - first), result.own, other, at);
      other.value *= neighbour->damping, other.gradient *= neighbour->damping;
    } else {
      contact.apart = result.own.value - other.value;
      result.stranger = std::max(result.stranger, other.value);
      const float least_gap = stranger_gap(own[i], field);
      if (!unions || other.value > result.own.value - least_gap) {
        contact.meets = faced(i, field);
        other.value *= contact.meets, other.gradient *= contact.meets;
      }
      contact.side = result.own.value - other.value - least_gap;
      contact.back = result.own.gradient - other.gradient;
      contact.rival = other.gradient;
    }
    if (contact.apart < gap + kLoose) {
      const float pressed = contact.meets * (1 - smooth_step(kTight, kLoose, contact.apart - gap));
      if (pressed > result.pressed) result.pressed = pressed, result.off = contact.back;
    }
    if (contact.side < result.nearest.side) result.nearest = contact;
    felt[k] = other;
  }
  return result;
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
