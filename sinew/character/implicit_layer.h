#pragma once

#include <memory>
#include <string>
#include <vector>

#include <sinew/character/character.h>
#include <sinew/character/character_fields.h>
#include <sinew/character/implicit_options.h>
#include <sinew/character/layer.h>
#include <sinew/implicit/field_set.h>
#include <sinew/tracking/skin_tracker.h>

namespace sinew {

/// Implicit skinning (implicit/, tracking/) of one character: put it after dual quaternion skinning.
class ImplicitLayer : public Layer {
 public:
  ImplicitLayer(const Character& character, const ImplicitOptions& options);

  const SkinTracker& tracker() const { return *tracker_; }
  const FieldSet& fields() const { return tracker_->fields(); }
  /// What the last frame did to each welded vertex; `state` is one of this layer's.
  static std::span<const TrackMark> marks(const LayerState& state);

  std::string idle_because() const override;
  std::unique_ptr<LayerState> make_state() const override;
  void deform(const LayerFrame& frame, LayerState* state, std::span<Vec3f> positions) const override;

 private:
  std::unique_ptr<const SkinTracker> tracker_;
};
/// The character's first implicit layer and its number among the layers; null when it has none.
const ImplicitLayer* find_implicit_layer(const Character& character, std::size_t* number = nullptr);

std::unique_ptr<LayerOptions> make_implicit_options();
std::unique_ptr<const Layer> make_implicit_layer(const LayerOptions& options, const Character& character);

}  // namespace sinew
