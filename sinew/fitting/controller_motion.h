#pragma once

#include <sinew/fitting/controller_links.h>
#include <sinew/fitting/fitted_rig.h>

namespace sinew {

/// Poirier 2009, §3.1.3.4.3: moves all that is not placed. In `fitted.rig`, placed deforming bones have their
/// new heads, tails and rolls; `fitted.fate` says what became of deforming bones. Sets the fate of
/// controllers, and moves deforming bones that are `carried` with the nearest placed one above them
/// (`dropped` if that one is). A controller gets the rotation and the scale of the bone that it follows,
/// about that bone. Then:
///  - Ends that were on a joint are on it again; with both ends, it is aimed and stretched to do so.
///  - Poles keep their place relative to the limb they bend: in its plane, on the side of its middle joint.
///    Differs: with the rotation of the lower bone alone a limb that is bent further takes its pole along.
///  - Controllers whose head was on the rig's ground are on the ground again, which is as far below the
///  lowest
///    placed joint as before, in scale.
///  - What follows the whole character gets the ratio of the bones' summed lengths as its scale, about the
///    ground. It is rotated only when the character is, by 30° or more, or exactly.
///  - Connected bones start at their parent's tail, if they did in the rig.
///  - Lengths in stretch_to and limit_distance follow the distance to their target.
void move_controllers(const ControlRig& rig, const PerBone<ControllerLink>& links, FittedRig& fitted);

}  // namespace sinew
