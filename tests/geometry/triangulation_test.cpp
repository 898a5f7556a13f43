#include <sinew/geometry/triangulation.h>

#include <random>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/geometry/topology.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

/// Every corner's opposite sees the same edge the other way round, and every vertex's fan closes.
void expect_consistent(const Triangulation& mesh) {
  for (std::uint32_t c = 0; c < mesh.corner_count(); ++c) {
    if (mesh.vertex(c) == Triangulation::kNone) continue;
    const std::uint32_t o = mesh.opposite(c);
    ASSERT_EQ(mesh.opposite(o), c);
    ASSERT_EQ(mesh.vertex(Triangulation::next(c)), mesh.vertex(Triangulation::previous(o)));
    ASSERT_EQ(mesh.vertex(Triangulation::previous(c)), mesh.vertex(Triangulation::next(o)));
  }
  std::size_t live = 0;
  for (std::uint32_t v = 0; v < mesh.vertex_slots(); ++v) {
    if (mesh.corner_at(v) == Triangulation::kNone) continue;
    ++live;
    ASSERT_EQ(mesh.vertex(mesh.corner_at(v)), v);
    ASSERT_GE(mesh.valence(v), 3);
  }
  ASSERT_EQ(live, mesh.vertex_count());
}

bool is_closed_sphere(const Triangulation& mesh) {
  std::vector<std::uint32_t> kept;
  const std::vector<Triangle> triangles = mesh.compact(kept);
  const std::vector<Vec3f> positions(kept.size(), Vec3f::Zero());
  const TopologyReport report = inspect_topology({positions, triangles});
  return report.watertight() && report.non_manifold_vertices == 0 && report.duplicate_triangles == 0 &&
         report.vertices + report.triangles == report.edges + 2;
}

TEST(Triangulation, TakesClosedSurfacesOnly) {
  const Mesh cube = test::make_cube();
  expect_consistent(Triangulation(cube.positions.size(), cube.triangles));
  std::vector<Triangle> broken = cube.triangles;
  std::swap(broken[0][0], broken[0][1]);
  EXPECT_THROW(Triangulation(cube.positions.size(), broken), Error);
  broken = cube.triangles;
  broken.pop_back();
  EXPECT_THROW(Triangulation(cube.positions.size(), broken), Error);
  broken = cube.triangles;
  broken.push_back(broken[0]);
  broken.push_back({broken[0][0], broken[0][2], broken[0][1]});
  EXPECT_THROW(Triangulation(cube.positions.size(), broken), Error);
  EXPECT_THROW(Triangulation(cube.positions.size() - 1, cube.triangles), Error);
  // Two tetrahedra that share one vertex.
  const std::vector<Triangle> touching{{0, 1, 2}, {0, 2, 3}, {0, 3, 1}, {1, 3, 2},
                                       {0, 4, 5}, {0, 5, 6}, {0, 6, 4}, {4, 6, 5}};
  EXPECT_THROW(Triangulation(7, touching), Error);
}

TEST(Triangulation, EachOperationDoesWhatItSays) {
  const Mesh ball = test::make_icosphere(1);
  Triangulation mesh(ball.positions.size(), ball.triangles);
  const std::uint32_t v = mesh.vertex(0), w = mesh.vertex(mesh.opposite(0));
  const std::uint32_t a = mesh.vertex(1), b = mesh.vertex(2);
  ASSERT_TRUE(mesh.joined(a, b));
  ASSERT_FALSE(mesh.joined(v, w));
  ASSERT_TRUE(mesh.can_flip(0));
  mesh.flip(0);
  EXPECT_FALSE(mesh.joined(a, b));
  EXPECT_TRUE(mesh.joined(v, w));
  expect_consistent(mesh);

  const std::size_t before = mesh.vertex_count();
  const std::uint32_t tail = mesh.vertex(Triangulation::next(6)),
                      head = mesh.vertex(Triangulation::previous(6));
  const std::uint32_t middle = mesh.split(6);
  EXPECT_EQ(mesh.vertex_count(), before + 1);
  EXPECT_EQ(mesh.valence(middle), 4);
  EXPECT_TRUE(mesh.joined(middle, tail));
  EXPECT_TRUE(mesh.joined(middle, head));
  EXPECT_FALSE(mesh.joined(tail, head));
  expect_consistent(mesh);
}

TEST(Triangulation, RefusesCollapsesThatWouldPinchTheSurface) {
  std::vector<Triangle> tetrahedron{{0, 1, 2}, {0, 2, 3}, {0, 3, 1}, {1, 3, 2}};
  const Triangulation mesh(4, tetrahedron);
  for (std::uint32_t c = 0; c < mesh.corner_count(); ++c) {
    EXPECT_FALSE(mesh.can_collapse(c));
    EXPECT_FALSE(mesh.can_flip(c));
  }
  // Two pyramids over the edges 01, 12, 20, which are no triangle of the surface: to contract one of them
  // would leave two sheets on one edge; to contract an edge to a tip leaves a tetrahedron.
  const std::vector<Triangle> two_pyramids{{0, 1, 3}, {1, 2, 3}, {2, 0, 3}, {1, 0, 4}, {2, 1, 4}, {0, 2, 4}};
  const Triangulation both(5, two_pyramids);
  for (std::uint32_t c = 0; c < both.corner_count(); ++c) {
    const bool base = both.vertex(c) > 2;  // the edge that faces a tip
    EXPECT_EQ(both.can_collapse(c), !base) << c;
  }
}

TEST(Triangulation, StaysASphereUnderRandomOperations) {
  const Mesh ball = test::make_icosphere(2);
  Triangulation mesh(ball.positions.size(), ball.triangles);
  std::mt19937 random(7);
  int splits = 0, flips = 0, collapses = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto c = static_cast<std::uint32_t>(random() % mesh.corner_count());
    if (mesh.vertex(c) == Triangulation::kNone) continue;
    const unsigned what = random() % 8;
    if (what == 0 && mesh.vertex_count() < 400) {
      mesh.split(c);
      ++splits;
    } else if (what < 4 && mesh.can_flip(c)) {
      mesh.flip(c);
      ++flips;
    } else if (what >= 4 && mesh.vertex_count() > 20 && mesh.can_collapse(c)) {
      mesh.collapse(c);
      ++collapses;
    }
    if (i % 2000 == 0) {
      expect_consistent(mesh);
      ASSERT_TRUE(is_closed_sphere(mesh)) << i;
    }
  }
  expect_consistent(mesh);
  EXPECT_TRUE(is_closed_sphere(mesh));
  EXPECT_GT(splits, 100);
  EXPECT_GT(flips, 100);
  EXPECT_GT(collapses, 100);
}

}  // namespace
}  // namespace sinew
