#pragma once

#include <numbers>
#include <span>

#include <sinew/layers/character_hinges.h>

namespace sinew {

/// How far the binding has turned against its parent since rest, in radians: bending and twisting alike,
/// whatever else both do to size or mirror. 0 where `posed_from_rest` does not have both.
double turned_angle(const Hinge& hinge, std::span<const Affine3d> posed_from_rest);

/// From this angle on a hinge bends.
inline constexpr double kBendingAngle = 10 * std::numbers::pi / 180;

}  // namespace sinew
