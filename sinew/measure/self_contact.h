#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <sinew/geometry/closed_surface.h>
#include <sinew/geometry/incidence.h>
#include <sinew/geometry/intersections.h>
#include <sinew/geometry/mesh.h>
#include <sinew/geometry/triangle_tree.h>
#include <sinew/measure/burial.h>
#include <sinew/measure/overlap_volume.h>

namespace sinew {

using Pairs = std::optional<std::vector<TrianglePair>>;

/// Where a frame's surface meets itself, on the closed surface.
struct SelfContact {
  std::vector<Vec3f> placed;                ///< ClosedSurface::place
  Pairs pairs;                              ///< none: too many
  std::size_t surface_pairs = 0;            ///< the first ones: without fans
  std::optional<FittedTriangleTree> boxes;  ///< always there; round `placed`
  Burial burial;
  OverlapVolume overlap;  ///< 0 without pairs
};

/// Finds it frame after frame. Immutable once made: threads may share it.
class SelfContactFinder {
 public:
  /// Closes the surface. Triangles as close_surface() takes them; positions that they use are finite.
  explicit SelfContactFinder(const MeshView& rest);

  /// All that intersect, those without fans first and each kind ascending; none when there are more than
  /// `most_pairs`. `placed` is ClosedSurface::place, as below.
  Pairs pairs(std::span<const Vec3f> placed, std::size_t most_pairs) const;
  /// All the rest, from what pairs() gave; the overlap's volume only `with_overlap`. The result must not
  /// outlive this object.
  SelfContact find(std::vector<Vec3f> placed, Pairs pairs, bool with_overlap = true) const;

  const ClosedSurface& surface() const { return surface_; }
  const TriangleTree& tree() const { return *tree_; }

 private:
  ClosedSurface surface_;
  Incidence incidence_;  // of the surface without fans
  std::unique_ptr<const TriangleTree> tree_;
  std::unique_ptr<const SelfIntersections> intersections_;
};

}  // namespace sinew
