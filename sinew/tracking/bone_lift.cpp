#include <sinew/tracking/bone_lift.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/parallel.h>
#include <sinew/core/polar.h>
#include <sinew/core/rotation.h>
#include <sinew/core/smooth_step.h>
#include <sinew/tracking/longest_mean.h>

namespace sinew {

namespace {

constexpr int kRounds = 6;
constexpr float kNearby = 2;        // own support radii that few ways out are longer than
constexpr float kMostTurn = 0.08f;  // of a bone in a round, in its lengths
constexpr float kMostPinnedTurn = 0.25f;
// Radians, of a bone at its joint in all rounds together, and of a limb's root, as a collar bone is one.
constexpr double kMostBent = 0.9;
constexpr double kMostBentRoot = 0.2;
// Radians that the pose has bent a finger, up to which it may go aside, and from which on it is a hinge.
constexpr float kStraight = 0.2f;
constexpr float kBent = 0.6f;
constexpr double kAxisShare = 0.1;  // of a bone's mean axis in its turn, where it has several tails
// How much the ways out of a limb's end agree: up to which they lead to different sides, and from which on to
// the same.
constexpr float kTorn = 0.6f;
constexpr float kAgreed = 0.8f;
constexpr float kNoLength = 1e-9f;

Mat3d turn_between(const Vec3d& from, const Vec3d& to) {
  if (!(from.norm() > kNoLength) || !(to.norm() > kNoLength)) return Mat3d::Identity();
  return shortest_turn(from.normalized(), to.normalized()).toRotationMatrix();
}

/// A rotation by no more than `angle`.
Mat3d at_most(double angle, const Mat3d& rotation) {
  const Eigen::AngleAxisd turn(rotation);
  return std::abs(turn.angle()) > angle ? Eigen::AngleAxisd(angle, turn.axis()).toRotationMatrix() : rotation;
}

}  // namespace

BoneLift::BoneLift(const MeshView& rest, std::span<const std::int32_t> own,
                   std::shared_ptr<const FieldSet> fields, SharedWeights weights, std::size_t transform_count,
                   double share)
    : fields_(std::move(fields)),
      own_(own.begin(), own.end()),
      weights_(weights),
      share_(static_cast<float>(share)) {
  const std::size_t count = fields_->fields.size(), vertices = rest.positions.size();
  if (own.size() != vertices || weights->rows() != vertices)
    throw Error(
        fmt::format("lifting bones needs an own field and weights for each of {} vertices", vertices));
  for (const std::int32_t field : own)
    if (field >= static_cast<std::int32_t>(count))
      throw Error(fmt::format("lifting bones: own field {} of {}", field, count));
  for (const std::uint32_t joint : weights->joints)
    if (joint >= transform_count)
      throw Error(fmt::format("lifting bones: weight on joint {} of {}", joint, transform_count));
  field_of_.assign(transform_count, -1);
  for (std::size_t f = 0; f < count; ++f) {
    if (fields_->transform[f] >= transform_count)
      throw Error(
          fmt::format("lifting bones: field of transform {} of {}", fields_->transform[f], transform_count));
    field_of_[fields_->transform[f]] = static_cast<std::int32_t>(f);
  }
  chains_ = make_lift_chains(rest, own, *fields_, transform_count);
}

BoneLiftScratch BoneLift::make_scratch() const {
  BoneLiftScratch s;
  const std::size_t count = fields_->fields.size();
  s.posed.resize(count);
  s.scale.resize(count);
  s.posed_nodes.resize(chains_.rest_nodes.size());
  s.nodes.resize(chains_.rest_nodes.size());
  s.before.resize(chains_.rest_nodes.size());
  s.stirred.resize(count);
  s.shifted.resize(count);
  std::size_t most = 1;
  for (std::size_t g = 0; g < chains_.groups.size(); ++g)
    most = std::max(most, chains_.groups[g].size() + chains_.extremities[g].size());
  s.meetings.reserve(most * count);
  s.lifts.assign(count, Affine3d::Identity());
  s.turns.assign(count, Mat3d::Identity());
  s.transforms.resize(field_of_.size());
  return s;
}

std::span<const Affine3d> BoneLift::lift(std::span<const Affine3d> posed_from_rest, BoneLiftScratch& s,
                                         std::span<Vec3f> positions) const {
  assert(posed_from_rest.size() == field_of_.size());
  assert(positions.empty() || positions.size() == own_.size());
  if (!(share_ > 0)) return posed_from_rest;
  pose(posed_from_rest, s);
  for (int round = 0; round < kRounds; ++round) {
    if (round > 0) pose_fields(*fields_, s.transforms, s.posed);
    std::copy(s.nodes.begin(), s.nodes.end(), s.before.begin());
    if (!rise(posed_from_rest, s)) {
      if (round == 0) return posed_from_rest;
      break;
    }
    if (round + 1 < kRounds) keep_shapes(s);
    find_shifted(s);
    make_transforms(posed_from_rest, s);
  }
  if (share_ < 1) {
    for (std::size_t n = 0; n < s.nodes.size(); ++n)
      s.nodes[n] = s.posed_nodes[n] + share_ * (s.nodes[n] - s.posed_nodes[n]);
    make_transforms(posed_from_rest, s);
  }
  carry(s, positions);
  return s.transforms;
}

void BoneLift::pose(std::span<const Affine3d> posed_from_rest, BoneLiftScratch& s) const {
  pose_fields(*fields_, posed_from_rest, s.posed);
  for (std::size_t f = 0; f < s.scale.size(); ++f)
    s.scale[f] = static_cast<float>(
        std::cbrt(std::abs(posed_from_rest[fields_->transform[f]].linear().determinant())));
  for (std::size_t n = 0; n < s.nodes.size(); ++n)
    s.nodes[n] = s.posed_nodes[n] =
        (posed_from_rest[fields_->transform[chains_.node_field[n]]] * chains_.rest_nodes[n]).cast<float>();
  std::fill(s.stirred.begin(), s.stirred.end(), std::uint8_t{1});
  std::fill(s.shifted.begin(), s.shifted.end(), std::uint8_t{0});
}

void BoneLift::find_shifted(BoneLiftScratch& s) const {
  for (std::size_t f = 0; f < s.shifted.size(); ++f) {
    bool shifted = s.nodes[f] != s.before[f];
    for (const std::uint32_t tail : chains_.tails_of(f)) shifted = shifted || s.nodes[tail] != s.before[tail];
    s.shifted[f] = shifted;
    s.stirred[f] = s.stirred[f] || shifted;
  }
}

bool BoneLift::is_settled(const std::vector<std::uint32_t>& group, const BoneLiftScratch& s) const {
  const std::size_t count = fields_->fields.size();
  for (const std::uint32_t f : group) {
    if (s.stirred[f]) return false;
    const Box box = box_of(f, s);
    for (std::size_t b = 0; b < count; ++b)
      if (s.shifted[b] && (chains_.meets[f * count + b] || chains_.meets_as_one[f * count + b]) &&
          reaches(s.posed[b], box.low, box.high))
        return false;
  }
  return true;
}

BoneLift::Box BoneLift::box_of(std::size_t field, const BoneLiftScratch& s) const {
  Box box{s.nodes[field], s.nodes[field]};
  for (const std::uint32_t tail : chains_.tails_of(field))
    box.low = box.low.cwiseMin(s.nodes[tail]), box.high = box.high.cwiseMax(s.nodes[tail]);
  return box;
}

bool BoneLift::find_meetings(const std::vector<std::uint8_t>& meets, std::size_t field,
                             BoneLiftScratch& s) const {
  const std::size_t count = fields_->fields.size();
  const Box box = box_of(field, s);
  s.meetings.clear();
  s.nearby = kNearby * radius_of(field, s);
  const Vec3f around = Vec3f::Constant(s.nearby);
  bool any = false;
  for (const bool near : {true, false}) {
    for (std::size_t b = 0; b < count; ++b) {
      if (!meets[field * count + b] || reaches(s.posed[b], box.low - around, box.high + around) != near)
        continue;
      s.meetings.push_back(meeting(field, b, s));
      any = any || (near && reaches(s.posed[b], box.low, box.high));
    }
    if (!any) return false;
    if (near) s.nearby_count = s.meetings.size();
  }
  return true;
}

Vec3f BoneLift::place(const LiftChains::Sample& sample, const BoneLiftScratch& s) const {
  const Vec3f& head = s.nodes[sample.field];
  return head + sample.along * (s.nodes[chains_.tails_of(sample.field)[sample.segment]] - head);
}

float BoneLift::radius_of(std::size_t field, const BoneLiftScratch& s) const {
  return s.scale[field] * static_cast<float>(fields_->fields[field].radius);
}

BoneLift::Hinge BoneLift::find_hinge(std::size_t group, std::span<const Affine3d> posed_from_rest) const {
  const std::int32_t palm = chains_.extremity_of[group];
  if (palm < 0) return {};
  const auto turn = [&](std::size_t field) {
    return nearest_rotation(posed_from_rest[fields_->transform[field]].linear());
  };
  const std::uint32_t field = chains_.groups[group][0];
  const Mat3d above = turn(static_cast<std::size_t>(chains_.parent[field]));
  const Eigen::AngleAxisd bend(Mat3d(turn(field) * above.transpose()));
  const float share = smooth_step(kStraight, kBent, static_cast<float>(std::abs(bend.angle())));
  const Vec3f axis = std::sqrt(share) * bend.axis().cast<float>();
  return {palm, axis.allFinite() ? axis : Vec3f(Vec3f::Zero())};
}

bool BoneLift::rise(std::span<const Affine3d> posed_from_rest, BoneLiftScratch& s) const {
  bool any = false;
  for (std::size_t g = 0; g < chains_.groups.size(); ++g) {
    const std::vector<std::uint32_t>& group = chains_.groups[g];
    if (is_settled(group, s) && is_settled(chains_.extremities[g], s)) continue;
    LongestMean heads, tails;
    Vec3f wanted = Vec3f::Zero();
    float lengths = 0;
    Hinge hinge;
    bool has_hinge = false;
    const auto meets_any = [&](const std::vector<std::uint8_t>& meets, std::uint32_t f) {
      if (!find_meetings(meets, f, s)) return false;
      if (!has_hinge) hinge = find_hinge(g, posed_from_rest), has_hinge = true;
      return true;
    };
    for (const std::uint32_t f : group) {
      s.stirred[f] = 0;
      if (!meets_any(chains_.meets, f)) continue;
      for (std::size_t i = chains_.first_sample[f]; i < chains_.first_sample[f + 1]; ++i) {
        const float along = chains_.samples[i].along;
        const Vec3f way = way_out(f, i, hinge, s);
        heads.add(std::min(2 * (1 - along), 1.0f) * way);
        tails.add(std::min(2 * along, 1.0f) * way);
        wanted += way, lengths += way.norm();
      }
    }
    for (const std::uint32_t f : chains_.extremities[g]) {
      if (!meets_any(chains_.meets_as_one, f)) continue;
      for (std::size_t i = chains_.first_sample[f]; i < chains_.first_sample[f + 1]; ++i) {
        const Vec3f way = way_out(group[0], i, hinge, s);
        tails.add(way);
        wanted += way, lengths += way.norm();
      }
    }
    if (!(heads.weights > 0) && !(tails.weights > 0)) continue;
    any = true;
    // Parts of it on this side of a limb, and others on that: all of it goes to the same side.
    const float torn = chains_.is_end[g] ? 1 - smooth_step(kTorn, kAgreed, wanted.norm() / lengths) : 0.0f;
    Vec3f as_one = Vec3f::Zero();
    if (torn > 0) as_one = torn * way_as_one(g, posed_from_rest[fields_->transform[group[0]]].linear(), s);
    move(g, as_one + (1 - torn) * heads.mean(), as_one + (1 - torn) * tails.mean(), s);
  }
  return any;
}

void BoneLift::move(std::size_t group, const Vec3f& head_way, const Vec3f& tail_way,
                    BoneLiftScratch& s) const {
  Vec3f middle = Vec3f::Zero(), axis = Vec3f::Zero();
  float segments = 0;
  for (const std::uint32_t f : chains_.groups[group]) {
    middle += s.nodes[f] / static_cast<float>(chains_.groups[group].size());
    for (const std::uint32_t tail : chains_.tails_of(f)) axis += s.nodes[tail] - s.nodes[f], ++segments;
  }
  axis /= segments;
  Vec3f way = chains_.is_pinned[group] ? Vec3f(Vec3f::Zero()) : head_way;
  Vec3f apart = tail_way - way;
  const float longest = (chains_.is_pinned[group] ? kMostPinnedTurn : kMostTurn) * axis.norm();
  if (apart.norm() > longest) {
    // It turns by so much in a round; where that is too little, its other end comes along.
    apart *= longest / apart.norm();
    if (!chains_.is_pinned[group] && tail_way.squaredNorm() > way.squaredNorm()) way = tail_way - apart;
  }
  const Eigen::Matrix3f turn = turn_between(axis.cast<double>(), (axis + apart).cast<double>()).cast<float>();
  for (const std::uint32_t n : chains_.carried[group]) {
    s.nodes[n] = middle + way + turn * (s.nodes[n] - middle);
    if (n < s.stirred.size()) s.stirred[n] = 1;
  }
}

void BoneLift::keep_shapes(BoneLiftScratch& s) const {
  for (const std::uint32_t f : chains_.order) {
    const Mat3d above = turn_above(f, s);
    const std::uint32_t g = chains_.group_of[f];
    const double most = chains_.is_pinned[g] && chains_.extremity_of[g] < 0 ? kMostBentRoot : kMostBent;
    s.turns[f] = at_most(most, turn_of(f, s) * above.transpose()) * above;
    for (const std::uint32_t tail : chains_.tails_of(f)) {
      const Vec3f axis = s.posed_nodes[tail] - s.posed_nodes[f];
      const Vec3f to = s.nodes[f] + s.turns[f].cast<float>() * axis, shift = to - s.nodes[tail];
      s.nodes[tail] = to;
      if (tail < chains_.below.size())
        for (const std::uint32_t n : chains_.below[tail]) s.nodes[n] += shift;
    }
  }
}

Mat3d BoneLift::turn_above(std::size_t field, const BoneLiftScratch& s) const {
  const std::int32_t above = chains_.parent[field];
  return above >= 0 ? s.turns[static_cast<std::size_t>(above)] : Mat3d(Mat3d::Identity());
}

Mat3d BoneLift::turn_of(std::size_t field, const BoneLiftScratch& s) const {
  const auto tails = chains_.tails_of(field);
  const Vec3d head = s.posed_nodes[field].cast<double>(), risen = s.nodes[field].cast<double>();
  Vec3d axis = Vec3d::Zero(), risen_axis = Vec3d::Zero();
  for (const std::uint32_t tail : tails) {
    axis += s.posed_nodes[tail].cast<double>() - head;
    risen_axis += s.nodes[tail].cast<double>() - risen;
  }
  // As the bone that it hangs on, and from there the shortest turn: it bends there but does not twist.
  const Mat3d above = turn_above(field, s);
  const Mat3d turn = turn_between(above * axis, risen_axis) * above;
  if (tails.size() < 2) return turn;
  // The turn that fits all of them best.
  Mat3d covariance = kAxisShare * axis.squaredNorm() * turn;
  for (const std::uint32_t tail : tails)
    covariance +=
        (s.nodes[tail].cast<double>() - risen) * (s.posed_nodes[tail].cast<double>() - head).transpose();
  return nearest_rotation(covariance);
}

void BoneLift::make_transforms(std::span<const Affine3d> posed_from_rest, BoneLiftScratch& s) const {
  std::copy(posed_from_rest.begin(), posed_from_rest.end(), s.transforms.begin());
  for (const std::uint32_t f : chains_.order) {
    const auto tails = chains_.tails_of(f);
    const Vec3d head = s.posed_nodes[f].cast<double>(), risen = s.nodes[f].cast<double>();
    s.turns[f] = turn_of(f, s);
    Affine3d& lift = s.lifts[f];
    lift.linear() = s.turns[f];
    if (tails.size() == 1) {
      const Vec3d axis = s.posed_nodes[tails[0]].cast<double>() - head;
      const Vec3d risen_axis = s.nodes[tails[0]].cast<double>() - risen;
      // Joints that could not come along in the last round: the limb is stretched.
      const Vec3d along = axis.normalized();
      if (axis.norm() > kNoLength)
        lift.linear() *=
            Mat3d::Identity() + (risen_axis.norm() / axis.norm() - 1) * along * along.transpose();
    }
    lift.translation() = risen - lift.linear() * head;
    if (!lift.matrix().allFinite()) lift.setIdentity();
    s.transforms[fields_->transform[f]] = lift * posed_from_rest[fields_->transform[f]];
  }
}

void BoneLift::carry(const BoneLiftScratch& s, std::span<Vec3f> positions) const {
  parallel_blocks(positions.size(), 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      if (own_[v] < 0) continue;
      const Vec3d from = positions[v].cast<double>();
      Vec3d way = Vec3d::Zero();
      const auto joints = weights_->row_joints(v);
      const auto values = weights_->row_values(v);
      for (std::size_t k = 0; k < joints.size(); ++k) {
        const std::int32_t field = field_of_[joints[k]] >= 0 ? field_of_[joints[k]] : own_[v];
        way += static_cast<double>(values[k]) * (s.lifts[static_cast<std::size_t>(field)] * from - from);
      }
      positions[v] = (from + way).cast<float>();
    }
  });
}

}  // namespace sinew
