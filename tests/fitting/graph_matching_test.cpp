#include <sinew/core/index.h>
#include <sinew/fitting/graph_matching.h>

#include <algorithm>
#include <numbers>
#include <random>

#include <gtest/gtest.h>

#include <sinew/models/models.h>

#include "tests/support/indices.h"
#include "tests/support/limb_graphs.h"
#include "tests/support/shared_models.h"

namespace sinew {
namespace {

using test::make_human;
using test::make_tree;
using test::moved;
using test::TreeNode;

std::vector<int> match(const LimbGraph& rig, const LimbGraph& mesh, const Mat3d& turn = Mat3d::Identity(),
                       const MatchingOptions& options = {}) {
  return test::numbers(match_graphs(rig, resolution_levels(mesh), turn, options));
}

/// The T of figure 3.11: bars whose ends part into arcs of 0.8, a stem whose end parts into shorter ones of
/// 0.4. 0 head, 1 middle, 2 and 3 bars, 4 stem, 5 to 8 the bars' ends, 9 and 10 the base. Size 10.4.
std::vector<TreeNode> t_shape() {
  return {{-1, {0, 2, 0}},      {0, {0, 0, 0}},      {1, {4, 0, 0}},       {1, {-4, 0, 0}},
          {1, {0, -8, 0}},      {2, {4.5, 0.6, 0}},  {2, {4.5, -0.7, 0}},  {3, {-4.5, 0.6, 0}},
          {3, {-4.5, -0.7, 0}}, {4, {0.3, -8.3, 0}}, {4, {-0.3, -8.35, 0}}};
}

TEST(GraphMatching, AdaptsThePlainRigToTheT) {
  const LimbGraph rig =
      make_tree({{-1, {0, 2, 0}}, {0, {0, 0, 0}}, {1, {4, 0, 0}}, {1, {-4, 0, 0}}, {1, {0, -8, 0}}});
  // Each limb ends with the longer of the arcs that its end parts into.
  EXPECT_EQ(match(rig, make_tree(t_shape())), (std::vector<int>{0, 1, 6, 8, 10}));
}

TEST(GraphMatching, AdaptsTheRigWithAllArcsToTheT) {
  EXPECT_EQ(match(make_tree(t_shape()), make_tree(t_shape())),
            (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
}

TEST(GraphMatching, KeepsTheSmallArcsAtTheBaseAndNotTheLargerOnesAtTheTop) {
  // Figure 3.11, third rig: no single threshold would do.
  const LimbGraph rig = make_tree({{-1, {0, 2, 0}},
                                   {0, {0, 0, 0}},
                                   {1, {4, 0, 0}},
                                   {1, {-4, 0, 0}},
                                   {1, {0, -8, 0}},
                                   {4, {1, -9, 0}},
                                   {4, {-1, -9, 0}}});
  const LimbGraph mesh = make_tree(t_shape());
  EXPECT_EQ(match(rig, mesh), (std::vector<int>{0, 1, 6, 8, 4, 9, 10}));
  for (const ResolutionLevel& level : resolution_levels(mesh))
    EXPECT_FALSE(level.reduced[NodeId(4)].valid() && !level.reduced[NodeId(2)].valid());
}

TEST(GraphMatching, KeepsTheArcsAtTheTopAlone) {
  // The other way round: the base goes, the bars' ends stay.
  std::vector<TreeNode> nodes = t_shape();
  nodes.resize(9);
  EXPECT_EQ(match(make_tree(nodes), make_tree(t_shape())), (std::vector<int>{0, 1, 2, 3, 10, 5, 6, 7, 8}));
}

TEST(GraphMatching, GoesOnAtACoarserLevelBelowAFineFork) {
  // Figure 3.12's last steps. The spurs 2 and 3 are there at fine levels only, at which the claws 7 to 10 are
  // too; the fork 4 is there at all, so that below it matching leaves them out again.
  const LimbGraph mesh = make_tree({{-1, {0, 10, 0}},
                                    {0, {0, 4, 0}},
                                    {1, {0.2, 4, 0}},
                                    {1, {-0.2, 4, 0}},
                                    {1, {0, 0, 0}},
                                    {4, {3, 0, 0}},
                                    {4, {-3, 0, 0}},
                                    {5, {3.3, 0, 0.1}},
                                    {5, {3.3, 0, -0.15}},
                                    {6, {-3.3, 0, 0.1}},
                                    {6, {-3.3, 0, -0.15}}});
  const LimbGraph rig = make_tree({{-1, {0, 10, 0}},
                                   {0, {0, 4, 0}},
                                   {1, {1, 4, 0}},
                                   {1, {-1, 4, 0}},
                                   {1, {0, 0, 0}},
                                   {4, {3, 0, 0}},
                                   {4, {-3, 0, 0}}});
  MatchingOptions printed;
  printed.nearest_shape = false;
  EXPECT_EQ(match(rig, mesh, Mat3d::Identity(), printed), (std::vector<int>{0, 1, 2, 3, 4, 8, 10}));
}

TEST(GraphMatching, FindsTheSameWhereverTheMeshLooks) {
  const LimbGraph rig = make_human(1.2), mesh = make_human(0.4);
  for (int k = 0; k < 12; ++k) {
    const Mat3d turn = Eigen::AngleAxisd(k * std::numbers::pi / 6, Vec3d::UnitY()).toRotationMatrix();
    EXPECT_EQ(match(rig, moved(mesh, turn, 0.1, Vec3d(5, 0, 0)), turn),
              (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
  }
  // Told the wrong way, left and right change places, as the paper warns.
  const Mat3d half = Eigen::AngleAxisd(std::numbers::pi, Vec3d::UnitY()).toRotationMatrix();
  EXPECT_EQ(match(rig, moved(mesh, half)), (std::vector<int>{0, 1, 3, 2, 4, 6, 5}));
}

/// A human whose mesh has ears, and `fingers` fingers on each hand, from node `hand` on.
LimbGraph human_with(int fingers, bool ears) {
  std::vector<TreeNode> nodes;
  const LimbGraph plain = make_human(1.3);
  for (const NodeId n : plain.nodes.ids())
    nodes.push_back({plain.parent(n).value(), plain.nodes[n].position});
  for (const int hand : {2, 3})
    for (int k = 0; k < fingers; ++k)
      nodes.push_back({hand, nodes[to_size(hand)].position +
                                 (0.12 - 0.01 * k) * Vec3d(hand == 2 ? 1 : -1, 0, 0.2 * k).normalized()});
  if (!ears) return make_tree(nodes);
  // Ears stand at a node between the head's top and the chest: everything behind moves on by three.
  std::vector<TreeNode> with{nodes[0], {0, {0, 1.65, 0}}};
  for (std::size_t n = 1; n < nodes.size(); ++n)
    with.push_back({nodes[n].parent == 0 ? 1 : nodes[n].parent + 1, nodes[n].position});
  with.push_back({1, {0.13, 1.65, 0}});
  with.push_back({1, {-0.13, 1.65, 0}});
  return make_tree(with);
}

TEST(GraphMatching, IgnoresEarsAndDropsTheFifthFinger) {
  // Figure 4.1.
  const std::vector<int> map = match(human_with(5, false), human_with(4, true));
  ASSERT_EQ(map.size(), 17u);
  for (int n = 1; n < 7; ++n) EXPECT_EQ(map[to_size(n)], n + 1);
  for (int k = 0; k < 5; ++k) {
    EXPECT_EQ(map[to_size(7 + k)], k < 4 ? 8 + k : -1);
    EXPECT_EQ(map[to_size(12 + k)], k < 4 ? 12 + k : -1);
  }
}

TEST(GraphMatching, AsPrintedDropsTheArmWithTheFinger) {
  MatchingOptions printed;
  printed.nearest_shape = false;
  const std::vector<int> map = match(human_with(5, false), human_with(4, true), Mat3d::Identity(), printed);
  EXPECT_EQ(map[2], -1);
  for (std::size_t n = 7; n < 17; ++n) EXPECT_EQ(map[n], -1);
  EXPECT_EQ(map[4], 5);
}

TEST(GraphMatching, DropsAnInsectsAntennae) {
  // Figure 3.20: the rig's head has two more chains than the mesh's, with all that hangs on them.
  const LimbGraph mesh =
      make_tree({{-1, {0, 0, 2}}, {0, {0, 0, 1}}, {1, {1, 0, 1}}, {1, {-1, 0, 1}}, {1, {0, 0, -2}}});
  const LimbGraph rig = make_tree({{-1, {0, 0, 2}},
                                   {0, {0, 0, 1}},
                                   {0, {0.3, 0.4, 2.3}},
                                   {0, {-0.3, 0.4, 2.3}},
                                   {1, {1, 0, 1}},
                                   {1, {-1, 0, 1}},
                                   {1, {0, 0, -2}},
                                   {2, {0.4, 0.5, 2.4}},
                                   {2, {0.3, 0.6, 2.4}},
                                   {3, {-0.4, 0.5, 2.4}},
                                   {3, {-0.3, 0.6, 2.4}}});
  EXPECT_EQ(match(rig, mesh), (std::vector<int>{0, 1, -1, -1, 2, 3, 4, -1, -1, -1, -1}));
}

TEST(GraphMatching, LetsChainsThatPartTogetherPassAForkThatIsMerged) {
  // Three limbs of the mesh, two of which part a little later: one node at coarse levels.
  const LimbGraph mesh = make_tree(
      {{-1, {0, 10, 0}}, {0, {0, 5, 0}}, {1, {0, 4.8, 0}}, {1, {3, 0, 0}}, {2, {0, 0, 3}}, {2, {-2, 0, -2}}});
  const LimbGraph rig =
      make_tree({{-1, {0, 10, 0}}, {0, {0, 5, 0}}, {1, {3, 0, 0}}, {1, {0, 0, 2.5}}, {1, {-2, 0, -1}}});
  std::vector<int> map = match(rig, mesh);
  EXPECT_EQ(map[1], 1);
  std::sort(map.begin() + 2, map.end());
  EXPECT_EQ(map, (std::vector<int>{0, 1, 3, 4, 5}));
}

TEST(GraphMatching, UsesNoLimbTwice) {
  // Both chains of the rig look like either limb of the mesh.
  const LimbGraph rig = make_tree({{}, {0, {0, -5, 0}}, {0, {0, -3, 0}}});
  EXPECT_EQ(match(rig, make_tree({{}, {0, {0, -5, 0}}})), (std::vector<int>{0, 1, -1}));
  EXPECT_EQ(match(rig, make_tree({{}, {0, {0, -3.1, 0}}, {0, {0, -5, 0}}})), (std::vector<int>{0, 2, 1}));
}

TEST(GraphMatching, UsesLimbsAtAllResolutionsAtOnce) {
  // Both limbs start with the same short piece, to node 1, which is gone at coarse levels.
  const LimbGraph mesh = make_tree({{}, {0, {0, -0.3, 0}}, {1, {0, -5, 0}}, {1, {3, -0.3, 0}}});
  MatchingOptions printed;
  printed.nearest_shape = false;
  // The first chain goes past 1; the second, which parts, would end there.
  const LimbGraph past = make_tree({{}, {0, {0, -5, 0}}, {0, {2, -1, 0}}, {2, {3, -2, 0}}, {2, {3, 0, 0}}});
  EXPECT_EQ(match(past, mesh, Mat3d::Identity(), printed), (std::vector<int>{0, 2, -1, -1, -1}));
  EXPECT_EQ(match(past, mesh), (std::vector<int>{0, 2, 3, -1, -1}));
  // The first chain ends at 1; the second would go past it.
  const LimbGraph ends =
      make_tree({{}, {0, {0, -0.3, 0}}, {0, {0.5, -2, 0}}, {1, {0, -5, 0}}, {1, {3, -0.3, 0}}});
  EXPECT_EQ(match(ends, mesh), (std::vector<int>{0, 1, -1, 2, 3}));
}

TEST(GraphMatching, StartsCoarseWhereTheHeadsDiffer) {
  // The mesh's head parts in two at all levels, the rig's never does; the limb's claws are not wanted.
  const LimbGraph mesh =
      make_tree({{}, {0, {0, -5, 0}}, {0, {3, 0, 0}}, {1, {0.1, -5.2, 0}}, {1, {-0.1, -5.25, 0}}});
  MatchingOptions printed;
  printed.nearest_shape = false;
  EXPECT_EQ(match(make_tree({{}, {0, {0, -5, 0}}}), mesh, Mat3d::Identity(), printed),
            (std::vector<int>{0, 4}));
}

TEST(GraphMatching, LaysRandomTreesIntoEachOther) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  const auto tree = [&](int count) {
    std::vector<TreeNode> nodes{{}};
    for (int n = 1; n < count; ++n) {
      const int parent = std::uniform_int_distribution<int>(std::max(0, n - 5), n - 1)(random);
      nodes.push_back(
          {parent, nodes[to_size(parent)].position + Vec3d(normal(random), normal(random), normal(random))});
    }
    return make_tree(nodes);
  };
  int matched = 0;
  for (int round = 0; round < 300; ++round) {
    const LimbGraph rig = tree(12), mesh = tree(25);
    const NodeMap map = match_graphs(rig, resolution_levels(mesh), Mat3d::Identity());
    PerNode<int> uses(mesh.nodes.size(), 0);
    for (const LimbGraph::Arc& arc : rig.arcs) {
      const NodeId from = map[arc.from], to = map[arc.to];
      if (!to.valid()) continue;
      ++matched;
      ASSERT_TRUE(from.valid());                  // nothing is below what is dropped
      ASSERT_FALSE(mesh.path(from, to).empty());  // and all goes down
      EXPECT_EQ(++uses[to], 1);
    }
  }
  EXPECT_GT(matched, 600);
}

TEST(GraphMatching, LaysAPlainHumanIntoTheMannequin) {
  // The mannequin has fingers, and one arm leaves its chest before the other.
  ModelOptions coarse;
  coarse.vertices = 6500;
  const BuiltModel model = test::shared_model("mannequin", coarse);
  const MeshView mesh = model.scene.meshes[0].surface.view();
  std::uint32_t top = 0;
  for (std::uint32_t v = 0; v < mesh.positions.size(); ++v)
    if (mesh.positions[v].y() > mesh.positions[top].y()) top = v;
  const LimbGraph limbs = mesh_graph(mesh, top), rig = make_human(1.2);
  const NodeMap map = match_graphs(rig, resolution_levels(limbs), Mat3d::Identity());
  for (const NodeId n : map.ids()) {
    ASSERT_TRUE(map[n].valid()) << n.value();
    const Vec3d &is = limbs.nodes[map[n]].position, &was = rig.nodes[n].position;
    EXPECT_GT(is.x() * was.x(), was.x() == 0 ? -0.01 : 0) << n.value();
    EXPECT_NEAR(is.y(), was.y(), 0.3) << n.value();
  }
}

TEST(GraphMatching, OfOneNodeOfOneArcAndOfNothingInCommon) {
  const LimbGraph node = make_tree({{}}), arc = make_tree({{}, {0, {0, -1, 0}}});
  EXPECT_EQ(match(node, node), (std::vector<int>{0}));
  EXPECT_EQ(match(node, arc), (std::vector<int>{0}));
  EXPECT_EQ(match(arc, node), (std::vector<int>{0, -1}));
  EXPECT_EQ(match(arc, arc), (std::vector<int>{0, 1}));
  // A pair is no bundle.
  const LimbGraph pair = make_tree({{}, {0, {1, -1, 0}}, {0, {-1, -1, 0}}});
  const LimbGraph bundle = make_tree({{}, {0, {1, -1, 0}}, {0, {-1, -1, 0}}, {0, {0, -1, 1}}});
  EXPECT_EQ(match(pair, bundle), (std::vector<int>{0, -1, -1}));
}

}  // namespace
}  // namespace sinew
