#include <sinew/geometry/limb_radius.h>

#include <cmath>

#include <gtest/gtest.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

std::vector<double> radii(const Mesh& mesh) {
  return limb_radius(mesh.view(), std::vector<std::uint32_t>(mesh.triangles.size(), 0));
}

TEST(LimbRadius, ACylinderGivesItsRadius) {
  const Mesh tube = test::make_tube(48, 60, 0.1f, 2.0f, true);
  const std::vector<double> radius = radii(tube);
  for (std::size_t v = 48 * 10; v < 48 * 50; ++v) EXPECT_NEAR(radius[v], 0.1, 0.003) << v;
  // The same at any size.
  EXPECT_NEAR(radii(test::moved(tube, {3, 1, 2}, 100))[48 * 30], 10, 0.3);
}

TEST(LimbRadius, ASphereAndATorus) {
  for (const double r : radii(test::make_icosphere(4))) EXPECT_NEAR(r, 0.91, 0.02);
  for (const double r : radii(test::make_torus(80, 24, 1.0f, 0.1f))) EXPECT_NEAR(r, 0.097, 0.006);
}

TEST(LimbRadius, OpenSurfacesHaveOneToo) {
  // Rays leave through the ends: the neighbours know.
  const Mesh tube = test::make_tube(48, 60, 0.1f, 2.0f, false);
  for (const double r : radii(tube)) EXPECT_NEAR(r, 0.1, 0.02);
  // A sheet has no other side: half its smaller side.
  for (const double r : radii(test::make_grid(5, 5, 3, 1))) EXPECT_NEAR(r, 0.5, 1e-6);
}

TEST(LimbRadius, AnotherPartInsideIsNotTheOtherSide) {
  const Mesh sphere = test::make_icosphere(3), inner = test::make_icosphere(3, 0.8f);
  const Mesh both = test::join(sphere, inner);
  std::vector<std::uint32_t> part(both.triangles.size(), 0);
  for (std::size_t t = sphere.triangles.size(); t < part.size(); ++t) part[t] = 1;
  const std::vector<double> radius = limb_radius(both.view(), part);
  EXPECT_NEAR(radius[0], 0.91, 0.03);
  EXPECT_NEAR(radius.back(), 0.8 * 0.91, 0.03);
}

TEST(LimbRadius, NothingToMeasure) {
  EXPECT_TRUE(limb_radius({}, {}).empty());
  const std::vector<Vec3f> point(4, Vec3f(1, 2, 3));
  const std::vector<Triangle> triangles = {{0, 1, 2}};
  const std::vector<std::uint32_t> part = {0};
  EXPECT_EQ(limb_radius({point, triangles}, part), std::vector<double>(4, 0.0));
}

}  // namespace
}  // namespace sinew
