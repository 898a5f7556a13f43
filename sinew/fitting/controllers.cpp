#include <sinew/fitting/controllers.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numbers>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>

#include <sinew/fitting/best_rotation.h>
#include <sinew/geometry/segment.h>

namespace sinew {

namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// Ends this near to each other are at one joint; in parts of the rig's longest deforming bone.
constexpr double kSameJoint = 1e-4;
// Ends this near to the ground are on it; in parts of the height of the deforming bones.
constexpr double kOnGround = 0.005;
// How far below the lowest deforming bone controllers still tell where the ground is; in the same parts.
constexpr double kBelow = 0.1;
// A character that is turned by less stands as the rig does, in another pose.
constexpr double kBoneTurned = 30 * std::numbers::pi / 180;

std::size_t at(int bone) {
  return static_cast<std::size_t>(bone);
}

const Vec3d& end(const ControlRig& rig, const BoneEnd& joint) {
  const RigBone& bone = rig.bones[at(joint.bone)];
  return joint.tail ? bone.tail : bone.head;
}

double joint_tolerance(const ControlRig& rig) {
  double longest = 0;
  for (const RigBone& bone : rig.bones)
    if (bone.deforms) longest = std::max(longest, bone.length());
  return kSameJoint * longest;
}

/// Where a rig stands: the lowest of its deforming bones, or of the controllers a little below.
struct Ground {
  double height = 0;     ///< y
  double tolerance = 0;  ///< of ends that are on it
};

Ground rig_ground(const ControlRig& rig) {
  double lowest = kUnbounded, highest = -kUnbounded;
  for (const RigBone& bone : rig.bones) {
    if (!bone.deforms) continue;
    lowest = std::min({lowest, bone.head.y(), bone.tail.y()});
    highest = std::max({highest, bone.head.y(), bone.tail.y()});
  }
  if (!(lowest <= highest)) return {};
  Ground ground{lowest, kOnGround * (highest - lowest)};
  for (const RigBone& bone : rig.bones)
    if (bone.head.y() >= lowest - kBelow * (highest - lowest))
      ground.height = std::min(ground.height, bone.head.y());
  return ground;
}

/// Whether a constraint hands motion on through mechanism. The others limit it, or take a part of it from
/// what moves it otherwise, as limbs do that keep the root's rotation.
bool leads(ConstraintKind kind) {
  switch (kind) {
    case ConstraintKind::copy_rotation:
    case ConstraintKind::copy_scale:
    case ConstraintKind::limit_rotation:
    case ConstraintKind::limit_location:
    case ConstraintKind::limit_scale:
    case ConstraintKind::limit_distance:
      return false;
    default:
      return true;
  }
}

/// Finds what each controller follows.
class Linker {
 public:
  Linker(const ControlRig& rig, std::span<const int> level)
      : rig_(rig),
        level_(level),
        count_(rig.bones.size()),
        tolerance_(joint_tolerance(rig)),
        children_(count_),
        constrained_(count_),
        armature_parent_(count_, -1),
        stands_for_(count_, -1),
        links_(count_) {
    std::unordered_map<std::string_view, int> number;
    for (std::size_t b = 0; b < count_; ++b) number.emplace(rig.bones[b].name, static_cast<int>(b));
    const auto find = [&](const std::string& name) {
      const auto found = number.find(name);
      return found == number.end() ? -1 : found->second;
    };
    double left = kUnbounded, right = -kUnbounded;
    for (std::size_t b = 0; b < count_; ++b) {
      const RigBone& bone = rig.bones[b];
      if (bone.parent >= 0) children_[at(bone.parent)].push_back(static_cast<int>(b));
      for (const RigConstraint& constraint : bone.constraints) {
        double heaviest = 0;
        for (const ConstraintTarget& target : constraint.targets) {
          const int from = find(target.bone);
          if (from < 0 || from == static_cast<int>(b)) continue;
          if (constraint.kind != ConstraintKind::armature) {
            if (bone.deforms || leads(constraint.kind)) constrained_[at(from)].push_back(static_cast<int>(b));
          } else if (target.weight > heaviest) {
            heaviest = target.weight;
            armature_parent_[b] = from;
          }
        }
        if (const int pole = find(constraint.pole); pole >= 0 && pole != static_cast<int>(b))
          constrained_[at(pole)].push_back(static_cast<int>(b));
      }
      if (!bone.deforms) continue;
      left = std::min({left, bone.head.x(), bone.tail.x()});
      right = std::max({right, bone.head.x(), bone.tail.x()});
    }
    if (left <= right) {
      middle_ = 0.5 * (left + right);
      half_width_ = 0.5 * (right - left);
    }
    for (std::size_t b = 0; b < count_; ++b)
      if (!rig.bones[b].deforms) stands_for_[b] = find_twin(b);
  }

