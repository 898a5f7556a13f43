#include <sinew/tracking/twist_view.h>

#include <algorithm>
#include <cmath>

#include <Eigen/Geometry>

#include <sinew/core/smooth_step.h>

namespace sinew {

namespace {

// Cosine of the angle between a turn's axis and the bone, from which on it is not only a bend, and a twist.
constexpr float kBend = 0.7f;
constexpr float kTwist = 0.95f;
// Sine of half of the angle of turns that are too small to have an axis, and of those that have one.
constexpr float kNoAxis = 0.01f;
constexpr float kAxis = 0.05f;
constexpr float kLeastShare = 1e-3f;
// How far a transform may be from a turn, as the size of A Aᵀ − 1: wholly one, and not at all.
constexpr float kRigid = 0.05f;
constexpr float kStretched = 0.3f;
// Between a vertex's own field and one that it sees turned there are so many joints at most: a hand that
// touches a thigh at rest is not seen so from there.
constexpr int kTwistKinJoints = 3;
constexpr double kShortTwistBone = 0.1;  // in support radii; then the part tells its direction

struct Turn {
  Eigen::Quaternionf rotation{1, 0, 0, 0};
  float share = 0;  // 1 where the matrix turns and scales; 0 where it does something else
};

Turn turn_of(const Eigen::Matrix3f& matrix) {
  const float scale = std::cbrt(matrix.determinant());
  const Eigen::Matrix3f turn = matrix / scale;
  const float off = (turn * turn.transpose() - Eigen::Matrix3f::Identity()).norm();
  if (!(scale > 0) || !(off < kStretched)) return {};
  return {Eigen::Quaternionf(turn).normalized(), 1 - smooth_step(kRigid, kStretched, off)};
}

/// Per field, its distance from one of them, in joints; many where there is no way.
std::vector<int> joints_from(const FieldSet& set, std::span<const std::int32_t> parent, std::size_t from) {
  const int many = static_cast<int>(set.fields.size()) + 1;
  std::vector<int> steps(set.fields.size(), many), up(set.fields.size(), many);
  int step = 0;
  for (auto at = static_cast<std::int32_t>(from); at >= 0 && up[static_cast<std::size_t>(at)] == many;
       at = parent[static_cast<std::size_t>(at)])
    up[static_cast<std::size_t>(at)] = step++;
  for (std::size_t f = 0; f < steps.size(); ++f) {
    auto at = static_cast<std::int32_t>(f);
    for (int down = 0; at >= 0 && down < many; ++down, at = parent[static_cast<std::size_t>(at)])
      if (up[static_cast<std::size_t>(at)] < many) {
        steps[f] = down + up[static_cast<std::size_t>(at)];
        break;
      }
  }
  return steps;
}

}  // namespace

JointTwist joint_twist(const Eigen::Matrix3f& parent, const Eigen::Matrix3f& child, const Vec3f& place,
                       const Vec3f& bone) {
  JointTwist twist;
  twist.place = place;
  const Turn above = turn_of(parent), below = turn_of(child);
  Eigen::Quaternionf turn = above.rotation.conjugate() * below.rotation;
  if (turn.w() < 0) turn.coeffs() = -turn.coeffs();
  const float sine = turn.vec().norm(), length = bone.norm();
  const float rigid = above.share * below.share;
  if (!(rigid > 0) || !(sine > kNoAxis) || !(length > 0) || !place.allFinite()) return twist;
  const Vec3f axis = turn.vec() / sine;
  twist.half_cosine = turn.w(), twist.half_sine = sine;
  twist.axis = above.rotation * axis;
  twist.share = rigid * smooth_step(kNoAxis, kAxis, sine) *
                smooth_step(kBend, kTwist, std::abs(axis.dot(bone)) / length);
  return twist;
}

TwistTurn seen_turn(const JointTwist& twist, const TwistShare& share) {
  // As dual quaternion skinning blends no turn with the joint's: half of its angle.
  float cosine = 1 - share.follows + share.follows * twist.half_cosine;
  float sine = share.follows * twist.half_sine;
  const float length = std::sqrt(cosine * cosine + sine * sine);
  if (!(length > 0)) return {};
  cosine /= length, sine /= length;
  // A field that the joint carries has turned all the way: the point has to come after it. Any other has not
  // turned at all: the point has to go back.
  const float half_cosine = share.carried ? twist.half_cosine * cosine + twist.half_sine * sine : cosine;
  const float half_sine = share.carried ? twist.half_sine * cosine - twist.half_cosine * sine : -sine;
  const float part = twist.share * share.nearness;
  cosine = 1 - part + part * half_cosine, sine = part * half_sine;
  const float squares = cosine * cosine + sine * sine;
  return squares > 0 ? TwistTurn{(cosine * cosine - sine * sine) / squares, 2 * cosine * sine / squares}
                     : TwistTurn{};
}

std::vector<Vec3f> child_bones(const FieldSet& set) {
  std::vector<Vec3f> bones;
  for (const FieldJoint& joint : set.joints) {
    Vec3d sum = Vec3d::Zero();
    for (const BoneSegment& segment : set.fields[joint.child].segments) sum += segment.tail - segment.head;
    if (sum.norm() < kShortTwistBone * set.fields[joint.child].radius)
      sum = middle_of(set.fields[joint.child]).cast<double>() - joint.place;
    bones.push_back(sum.allFinite() ? Vec3f(sum.cast<float>()) : Vec3f(Vec3f::Zero()));
  }
  return bones;
}

TwistShares find_twist_shares(const FieldSet& set, const FieldNeighbours& neighbours,
                              std::span<const std::int32_t> own, const SkinWeights& weights) {
  const std::size_t count = set.fields.size();
  // Per field, the joint above it; -1: none.
  std::vector<std::int32_t> above(count, -1), parent(count, -1);
  for (std::size_t j = 0; j < set.joints.size(); ++j) {
    above[set.joints[j].child] = static_cast<std::int32_t>(j);
    parent[set.joints[j].child] = static_cast<std::int32_t>(set.joints[j].parent);
  }
  // Per field, the joints that carry it.
  std::vector<std::vector<std::uint16_t>> carriers(count);
  for (std::size_t f = 0; f < count; ++f) {
    auto at = static_cast<std::int32_t>(f);
    for (std::size_t up = 0; up < count && at >= 0 && above[static_cast<std::size_t>(at)] >= 0; ++up) {
      const auto joint = static_cast<std::uint16_t>(above[static_cast<std::size_t>(at)]);
      if (std::find(carriers[f].begin(), carriers[f].end(), joint) != carriers[f].end()) break;
      carriers[f].push_back(joint);
      at = parent[static_cast<std::size_t>(at)];
    }
  }
  std::vector<std::vector<int>> away;
  for (std::size_t f = 0; f < count; ++f) away.push_back(joints_from(set, parent, f));
  const std::vector<std::int32_t> field_of = fields_of_transforms(set);
  TwistShares result;
  std::vector<float> follows(set.joints.size(), 0);
  std::vector<std::uint16_t> touched;
  const auto add = [&](std::size_t field, float nearness) {
    const auto carries = [&](std::uint16_t joint) {
      return std::find(carriers[field].begin(), carriers[field].end(), joint) != carriers[field].end();
    };
    for (const std::uint16_t joint : touched) {
      TwistShare share;
      share.field = static_cast<std::uint16_t>(field);
      share.joint = joint;
      share.carried = carries(joint);
      share.follows = std::min(follows[joint], 1.0f);
      share.nearness = nearness;
      const float turned = share.carried ? 1 - share.follows : share.follows;
      if (nearness > 0 && turned > kLeastShare) result.entries.push_back(share);
    }
  };
  for (std::size_t v = 0; v < own.size(); ++v) {
    if (own[v] >= 0) {
      touched.clear();
      const auto touch = [&](std::size_t field, float weight) {
        for (const std::uint16_t joint : carriers[field]) {
          if (std::find(touched.begin(), touched.end(), joint) == touched.end())
            touched.push_back(joint), follows[joint] = 0;
          follows[joint] += weight;
        }
      };
      float sum = 0;
      for (std::size_t k = 0; k < weights.row_size(v); ++k) {
        const std::uint32_t transform = weights.row_joints(v)[k];
        if (transform >= field_of.size() || field_of[transform] < 0) continue;
        touch(static_cast<std::size_t>(field_of[transform]), weights.row_values(v)[k]);
        sum += weights.row_values(v)[k];
      }
      for (const FieldNeighbour& n : neighbours[v]) touch(n.field, 0);
      touch(static_cast<std::size_t>(own[v]), 0);
      for (const std::uint16_t joint : touched) follows[joint] /= sum > 0 ? sum : 1.0f;
      std::sort(touched.begin(), touched.end());
      bool own_added = false;
      for (const FieldNeighbour& n : neighbours[v]) {
        if (!own_added && n.field > own[v]) add(static_cast<std::size_t>(own[v]), 1), own_added = true;
        if (away[static_cast<std::size_t>(own[v])][n.field] <= kTwistKinJoints) add(n.field, n.nearness);
      }
      if (!own_added) add(static_cast<std::size_t>(own[v]), 1);
    }
    result.starts.push_back(static_cast<std::uint32_t>(result.entries.size()));
  }
  return result;
}

}  // namespace sinew
