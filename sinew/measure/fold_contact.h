#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>
#include <sinew/geometry/one_rings.h>
#include <sinew/geometry/triangle_tree.h>

namespace sinew {

/// Tells where skin lies on other skin, from nothing but the frame's surface and its rest, so that every
/// method is judged alike: a vertex is in contact when a triangle beyond its third ring
/// - is no farther from it than a twentieth of its limb radius or the mean of its edges at rest, whichever is
///   larger,
/// - was more than three times as far at rest, measured between the same two points,
/// - and has it in front: the direction from the triangle to the vertex is within 60° of the triangle's
/// normal.
///   Vertices behind it lie in the body.
class FoldContact {
 public:
  /// `rings` is one_rings() of the triangles. All three, and what they refer to, must outlive this object.
  FoldContact(const MeshView& rest, const OneRings& rings, std::span<const double> limb_radius)
      : rest_(rest), rings_(rings), limb_radius_(limb_radius) {}

  /// Per given vertex of the frame, 1 when it is in contact. `boxes` were fitted to positions that begin with
  /// `positions`; triangles of their tree that the rest does not have are passed over. `flipped`, ascending,
  /// show their back.
  std::vector<std::uint8_t> find(std::span<const Vec3f> positions, const FittedTriangleTree& boxes,
                                 std::span<const std::uint32_t> flipped,
                                 std::span<const std::uint32_t> vertices) const;

 private:
  bool in_contact(std::span<const Vec3f> positions, const FittedTriangleTree& boxes,
                  std::span<const std::uint32_t> flipped, std::uint32_t v) const;
  std::vector<std::uint32_t> near_along_surface(std::uint32_t v) const;

  MeshView rest_;
  const OneRings& rings_;
  std::span<const double> limb_radius_;
};

}  // namespace sinew
