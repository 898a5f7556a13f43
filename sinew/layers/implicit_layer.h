#pragma once

#include <memory>

#include <sinew/character/character.h>
#include <sinew/layers/field_layer.h>
#include <sinew/layers/implicit_options.h>
#include <sinew/projection/contact_projection.h>
#include <sinew/tracking/joint_filling.h>

namespace sinew {

/// Implicit skinning (contact/, projection/) of one character: put it after dual quaternion skinning.
class ImplicitLayer : public FieldLayer {
 public:
  ImplicitLayer(const Character& character, const ImplicitOptions& options);

  const FieldSet& fields() const override { return contact_->fields(); }
  std::span<const TrackMark> marks(const LayerState& state) const override;
  std::span<const Affine3d> carried_fields(const LayerState& state) const override;
  std::unique_ptr<LayerState> make_state() const override;
  void deform(const LayerFrame& frame, LayerState* state, std::span<Vec3f> positions) const override;

 private:
  std::unique_ptr<const ContactProjection> contact_;
  std::unique_ptr<const JointFilling> volume_correction_;
  std::size_t binding_count_ = 0;
  bool has_morphs_ = false;
};

std::unique_ptr<LayerOptions> make_implicit_options();
std::unique_ptr<const Layer> make_implicit_layer(const LayerOptions& options, const Character& character);

}  // namespace sinew
