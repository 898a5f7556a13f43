#include <sinew/geometry/topology.h>

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

using Numbers = std::vector<std::uint32_t>;

TEST(Components, CountsIslandsInOrder) {
  const Mesh two = test::join(test::make_cube(), test::make_icosphere(1));
  const Components components = connected_components(two.positions.size() + 1, two.triangles);
  EXPECT_EQ(components.count, 3u);
  EXPECT_EQ(components.of_vertex[0], 0u);
  EXPECT_EQ(components.of_vertex[8], 1u);
  EXPECT_EQ(components.of_vertex.back(), 2u);  // isolated
  for (std::size_t t = 0; t < two.triangles.size(); ++t)
    EXPECT_EQ(components.of_triangle[t], t < 12 ? 0u : 1u);
  EXPECT_EQ(connected_components(0, {}).count, 0u);
}

TEST(Components, ASharedVertexConnects) {
  const std::vector<Triangle> bow_tie = {{3, 4, 0}, {0, 1, 2}, {7, 6, 5}};
  const Components components = connected_components(8, bow_tie);
  EXPECT_EQ(components.count, 2u);
  EXPECT_EQ(components.of_vertex, (Numbers{0, 0, 0, 0, 0, 1, 1, 1}));
}

TEST(BoundaryLoops, ClosedSurfacesHaveNone) {
  EXPECT_TRUE(boundary_loops(test::make_torus(5, 5).triangles).empty());
  EXPECT_TRUE(boundary_loops({}).empty());
}

TEST(BoundaryLoops, GridRunsCounterClockwise) {
  const auto loops = boundary_loops(test::make_grid(2, 1).triangles);
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_TRUE(loops[0].closed);
  EXPECT_EQ(loops[0].vertices, (Numbers{0, 1, 2, 5, 4, 3}));
}

TEST(BoundaryLoops, TubeHasTwo) {
  const auto loops = boundary_loops(test::make_tube(6, 4).triangles);
  ASSERT_EQ(loops.size(), 2u);
  for (const BoundaryLoop& loop : loops) {
    EXPECT_TRUE(loop.closed);
    EXPECT_EQ(loop.vertices.size(), 6u);
  }
}

TEST(BoundaryLoops, TouchingHolesComeApart) {
  // Two of the grid's inner quads that share a corner are missing.
  Mesh grid = test::make_grid(4, 4);
  std::vector<Triangle> triangles;
  for (std::size_t t = 0; t < grid.triangles.size(); ++t)
    if (t / 2 != 5 && t / 2 != 10) triangles.push_back(grid.triangles[t]);
  const auto loops = boundary_loops(triangles);
  ASSERT_EQ(loops.size(), 3u);
  std::multiset<std::size_t> sizes;
  for (const BoundaryLoop& loop : loops) {
    EXPECT_TRUE(loop.closed);
    EXPECT_EQ(std::set<std::uint32_t>(loop.vertices.begin(), loop.vertices.end()).size(),
              loop.vertices.size());
    sizes.insert(loop.vertices.size());
  }
  EXPECT_EQ(sizes, (std::multiset<std::size_t>{4, 4, 16}));
}

TEST(BoundaryLoops, NonManifoldEdgesEndThem) {
  const std::vector<Triangle> book = {{3, 4, 0}, {3, 4, 1}, {3, 4, 2}};
  const auto loops = boundary_loops(book);
  // Three pages on a spine with three triangles, so the spine is no border: six border edges, of which four
  // close to a loop and two remain.
  std::size_t edges = 0;
  for (const BoundaryLoop& loop : loops) edges += loop.vertices.size() - (loop.closed ? 0 : 1);
  EXPECT_EQ(edges, 6u);
  EXPECT_EQ(std::count_if(loops.begin(), loops.end(), [](const BoundaryLoop& loop) { return !loop.closed; }),
            1);
}

TEST(BoundaryLoops, MoebiusStripHasOne) {
  std::vector<Triangle> strip;
  const std::uint32_t n = 10;
  for (std::uint32_t i = 0; i < n; ++i) {
    std::uint32_t a = 2 * i, b = 2 * i + 1, c = 2 * ((i + 1) % n), d = c + 1;
    if (i + 1 == n) std::swap(c, d);
    strip.push_back({a, c, b});
    strip.push_back({b, c, d});
  }
  const auto loops = boundary_loops(strip);
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_TRUE(loops[0].closed);
  EXPECT_EQ(loops[0].vertices.size(), 20u);
}

