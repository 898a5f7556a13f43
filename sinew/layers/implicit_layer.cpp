#include <sinew/layers/implicit_layer.h>

#include <algorithm>

#include <sinew/layers/character_fields.h>
#include <sinew/layers/character_hinges.h>

namespace sinew {

namespace {

// Of all scratch together, on meshes with six neighbours a vertex; what grows with bones is small beside it.
// Measured (Bake.PerformersKnowTheirMemory).
constexpr std::size_t kBytesPerVertex = 650;
constexpr float kTouches = 0.02f;  // edges of retreat; less is what smoothing has spread

}  // namespace

std::size_t ImplicitLayer::State::bytes() const {
  return kBytesPerVertex * marks.size();
}

ImplicitLayer::ImplicitLayer(const Character& character, const FieldLayerOptions& options) {
  const CharacterFields fields = make_character_fields(character, options);
  const MeshView rest{character.rest(), character.triangles()};
  contact_ =
      std::make_unique<ContactProjection>(rest, character.shared_skin_weights(), fields.set, ContactParams());
  volume_correction_ = std::make_unique<JointFilling>(rest, character.shared_skin_weights(),
                                                      find_hinges(character), options.volume_correction);
  has_morphs_ = character.morph_weight_count() > 0;
}

void ImplicitLayer::init(State& s) const {
  s.contact = contact_->make_frame();
  const std::size_t count = s.contact.asked.size();
  s.free_motion.resize(count);
  s.before.resize(count);
  s.marks.assign(count, SkinMark::still);
  s.volume_correction = volume_correction_->make_scratch();
}

std::unique_ptr<LayerState> ImplicitLayer::make_state() const {
  auto state = std::make_unique<State>();
  init(*state);
  return state;
}

void ImplicitLayer::deform(const LayerFrame& frame, LayerState* state, std::span<Vec3f> positions) const {
  auto& s = static_cast<State&>(*state);
  std::copy(positions.begin(), positions.end(), s.before.begin());
  contact_->project(frame.posed_from_rest, s.contact, positions);
  finish(frame, s, positions);
}

void ImplicitLayer::finish(const LayerFrame& frame, State& s, std::span<Vec3f> positions) const {
  std::fill(s.free_motion.begin(), s.free_motion.end(), 1.0f);
  contact_->limit_free_motion(s.contact, s.free_motion);
  volume_correction_->find_lost(frame.posed_from_rest, has_morphs_ ? frame.rest : std::span<const Vec3f>(),
                                positions, s.volume_correction);
  contact_->keep_distance(s.volume_correction.movable, s.volume_correction.far, s.contact, s.free_motion);
  volume_correction_->restore(frame.posed_from_rest, s.free_motion, s.volume_correction, positions);
  if (!frame.free_motion.empty()) contact_->limit_free_motion(s.contact, frame.free_motion);
  for (std::size_t v = 0; v < s.marks.size(); ++v)
    s.marks[v] = positions[v] == s.before[v] ? SkinMark::still : SkinMark::moved;
  for (const std::uint32_t v : s.contact.region)
    if (s.contact.retreat[v] > kTouches * s.contact.edge[v]) s.marks[v] = SkinMark::contact;
}

std::span<const SkinMark> ImplicitLayer::marks(const LayerState& state) const {
  return static_cast<const State&>(state).marks;
}

std::unique_ptr<LayerOptions> make_implicit_options() {
  return std::make_unique<ImplicitOptions>();
}

std::unique_ptr<const Layer> make_implicit_layer(const LayerOptions& options, const Character& character) {
  return std::make_unique<ImplicitLayer>(character, dynamic_cast<const ImplicitOptions&>(options));
}

}  // namespace sinew
