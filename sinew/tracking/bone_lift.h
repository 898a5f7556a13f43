#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>
#include <sinew/implicit/field_set.h>
#include <sinew/skinning/weights.h>

namespace sinew {

/// Scratch of one performer; made by BoneLift::make_scratch().
struct BoneLiftScratch {
  std::vector<PosedField> posed;
  std::vector<float> depth;              ///< per sample, value of the field it lay in at first
  std::vector<Vec3f> posed_nodes, nodes;  ///< where the pose puts them; where they have risen to
  std::vector<Affine3d> lifts;           ///< per field
  std::vector<Affine3d> transforms;      ///< per transform, lifted
  std::vector<std::uint16_t> present;  ///< fields that reach the one that is looked at
};

/// Skin that meets other skin folds against it as long as its bone stays outside. A finger whose bone lies
/// inside of a thigh has no skin that could be put anywhere: it would be hidden in there. Such bones rise, for
/// the skin only, to the surface of what they are in, or between two bodies to where these touch; bones
/// beside them bend along. History-free.
class BoneLift {
 public:
  /// `own` names each vertex's own field, -1: none; `weights` are by transforms, of which there are
  /// `transform_count`. `share` of the way is taken.
  BoneLift(const MeshView& rest, std::span<const std::int32_t> own, std::shared_ptr<const FieldSet> fields,
           const SkinWeights& weights, std::size_t transform_count, double share);

  BoneLiftScratch make_scratch() const;

  /// The transforms with what lies in other flesh lifted out of it; `posed_from_rest` itself when nothing
  /// does. `positions`, one per vertex, are carried along. Allocates nothing, throws nothing.
  std::span<const Affine3d> lift(std::span<const Affine3d> posed_from_rest, BoneLiftScratch& scratch,
                                 std::span<Vec3f> positions) const;

 private:
  struct Sample {
    std::uint16_t field = 0;
    std::uint16_t segment = 0;   // of the field
    float along = 0;             // of the segment, 0 to 1
    Vec3f rest = Vec3f::Zero();
    std::uint32_t first_known = 0;  // in known_: fields that it is in at rest
    std::uint32_t last_known = 0;
  };
  std::uint32_t tail_node(std::size_t field, std::size_t segment) const {
    return tail_node_[first_segment_[field] + segment];
  }
  bool rise(bool first, BoneLiftScratch& s) const;
  void keep_lengths(BoneLiftScratch& s) const;
  void make_transforms(std::span<const Affine3d> posed_from_rest, BoneLiftScratch& s) const;
  Vec3f way_out(const Sample& sample, const Vec3f& from, float& depth, const BoneLiftScratch& s) const;

  std::shared_ptr<const FieldSet> fields_;
  std::vector<Sample> samples_;
  std::vector<std::uint32_t> first_sample_{0};  // per field
  std::vector<std::uint16_t> known_;
  std::vector<std::uint32_t> tail_node_;        // per segment of all fields
  std::vector<std::uint32_t> first_segment_{0};
  std::size_t node_count_ = 0;                  // heads of all fields, then tails that are nobody's head
  std::vector<std::uint32_t> order_;            // of fields, parents first
  std::vector<std::vector<std::uint32_t>> groups_;  // of fields that rise together, parents first
  std::vector<std::vector<std::uint32_t>> carried_;  // per group, its nodes and those that hang on them
  std::vector<Vec3d> rest_nodes_;
  std::vector<std::uint16_t> node_field_;       // which carries it
  std::vector<std::uint8_t> joined_;            // per pair of fields
  std::vector<std::int32_t> field_of_;          // per transform, -1: none
  std::vector<std::int32_t> own_;
  SkinWeights weights_;
  std::size_t transform_count_ = 0;
  std::vector<float> edge_;                     // per field, mean length at its skin
  std::vector<float> size_;                     // per field, with what hangs on it: root of the volume
  float share_ = 1;
};

}  // namespace sinew