TEST(BoundaryLoops, EveryBorderEdgeOnceWhateverTheTriangles) {
  EXPECT_TRUE(rc::check("random triangles on few vertices", [] {
    const auto numbers = *rc::gen::container<Numbers>(rc::gen::inRange<std::uint32_t>(0, 9));
    std::set<Triangle> distinct;
    std::vector<Triangle> triangles;
    for (std::size_t i = 0; i + 2 < numbers.size(); i += 3) {
      Triangle f = {numbers[i], numbers[i + 1], numbers[i + 2]};
      triangles.push_back(f);
      if (f[0] == f[1] || f[1] == f[2] || f[2] == f[0]) continue;
      std::rotate(f.begin(), std::min_element(f.begin(), f.end()), f.end());
      distinct.insert(f);
    }
    std::map<std::pair<std::uint32_t, std::uint32_t>, int> count;
    for (const Triangle& f : distinct)
      for (int k = 0; k < 3; ++k) ++count[std::minmax(f[k], f[(k + 1) % 3])];
    std::set<std::pair<std::uint32_t, std::uint32_t>> border, walked;
    for (const auto& entry : count)
      if (entry.second == 1) border.insert(entry.first);
    for (const BoundaryLoop& loop : boundary_loops(triangles)) {
      RC_ASSERT(std::set<std::uint32_t>(loop.vertices.begin(), loop.vertices.end()).size() ==
                loop.vertices.size());
      const std::size_t edges = loop.vertices.size() - (loop.closed ? 0 : 1);
      for (std::size_t i = 0; i < edges; ++i)
        RC_ASSERT(walked.insert(std::minmax(loop.vertices[i], loop.vertices[(i + 1) % loop.vertices.size()]))
                      .second);
    }
    RC_ASSERT(walked == border);
  }));
}

TEST(TopologyReport, GoodMeshes) {
  for (const Mesh& mesh : {test::make_cube(), test::make_icosphere(2), test::make_torus(6, 6)}) {
    const TopologyReport report = inspect_topology(mesh.view());
    EXPECT_TRUE(report.watertight());
    EXPECT_EQ(report.components, 1u);
    EXPECT_EQ(2 * report.edges, 3 * report.triangles);
    EXPECT_EQ(report.zero_area_triangles + report.duplicate_triangles + report.isolated_vertices +
                  report.non_manifold_vertices + report.boundary_loops + report.repeated_corner_triangles,
              0u);
  }
  // Euler's number.
  const TopologyReport sphere = inspect_topology(test::make_icosphere(2).view());
  EXPECT_EQ(sphere.vertices + sphere.triangles, sphere.edges + 2);
  const TopologyReport torus = inspect_topology(test::make_torus(6, 6).view());
  EXPECT_EQ(torus.vertices + torus.triangles, torus.edges);
}

TEST(TopologyReport, OpenTube) {
  const TopologyReport report = inspect_topology(test::make_tube(6, 2).view());
  EXPECT_FALSE(report.watertight());
  EXPECT_EQ(report.boundary_edges, 12u);
  EXPECT_EQ(report.boundary_loops, 2u);
}

TEST(TopologyReport, SplitCubeIsSixIslands) {
  const TopologyReport report = inspect_topology(test::split_all(test::make_cube()).view());
  EXPECT_EQ(report.components, 6u);
  EXPECT_EQ(report.boundary_edges, 24u);
}

TEST(TopologyReport, CountsWhatIsWrong) {
  Mesh mesh = test::make_cube();
  mesh.positions.push_back({9, 9, 9});       // 8: isolated
  mesh.positions.push_back({0, 0, 3});       // 9: a fin on the cube's edge 4-5
  mesh.positions.push_back({1e-3f, -1, 1});  // 10: on the line 4-5
  mesh.triangles.push_back({4, 5, 9});
  mesh.triangles.push_back({4, 5, 10});
  mesh.triangles.push_back({9, 9, 4});
  const Triangle copied = mesh.triangles[0];
  mesh.triangles.push_back({copied[1], copied[2], copied[0]});
  mesh.triangles.push_back({copied[2], copied[1], copied[0]});
  const TopologyReport report = inspect_topology(mesh.view());
  EXPECT_EQ(report.isolated_vertices, 1u);
  EXPECT_EQ(report.triangles, 17u);
  EXPECT_EQ(report.repeated_corner_triangles, 1u);
  EXPECT_EQ(report.zero_area_triangles, 2u);
  EXPECT_EQ(report.duplicate_triangles, 2u);
  EXPECT_EQ(report.non_manifold_edges,
            4u);  // the fins' edge and the three of the triangle that is there both ways
  EXPECT_EQ(report.boundary_edges, 4u);
  EXPECT_EQ(report.components, 1u);
  EXPECT_FALSE(report.watertight());
}

TEST(TopologyReport, FlippedTriangle) {
  Mesh mesh = test::make_icosphere(1);
  std::swap(mesh.triangles[7][0], mesh.triangles[7][1]);
  const TopologyReport report = inspect_topology(mesh.view());
  EXPECT_EQ(report.flipped_edges, 3u);
  EXPECT_EQ(report.boundary_edges, 0u);
  EXPECT_FALSE(report.watertight());
}

TEST(TopologyReport, TJunctionIsABorder) {
  // Two small triangles meet one big one along its side: three border edges lie on top of each other.
  const Mesh mesh = make_mesh({{0, 0, 0}, {2, 0, 0}, {1, 1, 0}, {1, 0, 0}, {0.5f, -1, 0}, {1.5f, -1, 0}},
                              std::vector<Triangle>{{0, 1, 2}, {0, 4, 3}, {3, 5, 1}});
  const TopologyReport report = inspect_topology(mesh.view());
  EXPECT_EQ(report.boundary_edges, 9u);
  EXPECT_EQ(report.non_manifold_edges, 0u);
}

}  // namespace
}  // namespace sinew
