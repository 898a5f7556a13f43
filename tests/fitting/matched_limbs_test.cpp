#include <sinew/fitting/matched_limbs.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/indices.h"
#include "tests/support/limb_graphs.h"

namespace sinew {
namespace {

/// A trunk with a head, and legs that leave it at (0, 1, 0).
ControlRig two_legs() {
  ControlRig rig;
  const auto add = [&](const std::string& name, int parent, const Vec3d& head, const Vec3d& tail) {
    RigBone bone;
    bone.name = name;
    bone.parent = parent;
    bone.head = head;
    bone.tail = tail;
    rig.bones.push_back(bone);
  };
  add("trunk", -1, Vec3d(0, 1, 0), Vec3d(0, 2, 0));
  add("head", 0, Vec3d(0, 2, 0), Vec3d(0, 2.5, 0));
  add("leg.L", 0, Vec3d(0.1, 1, 0), Vec3d(0.1, 0, 0));
  add("leg.R", 0, Vec3d(-0.1, 1, 0), Vec3d(-0.1, 0, 0));
  return rig;
}

/// Twice as large, with sections all along. Node 1 is the fork, 2 and 3 are the feet.
LimbGraph two_legged_mesh(double trunk_radius, double leg_radius) {
  LimbGraph mesh = test::make_tree({{-1, {0, 5, 0}}, {0, {0, 2, 0}}, {1, {0.2, 0, 0}}, {1, {-0.2, 0, 0}}});
  for (LimbGraph::Arc& arc : mesh.arcs) {
    const Vec3d from = mesh.nodes[arc.from].position, to = mesh.nodes[arc.to].position;
    arc.points.clear();
    for (int k = 1; k <= 40; ++k) arc.points.push_back(from + (to - from) * k / 40);
    arc.radii.assign(40, arc.from == LimbGraph::kHead ? trunk_radius : leg_radius);
  }
  return mesh;
}

TEST(MatchedLimbs, KnowTheirChainsSectionsAndForks) {
  const ControlRig rig = two_legs();
  const RigGraph graph = rig_graph(rig, find_head_bone(rig, "head"));
  ASSERT_EQ(graph.graph.nodes.size(), 4u);
  const LimbGraph mesh = two_legged_mesh(0.5, 0.2);
  const MatchedLimbs found = matched_limbs(graph, mesh, test::node_map({0, 1, 2, 3}));
  ASSERT_EQ(found.limbs.size(), 3u);
  EXPECT_NEAR(found.scale, 2, 0.1);  // legs start beside the fork
  const MatchedLimb& trunk = found.limbs.front();
  EXPECT_TRUE(trunk.is_trunk);
  EXPECT_EQ(trunk.from, LimbGraph::kHead);
  EXPECT_EQ(trunk.fork, LimbGraph::kHead);
  for (const LimbId l : found.limbs.ids(LimbId(1))) {
    const MatchedLimb& leg = found.limbs[l];
    EXPECT_FALSE(leg.is_trunk);
    EXPECT_EQ(leg.from, NodeId(1));
    EXPECT_EQ(leg.fork, NodeId(1));
    EXPECT_EQ(leg.centres.size(), leg.radii.size());
    EXPECT_EQ(leg.radius, 0.2);
    EXPECT_LT(leg.direction.y(), -0.9);
    EXPECT_EQ(leg.chain.front(), graph.node_point[leg.from]);
    EXPECT_EQ(leg.chain.back(), graph.node_point[leg.to]);
  }
}

TEST(MatchedLimbs, OnlyOneLimbContinuesTheTrunk) {
  // Both legs are thick enough; the left one is longer.
  const ControlRig rig = two_legs();
  const RigGraph graph = rig_graph(rig, find_head_bone(rig, "head"));
  LimbGraph mesh = two_legged_mesh(0.2, 0.2);
  mesh.arcs[ArcId(1)].points.back() += Vec3d(0, -0.5, 0);
  const MatchedLimbs found = matched_limbs(graph, mesh, test::node_map({0, 1, 2, 3}));
  for (const MatchedLimb& limb : found.limbs)
    EXPECT_EQ(limb.is_trunk, limb.to != NodeId(3)) << limb.to.value();
}

TEST(MatchedLimbs, PassUnmatchedNodes) {
  const ControlRig rig = two_legs();
  const RigGraph graph = rig_graph(rig, find_head_bone(rig, "head"));
  const MatchedLimbs found = matched_limbs(graph, two_legged_mesh(0.5, 0.2), test::node_map({0, -1, 2, -1}));
  ASSERT_EQ(found.limbs.size(), 1u);
  EXPECT_EQ(found.limbs.front().from, LimbGraph::kHead);
  EXPECT_EQ(found.limbs.front().to, NodeId(2));
  EXPECT_EQ(found.limbs.front().centres.size(), 80u);
}

}  // namespace
}  // namespace sinew
