#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include <sinew/core/math.h>

namespace sinew {

/// What joints inside of an arc obey: the rig's shape (angle, length) or the mesh's (distance). At least 0.
struct JointPlacementOptions {
  double angle = 0.25;  ///< γ_θ, per radian
  double length = 1;    ///< γ_l
  double distance = 5;  ///< γ_x, per length of the arc
  /// Added when joint `joint` (0 is the chain's first) sits at point `point` of the arc that was given, e.g.
  /// for limbs that have a thickness to agree with. Finite; may be negative; may be empty. The two ends, that
  /// have no choice, are not asked for.
  std::function<double(int joint, std::size_t point)> extra;
};

/// Where a chain's joints are in an arc.
struct JointPlacement {
  std::vector<std::size_t> points;  ///< per joint, of `arc`; the first is 0, the last the arc's last; rising
  std::vector<Vec3d> arc;           ///< as given; resampled evenly when it has fewer points than joints
  double cost = 0;                  ///< eq. 3.1, with the extra cost
};

/// Poirier 2009, §3.1.3.2: the joints of a chain (`joints`, two or more, as in the rig) at those points of a
/// mesh's arc (one or more, in order) for which eq. 3.1 is the least of all. Differs: a bone's initial length
/// is scaled so that the chain is as long as the arc, and distances are in lengths of the arc: the printed
/// lengths pull the joints of a larger character away from where they were on the limb.
/// Time grows with the cube of the arc's points, and hardly with the joints. Numbers must be finite.
JointPlacement place_joints(std::span<const Vec3d> joints, std::span<const Vec3d> arc,
                            const JointPlacementOptions& options = {});

}  // namespace sinew
