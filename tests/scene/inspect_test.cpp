#include <sinew/scene/inspect.h>

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/support/grid_tube.h"
#include "tests/support/meshes.h"

namespace sinew {
namespace {

bool has_problem(const SceneInspection& inspection, const std::string& text) {
  return std::any_of(inspection.problems.begin(), inspection.problems.end(),
                     [&](const std::string& problem) { return problem.find(text) != std::string::npos; });
}

Scene unbound(const Mesh& surface) {
  Scene scene;
  SceneMesh mesh;
  mesh.name = "m";
  mesh.surface = surface;
  scene.meshes.push_back(mesh);
  return scene;
}

/// The tube with its joints bound well inside of it.
Scene sound_tube() {
  Scene scene = test::make_grid_tube();
  scene.skins[0].joint_from_mesh[0](0, 3) = 0.9f;
  return scene;
}

TEST(Inspect, NothingWrong) {
  const SceneInspection inspection = inspect_scene(sound_tube());
  EXPECT_TRUE(inspection.problems.empty()) << inspection.problems[0];
  EXPECT_EQ(inspection.meshes[0].most_influences, 2u);
  EXPECT_TRUE(inspection.meshes[0].topology.watertight());
}

TEST(Inspect, JointOutsideOfTheMesh) {
  Scene scene = sound_tube();
  scene.skins[0].joint_from_mesh[1](1, 3) = -3;  // bound three metres above the tube
  const SceneInspection inspection = inspect_scene(scene);
  EXPECT_EQ(inspection.meshes[0].joints_outside, (std::vector<std::string>{"upper"}));
  EXPECT_TRUE(has_problem(inspection, "1 of its joints lie outside of it: upper"));
}

TEST(Inspect, JointsThatMoveNothingMayBeAnywhere) {
  Scene scene = sound_tube();
  scene.skins[0].joints.push_back(2);
  scene.skins[0].joint_from_mesh.push_back(Mat4f::Identity());
  scene.skins[0].joint_from_mesh[2](1, 3) = 50;
  EXPECT_TRUE(inspect_scene(scene).meshes[0].joints_outside.empty());
}

TEST(Inspect, UnweightedVertices) {
  Scene scene = sound_tube();
  SkinWeights& weights = scene.meshes[0].weights;
  const std::size_t last = weights.row_size(weights.rows() - 1);
  weights.joints.resize(weights.joints.size() - last);
  weights.values.resize(weights.joints.size());
  weights.starts.back() -= static_cast<std::uint32_t>(last);
  const SceneInspection inspection = inspect_scene(scene);
  EXPECT_EQ(inspection.meshes[0].unweighted_vertices, 1u);
  EXPECT_TRUE(has_problem(inspection, "1 vertices without weights"));
}

TEST(Inspect, SeamsAreNotBorders) {
  const SceneInspection inspection = inspect_scene(unbound(test::split_all(test::make_cube())));
  EXPECT_EQ(inspection.meshes[0].file_vertices, 24u);
  EXPECT_EQ(inspection.meshes[0].topology.vertices, 8u);
  EXPECT_TRUE(inspection.meshes[0].topology.watertight());
  EXPECT_NEAR(inspection.meshes[0].volume, 8, 1e-9);
  EXPECT_TRUE(has_problem(inspection, "not bound to a skeleton"));
}

TEST(Inspect, OpenBordersIslandsAndInsideOut) {
  const SceneInspection open =
      inspect_scene(unbound(test::join(test::make_grid(2, 2), test::moved(test::make_cube(), {9, 9, 9}))));
  EXPECT_TRUE(has_problem(open, "open: 1 borders with 8 edges"));
  EXPECT_TRUE(has_problem(open, "2 islands"));
  Mesh flipped = test::make_cube();
  for (std::size_t p = 0; p < flipped.polygons.size(); ++p)
    std::reverse(flipped.polygons.corners.begin() + flipped.polygons.starts[p],
                 flipped.polygons.corners.begin() + flipped.polygons.starts[p + 1]);
  EXPECT_TRUE(
      has_problem(inspect_scene(unbound(make_mesh(flipped.positions, flipped.polygons))), "inside out"));
}

TEST(Inspect, EmptyScene) {
  EXPECT_TRUE(has_problem(inspect_scene(Scene()), "no mesh"));
}

}  // namespace
}  // namespace sinew
