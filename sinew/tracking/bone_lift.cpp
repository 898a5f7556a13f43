#include <sinew/tracking/bone_lift.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include <fmt/format.h>
#include <Eigen/SVD>

#include <sinew/core/error.h>
#include <sinew/core/parallel.h>
#include <sinew/core/rotation.h>
#include <sinew/core/smooth_step.h>
#include <sinew/implicit/compact_support.h>

namespace sinew {

namespace {

constexpr int kRounds = 5;
constexpr int kSteps = 16;             // of a way out
constexpr float kArrived = 0.001f;     // a step so short, in own support radii, is the last
constexpr float kLongestStep = 0.25f;  // of them, in the other's support radii
constexpr float kSkin = 0.5f;
// From where a bone deep in a field rises beyond its skin, by so many of its own support radii.
constexpr float kDeep = 0.75f;
constexpr float kClearance = 0.4f;
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
constexpr float kTooCoarse = 1;
constexpr float kTrusted = 2.5f;
constexpr float kMostTurn = 0.08f;  // of a bone in a round, in its lengths
constexpr double kAxisShare = 0.1;  // of a bone's mean axis in its turn, where it has several tails
constexpr float kNoSlope = 1e-6f;
constexpr float kNoLength = 1e-9f;

/// A mean in which the longest vectors count most, by the fourth power of their lengths: nearly the longest
/// one, but without jumps.
struct LongestMean {
  Vec3f sum = Vec3f::Zero();
  float weights = 0;

  void add(const Vec3f& way) {
    const float weight = way.squaredNorm() * way.squaredNorm();
    if (!(weight > 0) || !std::isfinite(weight)) return;
    sum += weight * way;
    weights += weight;
  }
  Vec3f mean() const { return weights > 0 ? Vec3f(sum / weights) : Vec3f(Vec3f::Zero()); }
};

Mat3d turn_between(const Vec3d& from, const Vec3d& to) {
  if (!(from.norm() > kNoLength) || !(to.norm() > kNoLength)) return Mat3d::Identity();
  return shortest_turn(from.normalized(), to.normalized()).toRotationMatrix();
}

/// The rotation nearest to a matrix; never a mirrored one.
Mat3d nearest_rotation(const Mat3d& matrix) {
  const Eigen::JacobiSVD<Mat3d> svd(matrix, Eigen::ComputeFullU | Eigen::ComputeFullV);
  Mat3d u = svd.matrixU();
  if ((u * svd.matrixV().transpose()).determinant() < 0) u.col(2) = -u.col(2);
  return u * svd.matrixV().transpose();
}

}  // namespace

BoneLift::BoneLift(const MeshView& rest, std::span<const std::int32_t> own,
                   std::shared_ptr<const FieldSet> fields, const SkinWeights& weights,
                   std::size_t transform_count, double share)
    : fields_(std::move(fields)),
      own_(own.begin(), own.end()),
      weights_(weights),
      share_(static_cast<float>(share)) {
  const std::size_t count = fields_->fields.size(), vertices = rest.positions.size();
  if (own.size() != vertices || weights.rows() != vertices)
    throw Error(
        fmt::format("lifting bones needs an own field and weights for each of {} vertices", vertices));
  for (const std::int32_t field : own)
    if (field >= static_cast<std::int32_t>(count))
      throw Error(fmt::format("lifting bones: own field {} of {}", field, count));
  for (const std::uint32_t joint : weights.joints)
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
  s.others.reserve(count);
  s.depth.resize(chains_.samples.size());
  s.present.reserve(count);
  s.lifts.resize(count);
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
    if (!rise(s)) {
      if (round == 0) return posed_from_rest;
      break;
    }
    if (round + 1 < kRounds) keep_lengths(s);
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
  std::fill(s.depth.begin(), s.depth.end(), 0.0f);
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
    Vec3f low = s.nodes[f], high = low;
    for (const std::uint32_t tail : chains_.tails_of(f))
      low = low.cwiseMin(s.nodes[tail]), high = high.cwiseMax(s.nodes[tail]);
    for (std::size_t b = 0; b < count; ++b)
      if (s.shifted[b] && chains_.meets[f * count + b] && reaches(s.posed[b], low, high)) return false;
  }
  return true;
}

