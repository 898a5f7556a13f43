// Meshing a character takes a while under sanitizers, so each test makes one and asks it everything.
#include <sinew/models/models.h>

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/geometry/topology.h>
#include <sinew/geometry/volume.h>
#include <sinew/models/mannequin_clips.h>

#include "tests/support/sanitized.h"
#include "tests/support/solids.h"

namespace sinew {
namespace {

const Model& entry(std::string_view name) {
  return *std::find_if(models().begin(), models().end(), [&](const Model& m) { return m.name == name; });
}

/// How many vertices go round a joint's bone at its middle: a ring of n vertices in a triangle strip is
/// crossed by 2 n edges.
double vertices_round(const BuiltModel& model, std::string_view joint_name) {
  const int joint = model.rig.at(joint_name);
  const RigJoint& bone = model.rig[joint];
  const Vec3d middle = 0.5 * (bone.head + bone.tail);
  const SceneMesh& mesh = model.scene.meshes[0];
  const auto belongs = [&](std::uint32_t v) {
    return mesh.weights.row_joints(v)[0] == static_cast<std::uint32_t>(joint);
  };
  const auto side = [&](std::uint32_t v) {
    return (mesh.surface.positions[v].cast<double>() - middle).dot(bone.along) > 0;
  };
  int crossings = 0;
  for (const Triangle& t : mesh.surface.triangles)
    for (std::size_t k = 0; k < 3; ++k) {
      const std::uint32_t a = t[k], b = t[(k + 1) % 3];
      if (a < b && (belongs(a) || belongs(b)) && side(a) != side(b)) ++crossings;
    }
  return crossings / 2.0;
}

void expect_sound_mesh(const BuiltModel& model, std::size_t vertices, double least_angle,
                       bool every_joint_moves_something = true) {
  ASSERT_EQ(model.scene.meshes.size(), 1u);
  const SceneMesh& mesh = model.scene.meshes[0];
  const TopologyReport report = inspect_topology(mesh.surface.view());
  EXPECT_EQ(report.vertices, vertices);
  EXPECT_TRUE(report.watertight());
  EXPECT_EQ(report.non_manifold_vertices, 0u);
  EXPECT_EQ(report.components, 1u);
  EXPECT_EQ(test::euler_number(mesh.surface.view()), 2);
  EXPECT_GT(enclosed_volume(mesh.surface.view()), 0);
  EXPECT_GT(test::smallest_angle(mesh.surface.view()), least_angle);
  ASSERT_EQ(mesh.weights.rows(), vertices);
  std::vector<double> pull(model.rig.size(), 0);
  for (std::size_t v = 0; v < vertices; ++v) {
    double sum = 0;
    ASSERT_GE(mesh.weights.row_size(v), 1u);
    ASSERT_LE(mesh.weights.row_size(v), 4u);
    for (std::size_t k = 0; k < mesh.weights.row_size(v); ++k) {
      sum += mesh.weights.row_values(v)[k];
      pull[mesh.weights.row_joints(v)[k]] += mesh.weights.row_values(v)[k];
    }
    ASSERT_NEAR(sum, 1, 1e-5);
  }
  for (std::size_t j = 0; every_joint_moves_something && j < pull.size(); ++j)
    EXPECT_GT(pull[j], 0.5) << model.rig.joints()[j].name << " moves nothing";
  // Smooth: no edge leaps from one joint to another.
  double worst = 0;
  for (const Triangle& t : mesh.surface.triangles) {
    const auto a = mesh.weights.row_joints(t[0]), b = mesh.weights.row_joints(t[1]);
    const auto wa = mesh.weights.row_values(t[0]), wb = mesh.weights.row_values(t[1]);
    double shared = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t k = 0; k < b.size(); ++k)
        if (a[i] == b[k]) shared += std::min(wa[i], wb[k]);
    worst = std::max(worst, 1 - shared);
  }
  EXPECT_LT(worst, 0.75);
}

void expect_sound_clips(const BuiltModel& model, const std::vector<std::string>& names) {
  std::vector<std::string> found;
  for (const Clip& clip : model.scene.clips) {
    found.push_back(clip.name);
    EXPECT_EQ(guess_frame_rate(clip), 30) << clip.name;
    Pose pose = rest_pose(model.scene);
    for (int frame = 0; frame < frame_count(clip, 30); ++frame) {
      sample_clip(clip, frame / 30.0, pose);
      for (std::size_t j = 0; j < model.rig.size(); ++j) {
        const RigJoint& joint = model.rig.joints()[j];
        const Angles angles =
            model.rig.angles_of(static_cast<int>(j), pose.joints[j].rotation.cast<double>().normalized());
        const auto within = [](double angle, const AngleRange& range) {
          return angle >= range.least - 0.05 && angle <= range.most + 0.05;
        };
        ASSERT_TRUE(within(angles.flex, joint.limits.flex) && within(angles.spread, joint.limits.spread) &&
                    within(angles.twist, joint.limits.twist))
            << clip.name << " frame " << frame << ": " << joint.name << " " << angles.flex << " "
            << angles.spread << " " << angles.twist;
      }
    }
  }
  EXPECT_EQ(found, names);
}

const Clip& clip_of(const BuiltModel& model, std::string_view name) {
  return *std::find_if(model.scene.clips.begin(), model.scene.clips.end(),
                       [&](const Clip& clip) { return clip.name == name; });
}

/// One degree per frame, up to `last`.
void expect_degree_per_frame(const BuiltModel& model, const char* clip_name, const char* joint_name,
                             double first, int last, bool twist) {
  const Clip& clip = clip_of(model, clip_name);
  EXPECT_EQ(frame_count(clip, 30), last + 1);
  const int joint = model.rig.at(joint_name);
  Pose pose = rest_pose(model.scene);
  for (int frame = 0; frame <= last; frame += 10) {
    sample_clip(clip, frame / 30.0, pose);
    const Angles angles =
        model.rig.angles_of(joint, pose.joints[to_size(joint)].rotation.cast<double>().normalized());
    EXPECT_NEAR(twist ? angles.twist : angles.flex, first + frame, 0.01) << clip_name << " " << frame;
  }
}

TEST(Models, TubeIsSoundAtAnyResolution) {
  // The last has more than one stage of remeshing.
  const std::size_t most = test::kSanitized ? 2500 : 50'000;
  for (const std::size_t vertices : {entry("tube").least_vertices, std::size_t{2050}, most}) {
    const BuiltModel model = make_model("tube", {vertices, {}});
    expect_sound_mesh(model, vertices, 28);
    expect_sound_clips(model, {"bend", "twist"});
    EXPECT_GE(vertices_round(model, "lower"), 8);
    if (vertices > 1000) {
      EXPECT_NEAR(enclosed_volume(model.scene.meshes[0].surface.view()), M_PI * 0.04 * 2, 0.01);
    }
  }
  const BuiltModel model = make_model("tube");
  expect_degree_per_frame(model, "bend", "upper", 0, 150, false);
  expect_degree_per_frame(model, "twist", "upper", 0, 150, true);
}

TEST(Models, HandIsSound) {
  const std::size_t least = entry("hand").least_vertices;
  const BuiltModel model = make_model("hand", {least, {}});
  expect_sound_mesh(model, least, 20);
  expect_sound_clips(model, {"bend", "fist"});
  EXPECT_EQ(model.rig.size(), 21u);
  for (int finger = 0; finger < 5; ++finger)
    for (int segment = 2; segment < 4; ++segment)
      EXPECT_GE(vertices_round(model, finger_joint(finger, segment, "")), 8) << finger << " " << segment;
  // In a fist the finger tips come to the palm, in front of it.
  Pose pose = rest_pose(model.scene);
  sample_clip(clip_of(model, "fist"), 3, pose);
  std::vector<Affine3d> world(model.scene.skeleton.size());
  forward_kinematics(model.scene.skeleton, pose.joints, world);
  for (int finger = 1; finger < 5; ++finger) {
    const RigJoint& tip = model.rig[model.rig.at(finger_joint(finger, 3, ""))];
    const Vec3d at = world[to_size(model.rig.at(finger_joint(finger, 3, "")))] * (tip.tail - tip.head);
    EXPECT_LT(at.y(), 0.11) << finger;
    EXPECT_GT(at.z(), 0) << finger;
  }
}

TEST(Models, ArmIsSound) {
  const std::size_t least = entry("arm").least_vertices;
  const BuiltModel model = make_model("arm", {least, {}});
  expect_sound_mesh(model, least, 20);
  expect_sound_clips(model, {"bend", "twist", "fist"});
  EXPECT_GE(vertices_round(model, "little_3"), 8);
  EXPECT_GE(vertices_round(model, "lower_arm"), 8);
  expect_degree_per_frame(model, "bend", "lower_arm", 0, 150, false);
  expect_degree_per_frame(model, "twist", "lower_arm", 0, 150, true);
}

struct FootContact {
  bool down;        ///< heel or ball is on the ground
  double lowest;    ///< height of the lower one
  Vec3d points[2];  ///< heel, ball
};

FootContact contact(const BuiltModel& model, const std::vector<Affine3d>& world, const std::string& suffix) {
  const int foot = model.rig.at("foot" + suffix);
  const Vec3d ankle = model.rig[foot].head, toes = model.rig[model.rig.at("toes" + suffix)].head;
  const Vec3d heel_rest(ankle.x(), 0, ankle.z() - 0.55 * (toes.z() - ankle.z())),
      ball_rest(toes.x(), 0, toes.z());
  const Affine3d& frame = world[to_size(foot)];
  const Vec3d heel = frame * (heel_rest - ankle), ball = frame * (ball_rest - ankle);
  const double lowest = std::min(heel.y(), ball.y());
  return {lowest < 0.004, lowest, {heel, ball}};
}

TEST(Models, MannequinIsSound) {
  if (test::kSanitized) GTEST_SKIP() << "takes minutes here; arm and hand run the same code";
  const std::size_t least = entry("mannequin").least_vertices;
  ASSERT_LE(least, 6866u);
  const BuiltModel model = make_model("mannequin", {least, {}});
  expect_sound_mesh(model, least, 15);
  expect_sound_clips(model, {"bend", "twist", "fist", "crouch", "walk", "run", "jump", "knee", "press"});
  EXPECT_GE(model.rig.size(), 55u);
  for (const char* joint : {"little_2.L", "little_3.L", "little_2.R", "little_3.R", "index_2.L"})
    EXPECT_GE(vertices_round(model, joint), 8) << joint;
  // Edges follow thickness: those of the trunk are several times as long as those of the fingers.
  const SceneMesh& mesh = model.scene.meshes[0];
  const auto mean_edge = [&](std::string_view joint) {
    double sum = 0;
    int count = 0;
    for (const Triangle& t : mesh.surface.triangles)
      if (mesh.weights.row_joints(t[0])[0] == static_cast<std::uint32_t>(model.rig.at(joint))) {
        sum += (mesh.surface.positions[t[0]] - mesh.surface.positions[t[1]]).norm();
        ++count;
      }
    return sum / count;
  };
  EXPECT_GT(mean_edge("spine"), 3 * mean_edge("index_2.L"));
  EXPECT_GT(mean_edge("shin.L"), 1.5 * mean_edge("index_2.L"));
  // Stands on the ground, is as tall as a person, and its joints are symmetric.
  Eigen::AlignedBox3f box;
  for (const Vec3f& p : mesh.surface.positions) box.extend(p);
  EXPECT_NEAR(box.min().y(), 0, 0.006);
  EXPECT_NEAR(box.max().y(), 1.77, 0.04);
  for (const RigJoint& joint : model.rig.joints())
    if (joint.name.ends_with(".L")) {
      const RigJoint& other = model.rig[model.rig.at(joint.name.substr(0, joint.name.size() - 1) + "R")];
      EXPECT_LT((joint.head - Vec3d(-other.head.x(), other.head.y(), other.head.z())).norm(), 1e-12);
    }
  expect_degree_per_frame(model, "bend", "lower_arm.L", 0, 150, false);
  expect_degree_per_frame(model, "bend", "shin.R", 0, 150, false);
  expect_degree_per_frame(model, "twist", "lower_arm.L", -75, 150, true);
  // The other hinges reach their limits.
  Pose bent = rest_pose(model.scene);
  sample_clip(clip_of(model, "bend"), 5, bent);
  for (const char* hinge : {"index_1.L", "index_2.R", "little_3.L", "thumb_3.R", "toes.L", "jaw"}) {
    const int joint = model.rig.at(hinge);
    EXPECT_NEAR(model.rig.angles_of(joint, bent.joints[to_size(joint)].rotation.cast<double>()).flex,
                model.rig[joint].limits.flex.most, 0.05)
        << hinge;
  }

  for (const bool running : {false, true}) {
    SCOPED_TRACE(running ? "run" : "walk");
    const Clip& clip = clip_of(model, running ? "run" : "walk");
    const int frames = frame_count(clip, 30);
    Pose pose = rest_pose(model.scene);
    std::vector<Affine3d> world(model.scene.skeleton.size());
    FootContact last[2] = {};
    int down[2] = {0, 0}, flying = 0, both = 0;
    double travelled = 0;
    for (int frame = 0; frame < frames; ++frame) {
      sample_clip(clip, frame / 30.0, pose);
      forward_kinematics(model.scene.skeleton, pose.joints, world);
      FootContact now[2] = {contact(model, world, ".L"), contact(model, world, ".R")};
      for (int f = 0; f < 2; ++f) {
        EXPECT_GT(now[f].lowest, -0.004) << "foot " << f << " in the ground at frame " << frame;
        if (now[f].down) ++down[f];
        // What is on the ground in two frames stays where it is.
        for (int p = 0; p < 2; ++p)
          if (frame > 0 && now[f].points[p].y() < 0.004 && last[f].points[p].y() < 0.004) {
            EXPECT_LT((now[f].points[p] - last[f].points[p]).norm(), 0.012)
                << "foot " << f << " slides at " << frame;
          }
        last[f] = now[f];
      }
      if (!now[0].down && !now[1].down) ++flying;
      if (now[0].down && now[1].down) ++both;
      travelled = world[0].translation().z();
    }
    for (const int count : down) {
      const double share = static_cast<double>(count) / frames;
      EXPECT_GT(share, running ? 0.25 : 0.55);
      EXPECT_LT(share, running ? 0.5 : 0.72);
    }
    EXPECT_EQ(flying > 0, running);
    EXPECT_EQ(both > 0, !running);
    EXPECT_GT(travelled / (frames / 30.0), running ? 2.0 : 1.0);  // metres per second
  }

  // Crouching: feet stay, hips go down, wrists come to the other side of the chest.
  Pose pose = rest_pose(model.scene);
  sample_clip(clip_of(model, "crouch"), 2, pose);
  std::vector<Affine3d> world(model.scene.skeleton.size());
  forward_kinematics(model.scene.skeleton, pose.joints, world);
  const auto place = [&](std::string_view joint) {
    return Vec3d(world[to_size(model.rig.at(joint))].translation());
  };
  EXPECT_LT(place("hips").y(), 0.5);
  EXPECT_LT((place("foot.L") - model.rig[model.rig.at("foot.L")].head).norm(), 0.09);  // heels lift
  EXPECT_GT(contact(model, world, ".L").lowest, -0.004);
  EXPECT_LT(place("wrist.L").x(), 0);
  EXPECT_GT(place("wrist.R").x(), 0);
  // The jump leaves the ground and comes back to rest.
  double highest = 0;
  pose = rest_pose(model.scene);
  for (int frame = 0; frame < frame_count(clip_of(model, "jump"), 30); ++frame) {
    sample_clip(clip_of(model, "jump"), frame / 30.0, pose);
    forward_kinematics(model.scene.skeleton, pose.joints, world);
    highest = std::max(highest, place("toes.L").y() - model.rig[model.rig.at("toes.L")].head.y());
  }
  EXPECT_GT(highest, 0.2);
  EXPECT_LT((place("wrist.L") - model.rig[model.rig.at("wrist.L")].head).norm(), 0.01);
}

TEST(Models, CatIsSound) {
  if (test::kSanitized) GTEST_SKIP() << "takes minutes here; arm and hand run the same code";
  const std::size_t least = entry("cat").least_vertices;
  const BuiltModel model = make_model("cat", {least, {}});
  expect_sound_mesh(model, least, 15);
  expect_sound_clips(model, {"bend", "twist", "walk", "run", "jump"});
  EXPECT_GE(vertices_round(model, entry("cat").thinnest_limb), 8);
}

TEST(Models, InsectIsSound) {
  if (test::kSanitized) GTEST_SKIP() << "takes minutes here; arm and hand run the same code";
  const std::size_t least = entry("insect").least_vertices;
  const BuiltModel model = make_model("insect", {least, {}});
  expect_sound_mesh(model, least, 15);
  expect_sound_clips(model, {"walk"});
  EXPECT_EQ(model.rig.size(), 33u);
  for (const RigJoint& joint : model.rig.joints())
    if (joint.name.find("_tarsus") != std::string::npos || joint.name.starts_with("antenna_")) {
      EXPECT_GE(vertices_round(model, joint.name), 8) << joint.name;
    }
  Eigen::AlignedBox3f box;
  for (const Vec3f& p : model.scene.meshes[0].surface.positions) box.extend(p);
  EXPECT_NEAR(box.min().y(), 0, 0.001);
  EXPECT_NEAR(box.sizes().z(), 0.35, 0.05);
  for (const RigJoint& joint : model.rig.joints())
    if (joint.name.ends_with(".L")) {
      EXPECT_GT(joint.head.x(), 0);
      const RigJoint& other = model.rig[model.rig.at(joint.name.substr(0, joint.name.size() - 1) + "R")];
      EXPECT_LT((joint.head - Vec3d(-other.head.x(), other.head.y(), other.head.z())).norm(), 1e-12);
      // Mirrored axes: the same angles are the mirrored posture.
      EXPECT_LT((joint.flex - Vec3d(other.flex.x(), -other.flex.y(), -other.flex.z())).norm(), 1e-12)
          << joint.name;
    }

  // A tripod: at any time the three feet of one side's ends and the other's middle are on the ground, and all
  // that are go backwards together. The last frame is the first.
  const Clip& clip = clip_of(model, "walk");
  EXPECT_EQ(frame_count(clip, 30), 25);
  Pose pose = rest_pose(model.scene), first = pose;
  sample_clip(clip, 0, first);
  std::vector<Affine3d> world(model.scene.skeleton.size());
  const std::vector<std::vector<const char*>> tripods{{"fore_tarsus.L", "mid_tarsus.R", "hind_tarsus.L"},
                                                      {"fore_tarsus.R", "mid_tarsus.L", "hind_tarsus.R"}};
  std::vector<double> last(6, 0);
  std::vector<char> was_down(6, 0);
  int steps = 0;
  for (int frame = 0; frame < 25; ++frame) {
    sample_clip(clip, frame / 30.0, pose);
    forward_kinematics(model.scene.skeleton, pose.joints, world);
    bool carried = false;
    double ground = 0;
    for (std::size_t t = 0; t < 2; ++t) {
      int down = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        const auto joint = to_size(model.rig.at(tripods[t][k]));
        const RigJoint& bone = model.rig.joints()[joint];
        const Vec3d tip = world[joint] * (bone.tail - bone.head);
        EXPECT_GT(tip.y(), bone.tail.y() - 0.0005) << tripods[t][k] << " in the ground at " << frame;
        const bool now = tip.y() < bone.tail.y() + 0.0005;
        const std::size_t foot = 3 * t + k;
        if (now && was_down[foot]) {
          const double moved = tip.z() - last[foot];
          if (ground != 0) {
            EXPECT_NEAR(moved, ground, 0.0005) << tripods[t][k] << " slides at " << frame;
          }
          ground = moved;
          EXPECT_LT(moved, 0);
        }
        if (now && !was_down[foot]) ++steps;
        was_down[foot] = now;
        last[foot] = tip.z();
        down += now;
      }
      EXPECT_TRUE(down == 0 || down == 3) << frame;
      carried = carried || down == 3;
    }
    EXPECT_TRUE(carried) << frame;
  }
  EXPECT_GE(steps, 9);  // those down at first, and each foot once more
  for (std::size_t j = 0; j < pose.joints.size(); ++j) {
    EXPECT_LT((pose.joints[j].translation - first.joints[j].translation).norm(), 1e-6f);
    EXPECT_LT(pose.joints[j].rotation.angularDistance(first.joints[j].rotation), 1e-3f);
  }
}

