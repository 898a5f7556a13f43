#include <sinew/fitting/template_rigs.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <ostream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/models/models.h>

#include "tests/support/sanitized.h"
#include "tests/support/shared_models.h"

namespace sinew {

void PrintTo(const TemplateRig& rig, std::ostream* out) {
  *out << rig.name;
}

namespace {

constexpr double kDegree = std::numbers::pi / 180;

const RigBone& bone_of(const ControlRig& rig, std::string_view name) {
  const int found = rig.find(name);
  if (found < 0) throw Error("no bone " + std::string(name));
  return rig.bones[to_size(found)];
}

const RigBone& parent_of(const ControlRig& rig, const RigBone& bone) {
  return rig.bones[to_size(bone.parent)];
}

Vec3d way(const RigBone& bone) {
  return (bone.tail - bone.head).normalized();
}

Mat3d frame(const RigBone& bone) {
  return bone_frame(bone.tail - bone.head, bone.roll);
}

double degrees_between(const Vec3d& a, const Vec3d& b) {
  return std::atan2(a.cross(b).norm(), a.dot(b)) / kDegree;
}

Vec3d mirrored(const Vec3d& p) {
  return {-p.x(), p.y(), p.z()};
}

class Templates : public testing::TestWithParam<TemplateRig> {};

INSTANTIATE_TEST_SUITE_P(All, Templates, testing::ValuesIn(template_rigs().begin(), template_rigs().end()),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(Templates, AreSound) {
  const ControlRig rig = GetParam().make();
  EXPECT_EQ(rig.name, GetParam().name);
  EXPECT_EQ(make_template_rig(GetParam().name), rig);
  EXPECT_NO_THROW(check_rig(rig, "here"));
  if (!GetParam().head_bone.empty()) {
    EXPECT_TRUE(bone_of(rig, GetParam().head_bone).deforms);
  }
  int deforming = 0;
  for (std::size_t b = 0; b < rig.bones.size(); ++b) {
    const RigBone& bone = rig.bones[b];
    SCOPED_TRACE(bone.name);
    EXPECT_GT(bone.length(), 0.004);
    EXPECT_LT(bone.parent, static_cast<int>(b));  // parents come first
    deforming += bone.deforms;
    if (bone.connected) {
      EXPECT_EQ(bone.head, parent_of(rig, bone).tail);
    }
    for (const RigConstraint& constraint : bone.constraints) {
      EXPECT_NE(constraint.kind, ConstraintKind::other);
      EXPECT_GT(constraint.influence, 0);
      EXPECT_LE(constraint.influence, 1);
      for (const ConstraintTarget& target : constraint.targets) EXPECT_GE(rig.find(target.bone), 0);
      EXPECT_EQ(constraint.targets.empty(), constraint.kind == ConstraintKind::limit_rotation);
      if (!constraint.pole.empty()) {
        EXPECT_GE(rig.find(constraint.pole), 0);
      }
      if (!constraint.extras.empty()) {
        EXPECT_TRUE(nlohmann::json::parse(constraint.extras).is_object());
      }
    }
  }
  EXPECT_GT(deforming, 20);
  EXPECT_GT(static_cast<int>(rig.bones.size()), deforming + 5);
}

TEST_P(Templates, AreMirrorImages) {
  const ControlRig rig = GetParam().make();
  int pairs = 0;
  for (const RigBone& bone : rig.bones) {
    SCOPED_TRACE(bone.name);
    if (bone.name.ends_with(".L")) {
      ++pairs;
      std::string name = bone.name;
      name.back() = 'R';
      const RigBone& other = bone_of(rig, name);
      EXPECT_GT(bone.head.x(), 0);
      EXPECT_EQ(other.head, mirrored(bone.head));
      EXPECT_EQ(other.tail, mirrored(bone.tail));
      EXPECT_EQ(other.roll, -bone.roll);
      EXPECT_EQ(other.deforms, bone.deforms);
      EXPECT_EQ(other.connected, bone.connected);
      // The same turn about the same axis of its own is the mirrored turn.
      EXPECT_LT((frame(other).col(0) + mirrored(frame(bone).col(0))).norm(), 1e-9);
      ASSERT_EQ(other.constraints.size(), bone.constraints.size());
      for (std::size_t c = 0; c < bone.constraints.size(); ++c) {
        const RigConstraint &ours = bone.constraints[c], &theirs = other.constraints[c];
        ASSERT_EQ(theirs.targets.size(), ours.targets.size());
        EXPECT_EQ(theirs.kind, ours.kind);
        EXPECT_NEAR(theirs.pole_angle, ours.pole_angle, 1e-9);
        for (std::size_t t = 0; t < ours.targets.size(); ++t)
          EXPECT_EQ(theirs.targets[t].bone.ends_with(".R"), ours.targets[t].bone.ends_with(".L"));
        EXPECT_EQ(theirs.pole.ends_with(".R"), ours.pole.ends_with(".L"));
      }
    } else if (!bone.name.ends_with(".R") && GetParam().name != "hand") {
      EXPECT_EQ(bone.head.x(), 0);
      EXPECT_EQ(bone.tail.x(), 0);
      EXPECT_GT(frame(bone).col(0).x(), 1 - 1e-9);
    }
  }
  EXPECT_EQ(pairs == 0, GetParam().name == "hand");
}

TEST_P(Templates, HaveTheJointsOfTheirCharacter) {
  const std::map<std::string_view, const char*> characters{
      {"biped", "mannequin"}, {"quadruped", "cat"}, {"insect", "insect"}, {"hand", "hand"}};
  const std::string_view name = characters.at(GetParam().name);
  if (test::kSanitized && name != "hand") GTEST_SKIP() << "takes minutes here; the hand runs the same code";
  const auto entry =
      std::find_if(models().begin(), models().end(), [&](const Model& m) { return m.name == name; });
  const Rig character = test::shared_model(name, {entry->least_vertices, {}}).rig;
  const ControlRig rig = GetParam().make();
  const std::vector<int> parents = deform_parents(rig);
  std::map<std::string, std::string> ours, theirs;
  for (std::size_t b = 0; b < rig.bones.size(); ++b)
    if (rig.bones[b].deforms)
      ours[rig.bones[b].name] = parents[b] < 0 ? "" : rig.bones[to_size(parents[b])].name;
  for (const RigJoint& joint : character.joints())
    theirs[joint.name] = joint.parent < 0 ? "" : character[joint.parent].name;
  EXPECT_EQ(ours, theirs);
  // Of about the same size, and, but for the biped's arms, in about the same place.
  double size = 0;
  for (const RigJoint& joint : character.joints())
    size = std::max(size, (joint.head - character[0].head).norm());
  for (const RigJoint& joint : character.joints()) {
    SCOPED_TRACE(joint.name);
    const RigBone& bone = bone_of(rig, joint.name);
    const double ratio = bone.length() / (joint.tail - joint.head).norm();
    EXPECT_GT(ratio, 0.8);
    EXPECT_LT(ratio, 1.25);
    const Vec3d flex = frame(bone).col(0);
    if (name != "mannequin") {
      EXPECT_LT((bone.head - joint.head).norm(), 0.12 * size);
      // Hinges close the same way.
      if (joint.limits.flex.most > 40 && joint.limits.spread.most < 10) {
        EXPECT_GT(flex.dot(joint.flex), 0.9);
      }
    }
  }
}

TEST_P(Templates, AreInTheirRestWhenNothingIsMoved) {
  const ControlRig rig = GetParam().make();
  int chains = 0;
  for (const RigBone& bone : rig.bones)
    for (const RigConstraint& constraint : bone.constraints) {
      SCOPED_TRACE(bone.name + ": " + constraint.name);
      const nlohmann::json extras =
          constraint.extras.empty() ? nlohmann::json::object() : nlohmann::json::parse(constraint.extras);
      if (constraint.kind == ConstraintKind::ik) {
        ++chains;
        ASSERT_EQ(constraint.chain_length, 2);
        EXPECT_LT((bone_of(rig, constraint.targets[0].bone).head - bone.tail).norm(), 1e-12);
        // The pole lies in the limb's plane, where the middle joint points to.
        const RigBone& upper = parent_of(rig, bone);
        const Vec3d normal = (bone.head - upper.head).cross(bone.tail - bone.head).normalized();
        const Vec3d to_pole = bone_of(rig, constraint.pole).head - bone.head;
        EXPECT_NEAR(normal.dot(to_pole.normalized()), 0, 1e-9);
        EXPECT_GT(to_pole.norm(), 0.5 * bone.length());
        EXPECT_GT(to_pole.dot(bone.head - 0.5 * (upper.head + bone.tail)), 0);
        EXPECT_NEAR(constraint.pole_angle, -90 * kDegree, 1e-6);
      } else if (constraint.kind == ConstraintKind::copy_rotation && extras.at("space") == "world") {
        EXPECT_LT((frame(bone_of(rig, constraint.targets[0].bone)) - frame(bone)).norm(), 1e-9);
      } else if (constraint.kind == ConstraintKind::damped_track) {
        const std::string axis = extras.at("track_axis");
        const Vec3d tracking = frame(bone).col(axis == "x" ? 0 : axis == "y" ? 1 : 2);
        EXPECT_LT(degrees_between(tracking, bone_of(rig, constraint.targets[0].bone).head - bone.head), 15);
      } else if (constraint.kind == ConstraintKind::limit_rotation) {
        for (std::size_t axis = 0; axis < 3; ++axis) {
          EXPECT_LE(extras.at("min").at(axis).get<double>(), 0);
          EXPECT_GE(extras.at("max").at(axis).get<double>(), 0);
        }
        EXPECT_LT(extras.at("max").at(0).get<double>(), std::numbers::pi);
      }
    }
  const std::map<std::string_view, int> expected{{"biped", 4}, {"quadruped", 4}, {"insect", 6}, {"hand", 0}};
  EXPECT_EQ(chains, expected.at(GetParam().name));
}

/// The joint where `name` starts is bent, about its own x axis, and closes when turned about it.
void expect_hinge(const ControlRig& rig, const std::string& name, double least, double most) {
  SCOPED_TRACE(name);
  const RigBone& lower = bone_of(rig, name);
  const Vec3d from = way(parent_of(rig, lower)), to = way(lower);
  const double bend = degrees_between(from, to);
  EXPECT_GE(bend, least);
  EXPECT_LE(bend, most);
  const Vec3d axis = frame(lower).col(0);
  EXPECT_LT(degrees_between(axis, from.cross(to)), 1);
  EXPECT_NEAR(degrees_between(from, Eigen::AngleAxisd(20 * kDegree, axis) * to), bend + 20, 0.1);
}

/// A controller from the first bone's head to the last one's tail that turns all of them.
void expect_flexor(const ControlRig& rig, const std::string& name, const std::vector<std::string>& chain) {
  SCOPED_TRACE(name);
  const RigBone& flexor = bone_of(rig, name);
  EXPECT_FALSE(flexor.deforms);
  EXPECT_EQ(flexor.head, bone_of(rig, chain.front()).head);
  EXPECT_EQ(flexor.tail, bone_of(rig, chain.back()).tail);
  for (const std::string& link : chain) {
    const RigBone& bone = bone_of(rig, link);
    EXPECT_GT(frame(flexor).col(0).dot(frame(bone).col(0)), std::cos(5 * kDegree)) << link;
    EXPECT_TRUE(std::any_of(bone.constraints.begin(), bone.constraints.end(), [&](const RigConstraint& c) {
      return c.kind == ConstraintKind::copy_rotation && c.targets[0].bone == name;
    })) << link;
  }
}

void expect_fingers(const ControlRig& rig, const std::string& suffix, const Vec3d& palm) {
  for (const std::string finger : {"index", "middle", "ring", "little", "thumb"}) {
    const auto joint = [&](int segment) { return finger + "_" + std::to_string(segment) + suffix; };
    for (const int segment : {2, 3}) expect_hinge(rig, joint(segment), 4, 8);
    expect_flexor(rig, finger + "_flex" + suffix, {joint(1), joint(2), joint(3)});
    if (finger == "thumb") continue;
    // The knuckle is bent towards the palm, and closes that way.
    const RigBone &root = bone_of(rig, joint(0)), &first = bone_of(rig, joint(1)),
                  &last = bone_of(rig, joint(3));
    EXPECT_GT(degrees_between(way(root), way(first)), 4) << finger;
    EXPECT_LT(degrees_between(way(root), way(first)), 12) << finger;
    EXPECT_GT((last.tail - first.head).dot(palm), 0.1 * (last.tail - first.head).norm()) << finger;
    EXPECT_GT((Eigen::AngleAxisd(1, frame(first).col(0)) * way(first)).dot(palm), 0.5) << finger;
  }
}

TEST(BipedTemplate, StandsInATPose) {
  const ControlRig rig = make_template_rig("biped");
  for (const double side : {1.0, -1.0}) {
    const std::string suffix = side > 0 ? ".L" : ".R";
    SCOPED_TRACE(suffix);
    const Vec3d out = side * Vec3d::UnitX();
    for (const char* name : {"upper_arm", "lower_arm", "wrist", "middle_0"})
      EXPECT_LT(degrees_between(way(bone_of(rig, name + suffix)), out), 2) << name;
    expect_hinge(rig, "lower_arm" + suffix, 2, 4);
    expect_hinge(rig, "shin" + suffix, 2, 4);
    expect_fingers(rig, suffix, -Vec3d::UnitY());
    // Elbows back, knees and thumbs forwards.
    const Vec3d shoulder = bone_of(rig, "upper_arm" + suffix).head;
    EXPECT_LT(bone_of(rig, "lower_arm" + suffix).head.z(), shoulder.z() - 0.005);
    const Vec3d hip = bone_of(rig, "thigh" + suffix).head, ankle = bone_of(rig, "foot" + suffix).head;
    EXPECT_GT(bone_of(rig, "shin" + suffix).head.z(), 0.5 * (hip.z() + ankle.z()) + 0.005);
    EXPECT_GT(bone_of(rig, "thumb_3" + suffix).tail.z(), bone_of(rig, "index_1" + suffix).head.z() + 0.02);
    EXPECT_LT(bone_of(rig, "elbow_pole" + suffix).head.z(), shoulder.z() - 0.2);
    EXPECT_GT(bone_of(rig, "knee_pole" + suffix).head.z(), 0.2);
  }
  EXPECT_NEAR(bone_of(rig, "head").tail.y(), 1.75, 0.05);
}

TEST(BipedTemplate, RollsItsFeet) {
  const ControlRig rig = make_template_rig("biped");
  for (const std::string suffix : {".L", ".R"}) {
    const auto turned = [&](const char* pivot, double degrees, const Vec3d& p) {
      const RigBone& bone = bone_of(rig, pivot + suffix);
      return Vec3d(bone.head + Eigen::AngleAxisd(degrees * kDegree, frame(bone).col(0)) * (p - bone.head));
    };
    const auto carries = [&](const char* pivot, const char* name) {
      for (const RigBone* b = &bone_of(rig, name + suffix); b->parent >= 0; b = &parent_of(rig, *b))
        if (b->name == pivot + suffix) return true;
      return false;
    };
    const RigBone &foot = bone_of(rig, "foot" + suffix), &toes = bone_of(rig, "toes" + suffix);
    // Forwards: the ankle rises about the ball, the toes stay. Back: the toes rise about the heel.
    EXPECT_GT(turned("ball_pivot", 30, foot.head).y(), foot.head.y() + 0.03);
    EXPECT_TRUE(carries("ball_pivot", "ankle_ik"));
    EXPECT_FALSE(carries("ball_pivot", "toes_follow"));
    EXPECT_EQ(bone_of(rig, "ball_pivot" + suffix).head, toes.head);
    EXPECT_GT(turned("heel_pivot", -30, toes.tail).y(), toes.tail.y() + 0.05);
    EXPECT_GT(turned("toe_pivot", 30, foot.head).y(), foot.head.y() + 0.05);
    for (const char* follower : {"ankle_ik", "toes_follow"}) {
      EXPECT_TRUE(carries("heel_pivot", follower));
      EXPECT_TRUE(carries("toe_pivot", follower));
      EXPECT_TRUE(carries("foot_ik", follower));
    }
    EXPECT_LT(bone_of(rig, "heel_pivot" + suffix).head.z(), foot.head.z());
    // The roll control turns both, each one way only.
    for (const char* pivot : {"heel_pivot", "ball_pivot"}) {
      const std::vector<RigConstraint>& constraints = bone_of(rig, pivot + suffix).constraints;
      ASSERT_EQ(constraints.size(), 2u);
      EXPECT_EQ(constraints[0].targets[0].bone, "foot_roll" + suffix);
      const nlohmann::json limits = nlohmann::json::parse(constraints[1].extras);
      EXPECT_EQ(limits.at(pivot[0] == 'h' ? "max" : "min").at(0).get<double>(), 0);
    }
  }
}

TEST(QuadrupedTemplate, HasItsControllers) {
  const ControlRig rig = make_template_rig("quadruped");
  expect_flexor(rig, "spine_control", {"spine_1", "spine_2", "spine_3"});
  expect_flexor(rig, "tail_control", {"tail_1", "tail_4", "tail_8"});
  for (const std::string suffix : {".L", ".R"}) {
    expect_hinge(rig, "lower_arm" + suffix, 20, 70);
    expect_hinge(rig, "shin" + suffix, 50, 100);
    expect_hinge(rig, "metatarsus" + suffix, 40, 90);
    EXPECT_LT(bone_of(rig, "elbow_pole" + suffix).head.z(), bone_of(rig, "lower_arm" + suffix).head.z());
    EXPECT_GT(bone_of(rig, "knee_pole" + suffix).head.z(), bone_of(rig, "shin" + suffix).head.z());
  }
}

TEST(InsectTemplate, HasItsControllers) {
  const ControlRig rig = make_template_rig("insect");
  expect_flexor(rig, "abdomen_control", {"waist", "abdomen_1", "abdomen_2"});
  for (const std::string suffix : {".L", ".R"}) {
    expect_flexor(rig, "antenna_control" + suffix, {"antenna_0" + suffix, "antenna_1" + suffix});
    for (const std::string leg : {"fore", "mid", "hind"}) {
      expect_hinge(rig, leg + "_tibia" + suffix, 80, 120);
      EXPECT_GT(bone_of(rig, leg + "_knee_pole" + suffix).head.y(),
                bone_of(rig, leg + "_tibia" + suffix).head.y());
      // The coxa swings the foot forwards.
      const RigBone &coxa = bone_of(rig, leg + "_coxa" + suffix),
                    &foot = bone_of(rig, leg + "_tarsus" + suffix);
      const Vec3d reach = foot.tail - coxa.head;
      EXPECT_GT((Eigen::AngleAxisd(0.2, frame(coxa).col(0)) * reach).z(), reach.z());
    }
  }
}

TEST(HandTemplate, HasItsControllers) {
  const ControlRig rig = make_template_rig("hand");
  expect_fingers(rig, "", Vec3d::UnitZ());
  EXPECT_EQ(parent_of(rig, bone_of(rig, "wrist")).name, "wrist_control");
}

TEST(TemplateRigs, AreListed) {
  EXPECT_EQ(template_names(), "biped, quadruped, insect, hand");
  try {
    make_template_rig("dragon");
    FAIL() << "no dragon expected";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "dragon: no such template rig; there are: biped, quadruped, insect, hand");
  }
}

}  // namespace
}  // namespace sinew
