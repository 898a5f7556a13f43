#include <sinew/fitting/body_surface.h>

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/geometry/ray_query.h>
#include <sinew/geometry/topology.h>

#include "tests/support/meshes.h"
#include "tests/support/sanitized.h"

namespace sinew {
namespace {

/// Vertices `a` and `b` are at the same places, triangle by triangle.
void expect_same_triangles(const MeshView& a, const MeshView& b) {
  ASSERT_EQ(a.triangles.size(), b.triangles.size());
  for (std::size_t t = 0; t < a.triangles.size(); ++t)
    for (int k = 0; k < 3; ++k)
      ASSERT_EQ(a.positions[a.triangles[t][k]], b.positions[b.triangles[t][k]]) << t;
}

/// The largest distance from a vertex of `from` to the surface `to`.
double farthest(const MeshView& from, const MeshView& to) {
  const SurfaceQuery query(to);
  double farthest = 0;
  for (const Vec3f& p : from.positions)
    farthest = std::max(farthest, static_cast<double>(query.nearest(p)->distance));
  return farthest;
}

TEST(BodySurface, OnePieceStaysAsItIs) {
  const Mesh tube = test::make_tube(12, 20, 0.1f, 1.0f, true);
  const BodySurface body = body_surface(tube.view());
  EXPECT_EQ(body.components, 1u);
  EXPECT_EQ(body.used, 1u);
  EXPECT_FALSE(body.wrapped);
  EXPECT_EQ(body.positions.size(), tube.positions.size());
  expect_same_triangles(body.view(), tube.view());
}

TEST(BodySurface, OpenSurfacesStayOpen) {
  const Mesh tube = test::make_tube(12, 20);
  const BodySurface body = body_surface(tube.view());
  EXPECT_FALSE(body.wrapped);
  EXPECT_EQ(boundary_loops(body.triangles).size(), 2u);
}

TEST(BodySurface, SeamsAreWelded) {
  const Mesh ball = test::make_icosphere(2);
  const Mesh split = test::split_all(ball);
  ASSERT_GT(split.positions.size(), 3 * ball.positions.size());
  const BodySurface body = body_surface(split.view());
  EXPECT_EQ(body.components, 1u);
  EXPECT_EQ(body.positions.size(), ball.positions.size());
  EXPECT_TRUE(inspect_topology(body.view()).watertight());
}

TEST(BodySurface, IslandsAndLooseVerticesAreLeftOut) {
  const Mesh tube = test::make_tube(12, 20, 0.1f, 1.0f, true);
  Mesh mesh = test::join(tube, test::moved(test::make_icosphere(1), Vec3f(0.03f, 0.9f, 0.08f), 0.02f));
  mesh = test::join(test::moved(test::make_grid(1, 1), Vec3f(0, 0.5f, 0.11f), 0.01f), mesh);
  mesh.positions.push_back(Vec3f(50, 0, 0));  // of no triangle: does not make the mesh larger
  const BodySurface body = body_surface(mesh.view());
  EXPECT_EQ(body.components, 3u);
  EXPECT_EQ(body.used, 1u);
  EXPECT_FALSE(body.wrapped);
  expect_same_triangles(body.view(), tube.view());
}

/// A tube in two pieces with caps, and a gap between them.
Mesh cut_tube(float gap) {
  const Mesh half = test::make_tube(24, 20, 0.1f, 0.5f, true);
  return test::join(half, test::moved(half, Vec3f(0, 0.5f + gap, 0)));
}

TEST(BodySurface, PiecesAreWrappedIntoOne) {
  const double size = std::hypot(1, 0.2, 0.2);
  for (const float scale : {1.0f, 100.0f, 0.01f}) {
    SCOPED_TRACE(scale);
    const Mesh mesh = test::moved(cut_tube(static_cast<float>(0.002 * size)), Vec3f(1, 2, 3) * scale, scale);
    const BodySurface body = body_surface(mesh.view());
    EXPECT_TRUE(body.wrapped);
    EXPECT_EQ(body.components, 2u);
    EXPECT_EQ(body.used, 2u);
    const TopologyReport report = inspect_topology(body.view());
    EXPECT_EQ(report.components, 1u);
    EXPECT_TRUE(report.watertight());
    EXPECT_LT(farthest(body.view(), mesh.view()), 0.02 * size * scale);
    // Vertices of the caps between the pieces are inside, 0.1 at most from the skin.
    std::vector<Vec3f> outside;
    for (const Vec3f& p : mesh.positions)
      if (std::abs(p.y() / scale - 2.5f) > 0.01f) outside.push_back(p);
    EXPECT_LT(farthest({outside, {}}, body.view()), 0.02 * size * scale);
    if (test::kSanitized) break;
  }
}

TEST(BodySurface, ManyShellsAreWrappedIntoOne) {
  // A string of overlapping balls: none reaches far.
  Mesh beads;
  for (int k = 0; k < 6; ++k) {
    const Mesh bead = test::moved(test::make_icosphere(3), Vec3f(0, 0.15f * static_cast<float>(k), 0), 0.1f);
    beads = k == 0 ? bead : test::join(beads, bead);
  }
  const BodySurface body = body_surface(beads.view());
  EXPECT_TRUE(body.wrapped);
  EXPECT_EQ(body.components, 6u);
  const TopologyReport report = inspect_topology(body.view());
  EXPECT_EQ(report.components, 1u);
  EXPECT_TRUE(report.watertight());
  EXPECT_LT(farthest(body.view(), beads.view()), 0.02);
}

TEST(BodySurface, RefusesMeshesWithoutArea) {
  const std::vector<Vec3f> points{Vec3f(0, 0, 0), Vec3f(1, 0, 0), Vec3f(2, 0, 0)};
  const std::vector<Triangle> line{{0, 1, 2}};
  EXPECT_THROW(body_surface({points, line}), Error);
  EXPECT_THROW(body_surface({points, {}}), Error);
  EXPECT_THROW(body_surface({}), Error);
}

}  // namespace
}  // namespace sinew
