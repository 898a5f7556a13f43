#include <sinew/picture/drawn_surface.h>

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

Mesh turned_over(const Mesh& mesh) {
  std::vector<Triangle> triangles = mesh.triangles;
  for (Triangle& f : triangles) std::swap(f[1], f[2]);
  return make_mesh(mesh.positions, triangles);
}

double volume(std::span<const Vec3f> positions, std::span<const Triangle> triangles) {
  double sum = 0;
  for (const Triangle& f : triangles)
    sum += positions[f[0]].cast<double>().dot(
               positions[f[1]].cast<double>().cross(positions[f[2]].cast<double>())) /
           6;
  return sum;
}

TEST(DrawnSurface, ClosedPartsFaceOutwards) {
  const Mesh sphere = test::make_icosphere(2);
  for (const Mesh& mesh : {sphere, turned_over(sphere)}) {
    const DrawnSurface surface(mesh.view());
    EXPECT_GT(volume(mesh.positions, surface.triangles()), 0);
    EXPECT_EQ(std::count(surface.two_sided().begin(), surface.two_sided().end(), 1), 0);
  }
}

TEST(DrawnSurface, PartsAreTurnedOneByOne) {
  const Mesh both =
      test::join(test::make_icosphere(1), turned_over(test::moved(test::make_icosphere(1), {5, 0, 0})));
  const DrawnSurface surface(both.view());
  EXPECT_NEAR(volume(both.positions, surface.triangles()),
              2 * volume(both.positions, std::span(both.triangles).first(80)), 1e-3);
}

TEST(DrawnSurface, SheetsHaveTwoSidesOpenCupsDoNot) {
  const Mesh sheet = test::make_grid(3, 3);
  const DrawnSurface flat(sheet.view());
  EXPECT_EQ(std::count(flat.two_sided().begin(), flat.two_sided().end(), 1), 18);
  const Mesh tube = test::make_tube(12, 4);
  for (const Mesh& mesh : {tube, turned_over(tube)}) {
    const DrawnSurface open(mesh.view());
    EXPECT_EQ(std::count(open.two_sided().begin(), open.two_sided().end(), 1), 0);
    EXPECT_GT(volume(mesh.positions, open.triangles()), 0);
  }
}

TEST(DrawnSurface, CubesHaveHardEdgesSpheresHaveNone) {
  const Mesh cube = test::make_cube();
  const DrawnSurface hard(cube.view());
  const std::vector<Vec3f> normals = hard.normals(cube.positions);
  EXPECT_EQ(normals.size(), 24u);
  for (std::size_t t = 0; t < hard.triangles().size(); ++t)
    for (int k = 0; k < 3; ++k) {
      const Vec3f& normal = normals[hard.corner_normals()[t][k]];
      EXPECT_NEAR(normal.cwiseAbs().maxCoeff(), 1, 1e-6);
    }
  const Mesh sphere = test::make_icosphere(2);
  EXPECT_EQ(DrawnSurface(sphere.view()).normals(sphere.positions).size(), sphere.positions.size());
}

TEST(PlaneSection, OfABallIsACircle) {
  const Mesh sphere = test::make_icosphere(4);
  const Vec3f normal = Vec3f(1, 2, 2) / 3;
  double length = 0;
  for (const auto& piece : plane_section(sphere.positions, sphere.triangles, normal, 0.6f)) {
    length += (piece[1] - piece[0]).norm();
    for (const Vec3f& p : piece) {
      EXPECT_NEAR(normal.dot(p), 0.6, 1e-5);
      EXPECT_NEAR(p.norm(), 1, 5e-3);
    }
  }
  EXPECT_NEAR(length, 2 * M_PI * 0.8, 0.02);
  EXPECT_TRUE(plane_section(sphere.positions, sphere.triangles, normal, 1.1f).empty());
}

TEST(PlaneSection, LeavesOutBrokenAndFlatTriangles) {
  const std::vector<Vec3f> positions{{0, 0, -1}, {1, 0, 1},        {0, 1, 1}, {NAN, 0, 0},
                                     {0, 0, 0},  {0, INFINITY, 0}, {1, 0, 0}, {0, 1, 0}};
  const std::vector<Triangle> triangles{{0, 1, 2}, {0, 1, 3}, {0, 1, 5}, {4, 6, 7}, {0, 0, 0}};
  const auto section = plane_section(positions, triangles, Vec3f::UnitZ(), 0);
  ASSERT_EQ(section.size(), 1u);
  EXPECT_NEAR((section[0][0] - section[0][1]).norm(), std::sqrt(0.5), 1e-6);
}

TEST(DrawnSurface, OddMeshes) {
  const std::vector<Vec3f> positions{{0, 0, 0}, {1, 0, 0}, {NAN, 0, 0}, {0, 1, 0}};
  const std::vector<Triangle> triangles{{0, 1, 2}, {0, 0, 0}, {0, 1, 3}, {0, 1, 3}, {3, 1, 0}};
  const DrawnSurface surface(MeshView{positions, triangles});
  for (const Vec3f& normal : surface.normals(positions)) EXPECT_NEAR(normal.norm(), 1, 1e-5);
  // A pole with a thousand triangles.
  std::vector<Vec3f> fan{{0, 0, 0}};
  std::vector<Triangle> faces;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    fan.emplace_back(std::cos(0.006f * static_cast<float>(i)), std::sin(0.006f * static_cast<float>(i)),
                     0.0f);
    if (i > 0) faces.push_back({0, i, i + 1});
  }
  EXPECT_EQ(DrawnSurface(MeshView{fan, faces}).normals(fan).size(), 1001u);
  EXPECT_TRUE(DrawnSurface(MeshView{}).triangles().empty());
}

}  // namespace
}  // namespace sinew
