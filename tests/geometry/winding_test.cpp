#include <sinew/geometry/winding.h>

#include <gtest/gtest.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

TEST(Winding, OneInsideZeroOutside) {
  const Mesh sphere = test::make_icosphere(2);
  EXPECT_NEAR(winding_number(sphere.view(), {0.3, -0.2, 0.5}), 1, 1e-12);
  EXPECT_NEAR(winding_number(sphere.view(), {3, 0, 0}), 0, 1e-12);
  EXPECT_NEAR(winding_number(sphere.view(), {0.3, 1.2, 0}), 0, 1e-12);
}

TEST(Winding, CountsOverlaps) {
  const Mesh two = test::join(test::make_cube(), test::moved(test::make_cube(), {1, 0, 0}));
  EXPECT_NEAR(winding_number(two.view(), {0.5, 0.1, 0.2}), 2, 1e-12);
  EXPECT_NEAR(winding_number(two.view(), {-0.5, 0.1, 0.2}), 1, 1e-12);
}

TEST(Winding, HalfOnAPlaneSeenUpClose) {
  const Mesh plane = test::moved(test::make_grid(4, 4, 200, 200), {-100, -100, 0});
  EXPECT_NEAR(winding_number(plane.view(), {0.123, 0.456, -1e-3}), 0.5, 1e-4);
  EXPECT_NEAR(winding_number(plane.view(), {0.123, 0.456, 1e-3}), -0.5, 1e-4);
}

TEST(Winding, DegenerateTrianglesAndCornersGiveNumbers) {
  const Mesh cube = test::make_cube();
  EXPECT_TRUE(std::isfinite(winding_number(cube.view(), cube.positions[0].cast<double>())));
  const Mesh flat = make_mesh({{0, 0, 0}, {0, 0, 0}, {1, 0, 0}}, std::vector<Triangle>{{0, 1, 2}});
  EXPECT_EQ(winding_number(flat.view(), {0, 0, 0}), 0);
}

}  // namespace
}  // namespace sinew