  std::vector<ControllerLink> run() {
    const Ground ground = rig_ground(rig_);
    std::vector<char> settled(count_, 0);
    for (std::size_t c = 0; c < count_; ++c) {
      if (rig_.bones[c].deforms) continue;
      ControllerLink& link = links_[c];
      link.head_on_ground = std::abs(rig_.bones[c].head.y() - ground.height) <= ground.tolerance;
      link.tail_on_ground = std::abs(rig_.bones[c].tail.y() - ground.height) <= ground.tolerance;
      if (link.head_on_ground && is_root(c)) {
        settled[c] = 1;
        continue;
      }
      link.bones = constrained_by(c);
      if (link.bones.empty()) continue;
      link.kind = LinkKind::constraint;
      settled[c] = 1;
      put_first(lies_on(c), link.bones);
    }
    for (std::size_t c = 0; c < count_; ++c)
      if (!rig_.bones[c].deforms && !settled[c]) follow_parent(c, settled);
    for (std::size_t c = 0; c < count_; ++c) {
      if (rig_.bones[c].deforms) continue;
      ControllerLink& link = links_[c];
      link.head_joints = joints_at(rig_.bones[c].head, link.bones);
      link.tail_joints = joints_at(rig_.bones[c].tail, link.bones);
    }
    return std::move(links_);
  }

 private:
  int parent_of(std::size_t b) const {
    return rig_.bones[b].parent >= 0 ? rig_.bones[b].parent : armature_parent_[b];
  }

  /// Whether most of what deforms hangs on a controller that hangs on nothing.
  bool is_root(std::size_t c) const {
    if (parent_of(c) >= 0) return false;
    std::size_t below = 0, all = 0;
    for (const RigBone& bone : rig_.bones) all += bone.deforms;
    for (std::size_t b = 0; b < count_; ++b) {
      if (!rig_.bones[b].deforms) continue;
      int up = static_cast<int>(b);
      for (std::size_t steps = 0; up >= 0 && up != static_cast<int>(c) && steps < count_; ++steps)
        up = parent_of(at(up));
      below += up == static_cast<int>(c);
    }
    return 2 * below > all;
  }

  bool meet(const Vec3d& a, const Vec3d& b) const { return (a - b).norm() <= tolerance_; }

  /// The deforming bone that starts where controller `c` does and goes its way, the most alike in length; -1.
  int find_twin(std::size_t c) const {
    const RigBone& controller = rig_.bones[c];
    int best = -1;
    double least = kUnbounded;
    for (std::size_t b = 0; b < count_; ++b) {
      const RigBone& bone = rig_.bones[b];
      if (!bone.deforms || !meet(bone.head, controller.head)) continue;
      const Vec3d u = bone.tail - bone.head, v = controller.tail - controller.head;
      if (u.cross(v).norm() > 1e-2 * u.norm() * v.norm() || u.dot(v) <= 0) continue;
      if (const double difference = (bone.tail - controller.tail).norm(); difference < least) {
        least = difference;
        best = static_cast<int>(b);
      }
    }
    return best;
  }

  /// The deforming bone with the same head and tail; -1.
  int lies_on(std::size_t c) const {
    const int bone = stands_for_[c];
    return bone >= 0 && meet(rig_.bones[at(bone)].tail, rig_.bones[c].tail) ? bone : -1;
  }

