#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/core/held_bytes.h>
#include <sinew/effects/volume_cells.h>
#include <sinew/effects/volume_patch.h>

namespace sinew {

/// What VolumeKeeper needs as memory for one frame.
struct VolumeScratch {
  std::vector<Vec3d> points;    ///< the surface's vertices, then the fans' middles
  std::vector<double> volumes;  ///< per cell, several times
  std::vector<double> parts;    ///< per part, twice
  std::vector<double> patches;
  std::size_t bytes() const { return held_bytes(points, volumes, parts, patches); }
};

/// A frame of VolumeKeeper; spans have one entry per anchor where they do not say otherwise.
struct VolumeDemand {
  std::span<const Vec3d> anchors;  ///< where they are
  std::span<const VolumeFrame> frames;
  std::span<const VolumeShares> shares;
  std::span<const double> strengths;       ///< how much of its loss an anchor's cells restore: 1 is all of it
  std::span<const double> target_volumes;  ///< per cell, the volume that it is to have
  std::span<const float> free_motion;      ///< per vertex, or empty: see VolumePatch::restore
  /// How large the anchor's skin is against rest; empty: as large.
  std::span<const double> scales;
  /// How far skin round an anchor should move at most, at rest's size; what its cells cannot restore within
  /// that, neighbouring cells do, and in the end the whole part. Empty: as far as it takes.
  std::span<const double> limits;
  /// Losses below this share of their part's volume are let be.
  double tolerance = 0;
};

/// Keeps the volume of every closed part of a surface while many joints move (Rohmer 2014): each joint pays
/// for its own loss in its own neighbourhood. What a joint has lost is the change of its cells
/// (volume_cells.h), fixed before anything moves; the losses of a part's cells add up to the part's loss.
/// What one cell has lost to a neighbour is settled between them. Its patch (volume_patch.h) restores just
/// that, and what neighbours could not. Patches that share triangles act one after the other, those that do
/// not at the same time: either way the volume changes by the sum of what they restore, which is the loss.
class VolumeKeeper {
 public:
  /// `anchor_of_vertex` has one entry per vertex, `rest_anchors`, `freedoms` and `parents` one per anchor.
  /// Freedoms list vertices in ascending order; those on borders, or of no triangle, are passed over. A cell
  /// whose anchor has no freedom at its part hands its loss to that of its anchor's nearest parent (-1: none)
  /// that has, else to the part's cell with most of it; parts without any are left alone.
  VolumeKeeper(const MeshView& rest, std::span<const std::uint32_t> anchor_of_vertex,
               std::span<const Vec3d> rest_anchors,
               std::span<const std::vector<VolumePatch::Vertex>> freedoms, std::span<const int> parents);

  const VolumeCells& cells() const { return cells_; }
  std::span<const double> rest_volumes() const { return rest_volumes_; }
  const VolumePatch& patch(std::size_t cell) const { return patches_[cell]; }
  /// Parts that enclose next to nothing, or are mostly hole: sheets, whose volume means nothing. They are
  /// left alone.
  std::span<const std::uint32_t> sheets() const { return sheets_; }
  /// Whether any part can be kept.
  bool can_act() const { return can_act_; }
  /// Per round of patches that act at the same time, their cells.
  std::span<const std::vector<std::uint32_t>> rounds() const { return rounds_; }

  VolumeScratch make_scratch() const;
  /// The cells' volumes of other positions, such as a rest with morph targets; one entry per vertex.
  void measure(std::span<const Vec3f> positions, std::span<const Vec3d> anchors, VolumeScratch& scratch,
               std::span<double> volumes) const;

  void keep(const VolumeDemand& demand, VolumeScratch& scratch, std::span<Vec3d> positions) const;
  void keep(const VolumeDemand& demand, VolumeScratch& scratch, std::span<Vec3f> positions) const;

 private:
  /// Per cell, those that triangles connect it with.
  void find_neighbours();
  void find_sheets(std::span<const Vec3d> points);
  void find_restoring_cells(std::span<const int> parents);
  void find_rounds();
  /// Where one cell has lost what its neighbour has gained, the border between them has shifted, as between
  /// short bones of a spine: that is no loss. `change` is scratch.
  void settle_losses(std::span<double> losses, std::span<double> change) const;
  /// Hands what is more than cells can restore to their neighbours.
  void spread_losses(const VolumeDemand& demand, VolumeScratch& scratch, std::span<double> losses) const;
  void keep_points(const VolumeDemand& demand, VolumeScratch& scratch) const;

  VolumeCells cells_;
  std::vector<double> rest_volumes_;
  std::vector<VolumePatch> patches_;             // per cell
  std::vector<std::vector<double>> areas_;       // per cell, of the patch at rest
  std::vector<VolumePatch::Ability> abilities_;  // at rest
  std::vector<std::uint32_t> restoring_cells_;   // the cell that restores a cell's loss; VolumeCells::kNone
  std::vector<std::uint32_t> fallback_cells_;    // per part, its strongest cell
  std::vector<std::size_t> scratch_starts_;      // per cell
  std::size_t scratch_size_ = 0;
  std::vector<std::vector<std::uint32_t>> rounds_;
  std::vector<double> rest_strengths_;  // per cell, 0: not to be relied on
  std::vector<std::vector<std::uint32_t>> neighbours_;
  std::vector<std::uint32_t> sheets_;
  bool can_act_ = false;
};

}  // namespace sinew
