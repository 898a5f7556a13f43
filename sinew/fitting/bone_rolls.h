#pragma once

#include <sinew/fitting/ids.h>
#include <sinew/skeleton/control_rig.h>

namespace sinew {

/// Poirier 2009, §3.1.3.3: the rolls of bones that have a new place. `fitted` is a copy of `rig` in which
/// bones with placed[b] != 0 have new heads and tails; their rolls are set.
///
/// Where the joint at a bone's head (else the one at its tail) is bent in the rig and in the mesh, the roll
/// stays what it was relative to the plane in which it bends (method b). Elsewhere the shortest rotation from
/// the old direction to the new one moves the axes (method a). Differs:
///  - The shortest rotation starts from that of the deforming parent, and at the roots from the one that fits
///    the whole character best: a limb that hangs instead of standing out keeps the axes of its bones
///    relative to each other, and a character that was turned as a whole turns its axes alike.
///  - A plane has two normals: the one nearer to that of method (a) is taken, so a knee that was bent
///  forwards
///    is never turned backwards or sideways.
///  - Between 1.5° and 4° of bend, old or new, and between 60° and 85° of what the plane would add to
///    method (a), the two methods are blended: nothing jumps.
///  - Shoulders and hips turn any way, so their plane in one pose is no axis: a limb's first joint, behind a
///    bone shorter than 0.7 of the next (a clavicle), does not count if that bone has another at its tail.
///  - A joint where several deforming bones start has no plane. Bones of a straight limb that was cut in
///    pieces obey the next joint that is bent.
void transfer_rolls(const ControlRig& rig, const PerBone<char>& placed, ControlRig& fitted);

}  // namespace sinew
