#include <sinew/layers/implicit_layer.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <tbb/task_arena.h>
#include <Eigen/LU>

#include <sinew/character/performer.h>
#include <sinew/character/rest_joints.h>
#include <sinew/core/error.h>
#include <sinew/core/parallel.h>
#include <sinew/geometry/limb_radius.h>
#include <sinew/geometry/topology.h>
#include <sinew/layers/character_hinges.h>
#include <sinew/layers/field_layer.h>
#include <sinew/measure/daylight.h>
#include <sinew/measure/flips.h>
#include <sinew/measure/joint_volume.h>
#include <sinew/measure/surface_ruler.h>
#include <sinew/models/models.h>

#include "tests/support/assets.h"
#include "tests/support/grid_tube.h"
#include "tests/support/meshes.h"
#include "tests/support/one_joint.h"
#include "tests/support/sanitized.h"
#include "tests/support/shared_models.h"

namespace sinew {
namespace {

constexpr float kRadius = 0.2f;  // of the grid tube

std::shared_ptr<const Character> make_character(const Scene& scene, const std::string& settings = "",
                                                const std::string& skin = "dqs") {
  return Character::make(
      scene, parse_recipe(R"({"normals": false, "layers": [")" + skin + R"(", {"method": "implicit")" +
                              (settings.empty() ? "" : ", " + settings) + "}]}",
                          "test"));
}

std::shared_ptr<const Character> skin_only(const Scene& scene, const std::string& skin = "dqs") {
  return Character::make(scene, parse_recipe(R"({"normals": false, "layers": [")" + skin + "\"]}", "test"));
}

Scene tube_scene(int rings = test::kSanitized ? 32 : 40, int segments = test::kSanitized ? 16 : 24) {
  test::GridTubeOptions options;
  options.rings = rings;
  options.segments = segments;
  return test::make_grid_tube(options);
}

Pose turned(const Character& character, std::size_t joint, double degrees, const Vec3f& axis) {
  Pose pose = character.rest_pose();
  const auto radians = static_cast<float>(degrees * std::numbers::pi / 180);
  pose.joints[joint].rotation = pose.joints[joint].rotation * Quatf(Eigen::AngleAxisf(radians, axis));
  return pose;
}

Pose bent(const Character& character, double degrees) {
  return turned(character, 1, degrees, Vec3f::UnitZ());
}

std::vector<Vec3f> perform(const std::shared_ptr<const Character>& character, const Pose& pose) {
  Performer performer(character);
  performer.perform(pose);
  return {performer.welded_positions().begin(), performer.welded_positions().end()};
}

std::span<const SkinMark> marks_of(const Performer& performer) {
  std::size_t number = 0;
  const FieldLayer* layer = find_field_layer(performer.character(), &number);
  EXPECT_NE(layer, nullptr);
  return layer->marks(*performer.layer_state(number));
}

float size_of(std::span<const Vec3f> points) {
  Eigen::AlignedBox3f box;
  for (const Vec3f& p : points) box.extend(p);
  return box.diagonal().norm();
}

float largest_difference(std::span<const Vec3f> a, std::span<const Vec3f> b) {
  EXPECT_EQ(a.size(), b.size());
  float largest = 0;
  for (std::size_t v = 0; v < a.size(); ++v) {
    if (!((a[v] - b[v]).norm() <= largest)) largest = (a[v] - b[v]).norm();
  }
  return largest;
}

/// A built-in character with as few vertices as it can have.
Scene small_model(std::string_view name) {
  ModelOptions options;
  for (const Model& model : models())
    if (model.name == name) options.vertices = model.least_vertices;
  return test::shared_model(name, options).scene;
}

/// The rest, and the rest carried along by the roots, come out as they went in.
void expect_rest(const Scene& scene, const std::string& name) {
  const auto character = make_character(scene);
  EXPECT_EQ(character->layers()[1]->idle_because(), "") << name;
  const float size = size_of(character->rest());
  const std::vector<Vec3f> at_rest = perform(skin_only(scene), character->rest_pose());
  EXPECT_LT(largest_difference(perform(character, character->rest_pose()), at_rest), 1e-5f * size) << name;

  Pose pose = character->rest_pose();
  for (std::size_t j = 0; j < pose.joints.size(); ++j) {
    if (character->skeleton().joints[j].parent >= 0) continue;
    Transform& root = pose.joints[j];
    const Quatf turn(Eigen::AngleAxisf(2, Vec3f(1, -2, 3).normalized()));
    root.translation = turn * (1.5f * root.translation) + Vec3f(0.7f, -0.3f, 1) * size;
    root.rotation = turn * root.rotation;
    root.scale *= 1.5f;
  }
  const std::vector<Vec3f> moved = perform(skin_only(scene), pose);
  EXPECT_GT(largest_difference(moved, at_rest), 0.5f * size);
  EXPECT_LT(largest_difference(perform(character, pose), moved), 3e-5f * size) << name;
}

TEST(ImplicitLayer, RestIsKeptWhereverTheCharacterStands) {
  expect_rest(tube_scene(), "grid tube");
  if (test::kSanitized) return;
  expect_rest(small_model("tube"), "tube");
}

TEST(ImplicitLayer, RestOfAnArmIsKept) {
  if (test::kSanitized) GTEST_SKIP() << "too slow here";
  // All its vertices: many fields cover the palm, and some vertex is where two oppose each other.
  expect_rest(test::shared_model("arm").scene, "arm");
}

TEST(ImplicitLayer, RestOfAHandIsKept) {
  if (test::kSanitized) GTEST_SKIP() << "too slow here";
  expect_rest(small_model("hand"), "hand");
}

TEST(ImplicitLayer, RestOfARealCharacterIsKept) {
  if (test::kSanitized) GTEST_SKIP() << "too slow here";
  const auto path = test::asset("human.glb");
  if (!path) GTEST_SKIP() << test::missing_asset("human.glb");
  expect_rest(read_scene(*path), "human");
}

TEST(ImplicitLayer, JointsWithoutSkinMoveNothing) {
  const Scene scene = tube_scene();
  const auto character = make_character(scene);
  Pose pose = turned(*character, 2, 70, Vec3f::UnitY());
  EXPECT_TRUE(perform(character, pose) == perform(character, character->rest_pose()));
  pose.joints.resize(9);  // and some that there are not
  pose.joints[8].translation = {1, 2, 3};
  EXPECT_TRUE(perform(character, pose) == perform(character, character->rest_pose()));
}

TEST(ImplicitLayer, ABentTubeMeetsItselfInsteadOfOverlapping) {
  const Scene scene = tube_scene();
  const auto character = make_character(scene), plain = skin_only(scene);
  const SurfaceRuler ruler({character->rest(), character->triangles()}, character->skin_weights());
  const auto measure = [&](const std::shared_ptr<const Character>& c, double degrees) {
    Performer performer(c);
    performer.perform(bent(*c, degrees));
    return ruler.measure(performer.welded_positions(), performer.posed_from_rest());
  };
  const SurfaceMeasurements mild = measure(character, 60);
  EXPECT_EQ(mild.intersecting_pairs, 0u);
  EXPECT_EQ(mild.flipped_triangles, 0u);
  EXPECT_GT(mild.volume_ratio, 0.95);
  EXPECT_LT(mild.volume_ratio, 1.08);
  // A right angle: dual quaternions do not overlap yet, and next to nothing may here.
  const SurfaceMeasurements right = measure(character, 90);
  EXPECT_LT(right.overlap.total(), 1e-5 * right.volume);
  EXPECT_LT(right.depth.largest, 0.05 * kRadius);
  for (const double degrees : {130.0, 140.0}) {
    const SurfaceMeasurements before = measure(plain, degrees), after = measure(character, degrees);
    EXPECT_GT(before.overlap.total(), 1e-4);
    EXPECT_LT(after.overlap.total(), 0.1 * before.overlap.total()) << degrees;
    EXPECT_LT(after.depth.largest, (degrees > 130 ? 0.2 : 0.1) * before.depth.largest) << degrees;
    EXPECT_LT(after.new_buried_vertices, before.new_buried_vertices / 10) << degrees;
    EXPECT_GT(after.volume_ratio, 0.9);
  }
}

Pose sampled(const Character& character, const Scene& scene, std::string_view clip, double seconds) {
  Pose pose = character.rest_pose();
  for (const Clip& candidate : scene.clips)
    if (candidate.name == clip) {
      sample_clip(candidate, seconds, pose);
      return pose;
    }
  ADD_FAILURE() << "no clip " << clip;
  return pose;
}

/// A fiftieth of the overlap and a share of the depth that dual quaternions have.
void expect_contact(const Scene& scene, std::string_view clip, double seconds, double depth = 0.25) {
  const auto character = make_character(scene), plain = skin_only(scene);
  const SurfaceRuler ruler({character->rest(), character->triangles()}, character->skin_weights());
  const Pose pose = sampled(*character, scene, clip, seconds);
  Performer before(plain), after(character);
  before.perform(pose), after.perform(pose);
  const SurfaceMeasurements was = ruler.measure(before.welded_positions(), before.posed_from_rest());
  const SurfaceMeasurements is = ruler.measure(after.welded_positions(), after.posed_from_rest());
  ASSERT_GT(was.new_overlap_volume, 0) << clip;
  EXPECT_LT(is.new_overlap_volume, 0.02 * was.new_overlap_volume) << clip << " " << seconds;
  EXPECT_LT(is.depth.largest, depth * was.depth.largest) << clip << " " << seconds;
}

// A soft part gives way to another one, which does not: the contact moves into it.
TEST(ImplicitLayer, SoftPartsGiveWay) {
  const Scene scene = tube_scene();
  const auto plain = skin_only(scene);
  const std::vector<Vec3f> before = perform(plain, bent(*plain, 140));
  const auto moved = [&](const std::string& settings, int joint) {
    const auto character = make_character(scene, settings + R"(, "volume_correction": 0)");
    const std::vector<Vec3f> after = perform(character, bent(*character, 140));
    float most = 0;
    for (std::size_t v = 0; v < after.size(); ++v)
      if (character->bindings()[character->skin_weights().row_joints(v)[0]].joint == joint)
        most = std::max(most, (after[v] - before[v]).norm());
    return most;
  };
  const std::string lower = scene.skeleton.joints[0].name;
  const std::string even = R"("softness": [])",
                    soft = R"("softness": [{"joint": ")" + lower + R"(", "softness": 1}])";
  EXPECT_NEAR(moved(even, 0), moved(even, 1), 0.25f * moved(even, 0));
  EXPECT_GT(moved(soft, 0), 1.5f * moved(even, 0));
  EXPECT_LT(moved(soft, 1), 0.5f * moved(even, 1));
  EXPECT_THROW(make_character(scene, R"("softness": [{"joint": "*", "softness": 1.5}])"), Error);
}

/// Light that comes through a joint bent on top of the rest, where dual quaternions stop it.
std::size_t light_through(const Scene& scene, const std::string& joint, double degrees, const Vec3f& axis) {
  const auto character = make_character(scene), plain = skin_only(scene);
  std::size_t number = 0;
  while (scene.skeleton.joints.at(number).name != joint) ++number;
  std::size_t binding = 0;
  while (character->bindings()[binding].joint != static_cast<int>(number)) ++binding;
  const Pose pose = turned(*character, number, degrees, axis);
  Performer before(plain), after(character);
  before.perform(pose), after.perform(pose);
  const Vec3d at = character->rest_joints().place(binding);
  const SurfaceRuler ruler({character->rest(), character->triangles()}, character->shared_skin_weights());
  std::vector<std::pair<float, double>> near;
  for (std::size_t v = 0; v < character->rest().size(); ++v)
    near.push_back({(character->rest()[v] - at.cast<float>()).norm(), ruler.limb_radius()[v]});
  std::nth_element(near.begin(), near.begin() + 30, near.end());
  const Vec3f place = (after.posed_from_rest()[binding] * at).cast<float>();
  const SurfaceQuery was({before.welded_positions(), plain->triangles()}),
      is({after.welded_positions(), character->triangles()});
  EXPECT_GT(ruler.newly_buried(before.welded_positions()).size(), 10u) << joint << " does not fold";
  return find_daylight(was, is, place, 2 * static_cast<float>(near[30].second)).size();
}

TEST(ImplicitLayer, FoldsLetNoLightThrough) {
  if (test::kSanitized) GTEST_SKIP() << "too slow here";
  ModelOptions coarse;
  coarse.vertices = 6866;
  const Scene mannequin = test::shared_model("mannequin", coarse).scene;
  for (const double degrees : {120.0, 150.0}) {
    EXPECT_EQ(light_through(mannequin, "lower_arm.L", degrees, Vec3f::UnitZ()), 0u) << degrees;
    EXPECT_EQ(light_through(mannequin, "shin.L", degrees, Vec3f::UnitX()), 0u) << degrees;
    EXPECT_EQ(light_through(mannequin, "thigh.L", degrees, -Vec3f::UnitX()), 0u) << degrees;
    // The arm ends up in the chest: its outline there is another one.
    EXPECT_LE(light_through(mannequin, "upper_arm.L", degrees, -Vec3f::UnitY()), 40u) << degrees;
  }
  const auto path = test::asset("human.glb");
  if (!path) GTEST_SKIP() << test::missing_asset("human.glb");
  const Scene human = read_scene(*path);
  for (const double degrees : {120.0, 150.0}) {
    EXPECT_EQ(light_through(human, "lowerarm_l", degrees, -Vec3f::UnitZ()), 0u) << degrees;
    // At 150° the coarse calf leaves a slit at the end of the fold, through which DQS lets no light.
    EXPECT_LE(light_through(human, "calf_l", degrees, Vec3f::UnitX()), degrees > 120 ? 120u : 0u) << degrees;
    EXPECT_EQ(light_through(human, "thigh_l", degrees, -Vec3f::UnitX()), 0u) << degrees;
  }
}

TEST(ImplicitLayer, AnElbowFoldsIntoContact) {
  if (test::kSanitized) GTEST_SKIP() << "too slow here";
  const Scene arm = test::shared_model("arm").scene;
  for (const double seconds : {4.0, 5.0}) expect_contact(arm, "bend", seconds);
}

TEST(ImplicitLayer, AnElbowFoldsCleanly) {
  if (test::kSanitized) GTEST_SKIP() << "too slow here";
  const Scene arm = test::shared_model("arm").scene;
  const auto character = make_character(arm), plain = skin_only(arm);
  const SurfaceRuler ruler({character->rest(), character->triangles()}, character->skin_weights());
  const Pose pose = sampled(*character, arm, "bend", 120 / 30.0);
  Performer before(plain), after(character);
  before.perform(pose), after.perform(pose);
  const SurfaceMeasurements was = ruler.measure(before.welded_positions(), before.posed_from_rest());
  const SurfaceMeasurements is = ruler.measure(after.welded_positions(), after.posed_from_rest());
  ASSERT_TRUE(is.pairs_known);
  EXPECT_GT(was.intersecting_pairs, 60u);
  EXPECT_LT(is.intersecting_pairs, was.intersecting_pairs / 2);
  EXPECT_LE(is.flipped_triangles, was.flipped_triangles);
  EXPECT_LT(is.buried_vertices, was.buried_vertices / 5);
}

TEST(ImplicitLayer, AnElbowKeepsItsVolume) {
  if (test::kSanitized) GTEST_SKIP() << "too slow here";
  const Scene arm = test::shared_model("arm").scene;
  // Dual quaternions swell elbows enough already; linear blending loses volume.
  const auto filled = make_character(arm, "", "lbs"),
             half = make_character(arm, R"("volume_correction": 0.5)", "lbs"),
             empty = make_character(arm, R"("volume_correction": 0)", "lbs");
  const std::vector<Hinge> hinges = find_hinges(*filled);
  const auto elbow = std::find_if(hinges.begin(), hinges.end(),
                                  [](const Hinge& hinge) { return hinge.name == "lower_arm"; });
  ASSERT_NE(elbow, hinges.end());
  const MeshView rest{filled->rest(), filled->triangles()};
  const std::vector<double> radius =
      limb_radius(rest, connected_components(rest.positions.size(), rest.triangles).of_triangle);
  const JointVolumeMeter meter(rest, filled->skin_weights(), radius, hinges);
  const auto ratio = [&](std::span<const Vec3f> positions) {
    const std::vector<std::uint32_t> asked{static_cast<std::uint32_t>(elbow - hinges.begin())};
    const std::vector<JointVolume> volumes = meter.measure(positions, asked);
    EXPECT_EQ(volumes.size(), 1u);
    return volumes.empty() ? 0 : volumes[0].ratio;
  };
  const Pose pose = sampled(*filled, arm, "bend", 80 / 30.0);
  const std::vector<Vec3f> with = perform(filled, pose), without = perform(empty, pose);
  const double lost = 1 - ratio(without);
  EXPECT_GT(lost, 0.05);
  EXPECT_NEAR(ratio(with), 1, 0.02);
  EXPECT_NEAR(ratio(perform(half, pose)), 1 - lost / 2, 0.1 * lost);
  // Skin elsewhere has nothing to do with it.
  const double reach = 1.5 * meter.radius(static_cast<std::uint32_t>(elbow - hinges.begin()));
  for (std::size_t v = 0; v < with.size(); ++v)
    if ((rest.positions[v].cast<double>() - elbow->position).norm() > reach)
      ASSERT_EQ(with[v], without[v]) << rest.positions[v].transpose();
}

TEST(ImplicitLayer, AFistFoldsIntoContact) {
  if (test::kSanitized) GTEST_SKIP() << "too slow here";
  const Scene hand = test::shared_model("hand").scene;
  for (const double seconds : {2.0, 2.5}) expect_contact(hand, "fist", seconds);
}

TEST(ImplicitLayer, ARealCharacterFoldsIntoContact) {
  if (test::kSanitized) GTEST_SKIP() << "too slow here";
  const auto path = test::asset("human.glb");
  if (!path) GTEST_SKIP() << test::missing_asset("human.glb");
  const Scene human = read_scene(*path);
  for (const double seconds : {1.7, 1.95}) expect_contact(human, "bend", seconds);
  expect_contact(human, "crouch", 1.4, 0.5);  // a thumb touches
}

TEST(ImplicitLayer, FleshGivesWayRoundBonesThatAPosePutsIntoIt) {
  if (test::kSanitized) GTEST_SKIP() << "too slow here";
  const auto path = test::asset("human.glb");
  if (!path) GTEST_SKIP() << test::missing_asset("human.glb");
  const Scene human = read_scene(*path);
  const auto plain = skin_only(human), contact = make_character(human);
  const SurfaceRuler ruler({plain->rest(), plain->triangles()}, plain->skin_weights());
  // A hand goes into the other arm, thumb first.
  for (const double seconds : {1.7, 1.8, 1.96}) {
    const Pose pose = sampled(*plain, human, "crouch", seconds);
    const auto measure = [&](const std::shared_ptr<const Character>& character) {
      Performer performer(character);
      performer.perform(pose);
      return ruler.measure(performer.welded_positions(), performer.posed_from_rest());
    };
    const SurfaceMeasurements dqs = measure(plain), with = measure(contact);
    EXPECT_GT(dqs.new_overlap_volume, 1e-5) << seconds;
    // Hands are harder than arms: what the arm's coarser skin cannot follow stays.
    EXPECT_LT(with.new_overlap_volume, 0.07 * dqs.new_overlap_volume) << seconds;
    EXPECT_LT(with.depth.largest, 0.85 * dqs.depth.largest) << seconds;
  }
}

/// Steps of vertices between two poses that are a hundredth of a frame apart, beyond what the skin before
/// does, and how many of them are jumps: more than a given length.
struct Jumps {
  std::size_t steps = 0, jumps = 0;
  float largest = 0;
};

Jumps slow_motion(const Scene& scene, std::string_view clip, double first, double every, int poses,
                  float jump, double step_seconds = 1 / 3000.0) {
  const auto character = make_character(scene), plain = skin_only(scene);
  Jumps result;
  for (int pose_number = 0; pose_number < poses; ++pose_number) {
    const double seconds = first + every * pose_number;
    std::vector<Vec3f> moved[2];
    for (int k = 0; k < 2; ++k) {
      const Pose pose = sampled(*character, scene, clip, seconds + k * step_seconds);
      moved[k] = perform(character, pose);
      const std::vector<Vec3f> before = perform(plain, pose);
      for (std::size_t v = 0; v < before.size(); ++v) moved[k][v] -= before[v];
    }
    for (std::size_t v = 0; v < moved[0].size(); ++v) {
      const float step = (moved[1][v] - moved[0][v]).norm();
      result.jumps += step > jump;
      result.largest = std::max(result.largest, step);
      ++result.steps;
    }
  }
  return result;
}

TEST(ImplicitLayer, NothingJumpsInSlowMotion) {
  if (test::kSanitized) GTEST_SKIP() << "too slow here";
  // A twentieth of a finger's and of a forearm's radius.
  const Jumps fist = slow_motion(test::shared_model("hand").scene, "fist", 1, 0.5, 5, 0.0004f);
  EXPECT_LE(fist.jumps, fist.steps / 5000) << fist.largest;
  EXPECT_LT(fist.largest, 0.004f);
  const auto path = test::asset("human.glb");
  if (!path) GTEST_SKIP() << test::missing_asset("human.glb");
  const Scene human = read_scene(*path);
  const Jumps bend = slow_motion(human, "bend", 1, 0.1, 10, 0.002f);
  EXPECT_LE(bend.jumps, bend.steps / 10000) << bend.largest;
  EXPECT_LT(bend.largest, 0.01f);
  // In `crouch` hands that the pose leads through an arm change sides within a few frames: fast, but they are
  // seen on the way, so a tenth of the time brings a tenth of it.
  const Jumps crouch = slow_motion(human, "crouch", 1, 0.1, 10, 0.002f);
  EXPECT_LE(crouch.jumps, crouch.steps / 1000) << crouch.largest;
  EXPECT_LT(crouch.largest, 0.01f);
  const Jumps slower = slow_motion(human, "crouch", 1, 0.1, 10, 0.0005f, 1 / 30000.0);
  EXPECT_LE(slower.jumps, slower.steps / 10000) << slower.largest;
  EXPECT_LT(slower.largest, 0.002f);
}

TEST(ImplicitLayer, TheBackOfAClenchedHandStaysSmooth) {
  if (test::kSanitized) GTEST_SKIP() << "too slow here";
  // Nothing touches it: there skin is where dual quaternions put it. By the heaviest bone's field alone the
  // bones of the palm met each other there.
  const Scene hand = test::shared_model("hand").scene;
  const auto character = make_character(hand), plain = skin_only(hand);
  Performer performer(character), skin(plain);
  const Pose pose = sampled(*character, hand, "fist", 2.1);
  performer.perform(pose);
  skin.perform(pose);
  float farthest = 0;
  int count = 0;
  for (std::size_t v = 0; v < character->rest().size(); ++v) {
    const Vec3f& rest = character->rest()[v];
    if (!(rest.z() < -0.013f && rest.y() > 0.03f && rest.y() < 0.07f && std::abs(rest.x()) < 0.03f)) continue;
    ++count;
    farthest = std::max(farthest, (performer.welded_positions()[v] - skin.welded_positions()[v]).norm());
  }
  EXPECT_GT(count, 500);
  EXPECT_LT(farthest, 0.0004f);
}

TEST(ImplicitLayer, ATwistedForearmHasNoFlippedTriangles) {
  const auto path = test::asset("human.glb");
  if (!path) GTEST_SKIP() << test::missing_asset("human.glb");
  const Scene human = read_scene(*path);
  const auto flips = [&](const std::shared_ptr<const Character>& character, double seconds) {
    Performer performer(character);
    performer.perform(sampled(*character, human, "twist", seconds));
    return flipped_triangles({character->rest(), character->triangles()}, performer.welded_positions(),
                             character->skin_weights(), performer.posed_from_rest())
        .size();
  };
  const auto character = make_character(human), plain = skin_only(human);
  for (const double seconds : {1.8, 55 / 30.0, 59 / 30.0}) {
    EXPECT_GT(flips(plain, seconds), 15u);
    EXPECT_LT(flips(character, seconds), 5u) << seconds;
  }
}

/// No more triangles are flipped than dual quaternions flip.
void expect_upright(const Scene& scene, const std::string& clip, std::initializer_list<double> all_seconds) {
  const auto character = make_character(scene), plain = skin_only(scene);
  const SurfaceRuler ruler({character->rest(), character->triangles()}, character->skin_weights());
  const auto measure = [&](const std::shared_ptr<const Character>& of, double seconds) {
    Performer performer(of);
    performer.perform(sampled(*character, scene, clip, seconds));
    return ruler.measure(performer.welded_positions(), performer.posed_from_rest());
  };
  for (const double seconds : all_seconds) {
    const SurfaceMeasurements was = measure(plain, seconds), is = measure(character, seconds);
    EXPECT_LE(is.flipped_triangles, was.flipped_triangles) << clip << " " << seconds;
  }
}

TEST(ImplicitLayer, AFistHasFewFlippedTriangles) {
  if (test::kSanitized) GTEST_SKIP() << "too slow here";
  expect_upright(test::shared_model("hand").scene, "fist", {2.6, 2.8, 3.0});
}

TEST(ImplicitLayer, ARealGroinHasFewFlippedTriangles) {
  if (test::kSanitized) GTEST_SKIP() << "too slow here";
  const auto path = test::asset("human.glb");
  if (!path) GTEST_SKIP() << test::missing_asset("human.glb");
  expect_upright(read_scene(*path), "crouch", {50 / 30.0, 55 / 30.0, 59 / 30.0});
}

TEST(ImplicitLayer, ATwistedTubeStaysRound) {
  const Scene scene = tube_scene();
  for (const char* skin : {"dqs", "lbs"}) {
    const auto character = make_character(scene, R"("operator": "union")", skin),
               plain = skin_only(scene, skin);
    const auto thinnest = [&](std::span<const Vec3f> posed, float& thickest) {
      float least = 1;
      thickest = 0;
      for (std::size_t v = 0; v + 2 < posed.size(); ++v) {
        if (std::abs(character->rest()[v].x()) > 0.8f) continue;
        const float radius = Vec3f(0, posed[v].y(), posed[v].z()).norm();
        least = std::min(least, radius), thickest = std::max(thickest, radius);
      }
      return least;
    };
    float thickest = 0;
    const bool wrapper = std::string(skin) == "lbs";
    const Pose pose = turned(*character, 1, wrapper ? 100 : 150, Vec3f::UnitX());
    const float before = thinnest(perform(plain, pose), thickest);
    const float after = thinnest(perform(character, pose), thickest);
    if (wrapper) {
      EXPECT_LT(before, 0.75f * kRadius);
      EXPECT_GT(after, before + 0.5f * (kRadius - before));  // linear blending's candy wrapper is mended
    } else {
      EXPECT_GT(after, 0.97f * kRadius);
    }
    EXPECT_LT(thickest, 1.06f * kRadius) << skin;
  }
}

TEST(ImplicitLayer, MarksSayWhatHappened) {
  const Scene scene = tube_scene();
  Performer performer(make_character(scene));
  performer.perform(performer.character().rest_pose());
  for (const SkinMark mark : marks_of(performer)) ASSERT_EQ(mark, SkinMark::still);
  performer.perform(bent(performer.character(), 130));
  std::size_t in_contact = 0;
  ASSERT_EQ(marks_of(performer).size(), performer.character().rest().size());
  for (std::size_t v = 0; v < marks_of(performer).size(); ++v) {
    if (marks_of(performer)[v] < SkinMark::contact) continue;
    ++in_contact;
    const Vec3f rest = performer.character().rest()[v];
    EXPECT_GT(rest.y(), -1e-6f) << rest.transpose();  // not on the outer side of the bend
    EXPECT_LT(std::abs(rest.x()), 3.1f * kRadius) << rest.transpose();
  }
  EXPECT_GT(in_contact, 8u);
  EXPECT_LT(in_contact, marks_of(performer).size() / 4);
  performer.perform(performer.character().rest_pose());
  for (const SkinMark mark : marks_of(performer)) ASSERT_EQ(mark, SkinMark::still);
}

TEST(ImplicitLayer, FramesDoNotDependOnEarlierOnesNorOnOtherPerformers) {
  const auto character = make_character(tube_scene());
  EXPECT_FALSE(character->has_history());
  constexpr std::size_t kPerformers = 6;
  std::vector<std::vector<Vec3f>> alone;
  for (std::size_t i = 0; i < kPerformers; ++i)
    alone.push_back(perform(character, bent(*character, 25.0 * static_cast<double>(i))));
  Performer one(character), other(character);
  for (std::size_t i = 0; i < kPerformers; ++i) {
    one.perform(bent(*character, 25.0 * static_cast<double>(i)));
    other.perform(bent(*character, 25.0 * static_cast<double>(kPerformers - 1 - i)));
    EXPECT_TRUE(std::equal(alone[i].begin(), alone[i].end(), one.welded_positions().begin())) << i;
    EXPECT_TRUE(std::equal(alone[kPerformers - 1 - i].begin(), alone[kPerformers - 1 - i].end(),
                           other.welded_positions().begin()))
        << i;
  }
  std::vector<Performer> performers;
  for (std::size_t i = 0; i < kPerformers; ++i) performers.emplace_back(character);
  std::vector<std::vector<Vec3f>> together(kPerformers);
  tbb::task_arena(4).execute([&] {
    parallel_blocks(kPerformers, 1, [&](std::size_t i, std::size_t) {
      const Pose pose = bent(*character, 25.0 * static_cast<double>(i));
      for (int frame = 0; frame < 2; ++frame) performers[i].perform(pose);
      together[i].assign(performers[i].welded_positions().begin(), performers[i].welded_positions().end());
    });
  });
  for (std::size_t i = 0; i < kPerformers; ++i) EXPECT_TRUE(alone[i] == together[i]) << i;
}

/// The tube in a sleeve, with a ball in its upper half.
Scene dressed_tube() {
  Scene scene = tube_scene(32, 16);
  const auto add = [&](const char* name, Mesh surface, auto upper_weight) {
    SceneMesh mesh;
    mesh.name = name;
    mesh.skin = 0;
    WeightRepairs repairs;
    for (const Vec3f& p : surface.positions) {
      const float upper = upper_weight(p);
      Influence row[2] = {{0, 1 - upper}, {1, upper}};
      append_row(mesh.weights, row, 0, repairs);
    }
    mesh.surface = std::move(surface);
    scene.meshes.insert(scene.meshes.begin(), std::move(mesh));  // the largest need not be the first
    scene.mesh_nodes.push_back(-1);
  };
  Mesh sleeve = test::make_tube(16, 20, 1.15f * kRadius, 1);
  for (Vec3f& p : sleeve.positions) p = {0.5f - p.y(), p.x(), p.z()};
  add("sleeve", std::move(sleeve), [](const Vec3f& p) {
    const float x = std::clamp(0.5f + p.x() / 0.8f, 0.0f, 1.0f);
    return x * x * (3 - 2 * x);
  });
  add("eye", test::moved(test::make_icosphere(1, 0.04f), {0.5f, 0.05f, 0}),
      [](const Vec3f&) { return 1.0f; });
  check_scene(scene);
  return scene;
}

TEST(ImplicitLayer, WhatOverlapsAtRestStaysAsItIsInAnySize) {
  expect_rest(dressed_tube(), "dressed tube");
}

TEST(ImplicitLayer, EyesAndSleevesFollowTheBody) {
  const Scene scene = dressed_tube();
  const auto character = make_character(scene);
  Performer performer(character);
  ASSERT_EQ(scene.meshes[0].name, "eye");
  performer.perform(character->rest_pose());
  EXPECT_LT(largest_difference(performer.welded_positions(), character->rest()), 1e-5f);
  for (const double degrees : {50.0, 90.0}) {
    performer.perform(bent(*character, degrees));
    // The eye is as stiff as the bone that carries it.
    const auto turn = Eigen::AngleAxisf(static_cast<float>(degrees * std::numbers::pi / 180), Vec3f::UnitZ());
    for (std::size_t v = 0; v < scene.meshes[0].surface.positions.size(); ++v)
      EXPECT_LT((performer.positions(0)[v] - turn * scene.meshes[0].surface.positions[v]).norm(),
                0.02f * kRadius);
    // The sleeve neither sinks into the body nor leaves it, but where it is folded.
    for (std::size_t v = 0; v < scene.meshes[1].surface.positions.size(); ++v) {
      const Vec3f rest = scene.meshes[1].surface.positions[v];
      if (rest.y() > 0.3f * kRadius) continue;
      float nearest = 1;
      for (const Vec3f& p : performer.positions(2))
        nearest = std::min(nearest, (performer.positions(1)[v] - p).norm());
      EXPECT_GT(nearest, 0.05f * kRadius) << degrees << ": " << rest.transpose();
      EXPECT_LT(nearest, 0.6f * kRadius) << degrees << ": " << rest.transpose();
    }
  }
  performer.perform(bent(*character, 140));
  for (const Vec3f& p : performer.welded_positions()) ASSERT_TRUE(p.allFinite());
}

TEST(ImplicitLayer, IdleWithoutTwoBonesThatHaveSkin) {
  // All skin on one bone.
  Scene scene = tube_scene(12, 8);
  test::bind_to_first_joint(scene.meshes[0]);
  const auto one = make_character(scene);
  EXPECT_NE(one->layers()[1]->idle_because(), "");
  EXPECT_LT(largest_difference(perform(one, bent(*one, 90)), perform(skin_only(scene), bent(*one, 90))),
            1e-5f);
  // No skin at all: the mesh hangs on a joint.
  scene = tube_scene(12, 8);
  scene.meshes[0].skin = -1;
  scene.meshes[0].weights = {};
  scene.meshes[0].joint = 1;
  scene.skins.clear();
  for (Joint& joint : scene.skeleton.joints) joint.deforms = false;
  const auto none = make_character(scene);
  EXPECT_NE(none->layers()[1]->idle_because(), "");
  EXPECT_TRUE(perform(none, bent(*none, 90)) == perform(skin_only(scene), bent(*none, 90)));
  EXPECT_EQ(find_field_layer(*skin_only(scene)), nullptr);
  // A single joint.
  scene = tube_scene(12, 8);
  scene.skeleton.joints.resize(1);
  scene.skins[0].joints.resize(1);
  scene.skins[0].joint_from_mesh.resize(1);
  test::bind_to_first_joint(scene.meshes[0]);
  scene.clips.clear();
  scene.joint_nodes.resize(1);
  const auto single = make_character(scene);
  EXPECT_NE(single->layers()[1]->idle_because(), "");
  EXPECT_LT(largest_difference(perform(single, single->rest_pose()), single->rest()), 1e-5f);
}

TEST(ImplicitLayer, OddPosesStayFinite) {
  const Scene scene = tube_scene(24, 12);
  const auto character = make_character(scene);
  Performer performer(character);
  const auto expect_finite = [&](const Pose& pose, const char* what) {
    performer.perform(pose);
    for (const Vec3f& p : performer.welded_positions()) ASSERT_TRUE(p.allFinite()) << what;
  };
  const Pose start = bent(*character, 100);
  Pose pose = start;
  pose.joints[1].scale.setZero();
  expect_finite(pose, "no size");
  pose = start;
  pose.joints[1].scale = {1, 0, 1};
  expect_finite(pose, "flat");
  pose = start;
  pose.joints[1].scale = {1, -1, 1};
  expect_finite(pose, "mirrored");
  pose = start;
  pose.joints[0].scale.setConstant(1e-12f);
  expect_finite(pose, "tiny");
  pose = start;
  pose.joints[0].scale.setConstant(1e7f), pose.joints[0].translation.setConstant(1e14f);
  expect_finite(pose, "huge");
  pose = start;
  pose.joints[1].translation.x() = std::nanf("");
  expect_finite(pose, "not a number");
  pose = start;
  pose.joints[1].translation = Vec3f(0.1f, 0, 0);  // the upper bone pulled through the lower
  expect_finite(pose, "pulled in");
  expect_finite(bent(*character, 180), "folded flat");
  expect_finite(bent(*character, 179.99), "nearly so");
  expect_finite(bent(*character, -135), "the other way");
}

/// A tube of three bones: elbows at -0.3 and 0.3.
Scene two_elbows() {
  Scene scene = tube_scene(48, 12);
  Skeleton& skeleton = scene.skeleton;
  skeleton.joints[1].rest.translation = {0.6f, 0, 0};
  skeleton.joints[2] = {"end", 1, {}, true};
  skeleton.joints[2].rest.translation = {0.6f, 0, 0};
  skeleton.joints[1].name = "middle";
  Skin& skin = scene.skins[0];
  skin.joints = {0, 1, 2};
  skin.joint_from_mesh.assign(3, Mat4f::Identity());
  skin.joint_from_mesh[0](0, 3) = 0.9f;
  skin.joint_from_mesh[1](0, 3) = 0.3f;
  skin.joint_from_mesh[2](0, 3) = -0.3f;
  SkinWeights& weights = scene.meshes[0].weights;
  weights = {};
  WeightRepairs repairs;
  for (const Vec3f& p : scene.meshes[0].surface.positions) {
    const auto step = [](float t) {
      t = std::clamp(t, 0.0f, 1.0f);
      return t * t * (3 - 2 * t);
    };
    const float first = step((p.x() + 0.5f) / 0.4f), second = step((p.x() - 0.1f) / 0.4f);
    Influence row[3] = {{0, 1 - first}, {1, first - second}, {2, second}};
    append_row(weights, row, 0, repairs);
  }
  scene.clips.clear();
  check_scene(scene);
  return scene;
}

TEST(ImplicitLayer, OperatorsChangeTheirOwnJointOnly) {
  const Scene scene = two_elbows();
  const auto posed = [&](const std::string& settings) {
    const auto character = make_character(scene, settings);
    Pose pose = turned(*character, 1, 80, Vec3f::UnitZ());
    pose.joints[2].rotation = Quatf(Eigen::AngleAxisf(1.4f, Vec3f::UnitZ()));
    return perform(character, pose);
  };
  const std::vector<Vec3f> plain =
      posed(R"("operator": "union", "joints": [{"joint": "x*", "operator": "blend"}])");
  const std::vector<Vec3f> at_end = posed(
      R"("operator": "union", "joints": [{"joint": "e?d", "operator": "bulge", "response": "finger"}])");
  float near_end = 0, near_middle = 0;
  for (std::size_t v = 0; v < plain.size(); ++v) {
    const float x = scene.meshes[0].surface.positions[v].x(), change = (plain[v] - at_end[v]).norm();
    if (x > 0.1f && x < 0.5f) near_end = std::max(near_end, change);
    if (x < -0.1f) near_middle = std::max(near_middle, change);
  }
  EXPECT_GT(near_end, 0.02f * kRadius);
  EXPECT_LT(near_middle, 0.1f * near_end);
  // The last entry that matches counts; the first is for all.
  const std::vector<Vec3f> last = posed(
      R"("joints": [{"joint": "*", "operator": "blend"}, {"joint": "middle", "operator": "union"}, {"joint": "end", "operator": "bulge", "response": "finger"}])");
  EXPECT_LT(largest_difference(last, at_end), 1e-6f);
}

/// The skin on the inside of a tube's fold: how deep the crease is, and how far skin of the upper bone is
/// from that bone's axis, at most, both in radii of the tube.
struct Fold {
  double crease = 1e9, thickest = 0;
};

Fold fold(const Scene& scene, const std::string& settings, double degrees) {
  const auto character = make_character(scene, settings);
  const std::vector<Vec3f> posed = perform(character, bent(*character, degrees));
  const double angle = degrees * std::numbers::pi / 180;
  const Vec3f upper(static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle)), 0);
  const Vec3f inwards = (upper - Vec3f::UnitX()).normalized();
  Fold result;
  for (std::size_t v = 0; v < posed.size(); ++v) {
    const Vec3f rest = character->rest()[v];
    if (rest.y() < 0.98f * kRadius || std::abs(rest.x()) > 0.6f) continue;  // in the middle of the fold
    result.crease = std::min(result.crease, static_cast<double>(posed[v].dot(inwards) / kRadius));
    const float along = posed[v].dot(upper);
    if (rest.x() > 0 && along > kRadius)
      result.thickest = std::max(result.thickest, double{(posed[v] - along * upper).norm() / kRadius});
  }
  return result;
}

