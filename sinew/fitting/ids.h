#pragma once

#include <sinew/core/typed_index.h>

/// The kinds of index that fitting works with. Mesh vertices are std::uint32_t as everywhere, and positions
/// along a polyline or a chain are std::size_t.
namespace sinew {

using BoneId = Index<struct BoneTag>;    ///< a bone of a ControlRig
using JointId = Index<struct JointTag>;  ///< a joint of a Skeleton
using PointId = Index<struct PointTag>;  ///< a point of a RigGraph: ends of bones in one place
using NodeId = Index<struct NodeTag>;    ///< a node of a LimbGraph
using ArcId = Index<struct ArcTag>;      ///< an arc of a LimbGraph
using LimbId = Index<struct LimbTag>;    ///< a limb of a LimbPlacement
using ReebNodeId = Index<struct ReebNodeTag>;
using ReebArcId = Index<struct ReebArcTag>;

template <class T>
using PerBone = IndexedVector<BoneId, T>;
template <class T>
using PerJoint = IndexedVector<JointId, T>;
template <class T>
using PerPoint = IndexedVector<PointId, T>;
template <class T>
using PerNode = IndexedVector<NodeId, T>;
template <class T>
using PerArc = IndexedVector<ArcId, T>;
template <class T>
using PerLimb = IndexedVector<LimbId, T>;

/// Per node of a rig's graph the node of a mesh's graph that it is matched with; kNone: the mesh has no such
/// limb.
using NodeMap = PerNode<NodeId>;

}  // namespace sinew
