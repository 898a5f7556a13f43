#include <sinew/skeleton/rig_from_skeleton.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <unordered_set>

#include <fmt/format.h>

#include <sinew/core/index.h>
#include <sinew/skeleton/bones.h>
#include <sinew/skeleton/flesh_bones.h>

namespace sinew {

namespace {

constexpr double kAlongBone = 0.5;  // cosine of 60°
constexpr double kLeafShare = 0.5;  // of the parent's bone
// A bone that nothing gives a length: share of the rig's size, and metres when that is nothing.
constexpr double kLoneShare = 0.1, kLoneLength = 0.1;

class RigMaker {
 public:
  RigMaker(const Skeleton& skeleton, std::span<const Affine3d> world, std::span<const int> joints)
      : skeleton_(skeleton), world_(world), joints_(joints), bone_of_joint_(skeleton.size(), -1) {
    for (std::size_t i = 0; i < joints.size(); ++i) bone_of_joint_[to_size(joints[i])] = static_cast<int>(i);
  }

  ControlRig run() {
    if (joints_.empty()) return {};
    link();
    axis_ = find_bone_axis(derive_bones(listed_skeleton(), world_), world_);
    Eigen::AlignedBox3d box;
    for (const int joint : joints_) box.extend(place(joint));
    const double size = box.diagonal().norm();
    lone_length_ = size > 0 ? kLoneShare * size : kLoneLength;
    zero_ = 1e-9 * size;
    // Parents first: a leaf looks at the bone before it.
    for (std::size_t j = 0; j < skeleton_.size(); ++j)
      if (bone_of_joint_[j] >= 0) make_bone(static_cast<int>(j));
    for (RigBone& bone : rig_.bones)
      bone.connected = bone.parent >= 0 && rig_.bones[to_size(bone.parent)].tail == bone.head;
    return std::move(rig_);
  }

 private:
  Vec3d place(int joint) const { return world_[to_size(joint)].translation(); }
  RigBone& bone(int joint) { return rig_.bones[to_size(bone_of_joint_[to_size(joint)])]; }

  Skeleton listed_skeleton() const {
    Skeleton listed = skeleton_;
    for (std::size_t j = 0; j < listed.size(); ++j) listed.joints[j].deforms = bone_of_joint_[j] >= 0;
    return listed;
  }

  /// Names, parents, children, and how many joints each carries.
  void link() {
    rig_.bones.resize(joints_.size());
    std::unordered_set<std::string> names;
    for (std::size_t i = 0; i < joints_.size(); ++i)
      rig_.bones[i].name = free_name(skeleton_.joints[to_size(joints_[i])].name, names);
    parent_.assign(skeleton_.size(), -1);
    children_.resize(skeleton_.size());
    carries_.assign(skeleton_.size(), 0);
    for (std::size_t j = 0; j < skeleton_.size(); ++j) {
      const int above = skeleton_.joints[j].parent;
      if (above >= 0) parent_[j] = bone_of_joint_[to_size(above)] >= 0 ? above : parent_[to_size(above)];
      if (bone_of_joint_[j] < 0 || parent_[j] < 0) continue;
      children_[to_size(parent_[j])].push_back(static_cast<int>(j));
      bone(static_cast<int>(j)).parent = bone_of_joint_[to_size(parent_[j])];
    }
    for (std::size_t j = skeleton_.size(); j-- > 0;)
      for (const int child : children_[j]) carries_[j] += 1 + carries_[to_size(child)];
  }

  static std::string free_name(const std::string& wanted, std::unordered_set<std::string>& names) {
    const std::string base = wanted.empty() ? "joint" : wanted;
    std::string name = base;
    for (int number = 1; !names.insert(name).second; ++number) name = fmt::format("{}.{:03}", base, number);
    return name;
  }

  void make_bone(int joint) {
    RigBone& made = bone(joint);
    made.head = place(joint);
    made.tail = tail(joint);
    made.roll = roll(joint, made.tail - made.head);
  }

  /// Unit length; zero when the rig has no axis, or the joint is scaled to nothing.
  Vec3d axis_of(int joint) const {
    if (axis_.axis < 0) return Vec3d::Zero();
    const Affine3d& world = world_[to_size(joint)];
    const Vec3d direction = axis_.direction(world);
    return world.linear().col(axis_.axis).norm() > 1e-12 && direction.allFinite() ? direction : Vec3d::Zero();
  }

