#include "tests/support/controller_rigs.h"

#include <cmath>
#include <numbers>
#include <vector>

#include <sinew/core/index.h>
#include <sinew/fitting/rig_bones.h>

namespace sinew::test {

namespace {

constexpr double kDegree = std::numbers::pi / 180;

}  // namespace

RigBone& RigLines::add(const std::string& name, const std::string& parent, const Vec3d& head,
                       const Vec3d& tail, bool deforms) {
  RigBone bone;
  bone.name = name;
  bone.parent = rig.find(parent);
  bone.head = head;
  bone.tail = tail;
  bone.roll = 0.1 * static_cast<double>(rig.bones.size() % 7) - 0.2;
  bone.deforms = deforms;
  rig.bones.push_back(bone);
  return rig.bones.back();
}

RigConstraint constraint(ConstraintKind kind, const std::string& target, const std::string& pole,
                         double length) {
  RigConstraint result;
  result.kind = kind;
  result.name = std::string(constraint_name(kind));
  result.targets.push_back({target, 1});
  result.pole = pole;
  result.chain_length = kind == ConstraintKind::ik ? 2 : 0;
  result.length = length;
  return result;
}

const RigBone& get(const ControlRig& rig, const std::string& name) {
  return bone_at(rig, find_bone(rig, name));
}
RigBone& get(ControlRig& rig, const std::string& name) {
  return bone_at(rig, find_bone(rig, name));
}

ControlRig legs() {
  RigLines b;
  b.control("root", "", Vec3d(0, 0, 0), Vec3d(0, 0, 0.5));
  b.deform("hips", "root", Vec3d(0, 0.9, 0), Vec3d(0, 1.1, 0));
  b.deform("chest", "hips", Vec3d(0, 1.1, 0), Vec3d(0, 1.4, -0.02)).connected = true;
  for (const double s : {1.0, -1.0}) {
    const std::string side = s > 0 ? ".L" : ".R";
    const Vec3d hip(s * 0.1, 0.88, 0), knee(s * 0.1, 0.48, 0.04), ankle(s * 0.1, 0.08, 0),
        ball(s * 0.1, 0.02, 0.12), toe(s * 0.1, 0.02, 0.18), heel(s * 0.1, 0, -0.05);
    b.control("foot_ik" + side, "root", ankle, ball);
    b.control("roll_heel" + side, "foot_ik" + side, heel, ankle);
    b.control("roll_toe" + side, "roll_heel" + side, toe, ball);
    b.control("roll_ball" + side, "roll_toe" + side, ball, ankle).connected = true;
    b.control("pole" + side, "root", knee + Vec3d(0, 0, 0.5), knee + Vec3d(0, 0, 0.6));
    b.deform("thigh" + side, "hips", hip, knee);
    RigBone& shin = b.deform("shin" + side, "thigh" + side, knee, ankle);
    shin.connected = true;
    shin.constraints.push_back(constraint(ConstraintKind::ik, "roll_ball" + side, "pole" + side));
    RigBone& foot = b.deform("foot" + side, "shin" + side, ankle, ball);
    foot.connected = true;
    foot.constraints.push_back(constraint(ConstraintKind::copy_rotation, "foot_ik" + side));
    b.deform("toe" + side, "foot" + side, ball, toe).connected = true;
  }
  return b.rig;
}

ControlRig arm(double down, double bend, double scale) {
  RigLines b;
  const Vec3d out(std::cos(down * kDegree), -std::sin(down * kDegree), 0);
  const Vec3d fore = std::cos(bend * kDegree) * out + std::sin(bend * kDegree) * Vec3d::UnitZ();
  const Vec3d shoulder = scale * Vec3d(0.2, 1.4, 0), elbow = shoulder + scale * 0.3 * out,
              wrist = elbow + scale * 0.3 * fore;
  b.deform("chest", "", scale * Vec3d(0, 1.1, 0), scale * Vec3d(0, 1.4, 0));
  b.deform("upper", "chest", shoulder, elbow);
  b.deform("fore", "upper", elbow, wrist);
  b.deform("hand", "fore", wrist, wrist + scale * 0.1 * fore);
  b.control("hand_ik", "", wrist, wrist + scale * 0.1 * fore);
  b.control("elbow_pole", "", elbow + Vec3d(0, 0, -0.4), elbow + Vec3d(0, 0, -0.5));
  get(b.rig, "fore").constraints.push_back(constraint(ConstraintKind::ik, "hand_ik", "elbow_pole"));
  return b.rig;
}

ControlRig finger(double bend, double scale) {
  RigLines b;
  std::vector<Vec3d> joints{Vec3d(0, 1, 0)};
  for (int k = 0; k < 3; ++k)
    joints.push_back(joints.back() +
                     scale * (0.5 - 0.1 * k) *
                         Vec3d(std::cos(k * bend * kDegree), -std::sin(k * bend * kDegree), 0));
  for (int k = 0; k < 3; ++k)
    b.deform("finger" + std::to_string(k), k == 0 ? "" : "finger" + std::to_string(k - 1), joints[to_size(k)],
             joints[to_size(k) + 1]);
  b.control("flexor", "", joints[0], joints[3]);
  b.control("tip", "flexor", joints[3], joints[3] + Vec3d(0.1, 0, 0)).connected = true;
  get(b.rig, "finger0").constraints.push_back(constraint(ConstraintKind::copy_rotation, "flexor"));
  get(b.rig, "finger2").constraints.push_back(constraint(ConstraintKind::ik, "tip"));
  return b.rig;
}

ControlRig generated() {
  RigLines b;
  b.control("root", "", Vec3d(0, 0, 0), Vec3d(0, 0, -1));
  b.control("MCH-torso.parent", "root", Vec3d(0, 1, -0.05), Vec3d(0, 1.1, -0.05));
  b.control("torso", "MCH-torso.parent", Vec3d(0, 1, -0.05), Vec3d(0, 1, -0.4));
  b.control("ORG-spine", "torso", Vec3d(0, 1, 0), Vec3d(0, 1.3, 0));
  b.control("tweak_spine", "ORG-spine", Vec3d(0, 1, 0), Vec3d(0, 1.05, 0));
  b.deform("DEF-spine", "root", Vec3d(0, 1, 0), Vec3d(0, 1.3, 0))
      .constraints.push_back(constraint(ConstraintKind::copy_transforms, "tweak_spine"));
  b.deform("DEF-head", "DEF-spine", Vec3d(0, 1.3, 0), Vec3d(0, 1.6, 0));
  b.deform("DEF-eye", "DEF-head", Vec3d(0, 1.5, 0.08), Vec3d(0, 1.5, 0.12));
  b.control("eye_target", "root", Vec3d(0, 1.5, 0.8), Vec3d(0, 1.55, 0.8));
  get(b.rig, "DEF-eye").constraints.push_back(constraint(ConstraintKind::damped_track, "eye_target"));
  b.control("face_panel", "DEF-head", Vec3d(0.4, 1.5, 0), Vec3d(0.4, 1.6, 0));
  for (const double s : {1.0, -1.0}) {
    const std::string side = s > 0 ? ".L" : ".R";
    const Vec3d hip(s * 0.1, 0.95, 0), mid(s * 0.1, 0.73, 0.02), knee(s * 0.1, 0.51, 0.04),
        ankle(s * 0.1, 0.08, 0), ball(s * 0.1, 0.02, 0.13);
    b.control("ORG-thigh" + side, "ORG-spine", hip, knee);
    b.control("ORG-shin" + side, "ORG-thigh" + side, knee, ankle).connected = true;
    b.control("ORG-foot" + side, "ORG-shin" + side, ankle, ball).connected = true;
    b.control("thigh_fk" + side, "ORG-spine", hip, knee);
    b.control("shin_fk" + side, "thigh_fk" + side, knee, ankle).connected = true;
    b.control("thigh_parent" + side, "ORG-spine", hip, hip + Vec3d(0, 0.1, 0));
    b.control("MCH-foot_ik.parent" + side, "", ankle, ankle + Vec3d(0, 0.05, 0))
        .constraints.push_back(constraint(ConstraintKind::armature, "root"));
    b.control("foot_ik" + side, "MCH-foot_ik.parent" + side, ankle, ball);
    b.control("heel_ik" + side, "foot_ik" + side, Vec3d(s * 0.1, 0, -0.05), Vec3d(s * 0.1, 0, 0.05));
    b.control("MCH-thigh_ik" + side, "thigh_parent" + side, hip, knee);
    b.control("MCH-pole.parent" + side, "root", knee + Vec3d(0, 0, 0.6), knee + Vec3d(0, 0, 0.65));
    b.control("pole" + side, "MCH-pole.parent" + side, knee + Vec3d(0, 0, 0.6), knee + Vec3d(0, 0, 0.7));
    b.control("MCH-shin_ik" + side, "MCH-thigh_ik" + side, knee, ankle)
        .constraints.push_back(constraint(ConstraintKind::ik, "foot_ik" + side, "pole" + side));
    b.control("VIS-pole" + side, "ORG-spine", knee, knee + Vec3d(0, 0, 0.6))
        .constraints.push_back(constraint(ConstraintKind::stretch_to, "pole" + side, "", 0.6));
    for (const std::string part : {"thigh", "shin"}) {
      RigBone& org = get(b.rig, "ORG-" + part + side);
      org.constraints.push_back(constraint(ConstraintKind::copy_transforms, part + "_fk" + side));
      org.constraints.push_back(constraint(ConstraintKind::copy_transforms, "MCH-" + part + "_ik" + side));
    }
    get(b.rig, "ORG-foot" + side)
        .constraints.push_back(constraint(ConstraintKind::copy_transforms, "foot_ik" + side));
    b.control("tweak_thigh" + side, "ORG-thigh" + side, hip, hip + Vec3d(0, -0.05, 0));
    b.control("tweak_thigh.001" + side, "ORG-thigh" + side, mid, mid + Vec3d(0, -0.05, 0));
    b.control("tweak_shin" + side, "ORG-shin" + side, knee, knee + Vec3d(0, -0.05, 0));
    const auto deform = [&](const std::string& name, const std::string& parent, const Vec3d& head,
                            const Vec3d& tail, const std::string& copies, const std::string& stretches) {
      RigBone& bone = b.deform(name + side, parent, head, tail);
      bone.constraints.push_back(constraint(ConstraintKind::copy_transforms, copies + side));
      if (!stretches.empty())
        bone.constraints.push_back(
            constraint(ConstraintKind::stretch_to, stretches + side, "", bone.length()));
    };
    deform("DEF-thigh", "ORG-spine", hip, mid, "tweak_thigh", "tweak_thigh.001");
    deform("DEF-thigh.001", "DEF-thigh" + side, mid, knee, "tweak_thigh.001", "tweak_shin");
    deform("DEF-shin", "DEF-thigh.001" + side, knee, ankle, "tweak_shin", "ORG-foot");
    deform("DEF-foot", "DEF-shin" + side, ankle, ball, "ORG-foot", "");
  }
  get(b.rig, "thigh_parent.L")
      .constraints.push_back(constraint(ConstraintKind::limit_distance, "torso", "", 0.3));
  return b.rig;
}

}  // namespace sinew::test
