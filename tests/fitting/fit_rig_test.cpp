#include <sinew/fitting/fit_rig.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <set>

#include <gtest/gtest.h>

#include <sinew/character/performer.h>
#include <sinew/character/recipe.h>
#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/fitting/rig_bones.h>
#include <sinew/fitting/template_rigs.h>
#include <sinew/models/models.h>
#include <sinew/scene/merge_rig.h>
#include <sinew/scene/rig_file.h>
#include <sinew/skeleton/rig_from_skeleton.h>

#include "tests/support/assets.h"
#include "tests/support/meshes.h"
#include "tests/support/sanitized.h"
#include "tests/support/shared_models.h"

namespace sinew {
namespace {

constexpr double kDegree = std::numbers::pi / 180;

/// Where each joint is in truth, by name.
using Truth = std::map<std::string, Vec3d>;

BuiltModel model(const char* name, std::size_t vertices, const Proportions& proportions = {}) {
  ModelOptions options;
  options.vertices = vertices;
  options.proportions = proportions;
  return test::shared_model(name, options);
}

const Mesh& surface(const BuiltModel& built) {
  return built.scene.meshes[0].surface;
}

Truth truth_of(const Rig& rig) {
  Truth truth;
  for (const RigJoint& joint : rig.joints()) truth[joint.name] = joint.head;
  return truth;
}

Eigen::AlignedBox3d box_of(std::span<const Vec3f> positions) {
  Eigen::AlignedBox3d box;
  for (const Vec3f& p : positions) box.extend(p.cast<double>());
  return box;
}

double height(std::span<const Vec3f> positions) {
  return box_of(positions).sizes().y();
}

double longest_side(std::span<const Vec3f> positions) {
  return box_of(positions).sizes().maxCoeff();
}

struct Errors {
  double mean = 0, worst = 0;  ///< per cent of the character's size
  std::string worst_bone;
  std::size_t count = 0;
};

/// Of all deforming bones that have a truth and were not dropped.
Errors errors(const FittedRig& fitted, const Truth& truth, double size) {
  Errors result;
  for (std::size_t b = 0; b < fitted.rig.bones.size(); ++b) {
    const RigBone& bone = fitted.rig.bones[b];
    const auto found = truth.find(bone.name);
    if (!bone.deforms || found == truth.end() || fitted.fate[BoneId(b)] == BoneFate::dropped) continue;
    const double error = 100 * (bone.head - found->second).norm() / size;
    result.mean += error;
    ++result.count;
    if (error > result.worst) {
      result.worst = error;
      result.worst_bone = bone.name;
    }
  }
  result.mean /= static_cast<double>(std::max<std::size_t>(1, result.count));
  return result;
}

void expect_near_truth(const FittedRig& fitted, const Truth& truth, double size, double mean, double worst) {
  const Errors found = errors(fitted, truth, size);
  EXPECT_GT(found.count, 10u);
  EXPECT_LT(found.mean, mean);
  EXPECT_LT(found.worst, worst) << found.worst_bone;
}

std::size_t dropped(const FittedRig& fitted) {
  return to_size(std::count(fitted.fate.begin(), fitted.fate.end(), BoneFate::dropped));
}

Mat3d frame(const RigBone& bone) {
  return bone_frame(bone.tail - bone.head, bone.roll);
}

/// Whether a rig's bones are mirror images about x = 0, x axes included (Rigify's are, but for some fingers).
bool is_mirrored(const ControlRig& rig) {
  const MirrorPlane plane;
  for (const RigBone& bone : rig.bones) {
    const int other = rig.find(other_side(bone.name));
    if (other < 0 || !bone.deforms) continue;
    const RigBone& image = bone_at(rig, BoneId(other));
    if ((plane.mirrored(bone.head) - image.head).norm() > 1e-6 ||
        (plane.mirrored(bone.tail) - image.tail).norm() > 1e-6 ||
        std::abs(plane.mirrored_direction(frame(bone).col(0)).dot(frame(image).col(0))) < 1 - 1e-6)
      return false;
  }
  return true;
}

/// Bones on the left are where the mirror puts those on the right. So are their x axes, up to the sign, if
/// the rig's own are.
void expect_mirrored(const ControlRig& rig, const FittedRig& fitted, const MirrorPlane& plane) {
  double size = 0;
  for (const RigBone& bone : fitted.rig.bones) size = std::max(size, plane.height(bone.head));
  const bool axes = is_mirrored(rig);
  std::size_t pairs = 0;
  for (std::size_t b = 0; b < rig.bones.size(); ++b) {
    const RigBone& bone = fitted.rig.bones[b];
    const int other = rig.find(other_side(bone.name));
    if (fitted.fate[BoneId(b)] != BoneFate::placed || other < 0 ||
        fitted.fate[BoneId(other)] != BoneFate::placed)
      continue;
    const RigBone& image = bone_at(fitted.rig, BoneId(other));
    EXPECT_LT((plane.mirrored(bone.head) - image.head).norm(), 1e-6 * size) << bone.name;
    EXPECT_LT((plane.mirrored(bone.tail) - image.tail).norm(), 1e-6 * size) << bone.name;
    if (&image == &bone) continue;
    ++pairs;
    if (!axes) continue;
    const double cosine = plane.mirrored_direction(frame(bone).col(0)).dot(frame(image).col(0));
    EXPECT_GT(std::abs(cosine), std::cos(0.1 * kDegree)) << bone.name;
  }
  EXPECT_GT(pairs, 0u);
}

/// What holds for every fitted rig.
void expect_same_rig(const ControlRig& rig, const FittedRig& fitted, const FitReport& report) {
  ASSERT_EQ(fitted.rig.bones.size(), rig.bones.size());
  ASSERT_EQ(fitted.fate.size(), rig.bones.size());
  EXPECT_EQ(fitted.rig.name, rig.name);
  EXPECT_EQ(fitted.rig.drivers, rig.drivers);
  const std::set<std::string> carried(report.carried.begin(), report.carried.end());
  const std::set<std::string> gone(report.dropped.begin(), report.dropped.end());
  for (std::size_t b = 0; b < rig.bones.size(); ++b) {
    const RigBone &before = rig.bones[b], &now = fitted.rig.bones[b];
    EXPECT_EQ(now.name, before.name);
    EXPECT_EQ(now.parent, before.parent) << now.name;
    EXPECT_EQ(now.deforms, before.deforms) << now.name;
    EXPECT_TRUE(now.head.allFinite() && now.tail.allFinite() && std::isfinite(now.roll)) << now.name;
    if (before.length() > 0) {
      EXPECT_GT(now.length(), 0) << now.name;
    }
    if (now.deforms) {
      EXPECT_EQ(carried.count(now.name), fitted.fate[BoneId(b)] == BoneFate::carried ? 1u : 0u) << now.name;
      EXPECT_EQ(gone.count(now.name), fitted.fate[BoneId(b)] == BoneFate::dropped ? 1u : 0u) << now.name;
    } else {
      EXPECT_NE(fitted.fate[BoneId(b)], BoneFate::placed) << now.name;
    }
    ASSERT_EQ(now.constraints.size(), before.constraints.size()) << now.name;
    for (std::size_t c = 0; c < now.constraints.size(); ++c) {
      EXPECT_EQ(now.constraints[c].kind, before.constraints[c].kind);
      EXPECT_EQ(now.constraints[c].targets, before.constraints[c].targets) << now.name;
      EXPECT_EQ(now.constraints[c].pole, before.constraints[c].pole) << now.name;
    }
  }
  EXPECT_NO_THROW(check_rig(fitted.rig, "fitted"));  // targets exist, numbers are finite
  if (report.mirror) expect_mirrored(rig, fitted, *report.mirror);
}

FittedRig fit(const MeshView& mesh, const ControlRig& rig, const FitOptions& options = {},
              FitReport* report = nullptr) {
  FitReport own;
  FitReport& told = report != nullptr ? *report : own;
  FittedRig fitted = fit_rig(mesh, rig, options, &told);
  expect_same_rig(rig, fitted, told);
  return fitted;
}

/// From the normal of the plane of two bones to the x axis of the second, about it; radians.
double angle_to_plane(const RigBone& upper, const RigBone& lower) {
  const Vec3d normal = (upper.tail - upper.head).cross(lower.tail - lower.head).normalized();
  const Mat3d axes = frame(lower);
  return std::atan2(axes.col(1).dot(normal.cross(axes.col(0))), normal.dot(axes.col(0)));
}

double bend(const RigBone& upper, const RigBone& lower) {
  const Vec3d a = upper.tail - upper.head, b = lower.tail - lower.head;
  return std::atan2(a.cross(b).norm(), a.dot(b));
}

bool is_hinge(const std::string& name) {
  for (const char* hinge : {"lower_arm", "shin", "_2", "_3"})
    if (name.find(hinge) != std::string::npos) return true;
  return false;
}

/// Hinges keep their axes relative to the plane they bend in. Gives how many were bent by `least` degrees or
/// more, before and after.
int expect_hinges_kept(const ControlRig& rig, const FittedRig& fitted, double least = 4) {
  int hinges = 0;
  for (std::size_t b = 0; b < rig.bones.size(); ++b) {
    const int parent = rig.bones[b].parent;
    if (!is_hinge(rig.bones[b].name) || parent < 0 || !bone_at(rig, BoneId(parent)).deforms) continue;
    if (fitted.fate[BoneId(b)] != BoneFate::placed || fitted.fate[BoneId(parent)] != BoneFate::placed)
      continue;
    const RigBone &upper = bone_at(rig, BoneId(parent)), &lower = rig.bones[b];
    const RigBone &new_upper = bone_at(fitted.rig, BoneId(parent)), &new_lower = fitted.rig.bones[b];
    if (std::min(bend(upper, lower), bend(new_upper, new_lower)) < least * kDegree) continue;
    // The plane has two normals: a joint may have come to bend the other way by a few degrees.
    const double turned =
        std::remainder(angle_to_plane(new_upper, new_lower) - angle_to_plane(upper, lower), std::numbers::pi);
    EXPECT_LT(std::abs(turned), 1 * kDegree) << lower.name << ", bent by " << bend(upper, lower) / kDegree
                                             << "° and " << bend(new_upper, new_lower) / kDegree << "°";
    ++hinges;
  }
  return hinges;
}

/// Tests that take too long under a sanitizer.
class FitRig : public testing::Test {
 protected:
  void SetUp() override {
    if (test::kSanitized) GTEST_SKIP() << "too slow under a sanitizer";
  }
};

TEST_F(FitRig, PutsTheBipedIntoTheMannequin) {
  const BuiltModel built = model("mannequin", 10000);
  const ControlRig rig = make_biped_template();
  FitReport report;
  const FittedRig fitted = fit(surface(built).view(), rig, {}, &report);
  expect_near_truth(fitted, truth_of(built.rig), height(surface(built).positions), 1, 3);
  EXPECT_EQ(dropped(fitted), 0u);
  ASSERT_TRUE(report.mirror);
  EXPECT_EQ(report.mirror->normal.cwiseAbs(), Vec3d::UnitX());
  EXPECT_GE(expect_hinges_kept(rig, fitted), 4);
  EXPECT_EQ(report.head_bone, "head");
  EXPECT_TRUE(report.head_guessed);
  EXPECT_EQ(report.components, 1u);
  EXPECT_FALSE(report.wrapped);
  EXPECT_EQ(report.ignored_limbs, 0u);
  EXPECT_LT(report.score, 1.7);
  EXPECT_NEAR(report.scale, 1, 0.1);
  EXPECT_LT((report.mesh_from_rig - Mat3d::Identity()).norm(), 0.1);
  EXPECT_FALSE(report.mesh_graph.arcs.empty());
}

TEST_F(FitRig, ControllersComeAlong) {
  const BuiltModel built = model("mannequin", 10000, {1.2, 1.1, 1, 1});
  const ControlRig rig = make_biped_template();
  const FittedRig fitted = fit(surface(built).view(), rig);
  const auto bone = [&](const char* name) -> const RigBone& {
    return bone_at(fitted.rig, find_bone(fitted.rig, name));
  };
  const double size = height(surface(built).positions);
  EXPECT_LT((bone("hand_ik.L").head - bone("wrist.L").head).norm(), 1e-6 * size);
  EXPECT_LT((bone("ankle_ik.R").head - bone("foot.R").head).norm(), 1e-6 * size);
  // The pole is before the knee, the soles' controllers are near the ground.
  EXPECT_GT(bone("knee_pole.L").head.z(), bone("shin.L").head.z() + 0.1 * size);
  EXPECT_NEAR(bone("foot_ik.L").head.y(), 0, 0.03 * size);
}

TEST_F(FitRig, ReportsTheHeadThatWasAskedFor) {
  const BuiltModel built = model("mannequin", 6500);
  FitOptions options;
  options.head_point = built.rig[built.rig.at("head")].tail + Vec3d(0, 0.1, 0);
  options.head_bone = "head";
  options.symmetric = false;
  FitReport report;
  const FittedRig fitted = fit(surface(built).view(), make_biped_template(), options, &report);
  EXPECT_FALSE(report.head_guessed);
  EXPECT_FALSE(report.mirror);
  expect_near_truth(fitted, truth_of(built.rig), height(surface(built).positions), 1.5, 4);
}

struct NamedProportions {
  const char* name;
  Proportions proportions;
};

class FitRigProportions : public testing::TestWithParam<NamedProportions> {};

TEST_P(FitRigProportions, AreFound) {
  if (test::kSanitized) GTEST_SKIP() << "too slow under a sanitizer";
  const BuiltModel built = model("mannequin", 14000, GetParam().proportions);
  const FittedRig fitted = fit(surface(built).view(), make_biped_template());
  EXPECT_EQ(dropped(fitted), 0u);
  expect_near_truth(fitted, truth_of(built.rig), height(surface(built).positions), 2, 6);
}

INSTANTIATE_TEST_SUITE_P(Sweep, FitRigProportions,
                         testing::Values(NamedProportions{"LongArms", {1.5, 1, 1, 1}},
                                         NamedProportions{"ShortArms", {0.7, 1, 1, 1}},
                                         NamedProportions{"LongLegs", {1, 1.4, 1, 1}},
                                         NamedProportions{"ShortLegs", {1, 0.6, 1, 1}},
                                         NamedProportions{"LargeHead", {1, 1, 1.6, 1}},
                                         NamedProportions{"SmallHead", {1, 1, 0.7, 1}},
                                         NamedProportions{"Fat", {1, 1, 1, 1.4}},
                                         NamedProportions{"Thin", {1, 1, 1, 0.7}},
                                         NamedProportions{"Ape", {1.4, 0.7, 1.3, 1}},
                                         NamedProportions{"Stilts", {0.8, 1.3, 1, 1.2}}),
                         [](const auto& chosen) { return chosen.param.name; });

TEST_F(FitRig, FewVerticesAreEnough) {
  const BuiltModel built = model("mannequin", 6500);
  const FittedRig fitted = fit(surface(built).view(), make_biped_template());
  EXPECT_EQ(dropped(fitted), 0u);
  expect_near_truth(fitted, truth_of(built.rig), height(surface(built).positions), 1, 3);
}

TEST_F(FitRig, WalkersMayStride) {
  const BuiltModel built = model("mannequin", 10000);
  const auto walk = std::find_if(built.scene.clips.begin(), built.scene.clips.end(),
                                 [](const Clip& clip) { return clip.name == "walk"; });
  ASSERT_NE(walk, built.scene.clips.end());
  Performer performer(Character::make(built.scene, recipe_for_method("dqs")));
  for (const double share : {0.2, 0.5, 0.8}) {
    SCOPED_TRACE(share);
    Pose pose = rest_pose(built.scene);
    sample_clip(*walk, share * walk->duration(), pose);
    performer.perform(pose);
    std::vector<Affine3d> world(built.scene.skeleton.size());
    forward_kinematics(built.scene.skeleton, pose.joints, world);
    Truth truth;
    for (std::size_t j = 0; j < world.size(); ++j)
      truth[built.scene.skeleton.joints[j].name] = world[j].translation();
    const MeshView mesh{performer.positions(0), surface(built).triangles};
    FitReport report;
    const FittedRig fitted = fit(mesh, make_biped_template(), {}, &report);
    EXPECT_EQ(dropped(fitted), 0u);
    EXPECT_FALSE(report.mirror);  // nobody walks symmetrically
    expect_near_truth(fitted, truth, height(mesh.positions), 2, 6);
  }
}

TEST_F(FitRig, ItDoesNotMatterHowTheMeshStands) {
  const BuiltModel built = model("mannequin", 10000);
  const ControlRig rig = make_biped_template();
  const FittedRig upright = fit(surface(built).view(), rig);
  const double size = height(surface(built).positions);
  const auto turned = [](double degrees, const Vec3d& axis) {
    return Affine3d(Eigen::AngleAxisd(degrees * kDegree, axis));
  };
  Affine3d large = Affine3d::Identity(), small = Affine3d::Identity();
  large.linear() *= 100;
  small.linear() *= 0.001;
  small.translation() = Vec3d(3, 1, 2);
  const std::vector<std::pair<const char*, Affine3d>> moves{{"yaw 30", turned(30, Vec3d::UnitY())},
                                                            {"yaw 90", turned(90, Vec3d::UnitY())},
                                                            {"yaw 180", turned(180, Vec3d::UnitY())},
                                                            {"on its back", turned(-90, Vec3d::UnitX())},
                                                            {"on its face", turned(90, Vec3d::UnitX())},
                                                            {"large", large},
                                                            {"small and far", small}};
  for (const auto& move : moves) {
    SCOPED_TRACE(move.first);
    std::vector<Vec3f> positions;
    for (const Vec3f& p : surface(built).positions)
      positions.push_back((move.second * p.cast<double>()).cast<float>());
    FitReport report;
    const FittedRig fitted = fit({positions, surface(built).triangles}, rig, {}, &report);
    EXPECT_TRUE(report.mirror);
    const Affine3d back = move.second.inverse();
    double worst = 0;
    std::string where;
    for (std::size_t b = 0; b < rig.bones.size(); ++b) {
      if (!rig.bones[b].deforms) continue;
      const double off = 100 * (back * fitted.rig.bones[b].head - upright.rig.bones[b].head).norm() / size;
      if (off > worst) {
        worst = off;
        where = rig.bones[b].name;
      }
    }
    // A joint goes to one of 80 points of its limb's centre line: the next is 0.6 % of the height away.
    EXPECT_LT(worst, 0.7) << where;
  }
}

TEST_F(FitRig, PutsTheQuadrupedIntoTheCat) {
  const BuiltModel built = model("cat", 10000);
  const ControlRig rig = make_quadruped_template();
  const FittedRig fitted = fit(surface(built).view(), rig);
  EXPECT_EQ(dropped(fitted), 0u);
  expect_near_truth(fitted, truth_of(built.rig), longest_side(surface(built).positions), 3.5, 12);
  // Its elbows are bent by 52° in the rig and 5° in the mesh, in a plane so unlike the rig's that it counts
  // in part only (bone_rolls.h).
  EXPECT_GE(expect_hinges_kept(rig, fitted, 6), 2);
}

TEST_F(FitRig, CatsLookAnyWay) {
  const BuiltModel built = model("cat", 8000);
  for (const double yaw : {90.0, 180.0}) {
    SCOPED_TRACE(yaw);
    const Mat3d turn = Eigen::AngleAxisd(yaw * kDegree, Vec3d::UnitY()).toRotationMatrix();
    std::vector<Vec3f> positions;
    for (const Vec3f& p : surface(built).positions)
      positions.push_back((turn * p.cast<double>()).cast<float>());
    Truth truth = truth_of(built.rig);
    for (auto& joint : truth) joint.second = turn * joint.second;
    const FittedRig fitted = fit({positions, surface(built).triangles}, make_quadruped_template());
    expect_near_truth(fitted, truth, longest_side(surface(built).positions), 3.5, 12);
  }
}

TEST_F(FitRig, PutsTheInsectIntoTheAnt) {
  const BuiltModel built = model("insect", 12000);
  const FittedRig fitted = fit(surface(built).view(), make_insect_template());
  EXPECT_EQ(dropped(fitted), 0u);
  expect_near_truth(fitted, truth_of(built.rig), longest_side(surface(built).positions), 4, 14);
}

TEST_F(FitRig, LegsMayPartInAnotherOrderThanTheRigs) {
  // At 16 000 vertices a hind leg parts before a middle one; thick legs part in the midst of the thorax.
  for (const double girth : {1.0, 1.3}) {
    const BuiltModel built = model("insect", 16000, {1, 1, 1, girth});
    const FittedRig fitted = fit(surface(built).view(), make_insect_template());
    EXPECT_EQ(dropped(fitted), 0u) << girth;
    expect_near_truth(fitted, truth_of(built.rig), longest_side(surface(built).positions), 4, 14);
  }
}

TEST(FitRigSmall, PutsTheHandIntoTheHand) {
  const BuiltModel built = model("hand", test::kSanitized ? 2500 : 8000);
  const ControlRig rig = make_hand_template();
  FitReport report;
  const FittedRig fitted = fit(surface(built).view(), rig, {}, &report);
  EXPECT_EQ(dropped(fitted), 0u);
  EXPECT_FALSE(report.mirror);
  expect_near_truth(fitted, truth_of(built.rig), longest_side(surface(built).positions), 3, 8);
  expect_hinges_kept(rig, fitted);
}

/// A rig without some bones and all that hang on them; constraints that want these go, too.
ControlRig without(const ControlRig& rig, const std::function<bool(const std::string&)>& unwanted) {
  PerBone<char> gone(rig.bones.size(), 0);
  for (const BoneId b : bones_parents_first(rig)) {
    const BoneId parent = parent_of(rig, b);
    gone[b] = unwanted(bone_at(rig, b).name) || (parent.valid() && gone[parent]);
  }
  ControlRig result = rig;
  result.bones.clear();
  for (const BoneId b : bone_ids(rig))
    if (!gone[b]) result.bones.push_back(bone_at(rig, b));
  for (RigBone& bone : result.bones) {
    if (bone.parent >= 0) bone.parent = result.find(bone_at(rig, BoneId(bone.parent)).name);
    std::erase_if(bone.constraints, [&](const RigConstraint& constraint) {
      return (!constraint.pole.empty() && result.find(constraint.pole) < 0) ||
             std::any_of(constraint.targets.begin(), constraint.targets.end(),
                         [&](const ConstraintTarget& target) {
                           return !target.bone.empty() && result.find(target.bone) < 0;
                         });
    });
  }
  return result;
}

TEST_F(FitRig, ATailThatTheMeshDoesNotHaveIsDropped) {
  const BuiltModel built = model("mannequin", 10000);
  ControlRig rig = make_biped_template();
  int parent = rig.find("hips");
  for (int k = 0; k < 4; ++k) {
    RigBone bone;
    bone.name = "tail_" + std::to_string(k);
    bone.parent = parent;
    bone.head = Vec3d(0, 0.94, -0.1 - 0.15 * k);
    bone.tail = Vec3d(0, 0.94, -0.25 - 0.15 * k);
    parent = static_cast<int>(rig.bones.size());
    rig.bones.push_back(bone);
  }
  FitReport report;
  const FittedRig fitted = fit(surface(built).view(), rig, {}, &report);
  EXPECT_EQ(report.dropped, (std::vector<std::string>{"tail_0", "tail_1", "tail_2", "tail_3"}));
  expect_near_truth(fitted, truth_of(built.rig), height(surface(built).positions), 1, 3);
}

TEST_F(FitRig, LimbsThatTheRigDoesNotHaveAreIgnored) {
  const BuiltModel built = model("mannequin", 10000);
  const ControlRig one_armed = without(make_biped_template(), [](const std::string& name) {
    return name.starts_with("thumb") || name == "clavicle.L" || name == "hand_ik.L" || name == "elbow_pole.L";
  });
  ASSERT_LT(one_armed.find("lower_arm.L"), 0);
  ASSERT_GE(one_armed.find("index_1.R"), 0);
  FitReport report;
  const FittedRig fitted = fit(surface(built).view(), one_armed, {}, &report);
  EXPECT_EQ(dropped(fitted), 0u);
  EXPECT_GE(report.ignored_limbs, 1u);
  expect_near_truth(fitted, truth_of(built.rig), height(surface(built).positions), 2, 8);
}

TEST_F(FitRig, ARigOfOneArmFitsAnArm) {
  const BuiltModel built = model("arm", 8000);
  ControlRig arm = make_biped_template();
  const int root = arm.find("upper_arm.L");
  std::set<std::string> names;
  for (std::size_t b = 0; b < arm.bones.size(); ++b)
    for (int above = static_cast<int>(b); above >= 0; above = bone_at(arm, BoneId(above)).parent)
      if (above == root && arm.bones[b].deforms) names.insert(arm.bones[b].name);
  for (RigBone& bone : arm.bones) {
    bone.constraints.clear();
    if (names.count(bone.name) > 0 && names.count(bone_at(arm, BoneId(bone.parent)).name) == 0)
      bone.parent = -1;
  }
  arm = without(arm, [&](const std::string& name) { return names.count(name) == 0; });
  ASSERT_EQ(arm.bones.size(), names.size());
  ASSERT_GE(arm.find("index_3.L"), 0);
  // The model's palm is up, the rig's down. Without a body nothing tells which it is: the arm is turned over.
  const Vec3d over(1, -1, -1);
  Truth truth;
  for (const RigJoint& joint : built.rig.joints()) truth[joint.name + ".L"] = joint.head.cwiseProduct(over);
  std::vector<Vec3f> positions;
  for (const Vec3f& p : surface(built).positions) positions.push_back(p.cwiseProduct(over.cast<float>()));
  const FittedRig fitted = fit({positions, surface(built).triangles}, arm);
  EXPECT_EQ(dropped(fitted), 0u);
  expect_near_truth(fitted, truth, longest_side(surface(built).positions), 4, 12);
}

/// A body and what its own rig is.
struct Human {
  Scene body;
  ControlRig rig;
  Truth truth;
};

std::optional<Human> read_human() {
  const auto rigged = test::asset("human.glb"), body = test::asset("human_unrigged.obj");
  if (!rigged || !body) return std::nullopt;
  const Scene scene = read_scene(*rigged);
  const BindPose pose = bind_pose(scene);
  const std::vector<int> joints = rig_joints(scene);
  Human human{read_scene(*body), rig_from_skeleton(scene.skeleton, pose.world_from_joint, joints), {}};
  for (const int j : joints)
    human.truth[scene.skeleton.joints[to_size(j)].name] = pose.world_from_joint[to_size(j)].translation();
  bone_at(human.rig, find_bone(human.rig, "Root")).deforms = false;
  return human;
}

bool hangs_on(const ControlRig& rig, int bone, int ancestor) {
  while (bone >= 0 && bone != ancestor) bone = bone_at(rig, BoneId(bone)).parent;
  return bone >= 0;
}

/// Arms along x, as a rig in a T-pose has them.
ControlRig in_t_pose(ControlRig rig) {
  for (const std::string side : {"_l", "_r"})
    for (const auto& [name, next] :
         {std::pair{"upperarm", "lowerarm"}, std::pair{"lowerarm", "hand"}, std::pair{"hand", "middle_01"}}) {
      const int bone = rig.find(name + side), child = rig.find(next + side);
      if (bone < 0 || child < 0) throw Error("the human's arms have other names");
      const Vec3d origin = bone_at(rig, BoneId(bone)).head;
      const Vec3d way = (bone_at(rig, BoneId(child)).head - origin).normalized();
      const Quatd turn = Quatd::FromTwoVectors(way, Vec3d(way.x() > 0 ? 1 : -1, 0, 0));
      for (std::size_t b = 0; b < rig.bones.size(); ++b) {
        if (!hangs_on(rig, static_cast<int>(b), bone)) continue;
        rig.bones[b].head = origin + turn * (rig.bones[b].head - origin);
        rig.bones[b].tail = origin + turn * (rig.bones[b].tail - origin);
      }
    }
  return rig;
}

TEST_F(FitRig, PutsAHumansOwnRigBack) {
  const std::optional<Human> human = read_human();
  if (!human) GTEST_SKIP() << test::missing_asset("human.glb");
  const Mesh& body = human->body.meshes[0].surface;
  FitOptions options;
  options.placement.tails_known = false;
  for (const bool t_pose : {false, true}) {
    SCOPED_TRACE(t_pose ? "from a T-pose" : "as it is");
    const ControlRig rig = t_pose ? in_t_pose(human->rig) : human->rig;
    const FittedRig fitted = fit(body.view(), rig, options);
    EXPECT_EQ(dropped(fitted), 0u);
    expect_near_truth(fitted, human->truth, height(body.positions), 2, 6);
  }
}

TEST_F(FitRig, PutsRigifysRigIntoAHuman) {
  const std::optional<Human> human = read_human();
  const auto file = test::asset("rigify_generated.json");
  if (!human || !file) GTEST_SKIP() << test::missing_asset("rigify_generated.json");
  const Mesh& body = human->body.meshes[0].surface;
  const FittedRig fitted = fit(body.view(), read_rig(*file));
  std::size_t deforming = 0;
  for (std::size_t b = 0; b < fitted.fate.size(); ++b)
    deforming += fitted.rig.bones[b].deforms && fitted.fate[BoneId(b)] == BoneFate::dropped;
  EXPECT_LE(deforming, 4u);
  for (const auto& [bone, joint] : {std::pair{"DEF-thigh", "thigh"}, std::pair{"DEF-shin", "calf"},
                                    std::pair{"DEF-foot", "foot"}, std::pair{"DEF-upper_arm", "upperarm"},
                                    std::pair{"DEF-forearm", "lowerarm"}, std::pair{"DEF-hand", "hand"}})
    for (const auto& [left, l] : {std::pair{".L", "_l"}, std::pair{".R", "_r"}}) {
      const int b = fitted.rig.find(std::string(bone) + left);
      const auto truth = human->truth.find(std::string(joint) + l);
      ASSERT_GE(b, 0) << bone;
      ASSERT_NE(truth, human->truth.end()) << joint;
      const double off = (bone_at(fitted.rig, BoneId(b)).head - truth->second).norm();
      EXPECT_LT(off / height(body.positions), 0.06) << bone << left;
    }
}

/// What fit_rig() says when it gives up.
std::string refusal(const MeshView& mesh, const ControlRig& rig, const FitOptions& options = {}) {
  try {
    fit_rig(mesh, rig, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(FitRigSmall, ATubeIsNoBiped) {
  const BuiltModel tube = model("tube", 400);
  const std::string text = refusal(surface(tube).view(), make_biped_template());
  EXPECT_NE(text.find("rig 'biped'"), std::string::npos) << text;
  EXPECT_NE(text.find("the bones '"), std::string::npos) << text;
}

TEST_F(FitRig, AManIsNoQuadruped) {
  const BuiltModel man = model("mannequin", 8000);
  const std::string text = refusal(surface(man).view(), make_quadruped_template());
  EXPECT_NE(text.find("rig 'quadruped'"), std::string::npos) << text;
  EXPECT_NE(text.find("the bones '"), std::string::npos) << text;
}

TEST(FitRigSmall, RefusesWhatCannotBeFitted) {
  const Mesh tube = test::make_tube(12, 20, 0.1f, 1.0f, true);
  ControlRig controllers = make_hand_template();
  for (RigBone& bone : controllers.bones) bone.deforms = false;
  EXPECT_NE(refusal(tube.view(), controllers).find("deform"), std::string::npos)
      << refusal(tube.view(), controllers);
  EXPECT_NE(refusal(tube.view(), ControlRig{}), "no error");
  const std::vector<Vec3f> points(5, Vec3f::Zero());
  EXPECT_NE(refusal({points, {}}, make_hand_template()).find("no faces"), std::string::npos);
  const std::vector<Triangle> flat{{0, 1, 2}, {2, 3, 4}};
  EXPECT_NE(refusal({points, flat}, make_hand_template()).find("no faces"), std::string::npos);
  FitOptions options;
  options.head_bone = "nobody";
  EXPECT_NE(refusal(tube.view(), make_hand_template(), options).find("'nobody'"), std::string::npos);
  ControlRig twins = make_hand_template();
  twins.bones[1].name = twins.bones[0].name;
  EXPECT_NE(refusal(tube.view(), twins).find(twins.bones[0].name), std::string::npos);
  ControlRig points_only = make_hand_template();
  for (RigBone& bone : points_only.bones) bone.head = bone.tail = Vec3d::Zero();
  EXPECT_NE(refusal(tube.view(), points_only).find("no length"), std::string::npos);
}

}  // namespace
}  // namespace sinew