  static void put_first(int bone, std::vector<int>& bones) {
    if (bone < 0) return;
    std::erase(bones, bone);
    bones.insert(bones.begin(), bone);
  }

  /// For bones that are as good otherwise: those that start at the controller's head, that end there, that
  /// are near.
  std::pair<int, double> remoteness(std::size_t c, int bone) const {
    const Vec3d& head = rig_.bones[c].head;
    const RigBone& b = rig_.bones[at(bone)];
    return {meet(b.head, head)   ? 0
            : meet(b.tail, head) ? 1
                                 : 2,
            (nearest_on_segment(b.head, b.tail, head) - head).norm()};
  }

  /// §3.1.3.4.1 (a), through mechanism: deforming bones that the controller constrains, the fewest
  /// constraints first. What is between hands its motion on by constraints, to the deforming bone it stands
  /// for, and to its children, which is farther than any constraint.
  std::vector<int> constrained_by(std::size_t c) const {
    constexpr double kConstraint = 1, kStandsFor = 0.5, kChild = 100;
    std::vector<double> cost(count_, kUnbounded);
    using Entry = std::pair<double, int>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
    const auto reach = [&](int bone, double value) {
      if (value >= cost[at(bone)]) return;
      cost[at(bone)] = value;
      open.emplace(value, bone);
    };
    cost[c] = 0;
    for (const int bone : constrained_[c]) reach(bone, kConstraint);
    while (!open.empty()) {
      const auto [value, bone] = open.top();
      open.pop();
      if (value > cost[at(bone)] || rig_.bones[at(bone)].deforms) continue;
      for (const int next : constrained_[at(bone)]) reach(next, value + kConstraint);
      if (const int twin = stands_for_[at(bone)]; twin >= 0) reach(twin, value + kStandsFor);
      for (const int next : children_[at(bone)]) reach(next, value + kChild);
    }
    std::vector<int> bones;
    for (std::size_t b = 0; b < count_; ++b)
      if (rig_.bones[b].deforms && cost[b] < kUnbounded) bones.push_back(static_cast<int>(b));
    std::stable_sort(bones.begin(), bones.end(), [&](int p, int q) {
      if (cost[at(p)] != cost[at(q)]) return cost[at(p)] < cost[at(q)];
      return remoteness(c, p) < remoteness(c, q);
    });
    return bones;
  }

  /// §3.1.3.4.1 (b), else (c).
  void follow_parent(std::size_t c, std::vector<char>& settled) {
    settled[c] = 1;  // now, so that parents by armature that go round end
    const int parent = parent_of(c);
    ControllerLink& link = links_[c];
    if (stands_for_[c] >= 0) {
      link.kind = parent >= 0 ? LinkKind::parent : LinkKind::child;
      link.bones = {stands_for_[c]};
      return;
    }
    if (parent >= 0 && rig_.bones[at(parent)].deforms) {
      link.kind = LinkKind::parent;
      link.bones = {parent};
      return;
    }
    if (parent >= 0) {
      if (!settled[at(parent)]) follow_parent(at(parent), settled);
      if (!links_[at(parent)].bones.empty()) {
        link.kind = LinkKind::parent;
        link.bones = links_[at(parent)].bones;
        return;
      }
    }
    link.bones = descendants(c);
    if (!link.bones.empty()) {
      link.kind = LinkKind::child;
      return;
    }
    for (const bool tail : {false, true})  // bones that start there come first
      for (const BoneEnd& joint : joints_at(rig_.bones[c].head, {}))
        if (joint.tail == tail) {
          link.bones.push_back(joint.bone);
          link.kind = LinkKind::joint;
        }
  }

