#pragma once

#include <span>
#include <vector>

#include <sinew/fitting/fitted_rig.h>

namespace sinew {

/// Why a controller follows what it follows: Poirier 2009, §3.1.3.4.1, in order of priority.
enum class LinkKind {
  constraint,  ///< (a) it is the target or the pole of a constraint, maybe of a bone between the two
  parent,      ///< (b) what its parent is or follows
  child,       ///< (c) the one of its descendants that is nearest to the plane of symmetry
  joint,       ///< none of them: the bones of a joint that its head is on
  whole,       ///< not even that, or a root on the ground: the character as a whole
};

/// An end of a deforming bone.
struct BoneEnd {
  int bone = -1;
  bool tail = false;

  bool operator==(const BoneEnd&) const = default;
};

/// What a controller follows.
struct ControllerLink {
  LinkKind kind = LinkKind::whole;
  /// Deforming bones, the best first: it follows the first that is there after fitting, and is dropped when
  /// none is, or (but for `constraint`) when its head was on joints that are all gone. Empty for
  /// `whole`, and for bones that are no controllers.
  std::vector<int> bones;
  /// Joints that its head and tail lie on, the best first; those of bones[0] come before others. Where both
  /// ends have one it is a double link (§3.1.3.4.2): clear `tail_joints` for a single one.
  std::vector<BoneEnd> head_joints, tail_joints;
  bool head_on_ground = false, tail_on_ground = false;  ///< the tail's counts with the head's only
};

/// One link per bone of the rig. `symmetry_level`: per bone, 1 on the main axis and more off it (only those
/// of deforming bones are looked at); without, bones nearest to the middle of the rig in x are nearest the
/// axis.
///
/// Differs: a controller that lies exactly on a deforming bone follows that one first; one without
/// constraints that starts where a deforming bone does and goes its way stands for it. Constraints of kind
/// `armature` count as parents, which they are; those that copy rotation or scale, or limit, count on
/// deforming bones only: mechanism uses them to follow, not to be led. A root that most deforming bones hang
/// on, with its head on the ground, follows the whole; a controller whose parents lead to nothing else
/// follows a child if it can.
std::vector<ControllerLink> link_controllers(const ControlRig& rig, std::span<const int> symmetry_level = {});

/// Poirier 2009, §3.1.3.4.3: moves all that is not placed. In `fitted.rig`, placed deforming bones have their
/// new heads, tails and rolls; `fitted.fate` says what became of deforming bones. Sets the fate of
/// controllers, and moves deforming bones that are `carried` with the nearest placed one above them
/// (`dropped` if that one is). A controller gets the turn and the scale of the bone that it follows, about
/// that bone. Then:
///  - Ends that were on a joint are on it again; with both ends, it is aimed and stretched to do so.
///  - Poles keep their place relative to the limb they bend: in its plane, on the side of its middle joint.
///    Differs: with the turn of the lower bone alone a limb that is bent further takes its pole along.
///  - Controllers whose head was on the rig's ground are on the ground again, which is as far below the
///  lowest placed
///    joint as before, in scale.
///  - What follows the whole gets the ratio of the bones' summed lengths as its scale, about the ground. The
///    whole is turned only when the character is, by 30° or more, or turned exactly.
///  - Connected bones start at their parent's tail, if they did in the rig.
///  - Lengths in stretch_to and limit_distance follow the distance to their target.
void carry_controllers(const ControlRig& rig, std::span<const ControllerLink> links, FittedRig& fitted);

}  // namespace sinew
