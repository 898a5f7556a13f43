#include <sinew/fitting/controller_links.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <sinew/fitting/rig_bones.h>
#include <sinew/geometry/segment.h>

namespace sinew {

namespace {

constexpr double kUnlinked = std::numeric_limits<double>::infinity();

/// By hand, on the template rigs and Rigify's.
struct LinkParams {
  double same_joint = 1e-4;   ///< between ends at one joint, in lengths of the rig's longest deforming bone
  double on_ground = 0.005;   ///< between ends on the ground and it, in heights of the deforming bones
  double below_ground = 0.1;  ///< how far below the lowest deforming bone controllers still define the ground
  double same_direction = 1e-2;  ///< sine of the angle between bones of one direction
  /// Distances from the middle plane that differ by less than this share of the rig's half width are equal.
  double axis_step = 0.05;
  // Cost of following a path through mechanism bones: by a constraint, by lying on a bone, by a child, which
  // is farther than any constraint.
  double constraint_cost = 1, stands_for_cost = 0.5, child_cost = 100;
};
constexpr LinkParams kLinkParams;

/// Whether a constraint hands motion on through mechanism bones. The others limit it, or take a part of it
/// from what moves it otherwise, as limbs do that keep the root's rotation.
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
class ControllerLinker {
 public:
  ControllerLinker(const ControlRig& rig, const PerBone<int>& symmetry_level)
      : rig_(rig),
        symmetry_level_(symmetry_level),
        tolerance_(joint_tolerance(rig)),
        children_(rig.bones.size()),
        constrained_(rig.bones.size()),
        armature_parent_(rig.bones.size()),
        stands_for_(rig.bones.size()),
        links_(rig.bones.size()) {
    find_relations();
    find_middle();
    for (const BoneId b : bone_ids(rig))
      if (!bone_at(rig, b).deforms) stands_for_[b] = find_twin(b);
  }

