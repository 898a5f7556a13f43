#pragma once

#include <vector>

#include <sinew/fitting/ids.h>
#include <sinew/skeleton/control_rig.h>

namespace sinew {

/// Why a controller follows what it follows: Poirier 2009, §3.1.3.4.1, in order of priority.
enum class LinkKind {
  constraint,  ///< (a) it is the target or the pole of a constraint, maybe of a bone between the two
  parent,      ///< (b) what its parent is or follows
  child,       ///< (c) the one of its descendants that is nearest to the plane of symmetry
  joint,       ///< none of them: the bones of a joint that its head is on
  character,   ///< not even that, or a root on the ground: the character as a whole
};

/// An end of a deforming bone.
struct BoneEnd {
  BoneId bone;
  bool tail = false;

  bool operator==(const BoneEnd&) const = default;
};

/// What a controller follows.
struct ControllerLink {
  LinkKind kind = LinkKind::character;
  /// Deforming bones, the best first: it follows the first that is there after fitting, and is dropped when
  /// none is, or (but for `constraint`) when its head was on joints that are all gone. Empty for
  /// `character`, and for bones that are no controllers.
  std::vector<BoneId> bones;
  /// Joints that its head and tail lie on, the best first; those of bones[0] come before others. Where both
  /// ends have one it is a double link (Poirier 2009, §3.1.3.4.2): clear `tail_joints` for a single one.
  std::vector<BoneEnd> head_joints, tail_joints;
  bool head_on_ground = false, tail_on_ground = false;  ///< the tail's counts with the head's only
};

/// One link per bone of the rig. `symmetry_level`: 1 on the main axis and more off it (only those of
/// deforming bones are read); without, bones nearest to the middle of the rig in x are nearest to the axis.
///
/// Differs: a controller that lies exactly on a deforming bone follows that one first; one without
/// constraints that starts where a deforming bone does and has its direction stands for it. Constraints of
/// kind `armature` count as parents, which they are; those that copy rotation or scale, or limit, count on
/// deforming bones only: mechanism bones use them to follow, not to be led. A root that most deforming bones
/// hang on, with its head on the ground, follows the whole character; a controller whose parents lead to
/// nothing else follows a child if it can.
PerBone<ControllerLink> link_controllers(const ControlRig& rig, const PerBone<int>& symmetry_level = {});

/// The plane y = height on which a rig stands: the lowest of its deforming bones, or of the controllers a
/// little below.
struct RigGround {
  double height = 0;
  double tolerance = 0;  ///< within which ends are on it
};
RigGround rig_ground(const ControlRig& rig);

/// Ends of bones this near to each other are at one joint; metres.
double joint_tolerance(const ControlRig& rig);

}  // namespace sinew
