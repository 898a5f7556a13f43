#include <sinew/core/index.h>
#include <sinew/fitting/resolution_levels.h>

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "tests/support/indices.h"
#include "tests/support/limb_graphs.h"

namespace sinew {
namespace {

using test::make_tree;
using test::numbers;
using test::TreeNode;

/// The only level of a graph whose short arcs are those under `threshold` metres.
ResolutionLevel filtered(const LimbGraph& graph, double threshold) {
  const PerNode<double> distances = distances_from_head(graph);
  const double size = *std::max_element(distances.begin(), distances.end());
  return resolution_levels(graph, {2, threshold / size}).back();
}

/// Per original node, its parent among these.
std::vector<int> parents(const ResolutionLevel& level) {
  NodeMap result(level.reduced.size());
  for (const LimbGraph::Arc& arc : level.graph.arcs)
    result[level.original[arc.to]] = level.original[arc.from];
  return numbers(result);
}

LimbGraph random_tree(std::mt19937& random, int count) {
  std::normal_distribution<double> normal;
  std::exponential_distribution<double> length(1);
  std::vector<TreeNode> nodes{{}};
  for (int n = 1; n < count; ++n) {
    const int parent = std::uniform_int_distribution<int>(std::max(0, n - 6), n - 1)(random);
    const Vec3d step = Vec3d(normal(random), normal(random), normal(random)).normalized() * length(random);
    nodes.push_back({parent, nodes[to_size(parent)].position + step});
  }
  return make_tree(nodes);
}

TEST(ResolutionLevels, MergeShortInnerArcsTowardsTheHead) {
  // Figure 3.6, red: 1 to 2 is short; what leaves 2 now leaves 1, and its way still passes 2's place.
  const LimbGraph graph = make_tree(
      {{-1, {0, 9, 0}}, {0, {0, 5, 0}}, {1, {0, 4.9, 0}}, {1, {3, 5, 0}}, {2, {2, 2, 0}}, {2, {-2, 2, 0}}});
  const ResolutionLevel level = filtered(graph, 0.5);
  EXPECT_EQ(parents(level), (std::vector<int>{-1, 0, -1, 1, 1, 1}));
  EXPECT_FALSE(level.reduced[NodeId(2)].valid());
  EXPECT_EQ(numbers(level.original), (std::vector<int>{0, 1, 3, 4, 5}));
  const ArcId arc = level.graph.nodes[level.reduced[NodeId(4)]].parent_arc;
  EXPECT_EQ(level.graph.arcs[arc].points, (std::vector<Vec3d>{Vec3d(0, 4.9, 0), Vec3d(2, 2, 0)}));
  EXPECT_EQ(numbers(level.originals_on[arc]), (std::vector<int>{2, 4}));
}

TEST(ResolutionLevels, PruneShortOuterArcs) {
  // Figure 3.6, green: 4 is pruned; 1 still parts.
  const LimbGraph graph =
      make_tree({{-1, {0, 9, 0}}, {0, {0, 5, 0}}, {1, {3, 5, 0}}, {1, {-3, 5, 0}}, {1, {0, 4.8, 0}}});
  EXPECT_EQ(parents(filtered(graph, 0.5)), (std::vector<int>{-1, 0, 1, 1, -1}));
}

TEST(ResolutionLevels, JoinTheTwoArcsOfANodeThatNoLongerParts) {
  // Figure 3.6, orange: after 2 is pruned, 1 only passes on.
  const LimbGraph graph = make_tree({{-1, {0, 9, 0}}, {0, {0, 5, 0}}, {1, {0.3, 5, 0}}, {1, {0, 1, 0}}});
  const ResolutionLevel level = filtered(graph, 0.5);
  EXPECT_EQ(parents(level), (std::vector<int>{-1, -1, -1, 0}));
  ASSERT_EQ(level.graph.arcs.size(), 1u);
  EXPECT_EQ(level.graph.arcs.front().points, (std::vector<Vec3d>{Vec3d(0, 5, 0), Vec3d(0, 1, 0)}));
  EXPECT_DOUBLE_EQ(level.graph.length(ArcId(0)), 8);
}

TEST(ResolutionLevels, RemoveTheShortestFirst) {
  // Of a foot's two toes the shorter goes; the other then is the leg's end and no longer short.
  const LimbGraph graph = make_tree({{-1, {0, 9, 0}}, {0, {0, 0, 0}}, {1, {0.4, 0, 0}}, {1, {0, 0, 0.3}}});
  const ResolutionLevel level = filtered(graph, 0.5);
  EXPECT_EQ(numbers(level.original), (std::vector<int>{0, 2}));
  EXPECT_DOUBLE_EQ(level.graph.length(ArcId(0)), 9.4);
}

TEST(ResolutionLevels, HaveThresholdsThatRiseEvenly) {
  const ResolutionLevels levels =
      resolution_levels(make_tree({{-1, {0, 9, 0}}, {0, {0, 5, 0}}, {1, {3, 5, 0}}, {1, {0, -1, 0}}}));
  ASSERT_EQ(levels.size(), 10u);
  for (std::size_t k = 0; k < 10; ++k)
    EXPECT_NEAR(levels[k].threshold, 0.1 * 10 * static_cast<double>(k) / 9, 1e-12);
  EXPECT_EQ(levels[0].graph.nodes.size(), 4u);
  EXPECT_EQ(levels[9].graph.nodes.size(), 4u);
}

TEST(ResolutionLevels, ProperTreesOfRandomOnes) {
  std::mt19937 random(7);
  int merged = 0, pruned = 0;
  for (int round = 0; round < 60; ++round) {
    const LimbGraph graph = random_tree(random, 60);
    const PerNode<double> distances = distances_from_head(graph);
    const double size = *std::max_element(distances.begin(), distances.end());
    const ResolutionLevels levels = resolution_levels(graph, {10, 0.4});
    for (std::size_t k = 0; k < levels.size(); ++k) {
      const ResolutionLevel& level = levels[k];
      const PerNode<double> here = distances_from_head(level.graph);
      ASSERT_EQ(level.original.front(), LimbGraph::kHead);
      for (const NodeId n : level.original.ids()) {
        const NodeId from = level.original[n];
        EXPECT_EQ(level.reduced[from], n);
        EXPECT_EQ(level.graph.nodes[n].position, graph.nodes[from].position);  // nodes do not move
        EXPECT_NEAR(here[n], distances[from], 1e-9);                           // and limbs keep their length
        EXPECT_TRUE(n == LimbGraph::kHead || level.graph.nodes[n].child_arcs.size() != 1);
      }
      EXPECT_NEAR(*std::max_element(here.begin(), here.end()), size, 1e-9);
      for (const ArcId a : level.graph.arcs.ids()) {
        const LimbGraph::Arc& arc = level.graph.arcs[a];
        EXPECT_LT(arc.from, arc.to);
        EXPECT_EQ(level.graph.nodes[arc.to].parent_arc, a);
        EXPECT_GE(level.graph.length(a), level.threshold);
        if (k > 0) {
          const ResolutionLevel& finer = levels[k - 1];
          const LimbGraph::Arc& homologue = finer.graph.arcs[level.finer_arc[a]];
          EXPECT_EQ(finer.original[homologue.from], level.original[arc.from]);
          EXPECT_EQ(finer.originals_on[level.finer_arc[a]][0], level.originals_on[a][0]);
        }
        if (k + 1 < levels.size()) {
          const ArcId coarser = level.coarser_arc[a];
          const NodeId end = level.original[arc.to];
          if (coarser.valid()) {
            const std::vector<NodeId>& originals = levels[k + 1].originals_on[coarser];
            EXPECT_NE(std::find(originals.begin(), originals.end(), end), originals.end());
          } else {
            EXPECT_FALSE(levels[k + 1].reduced[end].valid());
            (level.graph.is_leaf(arc.to) ? pruned : merged) += 1;
          }
        }
      }
      // As if filtered alone: a level does not depend on those before it.
      if (level.threshold > 0) {
        EXPECT_EQ(resolution_levels(graph, {2, level.threshold / size}).back().original, level.original);
      }
    }
  }
  EXPECT_GT(pruned, 100);
  EXPECT_GT(merged, 100);
}

TEST(ResolutionLevels, CarryRadii) {
  LimbGraph graph = make_tree({{-1, {0, 9, 0}}, {0, {0, 5, 0}}, {1, {0.3, 5, 0}}, {1, {0, 1, 0}}});
  graph.arcs[ArcId(0)].radii = {0.5};
  graph.arcs[ArcId(1)].radii = {0.1};
  graph.arcs[ArcId(2)].radii = {0.25};
  EXPECT_EQ(filtered(graph, 0.5).graph.arcs.front().radii, (std::vector<double>{0.5, 0.25}));
}

TEST(ResolutionLevels, OfOneNodeAndOfOneArc) {
  for (const ResolutionLevel& level : resolution_levels(make_tree({{}}))) {
    EXPECT_EQ(level.graph.nodes.size(), 1u);
    EXPECT_EQ(level.threshold, 0);
  }
  for (const ResolutionLevel& level : resolution_levels(make_tree({{}, {0, {0, -1, 0}}}))) {
    EXPECT_EQ(level.graph.arcs.size(), 1u);  // never short of itself
    EXPECT_EQ(numbers(level.original), (std::vector<int>{0, 1}));
  }
}

}  // namespace
}  // namespace sinew
