#include <sinew/authoring/transfer_scene.h>

#include <algorithm>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/scene/gltf.h>
#include <tests/support/grid_tube.h>
#include <tests/support/meshes.h>
#include <tests/support/rigged_tube.h>
#include <tests/support/temporary_directory.h>
#include <tests/support/validator.h>

namespace sinew {
namespace {

Scene body() {
  Scene scene = test::make_grid_tube({.rings = 32, .segments = 16});
  scene.source = "body.glb";
  return scene;
}

/// A sleeve round the body, a little wider, with its vertices in centimetres below a scaled node.
Scene sleeve() {
  Scene scene;
  scene.source = "sleeve.obj";
  scene.skeleton.joints = {{"holder", -1, {}, false}};
  scene.skeleton.joints[0].rest.scale = Vec3f::Constant(0.01f);
  const Scene inner = test::make_grid_tube({.rings = 20, .segments = 12, .radius = 0.22f});
  SceneMesh mesh;
  mesh.name = "sleeve";
  mesh.surface = inner.meshes[0].surface;
  for (Vec3f& p : mesh.surface.positions) p = 100 * p;
  mesh.joint = 0;
  scene.meshes = {mesh};
  return scene;
}

TEST(TransferScene, ClothesMoveWithTheBody) {
  TransferSceneReport report;
  const Scene clothed = transfer_scene(body(), sleeve(), {}, &report);
  check_scene(clothed);
  EXPECT_EQ(report.unbound(), 0u);
  EXPECT_EQ(report.meshes[0].vertices, clothed.meshes[0].surface.positions.size());
  EXPECT_EQ(report.joints.size(), 2u);
  EXPECT_TRUE(report.warnings.empty());
  EXPECT_EQ(clothed.clips.size(), body().clips.size());
  EXPECT_EQ(clothed.meshes[0].surface, sleeve().meshes[0].surface);

  // Bent, it is where the body's own skin would be, had it vertices there.
  Scene wider = test::make_grid_tube({.rings = 20, .segments = 12, .radius = 0.22f});
  const std::vector<Vec3f> expected = test::pose_mesh(wider, 0, 1), posed = test::pose_mesh(clothed, 0, 1);
  ASSERT_EQ(posed.size(), expected.size());
  double mean = 0;
  for (std::size_t v = 0; v < posed.size(); ++v)
    mean += (posed[v] - expected[v]).norm() / static_cast<double>(posed.size());
  EXPECT_LT(mean, 0.01);

  const test::TemporaryDirectory directory;
  write_glb(clothed, directory / "out.glb");
  test::expect_valid(directory / "out.glb", true);
}

TEST(TransferScene, InfluencesAreLimited) {
  const Scene clothed = transfer_scene(body(), sleeve(), {.influences = 1});
  for (std::size_t v = 0; v < clothed.meshes[0].weights.rows(); ++v)
    EXPECT_EQ(clothed.meshes[0].weights.row_size(v), 1u);
}

TEST(TransferScene, FarAwayItSaysSo) {
  Scene far = sleeve();
  far.skeleton.joints[0].rest.translation = Vec3f(0, 50, 0);
  TransferSceneReport report;
  transfer_scene(body(), far, {}, &report);
  EXPECT_EQ(report.unbound(), 0u);
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_NE(report.warnings[0].find("far from the bound mesh"), std::string::npos) << report.warnings[0];
}

TEST(TransferScene, ErrorsSayWhatIsMissing) {
  EXPECT_THROW(transfer_scene(sleeve(), sleeve()), Error);
  EXPECT_THROW(transfer_scene(body(), Scene()), Error);
  EXPECT_THROW(transfer_scene(body(), sleeve(), {.meshes = {"hat"}}), Error);
}

}  // namespace
}  // namespace sinew
