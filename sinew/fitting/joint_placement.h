#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include <sinew/core/math.h>

namespace sinew {

/// Whether joints inside of an arc follow the rig's shape (angle, length) or the mesh's (distance). At least
/// 0. The paper leaves the weights to the user; these by hand, on the built-in characters.
struct JointPlacementOptions {
  double angle = 0.25;  ///< γ_θ, per radian
  double length = 1;    ///< γ_l
  double distance = 5;  ///< γ_x, per length of the arc
  /// Added when joint `joint` (0 is the chain's first) is at point `point` of the given arc, e.g. for limbs
  /// that have a thickness to agree with. Finite; may be negative; may be empty. Not called for the two ends,
  /// which have no choice.
  std::function<double(int joint, std::size_t point)> extra;
};

/// Where a chain's joints are on an arc.
struct JointPlacement {
  std::vector<std::size_t>
      points;              ///< per joint, its place in `arc`, rising from the first point to the last
  std::vector<Vec3d> arc;  ///< as given, or resampled evenly when it has fewer points than joints
  double cost = 0;         ///< eq. 3.1, with the extra cost
};

/// Poirier 2009, §3.1.3.2: the joints of a chain (`joints`, two or more, as in the rig) at those points of a
/// mesh's arc (one or more, in order) for which eq. 3.1 is the least of all. Differs: a bone's initial length
/// is scaled so that the chain is as long as the arc, and distances are in lengths of the arc: the printed
/// lengths pull the joints of a larger character away from where they were on the limb.
/// Time grows with the cube of the arc's points, and hardly with the joints. Numbers must be finite.
JointPlacement place_joints(std::span<const Vec3d> joints, std::span<const Vec3d> arc,
                            const JointPlacementOptions& options = {});

}  // namespace sinew
