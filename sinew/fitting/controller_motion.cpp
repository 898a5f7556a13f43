#include <sinew/fitting/controller_motion.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numbers>

#include <sinew/fitting/best_rotation.h>
#include <sinew/fitting/rig_bones.h>
#include <sinew/geometry/segment.h>

namespace sinew {

namespace {

/// A character that is turned by less, in radians, is oriented as the rig, in another pose. By hand, on the
/// built-in characters.
constexpr double kMinCharacterRotation = 30 * kDegree;
/// A stretch_to constraint whose length differs by less than this share from its bone's has its bone's.
constexpr double kSameLength = 1e-4;

/// to + scale · rotation (p − from)
struct PivotedSimilarity {
  Vec3d from = Vec3d::Zero(), to = Vec3d::Zero();
  Quatd rotation = Quatd::Identity();
  double scale = 1;

  Vec3d operator()(const Vec3d& p) const { return to + scale * (rotation * (p - from)); }
};

/// Moves what follows placed bones.
class ControllerMover {
 public:
  ControllerMover(const ControlRig& rig, const PerBone<ControllerLink>& links, FittedRig& fitted)
      : rig_(rig), links_(links), fitted_(fitted), tolerance_(joint_tolerance(rig)) {}

  void run() {
    find_character_motion();
    move_carried_bones();
    tail_on_joint_.assign(rig_.bones.size(), 0);
    for (const BoneId c : bone_ids(rig_))
      if (!old_bone(c).deforms) move_controller(c);
    for (const BoneId b : bone_ids(rig_))
      for (const RigConstraint& constraint : old_bone(b).constraints)
        if (constraint.kind == ConstraintKind::ik && !constraint.pole.empty())
          move_pole(b, constraint, find_bone(rig_, constraint.pole));
    connect();
    adjust_lengths();
  }

 private:
  const RigBone& old_bone(BoneId b) const { return bone_at(rig_, b); }
  RigBone& new_bone(BoneId b) { return bone_at(fitted_.rig, b); }
  bool is_placed(BoneId b) const { return old_bone(b).deforms && fitted_.fate[b] == BoneFate::placed; }
  bool is_carried(BoneId b) const { return fitted_.fate[b] == BoneFate::carried; }
  bool is_dropped(BoneId b) const { return fitted_.fate[b] == BoneFate::dropped; }

  /// The similarity of the character as a whole, and its ground.
  void find_character_motion() {
    PerBone<char> placed(rig_.bones.size(), 0);
    double old_sum = 0, new_sum = 0, ends = 0, old_lowest = std::numeric_limits<double>::infinity();
    for (const BoneId b : bone_ids(rig_)) {
      if (!is_placed(b)) continue;
      placed[b] = 1;
      const RigBone &was = old_bone(b), &is = new_bone(b);
      old_sum += was.length();
      new_sum += is.length();
      character_.from += was.head + was.tail;
      character_.to += is.head + is.tail;
      old_lowest = std::min({old_lowest, was.head.y(), was.tail.y()});
      ends += 2;
    }
    if (ends == 0) return;
    character_.from /= ends;
    character_.to /= ends;
    if (old_sum > 0 && new_sum > 0) character_.scale = new_sum / old_sum;
    character_.rotation = best_rotation(rig_, placed, fitted_.rig);
    double residual = 0;
    for (const BoneId b : bone_ids(rig_))
      if (placed[b])
        residual = std::max({residual, (character_(old_bone(b).head) - new_bone(b).head).norm(),
                             (character_(old_bone(b).tail) - new_bone(b).tail).norm()});
    const double angle = 2 * std::acos(std::min(1.0, std::abs(character_.rotation.w())));
    if (residual > 1e-6 * new_sum && angle < kMinCharacterRotation) character_.rotation = Quatd::Identity();
    // The ground: as far below the lowest placed joint as the rig's, in scale.
    up_ = character_.rotation * Vec3d::UnitY();
    double lowest = std::numeric_limits<double>::infinity();
    for (const BoneId b : bone_ids(rig_))
      if (placed[b]) lowest = std::min({lowest, up_.dot(new_bone(b).head), up_.dot(new_bone(b).tail)});
    const double old_ground = rig_ground(rig_).height;
    ground_ = lowest - character_.scale * (old_lowest - old_ground);
    character_.from.y() = old_ground;
    character_.to += (ground_ - up_.dot(character_.to)) * up_;
  }

