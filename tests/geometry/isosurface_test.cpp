#include <sinew/geometry/isosurface.h>

#include <cmath>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/geometry/topology.h>
#include <sinew/geometry/volume.h>

#include "tests/support/solids.h"

namespace sinew {
namespace {

TEST(IsoSurface, IsAClosedManifoldOfTheRightGenusThatFacesOutwards) {
  const Mesh ball = test::to_mesh(extract_isosurface(test::ball(1), {0, 0, 0}, 0.1));
  const TopologyReport report = inspect_topology(ball.view());
  EXPECT_TRUE(report.watertight());
  EXPECT_EQ(report.non_manifold_vertices, 0u);
  EXPECT_EQ(test::euler_number(ball.view()), 2);
  EXPECT_NEAR(enclosed_volume(ball.view()), 4.0 / 3 * M_PI, 0.05);

  const Mesh ring = test::to_mesh(extract_isosurface(test::ring(1, 0.25), {1, 0, 0}, 0.07));
  EXPECT_TRUE(inspect_topology(ring.view()).watertight());
  EXPECT_EQ(test::euler_number(ring.view()), 0);
  EXPECT_NEAR(enclosed_volume(ring.view()), 2 * M_PI * M_PI * 0.25 * 0.25, 0.03);
}

TEST(IsoSurface, VerticesLieOnTheSurfaceToFirstOrder) {
  const IsoSurface ball = extract_isosurface(test::ball(1), {0.2, 0.1, 0}, 0.1);
  for (const Vec3d& p : ball.positions) EXPECT_NEAR(p.norm(), 1, 0.1 * 0.1);
}

TEST(IsoSurface, FollowsOnePartOnly) {
  const SolidFunction two = [](const Vec3d& p) {
    const SolidSample left = test::ball(1)(p + Vec3d(1.5, 0, 0)), right = test::ball(1)(p - Vec3d(1.5, 0, 0));
    return left.value < right.value ? left : right;
  };
  const Mesh one = test::to_mesh(extract_isosurface(two, {1.5, 0, 0}, 0.2));
  EXPECT_EQ(connected_components(one.positions.size(), one.triangles).count, 1u);
  EXPECT_NEAR(enclosed_volume(one.view()), 4.0 / 3 * M_PI, 0.2);
}

TEST(IsoSurface, CornersExactlyOnTheSurfaceMakeNoHoles) {
  // The grid hits a cube's faces exactly.
  const SolidFunction cube = [](const Vec3d& p) {
    return SolidSample{p.cwiseAbs().maxCoeff() - 0.5, Vec3d::UnitX(), 1};
  };
  const Mesh mesh = test::to_mesh(extract_isosurface(cube, {0, 0, 0}, 0.25));
  EXPECT_TRUE(inspect_topology(mesh.view()).watertight());
  EXPECT_EQ(inspect_topology(mesh.view()).non_manifold_vertices, 0u);
}

TEST(IsoSurface, RefusesWhatHasNoInsideOrNoEnd) {
  EXPECT_THROW(extract_isosurface(test::ball(1), {2, 0, 0}, 0.1), Error);
  EXPECT_THROW(extract_isosurface(test::ball(1), {0, 0, 0}, 0), Error);
  EXPECT_THROW(extract_isosurface(test::ball(1), {0, 0, 0}, std::nan("")), Error);
  const SolidFunction everything = [](const Vec3d&) { return SolidSample{-1, Vec3d::UnitX(), 1}; };
  EXPECT_THROW(extract_isosurface(everything, {0, 0, 0}, 1), Error);
  // Without end in y only: found while walking along the surface.
  const SolidFunction pillar = [](const Vec3d& p) {
    return SolidSample{std::hypot(p.x(), p.z()) - 0.9, Vec3d::UnitX(), 1};
  };
  EXPECT_THROW(extract_isosurface(pillar, {0, 0, 0}, 1), Error);
}

}  // namespace
}  // namespace sinew
