#include <sinew/geometry/one_rings.h>

#include <algorithm>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

using Numbers = std::vector<std::uint32_t>;

Numbers ring(const OneRings& rings, std::size_t v) {
  return {rings[v].begin(), rings[v].end()};
}

// The neighbours of v by definition.
Numbers neighbours(std::span<const Triangle> triangles, std::uint32_t v) {
  std::set<std::uint32_t> found;
  for (const Triangle& f : triangles) {
    if (f[0] == f[1] || f[1] == f[2] || f[2] == f[0]) continue;
    if (std::find(f.begin(), f.end(), v) == f.end()) continue;
    for (const std::uint32_t w : f)
      if (w != v) found.insert(w);
  }
  return {found.begin(), found.end()};
}

bool has_triangle(std::span<const Triangle> triangles, const Triangle& wanted) {
  return std::any_of(triangles.begin(), triangles.end(), [&](const Triangle& f) {
    return f == wanted || Triangle{f[1], f[2], f[0]} == wanted || Triangle{f[2], f[0], f[1]} == wanted;
  });
}

// What the header promises, checked triangle by triangle.
void check_rings(std::size_t vertex_count, std::span<const Triangle> triangles) {
  const OneRings rings = one_rings(vertex_count, triangles);
  ASSERT_EQ(rings.size(), vertex_count);
  for (std::uint32_t v = 0; v < vertex_count; ++v) {
    Numbers sorted = ring(rings, v);
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, neighbours(triangles, v)) << "vertex " << v;
    const auto own = rings[v];
    const RingKind kind = rings.kinds[v];
    EXPECT_EQ(own.empty(), kind == RingKind::isolated);
    if (kind != RingKind::closed && kind != RingKind::open) continue;
    const std::size_t wedges = own.size() - (kind == RingKind::open ? 1 : 0);
    for (std::size_t i = 0; i < wedges; ++i)
      EXPECT_TRUE(has_triangle(triangles, {v, own[i], own[(i + 1) % own.size()]})) << "vertex " << v;
  }
}

TEST(OneRings, ClosedSurfacesHaveClosedRings) {
  for (const Mesh& mesh : {test::make_cube(), test::make_icosphere(2), test::make_torus(7, 5)}) {
    check_rings(mesh.positions.size(), mesh.triangles);
    const OneRings rings = one_rings(mesh.positions.size(), mesh.triangles);
    for (const RingKind kind : rings.kinds) EXPECT_EQ(kind, RingKind::closed);
  }
}

TEST(OneRings, RunCounterClockwise) {
  const Mesh grid = test::make_grid(2, 2);
  const OneRings rings = one_rings(9, grid.triangles);
  EXPECT_EQ(ring(rings, 4), (Numbers{0, 1, 5, 8, 7, 3}));
  EXPECT_EQ(rings.kinds[4], RingKind::closed);
  // The corner (0, 0): from the x axis to the y axis.
  EXPECT_EQ(ring(rings, 0), (Numbers{1, 4, 3}));
  EXPECT_EQ(rings.kinds[0], RingKind::open);
  EXPECT_EQ(ring(rings, 2), (Numbers{5, 1}));
  check_rings(9, grid.triangles);
}

TEST(OneRings, OpenTube) {
  const Mesh tube = test::make_tube(8, 3);
  check_rings(tube.positions.size(), tube.triangles);
  const OneRings rings = one_rings(tube.positions.size(), tube.triangles);
  EXPECT_EQ(std::count(rings.kinds.begin(), rings.kinds.end(), RingKind::open), 16);
  EXPECT_EQ(std::count(rings.kinds.begin(), rings.kinds.end(), RingKind::closed), 16);
}

TEST(OneRings, HighValence) {
  const Mesh tube = test::make_tube(3000, 1, 1, 1, true);
  const OneRings rings = one_rings(tube.positions.size(), tube.triangles);
  EXPECT_EQ(rings[6000].size(), 3000u);
  EXPECT_EQ(rings.kinds[6000], RingKind::closed);
}

TEST(OneRings, IsolatedVerticesAndNoTriangles) {
  const OneRings rings = one_rings(3, {});
  EXPECT_EQ(rings.kinds, std::vector<RingKind>(3, RingKind::isolated));
  EXPECT_TRUE(rings[1].empty());
  EXPECT_EQ(one_rings(0, {}).size(), 0u);
}

