#include <sinew/fitting/limb_placement.h>

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/support/indices.h"

namespace sinew {
namespace {

RigBone bone(const std::string& name, int parent, const Vec3d& head, const Vec3d& tail) {
  RigBone result;
  result.name = name;
  result.parent = parent;
  result.head = head;
  result.tail = tail;
  return result;
}

/// Adds an arc of the same thickness all along, from node `from` to `to`, whose sections are straight behind
/// `start`. Gives the new node.
NodeId add_arc(LimbGraph& graph, NodeId from, const Vec3d& start, const Vec3d& to, double radius) {
  LimbGraph::Arc arc;
  arc.from = from;
  arc.to = graph.nodes.next_id();
  constexpr int kPoints = 50;
  for (int k = 1; k <= kPoints; ++k) {
    arc.points.push_back(start + (to - start) * k / kPoints);
    arc.radii.push_back(radius);
  }
  const ArcId added = graph.arcs.push_back(std::move(arc));
  graph.nodes[from].child_arcs.push_back(added);
  return graph.nodes.push_back({to, added, {}, to});
}

LimbGraph starting_at(const Vec3d& head) {
  LimbGraph graph;
  graph.nodes.push_back({head, ArcId::kNone, {}, head});
  return graph;
}

void expect_all_placed(const LimbPlacement& placement) {
  for (const PointId p : placement.points.ids()) {
    EXPECT_TRUE(placement.placed[p]) << p.value();
    EXPECT_TRUE(placement.points[p].allFinite()) << p.value();
  }
}

TEST(LimbPlacement, AStraightLimbKeepsItsProportions) {
  ControlRig rig;
  rig.bones = {bone("a", -1, Vec3d(0, 0, 0), Vec3d(0, -0.3, 0)),
               bone("b", 0, Vec3d(0, -0.3, 0), Vec3d(0, -1, 0))};
  const RigGraph graph = rig_graph(rig, find_head_bone(rig));
  ASSERT_EQ(graph.graph.nodes.size(), 2u);
  for (const double scale : {1.0, 20.0}) {
    LimbGraph mesh = starting_at(Vec3d(5, 5, 5));
    add_arc(mesh, LimbGraph::kHead, Vec3d(5, 5, 5), Vec3d(5, 5 - scale, 5), 0.05 * scale);
    const LimbPlacement placement = place_limbs(graph, mesh, test::node_map({0, 1}), Mat3d::Identity());
    expect_all_placed(placement);
    ASSERT_EQ(placement.limbs.size(), 1u);
    EXPECT_NEAR(placement.limbs.front().scale, scale, 0.01 * scale);
    const auto head = [&](int bone) { return placement.points[graph.head_point[BoneId(bone)]]; };
    const auto tail = [&](int bone) { return placement.points[graph.tail_point[BoneId(bone)]]; };
    EXPECT_LT((head(0) - Vec3d(5, 5, 5)).norm(), 1e-9 * scale);
    EXPECT_LT((tail(0) - Vec3d(5, 5 - 0.3 * scale, 5)).norm(), 0.02 * scale);
    EXPECT_LT((tail(1) - Vec3d(5, 5 - scale, 5)).norm(), 1e-9 * scale);
  }
}

/// A trunk down to the crotch and two legs: hips a little above and beside the fork, then knee and foot.
ControlRig two_legs() {
  ControlRig rig;
  rig.bones.push_back(bone("trunk", -1, Vec3d(0, 1.1, 0), Vec3d(0, 2, 0)));
  rig.bones.push_back(bone("head", 0, Vec3d(0, 2, 0), Vec3d(0, 2.5, 0)));
  for (const double side : {1.0, -1.0}) {
    const Vec3d hip(0.15 * side, 1.05, 0), knee(0.15 * side, 0.5, 0), foot(0.15 * side, 0, 0);
    const int thigh = static_cast<int>(rig.bones.size());
    rig.bones.push_back(bone(side > 0 ? "thigh.L" : "thigh.R", 0, hip, knee));
    rig.bones.push_back(bone(side > 0 ? "shin.L" : "shin.R", thigh, knee, foot));
  }
  return rig;
}

LimbGraph two_legged_mesh(double radius) {
  LimbGraph mesh = starting_at(Vec3d(0, 2.5, 0));
  const NodeId fork = add_arc(mesh, LimbGraph::kHead, Vec3d(0, 2.5, 0), Vec3d(0, 0.95, 0), 2.5 * radius);
  mesh.nodes[fork].saddle = Vec3d(0, 0.85, 0);
  add_arc(mesh, fork, Vec3d(0.15, 0.85, 0), Vec3d(0.15, 0, 0), radius);
  add_arc(mesh, fork, Vec3d(-0.15, 0.85, 0), Vec3d(-0.15, 0, 0), radius);
  return mesh;
}

/// The rig's nodes by where they are: head, fork, left and right.
NodeMap map_of(const RigGraph& rig) {
  NodeMap map;
  for (const LimbGraph::Node& node : rig.graph.nodes)
    map.push_back(NodeId(node.position.y() > 2.2   ? 0
                         : node.position.y() > 0.3 ? 1
                         : node.position.x() > 0   ? 2
                                                   : 3));
  return map;
}

TEST(LimbPlacement, TheHipIsInsideOfTheParting) {
  const ControlRig rig = two_legs();
  const RigGraph graph = rig_graph(rig, find_head_bone(rig, "head"));
  ASSERT_EQ(graph.graph.nodes.size(), 4u);
  const double radius = 0.1;
  const LimbPlacement placement =
      place_limbs(graph, two_legged_mesh(radius), map_of(graph), Mat3d::Identity());
  expect_all_placed(placement);
  ASSERT_EQ(placement.limbs.size(), 3u);
  const LimbPlacementOptions options;
  for (const PlacedLimb& limb : placement.limbs) {
    if (limb.is_trunk) continue;
    // Out of the flesh about where the skin's saddle is.
    EXPECT_NEAR(limb.exit_mesh.y(), 0.85, 0.5 * radius);
    const Vec3d side(limb.centres.back().x() > 0 ? 0.15 : -0.15, 0, 0);
    const BoneId thigh(rig.find(side.x() > 0 ? "thigh.L" : "thigh.R"));
    const Vec3d hip = placement.points[graph.head_point[thigh]];
    const Vec3d knee = placement.points[graph.tail_point[thigh]];
    // Above it by the web's radii, give or take one for the limb's proportions; on its own side.
    EXPECT_NEAR((hip - limb.exit_mesh).norm(), options.web_offset * radius, radius);
    EXPECT_GT(hip.y(), limb.exit_mesh.y());
    EXPECT_GT(hip.x() * side.x(), 0);
    EXPECT_GT(knee.y(), 0.3);
    EXPECT_LT(knee.y(), 0.6);
  }
  // Both sides alike.
  for (const Vec3d& point : placement.points) {
    const Vec3d mirrored = point.cwiseProduct(Vec3d(-1, 1, 1));
    double nearest = 1;
    for (const Vec3d& other : placement.points) nearest = std::min(nearest, (other - mirrored).norm());
    EXPECT_LT(nearest, 1e-6);
  }
}

TEST(LimbPlacement, AChainWithoutLimbIsNotPlaced) {
  const ControlRig rig = two_legs();
  const RigGraph graph = rig_graph(rig, find_head_bone(rig, "head"));
  ASSERT_EQ(graph.graph.nodes.size(), 4u);
  NodeMap map = map_of(graph);
  for (NodeId& node : map)
    if (node == NodeId(3)) node = NodeId::kNone;
  const LimbPlacement placement = place_limbs(graph, two_legged_mesh(0.1), map, Mat3d::Identity());
  const auto placed = [&](const char* name) {
    return placement.placed[graph.tail_point[BoneId(rig.find(name))]];
  };
  EXPECT_TRUE(placed("shin.L"));
  EXPECT_TRUE(placed("thigh.L"));
  EXPECT_FALSE(placed("shin.R"));
  EXPECT_FALSE(placed("thigh.R"));
}

}  // namespace
}  // namespace sinew
