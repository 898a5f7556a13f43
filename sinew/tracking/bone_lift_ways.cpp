#include <sinew/tracking/bone_lift.h>

#include <algorithm>
#include <limits>
#include <span>

#include <sinew/core/smooth_step.h>
#include <sinew/implicit/compact_support.h>

namespace sinew {

namespace {

constexpr int kSteps = 16;             // of a way out
constexpr int kWayHalvings = 8;           // of a step that may be too long
constexpr float kArrived = 0.001f;     // a step so short, in own support radii, is the last
constexpr float kLongestWayStep = 0.25f;  // of them, in the other's support radii
// How far bones stay above other skin, in their own support radii: flesh between is pressed, but not to
// nothing.
constexpr float kClearance = 0.5f;
// Edges of the other's skin, in own support radii: up to which it can be dented, and from which on the limb
// has to lie on it, its bone so many support radii above.
constexpr float kFineEdges = 0.7f;
constexpr float kCoarseEdges = 1.5f;
constexpr float kCoarseClearance = 0.9f;
// A field that a bone does not leave: twice what it may be in at rest, which is left alone.
constexpr float kLeastGoal = 2 * kKnownField;
// Size of the other limb over that of the own: up to which a bone stays, for the other has to move, and from
// which on it is the one that moves.
constexpr float kHeavier = 0.7f;
constexpr float kLighter = 1.4f;
// Support radii of the other over its edges: up to which its field means nothing to the mesh, and from which
// on it is trusted.
constexpr float kTooCoarseWay = 1;
constexpr float kTrusted = 2.5f;
constexpr float kNoSlope = 1e-6f;
constexpr float kNoWayLength = 1e-9f;

}  // namespace

BoneLiftScratch::Meeting BoneLift::meeting(std::size_t field, std::size_t other,
                                           const BoneLiftScratch& s) const {
  const float own = radius_of(field, s), radius = radius_of(other, s);
  const float coarse = smooth_step(kFineEdges, kCoarseEdges, s.scale[other] * chains_.edge[other] / own);
  const float clearance = std::max(kClearance, kCoarseClearance * coarse);
  return {static_cast<std::uint16_t>(field), static_cast<std::uint16_t>(other),
          std::max(compact_support(clearance * own, radius), kLeastGoal), kLongestWayStep * radius,
          kArrived * own};
}

BoneLift::Excess BoneLift::excess(const BoneLiftScratch::Meeting& meeting, const Vec3f& at,
                                  const BoneLiftScratch& s) const {
  const FieldSample here = s.posed[meeting.other].sample(at);
  if (!(here.value > meeting.goal)) return {};
  const float slope = here.gradient.norm();
  if (!(slope * meeting.longest > kLongestWayStep * kNoSlope)) return {};
  return {here.value - meeting.goal, slope, here.gradient};
}

float BoneLift::share_of(std::size_t mover, std::size_t other, const BoneLiftScratch& s) const {
  const float lighter = smooth_step(kHeavier, kLighter, chains_.size[other] / chains_.size[mover]);
  const float edge = chains_.edge[other];
  return lighter * smooth_step(kTooCoarseWay * edge, kTrusted * edge, radius_of(other, s) / s.scale[other]);
}

Vec3f BoneLift::way_out(std::size_t mover, std::size_t sample, const Hinge& hinge,
                        const BoneLiftScratch& s) const {
  const LiftChains::Sample& of = chains_.samples[sample];
  const Vec3f from = place(of, s);
  Vec3f x = from;
  float share = 1;
  for (int step = 0; step < kSteps; ++step) {
    // Each field that it is in wants it out the shortest way; those that want most are heard most. Between
    // two that want the opposite it comes to rest.
    Vec3f move = Vec3f::Zero(), wanted = Vec3f::Zero();
    float lengths = 0, shares = 0;
    const bool nearby = (x - from).squaredNorm() < s.nearby * s.nearby;
    for (const BoneLiftScratch::Meeting& meeting :
         std::span(s.meetings).first(nearby ? s.nearby_count : s.meetings.size())) {
      const Excess other = excess(meeting, x, s);
      if (!(other.value > 0) || chains_.is_known(of, meeting.other)) continue;
      const float length = std::min(other.value / other.slope, meeting.longest);
      Vec3f out = -length / other.slope * other.gradient;
      // A finger leaves its palm as it has come: it is unbent, not pushed aside.
      if (static_cast<std::int32_t>(chains_.group_of[meeting.other]) == hinge.palm)
        out -= hinge.axis.dot(out) * hinge.axis;
      move += length * out, wanted += out;
      lengths += length;
      if (step == 0) shares += length * share_of(mover, meeting.other, s);
    }
    if (!(lengths > 0)) break;
    if (step == 0) share = shares / lengths;
    // As far as they want the opposite, half of it: the whole would lead to the same place on the other side.
    const float agreed = wanted.norm() / lengths;
    move *= 0.5f * (1 + agreed) / lengths;
    x += move;
    if (!(move.norm() > kArrived * radius_of(of.field, s))) break;
  }
  return share * (x - from);
}

float BoneLift::way_along(const Vec3f& direction, float longest, const BoneLiftScratch& s) const {
  float way = 0;
  for (int sweep = 0; sweep < kSteps; ++sweep) {
    // One sample after the other goes on until it is out, and all go with it. Again, for that may have led
    // others into something.
    bool all_out = true;
    for (const BoneLiftScratch::Meeting& meeting : s.meetings)
      for (const LiftChains::Sample& sample : chains_.samples_of(meeting.field)) {
        float before = way;
        for (int step = 0; step < kSteps && way >= meeting.from && way <= meeting.to; ++step) {
          const Excess other = excess(meeting, place(sample, s) + way * direction, s);
          if (!(other.value > 0) || chains_.is_known(sample, meeting.other)) break;
          before = way;
          const float slope = -other.gradient.dot(direction);
          way += slope > 0 ? std::min(other.value / slope, meeting.longest) : meeting.longest;
          if (way >= longest) return longest;
          if (!(way - before > meeting.arrived)) break;
          all_out = false;
        }
        // The last step led out of it, perhaps too far.
        for (int half = 0; half < kWayHalvings && way - before > meeting.arrived; ++half) {
          const float middle = (before + way) / 2;
          const bool in = excess(meeting, place(sample, s) + middle * direction, s).value > 0;
          (in ? before : way) = middle;
        }
      }
    if (all_out) return way;
  }
  return longest;
}

Vec3f BoneLift::way_as_one(std::size_t group, const Mat3d& frame, BoneLiftScratch& s) const {
  // Ways are seldom longer than what goes them; farther fields are for the next round.
  Vec3f low = s.nodes[chains_.carried[group][0]], high = low;
  for (const std::uint32_t n : chains_.carried[group])
    low = low.cwiseMin(s.nodes[n]), high = high.cwiseMax(s.nodes[n]);
  const Vec3f around = Vec3f::Constant((high - low).norm());
  const std::size_t count = fields_->fields.size();
  s.meetings.clear();
  for (std::size_t b = 0; b < count; ++b) {
    if (!reaches(s.posed[b], low - around, high + around)) continue;
    for (const std::uint32_t f : chains_.groups[group])
      if (chains_.meets[f * count + b]) s.meetings.push_back(meeting(f, b, s));
    for (const std::uint32_t f : chains_.extremities[group])
      if (chains_.meets_as_one[f * count + b]) s.meetings.push_back(meeting(f, b, s));
  }
  for (BoneLiftScratch::Meeting& meeting : s.meetings) place_in_grid(meeting, s);
  Vec3f shortest = Vec3f::Zero();
  float length = std::numeric_limits<float>::max();
  for (int x = -1; x <= 1; ++x)
    for (int y = -1; y <= 1; ++y)
      for (int z = -1; z <= 1; ++z) {
        if (x == 0 && y == 0 && z == 0) continue;
        const Vec3f direction = (frame * Vec3d(x, y, z)).normalized().cast<float>();
        if (!(direction.norm() > kNoWayLength)) continue;
        for (BoneLiftScratch::Meeting& meeting : s.meetings) find_passage(meeting, direction, s);
        const float way = way_along(direction, length, s);
        if (!(way < length)) continue;
        length = way, shortest = way * direction;
        std::erase_if(s.meetings, [&](const BoneLiftScratch::Meeting& meeting) {
          return is_farther(meeting, length, s);
        });
      }
  return shortest;
}

void BoneLift::place_in_grid(BoneLiftScratch::Meeting& meeting, const BoneLiftScratch& s) const {
  const PosedField& other = s.posed[meeting.other];
  const Box box = box_of(meeting.field, s);
  const Vec3f at = other.to_grid((box.low + box.high) / 2), half = (box.high - box.low) / 2;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const Eigen::Map<const Vec3f> row(other.grid_from_world.data() + 4 * axis);
    // A cell more on both sides is more than what is rounded off.
    const float reach = row.cwiseAbs().dot(half) + 1, middle = at[static_cast<Eigen::Index>(axis)];
    meeting.low[axis] = other.grid->low()[axis] - reach - middle;
    meeting.high[axis] = other.grid->high()[axis] + reach - middle;
  }
}

