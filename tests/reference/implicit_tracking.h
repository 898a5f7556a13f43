#pragma once

#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>
#include <sinew/implicit/field_set.h>
#include <sinew/skinning/weights.h>
#include <sinew/tracking/skin_tracker.h>

// The tracking of implicit skinning, written for reading: in double, one vertex after the other, every field
// asked everywhere.
namespace sinew::reference {

/// Where the values of the fields come from.
enum class FieldValues {
  grid,   ///< from the fields' grids, which the library samples, too: what differs is due to tracking alone
  exact,  ///< from the functions that the grids were made of
};

/// What is tracked. Fields are at rest where `rest` is; transforms must have an inverse.
struct TrackingTask {
  std::span<const Vec3d> rest;
  std::span<const Triangle> triangles;
  std::span<const std::int32_t> own;  ///< each vertex's own field; -1: not tracked
  const FieldSet& fields;
  const SkinWeights& weights;
  TrackingOptions options;
  FieldValues values = FieldValues::grid;
};

struct TrackedSkin {
  std::vector<Vec3d> positions;
  std::vector<TrackMark> marks;
};

/// What SkinTracker::track() does to `start`. Stages, in this order:
///
/// 1. start: each vertex's goal t = iso + swelling min(0, f − iso), nearer to f by `ease`.
/// 2. `rounds` times: bring vertices that are across a contact back to their own side, take `steps` Newton
///    steps to f = t, and, but for the last round, relax. From the second round on, a single step from a place
///    near that of the round before, and far from contacts, is by the value and gradient there.
/// 3. Spread β, which says how deep in a contact a vertex was, by `diffusion` sweeps; smooth by β in
///    `smoothing` sweeps.
/// 4. Bring back and take `steps` Newton steps once more; what was smoothed takes none.
/// 5. Restrain displacements that differ from their neighbours'.
/// 6. On meshes too coarse for their fields, take a share of the displacement only.
/// 7. What SkinTracker::untangle() does then: put triangles that are flipped upright, `untangling` sweeps; on
///    coarse meshes a share of it.
TrackedSkin track(const TrackingTask& task, std::span<const Affine3d> posed_from_rest,
                  std::span<const Vec3d> start);

}  // namespace sinew::reference
