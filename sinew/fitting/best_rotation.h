#pragma once

#include <sinew/core/rotation.h>
#include <sinew/fitting/ids.h>
#include <sinew/skeleton/control_rig.h>

namespace sinew {

/// The shortest rotation between two directions of any length; the identity where one is zero.
inline Quatd rotation_between(const Vec3d& from, const Vec3d& to) {
  return from.isZero(0) || to.isZero(0) ? Quatd::Identity()
                                        : shortest_turn(from.normalized(), to.normalized());
}

/// The rotation that takes the bones with placed[b] != 0 best from `rig` to `fitted`: least squares over
/// heads and tails (Kabsch 1976). Bones that are all nearly on a line take the shortest rotation of that
/// line.
Quatd best_rotation(const ControlRig& rig, const PerBone<char>& placed, const ControlRig& fitted);

}  // namespace sinew
