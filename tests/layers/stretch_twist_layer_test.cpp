#include <sinew/layers/stretch_twist_layer.h>

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include <sinew/character/recipe.h>
#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/skinning/linear_blend.h>

#include "tests/support/grid_tube.h"

namespace sinew {
namespace {

/// Runs one layer on its own, as a performer would.
std::vector<Vec3f> deform(const Character& character, const Layer& layer, const Pose& pose,
                          std::span<const Vec3f> rest) {
  std::vector<Affine3d> world(character.skeleton().size()), posed;
  forward_kinematics(character.skeleton(), pose.joints, world);
  for (const Binding& binding : character.bindings())
    posed.push_back(binding.joint < 0 ? Affine3d::Identity()
                                      : world[to_size(binding.joint)] * binding.joint_from_rest);
  std::vector<Vec3f> positions(rest.begin(), rest.end());
  const auto state = layer.make_state();
  layer.deform({pose, world, posed, rest}, state.get(), positions);
  return positions;
}

std::vector<Vec3f> deform(const Character& character, const Pose& pose) {
  const auto layer = make_stretch_twist_layer(StretchTwistOptions(), character);
  return deform(character, *layer, pose, character.rest());
}

Pose turned(const Character& character, int joint, float radians, const Vec3f& axis) {
  Pose pose = character.rest_pose();
  pose.joints[to_size(joint)].rotation = Quatf(Eigen::AngleAxisf(radians, axis));
  return pose;
}

float least_radius(std::span<const Vec3f> tube) {
  float least = 1;
  for (const Vec3f& p : tube)
    if (std::abs(p.x()) < 0.95f) least = std::min(least, p.tail<2>().norm());
  return least;
}

/// The tube whose joint 1 has a deforming child, in `place` as seen from joint 1.
Scene tube_with_child(const Vec3f& place) {
  Scene scene = test::make_grid_tube();
  scene.skeleton.joints[2].rest.translation = place;
  scene.skeleton.joints[2].deforms = true;
  Mat4f joint_from_mesh = Mat4f::Identity();
  joint_from_mesh.block<3, 1>(0, 3) = -place;
  scene.skins[0].joints.push_back(2);
  scene.skins[0].joint_from_mesh.push_back(joint_from_mesh);
  return scene;
}

TEST(StretchTwistLayer, ABoneRunsToTheNextDeformingJoint) {
  const auto character = Character::make(test::make_grid_tube(), Recipe());
  const std::vector<StretchBone> bones = stretch_bones(*character, {});
  ASSERT_EQ(bones.size(), 1u);  // the tip moves no skin, and "upper" is a leaf
  EXPECT_EQ(bones[0].start, 0u);
  EXPECT_EQ(bones[0].end, 1u);
  EXPECT_LT((bones[0].head - Vec3d(-0.9, 0, 0)).norm(), 1e-6);
  EXPECT_LT(bones[0].tail.norm(), 1e-6);
  EXPECT_EQ(bones[0].twist, 1);
}

TEST(StretchTwistLayer, RestAndBendingAreThoseOfLinearBlending) {
  const Scene scene = test::make_grid_tube();
  const auto character = Character::make(scene, recipe_for_method("lbs"));
  for (const float angle : {0.0f, 1.0f, 2.4f}) {
    const Pose pose = turned(*character, 1, angle, Vec3f::UnitZ());
    EXPECT_TRUE(deform(*character, pose) ==
                deform(*character, *character->layers()[0], pose, character->rest()));
  }
}

TEST(StretchTwistLayer, ATwistIsSpreadOverTheBoneBeforeTheJoint) {
  const auto character = Character::make(test::make_grid_tube(), recipe_for_method("lbs"));
  const Pose pose = turned(*character, 1, 150 * std::numbers::pi_v<float> / 180, Vec3f::UnitX());
  const std::vector<Vec3f> linear = deform(*character, *character->layers()[0], pose, character->rest());
  const std::vector<Vec3f> spread = deform(*character, pose);
  EXPECT_LT(least_radius(linear), 0.06f);
  EXPECT_GT(least_radius(spread), 0.195f);
  // Half of it is there half way along the bone, where linear blending has not yet begun.
  int checked = 0;
  for (std::size_t v = 0; v < spread.size(); ++v) {
    const Vec3f& p = character->rest()[v];
    if (std::abs(p.x() + 0.45f) > 0.02f) continue;
    EXPECT_LT((linear[v] - p).norm(), 1e-6f);
    const double turn = std::atan2(spread[v].z(), spread[v].y()) - std::atan2(p.z(), p.y());
    EXPECT_NEAR(std::remainder(turn - 75 * std::numbers::pi / 180, 2 * std::numbers::pi), 0, 0.07);
    ++checked;
  }
  EXPECT_GT(checked, 16);
}

TEST(StretchTwistLayer, OptionsTurnTwistAndStretchOff) {
  const auto character = Character::make(test::make_grid_tube(), recipe_for_method("lbs"));
  Pose pose = turned(*character, 1, 2, Vec3f::UnitX());
  pose.joints[1].translation *= 1.5f;
  const std::vector<Vec3f> linear = deform(*character, *character->layers()[0], pose, character->rest());
  EXPECT_FALSE(deform(*character, pose) == linear);
  StretchTwistOptions off;
  off.twist = 0;
  off.stretch = false;
  EXPECT_TRUE(deform(*character, *make_stretch_twist_layer(off, *character), pose, character->rest()) ==
              linear);
}

TEST(StretchTwistLayer, AMovedChildStretchesTheBone) {
  const auto character = Character::make(test::make_grid_tube(), recipe_for_method("lbs"));
  Pose pose = character->rest_pose();
  pose.joints[1].translation.x() += 0.45f;  // half as long again
  const std::vector<Vec3f> posed = deform(*character, pose);
  for (std::size_t v = 0; v < posed.size(); ++v) {
    const Vec3f& p = character->rest()[v];
    EXPECT_NEAR(posed[v].tail<2>().norm(), p.tail<2>().norm(), 1e-6);
    if (p.x() < -0.9f) {
      EXPECT_NEAR(posed[v].x(), p.x(), 1e-6);
    } else if (p.x() > 0) {
      EXPECT_NEAR(posed[v].x(), p.x() + 0.45f, 1e-6);
    } else if (p.x() > -0.8f && p.x() < -0.4f) {
      EXPECT_NEAR(posed[v].x() - p.x(), 0.45 * ((p.x() + 0.9) / 0.9 - 0.05) / 0.9, 1e-5);
    }
  }
}

TEST(StretchTwistLayer, OnlyChildrenThatCarryOnPassTheirTurn) {
  const auto share = [](const Vec3f& place) {
    Scene scene = tube_with_child(place);
    const auto character = Character::make(scene, Recipe());
    for (const StretchBone& bone : stretch_bones(*character, {}))
      if (bone.start == 0) return bone.twist;
    return -1.0;
  };
  EXPECT_EQ(share({0.9f, 0, 0}), 1);
  EXPECT_EQ(share({0.9f, 0.3f, 0}), 1);
  EXPECT_EQ(share({0, 0.9f, 0}), 0);
  EXPECT_EQ(share({-0.9f, 0.1f, 0}), 0);
  const double diagonal = share({0.9f, 0.9f, 0});
  EXPECT_GT(diagonal, 0.3);
  EXPECT_LT(diagonal, 0.9);
}

TEST(StretchTwistLayer, HandlesInTheSkinAreNoBones) {
  // "lower" has two leaves: "upper" and what was the tip.
  Scene scene = tube_with_child({0, 0.5f, 0});
  scene.skeleton.joints[2].parent = 0;
  EXPECT_TRUE(stretch_bones(*Character::make(scene, Recipe()), {}).empty());
}

TEST(StretchTwistLayer, MorphedRestIsCarriedAlong) {
  const auto character = Character::make(test::make_grid_tube(), recipe_for_method("lbs"));
  std::vector<Vec3f> morphed(character->rest().begin(), character->rest().end());
  for (Vec3f& p : morphed) p.tail<2>() *= 2;
  const auto layer = make_stretch_twist_layer(StretchTwistOptions(), *character);
  EXPECT_TRUE(deform(*character, *layer, character->rest_pose(), morphed) == morphed);
  const Pose pose = turned(*character, 1, 2.5f, Vec3f::UnitX());
  EXPECT_GT(least_radius(deform(*character, *layer, pose, morphed)), 0.39f);
}

/// The same tube once more, in centimetres and with bind matrices to match.
TEST(StretchTwistLayer, EverySkinKeepsItsOwnRestSpace) {
  Scene scene = test::make_grid_tube();
  scene.skins.push_back(scene.skins[0]);
  scene.meshes.push_back(scene.meshes[0]);
  scene.meshes[1].skin = 1;
  scene.mesh_nodes.push_back(-1);
  for (Mat4f& matrix : scene.skins[1].joint_from_mesh) matrix.leftCols<3>() *= 0.01f;
  for (Vec3f& p : scene.meshes[1].surface.positions) p *= 100;
  const auto character = Character::make(scene, recipe_for_method("lbs"));
  const std::vector<StretchBone> bones = stretch_bones(*character, {});
  ASSERT_EQ(bones.size(), 2u);
  EXPECT_NEAR((bones[0].tail - bones[0].head).norm(), 0.9, 1e-6);
  EXPECT_NEAR((bones[1].tail - bones[1].head).norm(), 90, 1e-4);
  Pose pose = turned(*character, 1, 2.5f, Vec3f::UnitX());
  pose.joints[1].translation.x() *= 1.5f;
  const std::vector<Vec3f> posed = deform(*character, pose);
  const std::size_t half = posed.size() / 2;
  for (std::size_t v = 0; v < half; ++v) ASSERT_LT((posed[v] - posed[v + half]).norm(), 2e-5f);
}

TEST(StretchTwistLayer, ThingsThatHangOnAJointStaySolid) {
  Scene scene = test::make_grid_tube();
  SceneMesh ring = scene.meshes[0];
  ring.name = "ring";
  ring.skin = -1;
  ring.joint = 0;
  ring.weights = {};
  scene.meshes.push_back(ring);
  scene.mesh_nodes.push_back(-1);
  const auto character = Character::make(scene, recipe_for_method("lbs"));
  Pose pose = turned(*character, 1, 2, Vec3f::UnitX());
  pose.joints[1].translation.x() *= 1.5f;
  const std::vector<Vec3f> posed = deform(*character, pose);
  for (std::size_t v = posed.size() / 2; v < posed.size(); ++v)
    ASSERT_LT((posed[v] - character->rest()[v]).norm(), 1e-6f);
}

TEST(StretchTwistLayer, BindMatricesWithoutInverseLeaveLinearBlending) {
  Scene scene = test::make_grid_tube();
  scene.skins[0].joint_from_mesh[1].setZero();
  scene.skins[0].joint_from_mesh[1](3, 3) = 1;
  const auto character = Character::make(scene, recipe_for_method("lbs"));
  EXPECT_TRUE(stretch_bones(*character, {}).empty());
  const Pose pose = turned(*character, 1, 2, Vec3f::UnitX());
  for (const Vec3f& p : deform(*character, pose)) ASSERT_TRUE(p.allFinite());
}

TEST(StretchTwistLayer, OptionsAreChecked) {
  StretchTwistOptions options;
  read_options(options, R"({"twist": 0.25, "stretch": false})", "r");
  EXPECT_EQ(options.twist, 0.25);
  EXPECT_FALSE(options.stretch);
  EXPECT_THROW(read_options(options, R"({"twist": 1.5})", "r"), Error);
  EXPECT_THROW(read_options(options, R"({"twists": 1})", "r"), Error);
}

}  // namespace
}  // namespace sinew
