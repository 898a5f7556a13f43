#include <sinew/layers/character_muscles.h>

#include <algorithm>
#include <cmath>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sinew/character/performer.h>
#include <sinew/character/recipe.h>
#include <sinew/core/error.h>
#include <sinew/layers/character_fields.h>
#include <sinew/models/models.h>
#include <sinew/skeleton/clip.h>

#include "tests/support/grid_tube.h"
#include "tests/support/sanitized.h"
#include "tests/support/shared_models.h"

namespace sinew {
namespace {

constexpr double kRadius = 0.2;  // of the grid tube, whose bones lie along x and meet at the origin

Recipe muscle_recipe(const std::string& muscles) {
  return parse_recipe(
      R"({"normals": false, "layers": ["dqs", {"method": "implicit", "muscles": [)" + muscles + "]}]}",
      "test");
}

Scene tube_scene() {
  test::GridTubeOptions options;
  options.rings = test::kSanitized ? 32 : 48;
  options.segments = test::kSanitized ? 12 : 24;
  return test::make_grid_tube(options);
}

CharacterFields fields_of(const Scene& scene, const std::string& muscles) {
  const Recipe recipe = muscle_recipe(muscles);
  Recipe plain;
  plain.normals = false;
  return make_character_fields(*Character::make(scene, plain),
                               dynamic_cast<const ImplicitOptions&>(*recipe.layers.at(1).options));
}

std::string error_of(const std::string& muscles) {
  try {
    fields_of(tube_scene(), muscles);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// The welded surface at `degrees` of a clip that bends by one degree per frame.
std::vector<Vec3f> bent(const std::shared_ptr<const Character>& character, const Clip& clip, int degrees) {
  Performer performer(character);
  Pose pose = character->rest_pose();
  sample_clip(clip, degrees / 30.0, pose);
  performer.perform(pose);
  return {performer.welded_positions().begin(), performer.welded_positions().end()};
}

double diameter(std::span<const Vec3f> positions) {
  Eigen::AlignedBox3f box;
  for (const Vec3f& p : positions) box.extend(p);
  return static_cast<double>(box.diagonal().norm());
}

TEST(MuscleRecipe, ComesBackAsItWas) {
  const std::string everything =
      R"({"name": "biceps", "joint": "lo*", "driver": "upper", "insertion_joint": "upper",
          "ends": [{"x": -0.7, "y": 0.1, "z": 0}, {"x": 0.1, "y": 0.1, "z": 0.01}], "side": "-z",
          "from": 0.25, "to": 1.125, "radius": 0.0625, "swell": 0.75, "lift": -0.5, "angle": 90})";
  const Recipe recipe = muscle_recipe(everything);
  const std::string json = to_json(recipe);
  EXPECT_EQ(to_json(parse_recipe(json, "again")), json);
  EXPECT_EQ(nlohmann::json::parse(json)["layers"][1]["muscles"][0], nlohmann::json::parse(everything));
  const MuscleChoice& choice =
      dynamic_cast<const ImplicitOptions&>(*recipe.layers.at(1).options).muscles.at(0);
  EXPECT_EQ(choice.side_direction(), Vec3d(0, 0, -1));
  EXPECT_EQ(choice.side_name(), "-z");

  const CharacterFields fields = fields_of(tube_scene(), everything);
  ASSERT_EQ(fields.set->muscles.size(), 1u);
  const Muscle& muscle = fields.set->muscles[0];
  EXPECT_EQ(muscle.host, 0u);
  EXPECT_EQ(muscle.origin_transform, 0u);
  EXPECT_EQ(muscle.insertion_transform, 1u);
  EXPECT_EQ(muscle.driver_transform, 1u);
  EXPECT_EQ(muscle.driver_parent_transform, 0u);
  EXPECT_LT((muscle.driver_bone - Vec3d::UnitX()).norm(), 1e-6);
  EXPECT_EQ(muscle.origin, Vec3d(-0.7, 0.1, 0));
  EXPECT_EQ(muscle.insertion, Vec3d(0.1, 0.1, 0.01));
  EXPECT_EQ(muscle.radius, 0.0625);
  EXPECT_EQ(muscle.swell, 0.75);
  EXPECT_EQ(muscle.lift, -0.5);
  EXPECT_NEAR(muscle.full_angle, std::acos(0.0), 1e-12);
  EXPECT_LT((muscle.outwards - Vec3d(0, 0.1, 0.005).normalized()).norm(), 1e-9);
}

TEST(MuscleRecipe, ABoneAndASideAreEnough) {
  const Scene scene = tube_scene();
  const std::pair<const char*, Vec3d> sides[] = {
      {"+y", {0, 1, 0}}, {"-y", {0, -1, 0}}, {"+z", {0, 0, 1}}, {"-z", {0, 0, -1}}};
  for (const auto& [side, direction] : sides) {
    const CharacterFields fields = fields_of(
        scene, std::string(R"({"joint": "lower", "from": 0.2, "to": 0.8, "side": ")") + side + "\"}");
    ASSERT_EQ(fields.set->muscles.size(), 1u);
    const Muscle& muscle = fields.set->muscles[0];
    EXPECT_NEAR(muscle.radius, 0.45 * kRadius, 0.01);
    // Its middle touches the skin from inside.
    const Vec3d middle = (muscle.origin + muscle.insertion) / 2;
    EXPECT_LT((middle - Vec3d(-0.45, 0, 0) - 0.55 * kRadius * direction).norm(), 0.01);
    EXPECT_LT((muscle.insertion - muscle.origin - Vec3d(0.6 * 0.9, 0, 0)).norm(), 1e-5);
    EXPECT_LT((muscle.outwards - direction).norm(), 1e-5);
    EXPECT_EQ(muscle.driver_transform, 1u);
    EXPECT_EQ(muscle.driver_parent_transform, 0u);
    EXPECT_EQ(muscle.insertion_transform, 0u);
  }
  const Muscle thick =
      fields_of(scene, R"({"joint": "lower", "side": "+y", "radius": 0.15})").set->muscles.at(0);
  EXPECT_EQ(thick.radius, 0.15);
  EXPECT_NEAR(thick.origin.y(), kRadius - 0.15, 0.01);
  // Between ends the skin is what it touches.
  const Muscle between =
      fields_of(scene, R"({"joint": "lower", "ends": [{"x": -0.7, "z": 0.1}, {"x": -0.3, "z": 0.1}]})")
          .set->muscles.at(0);
  EXPECT_NEAR(between.radius, kRadius - 0.1, 0.01);
}

TEST(MuscleRecipe, PatternsServeSeveralBones) {
  const CharacterFields fields = fields_of(
      tube_scene(), R"({"joint": "*er", "driver": "up*", "side": "+y"}, {"joint": "lower", "side": "+z"})");
  ASSERT_EQ(fields.set->muscles.size(), 3u);
  EXPECT_EQ(fields.set->muscles[0].host, 0u);
  EXPECT_EQ(fields.set->muscles[1].host, 1u);
  EXPECT_EQ(fields.set->muscles[1].driver_transform, 1u);
  EXPECT_EQ(fields.set->muscles[2].host, 0u);
  // Of the joints that fit, the nearest drives.
  const Muscle own =
      fields_of(tube_scene(), R"({"joint": "upper", "driver": "*er", "side": "+y"})").set->muscles.at(0);
  EXPECT_EQ(own.driver_transform, 1u);
}

TEST(MuscleRecipe, EndsStayBelowTheSkinOfTaperingLimbs) {
  Scene scene = tube_scene();
  for (Vec3f& p : scene.meshes[0].surface.positions) {
    const float share = p.x() < 0 ? std::max(-p.x(), 0.1f) : 0.1f;  // thick at the far end
    p.y() *= share, p.z() *= share;
  }
  const Muscle muscle =
      fields_of(scene, R"({"joint": "lower", "side": "+y", "from": 0.1, "to": 0.8, "radius": 0.03})")
          .set->muscles.at(0);
  // Skin is at 0.2 |x|: 0.099 in the middle, 0.162 and 0.036 at the ends.
  EXPECT_NEAR(muscle.origin.y(), 0.099 - 0.03, 0.01);
  EXPECT_NEAR(muscle.insertion.y(), 0.75 * 0.036, 0.006);
}

TEST(MuscleRecipe, TheSkinIsTheBonesOwnMesh) {
  Scene scene = tube_scene();
  SceneMesh core = scene.meshes[0];
  core.name = "core";
  for (Vec3f& p : core.surface.positions) p.y() *= 0.3f, p.z() *= 0.3f;
  scene.meshes.insert(scene.meshes.begin(), core);
  scene.mesh_nodes.push_back(-1);
  const Muscle muscle = fields_of(scene, R"({"joint": "lower", "side": "+y"})").set->muscles.at(0);
  EXPECT_NEAR(muscle.radius, 0.45 * kRadius, 0.01);
}

TEST(MuscleRecipe, JointsWithoutSkinAreNoneToBendAgainst) {
  Scene scene = tube_scene();
  Joint helper = scene.skeleton.joints[1];
  helper.name = "helper";
  scene.skeleton.joints.insert(scene.skeleton.joints.begin() + 1, helper);
  scene.skeleton.joints[2].parent = 1;
  scene.skeleton.joints[2].rest.translation.setZero();
  scene.skeleton.joints[3].parent = 2;
  scene.skins[0].joints = {0, 2};
  scene.joint_nodes.push_back(-1);
  scene.clips.clear();
  const Muscle muscle =
      fields_of(scene, R"({"joint": "lower", "driver": "upper", "side": "+y"})").set->muscles.at(0);
  EXPECT_EQ(muscle.driver_transform, 1u);
  EXPECT_EQ(muscle.driver_parent_transform, 0u);
}

TEST(MuscleRecipe, MistakesSayWhatToDo) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"name": "calf", "joint": "shin"})",
       "implicit: muscles[0] (calf): joint: no bone with skin is named 'shin'; there are lower, upper"},
      {R"({"joint": "lower", "side": "+y"}, {"joint": ""})",
       "muscles[1] (muscle): joint: no bone with skin is named ''"},
      {R"({"joint": "lower", "driver": "elbow"})",
       "driver: no joint is named 'elbow'; near 'lower' there are lower, upper, tip"},
      {R"({"joint": "lower", "driver": "lower"})",
       "'lower' has no joint before it that it could bend against"},
      {R"({"joint": "upper", "side": "+y"})", "driver: "},
      {R"({"joint": "lower", "driver": "tip", "side": "+y"})", "'tip' is bound to no skin"},
      {R"({"joint": "lower", "insertion_joint": "hand", "side": "+y"})",
       "insertion_joint: no joint is named 'hand'"},
      {R"({"joint": "lower", "side": "+x"})", "side: +x is along the bone of 'lower'"},
      {R"({"joint": "lower", "side": "+y", "from": 0.6, "to": 0.4})", "from 0.6 to 0.4"},
      {R"({"joint": "lower", "side": "+y", "from": -0.5, "to": -0.4})",
       "there is no skin +y of the bone of 'lower'"},
      {R"({"joint": "lower", "ends": [{"x": 1}]})", "ends: a muscle has 2, not 1"},
      {R"({"joint": "lower", "side": "+y"}, {"joint": "*", "driver": "upper", "side": "-y"},
          {"joint": "lower", "side": "+z"}, {"name": "fourth", "joint": "lower", "side": "-z"})",
       "muscles[3] (fourth): joint: 'lower' has more than 3 muscles"},
  };
  for (const auto& [muscles, expected] : cases)
    EXPECT_NE(error_of(muscles).find(expected), std::string::npos)
        << muscles << "\n  gave: " << error_of(muscles);
  for (const auto& [muscles, expected] : std::initializer_list<std::pair<const char*, const char*>>{
           {R"({"side": "up"})", "muscles[0].side"},
           {R"({"swell": 3})", "muscles[0].swell"},
           {R"({"angle": 0})", "muscles[0].angle"},
           {R"({"ends": [{"x": 1}, {"w": 1}]})", "muscles[0].ends[1]"}}) {
    const std::string error = error_of(muscles);
    EXPECT_NE(error.find(expected), std::string::npos) << error;
  }
}

