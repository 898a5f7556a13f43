#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sinew/core/math.h>
#include <sinew/implicit/field_set.h>
#include <sinew/skinning/weights.h>
#include <sinew/tracking/field_neighbours.h>

namespace sinew {

/// A bone that turns about its own axis turns its whole field. The skin beside the joint turns by a share
/// only, so a part that is wide on one side would push out of it. So for each vertex, the fields that it lies
/// in at rest are turned by exactly as much as the vertex itself: under a twist alone it keeps the field
/// values of its rest. Not in the papers.
///
/// What a joint does in a pose: a turn about one axis through it.
struct JointTwist {
  Vec3f place = Vec3f::Zero();  ///< of the joint
  Vec3f axis = Vec3f::Zero();   ///< of unit length
  float half_cosine = 1;  ///< of half of the angle, not negative: the shorter way, as dual quaternions go
  float half_sine = 0;
  float share = 0;  ///< 1 where the turn is a twist of the child's bone; 0 where it is a bend, or small

  /// A point turned about the joint's axis.
  Vec3f turned(const Vec3f& at, float cosine, float sine) const {
    return place + turned_direction(at - place, cosine, sine);
  }
  Vec3f turned_direction(const Vec3f& v, float cosine, float sine) const {
    return cosine * v + sine * axis.cross(v) + (1 - cosine) * axis.dot(v) * axis;
  }
};

/// The twist of a joint between the transforms of its two fields, which meet at `place`; `bone` is the
/// direction of the child's bone at rest. No twist (share 0) where one of them is not a turn up to scaling.
JointTwist joint_twist(const Eigen::Matrix3f& parent, const Eigen::Matrix3f& child, const Vec3f& place,
                       const Vec3f& bone);

/// How a vertex sees one field when one joint twists.
struct TwistShare {
  std::uint16_t field = 0;
  std::uint16_t joint = 0;
  float follows = 0;  ///< share of the joint's turn that the vertex takes part in: its weight below the joint
  float nearness = 1;    ///< of the field: what is no neighbour at rest is seen where it is
  bool carried = false;  ///< whether the joint carries the field
};

/// The cosine and sine by which a vertex sees a field turned about a joint's axis: points are turned by them
/// before the field is asked.
struct TwistTurn {
  float cosine = 1, sine = 0;
};
TwistTurn seen_turn(const JointTwist& twist, const TwistShare& share);

/// All of them in compact storage, by vertex, ascending by field within a vertex.
struct TwistShares {
  std::vector<std::uint32_t> starts{0};
  std::vector<TwistShare> entries;
};

/// `own` names each vertex's own field, -1: none.
TwistShares find_twist_shares(const FieldSet& set, const FieldNeighbours& neighbours,
                              std::span<const std::int32_t> own, const SkinWeights& weights);

/// Per joint of the set, the direction of its child's bone at rest; zero where there is none.
std::vector<Vec3f> child_bones(const FieldSet& set);

}  // namespace sinew
