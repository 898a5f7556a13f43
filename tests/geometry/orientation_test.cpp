#include <sinew/geometry/orientation.h>

#include <algorithm>
#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

Orientation oriented(const MeshView& mesh) {
  return find_orientation(mesh, SurfaceQuery(mesh));
}

Mesh reversed(const Mesh& mesh, const std::function<bool(std::size_t)>& which) {
  Mesh result = mesh;
  for (std::size_t t = 0; t < result.triangles.size(); ++t)
    if (which(t)) std::swap(result.triangles[t][1], result.triangles[t][2]);
  return result;
}

void expect_outward(const Mesh& mesh, const Vec3d& middle) {
  const std::vector<Vec3d> normals = outward_normals(mesh.view(), oriented(mesh.view()));
  for (std::size_t v = 0; v < normals.size(); ++v) {
    EXPECT_NEAR(normals[v].norm(), 1, 1e-9);
    EXPECT_GT(normals[v].dot(mesh.positions[v].cast<double>() - middle), 0) << v;
  }
}

TEST(Orientation, LeavesWhatIsRightAlone) {
  const Mesh mesh = test::make_icosphere(2);
  const std::vector<std::uint8_t> reversals = oriented(mesh.view()).reversed;
  EXPECT_EQ(std::count(reversals.begin(), reversals.end(), 0), std::ssize(mesh.triangles));
  expect_outward(mesh, Vec3d::Zero());
}

TEST(Orientation, RandomAndReversedWindingsFaceOutwards) {
  const Mesh mesh = test::moved(test::make_icosphere(2), {5, -3, 40});
  std::mt19937 random(1);
  expect_outward(reversed(mesh, [&](std::size_t) { return random() % 2 == 0; }), Vec3d(5, -3, 40));
  expect_outward(reversed(mesh, [](std::size_t) { return true; }), Vec3d(5, -3, 40));
}

TEST(Orientation, OpenTubesFaceOutwardsToo) {
  const Mesh tube = test::make_tube(12, 8);
  const Mesh inside_out = reversed(tube, [](std::size_t) { return true; });
  for (const Mesh* mesh : {&tube, &inside_out}) {
    const std::vector<Vec3d> normals = outward_normals(mesh->view(), oriented(mesh->view()));
    for (std::size_t v = 0; v < normals.size(); ++v) {
      const Vec3d p = mesh->positions[v].cast<double>();
      EXPECT_GT(normals[v].dot(Vec3d(p.x(), 0, p.z())), 0);
    }
  }
}

TEST(Orientation, FlatPiecesKeepTheWayMostOfThemFaces) {
  const Mesh grid = reversed(test::make_grid(6, 6), [](std::size_t t) { return t % 5 == 0; });
  const std::vector<Vec3d> normals = outward_normals(grid.view(), oriented(grid.view()));
  for (const Vec3d& normal : normals) EXPECT_NEAR(normal.z(), 1, 1e-9);
}

TEST(Orientation, PiecesAreTurnedOneByOne) {
  const Mesh a = test::make_icosphere(1), b = test::moved(a, {5, 0, 0});
  const Mesh both = reversed(test::join(a, b), [&](std::size_t t) { return t < a.triangles.size(); });
  const std::vector<std::uint8_t> reversals = oriented(both.view()).reversed;
  for (std::size_t t = 0; t < reversals.size(); ++t) EXPECT_EQ(reversals[t], t < a.triangles.size() ? 1 : 0);
}

TEST(Orientation, WallsInsideAreInterior) {
  // A tube with a wall across its middle, a fan over the ring there.
  Mesh tube = test::make_tube(12, 8, 0.1f, 1.0f, true);
  const std::size_t skin = tube.triangles.size();
  for (std::uint32_t i = 1; i + 1 < 12; ++i) tube.triangles.push_back({48, 48 + i, 49 + i});
  const Mesh mixed = reversed(tube, [](std::size_t t) { return t % 3 == 0; });
  const Orientation orientation = oriented(mixed.view());
  for (std::size_t t = 0; t < tube.triangles.size(); ++t) {
    EXPECT_EQ(orientation.interior[t], t < skin ? 0 : 1);
    if (t < skin) {
      EXPECT_EQ(orientation.reversed[t], t % 3 == 0 ? 1 : 0);
    }
  }
  // They do not tilt the skin's normals.
  const std::vector<Vec3d> normals = outward_normals(mixed.view(), orientation);
  for (std::size_t v = 48; v < 60; ++v) EXPECT_NEAR(normals[v].y(), 0, 0.02);
}

TEST(Orientation, DegenerateTrianglesAndNonManifoldEdges) {
  std::vector<Vec3f> positions{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, 0}};
  const std::vector<Triangle> triangles{{0, 1, 2}, {0, 1, 3}, {0, 1, 4}, {0, 0, 1}, {5, 0, 1}};
  const Orientation orientation = oriented({positions, triangles});
  EXPECT_EQ(orientation.reversed.size(), triangles.size());
  EXPECT_FALSE(orientation.closed);
  for (const Vec3d& normal : outward_normals({positions, triangles}, orientation))
    EXPECT_TRUE(normal.allFinite());
  EXPECT_TRUE(oriented({positions, {}}).reversed.empty());
}

}  // namespace
}  // namespace sinew