TEST(OneRings, NonManifoldEdgeIsIrregular) {
  const std::vector<Triangle> book = {{0, 1, 2}, {1, 0, 3}, {0, 1, 4}};
  check_rings(5, book);
  const OneRings rings = one_rings(5, book);
  EXPECT_EQ(rings.kinds[0], RingKind::irregular);
  EXPECT_EQ(ring(rings, 0), (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(rings.kinds[4], RingKind::open);
}

TEST(OneRings, BowTieVertexIsIrregular) {
  const std::vector<Triangle> bow_tie = {{0, 1, 2}, {0, 3, 4}};
  check_rings(5, bow_tie);
  EXPECT_EQ(one_rings(5, bow_tie).kinds[0], RingKind::irregular);
  // Two closed umbrellas that touch in one vertex.
  const Mesh a = test::make_icosphere(1);
  Mesh both = test::join(a, a);
  const auto n = static_cast<std::uint32_t>(a.positions.size());
  for (Triangle& f : both.triangles)
    for (std::uint32_t& v : f)
      if (v == n) v = 0;
  check_rings(both.positions.size(), both.triangles);
  const OneRings rings = one_rings(both.positions.size(), both.triangles);
  EXPECT_EQ(rings.kinds[0], RingKind::irregular);
  EXPECT_EQ(rings.kinds[n], RingKind::isolated);
  EXPECT_EQ(rings.kinds[1], RingKind::closed);
}

TEST(OneRings, TheSameTriangleTwiceCountsOnce) {
  Mesh cube = test::make_cube();
  const OneRings before = one_rings(8, cube.triangles);
  cube.triangles.push_back({cube.triangles[3][1], cube.triangles[3][2], cube.triangles[3][0]});
  cube.triangles.push_back({2, 2, 5});
  const OneRings after = one_rings(8, cube.triangles);
  EXPECT_EQ(after.neighbours, before.neighbours);
  EXPECT_EQ(after.kinds, before.kinds);
}

TEST(OneRings, FlippedTriangleIsIrregular) {
  Mesh mesh = test::make_icosphere(1);
  std::swap(mesh.triangles[5][0], mesh.triangles[5][1]);
  check_rings(mesh.positions.size(), mesh.triangles);
  const OneRings rings = one_rings(mesh.positions.size(), mesh.triangles);
  EXPECT_EQ(std::count(rings.kinds.begin(), rings.kinds.end(), RingKind::irregular), 3);
}

TEST(OneRings, MoebiusStrip) {
  // Not orientable: across one edge the triangles disagree, and only its ends are irregular.
  std::vector<Triangle> strip;
  const std::uint32_t n = 10;
  for (std::uint32_t i = 0; i < n; ++i) {
    std::uint32_t a = 2 * i, b = 2 * i + 1, c = 2 * ((i + 1) % n), d = c + 1;
    if (i + 1 == n) std::swap(c, d);
    strip.push_back({a, c, b});
    strip.push_back({b, c, d});
  }
  check_rings(2 * n, strip);
  const OneRings rings = one_rings(2 * n, strip);
  EXPECT_EQ(std::count(rings.kinds.begin(), rings.kinds.end(), RingKind::irregular), 2);
  EXPECT_EQ(std::count(rings.kinds.begin(), rings.kinds.end(), RingKind::open), 18);
}

TEST(OneRings, SurvivesAnyTriangles) {
  EXPECT_TRUE(rc::check("random triangles on few vertices", [] {
    const auto numbers = *rc::gen::container<Numbers>(rc::gen::inRange<std::uint32_t>(0, 7));
    std::vector<Triangle> triangles;
    for (std::size_t i = 0; i + 2 < numbers.size(); i += 3)
      triangles.push_back({numbers[i], numbers[i + 1], numbers[i + 2]});
    const OneRings rings = one_rings(7, triangles);
    for (std::uint32_t v = 0; v < 7; ++v) {
      Numbers sorted = ring(rings, v);
      std::sort(sorted.begin(), sorted.end());
      RC_ASSERT(sorted == neighbours(triangles, v));
    }
  }));
}

}  // namespace
}  // namespace sinew
