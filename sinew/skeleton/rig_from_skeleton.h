#pragma once

#include <span>
#include <vector>

#include <sinew/skeleton/control_rig.h>
#include <sinew/skeleton/skeleton.h>

namespace sinew {

/// The rig that a plain skeleton is: bone i is that of joint `joints[i]` (of `skeleton`, each once), all
/// deform, none has constraints. A bone's parent is the nearest joint above it in the list; its head is the
/// joint.
/// - The tail is where the one child is. Of several children it is the one most along the rig's bone axis
///   (find_bone_axis), and the bone goes along that axis as far; where none lies within 60° of it, or the rig
///   has no such axis, the child that carries most joints, and of these the one most in line with the bone
///   before. A leaf's bone goes along the axis, or on in its parent's direction, for half its parent's
///   length. No bone has length zero.
/// - Roll keeps the joint's own axes: the bone's x is the joint's axis before (z before x before y before z)
///   the one that the bone lies along, as near as the bone's direction allows.
/// - Names that are empty become "joint", names that are taken get .001, .002 and so on, in the order of the
///   list.
/// `world_from_joint` has one entry per joint of `skeleton`.
ControlRig rig_from_skeleton(const Skeleton& skeleton, std::span<const Affine3d> world_from_joint,
                             std::span<const int> joints);

/// The skeleton of a rig's bones: joints at their heads with the axes of bone_frame(), parents first,
/// deforming as the bones do. `bone_of_joint`, when given, receives the bone number of each joint. The rig
/// must pass check_rig.
Skeleton skeleton_from_rig(const ControlRig& rig, std::vector<int>* bone_of_joint = nullptr);

}  // namespace sinew
