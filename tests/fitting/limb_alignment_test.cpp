#include <sinew/core/index.h>
#include <sinew/fitting/limb_alignment.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "tests/support/indices.h"
#include "tests/support/limb_graphs.h"

namespace sinew {
namespace {

using test::make_human;
using test::make_tree;
using test::moved;
using test::node_map;
using test::numbers;
using test::TreeNode;

const Mat3d kSame = Mat3d::Identity();

std::vector<int> counted(std::size_t count) {
  std::vector<int> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// Aligns, and checks that the cost is that of the map.
std::vector<int> aligned(const LimbGraph& rig, const LimbGraph& mesh, const Mat3d& turn = kSame) {
  const Alignment alignment = align_limbs(rig, mesh, turn);
  EXPECT_NEAR(alignment_cost(rig, mesh, turn, alignment.node_map), alignment.cost, 1e-9);
  return numbers(alignment.node_map);
}

LimbGraph random_tree(std::mt19937& random, int count) {
  std::normal_distribution<double> normal;
  std::vector<TreeNode> nodes{{}};
  for (int n = 1; n < count; ++n) {
    const int parent = std::uniform_int_distribution<int>(std::max(0, n - 3), n - 1)(random);
    nodes.push_back(
        {parent, nodes[to_size(parent)].position + Vec3d(normal(random), normal(random), normal(random))});
  }
  return make_tree(nodes);
}

TEST(LimbAlignment, MapsAGraphOntoItself) {
  std::mt19937 random(1);
  for (int round = 0; round < 10; ++round) {
    const LimbGraph graph = random_tree(random, 14);
    const Alignment alignment = align_limbs(graph, graph, kSame);
    EXPECT_EQ(numbers(alignment.node_map), counted(14));
    EXPECT_NEAR(alignment.cost, 0, 1e-6);
  }
}

TEST(LimbAlignment, DoesNotMindScaleTurnAndPlace) {
  const LimbGraph human = make_human(1.0);
  for (int k = 0; k < 6; ++k) {
    const Mat3d turn =
        Eigen::AngleAxisd(k * std::numbers::pi / 3, Vec3d(0.1, 1, 0.2).normalized()).toRotationMatrix();
    EXPECT_EQ(aligned(human, moved(human, turn, 40, Vec3d(7, 8, 9)), turn), counted(7));
  }
}

TEST(LimbAlignment, FindsChildrenInAnyOrder) {
  // The human with right before left and legs before arms.
  const LimbGraph rig = make_human(1.0);
  const auto at = [&](int n) { return rig.nodes[NodeId(n)].position; };
  const LimbGraph mesh =
      make_tree({{-1, at(0)}, {0, at(1)}, {1, at(4)}, {1, at(3)}, {1, at(2)}, {2, at(6)}, {2, at(5)}});
  EXPECT_EQ(aligned(rig, mesh), (std::vector<int>{0, 1, 4, 3, 2, 6, 5}));
}

TEST(LimbAlignment, IgnoresALimbThatTheRigHasNot) {
  // A tail at the pelvis, an ear on the way to the chest.
  const LimbGraph rig = make_human(1.0);
  const auto at = [&](int n) { return rig.nodes[NodeId(n)].position; };
  const LimbGraph mesh = make_tree({{-1, at(0)},
                                    {0, {0, 1.65, 0}},
                                    {1, {0.1, 1.75, 0}},
                                    {1, at(1)},
                                    {3, at(2)},
                                    {3, at(3)},
                                    {3, at(4)},
                                    {6, at(5)},
                                    {6, at(6)},
                                    {6, {0, 0.9, -0.6}}});
  EXPECT_EQ(aligned(rig, mesh), (std::vector<int>{0, 3, 4, 5, 6, 7, 8}));
}

TEST(LimbAlignment, DropsAChainThatTheMeshHasNot) {
  std::vector<TreeNode> nodes;
  const LimbGraph mesh = make_human(1.0);
  for (const NodeId n : mesh.nodes.ids()) nodes.push_back({mesh.parent(n).value(), mesh.nodes[n].position});
  nodes.push_back({4, {0, 0.9, -0.6}});
  nodes.push_back({7, {0, 0.9, -0.8}});
  EXPECT_EQ(aligned(make_tree(nodes), mesh), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, -1, -1}));
}

TEST(LimbAlignment, PassesAForkOfTheRigWhoseOtherChainIsDropped) {
  // A spur in the middle of the rig's leg; the mesh's leg is one arc.
  const LimbGraph rig = make_tree({{-1, {0, 2, 0}}, {0, {0, 1, 0}}, {1, {0.15, 1, 0}}, {1, {0, 0, 0}}});
  const LimbGraph mesh = make_tree({{-1, {0, 2, 0}}, {0, {0, 0, 0}}});
  EXPECT_EQ(aligned(rig, mesh), (std::vector<int>{0, -1, -1, 1}));
}

TEST(LimbAlignment, SkipsMuchOfTheRigWhereDroppingIsCheap) {
  const LimbGraph rig = make_tree({{-1, {0, 2, 0}}, {0, {0, 1.9, 0}}, {1, {1.9, 1.9, 0}}, {1, {0, 0, 0}}});
  const LimbGraph mesh = make_tree({{-1, {0, 2, 0}}, {0, {0, 0, 0}}});
  AlignmentWeights cheap;
  cheap.drop = 0.1;
  EXPECT_EQ(numbers(align_limbs(rig, mesh, kSame, cheap).node_map), (std::vector<int>{0, -1, -1, 1}));
}

TEST(LimbAlignment, TurnsWhatHangsOnALimbWithIt) {
  // An arm with two fingers, and the same turned by 150°: seen from afar, each finger now points rather where
  // the other one did.
  const LimbGraph arm = make_tree({{}, {0, {1, 0, 0}}, {1, {1.5, 0.25, 0}}, {1, {1.5, -0.25, 0}}});
  const Mat3d turn = Eigen::AngleAxisd(-150 * std::numbers::pi / 180, Vec3d::UnitZ()).toRotationMatrix();
  EXPECT_EQ(aligned(arm, moved(arm, turn)), counted(4));
}

TEST(LimbAlignment, LetsChainsPartOneAfterTheOther) {
  // The rig's arms and spine leave the chest at once; in the mesh the left arm leaves a bit higher.
  const LimbGraph rig = make_human(1.3);
  const auto at = [&](int n) { return rig.nodes[NodeId(n)].position; };
  const LimbGraph mesh = make_tree({{-1, at(0)},
                                    {0, {0, 1.43, 0}},
                                    {1, at(2)},
                                    {1, {0, 1.36, 0}},
                                    {3, at(3)},
                                    {3, at(4)},
                                    {5, at(5)},
                                    {5, at(6)}});
  EXPECT_EQ(aligned(rig, mesh), (std::vector<int>{0, 1, 2, 4, 5, 6, 7}));
}

TEST(LimbAlignment, FitsSpreadArmsToHangingOnes) {
  for (const double mesh_arms : {0.25, 0.6, 1.0, 1.57})
    EXPECT_EQ(aligned(make_human(1.57), make_human(mesh_arms)), counted(7)) << mesh_arms;
}

TEST(LimbAlignment, KeepsLeftLeft) {
  // A mesh with nothing but a left arm: the rig's left arm goes there and its right one nowhere.
  const LimbGraph rig = make_human(1.57);
  const auto at = [&](int n) { return rig.nodes[NodeId(n)].position; };
  const LimbGraph mesh = make_tree({{-1, at(0)}, {0, at(1)}, {1, at(2)}, {1, at(4)}, {3, at(5)}, {3, at(6)}});
  EXPECT_EQ(aligned(rig, mesh), (std::vector<int>{0, 1, 2, -1, 3, 4, 5}));
}

/// Whether align_limbs() may give this map: one target per chain, none on another's path.
bool is_possible(const LimbGraph& rig, const LimbGraph& mesh, const NodeMap& map) {
  const NodeId head = LimbGraph::kHead;
  NodeMap above(rig.nodes.size(), head);
  for (const NodeId r : rig.below_head()) {
    const NodeId parent = rig.parent(r);
    above[r] = parent == head || map[parent].valid() ? parent : above[parent];
    if (map[r].valid() && mesh.path(map[above[r]], map[r]).empty()) return false;
  }
  const auto chain_of = [&](NodeId r) {  // the child of `above` on the path to r
    while (rig.parent(r) != above[r]) r = rig.parent(r);
    return r;
  };
  for (const NodeId a : rig.below_head())
    for (const NodeId b : rig.below_head()) {
      if (a == b || !map[a].valid() || !map[b].valid() || above[a] != above[b]) continue;
      if (chain_of(a) == chain_of(b)) return false;
      if (map[a] == map[b] || !mesh.path(map[a], map[b]).empty()) return false;
    }
  return true;
}

TEST(LimbAlignment, IsTheBestOfAll) {
  std::mt19937 random(4);
  std::uniform_real_distribution<double> weight(0.1, 2);
  int dropped = 0, merged = 0;
  for (int round = 0; round < 60; ++round) {
    const LimbGraph rig = random_tree(random, 5), mesh = random_tree(random, 6);
    AlignmentWeights weights;
    for (double* each : {&weights.length, &weights.direction, &weights.drop}) *each = weight(random);
    for (double* each : {&weights.ignore, &weights.merge, &weights.tip}) *each = 0.5 * weight(random);
    const Alignment found = align_limbs(rig, mesh, kSame, weights);
    EXPECT_NEAR(alignment_cost(rig, mesh, kSame, found.node_map, weights), found.cost, 1e-9);
    EXPECT_TRUE(is_possible(rig, mesh, found.node_map));
    double best = std::numeric_limits<double>::infinity();
    NodeMap map = node_map({0, -1, -1, -1, -1});
    for (int code = 0; code < 6 * 6 * 6 * 6; ++code) {
      for (int k = 0, rest = code; k < 4; ++k, rest /= 6)
        map[NodeId(k + 1)] = rest % 6 == 0 ? NodeId::kNone : NodeId(rest % 6);
      if (is_possible(rig, mesh, map)) best = std::min(best, alignment_cost(rig, mesh, kSame, map, weights));
    }
    EXPECT_NEAR(found.cost, best, 1e-9);
    dropped += static_cast<int>(std::count(found.node_map.begin(), found.node_map.end(), NodeId::kNone));
    for (const LimbGraph::Arc& arc : rig.arcs) {
      const NodeId from = found.node_map[arc.from], to = found.node_map[arc.to];
      merged += from.valid() && to.valid() && mesh.path(from, to).size() > 1;
    }
  }
  EXPECT_GT(dropped, 30);
  EXPECT_GT(merged, 5);
}

TEST(LimbAlignment, DropsChainsPastTheEighth) {
  std::vector<TreeNode> nodes{{}};
  for (int k = 0; k < 10; ++k)
    nodes.push_back({0, (1 + 0.1 * k) * Vec3d(std::cos(0.6 * k), std::sin(0.6 * k), 0)});
  const LimbGraph star = make_tree(nodes);
  EXPECT_EQ(aligned(star, star), (std::vector<int>{0, -1, -1, 3, 4, 5, 6, 7, 8, 9, 10}));
}

TEST(LimbAlignment, CostsOfMapsThatLeadNowhereAreThoseOfDroppedChains) {
  const LimbGraph human = make_human(1.0);
  const double dropped = alignment_cost(human, human, kSame, node_map({0, 1, 2, 3, 4, -1, -1}));
  EXPECT_GT(dropped, 1);
  const NodeMap not_below_pelvis = node_map({0, 1, 2, 3, 4, 2, -1});
  EXPECT_DOUBLE_EQ(alignment_cost(human, human, kSame, not_below_pelvis), dropped);
}

TEST(LimbAlignment, OfOneNodeAndOneArc) {
  const LimbGraph node = make_tree({{}}), arc = make_tree({{}, {0, {0, -1, 0}}});
  EXPECT_EQ(aligned(node, node), (std::vector<int>{0}));
  EXPECT_EQ(aligned(node, arc), (std::vector<int>{0}));
  EXPECT_EQ(aligned(arc, node), (std::vector<int>{0, -1}));
  EXPECT_EQ(aligned(arc, arc), (std::vector<int>{0, 1}));
  // Nothing has any length: nothing to lay anything on.
  EXPECT_EQ(aligned(arc, make_tree({{}, {0}})), (std::vector<int>{0, -1}));
}

}  // namespace
}  // namespace sinew
