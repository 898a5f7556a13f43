#include <sinew/fitting/rig_graph.h>

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/fitting/template_rigs.h>

#include "tests/support/indices.h"

namespace sinew {
namespace {

RigBone bone(const std::string& name, int parent, const Vec3d& head, const Vec3d& tail, bool deforms = true) {
  RigBone result;
  result.name = name;
  result.parent = parent;
  result.head = head;
  result.tail = tail;
  result.deforms = deforms;
  return result;
}

ControlRig rig_of(std::vector<RigBone> bones) {
  ControlRig rig;
  rig.name = "test";
  rig.bones = std::move(bones);
  return rig;
}

/// Pelvis to head; arms that start beside the chest's top, without a bone that leads there.
ControlRig upper_body() {
  return rig_of({bone("spine", -1, {0, 1, 0}, {0, 1.4, 0}), bone("head", 0, {0, 1.4, 0}, {0, 1.7, 0}),
                 bone("arm.L", 0, {0.2, 1.35, 0}, {0.5, 1.35, 0}),
                 bone("hand.L", 2, {0.5, 1.35, 0}, {0.7, 1.35, 0}),
                 bone("arm.R", 0, {-0.2, 1.35, 0}, {-0.5, 1.35, 0}),
                 bone("ik.L", -1, {0.5, 1.35, 0}, {0.5, 1.35, 0.2}, false)});
}

std::string error_of(const ControlRig& rig, const std::string& name) {
  try {
    find_head_bone(rig, name);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(RigGraph, TurnsOffsetsIntoLinks) {
  // Figure 3.3.
  const ControlRig rig = upper_body();
  const RigGraph graph = rig_graph(rig, find_head_bone(rig));
  EXPECT_EQ(graph.points.size(), 8u);
  EXPECT_EQ(graph.points[graph.head], Vec3d(0, 1.7, 0));
  // Head's top to neck; then arms and spine. Arms have the gap in them.
  ASSERT_EQ(graph.graph.nodes.size(), 5u);
  EXPECT_EQ(graph.graph.nodes[NodeId(1)].position, Vec3d(0, 1.4, 0));
  EXPECT_EQ(graph.graph.nodes[NodeId(1)].child_arcs.size(), 3u);
  bool left = false;
  for (const ArcId a : graph.graph.arcs.ids()) {
    const LimbGraph::Arc& arc = graph.graph.arcs[a];
    EXPECT_EQ(arc.points.size() + 1, graph.chains[a].size());
    EXPECT_EQ(graph.chains[a].front(), graph.node_point[arc.from]);
    EXPECT_EQ(graph.chains[a].back(), graph.node_point[arc.to]);
    for (std::size_t k = 0; k < arc.points.size(); ++k)
      EXPECT_EQ(arc.points[k], graph.points[graph.chains[a][k + 1]]);
    if (arc.points.back() != Vec3d(0.7, 1.35, 0)) continue;
    left = true;
    EXPECT_EQ(arc.points, (std::vector<Vec3d>{{0.2, 1.35, 0}, {0.5, 1.35, 0}, {0.7, 1.35, 0}}));
  }
  EXPECT_TRUE(left);
}

TEST(RigGraph, HangsAnOffsetOnTheNearerEnd) {
  // Legs beside the head of the pelvis, not its tail.
  const ControlRig rig =
      rig_of({bone("pelvis", -1, {0, 1, 0}, {0, 1.5, 0}), bone("leg.L", 0, {0.1, 0.95, 0}, {0.1, 0, 0}),
              bone("leg.R", 0, {-0.1, 0.95, 0}, {-0.1, 0, 0})});
  const RigGraph graph = rig_graph(rig, BoneId(0));
  ASSERT_EQ(graph.graph.nodes.size(), 4u);
  EXPECT_EQ(graph.graph.nodes[NodeId(0)].position,
            Vec3d(0, 1, 0));  // a root that is no head starts the tree itself
  EXPECT_EQ(graph.graph.nodes[NodeId(0)].child_arcs.size(), 3u);
}

TEST(RigGraph, LeavesControllersOut) {
  const ControlRig rig = upper_body();
  const RigGraph graph = rig_graph(rig, BoneId(1));
  EXPECT_FALSE(graph.head_point[BoneId(5)].valid());
  EXPECT_FALSE(graph.tail_point[BoneId(5)].valid());
  for (std::size_t b = 0; b < 5; ++b) {
    EXPECT_EQ(graph.points[graph.head_point[BoneId(b)]], rig.bones[b].head);
    EXPECT_EQ(graph.points[graph.tail_point[BoneId(b)]], rig.bones[b].tail);
  }
}

TEST(RigGraph, LinksSeveralRootsAtTheirNearestPoints) {
  const ControlRig rig =
      rig_of({bone("head", -1, {0, 1, 0}, {0, 2, 0}), bone("tail", -1, {0, 0.9, -0.3}, {0, 0.9, -1}),
              bone("tip", -1, {0, 0.9, -1.2}, {0, 0.9, -2})});
  const RigGraph graph = rig_graph(rig, BoneId(0));
  ASSERT_EQ(graph.graph.arcs.size(), 1u);
  EXPECT_EQ(graph.graph.arcs[ArcId(0)].points,
            (std::vector<Vec3d>{{0, 1, 0}, {0, 0.9, -0.3}, {0, 0.9, -1}, {0, 0.9, -1.2}, {0, 0.9, -2}}));
}

TEST(RigGraph, IsATreeEvenWhereBonesCloseALoop) {
  const ControlRig rig = rig_of({bone("a", -1, {0, 0, 0}, {1, 0, 0}), bone("b", 0, {1, 0, 0}, {0, 1, 0}),
                                 bone("c", 1, {0, 1, 0}, {0, 0, 0}), bone("dot", 0, {1, 0, 0}, {1, 0, 0})});
  const RigGraph graph = rig_graph(rig, BoneId(0));
  std::size_t ends = 0;
  for (const std::vector<PointId>& neighbours : graph.neighbours) ends += neighbours.size();
  EXPECT_EQ(graph.points.size(), 3u);
  EXPECT_EQ(ends, 4u);  // two links
}

TEST(RigGraph, OfASingleBone) {
  const ControlRig rig = rig_of({bone("only", -1, {0, 0, 0}, {0, 1, 0})});
  const RigGraph graph = rig_graph(rig, find_head_bone(rig));
  ASSERT_EQ(graph.graph.nodes.size(), 2u);
  EXPECT_EQ(graph.graph.nodes[NodeId(0)].position, Vec3d(0, 0, 0));
  EXPECT_EQ(graph.graph.nodes[NodeId(1)].position, Vec3d(0, 1, 0));
}

TEST(RigGraph, ForksThatFollowCloselyAreOne) {
  // A thumb from the wrist, two fingers from the end of the palm.
  const ControlRig rig =
      rig_of({bone("arm", -1, {0, 0, 0}, {1, 0, 0}), bone("palm", 0, {1, 0, 0}, {1.05, 0, 0}),
              bone("thumb", 0, {1, 0, 0}, {1, 0, 0.3}), bone("index", 1, {1.05, 0, 0}, {1.3, 0, 0.05}),
              bone("little", 1, {1.05, 0, 0}, {1.3, 0, -0.05})});
  const RigGraph merged = rig_graph(rig, BoneId(0)), separate = rig_graph(rig, BoneId(0), {0});
  EXPECT_EQ(merged.graph.nodes[NodeId(1)].child_arcs.size(), 3u);
  EXPECT_EQ(separate.graph.nodes[NodeId(1)].child_arcs.size(), 2u);
  for (const std::vector<PointId>& chain : merged.chains) EXPECT_GE(chain.size(), 2u);
}

TEST(RigGraph, BonesOfAFaceAreLeftOut) {
  const ControlRig rig =
      rig_of({bone("neck", -1, {0, 0, 0}, {0, 1, 0}), bone("head", 0, {0, 1, 0}, {0, 2, 0}),
              bone("jaw", 1, {0, 1.2, 0.2}, {0, 1.1, 0.6}), bone("antenna", 1, {0, 1.8, 0.2}, {0, 3, 2})});
  const RigGraph graph = rig_graph(rig, BoneId(1));
  EXPECT_EQ(graph.is_face_bone.values(), (std::vector<char>{0, 0, 1, 0}));
  EXPECT_FALSE(graph.head_point[BoneId(2)].valid());
  EXPECT_TRUE(graph.head_point[BoneId(3)].valid());
}

TEST(RigGraph, OfTheTemplatesReachesEveryBone) {
  for (const TemplateRig& made : template_rigs()) {
    SCOPED_TRACE(made.name);
    const ControlRig rig = made.make();
    const BoneId head = find_head_bone(rig);
    if (!made.head_bone.empty()) {
      EXPECT_EQ(rig.bones[head.offset()].name, made.head_bone);
    }
    const RigGraph graph = rig_graph(rig, head);
    PerPoint<int> met(graph.points.size(), 0);
    for (const std::vector<PointId>& chain : graph.chains)
      for (const PointId point : chain) met[point] = 1;
    EXPECT_EQ(std::count(met.begin(), met.end(), 0), 0);
    for (const NodeId n : graph.graph.below_head()) {
      EXPECT_LT(graph.graph.parent(n), n);
      EXPECT_NE(graph.graph.nodes[n].child_arcs.size(), 1u);
    }
  }
}

TEST(FindHeadBone, ByItsName) {
  const auto found = [](std::vector<std::string> names) {
    std::vector<RigBone> bones;
    for (const std::string& name : names)
      bones.push_back(bone(name, static_cast<int>(bones.size()) - 1,
                           Vec3d(0, static_cast<double>(bones.size()), 0),
                           Vec3d(0, static_cast<double>(bones.size()) + 1, 0)));
    return names[find_head_bone(rig_of(bones)).offset()];
  };
  EXPECT_EQ(found({"hips", "neck", "Head", "HeadTop_End"}), "Head");
  EXPECT_EQ(found({"mixamorig:Hips", "mixamorig:Head", "mixamorig:HeadTop_End"}), "mixamorig:Head");
  EXPECT_EQ(found({"root", "DEF-head"}), "DEF-head");
  EXPECT_EQ(found({"root", "forehead.L", "skull"}), "skull");
  EXPECT_EQ(found({"root", "DEF-spine", "DEF-spine.001", "DEF-spine.002"}), "DEF-spine.002");
  EXPECT_EQ(found({"root", "forehead"}), "root");
  EXPECT_EQ(found({"wrist", "index", "forearm"}), "wrist");
}

TEST(FindHeadBone, AsAsked) {
  const ControlRig rig = upper_body();
  EXPECT_EQ(find_head_bone(rig, "hand.L"), BoneId(3));
  EXPECT_EQ(error_of(rig, "hed"), "rig 'test': has no bone 'hed'");
  EXPECT_EQ(error_of(rig, "ik.L"), "rig 'test': bone 'ik.L' is a controller; name one that moves skin");
  EXPECT_EQ(error_of(rig_of({bone("a", -1, {0, 0, 0}, {0, 1, 0}, false)}), ""),
            "rig 'test': no bone moves skin; mark some as deforming");
}

TEST(FindHeadBone, OfARigWithoutAHeadIsItsRoot) {
  // A hand: the graph starts at the wrist, not where the fingers part.
  const ControlRig rig =
      rig_of({bone("palm", -1, {0, 0, 0}, {0, 0.1, 0}), bone("index", 0, {0.02, 0.1, 0}, {0.03, 0.2, 0}),
              bone("thumb", 0, {-0.02, 0.1, 0}, {-0.06, 0.15, 0})});
  const RigGraph graph = rig_graph(rig, find_head_bone(rig));
  EXPECT_EQ(graph.graph.nodes[NodeId(0)].position, Vec3d(0, 0, 0));
  EXPECT_EQ(graph.graph.nodes[NodeId(1)].position, Vec3d(0, 0.1, 0));
}

}  // namespace
}  // namespace sinew
