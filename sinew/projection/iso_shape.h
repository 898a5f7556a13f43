#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sinew/contact/contact_params.h>
#include <sinew/implicit/field_set.h>
#include <sinew/projection/contact_frame.h>
#include <sinew/projection/contact_skin.h>

namespace sinew {

/// The shape that fields give to skin outside of contact: every vertex goes to where on its ray the composed
/// field has the value that the vertex had at rest (Vaillant et al. 2013, §4). Only where something asks for
/// it: joints and pairs of bones with an operator (FieldSet::pairs) and muscles. Elsewhere skin stays as the
/// layer before has it.
///
/// A vertex's composed field is the largest of g(f_i, f_j) over its own bones i and what is joined to them.
/// Where on a ray that falls below the value is told softly, by an integral; the same at rest is taken off.
/// Contact operators do it otherwise: of the way from where skin touches to the union they take 1 − d, with d
/// by the angle between the two gradients. A table's contact line is too thin to be felt by vertices beside
/// it. Where two bones are folded onto each other, all of this fades: there skins touch, and contact is all.
class IsoShape {
 public:
  /// All must outlive it. `rest` is a frame in the rest pose, with `placed` there. Throws Error when pairs
  /// name fields that are not there.
  IsoShape(const ContactSkin& skin, const FieldSet& fields, const ContactParams& params,
           const ContactFrame& rest);

  /// The vertices that something asks a shape for.
  std::span<const std::uint32_t> vertices() const { return vertices_; }

  /// Moves `frame.placed` of these vertices.
  void apply(ContactFrame& frame) const;

 private:
  /// Two fields and what joins them; a null operator is a union.
  struct Pair {
    std::uint16_t own, other;
    float share;  // how far `own` is the vertex's own
    const Operator* operation;
  };
  struct Row {
    std::uint32_t first_pair, last_pair;
    float operated;  // how far its joints have operators, 0 to 1
    float gain;      // of what tables do beyond a union; 0: it has none
    float value;     // of the composed field at rest
    float at_rest;   // stand() there
  };
  /// What of the composed field counts: operators and muscles, muscles in unions, or bones in unions.
  enum class Part { whole, unions, bones };

  float composed(const Row& row, Part part, std::span<const PosedField> fields, const Vec3f& at) const;
  /// Where on its ray, in ray lengths, a vertex's composed field falls below its value.
  float stop(std::uint32_t vertex, const Row& row, Part part, const ContactFrame& frame) const;
  /// Where on its ray a vertex stands by its fields, but for a constant that taking the rest off removes.
  float stand(std::uint32_t vertex, const Row& row, const ContactFrame& frame) const;

  /// What part of a joint's shape a vertex takes: by how far the joint is folded, and 1 − d of its contact
  /// operators, both told by the angles between gradients.
  float share(const Row& row, std::span<const PosedField> fields, const Vec3f& at) const;

  const ContactSkin& skin_;
  const ContactParams& params_;
  std::vector<std::uint32_t> vertices_;
  std::vector<Row> rows_;  // of these
  std::vector<Pair> pairs_;
};

}  // namespace sinew