Scene fine_tube() {
  return test::make_grid_tube({.rings = 121, .segments = 48});
}

std::string contact_of_depth(double depth) {
  return fmt::format(
      R"("operator": "contact", "response": "drawn", "curve": [{{"angle": 0, "value": 0}}, {{"angle": 20, "value": {0}}}, {{"angle": 180, "value": {0}}}])",
      depth);
}

TEST(ImplicitLayer, ContactDepthMovesTheCreaseFromTheUnionToTheJoint) {
  const Scene scene = fine_tube();
  for (const double degrees : {90.0, 120.0}) {
    // Where two cylinders meet, outside.
    const double place = 1 / std::cos(degrees / 2 * std::numbers::pi / 180);
    EXPECT_NEAR(fold(scene, R"("operator": "union")", degrees).crease, place, 0.1 * place);
    double before = fold(scene, contact_of_depth(0), degrees).crease;
    EXPECT_NEAR(before, place, 0.1 * place);
    for (const double depth : {0.25, 0.5, 0.75, 1.0}) {
      const double crease = fold(scene, contact_of_depth(depth), degrees).crease;
      EXPECT_LT(crease, before - 0.04) << degrees << " " << depth;
      before = crease;
    }
    EXPECT_LT(before, 1.15) << degrees;
  }
}

