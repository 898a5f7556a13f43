#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sinew/contact/contact_params.h>
#include <sinew/implicit/field_set.h>
#include <sinew/skinning/weights.h>

namespace sinew {

/// How strong each field counts where two parts meet, as a factor of its value; skin is at ½. Parts whose
/// radius is less than `hard_below` of the largest one's are harder than those, by the ratio to the power of
/// `hardness`: a hand dents a belly more than the belly a hand. FieldSet::softness comes on top; 1 halves.
std::vector<float> field_strengths(const FieldSet& fields, const ContactParams& params);

/// Which fields are a vertex's own side of a contact, and how far: those of the bones that move it. Where two
/// parts overlap, the contact is where the vertex's own side is as strong as all else, so that skins of both
/// parts, each asking for itself, stop at the same surface.
class ContactSides {
 public:
  /// `weights` are by transforms. Throws Error for more than 65 535 fields.
  ContactSides(const SkinWeights& weights, const FieldSet& fields, const ContactParams& params);

  /// A field that moves a vertex, and how far it is the vertex's own: a_i, more than 0.
  struct Own {
    std::uint16_t field;
    float share;
    float weight;  ///< all the weight of what the field's bone moves
  };
  std::span<const Own> own(std::uint32_t vertex) const {
    return {own_.data() + starts_[vertex], starts_[vertex + 1] - starts_[vertex]};
  }

  /// The posed fields that can be other than zero in a box.
  struct Present {
    static constexpr std::size_t kMost = 64;
    std::uint16_t fields[kMost];
    std::size_t count = 0;
    bool all = false;  ///< there are more: all fields are asked
  };
  Present present(std::span<const PosedField> posed, const Vec3f& low, const Vec3f& high) const;

  /// How far a point is on the vertex's own side: s = max_i (f_i − 1 + a_i) − max_i (f_i − a_i), where a_i,
  /// from 0 to 1, is how far field i is the vertex's own and f_i its value times its strength. Negative
  /// beyond the contact.
  float side(std::uint32_t vertex, std::span<const PosedField> posed, const Present& present,
             const Vec3f& at) const;

 private:
  std::vector<std::uint32_t> starts_{0};
  std::vector<Own> own_;
  std::vector<float> strengths_;  // per field
};

}  // namespace sinew
