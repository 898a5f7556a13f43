#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sinew/core/math.h>

/// Rigs as studios build them: bones that move skin, and controllers that move those bones.
namespace sinew {

/// What Sinew knows how to carry to another character. All else is `other`, and kept as it is.
enum class ConstraintKind {
  ik,
  copy_rotation,
  copy_location,
  copy_scale,
  copy_transforms,
  damped_track,
  armature,
  limit_rotation,
  limit_location,
  limit_scale,
  limit_distance,
  stretch_to,
  other,
};

/// A bone that a constraint looks at.
struct ConstraintTarget {
  std::string bone;         ///< its name; empty: the constraint has no target, or one outside of the rig
  double weight = 1;        ///< armature constraints have several, weighted
  std::string extras = {};  ///< a JSON object with all that Sinew does not look at; empty: nothing

  bool operator==(const ConstraintTarget&) const = default;
};

/// What makes a bone follow others, beyond its parent. The bone that has it is the one that is moved.
struct RigConstraint {
  ConstraintKind kind = ConstraintKind::other;
  std::string type;  ///< for `other`: what the file calls it
  std::string name;
  std::vector<ConstraintTarget> targets;  ///< one but for armature; may be empty
  double influence = 1;                   ///< 0 to 1
  std::string pole;       ///< ik: the bone that the joint in the middle points to; may be empty
  double pole_angle = 0;  ///< ik: radians
  int chain_length = 0;   ///< ik: how many bones it bends, this one included; 0: up to the root
  double length = 0;  ///< stretch_to: the bone's length at rest; limit_distance: the distance. Metres; 0: the
                      ///< file says none
  std::string extras;  ///< a JSON object with all that Sinew does not look at; empty: nothing

  bool operator==(const RigConstraint&) const = default;
};

/// A bone of a rig, in scene space: metres, Y up.
struct RigBone {
  std::string name;  ///< byte for byte as in the file; unique and not empty
  int parent = -1;   ///< number of the parent bone, anywhere in the list; -1 for a root
  Vec3d head = Vec3d::Zero();
  Vec3d tail = Vec3d::Zero();
  double roll = 0;         ///< radians; see bone_frame()
  bool deforms = true;     ///< moves skin; controllers do not, and never get weights
  bool connected = false;  ///< its head is its parent's tail, and stays there
  std::vector<RigConstraint> constraints;
  std::string extras;  ///< a JSON object with all that Sinew does not look at; empty: nothing

  double length() const { return (tail - head).norm(); }
  bool operator==(const RigBone&) const = default;
};

/// A rig with its controllers. Bones stand in the file's order.
struct ControlRig {
  std::string name;
  std::vector<RigBone> bones;
  std::string drivers;  ///< a JSON array of what computes properties from others, kept as it is; may be empty
  std::string extras;   ///< a JSON object with all else; empty: nothing

  /// Number of the bone with that name, or -1.
  int find(std::string_view bone) const;
  bool operator==(const ControlRig&) const = default;
};

/// The axes of a bone as columns: y from head to tail, x and z by its roll. Roll is Blender's, so that
/// numbers agree with what studios see there, where our (x, y, z) is (x, -z, y): without roll, the axes are
/// those of the shortest turn that takes Blender's +y (our -z) to the bone's direction; roll turns them about
/// it. The direction need not have unit length; for a zero one, or one that is not finite, it is our +y.
Mat3d bone_frame(const Vec3d& direction, double roll);

/// The roll for which bone_frame(frame.col(1), roll) is `frame` (columns orthonormal), within ±π.
double bone_roll(const Mat3d& frame);

/// Per bone the nearest bone above it that deforms, or -1: what a rig's deforming bones are without its
/// controllers. Rigs often hang a deforming bone on a controller that is no child of one (Rigify: DEF-thigh
/// on ORG-spine): a controller that lies exactly on a deforming bone stands for that bone, and one whose head
/// lies on its way for the part it starts. Never makes a cycle.
std::vector<int> deform_parents(const ControlRig& rig);

/// Throws Error (prefixed with `where`) unless every name is there and unique, every parent exists and is no
/// descendant, every target and pole is a bone of the rig or empty, every number is finite and in its
/// range, and no bone is farther than 1e15 m from the origin.
void check_rig(const ControlRig& rig, const std::string& where);

/// Bone numbers in an order where parents come first, otherwise as they stand.
std::vector<int> parents_first(const ControlRig& rig);

/// "ik", "copy_rotation" …, as in rig files.
std::string_view constraint_name(ConstraintKind kind);
/// `other` for names that are none of these.
ConstraintKind constraint_kind(std::string_view name);

}  // namespace sinew
