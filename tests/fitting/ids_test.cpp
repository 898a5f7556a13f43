#include <sinew/fitting/ids.h>

#include <type_traits>

#include <gtest/gtest.h>

#include <sinew/fitting/limb_graph.h>
#include <sinew/fitting/rig_bones.h>
#include <sinew/fitting/rig_graph.h>

namespace sinew {
namespace {

template <class Container, class Id>
concept IndexedBy = requires(const Container& container, Id id) {
  container[id];
};

// A bone cannot select a node, nor any index an element of another kind; a plain number selects nothing.
static_assert(IndexedBy<decltype(LimbGraph::nodes), NodeId>);
static_assert(!IndexedBy<decltype(LimbGraph::nodes), BoneId>);
static_assert(!IndexedBy<decltype(LimbGraph::nodes), ArcId>);
static_assert(!IndexedBy<decltype(LimbGraph::nodes), PointId>);
static_assert(!IndexedBy<decltype(LimbGraph::nodes), int>);
static_assert(!IndexedBy<decltype(LimbGraph::nodes), std::size_t>);
static_assert(IndexedBy<decltype(RigGraph::points), PointId>);
static_assert(!IndexedBy<decltype(RigGraph::points), NodeId>);
static_assert(IndexedBy<decltype(RigGraph::head_point), BoneId>);
static_assert(!IndexedBy<decltype(RigGraph::head_point), PointId>);
static_assert(!std::is_convertible_v<BoneId, NodeId> && !std::is_constructible_v<NodeId, BoneId>);
static_assert(!std::is_convertible_v<int, BoneId> && !std::is_convertible_v<BoneId, int>);
static_assert(std::is_invocable_v<decltype(parent_of), const ControlRig&, BoneId>);
static_assert(!std::is_invocable_v<decltype(parent_of), const ControlRig&, JointId>);

TEST(RigBones, AreReachedByTheirIds) {
  ControlRig rig;
  for (const char* name : {"root", "arm", "hand"}) {
    RigBone bone;
    bone.name = name;
    bone.parent = static_cast<int>(rig.bones.size()) - 1;
    bone.tail = Vec3d::UnitY();
    rig.bones.push_back(bone);
  }
  const BoneId arm = find_bone(rig, "arm");
  EXPECT_EQ(bone_at(rig, arm).name, "arm");
  EXPECT_EQ(bone_at(rig, parent_of(rig, arm)).name, "root");
  EXPECT_FALSE(parent_of(rig, parent_of(rig, arm)).valid());
  EXPECT_EQ(find_bone(rig, "leg"), BoneId::kNone);
  EXPECT_EQ(bone_ids(rig).size(), 3u);
  EXPECT_EQ(deforming_parents(rig)[find_bone(rig, "hand")], arm);
  EXPECT_EQ(bones_parents_first(rig).back(), find_bone(rig, "hand"));
}

}  // namespace
}  // namespace sinew
