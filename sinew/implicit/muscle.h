#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <sinew/core/math.h>
#include <sinew/implicit/field_sample.h>

namespace sinew {

/// A muscle: a spindle between two points that swells as a joint bends, merged into the field of the bone it
/// lies on (Vaillant 2015, §4.6.3.2: an extra primitive with its own bone, scaled by the bending angle). As
/// part of that field it takes part in contacts with others and never meets its own limb.
struct Muscle {
  std::uint32_t host = 0;  ///< the field that it belongs to
  // At rest, and which posed_from_rest carries each of them.
  Vec3d origin = Vec3d::Zero();
  Vec3d insertion = Vec3d::Zero();
  std::uint32_t origin_transform = 0;
  std::uint32_t insertion_transform = 0;

  double radius = 0;  ///< half its thickness in the middle, at rest, metres
  double swell = 0;   ///< share of the radius that a full bend adds
  double lift = 0;    ///< radii at rest by which a full bend moves it along `outwards`
  Vec3d outwards = Vec3d::Zero();

  // Bend of a joint: the angle by which it has turned its bone against the joint before it.
  std::uint32_t driver_transform = 0;
  std::uint32_t driver_parent_transform = 0;
  Vec3d driver_bone = Vec3d::Zero();  ///< direction at rest; zero: any turn counts, also one about the bone
  double full_angle = 2;              ///< radians at which it is a full bend
};

/// How far the muscle's driver is bent: from 0 at rest to 1 from the full angle on, smooth at both ends. 0
/// when the transforms do not tell.
double muscle_bend(const Muscle& muscle, std::span<const Affine3d> posed_from_rest);

/// A muscle in a pose. It is the image of the unit ball; with k the distance from the ball's centre, its
/// field is t(x), x = (r/R) √(1+e²) (√(k²+e²) − √(1+e²)), r the muscle's radius and R the support of its
/// host: ½ on its surface, as steep there as the host is on the skin, and smooth throughout.
struct PosedMuscle {
  std::array<float, 12> ball_from_world{};  ///< rows of a 3×4 matrix
  float thickness = 0;                      ///< r/R
  float reach = 0;                          ///< k from which on the field is 0

  Vec3f to_ball(const Vec3f& at) const {
    const std::array<float, 12>& m = ball_from_world;
    return {m[0] * at.x() + m[1] * at.y() + m[2] * at.z() + m[3],
            m[4] * at.x() + m[5] * at.y() + m[6] * at.z() + m[7],
            m[8] * at.x() + m[9] * at.y() + m[10] * at.z() + m[11]};
  }
  bool covers(const Vec3f& at) const { return to_ball(at).squaredNorm() < reach * reach; }
  /// Any float will do.
  FieldSample sample(const Vec3f& at) const;
};

/// Poses a muscle whose host's field has the support `host_support` (metres at rest) and is carried by
/// `host`, which can be inverted. The radius grows with the bend, and as √(rest length / length) within
/// bounds, which keeps its volume; one that is shorter than it is thick is a ball. False when it cannot be
/// posed: where an end is not finite.
bool pose_muscle(const Muscle& muscle, double host_support, const Affine3d& host,
                 std::span<const Affine3d> posed_from_rest, PosedMuscle& posed);

/// A union of two fields that is smooth where they are nearly equal, so that skin has no crease where a
/// muscle begins: with D = |a − b| and w = kMuscleBlend (a + b), max(a, b) + (w − D)² / 4w where D < w. Not
/// above 1.
FieldSample merge_muscle(const FieldSample& host, const FieldSample& muscle);

inline constexpr float kMuscleBlend = 0.3f;

}  // namespace sinew