  /// §3.1.3.4.1 (c): deforming bones below, those of lowest symmetry level first.
  std::vector<int> descendants(std::size_t c) const {
    std::vector<int> bones;
    std::vector<int> open = children_[c];
    std::vector<char> seen(count_, 0);
    while (!open.empty()) {
      const int bone = open.back();
      open.pop_back();
      const bool deforms = rig_.bones[at(bone)].deforms;
      const int found = deforms ? bone : stands_for_[at(bone)];
      const auto add = [&](int b) {
        if (!seen[at(b)]) bones.push_back(b);
        seen[at(b)] = 1;
      };
      if (found >= 0) add(found);
      if (!deforms && links_[at(bone)].kind == LinkKind::constraint && !links_[at(bone)].bones.empty())
        add(links_[at(bone)].bones.front());
      open.insert(open.end(), children_[at(bone)].begin(), children_[at(bone)].end());
    }
    // What is no nearer to the axis than this is as near; what is this near is on it.
    const double step = 0.05 * half_width_;
    const auto off_axis = [&](int bone) -> double {
      if (!level_.empty()) return level_[at(bone)];
      const RigBone& b = rig_.bones[at(bone)];
      const double off = std::max(std::abs(b.head.x() - middle_), std::abs(b.tail.x() - middle_));
      return step > 0 ? std::floor(off / step) : off;
    };
    std::stable_sort(bones.begin(), bones.end(), [&](int p, int q) {
      const double a = off_axis(p), b = off_axis(q);
      if (a != b) return a < b;
      const auto near_p = remoteness(c, p), near_q = remoteness(c, q);
      return near_p != near_q ? near_p < near_q : p < q;
    });
    return bones;
  }

  /// Joints at a point, those of `preferred` first and in their order.
  std::vector<BoneEnd> joints_at(const Vec3d& point, const std::vector<int>& preferred) const {
    std::vector<BoneEnd> joints;
    const auto add = [&](int b) {
      if (meet(rig_.bones[at(b)].head, point)) joints.push_back({b, false});
      if (meet(rig_.bones[at(b)].tail, point)) joints.push_back({b, true});
    };
    for (const int b : preferred) add(b);
    for (std::size_t b = 0; b < count_; ++b)
      if (rig_.bones[b].deforms &&
          std::find(preferred.begin(), preferred.end(), static_cast<int>(b)) == preferred.end())
        add(static_cast<int>(b));
    return joints;
  }

  const ControlRig& rig_;
  std::span<const int> level_;
  std::size_t count_;
  double tolerance_;
  double middle_ = 0;      // x of the plane of symmetry
  double half_width_ = 0;  // of the deforming bones, in x
  std::vector<std::vector<int>> children_;
  std::vector<std::vector<int>> constrained_;  // per bone, whom it is target or pole of
  std::vector<int> armature_parent_;
  std::vector<int> stands_for_;  // per controller a deforming bone, or -1
  std::vector<ControllerLink> links_;
};

/// to + scale · turn (p − from)
struct Similarity {
  Vec3d from = Vec3d::Zero(), to = Vec3d::Zero();
  Quatd turn = Quatd::Identity();
  double scale = 1;

  Vec3d operator()(const Vec3d& p) const { return to + scale * (turn * (p - from)); }
};

/// Moves what follows.
class Carrier {
 public:
  Carrier(const ControlRig& rig, std::span<const ControllerLink> links, FittedRig& fitted)
      : rig_(rig), links_(links), fitted_(fitted), tolerance_(joint_tolerance(rig)) {}

  void run() {
    find_whole();
    carry_deforming();
    tail_fixed_.assign(rig_.bones.size(), 0);
    for (std::size_t c = 0; c < rig_.bones.size(); ++c)
      if (!rig_.bones[c].deforms) carry(c);
    for (std::size_t b = 0; b < rig_.bones.size(); ++b)
      for (const RigConstraint& constraint : rig_.bones[b].constraints)
        if (constraint.kind == ConstraintKind::ik && !constraint.pole.empty())
          carry_pole(b, constraint, rig_.find(constraint.pole));
    connect();
    adjust_lengths();
  }

 private:
  bool placed(std::size_t b) const { return rig_.bones[b].deforms && fitted_.fate[b] == BoneFate::placed; }
  RigBone& fitted(std::size_t b) { return fitted_.rig.bones[b]; }

