#include <sinew/fitting/bone_rolls.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>
#include <vector>

#include <sinew/core/smooth_step.h>
#include <sinew/fitting/best_rotation.h>
#include <sinew/fitting/rig_bones.h>

namespace sinew {

namespace {

/// By hand, on the built-in characters; tests check that rolls do not jump while a limb bends.
struct RollParams {
  // Radians of bend that begin to define a plane, and that fully do.
  double some_bend = 1.5 * kDegree, full_bend = 4 * kDegree;
  // How far from method (a) a plane counts fully, and not at all; radians. At 90° the sign of its normal is
  // arbitrary.
  double full_trust = 60 * kDegree, no_trust = 85 * kDegree;
  /// A limb's first bone that is shorter than this share of its next is a girdle's, as a clavicle is.
  double girdle = 0.7;
  /// A bone starts at its parent's tail when the two are nearer than this share of the longer one's length.
  double joined = 0.01;
};
constexpr RollParams kRollParams;

Vec3d unit_direction(const RigBone& bone) {
  const Vec3d along = bone.tail - bone.head;
  const double length = along.norm();
  return length > 0 ? Vec3d(along / length) : Vec3d(Vec3d::Zero());
}

/// How well a plane is defined by two directions, 0 to 1: not when they are parallel or opposite.
double plane_confidence(const Vec3d& a, const Vec3d& b) {
  const double angle = std::atan2(a.cross(b).norm(), std::abs(a.dot(b)));
  return smooth_step(kRollParams.some_bend, kRollParams.full_bend, angle);
}

/// What the plane of a joint says about the rotation of a bone about its new direction.
struct RollCorrection {
  double angle = 0;   ///< to add to method (a), radians, within ±π/2
  double weight = 0;  ///< 0 to 1, by how far the joint is bent in the rig and in the mesh
};

class RollTransfer {
 public:
  RollTransfer(const ControlRig& rig, const PerBone<char>& placed, ControlRig& fitted)
      : rig_(rig),
        placed_(placed),
        fitted_(fitted),
        parent_(deforming_parents(rig)),
        next_(rig.bones.size()) {
    PerBone<int> count(rig.bones.size(), 0);
    for (const BoneId b : bone_ids(rig))
      if (bone_at(rig, b).deforms && joined(b)) {
        const BoneId parent = parent_[b];
        ++count[parent];
        next_[parent] = count[parent] == 1 ? b : BoneId::kNone;
      }
  }

  void run() {
    rotation_.assign(rig_.bones.size(), best_rotation(rig_, placed_, fitted_));
    PerBone<char> done(rig_.bones.size(), 0);
    std::vector<BoneId> path;
    for (const BoneId b : bone_ids(rig_)) {
      path.clear();
      for (BoneId up = b; up.valid() && !done[up]; up = parent_[up]) {
        path.push_back(up);
        done[up] = 1;
      }
      for (auto bone = path.rbegin(); bone != path.rend(); ++bone) set_roll(*bone);
    }
  }

 private:
  /// Whether a bone and its deforming parent meet in a joint, in the rig.
  bool joined(BoneId b) const {
    if (!parent_[b].valid()) return false;
    const RigBone &bone = bone_at(rig_, b), &parent = bone_at(rig_, parent_[b]);
    return (bone.head - parent.tail).norm() <= kRollParams.joined * std::max(bone.length(), parent.length());
  }

  /// Whether the joint at the head of b is a shoulder or a hip: it turns any way, so its plane in one pose
  /// says nothing about axes.
  bool is_girdle_joint(BoneId b) const {
    if (!joined(b) || !next_[b].valid()) return false;
    const BoneId p = parent_[b];
    const bool first = !parent_[p].valid() || next_[parent_[p]] != p;
    return first && bone_at(rig_, p).length() < kRollParams.girdle * bone_at(rig_, b).length();
  }

  Vec3d old_direction(BoneId b) const { return unit_direction(bone_at(rig_, b)); }
  Vec3d new_direction(BoneId b) const { return unit_direction(bone_at(fitted_, b)); }

