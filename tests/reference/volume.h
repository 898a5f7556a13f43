#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sinew/core/math.h>
#include <sinew/effects/volume_patch.h>
#include <sinew/geometry/closed_surface.h>
#include <sinew/geometry/mesh.h>

namespace sinew::reference {

/// V = Σ (z_a + z_b + z_c) / 6 · |x_b − x_a, y_b − y_a; x_c − x_a, y_c − y_a| over the faces of a closed
/// surface (Rohmer 2014, eq. 8).
double signed_volume(std::span<const Vec3d> points, std::span<const Triangle> triangles);

/// ∂V/∂p_k of every vertex: b × c / 6 of each face k, b, c.
std::vector<Vec3d> volume_derivative(std::span<const Vec3d> points, std::span<const Triangle> triangles);

/// A third of the areas of each vertex's triangles.
std::vector<double> vertex_areas(std::span<const Vec3d> points, std::span<const Triangle> triangles);

/// Changes the volume by −loss, axis after axis (eq. 13):
/// δ_k = −μ ΔV s_k ∂V/∂x_k / Σ_m s_m (∂V/∂x_m)², s_k = (σ_k m_k)² A / A_k with A_k no less than A / 100.
/// m_k is the free-motion mask. Of a share μ_a, an axis keeps μ_a · min(1, 50 S_a / S), S_a = Σ s (∂V/∂x_a)² and S their sum; what it
/// does not keep goes to all axes in proportion to S_a. Without S, nothing moves.
void restore_volume(std::span<const Triangle> triangles, std::span<const double> rest_area,
                    std::span<const VolumePatch::Vertex> vertices, double loss, const VolumeFrame& frame,
                    const VolumeShares& shares, std::span<const float> free_motion, std::span<Vec3d> points);

/// The volume of one part's cell.
struct CellVolume {
  std::uint32_t part = 0, anchor = 0;
  double prisms = 0;   ///< between triangles of the surface and of anchors
  double bridges = 0;  ///< between triangles of anchors and the middle of those that hang together
};

/// Sorted by part, then anchor. `anchor_of_vertex` and `points` have no fans; a fan's middle is the mean of
/// its border and hangs on the anchor that most of the border does, of those on the first.
std::vector<CellVolume> cell_volumes(const ClosedSurface& surface,
                                     std::span<const std::uint32_t> anchor_of_vertex,
                                     std::span<const Vec3d> points, std::span<const Vec3d> anchors);

/// Four times: each two cells with a triangle in common, of which one has lost and the other gained, settle
/// the smaller of what they offer each other. A cell offers what it has, divided among such neighbours by
/// what those have.
void settle_losses(std::span<const Triangle> triangles, std::span<const std::uint32_t> cell_of_vertex,
                   std::span<double> losses);

}  // namespace sinew::reference
