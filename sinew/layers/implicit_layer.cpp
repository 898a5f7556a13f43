#include <sinew/layers/implicit_layer.h>

#include <algorithm>

#include <sinew/layers/character_fields.h>
#include <sinew/layers/character_hinges.h>

namespace sinew {

namespace {

// Of all scratch together, on meshes with six neighbours a vertex; what grows with bones is small beside it.
// Measured (Bake.PerformersKnowTheirMemory).
constexpr std::size_t kBytesPerVertex = 525;

struct ImplicitState : LayerState {
  std::size_t bytes() const override { return kBytesPerVertex * marks.size(); }

  ContactFrame contact;
  std::vector<TrackMark> marks;
  std::vector<Vec3f> before;  // where the layer before had the vertices
  std::vector<float> free_motion;
  JointFillingScratch volume_correction;
  std::vector<Affine3d> posed_from_rest;  // of the last frame
};

}  // namespace

ImplicitLayer::ImplicitLayer(const Character& character, const ImplicitOptions& options) {
  const CharacterFields fields = make_character_fields(character, options);
  const MeshView rest{character.rest(), character.triangles()};
  contact_ =
      std::make_unique<ContactProjection>(rest, character.shared_skin_weights(), fields.set, ContactParams());
  volume_correction_ = std::make_unique<JointFilling>(rest, character.shared_skin_weights(),
                                                      find_hinges(character), options.volume_correction);
  binding_count_ = character.bindings().size();
  has_morphs_ = character.morph_weight_count() > 0;
}

std::unique_ptr<LayerState> ImplicitLayer::make_state() const {
  auto state = std::make_unique<ImplicitState>();
  state->contact = contact_->make_frame();
  state->free_motion.resize(state->contact.asked.size());
  state->before.resize(state->contact.asked.size());
  state->marks.assign(state->contact.asked.size(), TrackMark::still);
  state->volume_correction = volume_correction_->make_scratch();
  state->posed_from_rest.assign(binding_count_, Affine3d::Identity());
  return state;
}

void ImplicitLayer::deform(const LayerFrame& frame, LayerState* state, std::span<Vec3f> positions) const {
  auto& s = *static_cast<ImplicitState*>(state);
  std::copy(frame.posed_from_rest.begin(), frame.posed_from_rest.end(), s.posed_from_rest.begin());
  std::copy(positions.begin(), positions.end(), s.before.begin());
  contact_->project(frame.posed_from_rest, s.contact, positions);
  std::fill(s.free_motion.begin(), s.free_motion.end(), 1.0f);
  contact_->limit_free_motion(s.contact, s.free_motion);
  volume_correction_->find_lost(frame.posed_from_rest, has_morphs_ ? frame.rest : std::span<const Vec3f>(),
                                positions, s.volume_correction);
  contact_->keep_distance(s.volume_correction.movable, s.volume_correction.far, s.contact, s.free_motion);
  volume_correction_->restore(frame.posed_from_rest, s.free_motion, s.volume_correction, positions);
  if (!frame.free_motion.empty()) contact_->limit_free_motion(s.contact, frame.free_motion);
  for (std::size_t v = 0; v < s.marks.size(); ++v)
    s.marks[v] = positions[v] == s.before[v] ? TrackMark::still : TrackMark::moved;
  for (const std::uint32_t v : s.contact.region)
    if (s.contact.retreat[v] > 0) s.marks[v] = TrackMark::contact;
}

std::span<const Affine3d> ImplicitLayer::carried_fields(const LayerState& state) const {
  return static_cast<const ImplicitState&>(state).posed_from_rest;
}

std::span<const TrackMark> ImplicitLayer::marks(const LayerState& state) const {
  return static_cast<const ImplicitState&>(state).marks;
}

std::unique_ptr<LayerOptions> make_implicit_options() {
  return std::make_unique<ImplicitOptions>();
}

std::unique_ptr<const Layer> make_implicit_layer(const LayerOptions& options, const Character& character) {
  return std::make_unique<ImplicitLayer>(character, dynamic_cast<const ImplicitOptions&>(options));
}

}  // namespace sinew
