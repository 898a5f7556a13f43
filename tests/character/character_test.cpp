#include <sinew/character/character.h>

#include <cmath>

#include <gtest/gtest.h>

#include <sinew/character/performer.h>
#include <sinew/core/error.h>

#include "tests/reference/skinning.h"
#include "tests/support/grid_tube.h"
#include "tests/support/meshes.h"

namespace sinew {
namespace {

/// A cube on one joint at its middle, weights all 1, every face with its own vertices.
Scene cube_scene(const Mesh& surface) {
  Scene scene;
  scene.source = "cube";
  scene.skeleton.joints = {{"root", -1, {}, true}, {"other", 0, {}, true}};
  scene.skins = {{"skin", {0, 1}, {Mat4f::Identity(), Mat4f::Identity()}}};
  SceneMesh mesh;
  mesh.name = "cube";
  mesh.surface = surface;
  mesh.skin = 0;
  WeightRepairs repairs;
  for (std::size_t v = 0; v < surface.positions.size(); ++v) {
    Influence row[] = {{0, 1.0f}};
    append_row(mesh.weights, row, 0, repairs);
  }
  scene.meshes.push_back(mesh);
  return scene;
}

/// Face normals at every corner, as a file with hard edges has them.
void add_flat_normals(SceneMesh& mesh) {
  const Polygons& polygons = mesh.surface.polygons;
  for (std::size_t p = 0; p < polygons.size(); ++p) {
    const Vec3f a = mesh.surface.positions[polygons[p][0]], b = mesh.surface.positions[polygons[p][1]],
                c = mesh.surface.positions[polygons[p][2]];
    mesh.normals.values.push_back((b - a).cross(c - a).normalized());
    for (std::size_t k = 0; k < polygons[p].size(); ++k)
      mesh.normals.corners.push_back(static_cast<std::uint32_t>(p));
  }
}

TEST(Character, WeldsSeamsAndGivesThemBackInFileOrder) {
  const Scene scene = cube_scene(test::split_all(test::make_cube()));
  const auto character = Character::make(scene, Recipe());
  EXPECT_EQ(character->rest().size(), 8u);
  Performer performer(character);
  Pose pose = character->rest_pose();
  pose.joints[0].translation = {1, 2, 3};
  performer.perform(pose);
  ASSERT_EQ(performer.positions(0).size(), 24u);
  for (std::size_t v = 0; v < 24; ++v)
    EXPECT_LT((performer.positions(0)[v] - scene.meshes[0].surface.positions[v] - Vec3f(1, 2, 3)).norm(),
              1e-6f);
}

TEST(Character, VerticesWithOtherWeightsStayApart) {
  Scene scene = cube_scene(test::split_all(test::make_cube()));
  scene.meshes[0].weights.joints[0] = 1;
  EXPECT_EQ(Character::make(scene, Recipe())->rest().size(), 9u);
}

TEST(Character, VerticesWithOtherMorphsStayApart) {
  Scene scene = cube_scene(test::split_all(test::make_cube()));
  MorphTarget target{"open", std::vector<Vec3f>(24, Vec3f::Zero())};
  target.displacements[0] = {0, 1, 0};
  scene.meshes[0].morph_targets.push_back(target);
  scene.meshes[0].morph_weights = {0};
  const auto character = Character::make(scene, Recipe());
  EXPECT_EQ(character->rest().size(), 9u);
  Performer performer(character);
  Pose pose = character->rest_pose();
  pose.morph_weights[0] = 0.5f;
  performer.perform(pose);
  EXPECT_LT((performer.positions(0)[0] - scene.meshes[0].surface.positions[0] - Vec3f(0, 0.5f, 0)).norm(),
            1e-6f);
  EXPECT_LT((performer.positions(0)[1] - scene.meshes[0].surface.positions[1]).norm(), 1e-6f);
}

TEST(Character, WeldToleranceClosesGaps) {
  Scene scene = cube_scene(test::split_all(test::make_cube()));
  scene.meshes[0].surface.positions[0].x() += 1e-4f;
  Recipe recipe;
  EXPECT_EQ(Character::make(scene, recipe)->rest().size(), 9u);
  recipe.weld_tolerance = 1e-3;
  EXPECT_EQ(Character::make(scene, recipe)->rest().size(), 8u);
}

TEST(Character, HardEdgesStayHardAndSmoothOnesSmooth) {
  for (const bool split : {true, false}) {  // as glTF and as OBJ have it
    Scene hard = cube_scene(split ? test::split_all(test::make_cube()) : test::make_cube());
    add_flat_normals(hard.meshes[0]);
    Performer performer(Character::make(hard, Recipe()));
    ASSERT_EQ(performer.normals(0).size(), 24u);
    for (const Vec3f& normal : performer.normals(0)) EXPECT_NEAR(normal.cwiseAbs().maxCoeff(), 1, 1e-6);
  }
  Performer smooth(Character::make(cube_scene(test::split_all(test::make_cube())), Recipe()));
  ASSERT_EQ(smooth.normals(0).size(), 24u);
  for (std::size_t v = 0; v < 24; ++v) {
    EXPECT_LT(smooth.normals(0)[v].cwiseAbs().maxCoeff(), 0.9f);
    EXPECT_GT(smooth.normals(0)[v].dot(smooth.positions(0)[v]), 0);
  }
}

TEST(Character, NormalsFaceAsTheFileSays) {
  Scene scene = cube_scene(test::make_cube());
  add_flat_normals(scene.meshes[0]);
  for (Vec3f& normal : scene.meshes[0].normals.values)
    normal = -normal;  // triangles wound the other way round
  Performer performer(Character::make(scene, Recipe()));
  for (std::size_t v = 0; v < 8; ++v) EXPECT_LT(performer.normals(0)[v].dot(performer.positions(0)[v]), 0);
}

TEST(Character, NormalsOnlyOnRequest) {
  Recipe recipe;
  recipe.normals = false;
  Performer performer(Character::make(cube_scene(test::make_cube()), recipe));
  EXPECT_TRUE(performer.normals(0).empty());
}

TEST(Character, InfluencesAreCutAndRescaled) {
  Scene scene = test::make_grid_tube();
  Recipe recipe = recipe_for_method("lbs");
  recipe.influences = 1;
  const auto character = Character::make(scene, recipe);
  for (std::size_t v = 0; v < character->skin_weights().rows(); ++v)
    ASSERT_EQ(character->skin_weights().row_size(v), 1u);
}

TEST(Character, UnweightedVerticesFollowTheRootAndAreReported) {
  Scene scene = cube_scene(test::make_cube());
  SkinWeights& weights = scene.meshes[0].weights;
  weights.joints.pop_back();
  weights.values.pop_back();
  weights.starts.back() -= 1;
  const auto character = Character::make(scene, Recipe());
  ASSERT_EQ(character->warnings().size(), 1u);
  EXPECT_NE(character->warnings()[0].find("1 vertices without weights"), std::string::npos);
  Performer performer(character);
  Pose pose = character->rest_pose();
  pose.joints[0].translation = {5, 0, 0};
  performer.perform(pose);
  EXPECT_LT((performer.positions(0)[7] - scene.meshes[0].surface.positions[7] - Vec3f(5, 0, 0)).norm(),
            1e-6f);
}

TEST(Character, BindMatricesThatDisagreeWithTheRestPose) {
  // The file binds at x = 0 but rests at x = 10: the rest pose moves the mesh, as every viewer shows it.
  Scene scene = cube_scene(test::make_cube());
  scene.skeleton.joints[0].rest.translation = {10, 0, 0};
  Performer performer(Character::make(scene, Recipe()));
  EXPECT_LT((performer.positions(0)[0] - scene.meshes[0].surface.positions[0] - Vec3f(10, 0, 0)).norm(),
            1e-5f);
}

TEST(Character, TwoSkinsMayBindOneJointDifferently) {
  Scene scene = cube_scene(test::make_cube());
  scene.skins.push_back(scene.skins[0]);
  scene.skins[1].joint_from_mesh[0](0, 3) = 7;
  scene.meshes.push_back(scene.meshes[0]);
  scene.meshes[1].skin = 1;
  Performer performer(Character::make(scene, Recipe()));
  EXPECT_LT((performer.positions(1)[0] - performer.positions(0)[0] - Vec3f(7, 0, 0)).norm(), 1e-5f);
}

TEST(Character, MeshesOfOneSkinShareItsBindings) {
  Scene scene = cube_scene(test::make_cube());
  scene.meshes.push_back(scene.meshes[0]);
  EXPECT_EQ(Character::make(scene, Recipe())->bindings().size(), 2u);
}

TEST(Character, UnskinnedMeshFollowsItsNode) {
  Scene scene = cube_scene(test::make_cube());
  scene.meshes[0].skin = -1;
  scene.meshes[0].weights = {};
  scene.meshes[0].joint = 1;
  scene.skeleton.joints[1].rest.translation = {0, 3, 0};
  scene.skeleton.joints[1].rest.scale = {1, 2, 1};
  const auto character = Character::make(scene, Recipe());
  Performer performer(character);
  Pose pose = character->rest_pose();
  pose.joints[1].rotation = Quatf(Eigen::AngleAxisf(float(M_PI / 2), Vec3f::UnitZ()));
  performer.perform(pose);
  for (std::size_t v = 0; v < 8; ++v) {
    const Vec3f p = scene.meshes[0].surface.positions[v];
    EXPECT_LT((performer.positions(0)[v] - Vec3f(-2 * p.y(), 3 + p.x(), p.z())).norm(), 1e-5f);
    EXPECT_LT(
        (performer.scene_from_mesh(0) * p.cast<double>() - performer.positions(0)[v].cast<double>()).norm(),
        1e-5);
  }
  // At rest scaled to nothing: it appears when the pose gives it a size.
  scene.skeleton.joints[1].rest.scale = {0, 0, 0};
  const auto hidden = Character::make(scene, Recipe());
  Performer shown(hidden);
  pose = hidden->rest_pose();
  EXPECT_TRUE(shown.positions(0)[0].allFinite());
  pose.joints[1].scale = {1, 1, 1};
  shown.perform(pose);
  EXPECT_LT((shown.positions(0)[0] - Vec3f(-1, 2, -1)).norm(), 1e-5f);
}

TEST(Character, RefusesScenesThatDoNotHoldTogether) {
  EXPECT_THROW(Character::make(Scene(), Recipe()), Error);
  Scene scene = cube_scene(test::make_cube());
  scene.meshes[0].weights.joints[3] = 99;
  EXPECT_THROW(Character::make(scene, Recipe()), Error);
  scene = cube_scene(test::make_cube());
  scene.meshes[0].surface.positions[2].y() = std::nanf("");
  EXPECT_THROW(Character::make(scene, Recipe()), Error);
  Recipe recipe;
  recipe.layers[0].method = "nonsense";
  EXPECT_THROW(Character::make(cube_scene(test::make_cube()), recipe), Error);
}

}  // namespace
}  // namespace sinew