  void find_whole() {
    const std::size_t count = rig_.bones.size();
    std::vector<char> is_placed(count, 0);
    double old_sum = 0, new_sum = 0, ends = 0, old_lowest = kUnbounded;
    for (std::size_t b = 0; b < count; ++b) {
      if (!placed(b)) continue;
      is_placed[b] = 1;
      old_sum += rig_.bones[b].length();
      new_sum += fitted(b).length();
      whole_.from += rig_.bones[b].head + rig_.bones[b].tail;
      whole_.to += fitted(b).head + fitted(b).tail;
      old_lowest = std::min({old_lowest, rig_.bones[b].head.y(), rig_.bones[b].tail.y()});
      ends += 2;
    }
    if (ends == 0) return;
    whole_.from /= ends;
    whole_.to /= ends;
    if (old_sum > 0 && new_sum > 0) whole_.scale = new_sum / old_sum;
    whole_.turn = best_rotation(rig_, is_placed, fitted_.rig);
    double away = 0;
    for (std::size_t b = 0; b < count; ++b)
      if (is_placed[b])
        away = std::max({away, (whole_(rig_.bones[b].head) - fitted(b).head).norm(),
                         (whole_(rig_.bones[b].tail) - fitted(b).tail).norm()});
    const double angle = 2 * std::acos(std::min(1.0, std::abs(whole_.turn.w())));
    if (away > 1e-6 * new_sum && angle < kBoneTurned) whole_.turn = Quatd::Identity();
    // Its ground: as far below the lowest placed joint as the rig's, in scale.
    up_ = whole_.turn * Vec3d::UnitY();
    double lowest = kUnbounded;
    for (std::size_t b = 0; b < count; ++b)
      if (is_placed[b]) lowest = std::min({lowest, up_.dot(fitted(b).head), up_.dot(fitted(b).tail)});
    const double old_ground = rig_ground(rig_).height;
    ground_ = lowest - whole_.scale * (old_lowest - old_ground);
    whole_.from.y() = old_ground;
    whole_.to += (ground_ - up_.dot(whole_.to)) * up_;
  }

  /// §3.1.3.4.3: the turn and the scale that a deforming bone underwent, about its head; so its tail, and any
  /// point along it, goes where the bone's does.
  Similarity motion(std::size_t b) {
    const RigBone &was = rig_.bones[b], &is = fitted(b);
    Similarity motion;
    motion.from = was.head;
    motion.to = is.head;
    const bool there = was.length() > 0 && is.length() > 0;
    motion.scale = there ? is.length() / was.length() : whole_.scale;
    motion.turn = there ? Quatd(Mat3d(bone_frame(is.tail - is.head, is.roll) *
                                      bone_frame(was.tail - was.head, was.roll).transpose()))
                        : whole_.turn;
    return motion;
  }

  /// Puts a bone between `head` and `tail`; its axes are those of `turn`, brought to its way.
  void put(std::size_t b, const Quatd& turn, const Vec3d& head, const Vec3d& tail) {
    const RigBone& was = rig_.bones[b];
    RigBone& is = fitted(b);
    is.head = head;
    is.tail = tail;
    const Vec3d old_way = was.tail - was.head, way = tail - head;
    if (!(old_way.norm() > 0) || !(way.norm() > 0)) return;
    Mat3d frame = rotation_between(turn * old_way, way) * turn * bone_frame(old_way, was.roll);
    frame.col(1) = way.normalized();
    const double roll = bone_roll(frame);
    // Of the angles that mean the same, the one nearest to what it was.
    is.roll = roll + 2 * std::numbers::pi * std::round((was.roll - roll) / (2 * std::numbers::pi));
  }

  void put(std::size_t b, const Similarity& by) {
    put(b, by.turn, by(rig_.bones[b].head), by(rig_.bones[b].tail));
  }