  /// Poirier 2009, §3.1.3.4.3: the rotation and the scale of a deforming bone, about its head; so its tail,
  /// and any point along it, goes where the bone's does.
  PivotedSimilarity motion(BoneId b) {
    const RigBone &was = old_bone(b), &is = new_bone(b);
    PivotedSimilarity motion;
    motion.from = was.head;
    motion.to = is.head;
    const bool has_length = was.length() > 0 && is.length() > 0;
    motion.scale = has_length ? is.length() / was.length() : character_.scale;
    motion.rotation = has_length ? Quatd(Mat3d(bone_frame(is.tail - is.head, is.roll) *
                                               bone_frame(was.tail - was.head, was.roll).transpose()))
                                 : character_.rotation;
    return motion;
  }

  /// Puts a bone between `head` and `tail`; its axes are rotated by `rotation`, then to its new direction.
  void put(BoneId b, const Quatd& rotation, const Vec3d& head, const Vec3d& tail) {
    const RigBone& was = old_bone(b);
    RigBone& is = new_bone(b);
    is.head = head;
    is.tail = tail;
    const Vec3d old_direction = was.tail - was.head, direction = tail - head;
    if (!(old_direction.norm() > 0) || !(direction.norm() > 0)) return;
    Mat3d frame = rotation_between(rotation * old_direction, direction) * rotation *
                  bone_frame(old_direction, was.roll);
    frame.col(1) = direction.normalized();
    const double roll = bone_roll(frame);
    // Of the angles that mean the same, the one nearest to what it was.
    is.roll = roll + 2 * std::numbers::pi * std::round((was.roll - roll) / (2 * std::numbers::pi));
  }

  void put(BoneId b, const PivotedSimilarity& by) {
    put(b, by.rotation, by(old_bone(b).head), by(old_bone(b).tail));
  }

  /// Small deforming bones that have no place of their own.
  void move_carried_bones() {
    const PerBone<BoneId> parents = deforming_parents(rig_);
    for (const BoneId b : bone_ids(rig_)) {
      if (!old_bone(b).deforms || !is_carried(b)) continue;
      BoneId up = parents[b];
      while (up.valid() && is_carried(up)) up = parents[up];
      if (!up.valid())
        put(b, character_);
      else if (is_placed(up))
        put(b, motion(up));
      else
        fitted_.fate[b] = BoneFate::dropped;
    }
  }

  /// The first of the joints that is still there, or nullptr.
  const BoneEnd* first_kept(const std::vector<BoneEnd>& joints) const {
    for (const BoneEnd& joint : joints)
      if (!is_dropped(joint.bone)) return &joint;
    return nullptr;
  }

  const Vec3d& new_position(const BoneEnd& joint) const {
    const RigBone& bone = bone_at(fitted_.rig, joint.bone);
    return joint.tail ? bone.tail : bone.head;
  }

  void move_controller(BoneId c) {
    const ControllerLink& link = links_[c];
    PivotedSimilarity by = character_;
    // What hangs on a bone beside a limb goes with the limb if that is where it was.
    const bool lost =
        link.kind != LinkKind::constraint && !link.head_joints.empty() && !first_kept(link.head_joints);
    const auto bone =
        std::find_if(link.bones.begin(), link.bones.end(), [&](BoneId b) { return !is_dropped(b); });
    if (lost || (bone == link.bones.end() && !link.bones.empty())) {
      fitted_.fate[c] = BoneFate::dropped;
      return;
    }
    if (bone != link.bones.end()) by = motion(*bone);
    fitted_.fate[c] = BoneFate::carried;
    Vec3d head = by(old_bone(c).head), tail = by(old_bone(c).tail);
    const auto to_ground = [&](const Vec3d& p) -> Vec3d { return (ground_ - up_.dot(p)) * up_; };
    // The head first, and all with it; then the tail, which aims and stretches (Poirier 2009, §3.1.3.4.2).
    const BoneEnd* head_joint = first_kept(link.head_joints);
    Vec3d shift = Vec3d::Zero();
    if (head_joint)
      shift = new_position(*head_joint) - head;
    else if (link.head_on_ground)
      shift = to_ground(head);
    head += shift;
    tail += shift;
    if (const BoneEnd* tail_joint = first_kept(link.tail_joints)) {
      tail = new_position(*tail_joint);
      tail_on_joint_[c] = 1;
    } else if (link.head_on_ground && link.tail_on_ground) {
      tail += to_ground(tail);
    }
    put(c, by.rotation, head, tail);
  }

