#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sinew/geometry/intersections.h>
#include <sinew/geometry/mesh.h>
#include <sinew/geometry/one_rings.h>
#include <sinew/measure/contact_gap.h>
#include <sinew/measure/curvature.h>
#include <sinew/measure/hinges.h>
#include <sinew/measure/joint_volume.h>
#include <sinew/measure/overlap_volume.h>
#include <sinew/measure/penetration.h>
#include <sinew/measure/self_contact.h>
#include <sinew/measure/stretch.h>
#include <sinew/skinning/weights.h>

namespace sinew {

/// What one frame did to a surface. docs/measurements.md defines every figure. All are finite.
struct SurfaceMeasurements {
  std::size_t intersecting_pairs = 0;      ///< of triangles
  std::size_t new_intersecting_pairs = 0;  ///< of these, pairs that did not intersect at rest
  std::size_t buried_vertices = 0;         ///< winding number just outside above ½
  std::size_t new_buried_vertices = 0;     ///< above ½, and by more than ½ above what it was at rest
  PenetrationDepth depth;                  ///< of the newly buried ones
  OverlapVolume overlap;                   ///< m³
  double new_overlap_volume = 0;  ///< m³ more than at rest, within parts and between them; neither below 0
  double volume = 0;              ///< m³, signed; overlaps count as often as they overlap
  double volume_ratio = 1;        ///< to the rest's; 1 when the rest has none, see RestSurface::volume_known
  std::vector<JointVolume> joint_volumes;  ///< of the hinges that bend, see JointVolumeMeter
  Stretch area_stretch;
  Stretch edge_stretch;
  /// Of the mean curvature, RMS over that at rest, two limb radii from any hinge and away from skin in
  /// contact; see CurvatureMeter and FoldContact.
  std::optional<double> curvature_change;
  std::optional<double> curvature_mean_change;  ///< of the mean of its size over the same skin, signed
  std::size_t flipped_triangles = 0;
  std::size_t flipped_outside_contact = 0;  ///< of these, no corner buried or in contact, see FoldContact
  std::size_t degenerate_triangles = 0;
  /// False when so many triangles intersect that pairs were not listed: pair counts are then 0 and depth and
  /// overlap are not computed.
  bool pairs_known = true;
  /// False when the pairs of this frame or of the rest are not known: new pairs and new overlap are then 0.
  bool new_pairs_known = true;
};

/// The rest surface, as far as readers of the figures should know it.
struct RestSurface {
  std::size_t parts = 0;               ///< connected ones with triangles
  std::size_t open_borders = 0;        ///< closed by fans, see ClosedSurface; 0: the surface is closed
  std::size_t unused_vertices = 0;     ///< in no triangle, not measured
  std::size_t unusable_triangles = 0;  ///< name a vertex twice, not measured
  std::size_t slivers = 0;             ///< too thin at rest to have a ratio of areas
  bool pairs_known = true;             ///< false: too many; pairs and overlap are then 0
  std::size_t intersecting_pairs = 0;
  std::size_t buried_vertices = 0;
  OverlapVolume overlap;
  double volume = 0;
  bool volume_known = false;        ///< it is not too close to 0 to compare with
  double mean_edge = 0;             ///< metres
  std::vector<std::string> hinges;  ///< their joints' names, by number; see JointVolume
  /// What the figures cannot tell for this surface, one line each; empty for a clean closed one.
  std::vector<std::string> caveats;
};

struct SurfaceRulerOptions {
  /// Of triangles that intersect; when there are more, they and all that follows from them are unknown. The
  /// default is more than any character folding ever has, and still little memory: a broken mesh.
  std::size_t most_pairs = std::size_t{1} << 23;
  /// Where volume is looked at when they bend, see find_hinges(); they need weights.
  std::vector<Hinge> hinges{};
};

/// Measures frames of one surface against its rest. Immutable once made: threads may share it.
class SurfaceRuler {
 public:
  /// `weights` has one row per vertex, or none at all for surfaces without bones. Throws Error when a
  /// triangle names a vertex that does not exist, a position that a triangle uses or a hinge's is not finite,
  /// or hinges come without weights.
  explicit SurfaceRuler(const MeshView& rest, SharedWeights weights = {},
                        const SurfaceRulerOptions& options = {});

  /// One position per vertex of the rest. `posed_from_rest` has one transform per joint number of the
  /// weights; empty: nothing turned. Throws Error when a position that a triangle uses is not finite, or
  /// sizes differ.
  SurfaceMeasurements measure(std::span<const Vec3f> positions,
                              std::span<const Affine3d> posed_from_rest = {}) const;

  /// The vertices that are buried and were not at rest, ascending. Throws as measure() does.
  std::vector<std::uint32_t> newly_buried(std::span<const Vec3f> positions) const;
  /// The gaps before these vertices, see contact_gaps(). Throws as measure() does.
  ContactGaps gaps(std::span<const Vec3f> positions, std::span<const std::uint32_t> vertices) const;

  const RestSurface& rest() const { return rest_; }
  std::span<const double> limb_radius() const { return limb_radius_; }  ///< per vertex, see limb_radius()
  /// Per vertex, whether some triangle uses it.
  std::span<const std::uint8_t> used_vertices() const { return used_; }
  /// The winding number just outside each vertex, see find_burial(). Throws as measure() does.
  std::vector<double> winding_outside(std::span<const Vec3f> positions) const;

 private:
  SelfContact find_contact(std::span<const Vec3f> positions, bool with_overlap = true) const;
  /// Of those that are buried in a frame.
  std::vector<std::uint32_t> newly_buried(const Burial& burial) const;
  /// `positions`, or a copy in which vertices that no triangle uses are at the origin, kept in `cleaned`.
  std::span<const Vec3f> clean(std::span<const Vec3f> positions, std::vector<Vec3f>& cleaned) const;
  void check(std::span<const Vec3f> positions) const;
  MeshView view(std::span<const Vec3f> positions) const;
  void measure_hinges(std::span<const Vec3f> positions, std::span<const Affine3d> posed_from_rest,
                      const SelfContact& contact, std::span<const std::uint32_t> flipped,
                      SurfaceMeasurements& frame) const;
  void measure_flips(std::span<const Vec3f> positions, const SelfContact& contact,
                     std::span<const std::uint32_t> flipped, SurfaceMeasurements& frame) const;

  SurfaceRulerOptions options_;
  std::vector<Vec3f> rest_positions_;
  SharedWeights weights_;
  std::vector<std::uint8_t> used_;
  OneRings rings_;
  std::unique_ptr<const SelfContactFinder> contact_;
  std::unique_ptr<const StretchMeter> stretch_;
  std::unique_ptr<const CurvatureMeter> curvature_;
  std::unique_ptr<const JointVolumeMeter> joint_volume_;
  std::vector<std::uint8_t> near_hinge_;  // per vertex, 1: within two limb radii of a hinge
  std::vector<double> limb_radius_;
  std::vector<TrianglePair> rest_pairs_;
  std::vector<double> rest_outside_;
  RestSurface rest_;
};

}  // namespace sinew
