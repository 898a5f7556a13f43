#pragma once

#include <string>
#include <vector>

#include <sinew/fitting/ids.h>
#include <sinew/fitting/limb_graph.h>
#include <sinew/skeleton/control_rig.h>

namespace sinew {

/// The deforming bones of a rig as a tree of points that starts at the head (Poirier 2009, §3.1.2,
/// figure 3.3).
struct RigGraph {
  /// Heads and tails of the deforming bones; those in the same place are one. Neighbours are the ends of a
  /// bone, or of the gap between a bone and its parent, which joins a bone's head to the nearer end of its
  /// parent.
  PerPoint<Vec3d> points;
  PerBone<PointId> head_point;  ///< kNone for controllers and a face's bones
  PerBone<PointId> tail_point;
  PerBone<char> is_face_bone;  ///< small bones at the head, which are left out of the tree
  PerPoint<std::vector<PointId>> neighbours;
  PointId head;  ///< the point at which the tree starts

  LimbGraph graph;                      ///< its chains: arcs between points where chains branch or end
  PerNode<PointId> node_point;          ///< where each node of the graph is
  PerArc<std::vector<PointId>> chains;  ///< the points of each arc from `from` to `to`, both included
};

struct RigGraphOptions {
  /// Forks that follow each other within this share of the longest path from the head become one, towards the
  /// head, as those of meshes do (Poirier 2009, §3.1.2.2): whether a thumb starts at the wrist and the
  /// fingers a hand's length further on is a matter of how a rig is drawn. By hand, on the built-in
  /// characters.
  double merge_forks_within = 0.065;
};

/// The bone whose free end starts a rig's graph: the bone called `name`, or the one that is named head or
/// skull. A rig without a head starts at its root's end (a hand at the wrist). Throws Error when there is no
/// such bone, it does not deform, or no bone deforms.
BoneId find_head_bone(const ControlRig& rig, const std::string& name = {});

/// The rig must pass check_rig. `head_bone` is as from find_head_bone(): the tree starts at its tail, or
/// further on where only one bone goes on from there; with its head if it is the rig's root and not called
/// head.
RigGraph rig_graph(const ControlRig& rig, BoneId head_bone, const RigGraphOptions& options = {});

}  // namespace sinew
