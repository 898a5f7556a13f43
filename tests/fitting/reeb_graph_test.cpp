#include <sinew/core/index.h>
#include <sinew/fitting/reeb_graph.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include <gtest/gtest.h>

#include <sinew/geometry/disjoint_sets.h>

#include "tests/reference/online_reeb.h"
#include "tests/support/meshes.h"
#include "tests/support/random_soup.h"

namespace sinew {
namespace {

/// Random numbers, smooth ones with few extrema, or small integers with many ties.
std::vector<double> random_function(std::mt19937& random, const MeshView& mesh, int kind) {
  std::normal_distribution<double> normal;
  const Vec3d way(normal(random), normal(random), normal(random)), wave = 4 * way;
  std::vector<double> values;
  for (const Vec3f& p : mesh.positions) {
    const Vec3d x = p.cast<double>();
    switch (kind) {
      case 0:
        values.push_back(normal(random));
        break;
      case 1:
        values.push_back(way.dot(x) + 0.3 * std::sin(wave.dot(x)));
        break;
      default:
        values.push_back(std::uniform_int_distribution<int>(0, 3)(random));
    }
  }
  return values;
}

/// The sweep agrees with its twin, and its arcs hold every vertex once.
ReebGraph expect_agreement(const MeshView& mesh, const std::vector<double>& values) {
  const ReebGraph graph = reeb_graph(mesh, values);
  const reference::OnlineReeb expected = reference::online_reeb(mesh, values);
  std::vector<std::uint32_t> nodes;
  for (const ReebGraph::Node& node : graph.nodes) nodes.push_back(node.vertex);
  EXPECT_EQ(nodes, expected.nodes);
  std::vector<std::array<std::uint32_t, 2>> arcs;
  for (const ReebGraph::Arc& arc : graph.arcs)
    arcs.push_back({graph.nodes[arc.from].vertex, graph.nodes[arc.to].vertex});
  std::sort(arcs.begin(), arcs.end());
  EXPECT_EQ(arcs, expected.arcs);

  const auto below = [&](std::uint32_t a, std::uint32_t b) {
    return values[a] != values[b] ? values[a] < values[b] : a < b;
  };
  std::vector<int> uses(mesh.positions.size(), 0), wanted(mesh.positions.size(), 0);
  for (const Triangle& t : mesh.triangles)
    if (t[0] != t[1] && t[1] != t[2] && t[2] != t[0])
      for (const std::uint32_t v : t) wanted[v] = 1;
  for (const ReebNodeId n : graph.nodes.ids()) {
    ++uses[graph.nodes[n].vertex];
    for (const ReebArcId arc : graph.nodes[n].lower) EXPECT_EQ(graph.arcs[arc].to, n);
    for (const ReebArcId arc : graph.nodes[n].upper) EXPECT_EQ(graph.arcs[arc].from, n);
  }
  for (const ReebGraph::Arc& arc : graph.arcs) {
    std::uint32_t last = graph.nodes[arc.from].vertex;
    for (const std::uint32_t v : arc.vertices) {
      EXPECT_TRUE(below(last, v));
      last = v;
      ++uses[v];
    }
    EXPECT_TRUE(below(last, graph.nodes[arc.to].vertex));
  }
  EXPECT_EQ(uses, wanted);
  return graph;
}

/// Arcs that close a loop.
long loops(const ReebGraph& graph) {
  DisjointSets components(graph.nodes.size());
  long count = 0;
  for (const ReebGraph::Arc& arc : graph.arcs) {
    const auto from = static_cast<std::uint32_t>(arc.from.value()),
               to = static_cast<std::uint32_t>(arc.to.value());
    count += components.find(from) == components.find(to);
    components.join(from, to);
  }
  return count;
}

void expect_agreement(const Mesh& mesh, long handles) {
  std::mt19937 random(11);
  for (int kind = 0; kind < 3; ++kind)
    for (int round = 0; round < 12; ++round) {
      const ReebGraph graph = expect_agreement(mesh.view(), random_function(random, mesh.view(), kind));
      // A loop opens and closes at a single vertex where that is a saddle twice.
      if (handles >= 0) {
        EXPECT_LE(loops(graph), handles);
      }
    }
}

TEST(ReebGraph, AgreesWithItsTwinOnASphere) {
  expect_agreement(test::make_icosphere(1), 0);
  expect_agreement(test::make_icosphere(2), 0);
}

TEST(ReebGraph, AgreesWithItsTwinOnATorus) {
  expect_agreement(test::make_torus(9, 6), 1);
  expect_agreement(test::make_torus(4, 3), 1);
}

TEST(ReebGraph, AgreesWithItsTwinOnOpenSurfaces) {
  expect_agreement(test::make_tube(7, 6), -1);
  expect_agreement(test::make_grid(7, 5), 0);
}

TEST(ReebGraph, AgreesWithItsTwinWhereThreeSheetsMeet) {
  // Three grids that share their first row of vertices.
  const int columns = 6, rows = 4;
  const Mesh grid = test::make_grid(columns, rows);
  std::vector<Vec3f> positions(grid.positions.begin(), grid.positions.begin() + columns + 1);
  std::vector<Triangle> triangles;
  for (int sheet = 0; sheet < 3; ++sheet) {
    const auto start = static_cast<std::uint32_t>(positions.size());
    const auto shared = static_cast<std::uint32_t>(columns + 1);
    const Eigen::AngleAxisf turn(static_cast<float>(sheet * 2 * std::numbers::pi / 3), Vec3f::UnitX());
    for (std::size_t v = shared; v < grid.positions.size(); ++v)
      positions.push_back(turn * grid.positions[v]);
    for (Triangle t : grid.triangles) {
      for (std::uint32_t& v : t)
        if (v >= shared) v += start - shared;
      triangles.push_back(t);
    }
  }
  expect_agreement(make_mesh(positions, triangles), -1);
}

TEST(ReebGraph, GivesEveryComponentAGraphOfItsOwn) {
  const Mesh two =
      test::join(test::make_icosphere(1), test::moved(test::make_torus(6, 4), Vec3f(0.5f, 0, 0)));
  expect_agreement(two, 1);
  // Two that touch in one vertex.
  const std::vector<Triangle> triangles{{0, 1, 2}, {2, 3, 4}};
  const Mesh bow = make_mesh(std::vector<Vec3f>(5, Vec3f::Zero()), triangles);
  expect_agreement(bow, 0);
}

TEST(ReebGraph, AgreesWithItsTwinWhereTwoSpheresTouch) {
  const Mesh one = test::make_icosphere(1);
  const Mesh two = test::join(one, test::moved(one, Vec3f(2, 0, 0)));
  std::vector<Triangle> triangles = two.triangles;
  const auto count = static_cast<std::uint32_t>(one.positions.size());
  for (Triangle& t : triangles)
    for (std::uint32_t& v : t)
      if (v == count + 7) v = 3;
  expect_agreement(make_mesh(two.positions, triangles), 0);
}

TEST(ReebGraph, AgreesWithItsTwinOnSoups) {
  std::mt19937 random(5);
  int tested = 0;
  for (std::uint32_t seed = 0; seed < 120; ++seed) {
    const test::RandomSoup soup = test::make_random_soup(seed);
    if (soup.triangles.size() > 400) continue;
    SCOPED_TRACE(soup.what);
    for (int kind = 0; kind < 3; ++kind)
      if (kind != 1) expect_agreement(soup.view(), random_function(random, soup.view(), kind));
    ++tested;
  }
  // The densest there are: many triangles on few vertices.
  for (int round = 0; round < 60; ++round) {
    std::vector<Triangle> triangles;
    std::uniform_int_distribution<std::uint32_t> vertex(0, 9u + static_cast<std::uint32_t>(round));
    for (int k = 0; k < 40; ++k) triangles.push_back({vertex(random), vertex(random), vertex(random)});
    const std::vector<Vec3f> positions(10 + to_size(round), Vec3f::Zero());
    const MeshView mesh{positions, triangles};
    expect_agreement(mesh, random_function(random, mesh, 0));
  }
  EXPECT_GT(tested, 30);
}

TEST(ReebGraph, OfAStandingTorusHasALoop) {
  // Figure 3.4 turned upright: begins, parts, meets, ends.
  const Mesh torus = test::make_torus(24, 12);
  std::vector<double> height;
  for (const Vec3f& p : torus.positions) height.push_back(p.x() + 0.01 * p.y() + 0.003 * p.z());
  const ReebGraph graph = reeb_graph(torus.view(), height);
  ASSERT_EQ(graph.nodes.size(), 4u);
  EXPECT_EQ(graph.arcs.size(), 4u);
  EXPECT_EQ(graph.nodes[ReebNodeId(1)].upper.size(), 2u);
  EXPECT_EQ(graph.nodes[ReebNodeId(2)].lower.size(), 2u);
  EXPECT_EQ(loops(graph), 1);
}

TEST(ReebGraph, LeavesOutTrianglesThatNameAVertexTwice) {
  const std::vector<Vec3f> positions(4, Vec3f::Zero());
  const std::vector<Triangle> triangles{{0, 0, 1}, {1, 2, 2}};
  const MeshView mesh{positions, triangles};
  EXPECT_TRUE(expect_agreement(mesh, {0, 1, 2, 3}).nodes.empty());
}

TEST(Contour, IsACrossSection) {
  const Mesh tube = test::make_tube(48, 20, 0.25f, 2.0f);
  std::vector<double> height;
  for (const Vec3f& p : tube.positions) height.push_back(p.y());
  ContourTracer tracer(tube.view(), height);
  const Contour contour = tracer.trace(11 * 48 + 5, 1.03);
  EXPECT_LT((contour.centre - Vec3d(0, 1.03, 0)).norm(), 1e-6);
  EXPECT_NEAR(contour.radius, 0.25, 0.002);
  EXPECT_NEAR(contour.length, 2 * std::numbers::pi * 0.25, 0.01);
  // No edge leads down across the level from here.
  EXPECT_EQ(tracer.trace(0, -1).length, 0);
  EXPECT_EQ(tracer.trace(3, -1).centre, tube.positions[3].cast<double>());
}

TEST(Contour, OfAnOpenSurfaceHasTheRadiusOfItsLength) {
  const Mesh grid = test::make_grid(10, 10);
  std::vector<double> height;
  for (const Vec3f& p : grid.positions) height.push_back(p.y());
  const Contour contour = ContourTracer(grid.view(), height).trace(5 * 11, 0.45);
  EXPECT_NEAR(contour.length, 1, 1e-6);
  EXPECT_NEAR(contour.radius, 0.5 / std::numbers::pi, 1e-6);
  EXPECT_LT((contour.centre - Vec3d(0.5, 0.45, 0)).norm(), 1e-6);
}

TEST(Contour, OfAFlatLimbHasTheRadiusOfItsArea) {
  const Mesh tube = test::make_tube(40, 8, 1.0f, 2.0f);
  std::vector<Vec3f> positions = tube.positions;
  for (Vec3f& p : positions) p.z() *= 0.04f;
  std::vector<double> height;
  for (const Vec3f& p : positions) height.push_back(p.y());
  const MeshView flat{positions, tube.triangles};
  EXPECT_NEAR(ContourTracer(flat, height).trace(4 * 40, 0.9).radius, std::sqrt(0.04), 0.01);
}

}  // namespace
}  // namespace sinew