  /// Small deforming bones that have no place of their own.
  void carry_deforming() {
    const std::vector<int> parents = deform_parents(rig_);
    for (std::size_t b = 0; b < rig_.bones.size(); ++b) {
      if (!rig_.bones[b].deforms || fitted_.fate[b] != BoneFate::carried) continue;
      int up = parents[b];
      while (up >= 0 && fitted_.fate[at(up)] == BoneFate::carried) up = parents[at(up)];
      if (up < 0)
        put(b, whole_);
      else if (placed(at(up)))
        put(b, motion(at(up)));
      else
        fitted_.fate[b] = BoneFate::dropped;
    }
  }

  /// The first of the joints that is still there, or none.
  const BoneEnd* there(const std::vector<BoneEnd>& joints) const {
    for (const BoneEnd& joint : joints)
      if (fitted_.fate[at(joint.bone)] != BoneFate::dropped) return &joint;
    return nullptr;
  }

  void carry(std::size_t c) {
    const ControllerLink& link = links_[c];
    Similarity by = whole_;
    // What hangs on a bone beside a limb goes with the limb if that is where it was.
    const bool lost =
        link.kind != LinkKind::constraint && !link.head_joints.empty() && !there(link.head_joints);
    const auto bone = std::find_if(link.bones.begin(), link.bones.end(),
                                   [&](int b) { return fitted_.fate[at(b)] != BoneFate::dropped; });
    if (lost || (bone == link.bones.end() && !link.bones.empty())) {
      fitted_.fate[c] = BoneFate::dropped;
      return;
    }
    if (bone != link.bones.end()) by = motion(at(*bone));
    fitted_.fate[c] = BoneFate::carried;
    Vec3d head = by(rig_.bones[c].head), tail = by(rig_.bones[c].tail);
    const auto to_ground = [&](const Vec3d& p) -> Vec3d { return (ground_ - up_.dot(p)) * up_; };
    // The head first, and all with it; then the tail, which aims and stretches (§3.1.3.4.2).
    const BoneEnd* head_joint = there(link.head_joints);
    Vec3d shift = Vec3d::Zero();
    if (head_joint)
      shift = end(fitted_.rig, *head_joint) - head;
    else if (link.head_on_ground)
      shift = to_ground(head);
    head += shift;
    tail += shift;
    if (const BoneEnd* tail_joint = there(link.tail_joints)) {
      tail = end(fitted_.rig, *tail_joint);
      tail_fixed_[c] = 1;
    } else if (link.head_on_ground && link.tail_on_ground) {
      tail += to_ground(tail);
    }
    put(c, by.turn, head, tail);
  }

  /// `bone` has the constraint. The limb is its chain, two bones where the constraint does not say; its
  /// middle is the joint farthest from the line between its ends.
  void carry_pole(std::size_t bone, const RigConstraint& constraint, int pole) {
    if (pole < 0 || rig_.bones[at(pole)].deforms || fitted_.fate[at(pole)] != BoneFate::carried ||
        fitted_.fate[bone] == BoneFate::dropped)
      return;
    std::vector<std::size_t> chain{bone};
    for (int k = 1; k < (constraint.chain_length > 0 ? constraint.chain_length : 2); ++k) {
      const int up = rig_.bones[chain.back()].parent;
      if (up < 0 || fitted_.fate[at(up)] == BoneFate::dropped) break;
      chain.push_back(at(up));
    }
    if (chain.size() < 2) return;
    const std::size_t first = chain.back();
    const Vec3d &top = rig_.bones[first].head, &tip = rig_.bones[bone].tail;
    const Vec3d chord = tip - top, new_chord = fitted(bone).tail - fitted(first).head;
    if (!(chord.norm() > 0) || !(new_chord.norm() > 0)) return;
    std::size_t middle = chain[chain.size() / 2 - (chain.size() % 2 == 0 ? 1 : 0)];
    double farthest = 1e-6 * chord.norm(), old_length = 0, new_length = 0;
    for (const std::size_t b : chain) {
      old_length += rig_.bones[b].length();
      new_length += fitted(b).length();
      const Vec3d offset = rig_.bones[b].head - nearest_on_segment(top, tip, rig_.bones[b].head);
      if (offset.norm() > farthest) {
        farthest = offset.norm();
        middle = b;
      }
    }
    if (middle == first) return;
    // The bone's turn keeps the plane; within it, the line between the ends says what is in front.
    const Quatd turn = motion(bone).turn;
    Similarity by;
    by.turn = rotation_between(turn * chord, new_chord) * turn;
    by.scale = old_length > 0 ? new_length / old_length : whole_.scale;
    by.from = rig_.bones[middle].head;
    by.to = fitted(middle).head;
    put(at(pole), by);
    // Mechanism that it hangs on, where it is.
    for (int up = rig_.bones[at(pole)].parent; up >= 0; up = rig_.bones[at(up)].parent) {
      if (rig_.bones[at(up)].deforms || fitted_.fate[at(up)] != BoneFate::carried ||
          (rig_.bones[at(up)].head - rig_.bones[at(pole)].head).norm() > tolerance_)
        break;
      put(at(up), by);
    }
  }

