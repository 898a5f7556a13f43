#pragma once

#include <span>

#include <sinew/core/rotation.h>
#include <sinew/skeleton/control_rig.h>

namespace sinew {

/// The shortest turn between two directions of any length; the identity where one is zero.
inline Quatd rotation_between(const Vec3d& from, const Vec3d& to) {
  return from.isZero(0) || to.isZero(0) ? Quatd::Identity()
                                        : shortest_turn(from.normalized(), to.normalized());
}

/// The turn that takes the bones with placed[b] != 0 as a whole from `rig` to `fitted` (Kabsch: least squares
/// over heads and tails). Bones that are all nearly on a line take the shortest turn of that line.
Quatd best_rotation(const ControlRig& rig, std::span<const char> placed, const ControlRig& fitted);

}  // namespace sinew
