#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>
#include <sinew/measure/hinges.h>
#include <sinew/measure/self_contact.h>
#include <sinew/skinning/weights.h>

namespace sinew {

/// How much of the limb's volume round a hinge is left.
struct JointVolume {
  std::uint32_t hinge = 0;  ///< number
  double ratio = 1;         ///< to the rest's
};

/// The volume of the limb round hinges that bend: of a hinge's patch (hinge_patches.h), whose borders are
/// closed by fans (closed_surface.h), which follow the frame; signed, less what it overlaps itself
/// (overlap_volume.h). Hinges whose patch encloses less than a tenth of the sphere round the joint have none:
/// the joint lies outside of the body or under one side of it. In a straight tube the patch is half of the
/// sphere.
class JointVolumeMeter {
 public:
  /// `rest` as SelfContactFinder takes it; `weights` has one row per vertex, `limb_radius` one entry.
  JointVolumeMeter(const MeshView& rest, const SkinWeights& weights, std::span<const double> limb_radius,
                   std::span<const Hinge> hinges);

  /// Those of the given hinges that have a patch, in their order.
  std::vector<JointVolume> measure(std::span<const Vec3f> positions,
                                   std::span<const std::uint32_t> bending) const;

  /// The limb's radius at a hinge: the median at the vertices nearest to it; 0 where it moves none.
  double radius(std::uint32_t hinge) const { return radius_[hinge]; }
  bool has_patch(std::uint32_t hinge) const { return patches_[hinge].has_value(); }

 private:
  /// A hinge's patch, its borders closed.
  struct ClosedPatch {
    std::vector<std::uint32_t> vertices;  // of the surface
    SelfContactFinder contact;
    double rest_volume = 0;

    double volume(std::span<const Vec3f> positions) const;
  };

  std::vector<double> radius_;
  std::vector<std::optional<ClosedPatch>> patches_;  // per hinge
};

}  // namespace sinew
