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
  double along = 0;  ///< 0 at the segment's start, 1 at its end
  double share = 1;  ///< of the height of the control curve
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

/// How often a triangle of the region has to be halved until none of its edges is much longer than `along` (in
/// lengths of the segment) along the segment and `across` (in halves of the width) across it; at most `most`.
int wrinkle_refinement(const MeshView& mesh, const WrinkleRegion& region, std::uint32_t triangle,
                       double along, double across, int most);

/// How high folds may rise at each point of a path before they meet others that lean against them, where the
/// surface is hollow. Two points that move by h along their normals come no nearer than to touch while
/// h ≤ |q − p|² / ((n_p − n_q)·(q − p)). Infinite where all others lean away, 0 where the two sides of a
/// hollow have already gone through each other. `limits` has one entry per point; normals have unit length.
void find_fold_limits(std::span<const Vec3d> points, std::span<const Vec3d> normals,
                      std::span<double> limits);

}  // namespace sinew