  PerBone<ControllerLink> run() {
    const RigGround ground = rig_ground(rig_);
    PerBone<char> settled(rig_.bones.size(), 0);
    for (const BoneId c : bone_ids(rig_)) {
      const RigBone& controller = bone_at(rig_, c);
      if (controller.deforms) continue;
      ControllerLink& link = links_[c];
      link.head_on_ground = std::abs(controller.head.y() - ground.height) <= ground.tolerance;
      link.tail_on_ground = std::abs(controller.tail.y() - ground.height) <= ground.tolerance;
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
    for (const BoneId c : bone_ids(rig_))
      if (!bone_at(rig_, c).deforms && !settled[c]) follow_parent(c, settled);
    for (const BoneId c : bone_ids(rig_)) {
      if (bone_at(rig_, c).deforms) continue;
      ControllerLink& link = links_[c];
      link.head_joints = joints_at(bone_at(rig_, c).head, link.bones);
      link.tail_joints = joints_at(bone_at(rig_, c).tail, link.bones);
    }
    return std::move(links_);
  }

 private:
  /// Children, and who constrains whom.
  void find_relations() {
    std::unordered_map<std::string_view, BoneId> by_name;
    for (const BoneId b : bone_ids(rig_)) by_name.emplace(bone_at(rig_, b).name, b);
    const auto find = [&](const std::string& name) {
      const auto found = by_name.find(name);
      return found == by_name.end() ? BoneId::kNone : found->second;
    };
    for (const BoneId b : bone_ids(rig_)) {
      const RigBone& bone = bone_at(rig_, b);
      if (bone.parent >= 0) children_[parent_of(rig_, b)].push_back(b);
      for (const RigConstraint& constraint : bone.constraints) {
        double heaviest = 0;
        for (const ConstraintTarget& target : constraint.targets) {
          const BoneId from = find(target.bone);
          if (!from.valid() || from == b) continue;
          if (constraint.kind != ConstraintKind::armature) {
            if (bone.deforms || leads(constraint.kind)) constrained_[from].push_back(b);
          } else if (target.weight > heaviest) {
            heaviest = target.weight;
            armature_parent_[b] = from;
          }
        }
        if (const BoneId pole = find(constraint.pole); pole.valid() && pole != b)
          constrained_[pole].push_back(b);
      }
    }
  }

  void find_middle() {
    double left = kUnlinked, right = -kUnlinked;
    for (const RigBone& bone : rig_.bones) {
      if (!bone.deforms) continue;
      left = std::min({left, bone.head.x(), bone.tail.x()});
      right = std::max({right, bone.head.x(), bone.tail.x()});
    }
    if (!(left <= right)) return;
    middle_ = 0.5 * (left + right);
    half_width_ = 0.5 * (right - left);
  }

  BoneId leader_of(BoneId b) const {
    const BoneId parent = parent_of(rig_, b);
    return parent.valid() ? parent : armature_parent_[b];
  }

  /// Whether most of what deforms hangs on a controller that hangs on nothing.
  bool is_root(BoneId c) const {
    if (leader_of(c).valid()) return false;
    std::size_t below = 0, all = 0;
    for (const RigBone& bone : rig_.bones) all += bone.deforms;
    for (const BoneId b : bone_ids(rig_)) {
      if (!bone_at(rig_, b).deforms) continue;
      BoneId up = b;
      for (std::size_t steps = 0; up.valid() && up != c && steps < rig_.bones.size(); ++steps)
        up = leader_of(up);
      below += up == c;
    }
    return 2 * below > all;
  }

  bool meet(const Vec3d& a, const Vec3d& b) const { return (a - b).norm() <= tolerance_; }

  /// The deforming bone that starts where controller `c` does and has its direction, the most alike in
  /// length; or kNone.
  BoneId find_twin(BoneId c) const {
    const RigBone& controller = bone_at(rig_, c);
    BoneId best;
    double least = kUnlinked;
    for (const BoneId b : bone_ids(rig_)) {
      const RigBone& bone = bone_at(rig_, b);
      if (!bone.deforms || !meet(bone.head, controller.head)) continue;
      const Vec3d u = bone.tail - bone.head, v = controller.tail - controller.head;
      if (u.cross(v).norm() > kLinkParams.same_direction * u.norm() * v.norm() || u.dot(v) <= 0) continue;
      if (const double difference = (bone.tail - controller.tail).norm(); difference < least) {
        least = difference;
        best = b;
      }
    }
    return best;
  }

  /// The deforming bone with the same head and tail, or kNone.
  BoneId lies_on(BoneId c) const {
    const BoneId bone = stands_for_[c];
    return bone.valid() && meet(bone_at(rig_, bone).tail, bone_at(rig_, c).tail) ? bone : BoneId::kNone;
  }

  static void put_first(BoneId bone, std::vector<BoneId>& bones) {
    if (!bone.valid()) return;
    std::erase(bones, bone);
    bones.insert(bones.begin(), bone);
  }

  /// Orders bones that are as good otherwise: those that start at the controller's head, that end there, that
  /// are near.
  std::pair<int, double> remoteness(BoneId c, BoneId b) const {
    const Vec3d& head = bone_at(rig_, c).head;
    const RigBone& bone = bone_at(rig_, b);
    return {meet(bone.head, head)   ? 0
            : meet(bone.tail, head) ? 1
                                    : 2,
            (nearest_on_segment(bone.head, bone.tail, head) - head).norm()};
  }

  /// Poirier 2009, §3.1.3.4.1 (a), through mechanism bones: deforming bones that the controller constrains,
  /// the fewest constraints first. What is between hands its motion on by constraints, to the deforming bone
  /// it stands for, and to its children.
  std::vector<BoneId> constrained_by(BoneId c) const {
    PerBone<double> cost(rig_.bones.size(), kUnlinked);
    using Entry = std::pair<double, BoneId>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
    const auto reach = [&](BoneId bone, double value) {
      if (value >= cost[bone]) return;
      cost[bone] = value;
      open.emplace(value, bone);
    };
    cost[c] = 0;
    for (const BoneId bone : constrained_[c]) reach(bone, kLinkParams.constraint_cost);
    while (!open.empty()) {
      const auto [value, bone] = open.top();
      open.pop();
      if (value > cost[bone] || bone_at(rig_, bone).deforms) continue;
      for (const BoneId next : constrained_[bone]) reach(next, value + kLinkParams.constraint_cost);
      if (const BoneId twin = stands_for_[bone]; twin.valid())
        reach(twin, value + kLinkParams.stands_for_cost);
      for (const BoneId next : children_[bone]) reach(next, value + kLinkParams.child_cost);
    }
    std::vector<BoneId> bones;
    for (const BoneId b : bone_ids(rig_))
      if (bone_at(rig_, b).deforms && cost[b] < kUnlinked) bones.push_back(b);
    std::stable_sort(bones.begin(), bones.end(), [&](BoneId p, BoneId q) {
      if (cost[p] != cost[q]) return cost[p] < cost[q];
      return remoteness(c, p) < remoteness(c, q);
    });
    return bones;
  }

  /// Poirier 2009, §3.1.3.4.1 (b), else (c).
  void follow_parent(BoneId c, PerBone<char>& settled) {
    settled[c] = 1;  // now, so that cycles of parents by armature end
    const BoneId parent = leader_of(c);
    ControllerLink& link = links_[c];
    if (stands_for_[c].valid()) {
      link.kind = parent.valid() ? LinkKind::parent : LinkKind::child;
      link.bones = {stands_for_[c]};
      return;
    }
    if (parent.valid() && bone_at(rig_, parent).deforms) {
      link.kind = LinkKind::parent;
      link.bones = {parent};
      return;
    }
    if (parent.valid()) {
      if (!settled[parent]) follow_parent(parent, settled);
      if (!links_[parent].bones.empty()) {
        link.kind = LinkKind::parent;
        link.bones = links_[parent].bones;
        return;
      }
    }
    link.bones = descendants(c);
    if (!link.bones.empty()) {
      link.kind = LinkKind::child;
      return;
    }
    for (const bool tail : {false, true})  // bones that start there come first
      for (const BoneEnd& joint : joints_at(bone_at(rig_, c).head, {}))
        if (joint.tail == tail) {
          link.bones.push_back(joint.bone);
          link.kind = LinkKind::joint;
        }
  }

  /// Poirier 2009, §3.1.3.4.1 (c): deforming bones below, those of lowest symmetry level first.
  std::vector<BoneId> descendants(BoneId c) const {
    std::vector<BoneId> bones;
    std::vector<BoneId> open = children_[c];
    PerBone<char> seen(rig_.bones.size(), 0);
    const auto add = [&](BoneId b) {
      if (!seen[b]) bones.push_back(b);
      seen[b] = 1;
    };
    while (!open.empty()) {
      const BoneId bone = open.back();
      open.pop_back();
      const bool deforms = bone_at(rig_, bone).deforms;
      const BoneId found = deforms ? bone : stands_for_[bone];
      if (found.valid()) add(found);
      if (!deforms && links_[bone].kind == LinkKind::constraint && !links_[bone].bones.empty())
        add(links_[bone].bones.front());
      open.insert(open.end(), children_[bone].begin(), children_[bone].end());
    }
    std::stable_sort(bones.begin(), bones.end(), [&](BoneId p, BoneId q) {
      const double a = distance_off_axis(p), b = distance_off_axis(q);
      if (a != b) return a < b;
      const auto near_p = remoteness(c, p), near_q = remoteness(c, q);
      return near_p != near_q ? near_p < near_q : p < q;
    });
    return bones;
  }

  /// In steps (LinkParams::axis_step), or the symmetry level.
  double distance_off_axis(BoneId b) const {
    if (!symmetry_level_.empty()) return symmetry_level_[b];
    const RigBone& bone = bone_at(rig_, b);
    const double step = kLinkParams.axis_step * half_width_;
    const double off = std::max(std::abs(bone.head.x() - middle_), std::abs(bone.tail.x() - middle_));
    return step > 0 ? std::floor(off / step) : off;
  }

  /// Joints at a point, those of `preferred` first and in their order.
  std::vector<BoneEnd> joints_at(const Vec3d& point, const std::vector<BoneId>& preferred) const {
    std::vector<BoneEnd> joints;
    const auto add = [&](BoneId b) {
      if (meet(bone_at(rig_, b).head, point)) joints.push_back({b, false});
      if (meet(bone_at(rig_, b).tail, point)) joints.push_back({b, true});
    };
    for (const BoneId b : preferred) add(b);
    for (const BoneId b : bone_ids(rig_))
      if (bone_at(rig_, b).deforms && std::find(preferred.begin(), preferred.end(), b) == preferred.end())
        add(b);
    return joints;
  }

  const ControlRig& rig_;
  const PerBone<int>& symmetry_level_;
  double tolerance_;
  double middle_ = 0;      // x of the plane of symmetry
  double half_width_ = 0;  // of the deforming bones, in x
  PerBone<std::vector<BoneId>> children_;
  PerBone<std::vector<BoneId>> constrained_;  // whom each bone is target or pole of
  PerBone<BoneId> armature_parent_;
  PerBone<BoneId> stands_for_;  // per controller a deforming bone
  PerBone<ControllerLink> links_;
};

}  // namespace

double joint_tolerance(const ControlRig& rig) {
  double longest = 0;
  for (const RigBone& bone : rig.bones)
    if (bone.deforms) longest = std::max(longest, bone.length());
  return kLinkParams.same_joint * longest;
}

RigGround rig_ground(const ControlRig& rig) {
  double lowest = kUnlinked, highest = -kUnlinked;
  for (const RigBone& bone : rig.bones) {
    if (!bone.deforms) continue;
    lowest = std::min({lowest, bone.head.y(), bone.tail.y()});
    highest = std::max({highest, bone.head.y(), bone.tail.y()});
  }
  if (!(lowest <= highest)) return {};
  RigGround ground{lowest, kLinkParams.on_ground * (highest - lowest)};
  for (const RigBone& bone : rig.bones)
    if (bone.head.y() >= lowest - kLinkParams.below_ground * (highest - lowest))
      ground.height = std::min(ground.height, bone.head.y());
  return ground;
}

PerBone<ControllerLink> link_controllers(const ControlRig& rig, const PerBone<int>& symmetry_level) {
  assert(symmetry_level.empty() || symmetry_level.size() == rig.bones.size());
  return ControllerLinker(rig, symmetry_level).run();
}

}  // namespace sinew
