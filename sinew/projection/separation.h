#pragma once

#include <cstdint>

#include <sinew/contact/contact_params.h>
#include <sinew/projection/contact_frame.h>
#include <sinew/projection/contact_skin.h>
#include <sinew/projection/unfolding.h>

namespace sinew {

/// The second step of contact: what is left of an overlap is separated along normals, gaps that the first
/// step left are closed, and what it folded is unfolded. A few sweeps over the vertices that it moved.
class Separation {
 public:
  /// All must outlive it.
  Separation(const ContactSkin& skin, const Unfolding& unfolding, const ContactParams& params)
      : skin_(skin), unfolding_(unfolding), params_(params) {}

  /// The retreat of vertices, spread to their neighbours: where sweeps do something.
  void find_activity(ContactFrame& frame) const;
  /// All sweeps. `frame.base` says where vertices were before contact.
  void separate(ContactFrame& frame) const;
  /// How far other skin is before a vertex, along its normal, at most `reach`.
  float distance_before(std::uint32_t vertex, float reach, const ContactFrame& frame) const;
  /// How far a vertex is in contact, 0 to 1.
  float contact(std::uint32_t vertex, const ContactFrame& frame) const;

 private:
  void sweep(int number, ContactFrame& frame) const;
  /// How far one vertex goes back along its normal in a sweep; also finds its move by unfolding and how far
  /// it is apart from other skin.
  float push(std::uint32_t vertex, int number, ContactFrame& frame) const;
  /// How far one vertex that is not pushed goes out along its normal in a sweep, to close a gap.
  float close(std::uint32_t vertex, const ContactFrame& frame) const;
  /// The point of other skin that a vertex is in contact with, along its normal.
  ContactPartner find_partner(std::uint32_t vertex, const Vec3f& normal, const ContactFrame& frame) const;
  /// How far a vertex is apart from other skin along its normal: negative when it is in it.
  float distance_apart(std::uint32_t vertex, const Vec3f& normal, const ContactFrame& frame) const;
  bool is_active(std::uint32_t vertex, const ContactFrame& frame) const;

  const ContactSkin& skin_;
  const Unfolding& unfolding_;
  const ContactParams& params_;
};

}  // namespace sinew
