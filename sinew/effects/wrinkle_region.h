#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/core/math.h>
#include <sinew/geometry/mesh.h>

namespace sinew {

/// How folds become lower towards their ends.
enum class WrinkleAttenuation : std::uint8_t {
  bell,    ///< Wyvill's polynomial, level in the middle and at the ends
  linear,  ///< 1 − |z|
  none,
};

/// `z` from -1 to 1 across the region; 0 beyond.
double wrinkle_attenuation(WrinkleAttenuation kind, double z);

/// Where a wrinkle tool lies on a surface (Larboulette, Cani and Arnaldi 2006, §3.3).
struct WrinkleSegment {
  std::uint32_t from = 0, to = 0;  ///< vertices, not the same
  double width = 0;                ///< of the rectangle round it, metres
  WrinkleAttenuation attenuation = WrinkleAttenuation::bell;
  double side = 1;  ///< -1: the triangles' normals point inwards
};

/// A vertex that the tool lifts.
struct WrinkleVertex {
  std::uint32_t vertex = 0;
  double along = 0;   ///< 0 at the segment's start, 1 at its end
  double across = 0;  ///< -1 to 1 over the width
  double share = 1;   ///< of the height of the control curve
};

/// A point of the surface.
struct SurfacePoint {
  Triangle corners{0, 0, 0};
  std::array<double, 3> weights{1, 0, 0};

  Vec3d at(std::span<const Vec3f> positions) const {
    Vec3d sum = Vec3d::Zero();
    for (std::size_t c = 0; c < 3; ++c) sum += weights[c] * positions[corners[c]].cast<double>();
    return sum;
  }
};

/// The part of a surface under a rectangle: triangles that face its way and hang together with its ends.
///
/// It is found once, on the surface at rest, where the article projects anew for each frame: what folds then
/// stays what folds, no vertex jumps in or out, and a fold that a joint bends into a corner keeps its place.
struct WrinkleRegion {
  Vec3d normal = Vec3d::Zero();          ///< the way it faces; zero when there is none: the region is empty
  double chord = 0;                      ///< |AB|
  std::vector<std::uint32_t> triangles;  ///< ascending
  std::vector<WrinkleVertex> vertices;   ///< those with a share, ascending
  /// Points on the surface under the segment, evenly spaced along it, from the first vertex to the last.
  std::vector<SurfacePoint> path;
  /// The same beside the segment, half-way to the sides, for what differs across the region.
  std::array<std::vector<SurfacePoint>, 2> side_paths;
  static constexpr double kSidePath = 0.5;  ///< they lie at -kSidePath and kSidePath across

  /// Coordinates in the rectangle: x from 0 to 1 along the segment, z from -1 to 1 across.
  struct Place {
    double x = 0, z = 0;
  };
  Place place(const Vec3d& point) const;

  Vec3d start = Vec3d::Zero(), along = Vec3d::Zero(), across = Vec3d::Zero();  ///< the rectangle's frame
};

/// `path_points` at least 2. Positions must be finite, vertices and corners exist.
WrinkleRegion find_wrinkle_region(const MeshView& mesh, const WrinkleSegment& segment,
                                  std::size_t path_points);

/// How often a triangle of the region has to be halved until none of its edges is much longer than `along`
/// (in lengths of the segment) along the segment and `across` (in halves of the width) across it; at most
/// `most`.
int wrinkle_refinement(const MeshView& mesh, const WrinkleRegion& region, std::uint32_t triangle,
                       double along, double across, int most);

/// How far a path has turned inwards at each of its points since its first, radians: negative over ridges.
/// `across`: the axis that counts, of unit length, as are the normals; of a path along x seen from above z ×
/// x.
void find_inward_turns(std::span<const Vec3d> normals, const Vec3d& across, std::span<double> turns);

/// How tightly a path is rolled up at each of its points: one over the height, per metre, to which folds
/// there may rise before they meet others that lean against them. Where the path turns inwards by θ over a
/// length s, as two flanks of a valley do or a hollow arc, points that rise along their normals meet at s/2 ·
/// cot(θ/2). The tightest of all pairs counts: 0 where none lean against each other, kTightest where θ
/// reaches half a turn. Depends on lengths and turns along the path alone, so it goes on evenly when skin
/// goes through itself. `lengths`: from the first point, as the turns.
void find_fold_tightness(std::span<const double> lengths, std::span<const double> turns,
                         std::span<double> tightness);

inline constexpr double kTightest = 1e12;

}  // namespace sinew
