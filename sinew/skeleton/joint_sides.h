#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sinew/core/math.h>
#include <sinew/skeleton/skeleton.h>

namespace sinew {

enum class Side { none, left, right };

/// Where a joint's name says on which side of the body it is: `length` bytes from `begin` are the side's
/// word or letter. Both are 0 when it has none.
struct NamedSide {
  Side side = Side::none;
  std::size_t begin = 0;
  std::size_t length = 0;
};

/// Reads the side from a joint's name: the words left and right in lower case, upper case or capitals
/// (hand_left, LeftHand, mixamorig:LeftArm, b_LeftLeg01), or else the letters l and r between separators
/// (hand.L, hand_l, L_hand, hand.L.001, leg_joint_R_1, "Bip01 L Hand"), or else a letter set off by case at
/// the start or end of what separators part (lThigh, LArm, footR). Of several words, or several letters, the
/// last one counts. A side is never a part of a word or number: Leftover, collar, upright and tail_r1 have
/// none. What stands before a namespace's : or | is not looked at.
NamedSide parse_side(std::string_view name);

/// The name of the joint on the other side, spelled in the same way; the name itself when it has no side.
std::string other_side(std::string_view name);

/// Per joint its partner on the other side by name: itself when its name has no side, -1 when its partner
/// does not exist. Names match exactly but for the side; what then has no partner may also differ in the
/// number at its end, where that leaves no doubt (b_LeftFoot_017, b_RightFoot_021: some exporters number all
/// joints). The k-th of several joints with one name is the partner of the k-th on the other side. A
/// partner's partner is always the joint itself.
std::vector<int> mirror_joints(const Skeleton& skeleton);

/// A mirror plane: the points x with normal · (x - point) = 0. The normal has unit length.
struct MirrorPlane {
  Vec3d point = Vec3d::Zero();
  Vec3d normal = Vec3d::UnitX();

  double height(const Vec3d& x) const { return normal.dot(x - point); }
  Vec3d mirrored(const Vec3d& x) const { return x - 2 * height(x) * normal; }
  Vec3d mirrored_direction(const Vec3d& d) const { return d - 2 * normal.dot(d) * normal; }
};

/// How well a skeleton mirrors. Lengths are in metres.
struct MirrorFit {
  std::size_t pairs = 0;
  double size = 0;           ///< diagonal of the box round all joints
  double pair_residual = 0;  ///< root mean square distance from a joint's mirror image to its partner
  std::size_t axial_joints = 0;
  double axial_residual = 0;  ///< median distance from the plane of joints that are their own partners
};

/// Residuals above this share of the skeleton's size mean that it is not symmetric.
inline constexpr double kMirrorTolerance = 0.03;

/// The plane that mirrors joints best onto their partners, by least squares; its normal points to where the
/// left joints are. A plane through the origin across an axis is preferred where its residual is at most
/// twice as large: meshes are modelled about it, joints placed by hand. None when there is no pair, when all
/// partners coincide, or when a residual exceeds kMirrorTolerance (posed limbs, or unpaired joints that
/// mostly lie to one side); `fit` tells. `world_from_joint` and `partner` have one entry per joint,
/// `partner` is as from mirror_joints(). Throws Error when a position is not finite.
std::optional<MirrorPlane> find_mirror_plane(const Skeleton& skeleton,
                                             std::span<const Affine3d> world_from_joint,
                                             std::span<const int> partner, MirrorFit* fit = nullptr);

}  // namespace sinew
