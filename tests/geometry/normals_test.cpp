#include <sinew/geometry/normals.h>

#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

std::vector<Vec3f> smooth_normals(const Mesh& mesh, const Vec3f& fallback = Vec3f::UnitY()) {
  const NormalSolver solver(mesh.triangles, mesh.triangles, mesh.positions.size());
  std::vector<Vec4f> scratch(solver.scratch_size());
  std::vector<Vec3f> normals(solver.slot_count());
  solver.compute(mesh.positions, scratch, normals, fallback);
  return normals;
}

TEST(Normals, SphereNormalsPointOutwards) {
  const Mesh sphere = test::make_icosphere(4);
  const std::vector<Vec3f> normals = smooth_normals(sphere);
  for (std::size_t v = 0; v < normals.size(); ++v) {
    EXPECT_NEAR(normals[v].norm(), 1, 1e-6);
    EXPECT_GT(normals[v].dot(sphere.positions[v]), 0.9999f);
  }
}

TEST(Normals, AreWeightedByArea) {
  // Two triangles at vertex 0: area 2 facing +z, area 1 facing +x.
  const Mesh mesh = make_mesh({{0, 0, 0}, {2, 0, 0}, {0, 2, 0}, {0, 1, 0}, {0, 0, 2}},
                              std::vector<Triangle>{{0, 1, 2}, {0, 3, 4}});
  const Vec3f expected = Vec3f(1, 0, 2).normalized();
  EXPECT_LT((smooth_normals(mesh)[0] - expected).norm(), 1e-6);
}

TEST(Normals, HardEdgesStayHard) {
  const Mesh cube = test::make_cube();
  // One slot per corner of the six quads.
  const NormalSolver solver(cube.triangles, cube.triangle_corners, 24);
  std::vector<Vec4f> scratch(solver.scratch_size());
  std::vector<Vec3f> normals(24);
  solver.compute(cube.positions, scratch, normals);
  const Vec3f faces[6] = {-Vec3f::UnitX(), Vec3f::UnitX(),  -Vec3f::UnitY(),
                          Vec3f::UnitY(),  -Vec3f::UnitZ(), Vec3f::UnitZ()};
  for (int slot = 0; slot < 24; ++slot) EXPECT_EQ(normals[slot], faces[slot / 4]) << slot;
}

TEST(Normals, AnySizeOfMesh) {
  const Mesh sphere = test::make_icosphere(2);
  const std::vector<Vec3f> expected = smooth_normals(sphere);
  for (const float scale : {1e-30f, 1e-20f, 1e-12f, 1e-7f, 1e9f, 1e18f, 1e38f}) {
    const std::vector<Vec3f> normals = smooth_normals(test::moved(sphere, Vec3f::Zero(), scale));
    for (std::size_t v = 0; v < normals.size(); ++v)
      EXPECT_LT((normals[v] - expected[v]).norm(), 1e-5) << "scale " << scale << ", vertex " << v;
  }
}

TEST(Normals, FallBackWhereThereIsNoArea) {
  const Vec3f fallback(0.6f, 0, 0.8f);
  const Mesh mesh = make_mesh({{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {5, 5, 5}, {0, 1, 0}},
                              std::vector<Triangle>{{0, 1, 2}, {0, 0, 1}, {1, 1, 1}});
  for (const Vec3f& normal : smooth_normals(mesh, fallback)) EXPECT_EQ(normal, fallback);
}

TEST(Normals, FallBackWhereTrianglesCancel) {
  const Vec3f fallback = Vec3f::UnitX();
  for (const float scale : {1e-20f, 1.0f, 1e20f}) {
    const Mesh sheet = make_mesh({Vec3f(0, 0, 0), Vec3f(scale, 0, 0), Vec3f(0, scale, 0)},
                                 std::vector<Triangle>{{0, 1, 2}, {0, 2, 1}});
    for (const Vec3f& normal : smooth_normals(sheet, fallback)) EXPECT_EQ(normal, fallback) << scale;
  }
}

TEST(Normals, NaNPositionsDoNotLeak) {
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    Mesh cube = test::make_cube();
    cube.positions[0].x() = bad;
    for (const Vec3f& normal : smooth_normals(cube)) {
      EXPECT_TRUE(normal.allFinite());
      EXPECT_NEAR(normal.norm(), 1, 1e-6);
    }
  }
}

TEST(Normals, SameBitsOnAnyNumberOfThreads) {
  const Mesh torus = test::make_torus(200, 100);
  std::vector<Vec3f> one, many;
  tbb::task_arena(1).execute([&] { one = smooth_normals(torus); });
  tbb::task_arena(4).execute([&] { many = smooth_normals(torus); });
  EXPECT_EQ(one, many);
}

TEST(Normals, EmptySurface) {
  EXPECT_TRUE(smooth_normals(Mesh{}).empty());
}

}  // namespace
}  // namespace sinew
