#include <sinew/character/base_layer.h>

#include <algorithm>

#include <sinew/character/performer.h>
#include <sinew/core/held_bytes.h>

namespace sinew {

namespace {

struct BaseState : LayerState {
  BaseState(const std::shared_ptr<const Character>& base, bool keeps_free_motion)
      : performer(base, keeps_free_motion) {}

  Performer performer;
  std::vector<Vec3f> vertices, places;
  std::vector<float> vertex_free_motion, place_free_motion;

  std::size_t bytes() const override {
    return performer.bytes() + held_bytes(vertices, places, vertex_free_motion, place_free_motion);
  }
  std::unique_ptr<LayerState> clone() const override {
    auto copy = std::make_unique<BaseState>(performer.shared_character(), performer.keeps_free_motion());
    copy->performer.restore(performer.checkpoint());
    copy->vertices = vertices;
    copy->places = places;
    copy->vertex_free_motion = vertex_free_motion;
    copy->place_free_motion = place_free_motion;
    return copy;
  }
};

}  // namespace

BaseLayer::BaseLayer(std::shared_ptr<const Character> base, const Character& refined,
                     std::vector<RefinementStencils> stencils)
    : base_(std::move(base)) {
  for (std::size_t m = 0; m < stencils.size(); ++m) {
    Part part;
    part.stencils = std::move(stencils[m]);
    part.first_vertex = refined.meshes()[m].first_vertex;
    part.welded_vertex = refined.meshes()[m].weld.first_vertex;
    part.first_base_vertex = base_->meshes()[m].first_vertex;
    part.base_welded = base_->meshes()[m].weld.welded_of_vertex;
    parts_.push_back(std::move(part));
  }
}

bool BaseLayer::has_history() const {
  return base_->has_history();
}

std::unique_ptr<LayerState> BaseLayer::make_state() const {
  auto state = std::make_unique<BaseState>(base_, keeps_free_motion_);
  std::size_t vertices = 0, places = 0;
  for (const Part& part : parts_) {
    vertices = std::max(vertices, part.stencils.vertices());
    places = std::max(places, part.stencils.places());
  }
  state->vertices.resize(vertices);
  state->places.resize(places);
  if (keeps_free_motion_) {
    state->vertex_free_motion.resize(vertices);
    state->place_free_motion.resize(places);
  }
  return state;
}

void BaseLayer::deform(const LayerFrame& frame, LayerState* state, std::span<Vec3f> positions) const {
  auto& s = *static_cast<BaseState*>(state);
  s.performer.perform(frame.pose, frame.seconds);
  const std::span<const Vec3f> below = s.performer.welded_positions();
  const std::span<const float> free_motion = s.performer.free_motion();
  for (const Part& part : parts_) {
    for (std::size_t v = 0; v < part.base_welded.size(); ++v)
      s.vertices[v] = below[part.first_base_vertex + part.base_welded[v]];
    part.stencils.apply(std::span(s.vertices), std::span(s.places));
    for (std::size_t w = 0; w < part.welded_vertex.size(); ++w)
      positions[part.first_vertex + w] = s.vertices[part.welded_vertex[w]];
    if (free_motion.empty() || frame.free_motion.empty()) continue;
    for (std::size_t v = 0; v < part.base_welded.size(); ++v)
      s.vertex_free_motion[v] = free_motion[part.first_base_vertex + part.base_welded[v]];
    part.stencils.apply(std::span(s.vertex_free_motion), std::span(s.place_free_motion));
    for (std::size_t w = 0; w < part.welded_vertex.size(); ++w)
      frame.free_motion[part.first_vertex + w] =
          std::clamp(s.vertex_free_motion[part.welded_vertex[w]], 0.0f, 1.0f);
  }
}

}  // namespace sinew
