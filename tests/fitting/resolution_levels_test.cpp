#include <sinew/fitting/resolution_levels.h>

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include <sinew/fitting/limb_alignment.h>

#include "tests/support/limb_graphs.h"

namespace sinew {
namespace {

using test::make_tree;
using test::TreeNode;

/// The only level of a graph whose short arcs are those under `threshold` metres.
ResolutionLevel filtered(const LimbGraph& graph, double threshold) {
  const std::vector<double> ways = distances_from_head(graph);
  const double size = *std::max_element(ways.begin(), ways.end());
  return resolution_levels(graph, {2, threshold / size}).back();
}

std::vector<int> parents(const ResolutionLevel& level) {
  std::vector<int> result(level.place.size(), -1);
  for (const LimbGraph::Arc& arc : level.graph.arcs)
    result[static_cast<std::size_t>(level.origin[static_cast<std::size_t>(arc.to)])] =
        level.origin[static_cast<std::size_t>(arc.from)];
  return result;
}

LimbGraph random_tree(std::mt19937& random, int count) {
  std::normal_distribution<double> normal;
  std::exponential_distribution<double> length(1);
  std::vector<TreeNode> nodes{{}};
  for (int n = 1; n < count; ++n) {
    const int parent = std::uniform_int_distribution<int>(std::max(0, n - 6), n - 1)(random);
    const Vec3d way = Vec3d(normal(random), normal(random), normal(random)).normalized() * length(random);
    nodes.push_back({parent, nodes[static_cast<std::size_t>(parent)].position + way});
  }
  return make_tree(nodes);
}

TEST(ResolutionLevels, MergeShortInnerArcsTowardsTheHead) {
  // Figure 3.6, red: 1 to 2 is short; what leaves 2 now leaves 1, and its way still passes 2's place.
  const LimbGraph graph = make_tree(
      {{-1, {0, 9, 0}}, {0, {0, 5, 0}}, {1, {0, 4.9, 0}}, {1, {3, 5, 0}}, {2, {2, 2, 0}}, {2, {-2, 2, 0}}});
  const ResolutionLevel level = filtered(graph, 0.5);
  EXPECT_EQ(parents(level), (std::vector<int>{-1, 0, -1, 1, 1, 1}));
  EXPECT_EQ(level.place[2], -1);
  EXPECT_EQ(level.origin, (std::vector<int>{0, 1, 3, 4, 5}));
  const int arc = level.graph.node(level.place[4]).arc;
  EXPECT_EQ(level.graph.arc(arc).points, (std::vector<Vec3d>{Vec3d(0, 4.9, 0), Vec3d(2, 2, 0)}));
  EXPECT_EQ(level.passes[static_cast<std::size_t>(arc)], (std::vector<int>{2, 4}));
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
  EXPECT_EQ(level.graph.arcs[0].points, (std::vector<Vec3d>{Vec3d(0, 5, 0), Vec3d(0, 1, 0)}));
  EXPECT_DOUBLE_EQ(level.graph.length(0), 8);
}

TEST(ResolutionLevels, RemoveTheShortestFirst) {
  // Of a foot's two toes the shorter goes; the other then is the leg's end and no longer short.
  const LimbGraph graph = make_tree({{-1, {0, 9, 0}}, {0, {0, 0, 0}}, {1, {0.4, 0, 0}}, {1, {0, 0, 0.3}}});
  const ResolutionLevel level = filtered(graph, 0.5);
  EXPECT_EQ(level.origin, (std::vector<int>{0, 2}));
  EXPECT_DOUBLE_EQ(level.graph.length(0), 9.4);
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
    const std::vector<double> ways = distances_from_head(graph);
    const double size = *std::max_element(ways.begin(), ways.end());
    const ResolutionLevels levels = resolution_levels(graph, {10, 0.4});
    for (std::size_t k = 0; k < levels.size(); ++k) {
      const ResolutionLevel& level = levels[k];
      const std::vector<double> here = distances_from_head(level.graph);
      ASSERT_EQ(level.origin[0], 0);
      for (std::size_t n = 0; n < level.origin.size(); ++n) {
        const auto from = static_cast<std::size_t>(level.origin[n]);
        EXPECT_EQ(level.place[from], static_cast<int>(n));
        EXPECT_EQ(level.graph.nodes[n].position, graph.nodes[from].position);  // nodes do not move
        EXPECT_NEAR(here[n], ways[from], 1e-9);                                // and limbs keep their length
        EXPECT_TRUE(n == 0 || level.graph.nodes[n].arcs.size() != 1);
      }
      EXPECT_NEAR(*std::max_element(here.begin(), here.end()), size, 1e-9);
      for (std::size_t a = 0; a < level.graph.arcs.size(); ++a) {
        const LimbGraph::Arc& arc = level.graph.arcs[a];
        EXPECT_LT(arc.from, arc.to);
        EXPECT_EQ(level.graph.node(arc.to).arc, static_cast<int>(a));
        EXPECT_GE(level.graph.length(static_cast<int>(a)), level.threshold);
        if (k > 0) {
          const ResolutionLevel& finer = levels[k - 1];
          const LimbGraph::Arc& homologue = finer.graph.arc(level.finer_arc[a]);
          EXPECT_EQ(finer.origin[static_cast<std::size_t>(homologue.from)],
                    level.origin[static_cast<std::size_t>(arc.from)]);
          EXPECT_EQ(finer.passes[static_cast<std::size_t>(level.finer_arc[a])][0], level.passes[a][0]);
        }
        if (k + 1 < levels.size()) {
          const int coarser = level.coarser_arc[a];
          const int end = level.origin[static_cast<std::size_t>(arc.to)];
          if (coarser >= 0) {
            const std::vector<int>& passes = levels[k + 1].passes[static_cast<std::size_t>(coarser)];
            EXPECT_NE(std::find(passes.begin(), passes.end(), end), passes.end());
          } else {
            EXPECT_EQ(levels[k + 1].place[static_cast<std::size_t>(end)], -1);
            (level.graph.is_leaf(arc.to) ? pruned : merged) += 1;
          }
        }
      }
      // As if filtered alone: a level does not depend on those before it.
      if (level.threshold > 0) {
        EXPECT_EQ(resolution_levels(graph, {2, level.threshold / size}).back().origin, level.origin);
      }
    }
  }
  EXPECT_GT(pruned, 100);
  EXPECT_GT(merged, 100);
}

TEST(ResolutionLevels, CarryRadii) {
  LimbGraph graph = make_tree({{-1, {0, 9, 0}}, {0, {0, 5, 0}}, {1, {0.3, 5, 0}}, {1, {0, 1, 0}}});
  graph.arcs[0].radii = {0.5};
  graph.arcs[1].radii = {0.1};
  graph.arcs[2].radii = {0.25};
  EXPECT_EQ(filtered(graph, 0.5).graph.arcs[0].radii, (std::vector<double>{0.5, 0.25}));
}

TEST(ResolutionLevels, OfOneNodeAndOfOneArc) {
  for (const ResolutionLevel& level : resolution_levels(make_tree({{}}))) {
    EXPECT_EQ(level.graph.nodes.size(), 1u);
    EXPECT_EQ(level.threshold, 0);
  }
  for (const ResolutionLevel& level : resolution_levels(make_tree({{}, {0, {0, -1, 0}}}))) {
    EXPECT_EQ(level.graph.arcs.size(), 1u);  // never short of itself
    EXPECT_EQ(level.origin, (std::vector<int>{0, 1}));
  }
}

}  // namespace
}  // namespace sinew
