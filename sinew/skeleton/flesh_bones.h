#pragma once

#include <span>
#include <vector>

#include <sinew/geometry/oriented_surface.h>
#include <sinew/skeleton/bones.h>
#include <sinew/skeleton/skeleton.h>

namespace sinew {

/// The local axis along which a rig's bones lie: Blender's is +y, others' +x. Files do not say, but a joint
/// with one child shows it.
struct BoneAxis {
  int axis = -1;  ///< 0, 1, 2: x, y, z; -1: the joints do not agree on one
  double sign = 1;

  /// In world space; unit length. Call only when `axis` is not -1.
  Vec3d direction(const Affine3d& world_from_joint) const {
    return (sign * world_from_joint.linear().col(axis)).normalized();
  }
};
/// The axis that points within 18° of the child in more than 60 % of the joints with exactly one child, of
/// which there are at least three.
BoneAxis find_bone_axis(std::span<const Bone> bones, std::span<const Affine3d> world_from_joint);

/// Bones for a surface that has no weights yet: derive_bones() with ends that reach as far as the flesh does.
/// - A leaf's bone goes along the rig's bone axis, or else on in its parent's direction, or up to 30° (45°)
///   beside it where that stays in the flesh for longer: from the ball of the foot to the toes, not through
///   the sole. It ends a tenth short of the surface.
/// - A joint with leaves for children only, such as a head with jaw and eyes, gets a bone of its own along
///   the same axis when none of them lies there and the flesh goes on: the skull.
///   Its leaves, when there is no axis to tell their direction, stay short.
/// Bones outside of the surface come out as from derive_bones(). Surfaces that face inwards are understood
/// (geometry/oriented_surface.h). `world_from_joint` has one entry per joint.
std::vector<Bone> bones_in_flesh(const Skeleton& skeleton, std::span<const Affine3d> world_from_joint,
                                 const OrientedSurface& surface);

}  // namespace sinew
