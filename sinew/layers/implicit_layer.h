#pragma once

#include <memory>
#include <vector>

#include <sinew/character/character.h>
#include <sinew/effects/joint_filling.h>
#include <sinew/layers/field_layer.h>
#include <sinew/layers/implicit_options.h>
#include <sinew/projection/contact_projection.h>

namespace sinew {

/// Implicit skinning (contact/, projection/) of one character: put it after dual quaternion skinning.
class ImplicitLayer : public FieldLayer {
 public:
  ImplicitLayer(const Character& character, const FieldLayerOptions& options);

  const FieldSet& fields() const override { return contact_->fields(); }
  std::span<const SkinMark> marks(const LayerState& state) const override;
  std::unique_ptr<LayerState> make_state() const override;
  void deform(const LayerFrame& frame, LayerState* state, std::span<Vec3f> positions) const override;

 protected:
  struct State : LayerState {
    std::size_t bytes() const override;

    ContactFrame contact;
    std::vector<SkinMark> marks;
    std::vector<Vec3f> before;  ///< where the layer before had the vertices
    std::vector<float> free_motion;
    JointFillingScratch volume_correction;
  };

  void init(State& state) const;
  /// After contact: gives bent joints their volume back, tells later layers what may move, and notes what
  /// became of each vertex since `state.before`.
  void finish(const LayerFrame& frame, State& state, std::span<Vec3f> positions) const;
  const ContactProjection& contact() const { return *contact_; }

 private:
  std::unique_ptr<const ContactProjection> contact_;
  std::unique_ptr<const JointFilling> volume_correction_;
  bool has_morphs_ = false;
};

std::unique_ptr<LayerOptions> make_implicit_options();
std::unique_ptr<const Layer> make_implicit_layer(const LayerOptions& options, const Character& character);

}  // namespace sinew
