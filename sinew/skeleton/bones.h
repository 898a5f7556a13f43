#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <sinew/core/math.h>
#include <sinew/geometry/ray_query.h>
#include <sinew/skeleton/skeleton.h>

namespace sinew {

/// A segment of the skeleton that moves with a joint.
struct Bone {
  int joint = -1;
  int child = -1;  ///< the joint at its tail; -1 for the bone of a leaf
  Vec3d head = Vec3d::Zero();
  Vec3d tail = Vec3d::Zero();
};

/// Where the bone of a leaf joint ends. `direction` is the unit direction from the parent bone's head to the
/// leaf (the joint's own y axis where that is undefined). Empty when nothing is known.
using LeafTail = std::function<std::optional<Vec3d>(int joint, const Vec3d& head, const Vec3d& direction)>;

/// Before there are weights: the leaf's bone goes on in its direction until it leaves the surface. Says
/// nothing for leaves that are not inside of it. `surface` must outlive the result.
LeafTail leaf_tail_to_surface(const SurfaceQuery& surface);

/// Files have only points; this makes segments of them. A joint's bone runs to its child; a joint with
/// several children owns one segment per child; a leaf's bone ends where `leaf_tail` says or, where it says
/// nothing, half its parent's bone further on. Joints that do not deform (helper nodes between joints) are
/// passed over, unless no joint deforms at all. Segments of zero length are left out where the joint has
/// another one. Sorted by joint; every (deforming) joint has at least one. `world_from_joint` has one entry
/// per joint.
std::vector<Bone> derive_bones(const Skeleton& skeleton, std::span<const Affine3d> world_from_joint,
                               const LeafTail& leaf_tail = {});

}  // namespace sinew
