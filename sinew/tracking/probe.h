#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <sinew/implicit/field_set.h>
#include <sinew/tracking/field_neighbours.h>
#include <sinew/tracking/fold_plane.h>
#include <sinew/tracking/palm_shares.h>
#include <sinew/tracking/twist_view.h>

namespace sinew {

// The field of Vaillant et al. 2012, §5 and Vaillant 2015, §4.6.2 as one vertex sees it. That every vertex
// has a field and a side of its own, and so what a contact is, is no paper's: docs/elastic.md, "Tracking".

/// How a vertex meets one other part's field.
struct SkinContact {
  static constexpr float kNone = 2;  ///< more than two fields can differ by

  float side = kNone;           ///< how far on its own side it is; negative: across
  float apart = kNone;          ///< by how much its own field is the stronger one, whatever it was at rest
  Vec3f back = Vec3f::Zero();   ///< gradient of `side`: the way back
  Vec3f rival = Vec3f::Zero();  ///< gradient of the other field
  float meets = 1;              ///< 0 when the skins do not face each other
  float firm = 0;               ///< how far a fold plane, not the fields, says where they meet
};

/// The fields at a point as a vertex sees them.
struct SkinProbe {
  FieldSample own;            ///< of the vertex's own bone
  FieldSample all;            ///< composed
  SkinContact nearest;        ///< that of the least side
  float pressed = 0;          ///< 1 when it lies against another part's skin, 0 when none is near
  Vec3f off = Vec3f::Zero();  ///< the way off that skin
  float stranger = 0;         ///< strongest field of a part that it has nothing to do with at rest
};

/// What decides how skins meet; the same for single probes and for many at once (probe_lanes.h).
namespace meeting {

constexpr float kClear = 0.35f;  // own field less another's from which on they are not in contact
// Fields of parts that hang together shift a little against each other in every pose. That much is no
// contact; more where both gradients point the same way, as they do outside of folds.
constexpr float kShift = 0.03f;
constexpr float kShiftAlong = 0.15f;
constexpr float kShiftsFrom = 0.7f, kShiftsWholly = 0.97f;  // cosines
// What a fold plane adds to the gap: nothing crosses a plane whose vertices do not, so that it may be
// narrower. Where the plane ends edges meet, not vertices: times the square of a vertex's edges in joint
// radii.
constexpr float kFlat = -0.015f;
constexpr float kPlaneGap = 0.9f;
constexpr float kCoarsest = 0.2f;  // edges up to which it grows
// Own field less another's, beyond the gap, up to which skin lies against the other's, and from which on it
// does not.
constexpr float kTight = 0.005f;
constexpr float kLoose = 0.05f;
// Skin whose outward normal points away from a neighbouring part does not meet it: cosines from which on it
// does, and wholly does.
constexpr float kFacesAway = 0.1f;
constexpr float kFaces = 0.5f;
// The same for parts that are near at rest but have little to do with the vertex then.
constexpr float kAway = 0;
constexpr float kTowards = 0.3f;

}  // namespace meeting

/// All that probes of a frame read: of the tracker, by vertices in its order, and of the pose.
struct ProbeTables {
  using Segment = std::array<Vec3f, 2>;

  float gap = 0;  ///< TrackingOptions::gap
  std::span<const std::uint16_t> own;
  const FieldNeighbours* neighbours = nullptr;
  const TwistShares* twist_shares = nullptr;
  const PalmShares* palm_shares = nullptr;
  std::span<const float> edge, fineness;
  std::span<const Vec3f> rest;
  std::span<const float> skin_edge, radius;       ///< per field
  std::span<const std::uint8_t> kin;              ///< per pair of fields
  std::span<const std::int32_t> palm_of;          ///< per field; -1: of none
  std::span<const Segment> rest_segments;         ///< of all fields' bones
  std::span<const std::uint32_t> segment_starts;  ///< per field

  // In this frame.
  std::span<const PosedField> posed;
  std::span<const Vec3f> centers;  ///< per field
  std::span<const Segment> segments;
  std::span<const Vec3f> joints;
  std::span<const FoldPlane> planes;
  std::span<const float> joint_radius;
  std::span<const Vec3f> out, bone;  ///< per vertex: outward normal and nearest point of the own bone
  std::span<const JointTwist> twists;
  std::span<const TwistTurn> seen;       ///< per entry of the twist shares
  std::span<const std::uint8_t> turned;  ///< 1: a vertex sees some field turned
  std::span<float> slides;               ///< per neighbour entry; kNotAsked: not known yet
  std::span<std::uint64_t> present;      ///< bits of the block's fields that a vertex has to do with

  static constexpr float kNotAsked = -1;

  /// Whether two bones are of the same palm. They do not meet each other.
  bool are_one_palm(std::size_t a, std::size_t b) const {
    return palm_of[a] >= 0 && palm_of[a] == palm_of[b];
  }

  /// The gap between skin of one part and another part that has nothing to do with it: wider where the
  /// other's edges are long, for such skin bridges what its field has below it.
  float stranger_gap(std::size_t own_field, std::size_t field) const;

  /// How near a field's part is to a vertex at rest: 0 where it is far, or many joints away, to 1.
  float rest_nearness(std::size_t i, std::size_t field) const;
  /// How far a vertex meets a field that it has little to do with at rest, though its part is near: not at
  /// all when its skin faces away from that bone. Then the part has come below it, as a thigh below the back.
  float faced(std::size_t i, std::size_t field) const { return faced(i, field, rest_nearness(i, field)); }
  /// The same, rest_nearness() known.
  float faced(std::size_t i, std::size_t field, float near) const;

  /// How far the field of a neighbour's entry just slides over the vertex: skin that does not face it does
  /// not meet it. By the part's place, not by its gradient, which turns round behind its bone.
  float slides_over(std::size_t i, std::uint32_t entry) const;

  /// The contact with the field of a neighbour's entry, which the vertex has to do with at rest.
  SkinContact meet_neighbour(std::size_t i, std::uint32_t entry, const FieldSample& mine,
                             const FieldSample& other, const Vec3f& at) const;

  /// A probe of one vertex at a point, but for what its fields are together (`all`): what it feels of each of
  /// a block's `fields` goes to `felt`, one sample each. Where all operators are unions, fields that are
  /// weaker than its own need not face it.
  SkinProbe meet_fields(std::span<const std::uint16_t> fields, bool unions, std::size_t i, const Vec3f& at,
                        std::span<FieldSample> felt) const;

  /// Turns a point to where a vertex, by what twists it, sees a field.
  Vec3f seen_place(std::size_t i, std::size_t field, const Vec3f& at) const;
  /// Turns a gradient found there back.
  Vec3f seen_gradient(std::size_t i, std::size_t field, const Vec3f& gradient) const;

  /// A field at a point, as a vertex sees it.
  FieldSample sample(std::size_t i, std::size_t field, const Vec3f& at) const {
    return turned[i] ? turned_sample(i, field, at) : posed[field].sample(at);
  }
  /// The vertex's own field.
  FieldSample own_sample(std::size_t i, const Vec3f& at) const {
    return sinew::own_sample(own[i], (*palm_shares)[i],
                             [&](std::size_t field) { return sample(i, field, at); });
  }

  FieldSample turned_sample(std::size_t i, std::size_t field, const Vec3f& at) const;
};

}  // namespace sinew
