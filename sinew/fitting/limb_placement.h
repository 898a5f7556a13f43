#pragma once

#include <sinew/fitting/joint_placement.h>
#include <sinew/fitting/matched_limbs.h>

namespace sinew {

/// Distances are in radii of limbs. Set by hand, on the built-in characters with limbs of many lengths and
/// girths (docs/fitting.md, "How well").
struct LimbPlacementOptions {
  JointPlacementOptions joints;
  /// Whether the ends of a rig's last bones mean something. Files that have joints only do not say how long a
  /// finger's last bone is; then it is guessed from the one before.
  bool tails_known = true;
  /// Two chains are separate where they are this many times the sum of their limbs' radii away from each
  /// other …
  double separation = 1.1;
  double trunk_separation = 1.0;  ///< … or from the trunk that continues …
  double web_offset = 1.4;        ///< … and the skin parts so many radii of the limb further on …
  double finger_web_offset = 3;   ///< … or, between fingers: three limbs or more and no trunk
};

/// A chain of the rig in its limb of the mesh.
struct PlacedLimb : MatchedLimb {
  double scale = 1;                 ///< length in the mesh per length in the rig
  Vec3d exit_rig = Vec3d::Zero();   ///< where the rig's chain should come out of the body
  Vec3d exit_mesh = Vec3d::Zero();  ///< where the limb does
};

struct LimbPlacement {
  PerPoint<Vec3d> points;  ///< new positions of the rig's points
  PerPoint<char> placed;   ///< 0: belongs to a chain that was dropped
  PerLimb<PlacedLimb> limbs;
};

/// New positions for the points of a rig whose nodes are matched by `node_map` (limb_alignment.h).
///
/// Poirier puts forks of the rig on forks of the mesh's graph. But skin parts beyond the joint: at the web,
/// not at the knuckle; at the crotch, not at the hip. Here each chain is held where its limb separates from
/// its neighbours, by the saddle of the skin there; the chain separates where it is far enough from the next
/// chain for both limbs' flesh. From there to the limb's end joints are placed by joint_placement.h. The
/// joint just inside (hip, shoulder, knuckle) lies back along the limb; what is deeper, in palm, chest and
/// pelvis, is moved by a similarity of the joints round it, warped so that it meets them.
///
/// `mesh_from_rig` is the rotation from rig to mesh.
LimbPlacement place_limbs(const RigGraph& rig, const LimbGraph& mesh, const NodeMap& node_map,
                          const Mat3d& mesh_from_rig, const LimbPlacementOptions& options = {});

}  // namespace sinew
