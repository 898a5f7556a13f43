#include <sinew/contact/crossing_triangles.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <sinew/geometry/intersections.h>
#include <sinew/scene/scene.h>

#include "tests/support/grid_tube.h"
#include "tests/support/meshes.h"
#include "tests/support/rigged_tube.h"

namespace sinew {
namespace {

using Numbers = std::set<std::uint32_t>;

/// A mesh whose crossings are asked in poses of it.
struct Asked {
  explicit Asked(Mesh mesh_at_rest)
      : mesh(std::move(mesh_at_rest)),
        tree(mesh.view()),
        surface(tree),
        crossings(tree),
        scratch(crossings.make_scratch()) {}
  Asked(const Asked&) = delete;

  Numbers find(const std::vector<Vec3f>& positions) {
    surface.refit(positions);
    crossings.find(surface, scratch);
    Numbers numbers;
    for (const auto& found : scratch.found) {
      numbers.insert(found.begin(), found.end());
    }
    return numbers;
  }

  Mesh mesh;
  TriangleTree tree;
  PosedSurface surface;
  CrossingTriangles crossings;
  CrossingScratch scratch;
};

/// Without the symmetry by which corners lie on planes and edges of triangles far from them: what the search
/// in float says of such is chance.
Mesh roughened(Mesh mesh, float by) {
  std::mt19937 random(9);
  std::uniform_real_distribution<float> number(-by, by);
  for (Vec3f& p : mesh.positions) p += Vec3f(number(random), number(random), number(random));
  return mesh;
}

bool shares_corner(const Triangle& f, const Triangle& g) {
  return std::any_of(f.begin(), f.end(),
                     [&](std::uint32_t v) { return std::count(g.begin(), g.end(), v) > 0; });
}

/// What the exact search says: triangles that cross one without a common corner; and of these the ones that
/// cannot be passed over, because their leaves are no neighbours or fold back onto each other.
struct Expected {
  Numbers may, must;
  std::size_t pairs = 0;
};

Expected expected_crossings(const Asked& asked, const std::vector<Vec3f>& positions) {
  const auto nodes = asked.tree.nodes();
  std::vector<std::uint32_t> leaf_of(asked.mesh.triangles.size());
  for (std::uint32_t n = 0; n < nodes.size(); ++n)
    if (nodes[n].is_leaf())
      for (std::uint32_t t = nodes[n].begin; t < nodes[n].end; ++t) leaf_of[asked.tree.order()[t]] = n;
  const auto are_flat_neighbours = [&](std::uint32_t a, std::uint32_t b) {
    bool share = false;
    Vec3f area[2] = {Vec3f::Zero(), Vec3f::Zero()};
    for (std::uint32_t t = nodes[a].begin; t < nodes[a].end; ++t)
      for (std::uint32_t u = nodes[b].begin; u < nodes[b].end; ++u)
        share |= shares_corner(asked.tree.triangles()[t], asked.tree.triangles()[u]);
    for (const int side : {0, 1}) {
      const TriangleTree::Node& node = nodes[side == 0 ? a : b];
      for (std::uint32_t t = node.begin; t < node.end; ++t) {
        const Triangle& f = asked.tree.triangles()[t];
        area[side] += (positions[f[1]] - positions[f[0]]).cross(positions[f[2]] - positions[f[0]]);
      }
    }
    // A little flatter than the search's own limit of 0.3, for rounding.
    return share && area[0].dot(area[1]) > 0.29f * area[0].norm() * area[1].norm();
  };
  Expected expected;
  const SelfIntersections exact(asked.mesh.view());
  for (const TrianglePair& pair : exact.find(positions)) {
    if (shares_corner(asked.mesh.triangles[pair[0]], asked.mesh.triangles[pair[1]])) continue;
    ++expected.pairs;
    expected.may.insert(pair.begin(), pair.end());
    if (!are_flat_neighbours(leaf_of[pair[0]], leaf_of[pair[1]]))
      expected.must.insert(pair.begin(), pair.end());
  }
  return expected;
}

/// Expects to find what must be found, and nothing that does not cross. Returns how many triangles that are.
std::size_t expect_the_crossings(Asked& asked, const std::vector<Vec3f>& positions) {
  const Numbers found = asked.find(positions);
  const Expected expected = expected_crossings(asked, positions);
  EXPECT_TRUE(std::includes(expected.may.begin(), expected.may.end(), found.begin(), found.end()));
  EXPECT_TRUE(std::includes(found.begin(), found.end(), expected.must.begin(), expected.must.end()))
      << found.size() << " found, " << expected.must.size() << " expected";
  return expected.must.size();
}

TEST(CrossingTriangles, NoneWhereASurfaceDoesNotCrossItself) {
  for (const Mesh& mesh : {test::make_icosphere(3), test::make_torus(24, 12), test::make_grid(12, 12),
                           roughened(test::make_tube(12, 9, 0.1f, 1, true), 1e-3f), test::make_cube()}) {
    Asked asked(mesh);
    EXPECT_TRUE(asked.find(mesh.positions).empty());
    EXPECT_TRUE(asked.find(test::moved(mesh, {100, -30, 7}, 0.3f).positions).empty());
  }
}

// Corners of a regular tube lie on the planes of triangles beside them, and on the lines of their edges.
// Disabled: a segment in a triangle's plane on a line through its corner counts as crossing it.
TEST(CrossingTriangles, NoneOnARegularTube) {
  Asked asked(test::make_tube(12, 9, 0.1f, 1, true));
  EXPECT_TRUE(asked.find(asked.mesh.positions).empty());
}

TEST(CrossingTriangles, ThoseOfTwoBallsAreWhatTheExactSearchFinds) {
  const Mesh ball = test::make_icosphere(3);
  const std::size_t count = ball.positions.size();
  Asked asked(test::join(ball, test::moved(ball, {5, 0, 0})));
  std::mt19937 random(1);
  std::uniform_real_distribution<float> number(-1, 1);
  for (int trial = 0; trial < 4; ++trial) {
    const Vec3f shift =
        Vec3f(number(random), number(random), number(random)).normalized() * (1.1f + 0.5f * number(random));
    const Vec3f squash(1, 1 + 0.5f * number(random), 1);
    std::vector<Vec3f> positions = ball.positions;
    for (std::size_t v = 0; v < count; ++v)
      positions.push_back(ball.positions[v].cwiseProduct(squash) + shift);
    // Both balls are convex and no leaf holds triangles of both: every crossing has to be found.
    const Expected expected = expected_crossings(asked, positions);
    EXPECT_EQ(expected.may, expected.must);
    EXPECT_EQ(asked.find(positions), expected.may);
    EXPECT_GT(expected.pairs, 30u) << trial;
  }
  EXPECT_TRUE(asked.find(asked.mesh.positions).empty());  // nothing is kept from the frame before
}

TEST(CrossingTriangles, OfABentTube) {
  test::GridTubeOptions options;
  options.rings = 64;
  options.segments = 24;
  options.blend = 0.1f;
  Scene scene = test::make_grid_tube(options);
  scene.meshes[0].surface = roughened(scene.meshes[0].surface, 1e-3f);
  Asked asked(scene.meshes[0].surface);
  EXPECT_EQ(expect_the_crossings(asked, test::pose_mesh(scene, 0, 0)), 0u);
  std::size_t most = 0;
  for (const int degrees : {60, 100, 130, 150})
    most = std::max(most, expect_the_crossings(asked, test::pose_mesh(scene, 0, degrees / 30.0)));
  EXPECT_GT(most, 50u);
}

TEST(CrossingTriangles, OfFoldedSheets) {
  const Mesh sheet = test::make_grid(24, 24, 2, 2);
  Asked asked(sheet);
  std::mt19937 random(2);
  std::uniform_real_distribution<float> number(-1, 1);
  const auto vector = [&] { return Vec3f(number(random), number(random), number(random)); };
  std::size_t most = 0;
  for (int trial = 0; trial < 6; ++trial) {
    const Vec3f to[3] = {vector(), vector(), vector()};
    const Vec3f waves[3] = {5 * vector(), 5 * vector(), 9 * vector()};
    std::vector<Vec3f> folded;
    for (const Vec3f& p : sheet.positions) {
      Vec3f at = 0.3f * p;
      for (int k = 0; k < 3; ++k) at += std::sin(waves[k].dot(p) + static_cast<float>(k)) * to[k];
      folded.push_back(at);
    }
    most = std::max(most, expect_the_crossings(asked, folded));
  }
  EXPECT_GT(most, 100u);
}

TEST(CrossingTriangles, OfCrumpledBalls) {
  const Mesh ball = test::make_icosphere(2);
  Asked asked(ball);
  std::mt19937 random(3);
  std::normal_distribution<float> number;
  for (const float noise : {0.02f, 0.1f, 0.4f}) {
    std::vector<Vec3f> crumpled = ball.positions;
    for (Vec3f& p : crumpled) p += noise * Vec3f(number(random), number(random), number(random));
    expect_the_crossings(asked, crumpled);
  }
}

TEST(CrossingTriangles, CountsNeighboursOnlyWhereTheyFoldOntoEachOther) {
  // A strip along x of which the end is turned back about y by an angle.
  constexpr int kColumns = 20;
  const Mesh strip = roughened(test::make_grid(kColumns, 4, 2, 0.4f), 1e-3f);
  Asked asked(strip);
  const auto turned = [&](double angle, float drop) {
    std::vector<Vec3f> positions = strip.positions;
    for (Vec3f& p : positions) {
      const double beyond = p.x() - 1.02;
      if (beyond <= 0) continue;
      p.x() = static_cast<float>(1.02 + beyond * std::cos(angle));
      p.z() += static_cast<float>(beyond * std::sin(angle)) - drop;
      p.y() += static_cast<float>(0.1 * beyond);  // so that no edges meet
    }
    return positions;
  };
  for (const double degrees : {0.0, 45.0, 90.0, 120.0, 170.0})
    EXPECT_TRUE(asked.find(turned(degrees * kDegree, 0)).empty()) << degrees;
  // Back, and through what it hangs on.
  EXPECT_GT(expect_the_crossings(asked, turned(170 * kDegree, 0.05f)), 4u);
}

TEST(CrossingTriangles, PassesOverTrianglesThatShareACorner) {
  // Far enough from each other in the tree to be in leaves of their own.
  Mesh mesh = test::make_icosphere(2);
  const auto first = static_cast<std::uint32_t>(mesh.positions.size());
  mesh.positions.insert(mesh.positions.end(), {{10, 0, 0}, {14, 0, 0}, {10, 4, 0}, {11, 1, -1}, {11, 1, 1}});
  mesh.triangles.push_back({first, first + 1, first + 2});
  mesh.triangles.push_back({first, first + 3, first + 4});
  ASSERT_EQ(self_intersections(mesh.view()).size(), 1u);
  Asked asked(mesh);
  EXPECT_TRUE(asked.find(mesh.positions).empty());
}

TEST(CrossingTriangles, SameOnAnyNumberOfThreads) {
  const Mesh ball = test::make_icosphere(3);
  Mesh both = test::join(ball, test::moved(ball, {0.5f, 0.2f, 0.1f}));
  const auto ask = [&](int threads) {
    Asked asked(both);
    tbb::task_arena(threads).execute([&] { asked.find(both.positions); });
    return asked.scratch.found;
  };
  const auto one = ask(1);
  EXPECT_TRUE(std::any_of(one.begin(), one.end(), [](const auto& found) { return !found.empty(); }));
  EXPECT_EQ(one, ask(4));
}

TEST(CrossingTriangles, SmallSurfaces) {
  Asked nothing{Mesh()};
  EXPECT_TRUE(nothing.find({}).empty());
  Asked one(make_mesh({{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, std::vector<Triangle>{{0, 1, 2}}));
  EXPECT_TRUE(one.find(one.mesh.positions).empty());
  Asked no_area(
      make_mesh(std::vector<Vec3f>(40, Vec3f::Ones()), std::vector<Triangle>(30, Triangle{1, 2, 3})));
  EXPECT_TRUE(no_area.find(no_area.mesh.positions).empty());
}

}  // namespace
}  // namespace sinew
