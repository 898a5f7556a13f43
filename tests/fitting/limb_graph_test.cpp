#include <sinew/fitting/limb_graph.h>

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include <sinew/fitting/polyline.h>

#include "tests/support/indices.h"
#include "tests/support/limb_graphs.h"
#include "tests/support/meshes.h"
#include "tests/support/solids.h"

namespace sinew {
namespace {

std::uint32_t nearest_vertex(const Mesh& mesh, const Vec3d& p) {
  std::uint32_t best = 0;
  for (std::uint32_t v = 0; v < mesh.positions.size(); ++v)
    if ((mesh.positions[v].cast<double>() - p).norm() < (mesh.positions[best].cast<double>() - p).norm())
      best = v;
  return best;
}

Mesh limbs(const std::vector<std::pair<Vec3d, Vec3d>>& segments, double radius) {
  return test::to_mesh(extract_isosurface(test::capsules(segments, radius), segments[0].second, radius / 3));
}

void expect_tree(const LimbGraph& graph) {
  ASSERT_FALSE(graph.nodes.empty());
  EXPECT_FALSE(graph.nodes.front().parent_arc.valid());
  EXPECT_FALSE(graph.parent(LimbGraph::kHead).valid());
  EXPECT_EQ(graph.arcs.size() + 1, graph.nodes.size());
  for (const ArcId a : graph.arcs.ids()) {
    const LimbGraph::Arc& arc = graph.arcs[a];
    EXPECT_LT(arc.from, arc.to);
    EXPECT_EQ(graph.nodes[arc.to].parent_arc, a);
    EXPECT_EQ(graph.parent(arc.to), arc.from);
    const std::vector<ArcId>& siblings = graph.nodes[arc.from].child_arcs;
    EXPECT_EQ(std::count(siblings.begin(), siblings.end(), a), 1);
    EXPECT_EQ(arc.points.size(), arc.radii.size());
    EXPECT_EQ(arc.points.back(), graph.nodes[arc.to].position);
  }
}

TEST(LimbGraph, MeasuresArcsAndPaths) {
  LimbGraph graph = test::make_tree({{}, {0, {0, 3, 0}}, {1, {4, 3, 0}}, {1, {0, 5, 0}}});
  graph.arcs[ArcId(1)].points = {Vec3d(0, 3, 1), Vec3d(4, 3, 1), Vec3d(4, 3, 0)};
  EXPECT_DOUBLE_EQ(graph.length(ArcId(0)), 3);
  EXPECT_DOUBLE_EQ(graph.length(ArcId(1)), 6);
  const auto path = [&](int from, int to) { return test::numbers(graph.path(NodeId(from), NodeId(to))); };
  EXPECT_EQ(path(0, 2), (std::vector<int>{1, 2}));
  EXPECT_EQ(path(1, 2), (std::vector<int>{2}));
  EXPECT_TRUE(path(2, 2).empty());
  EXPECT_TRUE(path(2, 3).empty());
  EXPECT_TRUE(path(2, 0).empty());
  EXPECT_TRUE(graph.is_leaf(NodeId(3)));
  EXPECT_FALSE(graph.is_leaf(NodeId(1)));
}

TEST(LimbGraph, MeasuresDistancesFromTheHead) {
  LimbGraph graph = test::make_tree({{}, {0, {3, 4, 0}}, {1, {3, 5, 0}}});
  EXPECT_EQ(distances_from_head(graph).values(), (std::vector<double>{0, 5, 6}));
  graph.arcs[ArcId(1)].points = {Vec3d(4, 4, 0), Vec3d(3, 5, 0)};
  EXPECT_NEAR(distances_from_head(graph).back(), 6 + std::sqrt(2.0), 1e-12);
}

TEST(MeshGraph, OfATubeIsOneArcInItsMiddle) {
  const int around = 24, along = 40;
  const Mesh tube = test::make_tube(around, along, 0.2f, 2.0f, true);
  MeshGraphReport report;
  const LimbGraph graph =
      mesh_graph(tube.view(), static_cast<std::uint32_t>(around * (along + 1)), {}, &report);
  expect_tree(graph);
  ASSERT_EQ(graph.arcs.size(), 1u);
  EXPECT_EQ(report.reeb_nodes, 2u);
  EXPECT_EQ(report.cut_loops, 0u);
  EXPECT_EQ(report.values.size(), tube.positions.size());
  EXPECT_EQ(graph.nodes[NodeId(0)].position, Vec3d(0, 0, 0));
  EXPECT_LT((graph.nodes[NodeId(1)].position - Vec3d(0, 2, 0)).norm(), 1e-6);
  const LimbGraph::Arc& arc = graph.arcs.front();
  EXPECT_GT(arc.points.size(), 100u);
  EXPECT_EQ(arc.radii.back(), 0);
  for (std::size_t k = 0; k < arc.points.size(); ++k) {
    EXPECT_LT(std::hypot(arc.points[k].x(), arc.points[k].z()), 0.002);
    if (arc.points[k].y() > 0.02 && arc.points[k].y() < 1.98) {
      EXPECT_NEAR(arc.radii[k], 0.2, 0.05 * 0.2) << arc.points[k].y();
    }
  }
  EXPECT_NEAR(graph.length(ArcId(0)), 2, 0.01);
}

TEST(MeshGraph, OfAYPartsWhereItsLimbsDo) {
  const Vec3d left = Vec3d(0.7, -0.7, 0), right = Vec3d(-0.7, -0.7, 0);
  const Mesh y = limbs({{{0, 1, 0}, {0, 0, 0}}, {{0, 0, 0}, left}, {{0, 0, 0}, right}}, 0.12);
  const LimbGraph graph = mesh_graph(y.view(), nearest_vertex(y, {0, 1.12, 0}));
  expect_tree(graph);
  ASSERT_EQ(graph.nodes.size(), 4u);
  EXPECT_EQ(graph.nodes[NodeId(1)].child_arcs.size(), 2u);
  EXPECT_LT(graph.nodes[NodeId(1)].position.norm(), 0.15);
  EXPECT_LT((graph.nodes[NodeId(1)].saddle - Vec3d(0, -0.17, 0)).norm(), 0.15);  // in the crotch
  for (const ArcId a : graph.nodes[NodeId(1)].child_arcs) {
    const LimbGraph::Arc& arc = graph.arcs[a];
    const Vec3d& end = graph.nodes[arc.to].position;
    const Vec3d& wanted = end.x() > 0 ? left : right;
    EXPECT_LT((end - wanted).norm(), 0.2);
    // Down the middle of the limb.
    const Polyline middle({Vec3d::Zero(), wanted});
    for (std::size_t k = 0; k < arc.points.size(); ++k) {
      const Vec3d& p = arc.points[k];
      if (p.norm() < 0.3 || p.norm() > 0.9) continue;
      EXPECT_LT(middle.distance(p), 0.02);
      EXPECT_NEAR(arc.radii[k], 0.12, 0.02);
    }
  }
}

TEST(MeshGraph, OfACrossHasItsForkInTheMiddle) {
  const Mesh cross = limbs({{{0, 1, 0}, {0, 0, 0}},
                            {{0, 0, 0}, {0, -1.2, 0}},
                            {{0, 0, 0}, {0.8, 0, 0}},
                            {{0, 0, 0}, {-0.8, 0, 0}}},
                           0.1);
  const LimbGraph graph = mesh_graph(cross.view(), nearest_vertex(cross, {0, 1.1, 0}));
  expect_tree(graph);
  // One fork, or two that are near each other.
  int leaves = 0;
  for (const NodeId n : graph.below_head()) {
    const Vec3d& p = graph.nodes[n].position;
    if (!graph.is_leaf(n)) {
      EXPECT_LT(p.norm(), 0.15);
      continue;
    }
    ++leaves;
    EXPECT_LT(std::min({(p - Vec3d(0, -1.3, 0)).norm(), (p - Vec3d(0.9, 0, 0)).norm(),
                        (p - Vec3d(-0.9, 0, 0)).norm()}),
              0.12);
  }
  EXPECT_EQ(leaves, 3);
}

TEST(MeshGraph, CutsTheHandleOfATorus) {
  const Mesh torus = test::make_torus(40, 16, 1, 0.2f);
  MeshGraphReport report;
  const LimbGraph graph = mesh_graph(torus.view(), nearest_vertex(torus, {1.2, 0, 0}), {}, &report);
  expect_tree(graph);
  EXPECT_EQ(report.cut_loops, 1u);
  EXPECT_EQ(report.reeb_nodes, 4u);
  EXPECT_EQ(graph.nodes.size(), 5u);  // the far saddle ends one half of the ring and passes on the other
  for (const LimbGraph::Arc& arc : graph.arcs)
    for (const Vec3d& p : arc.points)
      if (std::abs(p.x()) < 0.6) {
        EXPECT_NEAR(std::hypot(p.x(), p.y()), 1, 0.05);
      }
}

TEST(MeshGraph, LeavesOutLimbsThatDoNotStandOut) {
  // A bump half as long as it is wide on the side of a limb.
  const Mesh mesh = limbs({{{0, 1, 0}, {0, 0, 0}}, {{0, 0, 0}, {0, -1, 0}}, {{0, 0, 0}, {0.3, 0, 0}}}, 0.1);
  const std::uint32_t head = nearest_vertex(mesh, {0, 1.1, 0});
  EXPECT_EQ(mesh_graph(mesh.view(), head).nodes.size(), 4u);
  MeshGraphOptions options;
  options.prominence = 0.2;
  EXPECT_EQ(mesh_graph(mesh.view(), head, options).nodes.size(), 2u);
}

TEST(MeshGraph, LeavesOutWhatDoesNotHangTogetherWithTheHead) {
  const Mesh tube = test::make_tube(12, 20, 0.1f, 1.0f, true);
  const Mesh two = test::join(tube, test::moved(test::make_icosphere(1), Vec3f(5, 0, 0)));
  const LimbGraph graph = mesh_graph(two.view(), 12 * 21);
  EXPECT_EQ(graph.nodes.size(), 2u);
}

TEST(MeshSize, IsThatOfWhatTrianglesUse) {
  const std::vector<Vec3f> positions{{0, 0, 0}, {3, 0, 0}, {0, 4, 0}, {100, 0, 0}};
  const std::vector<Triangle> triangles{{0, 1, 2}};
  EXPECT_DOUBLE_EQ(mesh_size({positions, triangles}), 5);
  EXPECT_EQ(mesh_size({positions, {}}), 0);
}

}  // namespace
}  // namespace sinew
