#pragma once

#include <cstdint>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include <sinew/character/character.h>
#include <sinew/core/math.h>

namespace sinew {

/// A joint as the surface sees it: where a binding meets the one that it turns against.
struct Hinge {
  std::string name;                ///< the joint's
  std::uint32_t binding = 0;       ///< number in the weights
  std::uint32_t parent = 0;        ///< another such number
  Vec3d position = Vec3d::Zero();  ///< of the joint, on the rest surface's side: in bind space
};

/// The hinges of a character, in the order of its bindings. A binding turns against that of the nearest joint
/// above it which moves the same connected piece of surface; roots, and bindings that move nothing, have no
/// hinge. Bindings that cannot be inverted, and so have no place at rest, are left out.
std::vector<Hinge> find_hinges(const Character& character);

/// How far the binding has turned against its parent since rest, in radians: bending and twisting alike,
/// whatever else both do to size or mirror. 0 where `posed_from_rest` does not have both.
double turned_angle(const Hinge& hinge, std::span<const Affine3d> posed_from_rest);

/// From this angle on a hinge bends.
inline constexpr double kBendingAngle = 10 * std::numbers::pi / 180;

}  // namespace sinew
