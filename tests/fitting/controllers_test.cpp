#include <sinew/fitting/controllers.h>

#include <cmath>
#include <numbers>
#include <random>

#include <gtest/gtest.h>

#include <sinew/fitting/bone_rolls.h>

namespace sinew {
namespace {

constexpr double kDegree = std::numbers::pi / 180;

/// Builds rigs line by line. Names stand for bones, so parents come first.
struct Builder {
  ControlRig rig;

  RigBone& add(const std::string& name, const std::string& parent, const Vec3d& head, const Vec3d& tail,
               bool deforms) {
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
  RigBone& deform(const std::string& name, const std::string& parent, const Vec3d& head, const Vec3d& tail) {
    return add(name, parent, head, tail, true);
  }
  RigBone& control(const std::string& name, const std::string& parent, const Vec3d& head, const Vec3d& tail) {
    return add(name, parent, head, tail, false);
  }
};

RigConstraint constraint(ConstraintKind kind, const std::string& target, const std::string& pole = "",
                         double length = 0) {
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
  return rig.bones[static_cast<std::size_t>(rig.find(name))];
}
RigBone& get(ControlRig& rig, const std::string& name) {
  return rig.bones[static_cast<std::size_t>(rig.find(name))];
}

/// All deforming bones are placed, where `mesh` has them.
FittedRig start(const ControlRig& rig, const ControlRig& mesh) {
  FittedRig fitted;
  fitted.rig = rig;
  fitted.fate.assign(rig.bones.size(), BoneFate::carried);
  std::vector<char> placed(rig.bones.size(), 0);
  for (std::size_t b = 0; b < rig.bones.size(); ++b) {
    if (!rig.bones[b].deforms) continue;
    fitted.rig.bones[b].head = mesh.bones[b].head;
    fitted.rig.bones[b].tail = mesh.bones[b].tail;
    fitted.fate[b] = BoneFate::placed;
    placed[b] = 1;
  }
  transfer_rolls(rig, placed, fitted.rig);
  return fitted;
}

FittedRig fit(const ControlRig& rig, const ControlRig& mesh) {
  FittedRig fitted = start(rig, mesh);
  carry_controllers(rig, link_controllers(rig), fitted);
  return fitted;
}

int linked(const ControlRig& rig, const std::string& name) {
  const std::vector<ControllerLink> links = link_controllers(rig);
  const ControllerLink& link = links[static_cast<std::size_t>(rig.find(name))];
  return link.bones.empty() ? -1 : link.bones[0];
}

LinkKind kind(const ControlRig& rig, const std::string& name) {
  return link_controllers(rig)[static_cast<std::size_t>(rig.find(name))].kind;
}

/// Figure 3.16: both legs on a hip, with IK, pole and foot roll.
ControlRig legs() {
  Builder b;
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

/// A larger character in another pose: longer legs apart, knees bent further and out, flat feet.
ControlRig other_legs() {
  ControlRig mesh = legs();
  get(mesh, "hips").head = Vec3d(0, 1.8, 0.1);
  get(mesh, "hips").tail = get(mesh, "chest").head = Vec3d(0, 2.3, 0.1);
  get(mesh, "chest").tail = Vec3d(0, 2.8, 0.2);
  for (const double s : {1.0, -1.0}) {
    const std::string side = s > 0 ? ".L" : ".R";
    const Vec3d hip(s * 0.25, 1.75, 0.1), knee(s * 0.4, 0.95, 0.45), ankle(s * 0.42, 0.2, 0.05),
        ball(s * 0.45, 0.05, 0.3), toe(s * 0.46, 0.05, 0.4);
    get(mesh, "thigh" + side).head = hip;
    get(mesh, "thigh" + side).tail = get(mesh, "shin" + side).head = knee;
    get(mesh, "shin" + side).tail = get(mesh, "foot" + side).head = ankle;
    get(mesh, "foot" + side).tail = get(mesh, "toe" + side).head = ball;
    get(mesh, "toe" + side).tail = toe;
  }
  return mesh;
}

TEST(Controllers, LinksOfFigure316) {
  const ControlRig rig = legs();
  EXPECT_EQ(linked(rig, "roll_ball.L"), rig.find("shin.L"));  // target of its IK
  EXPECT_EQ(linked(rig, "pole.L"), rig.find("shin.L"));       // its pole
  EXPECT_EQ(linked(rig, "foot_ik.L"), rig.find("foot.L"));    // lies on it and is copied by it
  EXPECT_EQ(linked(rig, "foot_ik.R"), rig.find("foot.R"));
  EXPECT_EQ(kind(rig, "pole.L"), LinkKind::constraint);
  // The chain of the foot roll has no constraints but for its last: its parent's link.
  EXPECT_EQ(kind(rig, "roll_heel.L"), LinkKind::parent);
  EXPECT_EQ(linked(rig, "roll_heel.L"), rig.find("foot.L"));
  EXPECT_EQ(linked(rig, "roll_toe.R"), rig.find("foot.R"));
  EXPECT_EQ(kind(rig, "root"), LinkKind::whole);
}

TEST(Controllers, CarriesTheLegOfFigure316) {
  const ControlRig rig = legs();
  const FittedRig fitted = fit(rig, other_legs());
  for (const double s : {1.0, -1.0}) {
    const std::string side = s > 0 ? ".L" : ".R";
    const RigBone &shin = get(fitted.rig, "shin" + side), &foot = get(fitted.rig, "foot" + side),
                  &toe = get(fitted.rig, "toe" + side);
    EXPECT_LT((get(fitted.rig, "foot_ik" + side).head - foot.head).norm(), 1e-12);
    EXPECT_LT((get(fitted.rig, "foot_ik" + side).tail - foot.tail).norm(), 1e-12);
    EXPECT_LT((get(fitted.rig, "roll_ball" + side).tail - shin.tail).norm(), 1e-12);
    EXPECT_LT((get(fitted.rig, "roll_ball" + side).head - toe.head).norm(), 1e-12);
    EXPECT_LT((get(fitted.rig, "roll_toe" + side).head - toe.tail).norm(), 1e-12);
    // The heel's pivot is on the ground, which is where the root is, and behind the ankle.
    const RigBone& heel = get(fitted.rig, "roll_heel" + side);
    EXPECT_NEAR(heel.head.y(), get(fitted.rig, "root").head.y(), 1e-9);
    EXPECT_LT(heel.head.y(), foot.tail.y());
    EXPECT_GT(heel.head.y(), foot.tail.y() - 0.1);
    EXPECT_LT(heel.head.z(), foot.head.z());
    EXPECT_EQ(heel.tail, foot.head);
    // The pole: in the plane of the leg, before the knee.
    const RigBone &thigh = get(fitted.rig, "thigh" + side), &pole = get(fitted.rig, "pole" + side);
    const Vec3d chord = (shin.tail - thigh.head).normalized();
    const Vec3d normal = (thigh.tail - thigh.head).cross(shin.tail - shin.head).normalized();
    const Vec3d offset = pole.head - shin.head;
    EXPECT_NEAR(normal.dot(offset.normalized()), 0, 1e-6);
    const Vec3d bulge = shin.head - thigh.head - (shin.head - thigh.head).dot(chord) * chord;
    EXPECT_GT(offset.normalized().dot(bulge.normalized()), 0.99);
    EXPECT_GT(offset.norm(), 0.9);
  }
}

TEST(Controllers, RollsTurnAlong) {
  const ControlRig rig = legs();
  const FittedRig fitted = fit(rig, other_legs());
  const auto turn = [&](const std::string& name) -> Mat3d {
    const RigBone &was = get(rig, name), &is = get(fitted.rig, name);
    return bone_frame(is.tail - is.head, is.roll) * bone_frame(was.tail - was.head, was.roll).transpose();
  };
  EXPECT_LT((turn("foot_ik.L") - turn("foot.L")).norm(), 1e-9);
}

/// A T-pose arm, its elbow bent a little to the front, with a pole behind it.
ControlRig arm(double down, double bend, double scale) {
  Builder b;
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

TEST(Controllers, APoleStaysBehindTheElbowFromTToAPose) {
  const ControlRig rig = arm(0, 8, 1);
  for (const double down : {-20.0, 0.0, 45.0, 80.0})
    for (const double bend : {0.0, 8.0, 40.0, 90.0}) {
      const FittedRig fitted = fit(rig, arm(down, bend, 1.5));
      const Vec3d top = get(fitted.rig, "upper").head, tip = get(fitted.rig, "fore").tail,
                  middle = get(fitted.rig, "fore").head, pole = get(fitted.rig, "elbow_pole").head;
      const Vec3d chord = (tip - top).normalized();
      const Vec3d out(std::cos(down * kDegree), -std::sin(down * kDegree), 0);
      const Vec3d normal = out.cross(Vec3d::UnitZ());  // of the new plane
      const Vec3d offset = (pole - middle).normalized();
      EXPECT_NEAR(offset.dot(normal), 0, 0.02) << down << ' ' << bend;
      const Vec3d back = -(Vec3d::UnitZ() - Vec3d::UnitZ().dot(chord) * chord).normalized();
      EXPECT_GT(offset.dot(back), 0.99) << down << ' ' << bend;
      EXPECT_NEAR((pole - middle).norm(), 0.6, 1e-9);
    }
}

TEST(Controllers, TheInsectsRootIsBoundToItsBody) {
  // Figure 3.17. Legs come first in the file and are nearer to the root than the body's head.
  Builder b;
  b.control("root", "", Vec3d(0, 0.3, 0), Vec3d(0, 0.3, 0.3));
  b.control("legs", "root", Vec3d(0, 0.3, 0), Vec3d(0, 0.4, 0));
  for (const double s : {1.0, -1.0})
    for (const double z : {-0.2, 0.0, 0.2}) {
      const std::string name = "leg" + std::to_string(s * (z + 1));
      b.deform(name + "a", "legs", Vec3d(s * 0.05, 0.3, z), Vec3d(s * 0.3, 0.5, z));
      b.deform(name + "b", name + "a", Vec3d(s * 0.3, 0.5, z), Vec3d(s * 0.5, 0, z));
      b.control(name + "ik", "root", Vec3d(s * 0.5, 0, z), Vec3d(s * 0.5, 0, z + 0.1));
      get(b.rig, name + "b").constraints.push_back(constraint(ConstraintKind::ik, name + "ik"));
    }
  b.deform("body", "root", Vec3d(0, 0.32, -0.05), Vec3d(0, 0.32, 0.3));
  b.deform("abdomen", "root", Vec3d(0, 0.32, -0.1), Vec3d(0, 0.32, -0.6));
  EXPECT_EQ(linked(b.rig, "root"), b.rig.find("body"));
  EXPECT_EQ(kind(b.rig, "root"), LinkKind::child);
  // The chain is followed up: a controller without constraints takes its parent's link.
  EXPECT_EQ(linked(b.rig, "legs"), b.rig.find("body"));
  EXPECT_EQ(kind(b.rig, "legs"), LinkKind::parent);
  // Levels say so too, whatever is nearer to the middle.
  std::vector<int> level(b.rig.bones.size(), 2);
  level[static_cast<std::size_t>(b.rig.find("abdomen"))] = 1;
  EXPECT_EQ(link_controllers(b.rig, level)[0].bones[0], b.rig.find("abdomen"));
}

/// Figure 3.18: a finger of three bones, and a flexor from its root to its last joint.
ControlRig finger(double bend, double scale) {
  Builder b;
  std::vector<Vec3d> joints{Vec3d(0, 1, 0)};
  for (int k = 0; k < 3; ++k)
    joints.push_back(joints.back() +
                     scale * (0.5 - 0.1 * k) *
                         Vec3d(std::cos(k * bend * kDegree), -std::sin(k * bend * kDegree), 0));
  for (int k = 0; k < 3; ++k)
    b.deform("finger" + std::to_string(k), k == 0 ? "" : "finger" + std::to_string(k - 1),
             joints[static_cast<std::size_t>(k)], joints[static_cast<std::size_t>(k) + 1]);
  b.control("flexor", "", joints[0], joints[3]);
  b.control("tip", "flexor", joints[3], joints[3] + Vec3d(0.1, 0, 0)).connected = true;
  get(b.rig, "finger0").constraints.push_back(constraint(ConstraintKind::copy_rotation, "flexor"));
  get(b.rig, "finger2").constraints.push_back(constraint(ConstraintKind::ik, "tip"));
  return b.rig;
}

TEST(Controllers, ADoubleLinkReachesTheLastJointOfFigure318) {
  const ControlRig rig = finger(10, 1), mesh = finger(35, 1.4);
  std::vector<ControllerLink> links = link_controllers(rig);
  const auto flexor = static_cast<std::size_t>(rig.find("flexor"));
  EXPECT_EQ(links[flexor].bones[0], rig.find("finger0"));
  ASSERT_FALSE(links[flexor].tail_joints.empty());
  EXPECT_EQ(links[flexor].tail_joints[0], (BoneEnd{rig.find("finger2"), true}));

  FittedRig twice = start(rig, mesh);
  carry_controllers(rig, links, twice);
  EXPECT_EQ(twice.rig.bones[flexor].head, get(twice.rig, "finger0").head);
  EXPECT_EQ(twice.rig.bones[flexor].tail, get(twice.rig, "finger2").tail);

  links[flexor].tail_joints.clear();
  FittedRig once = start(rig, mesh);
  carry_controllers(rig, links, once);
  EXPECT_EQ(once.rig.bones[flexor].head, get(once.rig, "finger0").head);
  EXPECT_GT((once.rig.bones[flexor].tail - get(once.rig, "finger2").tail).norm(), 0.1);
  EXPECT_NEAR(once.rig.bones[flexor].length(), 1.4 * rig.bones[flexor].length(), 1e-9);
  // What is connected stays so either way.
  EXPECT_EQ(get(twice.rig, "tip").head, twice.rig.bones[flexor].tail);
  EXPECT_EQ(get(once.rig, "tip").head, once.rig.bones[flexor].tail);
}

/// As Rigify makes them: DEF copies a tweak, which hangs on ORG, which copies FK and IK chains.
ControlRig generated() {
  Builder b;
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

TEST(Controllers, FollowsMechanismToTheBoneThatDeforms) {
  const ControlRig rig = generated();
  const std::vector<ControllerLink> links = link_controllers(rig);
  for (std::size_t b = 0; b < rig.bones.size(); ++b) {
    if (rig.bones[b].deforms || rig.bones[b].name == "root") continue;
    EXPECT_FALSE(links[b].bones.empty()) << rig.bones[b].name;
    for (const std::string side : {".L", ".R"})
      // Those that hang on the spine, and have no constraint to a leg, go with the spine.
      if (rig.bones[b].name.ends_with(side) && links[b].bones[0] != rig.find("DEF-spine")) {
        EXPECT_TRUE(rig.bones[static_cast<std::size_t>(links[b].bones[0])].name.ends_with(side))
            << rig.bones[b].name;
      }
  }
  EXPECT_EQ(kind(rig, "root"), LinkKind::whole);
  EXPECT_EQ(linked(rig, "torso"), rig.find("DEF-spine"));
  EXPECT_EQ(linked(rig, "thigh_fk.L"), rig.find("DEF-thigh.L"));
  EXPECT_EQ(linked(rig, "foot_ik.R"), rig.find("DEF-foot.R"));
  EXPECT_EQ(linked(rig, "pole.R"), rig.find("DEF-shin.R"));
  EXPECT_EQ(linked(rig, "tweak_shin.L"), rig.find("DEF-shin.L"));
  EXPECT_EQ(linked(rig, "eye_target"), rig.find("DEF-eye"));
  EXPECT_EQ(linked(rig, "face_panel"), rig.find("DEF-head"));
}

TEST(Controllers, AnIdenticalFitLeavesEverything) {
  for (const ControlRig& rig : {legs(), arm(10, 8, 1), finger(10, 1), generated()}) {
    const FittedRig fitted = fit(rig, rig);
    for (std::size_t b = 0; b < rig.bones.size(); ++b) {
      const RigBone &was = rig.bones[b], &is = fitted.rig.bones[b];
      EXPECT_LT((is.head - was.head).norm(), 1e-9) << was.name;
      EXPECT_LT((is.tail - was.tail).norm(), 1e-9) << was.name;
      EXPECT_NEAR(is.roll, was.roll, 1e-9) << was.name;
      for (std::size_t k = 0; k < was.constraints.size(); ++k)
        EXPECT_NEAR(is.constraints[k].length, was.constraints[k].length, 1e-9);
      EXPECT_EQ(fitted.fate[b], was.deforms ? BoneFate::placed : BoneFate::carried);
    }
  }
}

TEST(Controllers, ASimilarCharacterCarriesAllBySimilarity) {
  std::mt19937 random(4);
  std::normal_distribution<double> normal;
  for (int round = 0; round < 20; ++round)
    for (const ControlRig& rig : {legs(), arm(10, 8, 1), generated()}) {
      const Quatd q = Quatd(normal(random), normal(random), normal(random), normal(random)).normalized();
      const double scale = std::exp(normal(random));
      const Vec3d move(normal(random), normal(random), normal(random));
      const auto by = [&](const Vec3d& p) -> Vec3d { return scale * (q * p) + move; };
      ControlRig mesh = rig;
      for (RigBone& bone : mesh.bones) {
        bone.head = by(bone.head);
        bone.tail = by(bone.tail);
      }
      const FittedRig fitted = fit(rig, mesh);
      for (std::size_t b = 0; b < rig.bones.size(); ++b) {
        const RigBone &was = rig.bones[b], &is = fitted.rig.bones[b];
        EXPECT_LT((is.head - by(was.head)).norm(), 1e-6 * scale) << was.name;
        EXPECT_LT((is.tail - by(was.tail)).norm(), 1e-6 * scale) << was.name;
        const Mat3d turned = q.toRotationMatrix() * bone_frame(was.tail - was.head, was.roll);
        EXPECT_LT((turned - bone_frame(is.tail - is.head, is.roll)).norm(), 1e-5) << was.name;
        for (std::size_t k = 0; k < was.constraints.size(); ++k)
          EXPECT_NEAR(is.constraints[k].length, scale * was.constraints[k].length, 1e-6 * scale);
      }
    }
}

TEST(Controllers, DroppedLimbsTakeTheirControllersAlong) {
  const ControlRig rig = generated();
  FittedRig fitted = start(rig, rig);
  for (std::size_t b = 0; b < rig.bones.size(); ++b)
    if (rig.bones[b].deforms && rig.bones[b].name.ends_with(".R")) fitted.fate[b] = BoneFate::dropped;
  carry_controllers(rig, link_controllers(rig), fitted);
  for (std::size_t b = 0; b < rig.bones.size(); ++b)
    EXPECT_EQ(fitted.fate[b] == BoneFate::dropped, rig.bones[b].name.ends_with(".R")) << rig.bones[b].name;
}

TEST(Controllers, SmallDeformingBonesGoWithTheirParent) {
  const ControlRig rig = generated();
  ControlRig mesh = rig;
  get(mesh, "DEF-head").tail = get(mesh, "DEF-head").head + Vec3d(0, 0, 0.6);  // twice as large, nods by 90°
  FittedRig fitted = start(rig, mesh);
  const auto eye = static_cast<std::size_t>(rig.find("DEF-eye"));
  fitted.fate[eye] = BoneFate::carried;
  carry_controllers(rig, link_controllers(rig), fitted);
  EXPECT_EQ(fitted.fate[eye], BoneFate::carried);
  EXPECT_LT((fitted.rig.bones[eye].head - Vec3d(0, 1.3 - 0.16, 0.4)).norm(), 1e-9);
  EXPECT_NEAR(fitted.rig.bones[eye].length(), 0.08, 1e-9);
  // And what follows it, along.
  EXPECT_LT((get(fitted.rig, "eye_target").head - Vec3d(0, 1.3 - 1.6, 0.4)).norm(), 1e-9);
  fitted = start(rig, mesh);
  fitted.fate[eye] = BoneFate::carried;
  fitted.fate[static_cast<std::size_t>(rig.find("DEF-head"))] = BoneFate::dropped;
  carry_controllers(rig, link_controllers(rig), fitted);
  EXPECT_EQ(fitted.fate[eye], BoneFate::dropped);
  EXPECT_EQ(fitted.fate[static_cast<std::size_t>(rig.find("eye_target"))], BoneFate::dropped);
}

TEST(Controllers, LengthsOfConstraintsFollow) {
  const ControlRig rig = generated();
  ControlRig mesh = rig;
  for (RigBone& bone : mesh.bones) {
    bone.head.y() *= 2;
    bone.tail.y() *= 2;
  }
  const FittedRig fitted = fit(rig, mesh);
  for (const std::string name : {"DEF-thigh.L", "DEF-shin.R"})
    EXPECT_NEAR(get(fitted.rig, name).constraints[1].length, get(fitted.rig, name).length(), 1e-9);
  EXPECT_NEAR(get(fitted.rig, "VIS-pole.L").constraints[0].length, get(fitted.rig, "VIS-pole.L").length(),
              1e-9);
  const double before = (get(rig, "thigh_parent.L").head - get(rig, "torso").head).norm();
  const double after = (get(fitted.rig, "thigh_parent.L").head - get(fitted.rig, "torso").head).norm();
  EXPECT_NEAR(get(fitted.rig, "thigh_parent.L").constraints[0].length, 0.3 * after / before, 1e-9);
}

TEST(Controllers, DegenerateRigsAreCarried) {
  EXPECT_TRUE(link_controllers(ControlRig{}).empty());
  // No deforming bone at all, a controller without length, parents by armature that go round.
  Builder b;
  b.control("a", "", Vec3d(0, 0, 0), Vec3d(0, 0, 0))
      .constraints.push_back(constraint(ConstraintKind::armature, "b"));
  b.control("b", "", Vec3d(0, 1, 0), Vec3d(0, 2, 0))
      .constraints.push_back(constraint(ConstraintKind::armature, "a"));
  FittedRig fitted = fit(b.rig, b.rig);
  for (std::size_t k = 0; k < 2; ++k)
    EXPECT_LT((fitted.rig.bones[k].tail - b.rig.bones[k].tail).norm(), 1e-12);
  // Deforming bones without length, in the rig and after.
  b.deform("still", "", Vec3d(0, 0, 0), Vec3d(0, 0, 0));
  b.deform("bone", "", Vec3d(0, 0, 0), Vec3d(0, 1, 0));
  b.control("on still", "still", Vec3d(0, 0, 1), Vec3d(0, 0, 2));
  b.control("on bone", "bone", Vec3d(0, 0, 1), Vec3d(0, 0, 2));
  ControlRig mesh = b.rig;
  get(mesh, "bone").tail = get(mesh, "bone").head;
  for (const ControlRig& target : {mesh, b.rig}) {
    fitted = fit(b.rig, target);
    for (const RigBone& bone : fitted.rig.bones)
      EXPECT_TRUE(bone.head.allFinite() && bone.tail.allFinite() && std::isfinite(bone.roll)) << bone.name;
  }
  // Nothing was placed.
  fitted.rig = b.rig;
  fitted.fate.assign(b.rig.bones.size(), BoneFate::dropped);
  carry_controllers(b.rig, link_controllers(b.rig), fitted);
  EXPECT_EQ(fitted.fate[static_cast<std::size_t>(b.rig.find("on bone"))], BoneFate::dropped);
}

}  // namespace
}  // namespace sinew