TEST(Models, ProportionsChangeWhatTheySay) {
  if (test::kSanitized) GTEST_SKIP() << "takes minutes here; arm and hand run the same code";
  const BuiltModel plain = make_model("arm", {1500, {}});
  Proportions wanted;
  wanted.arm = 1.4;
  const BuiltModel longer = make_model("arm", {1900, wanted});
  const auto length = [](const BuiltModel& model) {
    const RigJoint& bone = model.rig[model.rig.at("upper_arm")];
    return (bone.tail - bone.head).norm();
  };
  EXPECT_NEAR(length(longer), 1.4 * length(plain), 1e-9);
  wanted = {};
  wanted.girth = 1.3;
  const BuiltModel thicker = make_model("arm", {1900, wanted});
  EXPECT_NEAR(length(thicker), length(plain), 1e-9);
  const double ratio = enclosed_volume(thicker.scene.meshes[0].surface.view()) /
                       enclosed_volume(plain.scene.meshes[0].surface.view());
  EXPECT_GT(ratio, 1.4);
  EXPECT_LT(ratio, 1.9);
  for (const double extreme : {0.5, 2.0})
    expect_sound_mesh(make_model("hand", {4000, {extreme, extreme, extreme, extreme}}), 4000, 15);
  expect_sound_mesh(make_model("hand", {4000, {2, 1, 1, 0.5}}), 4000, 15);
  expect_sound_mesh(make_model("tube", {900, {2, 1, 1, 0.5}}), 900, 15);
  expect_sound_mesh(make_model("arm", {6000, {2, 1, 1, 0.5}}), 6000, 15);
  for (const Proportions& mixed :
       {Proportions{1, 1, 1, 0.7}, {1, 1, 1, 2}, {2, 0.5, 1.5, 1}, {0.5, 2, 0.5, 1}})
    expect_sound_mesh(make_model("mannequin", {16'000, mixed}), 16'000, 12, false);
  expect_sound_mesh(make_model("cat", {12'000, {0.5, 2, 2, 0.8}}), 12'000, 12, false);
  expect_sound_mesh(make_model("insect", {26'000, {2, 0.5, 2, 2}}), 26'000, 12, false);
  expect_sound_mesh(make_model("insect", {26'000, {0.5, 2, 0.5, 0.5}}), 26'000, 12, false);
}

TEST(Models, AreTheSameEveryTime) {
  if (test::kSanitized) GTEST_SKIP() << "two hands more; others are made here";
  const BuiltModel a = make_model("hand", {1000, {}}), b = make_model("hand", {1000, {}});
  EXPECT_EQ(a.scene.meshes, b.scene.meshes);
}

TEST(Models, RefuseWhatTheyCannotMake) {
  EXPECT_THROW(make_model("dog"), Error);
  EXPECT_THROW(make_model("hand", {entry("hand").least_vertices - 1, {}}), Error);
  EXPECT_THROW(make_model("hand", {kMostModelVertices + 1, {}}), Error);
  for (const double bad : {0.49, 2.01, -1.0, std::nan("")}) {
    EXPECT_THROW(make_model("hand", {1000, {bad, 1, 1, 1}}), Error);
    EXPECT_THROW(make_model("hand", {1000, {1, bad, 1, 1}}), Error);
    EXPECT_THROW(make_model("hand", {1000, {1, 1, bad, 1}}), Error);
    EXPECT_THROW(make_model("hand", {1000, {1, 1, 1, bad}}), Error);
  }
  EXPECT_THROW(make_model("hand", {1000, {}}, [](double) { return false; }), Cancelled);
}

}  // namespace
}  // namespace sinew
