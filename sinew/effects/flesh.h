#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/core/math.h>
#include <sinew/effects/damped_spring.h>

namespace sinew {

/// How flesh fades out towards the ends of its bone.
enum class FleshAttenuation : std::uint8_t {
  bell,      ///< Wyvill's polynomial: 1 in the middle, 0 with level tangents at both ends
  parabola,  ///< 1 − y²
  none,
};

/// `y` from -1 to 1 along the bone; 0 beyond.
double flesh_attenuation(FleshAttenuation kind, double y);

/// A vertex that an element moves.
struct FleshVertex {
  std::uint32_t vertex = 0;
  double share = 1;  ///< before: how much it belongs to the element; after: α, of the spring's stretch
};

/// The virtual bone of an element, at rest.
struct FleshBone {
  Vec3d head = Vec3d::Zero(), tail = Vec3d::Zero();
  double thickness = 0;  ///< metres that do not move
  FleshAttenuation attenuation = FleshAttenuation::bell;
};

/// Flesh that a spring drags behind a bone (Larboulette, Cani and Arnaldi 2006, §2.5 and §2.6):
/// α = shape · attenuation / max(shape · attenuation), where shape is the distance from the bone less its
/// thickness. The largest of them before it is divided, `thickness`, bounds the spring: no vertex moves
/// farther than its flesh is thick.
struct FleshWeights {
  std::vector<FleshVertex> vertices;  ///< those that move at all
  double thickness = 0;               ///< metres
};

/// `candidates` have shares from 0 to 1; numbers smaller than rest.size().
FleshWeights find_flesh(std::span<const Vec3f> rest, std::span<const FleshVertex> candidates,
                        const FleshBone& bone);

/// Moves vertices by their share of a stretch, and turns them by their share of a small turn about a centre.
void move_flesh(std::span<const FleshVertex> vertices, const Vec3d& stretch, const Vec3d& turn,
                const Vec3d& centre, std::span<Vec3f> positions);

}  // namespace sinew
