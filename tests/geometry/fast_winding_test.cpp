#include <sinew/core/index.h>
#include <sinew/geometry/fast_winding.h>

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include <sinew/geometry/winding.h>

#include "tests/support/meshes.h"
#include "tests/support/sanitized.h"

namespace sinew {
namespace {

struct Field {
  explicit Field(const MeshView& mesh)
      : tree(mesh), boxes(tree, mesh.positions), winding(tree, boxes, mesh.positions) {}
  TriangleTree tree;
  FittedTriangleTree boxes;
  WindingTree winding;
};

Vec3d random_point(std::mt19937& random, double size) {
  std::uniform_real_distribution<double> spread(-size, size);
  const double x = spread(random), y = spread(random), z = spread(random);
  return {x, y, z};
}

// Random points, and points a thousandth of an edge off the surface, against the exact sum.
double largest_error(const Mesh& mesh, double size) {
  const Field field(mesh.view());
  std::mt19937 random(7);
  double largest = 0;
  const auto compare = [&](const Vec3d& point) {
    largest = std::max(largest, std::abs(field.winding.at(point) - winding_number(mesh.view(), point)));
  };
  const int queries = test::kSanitized ? 60 : 1000;
  for (int i = 0; i < queries; ++i) compare(random_point(random, size));
  const std::size_t places = test::kSanitized ? 20 : 500;
  for (std::size_t t = 0; t < mesh.triangles.size(); t += 1 + mesh.triangles.size() / places) {
    const Triangle& f = mesh.triangles[t];
    const Vec3d a = mesh.positions[f[0]].cast<double>(), b = mesh.positions[f[1]].cast<double>(),
                c = mesh.positions[f[2]].cast<double>();
    const Vec3d normal = (b - a).cross(c - a).normalized() * (b - a).norm() * 1e-3;
    compare((a + b + c) / 3 + normal);
    compare(a + normal);
    compare((a + b) / 2 - normal);
  }
  return largest;
}

TEST(FastWinding, AgreesWithTheExactSum) {
  EXPECT_LT(largest_error(test::make_icosphere(4), 1.5), 0.02);
  EXPECT_LT(largest_error(test::make_torus(80, 30), 1.5), 0.02);
  EXPECT_LT(largest_error(test::make_tube(40, 60, 0.1f, 1.0f, false), 1.0), 0.02);
  EXPECT_LT(largest_error(test::make_grid(50, 50), 1.0), 0.02);
  EXPECT_LT(largest_error(test::make_cube(), 2.0), 1e-6);
}

TEST(FastWinding, UsesFewTrianglesFromAfar) {
  // The error of the expansion shows that it is in use: an exact sum would have none.
  EXPECT_GT(largest_error(test::make_icosphere(4), 1.5), 1e-9);
}

TEST(FastWinding, FollowsThePositions) {
  const Mesh sphere = test::make_icosphere(3);
  const Mesh away = test::moved(sphere, {5, 0, 0});
  const TriangleTree tree(sphere.view());
  const FittedTriangleTree boxes(tree, away.positions);
  const WindingTree winding(tree, boxes, away.positions);
  EXPECT_NEAR(winding.at({5, 0.2, 0}), 1, 0.02);
  EXPECT_NEAR(winding.at({0, 0.2, 0}), 0, 0.02);
}

TEST(FastWinding, ManyPointsAtOnce) {
  const Mesh torus = test::make_torus(60, 20);
  const Field field(torus.view());
  std::mt19937 random(3);
  std::vector<Vec3d> points;
  for (int i = 0; i < 1000; ++i) points.push_back(random_point(random, 1.3));
  std::vector<double> winding(points.size());
  field.winding.at(points, winding);
  int inside = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ(winding[i], field.winding.at(points[i]));
    inside += winding[i] > 0.5;
  }
  EXPECT_GT(inside, 10);
  EXPECT_LT(inside, 500);
}

TEST(FastWinding, EmptyAndDegenerateSurfacesGiveNumbers) {
  EXPECT_EQ(Field(MeshView{}).winding.at({1, 2, 3}), 0);
  const Mesh flat = make_mesh({{0, 0, 0}, {0, 0, 0}, {1, 0, 0}}, std::vector<Triangle>{{0, 1, 2}, {0, 0, 0}});
  const Field field(flat.view());
  EXPECT_EQ(field.winding.at({0, 0, 0}), 0);
  EXPECT_EQ(field.winding.at({0.5, 0, 0}), 0);
  EXPECT_NEAR(field.winding.at({0, 9, 0}), 0, 1e-12);
}

TEST(TriangleTree, EveryTriangleStandsInItsNodesBoxes) {
  const Mesh torus = test::make_torus(20, 9);
  const TriangleTree tree(torus.view());
  const FittedTriangleTree boxes(tree, torus.positions);
  std::vector<int> seen(torus.triangles.size(), 0);
  boxes.for_each([](const Eigen::AlignedBox3f&) { return true; }, [&](std::uint32_t t) { ++seen[t]; });
  for (const int count : seen) EXPECT_EQ(count, 1);

  const Eigen::AlignedBox3f corner(Vec3f(0.5f, 0.5f, -1), Vec3f(2, 2, 1));
  std::fill(seen.begin(), seen.end(), 0);
  boxes.for_each([&](const Eigen::AlignedBox3f& box) { return box.intersects(corner); },
                 [&](std::uint32_t t) { ++seen[t]; });
  std::size_t visited = 0;
  for (std::size_t t = 0; t < seen.size(); ++t) {
    visited += to_size(seen[t]);
    for (const std::uint32_t v : torus.triangles[t])
      EXPECT_TRUE(seen[t] == 1 || !corner.contains(torus.positions[v])) << t;
  }
  EXPECT_GT(visited, 0u);
  EXPECT_LT(visited, torus.triangles.size() / 2);
}

}  // namespace
}  // namespace sinew
