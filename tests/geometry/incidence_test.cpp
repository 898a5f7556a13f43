#include <sinew/geometry/incidence.h>

#include <gtest/gtest.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

TEST(Incidence, ListsCornersInTriangleOrder) {
  const std::vector<Triangle> triangles = {{2, 0, 3}, {3, 3, 0}};
  const Incidence incidence = vertex_incidence(5, triangles);
  ASSERT_EQ(incidence.size(), 5u);
  EXPECT_EQ(incidence.starts, (std::vector<std::uint32_t>{0, 2, 2, 3, 6, 6}));
  EXPECT_EQ(incidence.corners, (std::vector<std::uint32_t>{1, 5, 0, 2, 3, 4}));
  EXPECT_TRUE(incidence[1].empty());
}

TEST(Incidence, EveryCornerStandsAtItsVertex) {
  const Mesh torus = test::make_torus(9, 7);
  const Incidence incidence = vertex_incidence(torus.positions.size(), torus.triangles);
  EXPECT_EQ(incidence.corners.size(), 3 * torus.triangles.size());
  for (std::uint32_t v = 0; v < incidence.size(); ++v) {
    EXPECT_EQ(incidence[v].size(), 6u);
    for (const std::uint32_t corner : incidence[v]) EXPECT_EQ(torus.triangles[corner / 3][corner % 3], v);
  }
}

TEST(Incidence, Nothing) {
  EXPECT_EQ(vertex_incidence(0, {}).size(), 0u);
  EXPECT_EQ(vertex_incidence(2, {}).size(), 2u);
}

}  // namespace
}  // namespace sinew
