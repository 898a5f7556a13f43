#include <sinew/fitting/template_builder.h>

#include <cassert>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include <sinew/core/index.h>

namespace sinew {

namespace {

/// "hand.L" becomes "hand.R"; other names stay.
std::string mirrored(std::string name) {
  if (name.ends_with(".L")) name.back() = 'R';
  return name;
}

Vec3d mirrored(const Vec3d& p) {
  return {-p.x(), p.y(), p.z()};
}

double roll_of(const Vec3d& head, const Vec3d& tail, const Vec3d& flex) {
  Mat3d frame;
  frame.col(1) = (tail - head).normalized();
  frame.col(0) = (flex - flex.dot(frame.col(1)) * frame.col(1)).normalized();
  frame.col(2) = frame.col(0).cross(frame.col(1));
  return bone_roll(frame);
}

/// Blender's pole angle: from the first bone's x axis to where the pole is, against the sense of its y axis.
double pole_angle(const RigBone& first, const RigBone& last, const Vec3d& pole) {
  const Mat3d frame = bone_frame(first.tail - first.head, first.roll);
  const Vec3d normal = (last.tail - first.head).cross(pole - first.head);
  const Vec3d sideways = normal.cross(first.tail - first.head);
  return std::atan2(sideways.dot(frame.col(2)), sideways.dot(frame.col(0)));
}

}  // namespace

Vec3d bent_joint(const Vec3d& root, const Vec3d& end, double share, double degrees, const Vec3d& pole) {
  const Vec3d along = end - root;
  const Vec3d sideways = (pole - pole.dot(along) / along.squaredNorm() * along).normalized();
  // The two angles at the ends add up to the bend.
  const double offset = std::tan(degrees * kDegree) * share * (1 - share) * along.norm();
  return root + share * along + offset * sideways;
}

Vec3d hinge_axis(const Vec3d& root, const Vec3d& middle, const Vec3d& end) {
  return (middle - root).cross(end - middle).normalized();
}

std::size_t TemplateBuilder::index_of(std::string_view name) const {
  const int found = rig_.find(name);
  assert(found >= 0);
  return to_size(found);
}

void TemplateBuilder::add(const std::string& name, std::string_view parent, const Vec3d& head,
                          const Vec3d& tail, double roll, bool deforms) {
  assert(rig_.find(name) < 0);
  RigBone bone;
  bone.name = name;
  bone.head = head;
  bone.tail = tail;
  bone.roll = roll;
  bone.deforms = deforms;
  if (!parent.empty()) {
    bone.parent = static_cast<int>(index_of(parent));
    bone.connected = deforms && at(parent).deforms && at(parent).tail == head;
  }
  rig_.bones.push_back(std::move(bone));
}

void TemplateBuilder::bone(const std::string& name, std::string_view parent, const Vec3d& head,
                           const Vec3d& tail, const Vec3d& flex) {
  add(name, parent, head, tail, roll_of(head, tail, flex), true);
}

void TemplateBuilder::control(const std::string& name, std::string_view parent, const Vec3d& head,
                              const Vec3d& tail, const Vec3d& flex) {
  add(name, parent, head, tail, roll_of(head, tail, flex), false);
}

void TemplateBuilder::control_on(const std::string& name, std::string_view parent, std::string_view bone) {
  const RigBone on = at(bone);
  add(name, parent, on.head, on.tail, on.roll, false);
}

void TemplateBuilder::ik(std::string_view lower, std::string_view target, const std::string& pole,
                         std::string_view parent, double distance) {
  const RigBone& hinge = at(lower);
  assert(hinge.parent >= 0);
  const RigBone& upper = rig_.bones[to_size(hinge.parent)];
  const Vec3d along = hinge.tail - upper.head, middle = hinge.head - upper.head;
  const Vec3d outwards = (middle - middle.dot(along) / along.squaredNorm() * along).normalized();
  const Vec3d place = hinge.head + distance * outwards;
  control(pole, parent, place, place + 0.15 * distance * outwards,
          hinge_axis(upper.head, hinge.head, hinge.tail));
  RigConstraint constraint;
  constraint.kind = ConstraintKind::ik;
  constraint.name = "IK";
  constraint.targets = {{std::string(target)}};
  constraint.pole = pole;
  constraint.chain_length = 2;
  rig_.bones[index_of(lower)].constraints.push_back(std::move(constraint));
}

void TemplateBuilder::copy_rotation(std::string_view bone, std::string_view target, double influence,
                                    bool local) {
  RigConstraint copy;
  copy.kind = ConstraintKind::copy_rotation;
  copy.name = "Copy Rotation";
  copy.targets = {{std::string(target)}};
  copy.influence = influence;
  copy.extras = local ? R"({"space":"local"})" : R"({"space":"world"})";
  rig_.bones[index_of(bone)].constraints.push_back(std::move(copy));
}

void TemplateBuilder::damped_track(std::string_view bone, std::string_view target, double influence,
                                   std::string_view axis) {
  RigConstraint track;
  track.kind = ConstraintKind::damped_track;
  track.name = "Damped Track";
  track.targets = {{std::string(target)}};
  track.influence = influence;
  track.extras = fmt::format(R"({{"track_axis":"{}"}})", axis);
  rig_.bones[index_of(bone)].constraints.push_back(std::move(track));
}

void TemplateBuilder::limit_rotation(std::string_view bone, const Vec3d& least, const Vec3d& most) {
  RigConstraint limit;
  limit.kind = ConstraintKind::limit_rotation;
  limit.name = "Limit Rotation";
  const Vec3d a = kDegree * least, b = kDegree * most;
  limit.extras =
      fmt::format(R"({{"space":"local","min":[{:.4f},{:.4f},{:.4f}],"max":[{:.4f},{:.4f},{:.4f}]}})", a.x(),
                  a.y(), a.z(), b.x(), b.y(), b.z());
  rig_.bones[index_of(bone)].constraints.push_back(std::move(limit));
}

void TemplateBuilder::flexor(const std::string& name, std::string_view parent,
                             const std::vector<std::string>& chain, std::span<const double> influences) {
  assert(!chain.empty() && chain.size() == influences.size());
  const RigBone &first = at(chain.front()), &last = at(chain.back());
  const Vec3d flex = bone_frame(first.tail - first.head, first.roll).col(0);
  control(name, parent, first.head, last.tail, flex);
  for (std::size_t k = 0; k < chain.size(); ++k) copy_rotation(chain[k], name, influences[k], true);
}

ControlRig TemplateBuilder::finish() const {
  ControlRig rig = rig_;
  for (const RigBone& left : rig_.bones) {
    if (!left.name.ends_with(".L")) continue;
    // As Blender mirrors: the frame's x axis is turned round, so that the same turn is the mirror image.
    RigBone right = left;
    right.name = mirrored(left.name);
    right.head = mirrored(left.head);
    right.tail = mirrored(left.tail);
    right.roll = -left.roll;
    if (left.parent >= 0) right.parent = rig.find(mirrored(rig_.bones[to_size(left.parent)].name));
    for (RigConstraint& constraint : right.constraints) {
      for (ConstraintTarget& target : constraint.targets) target.bone = mirrored(target.bone);
      constraint.pole = mirrored(constraint.pole);
      // Limits about y and z change sides, but all of ours are symmetric there.
    }
    rig.bones.push_back(std::move(right));
  }
  for (RigBone& bone : rig.bones)
    for (RigConstraint& constraint : bone.constraints)
      if (constraint.kind == ConstraintKind::ik && !constraint.pole.empty()) {
        const RigBone& pole = rig.bones[to_size(rig.find(constraint.pole))];
        constraint.pole_angle = pole_angle(rig.bones[to_size(bone.parent)], bone, pole.head);
      }
  check_rig(rig, "template " + rig.name);
  return rig;
}

}  // namespace sinew