bool BoneLift::is_farther(const BoneLiftScratch::Meeting& meeting, float length,
                          const BoneLiftScratch& s) const {
  const PosedField& other = s.posed[meeting.other];
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const float most = length * Eigen::Map<const Vec3f>(other.grid_from_world.data() + 4 * axis).norm();
    if (meeting.low[axis] > most || meeting.high[axis] < -most) return other.muscle_count == 0;
  }
  return false;
}

void BoneLift::find_passage(BoneLiftScratch::Meeting& meeting, const Vec3f& direction,
                            const BoneLiftScratch& s) const {
  const PosedField& other = s.posed[meeting.other];
  meeting.from = 0, meeting.to = std::numeric_limits<float>::max();
  // Muscles reach beyond their bone's grid.
  if (other.muscle_count != 0) return;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const float slope = Eigen::Map<const Vec3f>(other.grid_from_world.data() + 4 * axis).dot(direction);
    const float low = meeting.low[axis], high = meeting.high[axis];
    if (slope == 0) {
      if (low > 0 || high < 0) meeting.to = -1;
      continue;
    }
    meeting.from = std::max(meeting.from, std::min(low / slope, high / slope));
    meeting.to = std::min(meeting.to, std::max(low / slope, high / slope));
  }
}

}  // namespace sinew
