#pragma once

#include <cstddef>
#include <span>

#include <sinew/character/layer.h>
#include <sinew/implicit/field_set.h>
#include <sinew/tracking/skin_tracker.h>

namespace sinew {

/// A layer that tracks the skin in the fields of its bones. Pictures and rulers use this interface to show
/// the fields and what the layer did.
class FieldLayer : public Layer {
 public:
  virtual const FieldSet& fields() const = 0;
  /// What the last frame did to each welded vertex; `state` is one of this layer's.
  virtual std::span<const TrackMark> marks(const LayerState& state) const = 0;
  /// Per binding, where the last frame carried its field: as the pose does, except for bones that were moved
  /// out of other flesh (tracking/bone_lift.h).
  virtual std::span<const Affine3d> carried_fields(const LayerState& state) const = 0;

  std::string idle_because() const override;
};

/// The character's first such layer and its number among the layers; null when it has none.
const FieldLayer* find_field_layer(const Character& character, std::size_t* number = nullptr);

}  // namespace sinew
