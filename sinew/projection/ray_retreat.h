#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <sinew/contact/contact_params.h>
#include <sinew/contact/contact_sides.h>
#include <sinew/contact/crossing_triangles.h>
#include <sinew/projection/contact_frame.h>
#include <sinew/projection/contact_skin.h>

namespace sinew {

/// The first step of contact: vertices whose ray runs through an overlap retreat along it, to where both
/// skins meet. The mesh says where it overlaps; the fields are asked only inside of that, which side of the
/// contact a point is on.
class RayRetreat {
 public:
  /// All three must outlive it. Throws Error as ContactSides does.
  RayRetreat(const ContactSkin& skin, const FieldSet& fields, const ContactParams& params);

  CrossingScratch make_scratch() const { return crossings_->make_scratch(); }

  /// What retreats in this frame, told from the beginning, retreats at rest: from here on it does not count.
  void take_as_rest(const ContactFrame& frame) { rest_retreat_ = frame.retreat; }

  /// Empties the region and finds the vertices whose rays overlap anew, with how far each retreats: from the
  /// triangles that cross outward, as long as rays overlap. The surface is fitted to the positions.
  void find(ContactFrame& frame) const;

  /// Smooths how far vertices retreat.
  void smooth(ContactFrame& frame) const;

 private:
  /// How far a vertex retreats, metres.
  float retreat(std::uint32_t vertex, ContactFrame& frame) const;

  const ContactSkin& skin_;
  const ContactParams& params_;
  std::unique_ptr<const CrossingTriangles> crossings_;
  std::unique_ptr<const ContactSides> sides_;
  std::vector<float> rest_retreat_;
};

}  // namespace sinew
