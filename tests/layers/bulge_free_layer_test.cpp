#include <sinew/layers/bulge_free_layer.h>

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include <sinew/character/character.h>
#include <sinew/character/recipe.h>
#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/layers/skin_layers.h>

#include "tests/reference/bulge_free.h"
#include "tests/reference/skinning.h"
#include "tests/support/grid_tube.h"

namespace sinew {
namespace {

/// Poses a character with one layer, without a performer.
std::vector<Vec3f> deform(const Character& character, const Layer& layer, const Pose& pose,
                          std::span<const Vec3f> rest) {
  std::vector<Affine3d> world(character.skeleton().size()), posed;
  forward_kinematics(character.skeleton(), pose.joints, world);
  for (const Binding& binding : character.bindings())
    posed.push_back(binding.joint < 0 ? Affine3d::Identity()
                                      : world[to_size(binding.joint)] * binding.joint_from_rest);
  const LayerFrame frame{pose, world, posed, rest};
  const std::unique_ptr<LayerState> state = layer.make_state();
  std::vector<Vec3f> positions(rest.begin(), rest.end());
  layer.deform(frame, state.get(), positions);
  return positions;
}

std::vector<Vec3f> deform(const Character& character, const Layer& layer, const Pose& pose) {
  return deform(character, layer, pose, character.rest());
}

std::unique_ptr<const Layer> bulge_free(const Character& character, double strength = 1) {
  BulgeFreeLayerOptions options;
  options.strength = strength;
  return make_bulge_free_layer(options, character);
}

std::vector<Vec3f> dqs(const Character& character, const Pose& pose) {
  return deform(character, *make_dual_quaternion_layer(LayerOptions(), character), pose);
}

std::shared_ptr<const Character> make_character(const Scene& scene) {
  Recipe recipe;
  recipe.normals = false;
  return Character::make(scene, recipe);
}

Pose bent(const Character& character, float radians, std::size_t joint = 1) {
  Pose pose = character.rest_pose();
  pose.joints[joint].rotation =
      pose.joints[joint].rotation * Quatf(Eigen::AngleAxisf(radians, Vec3f::UnitZ()));
  return pose;
}

/// Farthest from the bones of the bent tube, on its outer side, near its joint.
double outer_radius(std::span<const Vec3f> posed, float radians) {
  double farthest = 0;
  const Vec3f along(std::cos(radians), std::sin(radians), 0);
  for (const Vec3f& p : posed) {
    const bool outer = p.dot(Vec3f(-1, 0, 0) + along) < 0;
    if (!outer || p.norm() > 0.6f) continue;
    const Vec3f to_lower = p - std::min(0.0f, p.x()) * Vec3f::UnitX();
    const Vec3f to_upper = p - std::max(0.0f, p.dot(along)) * along;
    farthest = std::max<double>(farthest, std::min(to_lower.norm(), to_upper.norm()));
  }
  return farthest;
}

TEST(BulgeFreeLayer, TakesTheBulgeFromABentTube) {
  const auto character = make_character(test::make_grid_tube());
  for (const float radians : {0.8f, 1.5f, 2.4f}) {
    const Pose pose = bent(*character, radians);
    const double before = outer_radius(dqs(*character, pose), radians);
    const double after = outer_radius(deform(*character, *bulge_free(*character), pose), radians);
    EXPECT_GT(before, 0.2 * (1 + 0.1 * radians));
    EXPECT_LT(after, 0.2 * 1.02);
  }
}

TEST(BulgeFreeLayer, DeformsAsTheFormulaSaysWithTheBonesOfTheSkin) {
  const auto character = make_character(test::make_grid_tube({.blend = 0.9f}));
  const Pose pose = bent(*character, 1.5f);
  // The leaf's bone ends where its skin does: at x = 1.
  const std::vector<BulgeFreeBone> bones = {{-1, 1, Vec3d(-0.9, 0, 0), Vec3d::Zero()},
                                            {0, 1, Vec3d::Zero(), Vec3d(1, 0, 0)}};
  std::vector<Affine3d> world(character->skeleton().size()), posed;
  forward_kinematics(character->skeleton(), pose.joints, world);
  for (const Binding& binding : character->bindings())
    posed.push_back(world[to_size(binding.joint)] * binding.joint_from_rest);
  std::vector<Vec3f> expected(character->rest().size());
  reference::dual_quaternion<double>(character->rest(), character->skin_weights(), posed, expected);
  reference::bulge_free(character->rest(), character->skin_weights(), bones, posed, 0.7, expected);
  const std::vector<Vec3f> actual = deform(*character, *bulge_free(*character, 0.7), pose);
  for (std::size_t v = 0; v < expected.size(); ++v) ASSERT_LT((actual[v] - expected[v]).norm(), 3e-6f) << v;
}

TEST(BulgeFreeLayer, RestAndTwistAreThoseOfDualQuaternions) {
  const auto character = make_character(test::make_grid_tube());
  const auto layer = bulge_free(*character);
  EXPECT_FALSE(layer->has_history());
  EXPECT_TRUE(deform(*character, *layer, character->rest_pose()) == dqs(*character, character->rest_pose()));
  Pose twisted = character->rest_pose();
  twisted.joints[1].rotation = Quatf(Eigen::AngleAxisf(2, Vec3f::UnitX()));
  twisted.joints[0].rotation = Quatf(Eigen::AngleAxisf(1, Vec3f::UnitY()));
  const std::vector<Vec3f> expected = dqs(*character, twisted), actual = deform(*character, *layer, twisted);
  for (std::size_t v = 0; v < expected.size(); ++v) ASSERT_LT((actual[v] - expected[v]).norm(), 1e-6f) << v;
}

TEST(BulgeFreeLayer, StrengthZeroIsDualQuaternions) {
  const auto character = make_character(test::make_grid_tube());
  const Pose pose = bent(*character, 1.5f);
  EXPECT_TRUE(deform(*character, *bulge_free(*character, 0), pose) == dqs(*character, pose));
  EXPECT_FALSE(deform(*character, *bulge_free(*character), pose) == dqs(*character, pose));
}

TEST(BulgeFreeLayer, RecipesSetTheStrength) {
  const auto recipe = [](const std::string& strength) {
    return parse_recipe(R"({"layers": [{"method": "bulge_free", "strength": )" + strength + "}]}", "test");
  };
  EXPECT_EQ(dynamic_cast<const BulgeFreeLayerOptions&>(*recipe("0.25").layers[0].options).strength, 0.25);
  EXPECT_THROW(recipe("1.5"), Error);
  EXPECT_THROW(recipe("-0.1"), Error);
  EXPECT_EQ(BulgeFreeLayerOptions().strength, 1);
}

TEST(BulgeFreeLayer, BonesLieWhereTheSkinWasBoundNotWhereTheJointsRest) {
  // The file's rest pose is bent already; its bind matrices say where the straight tube was.
  Scene scene = test::make_grid_tube();
  const auto straight = make_character(scene);
  scene.skeleton.joints[1].rest.rotation = Quatf(Eigen::AngleAxisf(1.5f, Vec3f::UnitZ()));
  scene.skeleton.joints[0].rest.translation = {5, 6, 7};
  const auto character = make_character(scene);
  Pose pose = character->rest_pose();
  pose.joints[0].translation = straight->rest_pose().joints[0].translation;
  const std::vector<Vec3f> expected = deform(*straight, *bulge_free(*straight), bent(*straight, 1.5f));
  const std::vector<Vec3f> actual = deform(*character, *bulge_free(*character), pose);
  for (std::size_t v = 0; v < expected.size(); ++v) ASSERT_LT((actual[v] - expected[v]).norm(), 1e-5f) << v;
}

TEST(BulgeFreeLayer, SkinsOfOneSkeletonInSpacesOfTheirOwn) {
  // The same tube twice, the second bound in a space 10 m off, twice as large and with joints the other way.
  Scene scene = test::make_grid_tube();
  const std::size_t vertices = scene.meshes[0].surface.positions.size();
  scene.meshes.push_back(scene.meshes[0]);
  scene.skins.push_back(scene.skins[0]);
  scene.meshes[1].name = "other";
  scene.meshes[1].skin = 1;
  Mat4f first_from_other = Mat4f::Identity();
  first_from_other.topLeftCorner<3, 3>() *= 0.5f;
  first_from_other(0, 3) = -5;
  for (Mat4f& joint_from_mesh : scene.skins[1].joint_from_mesh)
    joint_from_mesh = joint_from_mesh * first_from_other;
  for (Vec3f& p : scene.meshes[1].surface.positions) p = 2 * (p + Vec3f(5, 0, 0));
  const auto character = make_character(scene);
  ASSERT_EQ(character->bindings().size(), 4u);
  ASSERT_EQ(character->rest().size(), 2 * vertices);
  const std::vector<Vec3f> posed = deform(*character, *bulge_free(*character), bent(*character, 1.5f));
  for (std::size_t v = 0; v < vertices; ++v) ASSERT_LT((posed[v] - posed[vertices + v]).norm(), 1e-5f) << v;
  EXPECT_FALSE(posed == dqs(*character, bent(*character, 1.5f)));
}

TEST(BulgeFreeLayer, JointsWithoutSkinAreNoBones) {
  // Helpers that are bound, but no vertex follows them: more children of the bones.
  Scene scene = test::make_grid_tube();
  const auto plain = make_character(scene);
  const auto add = [&](const char* name, int parent, const Vec3f& from_parent, const Vec3f& bound_at) {
    Joint joint;
    joint.name = name;
    joint.parent = parent;
    joint.deforms = true;
    joint.rest.translation = from_parent;
    scene.skeleton.joints.push_back(joint);
    Mat4f joint_from_mesh = Mat4f::Identity();
    joint_from_mesh.topRightCorner<3, 1>() = -bound_at;
    // Between the two joints that have skin.
    Skin& skin = scene.skins[0];
    skin.joints.insert(skin.joints.begin() + 1, static_cast<int>(scene.skeleton.size()) - 1);
    skin.joint_from_mesh.insert(skin.joint_from_mesh.begin() + 1, joint_from_mesh);
    for (std::uint32_t& number : scene.meshes[0].weights.joints)
      if (number > 0) ++number;
  };
  add("pole", 0, {0, 3, 0}, {-0.9f, 3, 0});
  add("target", 1, {0, -2, 1}, {0, -2, 1});
  const auto character = make_character(scene);
  const std::vector<Vec3f> expected = deform(*plain, *bulge_free(*plain), bent(*plain, 1.5f));
  const std::vector<Vec3f> actual = deform(*character, *bulge_free(*character), bent(*character, 1.5f));
  EXPECT_TRUE(expected == actual);
}

TEST(BulgeFreeLayer, MorphsSurvive) {
  const auto character = make_character(test::make_grid_tube());
  std::vector<Vec3f> fat(character->rest().begin(), character->rest().end());
  for (Vec3f& p : fat) p.y() *= 1.5f, p.z() *= 1.5f;
  const Pose pose = bent(*character, 1.5f);
  EXPECT_NEAR(outer_radius(deform(*character, *bulge_free(*character), pose, fat), 1.5f), 0.3, 0.012);
}

TEST(BulgeFreeLayer, FlatBindMatricesAndUnskinnedMeshes) {
  Scene scene = test::make_grid_tube();
  scene.meshes.push_back(scene.meshes[0]);
  scene.meshes[1].skin = -1;
  scene.meshes[1].joint = 1;
  scene.meshes[1].weights = {};
  scene.skins[0].joint_from_mesh[1].setZero();
  scene.skins[0].joint_from_mesh[1](3, 3) = 1;
  const auto character = make_character(scene);
  const Pose pose = bent(*character, 1.5f);
  const std::vector<Vec3f> posed = deform(*character, *bulge_free(*character), pose);
  EXPECT_TRUE(posed == dqs(*character, pose));
  for (const Vec3f& p : posed) ASSERT_TRUE(p.allFinite());
}

}  // namespace
}  // namespace sinew