  void connect() {
    for (const int b : parents_first(rig_)) {
      const RigBone& was = rig_.bones[at(b)];
      if (!was.connected || was.parent < 0 || fitted_.fate[at(b)] != BoneFate::carried) continue;
      if ((was.head - rig_.bones[at(was.parent)].tail).norm() > tolerance_) continue;
      if (fitted_.fate[at(was.parent)] == BoneFate::dropped) continue;
      const Vec3d head = fitted(at(was.parent)).tail;
      const Vec3d shift = head - fitted(at(b)).head;
      if (shift.isZero(0)) continue;
      const Quatd turn = motion(at(b)).turn;
      put(at(b), turn, head, fitted(at(b)).tail + (tail_fixed_[at(b)] ? Vec3d(Vec3d::Zero()) : shift));
    }
  }

  void adjust_lengths() {
    for (std::size_t b = 0; b < rig_.bones.size(); ++b) {
      if (fitted_.fate[b] == BoneFate::dropped) continue;
      const RigBone& was = rig_.bones[b];
      for (std::size_t k = 0; k < was.constraints.size(); ++k) {
        const RigConstraint& constraint = was.constraints[k];
        const bool stretches = constraint.kind == ConstraintKind::stretch_to;
        if ((!stretches && constraint.kind != ConstraintKind::limit_distance) || constraint.length == 0)
          continue;
        double& length = fitted(b).constraints[k].length;
        const int target = constraint.targets.empty() ? -1 : rig_.find(constraint.targets[0].bone);
        if (stretches && std::abs(constraint.length - was.length()) <= kSameJoint * was.length()) {
          length = constraint.length * fitted(b).length() / was.length();
          continue;
        }
        double ratio = whole_.scale;
        if (target >= 0 && fitted_.fate[at(target)] != BoneFate::dropped) {
          const double before = (rig_.bones[at(target)].head - was.head).norm();
          if (before > tolerance_) ratio = (fitted(at(target)).head - fitted(b).head).norm() / before;
        }
        length = constraint.length * ratio;
      }
    }
  }

  const ControlRig& rig_;
  std::span<const ControllerLink> links_;
  FittedRig& fitted_;
  double tolerance_;
  Similarity whole_;
  Vec3d up_ = Vec3d::UnitY();  // of the fitted character
  double ground_ = 0;          // its height along up_
  std::vector<char> tail_fixed_;
};

}  // namespace

std::vector<ControllerLink> link_controllers(const ControlRig& rig, std::span<const int> symmetry_level) {
  assert(symmetry_level.empty() || symmetry_level.size() == rig.bones.size());
  return Linker(rig, symmetry_level).run();
}

void carry_controllers(const ControlRig& rig, std::span<const ControllerLink> links, FittedRig& fitted) {
  assert(links.size() == rig.bones.size() && fitted.fate.size() == rig.bones.size());
  assert(fitted.rig.bones.size() == rig.bones.size());
  Carrier(rig, links, fitted).run();
}

}  // namespace sinew
