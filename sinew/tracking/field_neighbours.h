#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sinew/implicit/field_set.h>
#include <sinew/skinning/weights.h>
#include <sinew/tracking/gradients.h>

namespace sinew {

/// What a vertex has to do, at rest already, with a field that is not its own: beside a joint the fields of
/// both bones cover the same skin.
struct FieldNeighbour {
  std::uint16_t field = 0;
  /// From 0, a stranger, to 1: shares of the weight, or of the field's value at the vertex.
  float nearness = 0;
  /// Share of the field that the vertex feels: none where it covers the vertex, which has no weight on it. It
  /// would push as soon as it moved.
  float damping = 1;
  /// Own field less this one at rest: where neighbours overlap at rest, that much overlap is allowed.
  float rest_side = 0;
  /// How far both gradients oppose each other at rest. More than that they do in a fold only.
  float rest_opposition = 0;
  /// The joint between the two fields; -1: none.
  std::int32_t joint = -1;
  /// Own field less this one at that joint, at rest. Contact then goes through the joint, whichever field is
  /// the stronger one there.
  float joint_bias = 0;
  /// The side of that joint's fold plane (fold_plane.h) that is the vertex's own: 1 the child's, -1 the
  /// parent's.
  float plane_sign = 0;
  /// How far on its own side of that plane the vertex is at rest.
  float rest_plane_side = 0;
  /// How near the field's part is at rest, of those few joints away: 0, far, to 1 (ProbeTables::faced()).
  float rest_near = 0;
};

/// The neighbours of every vertex in compact storage, ascending by field within a vertex.
struct FieldNeighbours {
  std::vector<std::uint32_t> starts{0};
  std::vector<FieldNeighbour> entries;
  /// Per joint of the set, the distance to the nearest vertex.
  std::vector<float> joint_radius;

  std::span<const FieldNeighbour> operator[](std::size_t v) const {
    return {entries.data() + starts[v], starts[v + 1] - starts[v]};
  }
};

/// Distances from a joint, in its radii, up to which all of its bias holds, and from which on nothing of it.
inline constexpr float kAllBias = 0.5f, kNoBias = 1.5f;

/// How much of the bias of a joint holds at a distance from it.
inline float joint_bias_share(float distance, float joint_radius) {
  return 1 - smooth_step(kAllBias, kNoBias, distance / joint_radius);
}

/// The middle of the samples of a field's part, at rest.
Vec3f middle_of(const BoneField& field);

/// `rest` are posed by `posed`, the fields at rest; `own` names each vertex's own field, -1: none, and then
/// it has no neighbours.
FieldNeighbours find_field_neighbours(const FieldSet& set, std::span<const PosedField> posed,
                                      std::span<const Vec3f> rest, std::span<const std::int32_t> own,
                                      const SkinWeights& weights);

}  // namespace sinew