  /// By the joint between bones p and q, for bone b, which `rotation` brings to its new direction.
  RollCorrection by_joint(BoneId p, BoneId q, BoneId b, const Quatd& rotation) const {
    const Vec3d p_old = old_direction(p), q_old = old_direction(q), p_new = new_direction(p),
                q_new = new_direction(q), axis = new_direction(b);
    RollCorrection correction;
    correction.weight = plane_confidence(p_old, q_old) * plane_confidence(p_new, q_new);
    if (correction.weight == 0) return correction;
    const Vec3d was = rotation * p_old.cross(q_old), is = p_new.cross(q_new);
    // About the bone, so what is along it does not count; either normal of the plane will do.
    const double sine = axis.dot(was.cross(is)), cosine = was.dot(is) - was.dot(axis) * is.dot(axis);
    correction.angle = cosine < 0 ? std::atan2(-sine, -cosine) : std::atan2(sine, cosine);
    correction.weight *=
        1 - smooth_step(kRollParams.full_trust, kRollParams.no_trust, std::abs(correction.angle));
    return correction;
  }

  /// By the joint at the tail of b, or the next ones of a limb that is straight there.
  RollCorrection by_next_joints(BoneId b, const Quatd& rotation) const {
    RollCorrection sum;
    double left = 1;
    for (BoneId p = b; left > 0 && next_[p].valid();) {
      const BoneId q = next_[p];
      if (!placed_[q] || is_girdle_joint(q)) break;
      const RollCorrection correction = by_joint(p, q, b, rotation);
      sum.angle += left * correction.weight * correction.angle;
      sum.weight += left * correction.weight;
      left *= (1 - plane_confidence(old_direction(p), old_direction(q))) *
              (1 - plane_confidence(new_direction(p), new_direction(q)));
      p = q;
    }
    if (sum.weight > 0) sum.angle /= sum.weight;
    return sum;
  }

  void set_roll(BoneId b) {
    const BoneId parent = parent_[b];
    if (parent.valid()) rotation_[b] = rotation_[parent];
    if (!placed_[b]) return;
    const Vec3d is = new_direction(b);
    if (is.isZero(0) || old_direction(b).isZero(0)) return;
    // Poirier 2009, §3.1.3.3 (a), from what the parent did.
    const Quatd shortest = rotation_between(rotation_[b] * old_direction(b), is) * rotation_[b];
    // Poirier 2009, §3.1.3.3 (b).
    RollCorrection head;
    if (parent.valid() && placed_[parent] && next_[parent] == b && !is_girdle_joint(b))
      head = by_joint(parent, b, b, shortest);
    const RollCorrection tail = by_next_joints(b, shortest);
    const double angle = head.weight * head.angle + (1 - head.weight) * tail.weight * tail.angle;
    rotation_[b] = (Eigen::AngleAxisd(angle, is) * shortest).normalized();

    const double old_roll = bone_at(rig_, b).roll;
    Mat3d frame = rotation_[b] * bone_frame(old_direction(b), old_roll);
    frame.col(1) = is;
    double roll = bone_roll(frame);
    // Of the angles that mean the same, the one nearest to what it was.
    roll += 2 * std::numbers::pi * std::round((old_roll - roll) / (2 * std::numbers::pi));
    bone_at(fitted_, b).roll = roll;
  }

  const ControlRig& rig_;
  const PerBone<char>& placed_;
  ControlRig& fitted_;
  PerBone<BoneId> parent_;
  PerBone<BoneId> next_;     // the only bone that starts at a bone's tail; kNone: none or several
  PerBone<Quatd> rotation_;  // what takes a bone's old axes to its new ones
};

}  // namespace

void transfer_rolls(const ControlRig& rig, const PerBone<char>& placed, ControlRig& fitted) {
  assert(placed.size() == rig.bones.size() && fitted.bones.size() == rig.bones.size());
  RollTransfer(rig, placed, fitted).run();
}

}  // namespace sinew
