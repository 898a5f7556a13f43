#pragma once

#include <span>
#include <vector>

#include <sinew/fitting/limb_graph.h>
#include <sinew/skeleton/control_rig.h>

namespace sinew {

/// The deforming bones of a rig as a tree of points that starts at the head (Poirier 2009, §3.1.2,
/// figure 3.3).
struct RigGraph {
  /// Heads and tails of the deforming bones; those in the same place are one. Neighbours are the ends of a
  /// bone, or of the gap between a bone and its parent, which joins a bone's head to the nearer end of its
  /// parent.
  std::vector<Vec3d> points;
  std::vector<int> head_point;  ///< per bone; -1 for controllers and a face's bones
  std::vector<int> tail_point;
  std::vector<char> face;  ///< per bone: a small one that hangs on the head and is left out of the tree
  std::vector<std::vector<int>> neighbours;  ///< per point
  int head = -1;                             ///< the point at which the tree starts

  LimbGraph graph;                       ///< its chains: arcs between points where chains part or end
  std::vector<int> node_point;           ///< per node of the graph
  std::vector<std::vector<int>> chains;  ///< per arc, its points from `from` to `to`, both included
};

/// The point at which a rig's graph starts: the free end of the bone called `bone`, or of the one that is
/// named head or skull. A rig without a head starts at its root's end (a hand at the wrist). Throws Error
/// when there is no such bone, it does not deform, or no bone deforms. Gives the bone's number.
int find_head_bone(const ControlRig& rig, const std::string& bone = {});

/// The rig must pass check_rig. `head_bone` is as from find_head_bone(): the tree starts at its tail, or
/// further on where only one bone goes on from there; with its head if it is the rig's root and not called
/// head.
///
/// Forks that follow each other within `near_forks` of the longest way from the head become one, towards the
/// head, as those of meshes do (§3.1.2.2): whether a thumb starts at the wrist and the fingers a hand's
/// length further on is a matter of how a rig is drawn.
RigGraph rig_graph(const ControlRig& rig, int head_bone, double near_forks = 0.065);

}  // namespace sinew