  Vec3d tail(int joint) {
    const std::size_t j = to_size(joint);
    const Vec3d axis = axis_of(joint);
    Vec3d before = Vec3d::Zero();
    double length = 0;
    if (parent_[j] >= 0) {
      const RigBone& parent = bone(parent_[j]);
      length = parent.length();
      before = place(joint) - parent.head;
      if (!(before.norm() > zero_)) before = parent.tail - parent.head;
      before.normalize();
    }
    std::vector<Vec3d> offsets;
    std::vector<int> heirs;
    for (const int child : children_[j])
      if ((place(child) - place(joint)).norm() > zero_) {
        offsets.push_back(place(child) - place(joint));
        heirs.push_back(child);
      }
    if (offsets.size() == 1) return place(heirs[0]);
    if (offsets.empty()) {
      const Vec3d direction = !axis.isZero() ? axis : !before.isZero() ? before : own_direction(joint);
      return place(joint) + (length > zero_ ? kLeafShare * length : lone_length_) * direction;
    }
    std::size_t best = 0;
    if (!axis.isZero()) {
      for (std::size_t i = 1; i < offsets.size(); ++i)
        if (offsets[i].normalized().dot(axis) > offsets[best].normalized().dot(axis)) best = i;
      if (offsets[best].normalized().dot(axis) > kAlongBone)
        return place(joint) + offsets[best].dot(axis) * axis;
    }
    best = 0;
    const auto weight = [&](std::size_t i) {
      return std::pair(carries_[to_size(heirs[i])], offsets[i].normalized().dot(before));
    };
    for (std::size_t i = 1; i < offsets.size(); ++i)
      if (weight(i) > weight(best)) best = i;
    return place(heirs[best]);
  }

  Vec3d own_direction(int joint) const {
    const Vec3d y = world_[to_size(joint)].linear().col(1);
    const double length = y.norm();
    return length > 1e-12 && std::isfinite(length) ? Vec3d(y / length) : Vec3d::UnitY();
  }

  double roll(int joint, const Vec3d& direction) const {
    const Mat3d axes = world_[to_size(joint)].linear();
    const Vec3d y = direction.normalized();
    int along = axis_.axis;
    if (along < 0) {
      double best = -1;
      for (int i = 0; i < 3; ++i) {
        const double cosine = std::abs(axes.col(i).normalized().dot(y));
        if (cosine <= best + 1e-6) continue;
        best = cosine;
        along = i;
      }
      along = std::max(along, 0);
    }
    // The axis before, or the one after where the bone lies along that.
    for (const int i : {(along + 2) % 3, (along + 1) % 3, along}) {
      const Vec3d flat = axes.col(i).normalized() - axes.col(i).normalized().dot(y) * y;
      if (!(flat.norm() > 0.1)) continue;
      Mat3d frame;
      frame.col(0) = flat.normalized();
      frame.col(1) = y;
      frame.col(2) = frame.col(0).cross(y);
      return bone_roll(frame);
    }
    return 0;
  }

  const Skeleton& skeleton_;
  std::span<const Affine3d> world_;
  std::span<const int> joints_;
  std::vector<int> bone_of_joint_;
  // Per joint of the skeleton, for those in the list:
  std::vector<int> parent_;
  std::vector<std::vector<int>> children_;
  std::vector<int> carries_;
  BoneAxis axis_;
  double lone_length_ = 0;
  double zero_ = 0;
  ControlRig rig_;
};

}  // namespace

ControlRig rig_from_skeleton(const Skeleton& skeleton, std::span<const Affine3d> world_from_joint,
                             std::span<const int> joints) {
  assert(world_from_joint.size() == skeleton.size());
  return RigMaker(skeleton, world_from_joint, joints).run();
}

Skeleton skeleton_from_rig(const ControlRig& rig, std::vector<int>* bone_of_joint) {
  const std::vector<int> order = parents_first(rig);
  std::vector<int> joint_of_bone(rig.bones.size(), -1);
  Skeleton skeleton;
  skeleton.joints.reserve(order.size());
  // As forward kinematics will find them from the rounded transforms, so that errors do not add up.
  std::vector<Affine3d> world;
  world.reserve(order.size());
  for (const int b : order) {
    const RigBone& bone = rig.bones[to_size(b)];
    Affine3d place = Affine3d::Identity();
    place.linear() = bone_frame(bone.tail - bone.head, bone.roll);
    place.translation() = bone.head;
    Joint& joint = skeleton.joints.emplace_back();
    joint.name = bone.name;
    joint.deforms = bone.deforms;
    if (bone.parent >= 0) joint.parent = joint_of_bone[to_size(bone.parent)];
    const Affine3d above = joint.parent < 0 ? Affine3d::Identity() : world[to_size(joint.parent)];
    const Affine3d local = above.inverse() * place;
    joint.rest.translation = local.translation().cast<float>();
    joint.rest.rotation = Quatd(local.linear()).normalized().cast<float>();
    world.push_back(above * joint.rest.matrix());
    joint_of_bone[to_size(b)] = static_cast<int>(skeleton.size()) - 1;
  }
  if (bone_of_joint != nullptr) *bone_of_joint = order;
  return skeleton;
}

}  // namespace sinew
