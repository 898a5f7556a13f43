#pragma once

#include <vector>

#include <sinew/fitting/joint_placement.h>
#include <sinew/fitting/rig_graph.h>

namespace sinew {

struct LimbPlacementOptions {
  JointPlacementOptions joints;
  /// Whether the ends of a rig's last bones mean something. Files that have joints only do not say how long a
  /// finger's last bone is; then it is guessed from the one before.
  bool tails_known = true;
  /// Two chains count as apart where they are this many times the sum of their limbs' radii away from each
  /// other …
  double apart = 1.1;
  double apart_from_trunk = 1.0;  ///< … or from the trunk that goes on …
  double web = 1.4;               ///< … and the skin parts so many radii of the limb further on …
  double finger_web = 3;          ///< … or, between fingers: three limbs or more and no trunk
};

/// A chain of the rig in its limb of the mesh.
struct PlacedLimb {
  int from = -1, to = -1;  ///< nodes of the rig's graph
  std::vector<int> chain;  ///< points of the rig from `from` to `to`
  std::vector<Vec3d> way;  ///< centres of the limb, from where it is a limb of its own
  std::vector<double> radii;
  bool goes_on = false;              ///< the trunk behind a fork, not a limb that leaves it
  double scale = 1;                  ///< length in the mesh per length in the rig
  Vec3d parts_rig = Vec3d::Zero();   ///< where the rig's chain should come out of the flesh
  Vec3d parts_mesh = Vec3d::Zero();  ///< where the limb does
};

struct LimbPlacement {
  std::vector<Vec3d> points;  ///< new place of each point of the rig
  std::vector<char> placed;   ///< per point; 0: belongs to a chain that was dropped
  std::vector<PlacedLimb> limbs;
};

/// New places for the points of a rig, for nodes matched by `image` (limb_alignment.h).
///
/// Poirier puts forks of the rig on forks of the mesh's graph. But skin parts beyond the joint: at the web,
/// not at the knuckle; at the crotch, not at the hip. Here each chain is held where its limb parts from its
/// neighbours, by the saddle of the skin there: the chain's own place of parting is where it is far enough
/// from the next chain for both limbs' flesh. From there to the limb's end joints are placed by
/// joint_placement.h. The joint just inside (hip, shoulder, knuckle) lies back along the limb; what is
/// deeper, in palm, chest and pelvis, is carried by a similarity of the joints round it, bent so that it
/// meets them.
///
/// `mesh_from_rig` is the turn from rig to mesh.
LimbPlacement place_limbs(const RigGraph& rig, const LimbGraph& mesh, const std::vector<int>& image,
                          const Mat3d& mesh_from_rig, const LimbPlacementOptions& options = {});

}  // namespace sinew
