#include <sinew/fitting/controller_motion.h>

#include <cmath>
#include <numbers>
#include <random>

#include <gtest/gtest.h>

#include <sinew/fitting/bone_rolls.h>
#include <sinew/fitting/rig_bones.h>

#include "tests/support/controller_rigs.h"
#include "tests/support/indices.h"

namespace sinew {
namespace {

using test::arm;
using test::constraint;
using test::finger;
using test::generated;
using test::get;
using test::legs;
using test::RigLines;

constexpr double kDegree = std::numbers::pi / 180;

/// All deforming bones are placed, where `mesh` has them.
FittedRig start(const ControlRig& rig, const ControlRig& mesh) {
  FittedRig fitted;
  fitted.rig = rig;
  fitted.fate.assign(rig.bones.size(), BoneFate::carried);
  PerBone<char> placed(rig.bones.size(), 0);
  for (const BoneId b : bone_ids(rig)) {
    if (!bone_at(rig, b).deforms) continue;
    bone_at(fitted.rig, b).head = bone_at(mesh, b).head;
    bone_at(fitted.rig, b).tail = bone_at(mesh, b).tail;
    fitted.fate[b] = BoneFate::placed;
    placed[b] = 1;
  }
  transfer_rolls(rig, placed, fitted.rig);
  return fitted;
}

FittedRig fit(const ControlRig& rig, const ControlRig& mesh) {
  FittedRig fitted = start(rig, mesh);
  move_controllers(rig, link_controllers(rig), fitted);
  return fitted;
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

TEST(ControllerMotion, CarriesTheLegOfFigure316) {
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

TEST(ControllerMotion, RollsTurnAlong) {
  const ControlRig rig = legs();
  const FittedRig fitted = fit(rig, other_legs());
  const auto turn = [&](const std::string& name) -> Mat3d {
    const RigBone &was = get(rig, name), &is = get(fitted.rig, name);
    return bone_frame(is.tail - is.head, is.roll) * bone_frame(was.tail - was.head, was.roll).transpose();
  };
  EXPECT_LT((turn("foot_ik.L") - turn("foot.L")).norm(), 1e-9);
}

TEST(ControllerMotion, APoleStaysBehindTheElbowFromTToAPose) {
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

TEST(ControllerMotion, ADoubleLinkReachesTheLastJointOfFigure318) {
  const ControlRig rig = finger(10, 1), mesh = finger(35, 1.4);
  PerBone<ControllerLink> links = link_controllers(rig);
  const BoneId flexor = find_bone(rig, "flexor");
  EXPECT_EQ(links[flexor].bones[0], find_bone(rig, "finger0"));
  ASSERT_FALSE(links[flexor].tail_joints.empty());
  EXPECT_EQ(links[flexor].tail_joints[0], (BoneEnd{find_bone(rig, "finger2"), true}));

  FittedRig twice = start(rig, mesh);
  move_controllers(rig, links, twice);
  EXPECT_EQ(bone_at(twice.rig, flexor).head, get(twice.rig, "finger0").head);
  EXPECT_EQ(bone_at(twice.rig, flexor).tail, get(twice.rig, "finger2").tail);

  links[flexor].tail_joints.clear();
  FittedRig once = start(rig, mesh);
  move_controllers(rig, links, once);
  EXPECT_EQ(bone_at(once.rig, flexor).head, get(once.rig, "finger0").head);
  EXPECT_GT((bone_at(once.rig, flexor).tail - get(once.rig, "finger2").tail).norm(), 0.1);
  EXPECT_NEAR(bone_at(once.rig, flexor).length(), 1.4 * bone_at(rig, flexor).length(), 1e-9);
  // What is connected stays so either way.
  EXPECT_EQ(get(twice.rig, "tip").head, bone_at(twice.rig, flexor).tail);
  EXPECT_EQ(get(once.rig, "tip").head, bone_at(once.rig, flexor).tail);
}

TEST(ControllerMotion, AnIdenticalFitLeavesEverything) {
  for (const ControlRig& rig : {legs(), arm(10, 8, 1), finger(10, 1), generated()}) {
    const FittedRig fitted = fit(rig, rig);
    for (const BoneId b : bone_ids(rig)) {
      const RigBone &was = bone_at(rig, b), &is = bone_at(fitted.rig, b);
      EXPECT_LT((is.head - was.head).norm(), 1e-9) << was.name;
      EXPECT_LT((is.tail - was.tail).norm(), 1e-9) << was.name;
      EXPECT_NEAR(is.roll, was.roll, 1e-9) << was.name;
      for (std::size_t k = 0; k < was.constraints.size(); ++k)
        EXPECT_NEAR(is.constraints[k].length, was.constraints[k].length, 1e-9);
      EXPECT_EQ(fitted.fate[b], was.deforms ? BoneFate::placed : BoneFate::carried);
    }
  }
}

TEST(ControllerMotion, ASimilarCharacterCarriesAllBySimilarity) {
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
      for (const BoneId b : bone_ids(rig)) {
        const RigBone &was = bone_at(rig, b), &is = bone_at(fitted.rig, b);
        EXPECT_LT((is.head - by(was.head)).norm(), 1e-6 * scale) << was.name;
        EXPECT_LT((is.tail - by(was.tail)).norm(), 1e-6 * scale) << was.name;
        const Mat3d turned = q.toRotationMatrix() * bone_frame(was.tail - was.head, was.roll);
        EXPECT_LT((turned - bone_frame(is.tail - is.head, is.roll)).norm(), 1e-5) << was.name;
        for (std::size_t k = 0; k < was.constraints.size(); ++k)
          EXPECT_NEAR(is.constraints[k].length, scale * was.constraints[k].length, 1e-6 * scale);
      }
    }
}

TEST(ControllerMotion, DroppedLimbsTakeTheirControllersAlong) {
  const ControlRig rig = generated();
  FittedRig fitted = start(rig, rig);
  for (const BoneId b : bone_ids(rig))
    if (bone_at(rig, b).deforms && bone_at(rig, b).name.ends_with(".R")) fitted.fate[b] = BoneFate::dropped;
  move_controllers(rig, link_controllers(rig), fitted);
  for (const BoneId b : bone_ids(rig)) {
    const std::string& name = bone_at(rig, b).name;
    EXPECT_EQ(fitted.fate[b] == BoneFate::dropped, name.ends_with(".R")) << name;
  }
}

TEST(ControllerMotion, SmallDeformingBonesGoWithTheirParent) {
  const ControlRig rig = generated();
  ControlRig mesh = rig;
  get(mesh, "DEF-head").tail = get(mesh, "DEF-head").head + Vec3d(0, 0, 0.6);  // twice as large, nods by 90°
  FittedRig fitted = start(rig, mesh);
  const BoneId eye = find_bone(rig, "DEF-eye");
  fitted.fate[eye] = BoneFate::carried;
  move_controllers(rig, link_controllers(rig), fitted);
  EXPECT_EQ(fitted.fate[eye], BoneFate::carried);
  EXPECT_LT((bone_at(fitted.rig, eye).head - Vec3d(0, 1.3 - 0.16, 0.4)).norm(), 1e-9);
  EXPECT_NEAR(bone_at(fitted.rig, eye).length(), 0.08, 1e-9);
  // And what follows it, along.
  EXPECT_LT((get(fitted.rig, "eye_target").head - Vec3d(0, 1.3 - 1.6, 0.4)).norm(), 1e-9);
  fitted = start(rig, mesh);
  fitted.fate[eye] = BoneFate::carried;
  fitted.fate[find_bone(rig, "DEF-head")] = BoneFate::dropped;
  move_controllers(rig, link_controllers(rig), fitted);
  EXPECT_EQ(fitted.fate[eye], BoneFate::dropped);
  EXPECT_EQ(fitted.fate[find_bone(rig, "eye_target")], BoneFate::dropped);
}

TEST(ControllerMotion, LengthsOfConstraintsFollow) {
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

TEST(ControllerMotion, DegenerateRigsAreCarried) {
  // No deforming bone at all, a controller without length, parents by armature that go round.
  RigLines b;
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
  move_controllers(b.rig, link_controllers(b.rig), fitted);
  EXPECT_EQ(fitted.fate[find_bone(b.rig, "on bone")], BoneFate::dropped);
}

}  // namespace
}  // namespace sinew