TEST(ImplicitLayer, ABulgeRisesBesideTheCreaseAndOnlyThere) {
  const Scene scene = fine_tube();
  const std::string bulge = R"("operator": "bulge", "response": "finger")";
  const double flat = fold(scene, R"("operator": "union")", 90).thickest;
  EXPECT_NEAR(flat, 1, 0.05);
  EXPECT_GT(fold(scene, bulge, 90).thickest, flat + 0.15);
  const auto with = make_character(scene, bulge), without = make_character(scene, R"("operator": "union")");
  EXPECT_LT(largest_difference(perform(with, bent(*with, 15)), perform(without, bent(*with, 15))),
            0.05f * kRadius);
  // Nor far from it.
  const std::vector<Vec3f> a = perform(with, bent(*with, 90)), b = perform(without, bent(*with, 90));
  for (std::size_t v = 0; v < a.size(); ++v)
    if (std::abs(with->rest()[v].x()) > 4 * kRadius || with->rest()[v].y() < -0.5f * kRadius)
      ASSERT_LT((a[v] - b[v]).norm(), 0.05f * kRadius) << with->rest()[v].transpose();
}

TEST(ImplicitLayer, ABlendRoundsTheCrease) {
  // The angle between the two sides of the crease: the sharper, the farther skin turns from ring to ring.
  const Scene scene = fine_tube();
  const auto sharpest = [&](const std::string& settings) {
    const auto character = make_character(scene, settings);
    const std::vector<Vec3f> posed = perform(character, bent(*character, 50));
    double largest = 0;
    for (std::size_t v = 0; v + 96 < posed.size(); ++v) {
      const auto& rest = character->rest();
      if (rest[v].y() < 0.98f * kRadius || std::abs(rest[v].x()) > 0.5f) continue;
      if (std::abs(rest[v + 48].y() - rest[v].y()) > 1e-4f ||
          std::abs(rest[v + 96].y() - rest[v].y()) > 1e-4f)
        continue;
      const Vec3f first = posed[v + 48] - posed[v], second = posed[v + 96] - posed[v + 48];
      if (first.norm() < 1e-5f || second.norm() < 1e-5f) continue;
      largest = std::max(largest,
                         std::acos(std::clamp<double>(first.normalized().dot(second.normalized()), -1, 1)));
    }
    return largest;
  };
  EXPECT_LT(sharpest(R"("operator": "blend", "response": "shoulder")"),
            0.8 * sharpest(R"("operator": "union")"));
}

TEST(ImplicitLayer, OperatorsBetweenPartsActWhereThesePartsMeet) {
  const Scene scene = two_elbows();
  const auto plain = make_character(scene),
             bulging = make_character(
                 scene,
                 R"("joints": [{"between": ["lower", "e?d"], "operator": "bulge", "response": "finger"}])");
  const auto change = [&](double degrees) {
    Pose pose = turned(*plain, 1, degrees, Vec3f::UnitZ());
    pose.joints[2].rotation =
        Quatf(Eigen::AngleAxisf(static_cast<float>(degrees * std::numbers::pi / 180), Vec3f::UnitZ()));
    return largest_difference(perform(plain, pose), perform(bulging, pose));
  };
  EXPECT_GT(change(105), 0.03f * kRadius);
  EXPECT_LT(change(30), 1e-3f * kRadius);
}

}  // namespace
}  // namespace sinew
