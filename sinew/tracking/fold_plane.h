#pragma once

#include <algorithm>
#include <cmath>

#include <sinew/core/math.h>
#include <sinew/core/smooth_step.h>
#include <sinew/implicit/field_set.h>

namespace sinew {

/// Near a joint the fields of its two bones end. The surface where both are equal hooks round the bones'
/// ends, so it is not where the skins of a fold should meet. There they meet in a plane through the joint,
/// halfway between the bones. Not in the papers.
struct FoldPlane {
  Vec3f normal = Vec3f::Zero();  ///< to the child's side; zero where the bones lie on each other: no plane
  /// To where the joint closes, as long as the cosine of half of the angle between the bones: 0 for a
  /// straight limb, which has no fold.
  Vec3f inside = Vec3f::Zero();

  /// How far the plane, not the fields, says where a fold's skins meet, at a place by its way from the joint.
  /// `radius` is that of the limb there.
  float share(const Vec3f& from_joint, float radius) const;

  /// The way to the child's side in units of field values, which change about so much over the limb's radius.
  float side(const Vec3f& from_joint, float radius) const { return kSlope * normal.dot(from_joint) / radius; }
  /// Its gradient.
  Vec3f side_gradient(float radius) const { return (kSlope / radius) * normal; }

  static constexpr float kSlope = 1.3f;
  // On the inside of the bend only, from here to there in radii, and within so many radii of the joint along
  // the plane.
  static constexpr float kOutside = 0.1f, kInside = 0.5f, kNear = 1.2f, kFar = 2.2f;
};

/// The plane of a joint between the middles of its two parts.
FoldPlane fold_plane(const Vec3f& joint, const Vec3f& parent_middle, const Vec3f& child_middle);

/// The plane turned about the joint so that it goes on where the two fields are equal farther out: a thick
/// thigh pushes a calf away. Not turned where they do not meet, nor where it would have to turn far.
FoldPlane turned_to_contact(const FoldPlane& plane, const Vec3f& joint, float radius,
                            const PosedField& parent, const PosedField& child);

inline float FoldPlane::share(const Vec3f& from_joint, float radius) const {
  const float in = smooth_step(kOutside, kInside, inside.dot(from_joint) / radius);
  if (in == 0) return 0;
  const float across = normal.dot(from_joint);
  const float along = std::sqrt(std::max(from_joint.squaredNorm() - across * across, 0.0f));
  return in * (1 - smooth_step(kNear, kFar, along / radius));
}

}  // namespace sinew