Vec3f BoneLift::way_out(const LiftChains::Sample& sample, const Vec3f& from, float& depth,
                        BoneLiftScratch& s) const {
  const auto radius_of = [&](std::size_t field) {
    return s.scale[field] * static_cast<float>(fields_->fields[field].radius);
  };
  const float own = radius_of(sample.field);
  s.others.clear();
  for (const std::uint16_t b : s.present)
    if (!chains_.is_known(sample, b)) {
      s.others.push_back(b);
      depth = std::max(depth, s.posed[b].sample(from).value);
    }
  Vec3f x = from;
  float share = 1;
  for (int step = 0; step < kSteps; ++step) {
    // Each field that it is in wants it out the shortest way; those that want most are heard most. Between
    // two that want the opposite it comes to rest.
    Vec3f move = Vec3f::Zero(), wanted = Vec3f::Zero();
    float lengths = 0, shares = 0;
    for (const std::uint16_t b : s.others) {
      const FieldSample other = s.posed[b].sample(x);
      if (!(other.value > 0)) continue;
      const float slope = other.gradient.norm(), radius = radius_of(b);
      const float coarse = smooth_step(kFineEdges, kCoarseEdges, s.scale[b] * chains_.edge[b] / own);
      const float clearance =
          std::max(kClearance * smooth_step(kSkin, kDeep, depth), kCoarseClearance * coarse);
      const float goal = std::max(compact_support(clearance * own, radius), kLeastGoal);
      if (!(other.value > goal) || !(slope * radius > kNoSlope)) continue;
      const float length = std::min((other.value - goal) / slope, kLongestStep * radius);
      const Vec3f out = -length / slope * other.gradient;
      move += length * out, wanted += out;
      lengths += length;
      const float lighter = smooth_step(kHeavier, kLighter, chains_.size[b] / chains_.size[sample.field]);
      const float trust =
          smooth_step(kTooCoarse * chains_.edge[b], kTrusted * chains_.edge[b], radius / s.scale[b]);
      shares += length * lighter * trust;
    }
    if (!(lengths > 0)) break;
    if (step == 0) share = shares / lengths;
    // As far as they want the opposite, half of it: the whole would lead to the same place on the other side.
    const float agreed = wanted.norm() / lengths;
    move *= 0.5f * (1 + agreed) / lengths;
    x += move;
    if (!(move.norm() > kArrived * own)) break;
  }
  return share * (x - from);
}

