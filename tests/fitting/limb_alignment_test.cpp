#include <sinew/fitting/limb_alignment.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "tests/support/limb_graphs.h"

namespace sinew {
namespace {

using test::make_human;
using test::make_tree;
using test::moved;
using test::TreeNode;

const Mat3d kSame = Mat3d::Identity();

std::size_t u(int i) {
  return static_cast<std::size_t>(i);
}

std::vector<int> counted(std::size_t count) {
  std::vector<int> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// Aligns, and checks that the cost is that of the image.
std::vector<int> aligned(const LimbGraph& rig, const LimbGraph& mesh, const Mat3d& turn = kSame) {
  const Alignment alignment = align_limbs(rig, mesh, turn);
  EXPECT_NEAR(alignment_cost(rig, mesh, turn, alignment.image), alignment.cost, 1e-9);
  return alignment.image;
}

LimbGraph random_tree(std::mt19937& random, int count) {
  std::normal_distribution<double> normal;
  std::vector<TreeNode> nodes{{}};
  for (int n = 1; n < count; ++n) {
    const int parent = std::uniform_int_distribution<int>(std::max(0, n - 3), n - 1)(random);
    nodes.push_back(
        {parent, nodes[u(parent)].position + Vec3d(normal(random), normal(random), normal(random))});
  }
  return make_tree(nodes);
}

TEST(LimbAlignment, MapsAGraphOntoItself) {
  std::mt19937 random(1);
  for (int round = 0; round < 10; ++round) {
    const LimbGraph graph = random_tree(random, 14);
    const Alignment alignment = align_limbs(graph, graph, kSame);
    EXPECT_EQ(alignment.image, counted(14));
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
  const auto at = [&](int n) { return rig.node(n).position; };
  const LimbGraph mesh =
      make_tree({{-1, at(0)}, {0, at(1)}, {1, at(4)}, {1, at(3)}, {1, at(2)}, {2, at(6)}, {2, at(5)}});
  EXPECT_EQ(aligned(rig, mesh), (std::vector<int>{0, 1, 4, 3, 2, 6, 5}));
}

TEST(LimbAlignment, IgnoresALimbThatTheRigHasNot) {
  // A tail at the pelvis, an ear on the way to the chest.
  const LimbGraph rig = make_human(1.0);
  const auto at = [&](int n) { return rig.node(n).position; };
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
  for (const LimbGraph::Node& node : mesh.nodes)
    nodes.push_back({node.arc < 0 ? -1 : mesh.arc(node.arc).from, node.position});
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
  EXPECT_EQ(align_limbs(rig, mesh, kSame, cheap).image, (std::vector<int>{0, -1, -1, 1}));
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
  const auto at = [&](int n) { return rig.node(n).position; };
  const LimbGraph mesh = make_tree({{-1, at(0)},
                                    {0, {0, 1.43, 0}},
                                    {1, at(2)},
                                    {1, {0, 1.36, 0}},
                                    {3, at(3)},
                                    {3, at(4)},
                                    {5, at(5)},
                                    {5, at(6)}});
  const std::vector<int> image = aligned(rig, mesh);
  EXPECT_EQ(image, (std::vector<int>{0, 1, 2, 4, 5, 6, 7}));
}

TEST(LimbAlignment, FitsSpreadArmsToHangingOnes) {
  for (const double mesh_arms : {0.25, 0.6, 1.0, 1.57})
    EXPECT_EQ(aligned(make_human(1.57), make_human(mesh_arms)), counted(7)) << mesh_arms;
}

TEST(LimbAlignment, KeepsLeftLeft) {
  // A mesh with nothing but a left arm: the rig's left arm goes there and its right one nowhere.
  const LimbGraph rig = make_human(1.57);
  const auto at = [&](int n) { return rig.node(n).position; };
  const LimbGraph mesh = make_tree({{-1, at(0)}, {0, at(1)}, {1, at(2)}, {1, at(4)}, {3, at(5)}, {3, at(6)}});
  EXPECT_EQ(aligned(rig, mesh), (std::vector<int>{0, 1, 2, -1, 3, 4, 5}));
}

/// Whether align_limbs() may give this image: one target per chain, none on another's way.
bool is_possible(const LimbGraph& rig, const LimbGraph& mesh, const std::vector<int>& image) {
  std::vector<int> above(rig.nodes.size(), 0);
  for (int r = 1; r < static_cast<int>(rig.nodes.size()); ++r) {
    const int parent = rig.arc(rig.node(r).arc).from;
    above[u(r)] = parent == 0 || image[u(parent)] >= 0 ? parent : above[u(parent)];
    if (image[u(r)] >= 0 && mesh.path(image[u(above[u(r)])], image[u(r)]).empty()) return false;
  }
  const auto chain_of = [&](int r) {  // the child of `above` on the way to r
    while (rig.arc(rig.node(r).arc).from != above[u(r)]) r = rig.arc(rig.node(r).arc).from;
    return r;
  };
  for (int a = 1; a < static_cast<int>(rig.nodes.size()); ++a)
    for (int b = 1; b < static_cast<int>(rig.nodes.size()); ++b) {
      if (a == b || image[u(a)] < 0 || image[u(b)] < 0 || above[u(a)] != above[u(b)]) continue;
      if (chain_of(a) == chain_of(b)) return false;
      if (image[u(a)] == image[u(b)] || !mesh.path(image[u(a)], image[u(b)]).empty()) return false;
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
    EXPECT_NEAR(alignment_cost(rig, mesh, kSame, found.image, weights), found.cost, 1e-9);
    EXPECT_TRUE(is_possible(rig, mesh, found.image));
    double best = std::numeric_limits<double>::infinity();
    std::vector<int> image{0, -1, -1, -1, -1};
    for (int code = 0; code < 6 * 6 * 6 * 6; ++code) {
      for (int k = 0, rest = code; k < 4; ++k, rest /= 6) image[u(k + 1)] = rest % 6 == 0 ? -1 : rest % 6;
      if (is_possible(rig, mesh, image))
        best = std::min(best, alignment_cost(rig, mesh, kSame, image, weights));
    }
    EXPECT_NEAR(found.cost, best, 1e-9);
    dropped += static_cast<int>(std::count(found.image.begin(), found.image.end(), -1));
    for (const LimbGraph::Arc& arc : rig.arcs) {
      const int from = found.image[u(arc.from)], to = found.image[u(arc.to)];
      merged += from >= 0 && to >= 0 && mesh.path(from, to).size() > 1;
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
  const std::vector<int> image = aligned(star, star);
  EXPECT_EQ(image, (std::vector<int>{0, -1, -1, 3, 4, 5, 6, 7, 8, 9, 10}));
}

TEST(LimbAlignment, CostsOfImagesThatLeadNowhereAreThoseOfDroppedChains) {
  const LimbGraph human = make_human(1.0);
  std::vector<int> image = counted(7);
  image[5] = image[6] = -1;
  const double dropped = alignment_cost(human, human, kSame, image);
  EXPECT_GT(dropped, 1);
  image[5] = 2;  // not below the pelvis
  EXPECT_DOUBLE_EQ(alignment_cost(human, human, kSame, image), dropped);
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

TEST(LimbAlignment, MeasuresWaysFromTheHead) {
  LimbGraph graph = make_tree({{}, {0, {3, 4, 0}}, {1, {3, 5, 0}}});
  EXPECT_EQ(distances_from_head(graph), (std::vector<double>{0, 5, 6}));
  graph.arcs[1].points = {Vec3d(4, 4, 0), Vec3d(3, 5, 0)};
  EXPECT_NEAR(distances_from_head(graph)[2], 6 + std::sqrt(2.0), 1e-12);
}

}  // namespace
}  // namespace sinew
