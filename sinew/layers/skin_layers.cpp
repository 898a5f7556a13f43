#include <sinew/layers/skin_layers.h>

#include <sinew/character/character.h>
#include <sinew/core/held_bytes.h>
#include <sinew/skinning/dual_quaternion.h>
#include <sinew/skinning/linear_blend.h>

namespace sinew {

namespace {

class LinearBlendLayer : public Layer {
 public:
  explicit LinearBlendLayer(const Character& character)
      : weights_(character.weights()), joint_count_(character.bindings().size()) {}

  std::unique_ptr<LayerState> make_state() const override { return std::make_unique<State>(joint_count_); }

  void deform(const LayerFrame& frame, LayerState* state, std::span<Vec3f> positions) const override {
    std::vector<SkinMatrix>& matrices = static_cast<State*>(state)->matrices;
    pack_matrices(frame.posed_from_rest, matrices);
    linear_blend_skinning(frame.rest, *weights_, matrices, positions);
  }

 private:
  struct State : LayerState {
    explicit State(std::size_t joint_count) : matrices(joint_count) {}
    std::size_t bytes() const override { return held_bytes(matrices); }
    std::vector<SkinMatrix> matrices;
  };
  std::shared_ptr<const PackedWeights> weights_;
  std::size_t joint_count_;
};

class DualQuaternionLayer : public Layer {
 public:
  explicit DualQuaternionLayer(const Character& character)
      : weights_(character.weights()), joint_count_(character.bindings().size()) {}

  std::unique_ptr<LayerState> make_state() const override {
    auto state = std::make_unique<State>();
    state->scratch = make_dual_quaternion_scratch(joint_count_, weights_->vertex_count());
    return state;
  }

  void deform(const LayerFrame& frame, LayerState* state, std::span<Vec3f> positions) const override {
    dual_quaternion_skinning(frame.rest, *weights_, frame.posed_from_rest,
                             static_cast<State*>(state)->scratch, positions);
  }

 private:
  struct State : LayerState {
    std::size_t bytes() const override { return scratch.bytes(); }
    DualQuaternionScratch scratch;
  };
  std::shared_ptr<const PackedWeights> weights_;
  std::size_t joint_count_;
};

}  // namespace

std::unique_ptr<const Layer> make_linear_blend_layer(const LayerOptions&, const Character& character) {
  return std::make_unique<LinearBlendLayer>(character);
}

std::unique_ptr<const Layer> make_dual_quaternion_layer(const LayerOptions&, const Character& character) {
  return std::make_unique<DualQuaternionLayer>(character);
}

}  // namespace sinew