bool BoneLift::rise(BoneLiftScratch& s) const {
  const std::size_t count = fields_->fields.size();
  bool any = false;
  for (std::size_t g = 0; g < chains_.groups.size(); ++g) {
    const std::vector<std::uint32_t>& group = chains_.groups[g];
    if (is_settled(group, s)) continue;
    LongestMean heads, tails;
    Vec3f middle = Vec3f::Zero(), axis = Vec3f::Zero();
    float segments = 0;
    for (const std::uint32_t f : group) {
      s.stirred[f] = 0;
      Vec3f low = s.nodes[f], high = low;
      middle += s.nodes[f] / static_cast<float>(group.size());
      for (const std::uint32_t tail : chains_.tails_of(f)) {
        low = low.cwiseMin(s.nodes[tail]), high = high.cwiseMax(s.nodes[tail]);
        axis += s.nodes[tail] - s.nodes[f];
        ++segments;
      }
      s.present.clear();
      for (std::size_t b = 0; b < count; ++b)
        if (chains_.meets[f * count + b] && reaches(s.posed[b], low, high))
          s.present.push_back(static_cast<std::uint16_t>(b));
      if (s.present.empty()) continue;
      const auto samples = chains_.samples_of(f);
      for (std::size_t i = 0; i < samples.size(); ++i) {
        const Vec3f& tail = s.nodes[chains_.tails_of(f)[samples[i].segment]];
        const Vec3f at = s.nodes[f] + samples[i].along * (tail - s.nodes[f]);
        const Vec3f way = way_out(samples[i], at, s.depth[chains_.first_sample[f] + i], s);
        heads.add(std::min(2 * (1 - samples[i].along), 1.0f) * way);
        tails.add(std::min(2 * samples[i].along, 1.0f) * way);
      }
    }
    if (!(heads.weights > 0) && !(tails.weights > 0)) continue;
    any = true;
    axis /= segments;
    // It turns by so much in a round; where that is too little, its other end comes along.
    Vec3f head_way = heads.mean();
    Vec3f apart = tails.mean() - head_way;
    const float longest = kMostTurn * axis.norm();
    if (apart.norm() > longest) {
      apart *= longest / apart.norm();
      if (tails.mean().squaredNorm() > head_way.squaredNorm()) head_way = tails.mean() - apart;
    }
    const Eigen::Matrix3f turn =
        turn_between(axis.cast<double>(), (axis + apart).cast<double>()).cast<float>();
    for (const std::uint32_t n : chains_.carried[g]) {
      s.nodes[n] = middle + head_way + turn * (s.nodes[n] - middle);
      if (n < count) s.stirred[n] = 1;
    }
  }
  return any;
}

void BoneLift::keep_lengths(BoneLiftScratch& s) const {
  for (const std::uint32_t f : chains_.order)
    for (const std::uint32_t tail : chains_.tails_of(f)) {
      const Vec3f axis = s.nodes[tail] - s.nodes[f];
      const float length = axis.norm(), posed = (s.posed_nodes[tail] - s.posed_nodes[f]).norm();
      if (length > 0) s.nodes[tail] = s.nodes[f] + posed / length * axis;
    }
}

void BoneLift::make_transforms(std::span<const Affine3d> posed_from_rest, BoneLiftScratch& s) const {
  std::copy(posed_from_rest.begin(), posed_from_rest.end(), s.transforms.begin());
  for (std::size_t f = 0; f < s.lifts.size(); ++f) {
    const auto tails = chains_.tails_of(f);
    const Vec3d head = s.posed_nodes[f].cast<double>(), risen = s.nodes[f].cast<double>();
    Vec3d axis = Vec3d::Zero(), risen_axis = Vec3d::Zero();
    for (const std::uint32_t tail : tails) {
      axis += s.posed_nodes[tail].cast<double>() - head;
      risen_axis += s.nodes[tail].cast<double>() - risen;
    }
    Affine3d& lift = s.lifts[f];
    lift.linear() = turn_between(axis, risen_axis);
    if (tails.size() == 1 && axis.norm() > kNoLength) {
      // Joints that could not come along in the last round: the limb is stretched.
      const Vec3d along = axis.normalized();
      lift.linear() *= Mat3d::Identity() + (risen_axis.norm() / axis.norm() - 1) * along * along.transpose();
    } else if (tails.size() > 1) {
      // The turn that fits all of them best.
      Mat3d covariance = kAxisShare * axis.squaredNorm() * lift.linear();
      for (const std::uint32_t tail : tails)
        covariance +=
            (s.nodes[tail].cast<double>() - risen) * (s.posed_nodes[tail].cast<double>() - head).transpose();
      lift.linear() = nearest_rotation(covariance);
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
      const auto joints = weights_.row_joints(v);
      const auto values = weights_.row_values(v);
      for (std::size_t k = 0; k < joints.size(); ++k) {
        const std::int32_t field = field_of_[joints[k]] >= 0 ? field_of_[joints[k]] : own_[v];
        way += static_cast<double>(values[k]) * (s.lifts[static_cast<std::size_t>(field)] * from - from);
      }
      positions[v] = (from + way).cast<float>();
    }
  });
}

}  // namespace sinew
