#include <sinew/geometry/closed_surface.h>

#include <map>

#include <gtest/gtest.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

/// Every edge is run along as often one way as the other: then the winding number is whole everywhere.
void expect_balanced(const ClosedSurface& closed) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> runs;
  for (const Triangle& f : closed.triangles)
    for (int k = 0; k < 3; ++k) {
      ++runs[{f[k], f[(k + 1) % 3]}];
      --runs[{f[(k + 1) % 3], f[k]}];
    }
  for (const auto& run : runs) EXPECT_EQ(run.second, 0) << run.first.first << " " << run.first.second;
}

TEST(ClosedSurface, ClosedOnesStayAsTheyAre) {
  const Mesh two = test::join(test::make_cube(), test::make_torus(8, 6));
  const ClosedSurface closed = close_surface(two.positions.size(), two.triangles);
  EXPECT_TRUE(closed.was_closed());
  EXPECT_EQ(closed.triangles, two.triangles);
  EXPECT_EQ(closed.part_count, 2u);
  EXPECT_EQ(closed.part.front(), 0u);
  EXPECT_EQ(closed.part.back(), 1u);
  EXPECT_EQ(closed.place(two.positions), two.positions);
}

TEST(ClosedSurface, OneFanPerBorder) {
  const Mesh tube = test::make_tube(12, 5, 0.1f, 1.0f, false);
  const ClosedSurface closed = close_surface(tube.positions.size(), tube.triangles);
  expect_balanced(closed);
  ASSERT_EQ(closed.borders.size(), 2u);
  EXPECT_EQ(closed.triangles.size(), tube.triangles.size() + 24);
  EXPECT_EQ(closed.part.size(), closed.triangles.size());
  const std::vector<Vec3f> placed = closed.place(tube.positions);
  ASSERT_EQ(placed.size(), tube.positions.size() + 2);
  EXPECT_LT((placed[placed.size() - 2] - Vec3f(0, 0, 0)).norm(), 1e-6f);
  EXPECT_LT((placed.back() - Vec3f(0, 1, 0)).norm(), 1e-6f);
}

TEST(ClosedSurface, AnyTrianglesBecomeBalanced) {
  const Mesh cube = test::make_cube();
  std::vector<Triangle> flipped = cube.triangles;
  std::swap(flipped[3][1], flipped[3][2]);
  expect_balanced(close_surface(8, flipped));
  std::vector<Triangle> fin = cube.triangles;
  fin.push_back({0, 1, 7});
  expect_balanced(close_surface(8, fin));
  std::vector<Triangle> twice = {cube.triangles[0], cube.triangles[0], cube.triangles[5]};
  expect_balanced(close_surface(8, twice));
  EXPECT_TRUE(close_surface(8, {}).was_closed());
  EXPECT_EQ(close_surface(8, {}).part_count, 0u);
}

}  // namespace
}  // namespace sinew
