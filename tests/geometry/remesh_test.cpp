#include <sinew/geometry/remesh.h>

#include <cmath>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <sinew/core/error.h>
#include <sinew/geometry/topology.h>
#include <sinew/geometry/volume.h>

#include "tests/support/sanitized.h"
#include "tests/support/solids.h"

namespace sinew {
namespace {

TEST(Remesh, GivesExactlyTheVerticesAskedForInGoodTriangles) {
  const SolidFunction solid = test::ring(1, 0.3);
  const IsoSurface rough = extract_isosurface(solid, {1, 0, 0}, 0.1);
  for (const std::size_t count : {150u, 1000u, test::kSanitized ? 1500u : 50'000u}) {
    const IsoSurface fine = remesh(rough, solid, count);
    const Mesh mesh = test::to_mesh(fine);
    EXPECT_EQ(mesh.positions.size(), count);
    const TopologyReport report = inspect_topology(mesh.view());
    EXPECT_TRUE(report.watertight());
    EXPECT_EQ(report.non_manifold_vertices, 0u);
    EXPECT_EQ(test::euler_number(mesh.view()), 0);
    EXPECT_GT(test::smallest_angle(mesh.view()), 28) << count;
    for (const Vec3d& p : fine.positions) EXPECT_NEAR(solid(p).value, 0, 1e-4);
    if (count > 500) {
      EXPECT_NEAR(enclosed_volume(mesh.view()), 2 * M_PI * M_PI * 0.09, 0.06);
    }
  }
}

TEST(Remesh, EdgesFollowTheSizingField) {
  // Twice as long edges wanted on the right as on the left.
  const SolidFunction solid = [](const Vec3d& p) {
    SolidSample sample = test::ball(1)(p);
    sample.edge_length = 1.5 + 0.5 * std::clamp(p.x() / 0.5, -1.0, 1.0);
    return sample;
  };
  const Mesh mesh =
      test::to_mesh(remesh(extract_isosurface(solid, {0, 0, 0}, 0.1), solid, test::kSanitized ? 1200 : 3000));
  double left = 0, right = 0;
  int lefts = 0, rights = 0;
  for (const Triangle& t : mesh.triangles) {
    const float x = mesh.positions[t[0]].x();
    const double length = (mesh.positions[t[0]] - mesh.positions[t[1]]).norm();
    if (x < -0.6f) left += length, ++lefts;
    if (x > 0.6f) right += length, ++rights;
  }
  ASSERT_GT(lefts, 50);
  ASSERT_GT(rights, 20);
  EXPECT_NEAR((right / rights) / (left / lefts), 2, 0.15);
}

TEST(Remesh, IsTheSameForAnyNumberOfThreads) {
  const SolidFunction solid = test::ball(1);
  const IsoSurface rough = extract_isosurface(solid, {0, 0, 0}, 0.15);
  std::vector<IsoSurface> results;
  for (const int threads : {1, 4}) {
    tbb::task_arena arena(threads);
    arena.execute([&] { results.push_back(remesh(rough, solid, test::kSanitized ? 800 : 45'000)); });
  }
  EXPECT_EQ(results[0].triangles, results[1].triangles);
  EXPECT_EQ(results[0].positions, results[1].positions);
}

TEST(Remesh, RefusesWhatCannotBeMeshed) {
  const SolidFunction solid = test::ring(1, 0.3);
  const IsoSurface rough = extract_isosurface(solid, {1, 0, 0}, 0.15);
  EXPECT_THROW(remesh(rough, solid, 3), Error);
  EXPECT_THROW(remesh(rough, solid, 1000, [](double) { return false; }), Cancelled);
  IsoSurface open = rough;
  open.triangles.pop_back();
  EXPECT_THROW(remesh(open, solid, 1000), Error);
}

}  // namespace
}  // namespace sinew
