#include <sinew/character/joined_surface.h>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/geometry/volume.h>
#include <tests/support/meshes.h>

namespace sinew {
namespace {

SceneMesh named(const std::string& name, Mesh surface) {
  SceneMesh mesh;
  mesh.name = name;
  mesh.surface = std::move(surface);
  return mesh;
}

Scene cubes() {
  Scene scene;
  scene.source = "cubes.obj";
  scene.meshes = {named("body", test::split_all(test::make_cube())), named("eye.L", test::make_cube(1)),
                  named("empty", Mesh()), named("eye.R", test::make_cube(1))};
  return scene;
}

TEST(JoinedSurface, SeamsCloseAndMeshesStayApart) {
  const Scene scene = cubes();
  std::vector<Affine3d> places(4, Affine3d::Identity());
  places[1] = Eigen::Translation3d(0, 5, 0) * Eigen::Scaling(2.0);
  const JoinedSurface joined = join_surfaces(scene, std::vector<std::size_t>{0, 1}, places, WeldBy::position);
  EXPECT_EQ(joined.positions.size(), 16u);
  EXPECT_EQ(joined.triangles.size(), 24u);
  EXPECT_NEAR(enclosed_volume(joined.view()), 16, 1e-5);
  EXPECT_EQ(joined.parts[1].mesh, 1u);
  EXPECT_EQ(joined.parts[1].first_vertex, 8u);
  for (std::size_t v = 8; v < 16; ++v) EXPECT_NEAR(std::abs(joined.positions[v].y() - 5), 1, 1e-6);
}

TEST(JoinedSurface, MirroredMeshesAreTurnedRound) {
  const Scene scene = cubes();
  std::vector<Affine3d> places(4, Affine3d(Eigen::Scaling(-1.0, 1.0, 1.0)));
  EXPECT_NEAR(
      enclosed_volume(join_surfaces(scene, std::vector<std::size_t>{0}, places, WeldBy::position).view()), 8,
      1e-5);
}

TEST(JoinedSurface, RefusesWhatNoFloatReaches) {
  Scene scene = cubes();
  const std::vector<Affine3d> places(4, Affine3d(Eigen::Scaling(1e39)));
  EXPECT_THROW(join_surfaces(scene, std::vector<std::size_t>{0}, places, WeldBy::position), Error);
}

TEST(JoinedSurface, RowsGoBackToTheFilesVertices) {
  const Scene scene = cubes();
  const JoinedSurface joined =
      join_surfaces(scene, std::vector<std::size_t>{1, 0}, std::vector<Affine3d>(4, Affine3d::Identity()),
                    WeldBy::position);
  SkinWeights welded;
  for (std::uint32_t v = 0; v < 16; ++v) {
    welded.joints.insert(welded.joints.end(), {v, 20});
    welded.values.insert(welded.values.end(), {0.75f, 0.25f});
    welded.starts.push_back(2 * v + 2);
  }
  std::vector<int> numbers(21);
  for (int i = 0; i < 21; ++i) numbers[to_size(i)] = 20 - i;
  const SkinWeights rows = file_weights(joined.parts[1], welded, numbers);
  ASSERT_EQ(rows.rows(), scene.meshes[0].surface.positions.size());
  for (std::size_t v = 0; v < rows.rows(); ++v) {
    const std::uint32_t row = 20 - rows.row_joints(v)[0];
    EXPECT_EQ(joined.positions[row], scene.meshes[0].surface.positions[v]);
    EXPECT_EQ(rows.row_joints(v)[1], 0u);
    EXPECT_EQ(rows.row_values(v)[0], 0.75f);
  }
}

TEST(JoinedSurface, MeshesAreChosenByPattern) {
  const Scene scene = cubes();
  const auto chosen = [&](std::vector<std::string> patterns) { return choose_meshes(scene, patterns); };
  EXPECT_EQ(chosen({}), (std::vector<std::size_t>{0, 1, 3}));
  EXPECT_EQ(chosen({"eye.*", "body"}), (std::vector<std::size_t>{0, 1, 3}));
  EXPECT_EQ(chosen({"eye.?"}), (std::vector<std::size_t>{1, 3}));
  try {
    chosen({"body", "Eye*"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "cubes.obj: no mesh is called 'Eye*'; there are 'body', 'eye.L', 'empty', 'eye.R'");
  }
  EXPECT_THROW(chosen({"empty"}), Error);
  EXPECT_THROW(choose_meshes(Scene(), {}), Error);
}

TEST(JoinedSurface, LongListsAreCut) {
  const std::vector<std::string> names{"a", "b", "c", "d", "e", "f", "g", "h"};
  EXPECT_EQ(list_names(names), "a, b, c, d, e, f and 2 more");
  EXPECT_EQ(list_names(std::vector<std::string>{"a"}), "a");
}

}  // namespace
}  // namespace sinew
