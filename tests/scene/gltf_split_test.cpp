#include <sinew/scene/gltf_split.h>

#include <gtest/gtest.h>

#include <sinew/scene/normal_slots.h>
#include <tests/support/meshes.h>

namespace sinew {
namespace {

/// A cube whose six quads each have their own normal.
SceneMesh hard_cube() {
  SceneMesh mesh;
  mesh.surface = test::make_cube();
  for (std::size_t p = 0; p < mesh.surface.polygons.size(); ++p) {
    Vec3f sum = Vec3f::Zero();
    for (std::uint32_t v : mesh.surface.polygons[p]) sum += mesh.surface.positions[v];
    mesh.normals.values.push_back(sum.normalized());
    for (std::size_t i = 0; i < mesh.surface.polygons[p].size(); ++i)
      mesh.normals.corners.push_back(static_cast<std::uint32_t>(p));
  }
  return mesh;
}

TEST(SplitVertices, SmoothMeshStaysAsItIs) {
  SceneMesh mesh;
  mesh.surface = test::make_cube();
  const SplitVertices split = split_vertices(mesh);
  ASSERT_EQ(split.vertices.size(), 8u);
  for (std::uint32_t v = 0; v < 8; ++v) {
    EXPECT_EQ(split.vertices[v], v);
    EXPECT_EQ(split.slots[v], v);
  }
  ASSERT_EQ(split.triangles.size(), 36u);
  for (std::size_t i = 0; i < 36; ++i) EXPECT_EQ(split.triangles[i], mesh.surface.triangles[i / 3][i % 3]);
  EXPECT_TRUE(split.texcoords.empty());
}

TEST(SplitVertices, HardEdgesDoubleVerticesBehindTheFirst) {
  const SceneMesh mesh = hard_cube();
  const NormalSlots slots = normal_slots(mesh);
  const SplitVertices split = split_vertices(mesh);
  ASSERT_EQ(split.vertices.size(), 24u) << "three faces meet at each of eight corners";
  for (std::uint32_t v = 0; v < 8; ++v) EXPECT_EQ(split.vertices[v], v);
  for (std::size_t t = 0; t < mesh.surface.triangles.size(); ++t)
    for (std::size_t c = 0; c < 3; ++c) {
      const std::uint32_t v = split.triangles[3 * t + c];
      EXPECT_EQ(split.vertices[v], mesh.surface.triangles[t][c]);
      const std::uint32_t corner = mesh.surface.triangle_corners[t][c];
      EXPECT_EQ(slots.file_normal[split.slots[v]], mesh.normals.values[mesh.normals.corners[corner]]);
    }
}

TEST(SplitVertices, UvSeamsDoubleVerticesOnceEach) {
  SceneMesh mesh;
  mesh.surface = test::make_grid(2, 1);  // quads 0 and 1 share the vertices 1 and 4
  mesh.texcoords.values = {Vec2f(0, 0), Vec2f(1, 0)};
  for (std::size_t p = 0; p < mesh.surface.polygons.size(); ++p)
    for (std::uint32_t v : mesh.surface.polygons[p]) {
      const bool left = mesh.surface.positions[v].x() < 0.75f && p < mesh.surface.polygons.size() / 2;
      mesh.texcoords.corners.push_back(left ? 0 : 1);
    }
  const SplitVertices split = split_vertices(mesh);
  EXPECT_EQ(split.vertices.size(), mesh.surface.positions.size() + 2);
  for (std::size_t t = 0; t < mesh.surface.triangles.size(); ++t)
    for (std::size_t c = 0; c < 3; ++c) {
      const std::uint32_t corner = mesh.surface.triangle_corners[t][c];
      EXPECT_EQ(split.texcoords[split.triangles[3 * t + c]],
                mesh.texcoords.values[mesh.texcoords.corners[corner]]);
    }
}

TEST(SplitVertices, UnusedVerticesStay) {
  SceneMesh mesh = hard_cube();
  mesh.surface.positions.push_back(Vec3f(9, 9, 9));
  const SplitVertices split = split_vertices(mesh);
  ASSERT_EQ(split.vertices.size(), 25u);
  EXPECT_EQ(split.vertices[8], 8u);
  EXPECT_EQ(split.slots[8], 8u);
}

TEST(UnitNormal, MendsLengthOnly) {
  EXPECT_EQ(unit_normal(Vec3f(0, 0, 1)), Vec3f(0, 0, 1));
  EXPECT_EQ(unit_normal(Vec3f(0, -4, 0)), Vec3f(0, -1, 0));
  EXPECT_EQ(unit_normal(Vec3f(1e-30f, 0, 0)), Vec3f(1, 0, 0));
  EXPECT_EQ(unit_normal(Vec3f::Zero()), Vec3f(0, 1, 0));
  EXPECT_EQ(unit_normal(Vec3f(std::nanf(""), 0, 0)), Vec3f(0, 1, 0));
  const Vec3f almost(0.6f, 0.80001f, 0);
  EXPECT_EQ(unit_normal(almost), almost);
}

}  // namespace
}  // namespace sinew
