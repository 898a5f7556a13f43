#include <sinew/layers/implicit_layer.h>

#include <algorithm>

#include <sinew/layers/character_fields.h>
#include <sinew/layers/character_hinges.h>

namespace sinew {

namespace {

// Of all scratch together, on meshes with six neighbours a vertex; what grows with bones is small beside it.
// Measured (Bake.PerformersKnowTheirMemory).
constexpr std::size_t kBytesPerVertex = 440;

struct ImplicitState : LayerState {
  std::size_t bytes() const override { return kBytesPerVertex * scratch.marks.size(); }

  TrackingScratch scratch;
  BoneLiftScratch depenetration;
  JointFillingScratch volume_correction;
  std::vector<Affine3d> carried;  // of the last frame
};

}  // namespace

ImplicitLayer::ImplicitLayer(const Character& character, const ImplicitOptions& options) {
  const CharacterFields fields = make_character_fields(character, options);
  const std::vector<Affine3d> identity(character.bindings().size(), Affine3d::Identity());
  tracker_ = std::make_unique<SkinTracker>(MeshView{character.rest(), character.triangles()}, fields.own,
                                           fields.set, character.skin_weights(), identity, options.tracking);
  depenetration_ =
      std::make_unique<BoneLift>(MeshView{character.rest(), character.triangles()}, fields.own, fields.set,
                                 character.shared_skin_weights(), identity.size(), options.depenetration);
  volume_correction_ = std::make_unique<JointFilling>(MeshView{character.rest(), character.triangles()},
                                                      character.shared_skin_weights(), find_hinges(character),
                                                      options.volume_correction);
  has_morphs_ = character.morph_weight_count() > 0;
}

std::unique_ptr<LayerState> ImplicitLayer::make_state() const {
  auto state = std::make_unique<ImplicitState>();
  state->scratch = tracker_->make_scratch();
  state->depenetration = depenetration_->make_scratch();
  state->volume_correction = volume_correction_->make_scratch();
  state->carried = state->depenetration.transforms;
  return state;
}

void ImplicitLayer::deform(const LayerFrame& frame, LayerState* state, std::span<Vec3f> positions) const {
  auto& s = *static_cast<ImplicitState*>(state);
  const std::span<const Affine3d> posed =
      depenetration_->lift(frame.posed_from_rest, s.depenetration, positions);
  tracker_->track(posed, s.scratch, positions);
  volume_correction_->fill(posed, has_morphs_ ? frame.rest : std::span<const Vec3f>(), s.scratch.room,
                           s.volume_correction, positions);
  tracker_->untangle(s.scratch, positions);
  if (!frame.free_motion.empty()) tracker_->leave_room(positions, s.scratch, frame.free_motion);
  std::copy(posed.begin(), posed.end(), s.carried.begin());
}

std::span<const Affine3d> ImplicitLayer::carried_fields(const LayerState& state) const {
  return static_cast<const ImplicitState&>(state).carried;
}

std::span<const TrackMark> ImplicitLayer::marks(const LayerState& state) const {
  return static_cast<const ImplicitState&>(state).scratch.marks;
}

std::unique_ptr<LayerOptions> make_implicit_options() {
  return std::make_unique<ImplicitOptions>();
}

std::unique_ptr<const Layer> make_implicit_layer(const LayerOptions& options, const Character& character) {
  return std::make_unique<ImplicitLayer>(character, dynamic_cast<const ImplicitOptions&>(options));
}

}  // namespace sinew
