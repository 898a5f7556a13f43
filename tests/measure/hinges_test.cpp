#include <sinew/measure/hinges.h>

#include <cmath>

#include <gtest/gtest.h>

#include <sinew/character/performer.h>

#include "tests/support/grid_tube.h"

namespace sinew {
namespace {

constexpr double kDegree = std::numbers::pi / 180;

std::shared_ptr<const Character> character(const Scene& scene) {
  return Character::make(scene, recipe_for_method("lbs"));
}

Scene small_tube() {
  test::GridTubeOptions options;
  options.rings = 9;
  options.segments = 6;
  return test::make_grid_tube(options);
}

TEST(Hinges, ATubeHasOne) {
  const auto tube = character(small_tube());
  const std::vector<Hinge> hinges = find_hinges(*tube);
  ASSERT_EQ(hinges.size(), 1u);
  EXPECT_EQ(hinges[0].name, "upper");
  EXPECT_EQ(tube->bindings()[hinges[0].binding].joint, 1);
  EXPECT_EQ(tube->bindings()[hinges[0].parent].joint, 0);
  EXPECT_LT(hinges[0].position.norm(), 1e-6);
}

TEST(Hinges, TurnByTheAngleBetweenBindings) {
  const Scene scene = small_tube();
  const auto tube = character(scene);
  const Hinge hinge = find_hinges(*tube)[0];
  Performer performer(tube);
  for (const Clip& clip : scene.clips)
    for (const int degrees : {0, 1, 35, 90, 150}) {
      Pose pose = rest_pose(scene);
      sample_clip(clip, degrees / 30.0, pose);
      // What both do is no bending, however they do it.
      pose.joints[0].rotation = Quatf(Eigen::AngleAxisf(1.9f, Vec3f(1, 2, 3).normalized()));
      pose.joints[0].scale = Vec3f(-2.5f, 2.5f, 2.5f);
      performer.perform(pose);
      EXPECT_NEAR(turned_angle(hinge, performer.posed_from_rest()) / kDegree, degrees, 1e-3) << clip.name;
    }
  EXPECT_EQ(turned_angle(hinge, {}), 0);
  EXPECT_EQ(turned_angle(hinge, performer.posed_from_rest().first(1)), 0);
  for (int axis = 0; axis < 3; ++axis)
    for (const double degrees : {-170.0, -100.0, 100.0, 170.0}) {
      const Affine3d turn(Eigen::AngleAxisd(degrees * kDegree, Vec3d::Unit(axis)));
      const std::vector<Affine3d> bones{Affine3d::Identity(), turn};
      EXPECT_NEAR(turned_angle(hinge, bones) / kDegree, std::abs(degrees), 1e-9);
    }
  const std::vector<Affine3d> halfway{
      Affine3d(Eigen::AngleAxisd(std::numbers::pi, Vec3d(1, 1, 0).normalized())), Affine3d::Identity()};
  EXPECT_NEAR(turned_angle(hinge, halfway) / kDegree, 180, 1e-6);
}

TEST(Hinges, JointsThatMoveNothingArePassedOver) {
  Scene scene = small_tube();
  // lower → idle (bound, without weights) → helper (not bound) → upper.
  Skeleton& skeleton = scene.skeleton;
  const Joint upper = skeleton.joints[1];
  skeleton.joints.resize(4);
  skeleton.joints[1] = {"idle", 0, {}, true};
  skeleton.joints[2] = {"helper", 1, {}, false};
  skeleton.joints[3] = upper;
  skeleton.joints[3].parent = 2;
  scene.skins[0].joints = {0, 3, 1};
  scene.skins[0].joint_from_mesh.push_back(Mat4f::Identity());
  scene.joint_nodes.assign(4, -1);
  scene.clips.clear();
  const auto tube = character(scene);
  const std::vector<Hinge> hinges = find_hinges(*tube);
  ASSERT_EQ(hinges.size(), 1u);
  EXPECT_EQ(hinges[0].name, "upper");
  EXPECT_EQ(tube->bindings()[hinges[0].parent].joint, 0);
}

TEST(Hinges, SkinsWithBindPosesOfTheirOwnStayApart) {
  Scene scene = small_tube();
  // The same tube again, bound lying elsewhere.
  Affine3d elsewhere = Affine3d::Identity();
  elsewhere.rotate(Eigen::AngleAxisd(1.2, Vec3d(2, -1, 1).normalized()));
  elsewhere.pretranslate(Vec3d(3, 4, 5));
  SceneMesh second = scene.meshes[0];
  for (Vec3f& p : second.surface.positions) p = (elsewhere * p.cast<double>()).cast<float>();
  second.skin = 1;
  Skin skin = scene.skins[0];
  for (Mat4f& matrix : skin.joint_from_mesh)
    matrix = (matrix.cast<double>() * elsewhere.inverse().matrix()).cast<float>();
  scene.skins.push_back(skin);
  scene.meshes.push_back(second);
  scene.mesh_nodes.push_back(-1);
  const auto tubes = character(scene);
  const std::vector<Hinge> hinges = find_hinges(*tubes);
  ASSERT_EQ(hinges.size(), 2u);
  EXPECT_LT(hinges[0].position.norm(), 1e-5);
  EXPECT_LT((hinges[1].position - elsewhere.translation()).norm(), 1e-5);
  Performer performer(tubes);
  Pose pose = rest_pose(scene);
  sample_clip(scene.clips[0], 2.0, pose);
  performer.perform(pose);
  for (const Hinge& hinge : hinges)
    EXPECT_NEAR(turned_angle(hinge, performer.posed_from_rest()) / kDegree, 60, 1e-3);
}

}  // namespace
}  // namespace sinew