TEST(MuscleRecipe, DriversThatFitEquallyWellAreNotGuessed) {
  Scene scene = tube_scene();
  scene.skeleton.joints.push_back({"upper2", 0, {}, true});
  scene.skeleton.joints.back().rest.translation = {0.45f, 0, 0};  // half way
  scene.skins[0].joints.push_back(3);
  scene.skins[0].joint_from_mesh.push_back(Mat4f::Identity());
  scene.skins[0].joint_from_mesh.back()(0, 3) = 0.45f;
  scene.joint_nodes.push_back(-1);
  const auto error = [&](const std::string& muscle) {
    try {
      fields_of(scene, muscle);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_NE(
      error(R"({"joint": "lower", "side": "+y"})").find("'lower' leads to several joints: upper, upper2"),
      std::string::npos)
      << error(R"({"joint": "lower", "side": "+y"})");
  EXPECT_NE(error(R"({"joint": "lower", "side": "+y", "driver": "upper*"})")
                .find("fits several joints equally near"),
            std::string::npos);
  // The bone that leads to the driver is the one it lies on.
  for (const auto& [driver, length] : {std::pair("upper", 0.9), std::pair("upper2", 0.45)}) {
    const Muscle muscle = fields_of(scene, std::string(R"({"joint": "lower", "side": "+y", "driver": ")") +
                                               driver + R"(", "from": 0.25, "to": 0.75})")
                              .set->muscles.at(0);
    EXPECT_NEAR((muscle.insertion - muscle.origin).norm(), length / 2, 1e-3) << driver;
  }
}

TEST(MuscleRecipe, TheRestIsReproduced) {
  const Scene scene = tube_scene();
  for (const char* muscle :
       {R"({"joint": "lower", "side": "+y"})",
        R"({"joint": "lower", "side": "+y", "to": 1.2, "insertion_joint": "upper", "radius": 0.15})",
        R"({"joint": "lower", "ends": [{"x": -0.7, "y": 0.3}, {"x": -0.2, "y": 0.3}], "radius": 0.2})"}) {
    const auto character = Character::make(scene, muscle_recipe(muscle));
    const std::vector<Vec3f> still = bent(character, scene.clips[0], 0);
    for (std::size_t v = 0; v < still.size(); ++v)
      EXPECT_LT(static_cast<double>((still[v] - character->rest()[v]).norm()), 1e-5 * diameter(still));
  }
}

TEST(MuscleRecipe, TheTubeSwellsOverItAndNowhereElse) {
  const Scene scene = tube_scene();
  const auto plain = Character::make(scene, muscle_recipe(""));
  const auto with = Character::make(
      scene,
      muscle_recipe(
          R"({"joint": "lower", "side": "-y", "from": 0.1, "to": 0.6, "swell": 0.5, "lift": 0.25, "angle": 90})"));
  double before = 0;
  for (const int degrees : {0, 30, 60, 90, 120}) {
    const std::vector<Vec3f> a = bent(plain, scene.clips[0], degrees),
                             b = bent(with, scene.clips[0], degrees);
    double highest = 0, elsewhere = 0;
    for (std::size_t v = 0; v < a.size(); ++v) {
      const Vec3f& rest = plain->rest()[v];
      const double out = static_cast<double>(a[v].y() - b[v].y());  // this bone stands still
      if (rest.y() < -0.15f && rest.x() > -0.85f && rest.x() < -0.3f)
        highest = std::max(highest, out);
      else if (rest.y() > 0.05f || rest.x() > 0)
        elsewhere = std::max(elsewhere, static_cast<double>((a[v] - b[v]).norm()));
    }
    EXPECT_LT(elsewhere, 1e-4 * diameter(a)) << degrees;
    EXPECT_GE(highest, before - 1e-4);
    before = highest;
    const double bend = std::min(degrees / 90.0, 1.0), share = bend * bend * (3 - 2 * bend);
    // Half a radius and a quarter of it, less what the merging at rest has already added.
    EXPECT_NEAR(highest, share * 0.75 * 0.45 * kRadius, 0.2 * 0.45 * kRadius) << degrees;
  }
  EXPECT_GT(before, 0.5 * 0.45 * kRadius);
}

TEST(MuscleRecipe, TheArmHasABiceps) {
  if (test::kSanitized) GTEST_SKIP() << "the tube does the same, faster";
  const Scene scene = test::shared_model("arm", {2500, {}}).scene;
  const auto plain = Character::make(scene, muscle_recipe(""));
  const auto with = Character::make(
      scene,
      muscle_recipe(R"({"name": "biceps", "joint": "upper_arm", "side": "+y", "swell": 0.6, "lift": 0.3})"));
  const std::vector<Vec3f> a = bent(plain, scene.clips[0], 120), b = bent(with, scene.clips[0], 120);
  double highest = 0, elsewhere = 0;
  for (std::size_t v = 0; v < a.size(); ++v) {
    const Vec3f& rest = plain->rest()[v];
    const Vec3f moved = b[v] - a[v];
    // Over its middle; and the hand, the stump and the underside.
    if (rest.y() > 0 && rest.x() > 0.1f && rest.x() < 0.22f)
      highest = std::max(highest, static_cast<double>(moved.y()));
    else if (rest.x() > 0.45f || rest.x() < -0.02f || (rest.y() < -0.01f && rest.x() < 0.2f))
      elsewhere = std::max(elsewhere, static_cast<double>(moved.norm()));
  }
  RecordProperty("highest", std::to_string(highest));
  EXPECT_GT(highest, 0.008);
  EXPECT_LT(highest, 0.03);
  EXPECT_LT(elsewhere, 1e-4 * diameter(a));
}

}  // namespace
}  // namespace sinew
