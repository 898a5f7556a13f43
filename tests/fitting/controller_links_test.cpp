#include <sinew/fitting/controller_links.h>

#include <string>

#include <gtest/gtest.h>

#include <sinew/fitting/rig_bones.h>

#include "tests/support/controller_rigs.h"

namespace sinew {
namespace {

using test::constraint;
using test::generated;
using test::get;
using test::legs;
using test::RigLines;

/// The number of the bone that a controller follows, or -1.
int linked(const ControlRig& rig, const std::string& name) {
  const PerBone<ControllerLink> links = link_controllers(rig);
  const ControllerLink& link = links[find_bone(rig, name)];
  return link.bones.empty() ? -1 : link.bones[0].value();
}

LinkKind kind(const ControlRig& rig, const std::string& name) {
  return link_controllers(rig)[find_bone(rig, name)].kind;
}

TEST(ControllerLinks, LinksOfFigure316) {
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
  EXPECT_EQ(kind(rig, "root"), LinkKind::character);
}

TEST(ControllerLinks, TheInsectsRootIsBoundToItsBody) {
  // Figure 3.17. Legs come first in the file and are nearer to the root than the body's head.
  RigLines b;
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
  PerBone<int> level(b.rig.bones.size(), 2);
  level[find_bone(b.rig, "abdomen")] = 1;
  EXPECT_EQ(link_controllers(b.rig, level).front().bones[0], find_bone(b.rig, "abdomen"));
}

TEST(ControllerLinks, FollowsMechanismToTheBoneThatDeforms) {
  const ControlRig rig = generated();
  const PerBone<ControllerLink> links = link_controllers(rig);
  for (const BoneId b : bone_ids(rig)) {
    const RigBone& bone = bone_at(rig, b);
    if (bone.deforms || bone.name == "root") continue;
    EXPECT_FALSE(links[b].bones.empty()) << bone.name;
    for (const std::string side : {".L", ".R"})
      // Those that hang on the spine, and have no constraint to a leg, follow the spine.
      if (bone.name.ends_with(side) && links[b].bones[0] != find_bone(rig, "DEF-spine")) {
        EXPECT_TRUE(bone_at(rig, links[b].bones[0]).name.ends_with(side)) << bone.name;
      }
  }
  EXPECT_EQ(kind(rig, "root"), LinkKind::character);
  EXPECT_EQ(linked(rig, "torso"), rig.find("DEF-spine"));
  EXPECT_EQ(linked(rig, "thigh_fk.L"), rig.find("DEF-thigh.L"));
  EXPECT_EQ(linked(rig, "foot_ik.R"), rig.find("DEF-foot.R"));
  EXPECT_EQ(linked(rig, "pole.R"), rig.find("DEF-shin.R"));
  EXPECT_EQ(linked(rig, "tweak_shin.L"), rig.find("DEF-shin.L"));
  EXPECT_EQ(linked(rig, "eye_target"), rig.find("DEF-eye"));
  EXPECT_EQ(linked(rig, "face_panel"), rig.find("DEF-head"));
}

TEST(ControllerLinks, OfNoBonesAreNone) {
  EXPECT_TRUE(link_controllers(ControlRig{}).empty());
}

}  // namespace
}  // namespace sinew
