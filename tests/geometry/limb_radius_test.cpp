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

std::vector<double> radii_at(const Mesh& mesh, std::span<const std::uint32_t> vertices) {
  return limb_radius_at(mesh.view(), std::vector<std::uint32_t>(mesh.triangles.size(), 0), vertices);
}

TEST(LimbRadiusAt, IsTheSameWithoutSmoothing) {
  const Mesh tube = test::make_tube(48, 60, 0.1f, 2.0f, true);
  const std::vector<double> all = radii(tube);
  const std::vector<std::uint32_t> some{48 * 30 + 5, 48 * 12, 48 * 30 + 5, 48 * 45 + 17};
  const std::vector<double> radius = radii_at(tube, some);
  ASSERT_EQ(radius.size(), some.size());
  for (std::size_t k = 0; k < some.size(); ++k) {
    EXPECT_NEAR(radius[k], 0.1, 0.003) << k;
    EXPECT_NEAR(radius[k], all[some[k]], 0.003) << k;
  }
  EXPECT_EQ(radius[0], radius[2]);
  // A vertex does not see its neighbours: where the tube becomes twice as thick, both thicknesses are there.
  Mesh step = tube;
  for (std::size_t v = 48 * 30; v < step.positions.size(); ++v)
    step.positions[v].x() *= 2, step.positions[v].z() *= 2;
  const std::vector<std::uint32_t> sides{48 * 24, 48 * 36};
  const std::vector<double> two = radii_at(step, sides);
  EXPECT_NEAR(two[0], 0.1, 0.003);
  EXPECT_NEAR(two[1], 0.2, 0.006);
  const std::vector<std::uint32_t> edge{48 * 30};
  EXPECT_GT(std::abs(radii_at(step, edge)[0] - radii(step)[edge[0]]), 0.001);
}

TEST(LimbRadiusAt, HolesGiveNone) {
  const Mesh open = test::make_tube(48, 60, 0.1f, 2.0f, false);
  const std::vector<std::uint32_t> vertices{48 * 30, 0};
  const std::vector<double> radius = radii_at(open, vertices);
  EXPECT_NEAR(radius[0], 0.1, 0.003);
  const std::vector<std::uint32_t> corners{0, 7, 35};
  EXPECT_EQ(radii_at(test::make_grid(5, 5, 3, 1), corners), std::vector<double>(3, 0.0));
}

TEST(LimbRadiusAt, NothingToMeasure) {
  EXPECT_TRUE(limb_radius_at({}, {}, {}).empty());
  EXPECT_TRUE(radii_at(test::make_icosphere(1), {}).empty());
  const std::vector<Vec3f> points{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {5, 5, 5}};
  const std::vector<std::uint32_t> last{3};
  EXPECT_EQ(limb_radius_at({points, {}}, {}, last), std::vector<double>(1, 0.0));
  // In no triangle, or in one without size.
  const std::vector<Triangle> triangles{{0, 1, 2}};
  const std::vector<std::uint32_t> part{0};
  EXPECT_EQ(limb_radius_at({points, triangles}, part, last), std::vector<double>(1, 0.0));
  const std::vector<Vec3f> same(4, Vec3f(1, 2, 3));
  const std::vector<std::uint32_t> all{0, 1, 2, 3};
  EXPECT_EQ(limb_radius_at({same, triangles}, part, all), std::vector<double>(4, 0.0));
}

}  // namespace
}  // namespace sinew
