#include <sinew/layers/elastic_layer.h>

#include <algorithm>

#include <sinew/core/index.h>
#include <sinew/core/pattern.h>
#include <sinew/layers/character_fields.h>

namespace sinew {

namespace {

// As in implicit_layer.cpp, of what elastic skin has beyond that.
constexpr std::size_t kElasticBytesPerVertex = 170;

}  // namespace

struct ElasticLayer::State : ImplicitLayer::State {
  explicit State(const ElasticLayer& of) : layer(of) {}
  std::size_t bytes() const override {
    return ImplicitLayer::State::bytes() + kElasticBytesPerVertex * skin.places.size();
  }
  std::unique_ptr<LayerState> clone() const override {
    std::unique_ptr<LayerState> copy = layer.make_state();
    static_cast<State&>(*copy).skin = skin;
    return copy;
  }

  const ElasticLayer& layer;
  ElasticState skin;
};

void RigidPart::visit(FieldVisitor& fields) {
  fields.text("joint", joint,
              "name of the joint that moves the skin most, or a pattern: * any characters, ? one");
  fields.number("rigidity", rigidity, 0, 1, "1: moves with its bone alone, 0: slides");
}

void ElasticLayerOptions::visit(FieldVisitor& visitor) {
  FieldLayerOptions::visit(visitor);
  visitor.number("reach", reach, 0, 10,
                 "how far along the skin a pull is passed on, in reaches of the bones' fields (about a "
                 "limb's thickness); 0: skin does not slide");
  visitor.number("settle", settle, 0.001, 10, "seconds by which sliding skin lags behind");
  visitor.text(
      "rigid_attribute", rigid_attribute,
      "vertex attribute of the file in which rigidity is painted, 0 to 1; the larger of both counts");
  visitor.list("rigid", rigid, "joints whose skin does not slide; the last entry that matches counts");
  retire_tracking_fields(visitor);
}

ElasticLayer::ElasticLayer(const Character& character, const ElasticLayerOptions& options)
    : ImplicitLayer(character, options) {
  const std::size_t count = character.rest().size();
  const std::span<const float> painted = character.painted(options.rigid_attribute);
  std::vector<float> freedom(count, 1);
  for (std::uint32_t v = 0; v < count; ++v) {
    const std::uint32_t binding = character.skin_weights().row_joints(v)[0];
    own_binding_.push_back(binding);
    const int joint = character.bindings()[binding].joint;
    if (joint < 0) continue;
    double rigidity = 0;
    for (const RigidPart& part : options.rigid)
      if (matches_pattern(character.skeleton().joints[to_size(joint)].name, part.joint))
        rigidity = part.rigidity;
    if (!painted.empty())
      rigidity = std::max(rigidity, static_cast<double>(std::clamp(painted[v], 0.0f, 1.0f)));
    freedom[v] = static_cast<float>(1 - rigidity);
  }
  if (std::any_of(freedom.begin(), freedom.end(), [](float f) { return f < 1; }))
    for (const float f : freedom) rigidity_.push_back(1 - f);
  ElasticParams params;
  params.reach = static_cast<float>(options.reach);
  params.settle = static_cast<float>(options.settle);
  elastic_ = std::make_unique<ElasticSkin>(MeshView{character.rest(), character.triangles()}, contact(),
                                           freedom, params);
}

std::unique_ptr<LayerState> ElasticLayer::make_state() const {
  auto state = std::make_unique<State>(*this);
  init(*state);
  state->skin = elastic_->make_state();
  return state;
}

void ElasticLayer::deform(const LayerFrame& frame, LayerState* state, std::span<Vec3f> positions) const {
  auto& s = static_cast<State&>(*state);
  std::copy(positions.begin(), positions.end(), s.before.begin());
  for (std::size_t v = 0; v < rigidity_.size(); ++v) {
    if (!(rigidity_[v] > 0)) continue;
    const Vec3f carried = frame.posed_from_rest[own_binding_[v]].cast<float>() * frame.rest[v];
    positions[v] += rigidity_[v] * (carried - positions[v]);
  }
  // Skin that begins in a pose has been there for a while.
  const ElasticParams& params = elastic_->params();
  const int rounds = s.skin.started ? 1 : params.first_rounds;
  const double seconds = s.skin.started ? frame.seconds : static_cast<double>(params.settle);
  for (int round = 0; round < rounds; ++round) {
    if (round > 0 && s.skin.active.empty()) break;
    if (round > 0) std::copy(s.skin.base.begin(), s.skin.base.end(), positions.begin());
    elastic_->carry(s.skin, positions);
    contact().project(frame.posed_from_rest, s.contact, positions);
    elastic_->slide(s.contact, frame.rest, positions, seconds, s.skin);
  }
  s.skin.started = s.skin.started || s.contact.is_placed;
  finish(frame, s, positions);
  // Rigid skin stays where other skin has met it.
  for (std::size_t v = 0; v < rigidity_.size(); ++v)
    if (rigidity_[v] > 0) positions[v] += rigidity_[v] * (s.skin.base[v] - positions[v]);
}

std::unique_ptr<LayerOptions> make_elastic_options() {
  return std::make_unique<ElasticLayerOptions>();
}

std::unique_ptr<const Layer> make_elastic_layer(const LayerOptions& options, const Character& character) {
  return std::make_unique<ElasticLayer>(character, dynamic_cast<const ElasticLayerOptions&>(options));
}

}  // namespace sinew
