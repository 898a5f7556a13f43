// Real characters, where they are at hand.

#include <gtest/gtest.h>

#include <sinew/core/index.h>
#include <sinew/scene/gltf.h>
#include <tests/support/assets.h>

namespace sinew {
namespace {

std::vector<std::string> clip_names(const Scene& scene) {
  std::vector<std::string> names;
  for (const Clip& clip : scene.clips) names.push_back(clip.name);
  return names;
}

/// The joint matrices of a bind pose take every vertex to itself: as good a check of nodes, matrices and
/// conventions as there is, for files whose bind pose is their rest pose.
double largest_bind_error(const Scene& scene) {
  const Skin& skin = scene.skins[0];
  const Pose pose = rest_pose(scene);
  std::vector<Affine3d> world(scene.skeleton.size());
  forward_kinematics(scene.skeleton, pose.joints, world);
  double largest = 0;
  for (std::size_t j = 0; j < skin.joints.size(); ++j) {
    const Mat4d product = world[to_size(skin.joints[j])].matrix() * skin.joint_from_mesh[j].cast<double>();
    const Mat4d first = world[to_size(skin.joints[0])].matrix() * skin.joint_from_mesh[0].cast<double>();
    largest = std::max(largest, (product - first).cwiseAbs().maxCoeff());
  }
  return largest;
}

TEST(GltfAssets, Human) {
  const auto path = test::asset("human.glb");
  if (!path) GTEST_SKIP() << test::missing_asset("human.glb");
  const Scene scene = read_gltf(*path);
  EXPECT_TRUE(scene.warnings.empty()) << scene.warnings[0];
  EXPECT_EQ(scene.skeleton.size(), 55u);
  ASSERT_EQ(scene.skins.size(), 1u);
  EXPECT_EQ(scene.skins[0].joints.size(), 53u);
  ASSERT_EQ(scene.meshes.size(), 1u);
  const SceneMesh& mesh = scene.meshes[0];
  EXPECT_EQ(mesh.name, "Human");
  EXPECT_EQ(mesh.surface.positions.size(), 13380u);
  EXPECT_EQ(mesh.weights.rows(), 13380u);
  std::size_t most = 0;
  for (std::size_t v = 0; v < mesh.weights.rows(); ++v) most = std::max(most, mesh.weights.row_size(v));
  EXPECT_EQ(most, 4u);
  EXPECT_EQ(clip_names(scene), (std::vector<std::string>{"bend", "crouch", "twist"}));
  for (const Clip& clip : scene.clips) EXPECT_EQ(frame_count(clip, 30), 60) << clip.name;
  EXPECT_LT(largest_bind_error(scene), 1e-5);
  Vec3f low = mesh.surface.positions[0], high = low;
  for (const Vec3f& p : mesh.surface.positions) low = low.cwiseMin(p), high = high.cwiseMax(p);
  EXPECT_GT(high.y() - low.y(), 1.4f);
  EXPECT_LT(high.y() - low.y(), 2.0f);
}

TEST(GltfAssets, Fox) {
  const auto path = test::asset("fox.glb");
  if (!path) GTEST_SKIP() << test::missing_asset("fox.glb");
  const Scene scene = read_gltf(*path);
  EXPECT_EQ(scene.skeleton.size(), 26u);
  EXPECT_EQ(scene.skins[0].joints.size(), 24u);
  EXPECT_EQ(clip_names(scene), (std::vector<std::string>{"Survey", "Walk", "Run"}));
  EXPECT_EQ(scene.meshes[0].surface.positions.size(), 1728u);  // not indexed
  EXPECT_EQ(scene.meshes[0].surface.triangles.size(), 576u);
  EXPECT_FALSE(scene.meshes[0].texcoords.empty());
  EXPECT_TRUE(scene.meshes[0].normals.empty());
}

TEST(GltfAssets, RiggedFigure) {
  const auto path = test::asset("rigged_figure.glb");
  if (!path) GTEST_SKIP() << test::missing_asset("rigged_figure.glb");
  const Scene scene = read_gltf(*path);
  EXPECT_EQ(scene.skeleton.size(), 22u);
  EXPECT_EQ(scene.skins[0].joints.size(), 19u);
  ASSERT_EQ(scene.clips.size(), 1u);
  EXPECT_EQ(scene.clips[0].channels.size(), 57u);
  EXPECT_EQ(scene.clips[0].name, "");
  // Its root turns Z up to Y up by a matrix.
  const Affine3d root = scene.skeleton.joints[0].rest.matrix();
  EXPECT_LT((root * Vec3d(0, 0, 1) - Vec3d(0, 1, 0)).norm(), 1e-6);
}

}  // namespace
}  // namespace sinew
