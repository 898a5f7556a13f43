#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>
#include <sinew/implicit/field_set.h>

namespace sinew {

/// How the bones of a character hang together, as BoneLift moves them: by nodes, the heads of all fields'
/// bones (a field's number is that of its head) and, behind them, the tails at which no other begins.
struct LiftChains {
  /// A point of a bone that must not lie in other flesh.
  struct Sample {
    std::uint16_t field = 0;
    std::uint16_t segment = 0;                      ///< of the field
    float along = 0;                                ///< of the segment, 0 to 1
    std::uint32_t first_known = 0, last_known = 0;  ///< in `known`: fields that it lies in at rest already
  };

  std::vector<Vec3d> rest_nodes;
  std::vector<std::uint16_t> node_field;        ///< per node, which field's transform carries it
  std::vector<std::uint32_t> first_segment{0};  ///< per field and one more, in `tails`
  std::vector<std::uint32_t> tails;             ///< per segment of all fields, its node
  std::vector<std::uint32_t> first_sample{0};   ///< per field and one more
  std::vector<Sample> samples;
  std::vector<std::uint16_t> known;
  std::vector<std::int32_t> parent;  ///< per field, the one that it hangs on, -1: none
  std::vector<std::uint32_t> order;  ///< of fields, parents first
  /// Fields that move as one, parents first: bones that leave the same one and lie side by side in each
  /// other's flesh at rest, as those of a palm, and with them the one they leave where that is but a stump.
  std::vector<std::vector<std::uint32_t>> groups;
  std::vector<std::uint32_t> group_of;              ///< per field
  std::vector<std::int32_t> palm_of;                ///< per field, of which palm's flesh it is; -1: of none
  std::vector<std::vector<std::uint32_t>> below;    ///< per field, the nodes that hang on its head
  std::vector<std::vector<std::uint32_t>> carried;  ///< per group, its nodes and all that hang on them
  /// Per group, the fields that are extremities of it, as fingers are of a palm: they go where it goes.
  std::vector<std::vector<std::uint32_t>> extremities;
  std::vector<std::int32_t> extremity_of;  ///< per group, of which other one it is an extremity, -1: none
  std::vector<std::uint8_t> is_end;        ///< per group, 1: the end of a limb, which stays in one piece
  std::vector<std::uint8_t> is_pinned;     ///< per group, 1: turns about its head and does not take it along
  std::vector<float> size;  ///< per field, of its limb with all that hangs on it: cube root of a volume
  std::vector<float> edge;  ///< per field, mean length at its skin
  std::vector<std::uint8_t> meets;  ///< per pair a · count + b, 1: a may lie in b and rises out of it
  /// Likewise of extremities, and only what is not part of what they belong to: out of that all rise
  /// together.
  std::vector<std::uint8_t> meets_as_one;

  std::span<const std::uint32_t> tails_of(std::size_t field) const {
    return {tails.data() + first_segment[field], first_segment[field + 1] - first_segment[field]};
  }
  std::span<const Sample> samples_of(std::size_t field) const {
    return {samples.data() + first_sample[field], first_sample[field + 1] - first_sample[field]};
  }
  /// Whether two bones are of the same palm: its flesh is theirs alike.
  bool share_palm(std::size_t a, std::size_t b) const { return palm_of[a] >= 0 && palm_of[a] == palm_of[b]; }
  /// Whether a sample lies in a field at rest already: then it does not meet it.
  bool is_known(const Sample& sample, std::uint16_t field) const;
};

/// A field value at rest from which on a bone lies in it anyway.
inline constexpr float kKnownField = 0.05f;

/// `own` names each vertex's own field, -1: none; there are `transform_count` transforms.
LiftChains make_lift_chains(const MeshView& rest, std::span<const std::int32_t> own, const FieldSet& fields,
                            std::size_t transform_count);

}  // namespace sinew
