#include <sinew/skeleton/control_rig.h>

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include <sinew/core/error.h>

namespace sinew {
namespace {

RigBone bone(const std::string& name, int parent, const Vec3d& head, const Vec3d& tail, bool deforms = true) {
  RigBone result;
  result.name = name;
  result.parent = parent;
  result.head = head;
  result.tail = tail;
  result.deforms = deforms;
  return result;
}

ControlRig rig_of(std::vector<RigBone> bones) {
  ControlRig rig;
  rig.bones = std::move(bones);
  return rig;
}

std::string error_of(const ControlRig& rig) {
  try {
    check_rig(rig, "file");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(BoneFrame, IsARotationWithTheBoneAlongY) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> angle(-M_PI, M_PI);
  for (int i = 0; i < 1000; ++i) {
    const Vec3d direction = Vec3d(normal(random), normal(random), normal(random)) * 3;
    const double roll = angle(random);
    const Mat3d frame = bone_frame(direction, roll);
    EXPECT_LT((frame.transpose() * frame - Mat3d::Identity()).norm(), 1e-12);
    EXPECT_NEAR(frame.determinant(), 1, 1e-12);
    EXPECT_LT((frame.col(1) - direction.normalized()).norm(), 1e-12);
    EXPECT_NEAR(bone_roll(frame), roll, 1e-9);
  }
}

TEST(BoneFrame, HoldsBesideBlendersHalfTurn) {
  // Our +z is Blender's -y, about which its frames turn over.
  for (const double off : {0.0, 1e-12, 1e-7, 1e-5, 2.4e-4, 2.6e-4, 1e-3}) {
    const Vec3d direction = Vec3d(off, -off / 2, 1).normalized();
    for (const double roll : {0.0, 1.0, -3.0}) {
      const Mat3d frame = bone_frame(direction, roll);
      EXPECT_LT((frame.transpose() * frame - Mat3d::Identity()).norm(), 1e-12) << off;
      EXPECT_LT((frame.col(1) - direction).norm(), 1e-12) << off;
      EXPECT_NEAR(bone_roll(frame), roll, 1e-9) << off;
    }
  }
}

TEST(BoneFrame, ShapelessBonesGetOne) {
  for (const Vec3d& direction : {Vec3d(0, 0, 0), Vec3d(NAN, 0, 0), Vec3d(1e300, 1e300, 0)}) {
    const Mat3d frame = bone_frame(direction, 0.5);
    EXPECT_TRUE(frame.allFinite());
    EXPECT_NEAR(frame.determinant(), 1, 1e-9);
  }
}

TEST(ParentsFirst, KeepsTheOrderWhereItCan) {
  const Vec3d o = Vec3d::Zero(), y = Vec3d::UnitY();
  const ControlRig rig =
      rig_of({bone("c", 2, o, y), bone("a", -1, o, y), bone("b", 1, o, y), bone("d", 0, o, y)});
  EXPECT_EQ(parents_first(rig), (std::vector<int>{1, 2, 0, 3}));
  EXPECT_EQ(parents_first(ControlRig()), std::vector<int>());
}

TEST(DeformParents, ControllersStandForWhatLiesOnThem) {
  // A spine that deforms, the controller on it, and a thigh that hangs on the controller.
  const ControlRig rig = rig_of(
      {bone("root", -1, {0, 0, 0}, {0, 0, 1}, false), bone("DEF-spine", 0, {0, 1, 0}, {0, 1.2, 0}),
       bone("ORG-spine", 0, {0, 1, 0}, {0, 1.2, 0}, false), bone("DEF-thigh", 2, {0.1, 1, 0}, {0.1, 0.5, 0}),
       bone("MCH-between", 3, {0.1, 0.6, 0}, {0.1, 0.9, 0.3}, false),
       bone("DEF-shin", 4, {0.1, 0.5, 0}, {0.1, 0, 0})});
  EXPECT_EQ(deform_parents(rig), (std::vector<int>{-1, -1, -1, 1, -1, 3}));
}

TEST(DeformParents, NeverMakeACycle) {
  // Each deforming bone hangs on the controller that lies on the other.
  const ControlRig rig =
      rig_of({bone("ORG-a", -1, {0, 0, 0}, {0, 1, 0}, false), bone("ORG-b", -1, {1, 0, 0}, {1, 1, 0}, false),
              bone("DEF-a", 1, {0, 0, 0}, {0, 1, 0}), bone("DEF-b", 0, {1, 0, 0}, {1, 1, 0})});
  const std::vector<int> parents = deform_parents(rig);
  EXPECT_EQ(parents[2], 3);
  EXPECT_EQ(parents[3], -1);
}

TEST(CheckRig, NamesWhatIsWrong) {
  const Vec3d o = Vec3d::Zero(), y = Vec3d::UnitY();
  const ControlRig good = rig_of({bone("a", -1, o, y), bone("b", 0, o, y)});
  EXPECT_EQ(error_of(good), "");
  EXPECT_EQ(error_of(ControlRig()), "");
  const auto broken = [&](auto&& change) {
    ControlRig rig = good;
    change(rig.bones[1]);
    return error_of(rig);
  };
  EXPECT_EQ(broken([](RigBone& b) { b.name = ""; }), "file: bone 1 has no name");
  EXPECT_EQ(broken([](RigBone& b) { b.name = "a"; }), "file: bone 'a': there are two of that name");
  EXPECT_EQ(broken([](RigBone& b) { b.roll = NAN; }),
            "file: bone 'b': head, tail or roll is not a finite number");
  EXPECT_EQ(broken([](RigBone& b) { b.head.x() = 1e16; }),
            "file: bone 'b': head or tail is more than 1e15 m from the origin");
  EXPECT_EQ(broken([](RigBone& b) { b.parent = 2; }), "file: bone 'b': parent 2 does not exist (2 bones)");
  EXPECT_EQ(broken([](RigBone& b) { b.parent = 1; }), "file: bone 'b': is its own ancestor");
  RigConstraint ik;
  ik.kind = ConstraintKind::ik;
  ik.name = "IK";
  const auto constrained = [&](auto&& change) {
    return broken([&](RigBone& b) {
      b.constraints = {ik};
      change(b.constraints[0]);
    });
  };
  EXPECT_EQ(constrained([](RigConstraint& c) { c.targets = {{"a"}}; }), "");
  EXPECT_EQ(constrained([](RigConstraint& c) { c.targets = {{""}}; }), "");
  EXPECT_EQ(constrained([](RigConstraint& c) { c.targets = {{"x"}}; }),
            "file: bone 'b': constraint 'IK': target 'x' is no bone of the rig");
  EXPECT_EQ(constrained([](RigConstraint& c) { c.pole = "x"; }),
            "file: bone 'b': constraint 'IK': pole 'x' is no bone of the rig");
  EXPECT_EQ(constrained([](RigConstraint& c) {
              c.targets = {{"a", INFINITY}};
            }),
            "file: bone 'b': constraint 'IK' has a number that is not finite");
  EXPECT_EQ(constrained([](RigConstraint& c) { c.influence = 1.5; }),
            "file: bone 'b': constraint 'IK': influence 1.5; allowed is 0 to 1");
  EXPECT_EQ(constrained([](RigConstraint& c) { c.length = -1; }),
            "file: bone 'b': constraint 'IK': a length is negative");
}

TEST(ConstraintNames, ThereAndBack) {
  for (int kind = 0; kind < static_cast<int>(ConstraintKind::other); ++kind)
    EXPECT_EQ(constraint_kind(constraint_name(static_cast<ConstraintKind>(kind))),
              static_cast<ConstraintKind>(kind));
  EXPECT_EQ(constraint_kind("child_of"), ConstraintKind::other);
}

}  // namespace
}  // namespace sinew
