#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/core/math.h>
#include <sinew/geometry/incidence.h>
#include <sinew/geometry/mesh.h>

namespace sinew {

/// How much of a lost volume each axis restores; they add up to 1.
using VolumeShares = std::array<double, 3>;

/// Where a patch moves its vertices: an origin and three unit axes at right angles, the columns of `axes`.
struct VolumeFrame {
  Vec3d origin = Vec3d::Zero();
  Mat3d axes = Mat3d::Identity();
};

/// Vertices of a closed surface that may move to restore its volume (Rohmer, Hahmann and Cani 2009; Rohmer
/// 2014, §II.3). The volume is linear in the coordinates along one axis, so the smallest displacement along
/// it that changes the volume by a given amount is known: eq. 12, with the σ² of the numerator that the paper
/// leaves out,
///
///     δ_k = −μ ΔV s_k ∂V/∂x_k / Σ_m s_m (∂V/∂x_m)²,    s_k = σ_k² A / A_k.
///
/// Beyond the paper, freedom counts per area: A_k is the vertex's area at rest, A their mean. Without it
/// vertices of large triangles move farther than those of small ones, and the skin shows its mesh. The second
/// axis starts from where the first has moved the vertices (eq. 13), and so does the third: together they
/// change the volume by exactly −ΔV.
class VolumePatch {
 public:
  struct Vertex {
    std::uint32_t vertex = 0;
    double freedom = 1;  ///< σ, finite and positive
  };

  VolumePatch() = default;
  /// `triangles` make a closed surface round each of the vertices; `incidence` is theirs; `rest_area` has one
  /// entry per vertex of the surface, finite. Vertices ascend.
  VolumePatch(std::span<const Triangle> triangles, const Incidence& incidence,
              std::span<const double> rest_area, std::span<const Vertex> vertices);

  std::span<const std::uint32_t> vertices() const { return {points_.data(), moving_}; }
  /// Those round them, which do not move.
  std::span<const std::uint32_t> halo() const { return std::span(points_).subspan(moving_); }
  /// How many numbers restore() needs as scratch.
  std::size_t scratch_size() const { return 3 * points_.size() + 2 * moving_; }

  /// What a patch can do; m is the free-motion mask.
  struct Ability {
    double strength = 0;  ///< Σ s m² |∂V/∂p|²: 0 for a patch that cannot change the volume
    double farthest = 0;  ///< the largest s m |∂V/∂p|
    /// The volume that it can restore while no vertex moves farther than `max_displacement`, or than the mask
    /// leaves of that, were it to move along its normal.
    double capacity(double max_displacement) const {
      return farthest > 0 ? max_displacement * strength / farthest : 0;
    }
  };
  /// With the areas of `positions`; `free_motion` as in restore().
  Ability ability(std::span<const Vec3d> positions, std::span<const float> free_motion) const;
  /// With areas found before, one per vertex of the patch: no more than a sum.
  Ability ability(std::span<const double> areas, std::span<const float> free_motion) const;
  /// The least share that any direction has of the strength.
  double weakest_direction(std::span<const Vec3d> positions) const;
  /// |∂V/∂p| of each vertex of the patch.
  std::vector<double> areas(std::span<const Vec3d> positions) const;

  /// Moves the patch's vertices so that the volume changes by −loss. An axis along which the patch has hardly
  /// any area, so that little volume would need large displacements, hands its share to the others, the more
  /// of it the less area it has. Does nothing and returns false when the patch has no area, or so little that
  /// vertices would have to move farther than twice its size, and for numbers that are not finite.
  /// `free_motion`, empty or one entry per vertex of the surface, multiplies the freedoms of this frame: from
  /// 0 to 1. `rest_strength`, that of the patch at rest, spares it a look at all axes where they are strong;
  /// 0: it is not known.
  bool restore(double loss, const VolumeFrame& frame, const VolumeShares& shares,
               std::span<const float> free_motion, std::span<double> scratch, std::span<Vec3d> positions,
               double rest_strength = 0) const;

 private:
  std::vector<std::uint32_t> points_;  // of the surface: those that move, then the halo
  std::size_t moving_ = 0;
  std::size_t padded_ = 0;  // of them, the first: those with rings of kPaddedRing places (ring_areas.h)
  std::vector<double> s_;
  std::array<double*, 3> coordinates(std::span<double> scratch) const;
  /// Puts the points' coordinates in the frame into the scratch; returns the size of the box round them, NaN
  /// when one is not finite.
  double load(const VolumeFrame& frame, std::span<const Vec3d> positions, std::span<double> scratch) const;
  /// Σ s (∂V/∂x)² of each axis.
  std::array<double, 3> axis_strengths(const double* free, std::span<double> scratch) const;
  /// Moves the coordinates, axis by axis, and tells the strengths of those that have a share. False when
  /// vertices would have to go too far.
  bool move(double loss, const VolumeShares& shares, const double* free, double size,
            std::span<double> scratch, std::array<double, 3>& strengths) const;
  std::span<const std::uint32_t> ring(std::size_t i) const {
    return {rings_.data() + ring_starts_[i], ring_starts_[i + 1] - ring_starts_[i]};
  }
  /// s of each vertex in this frame, in the scratch where there is a free-motion mask.
  const double* freedoms(std::span<const float> free_motion, std::span<double> scratch) const;

  // The rings of the vertices, as numbers of points_: each a closed walk, its first vertex once more at the
  // end.
  std::vector<std::uint32_t> ring_starts_;
  std::vector<std::uint32_t> rings_;
};

}  // namespace sinew
