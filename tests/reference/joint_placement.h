#pragma once

#include <span>

#include <sinew/fitting/joint_placement.h>

namespace sinew::reference {

/// Eq. 3.1 of joints at `points` of the arc.
double placement_cost(std::span<const Vec3d> joints, std::span<const Vec3d> arc,
                      std::span<const std::size_t> points, const JointPlacementOptions& options);

/// Poirier 2009, Algorithm 2 as printed, with an order of the points that leaves one for each joint to come.
/// Exponential in the joints. The arc must have a point for each joint.
JointPlacement place_joints(std::span<const Vec3d> joints, std::span<const Vec3d> arc,
                            const JointPlacementOptions& options);

}  // namespace sinew::reference