  /// `bone` has the constraint. The limb is its chain, two bones where the constraint does not say; its
  /// middle is the joint farthest from the line between its ends.
  void move_pole(BoneId bone, const RigConstraint& constraint, BoneId pole) {
    if (!pole.valid() || old_bone(pole).deforms || !is_carried(pole) || is_dropped(bone)) return;
    std::vector<BoneId> chain{bone};
    for (int k = 1; k < (constraint.chain_length > 0 ? constraint.chain_length : 2); ++k) {
      const BoneId up = parent_of(rig_, chain.back());
      if (!up.valid() || is_dropped(up)) break;
      chain.push_back(up);
    }
    if (chain.size() < 2) return;
    const BoneId first = chain.back();
    const Vec3d &top = old_bone(first).head, &tip = old_bone(bone).tail;
    const Vec3d chord = tip - top, new_chord = new_bone(bone).tail - new_bone(first).head;
    if (!(chord.norm() > 0) || !(new_chord.norm() > 0)) return;
    BoneId middle = chain[chain.size() / 2 - (chain.size() % 2 == 0 ? 1 : 0)];
    double farthest = 1e-6 * chord.norm(), old_length = 0, new_length = 0;
    for (const BoneId b : chain) {
      old_length += old_bone(b).length();
      new_length += new_bone(b).length();
      const Vec3d offset = old_bone(b).head - nearest_on_segment(top, tip, old_bone(b).head);
      if (offset.norm() > farthest) {
        farthest = offset.norm();
        middle = b;
      }
    }
    if (middle == first) return;
    // The bone's rotation keeps the plane; within it, the line between the ends says what is in front.
    const Quatd rotation = motion(bone).rotation;
    PivotedSimilarity by;
    by.rotation = rotation_between(rotation * chord, new_chord) * rotation;
    by.scale = old_length > 0 ? new_length / old_length : character_.scale;
    by.from = old_bone(middle).head;
    by.to = new_bone(middle).head;
    put(pole, by);
    // Mechanism bones that it hangs on, at the same place.
    for (BoneId up = parent_of(rig_, pole); up.valid(); up = parent_of(rig_, up)) {
      if (old_bone(up).deforms || !is_carried(up) ||
          (old_bone(up).head - old_bone(pole).head).norm() > tolerance_)
        break;
      put(up, by);
    }
  }

  void connect() {
    for (const BoneId b : bones_parents_first(rig_)) {
      const RigBone& was = old_bone(b);
      const BoneId parent = parent_of(rig_, b);
      if (!was.connected || !parent.valid() || !is_carried(b)) continue;
      if ((was.head - old_bone(parent).tail).norm() > tolerance_) continue;
      if (is_dropped(parent)) continue;
      const Vec3d head = new_bone(parent).tail;
      const Vec3d shift = head - new_bone(b).head;
      if (shift.isZero(0)) continue;
      const Quatd rotation = motion(b).rotation;
      put(b, rotation, head, new_bone(b).tail + (tail_on_joint_[b] ? Vec3d(Vec3d::Zero()) : shift));
    }
  }

  void adjust_lengths() {
    for (const BoneId b : bone_ids(rig_)) {
      if (is_dropped(b)) continue;
      const RigBone& was = old_bone(b);
      for (std::size_t k = 0; k < was.constraints.size(); ++k) {
        const RigConstraint& constraint = was.constraints[k];
        const bool stretches = constraint.kind == ConstraintKind::stretch_to;
        if ((!stretches && constraint.kind != ConstraintKind::limit_distance) || constraint.length == 0)
          continue;
        double& length = new_bone(b).constraints[k].length;
        if (stretches && std::abs(constraint.length - was.length()) <= kSameLength * was.length()) {
          length = constraint.length * new_bone(b).length() / was.length();
          continue;
        }
        const BoneId target =
            constraint.targets.empty() ? BoneId::kNone : find_bone(rig_, constraint.targets[0].bone);
        double ratio = character_.scale;
        if (target.valid() && !is_dropped(target)) {
          const double before = (old_bone(target).head - was.head).norm();
          if (before > tolerance_) ratio = (new_bone(target).head - new_bone(b).head).norm() / before;
        }
        length = constraint.length * ratio;
      }
    }
  }

  const ControlRig& rig_;
  const PerBone<ControllerLink>& links_;
  FittedRig& fitted_;
  double tolerance_;
  PivotedSimilarity character_;
  Vec3d up_ = Vec3d::UnitY();    // of the fitted character
  double ground_ = 0;            // its height along up_
  PerBone<char> tail_on_joint_;  // the tail was put on a joint and stays there
};

}  // namespace

void move_controllers(const ControlRig& rig, const PerBone<ControllerLink>& links, FittedRig& fitted) {
  assert(links.size() == rig.bones.size() && fitted.fate.size() == rig.bones.size());
  assert(fitted.rig.bones.size() == rig.bones.size());
  ControllerMover(rig, links, fitted).run();
}

}  // namespace sinew
