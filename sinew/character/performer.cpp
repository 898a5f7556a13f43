#include <sinew/character/performer.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/held_bytes.h>
#include <sinew/core/index.h>
#include <sinew/core/parallel.h>

namespace sinew {

namespace {

// Far beyond any scene, and small enough that no kernel's products overflow a float.
constexpr float kLargest = 1e15f;
constexpr float kLargestMorphWeight = 1e3f;
constexpr std::size_t kPerformedPerTask = 4096;

bool usable(const Vec3f& v) {
  return v.cwiseAbs().maxCoeff() <= kLargest && v.allFinite();
}

bool usable(const Affine3d& transform) {
  return transform.matrix().allFinite() && transform.matrix().cwiseAbs().maxCoeff() <= kLargest;
}

/// Copies of the states of layers with history; null for the others.
std::vector<std::unique_ptr<LayerState>> copy_history(const Character& character,
                                                      std::span<const std::unique_ptr<LayerState>> states) {
  std::vector<std::unique_ptr<LayerState>> copies(states.size());
  for (std::size_t l = 0; l < states.size(); ++l) {
    if (!character.layers()[l]->has_history() || states[l] == nullptr) continue;
    copies[l] = states[l]->clone();
    if (copies[l] == nullptr)
      throw Error(fmt::format("layer {} has history, but its state cannot be copied", l));
  }
  return copies;
}

}  // namespace

Performer::Performer(std::shared_ptr<const Character> character, bool keep_free_motion)
    : character_(std::move(character)),
      pose_(character_->rest_pose()),
      world_from_joint_(character_->skeleton().size(), Affine3d::Identity()),
      posed_from_rest_(character_->bindings().size(), Affine3d::Identity()),
      posed_at_rest_(posed_from_rest_),
      binding_sign_(posed_from_rest_.size(), 1.0f),
      positions_(character_->rest().begin(), character_->rest().end()) {
  const bool morphs =
      std::any_of(character_->meshes().begin(), character_->meshes().end(),
                  [](const CharacterMesh& mesh) { return !mesh.morph_displacements.empty(); });
  if (morphs) morphed_rest_ = positions_;
  for (const CharacterMesh& mesh : character_->meshes()) {
    const bool welded = mesh.weld.size() != mesh.weld.welded_of_vertex.size();
    file_positions_.emplace_back(welded ? mesh.weld.welded_of_vertex.size() : 0);
  }
  if (keep_free_motion || std::any_of(character_->layers().begin(), character_->layers().end(),
                                      [](const auto& layer) { return layer->uses_free_motion(); }))
    free_motion_.resize(positions_.size());
  if (const NormalSolver* solver = character_->normal_solver()) {
    normal_scratch_.resize(solver->scratch_size());
    group_normals_.resize(solver->slot_count());
    for (const CharacterMesh& mesh : character_->meshes()) slot_normals_.emplace_back(mesh.slot_group.size());
  }
  reset();
  perform(character_->rest_pose());
  posed_at_rest_ = posed_from_rest_;
  reset();
}

std::size_t Performer::bytes() const {
  std::size_t bytes =
      sizeof *this + held_bytes(pose_.joints, pose_.morph_weights, world_from_joint_, posed_from_rest_,
                                posed_at_rest_, binding_sign_, morphed_rest_, positions_, free_motion_,
                                states_, file_positions_, normal_scratch_, group_normals_, slot_normals_);
  for (const std::unique_ptr<LayerState>& state : states_)
    if (state != nullptr) bytes += state->bytes();
  return bytes;
}

void Performer::reset() {
  noted_frame_ = -1;
  states_.clear();
  for (const auto& layer : character_->layers()) states_.push_back(layer->make_state());
}

PerformerCheckpoint Performer::checkpoint() const {
  PerformerCheckpoint checkpoint;
  checkpoint.character_ = character_;
  checkpoint.states_ = copy_history(*character_, states_);
  return checkpoint;
}

void Performer::restore(const PerformerCheckpoint& checkpoint) {
  if (checkpoint.character_ != character_) throw Error("the checkpoint is one of another character");
  std::vector<std::unique_ptr<LayerState>> copies = copy_history(*character_, checkpoint.states_);
  noted_frame_ = -1;
  for (std::size_t l = 0; l < states_.size(); ++l)
    if (copies[l] != nullptr) states_[l] = std::move(copies[l]);
}

void Performer::note_frame(const std::shared_ptr<const void>& sequence, int frame) {
  assert(sequence != nullptr && frame >= 0);
  noted_sequence_ = sequence;
  noted_frame_ = frame;
}

int Performer::noted_frame(const std::shared_ptr<const void>& sequence) const {
  return noted_sequence_.lock() == sequence ? noted_frame_ : -1;
}

void Performer::clean_pose(const Pose& pose) {
  const Pose& rest = character_->rest_pose();
  rejected_joints_ = 0;
  for (std::size_t j = 0; j < pose_.joints.size(); ++j) {
    pose_.joints[j] = rest.joints[j];
    if (j >= pose.joints.size()) continue;
    const Transform& given = pose.joints[j];
    const float length = given.rotation.norm();
    if (usable(given.translation) && usable(given.scale) && std::isfinite(length) && length > 1e-6f) {
      pose_.joints[j] = given;
      // Rotations that are unit already keep their bits.
      if (std::abs(length - 1.0f) > 1e-6f) pose_.joints[j].rotation.coeffs() /= length;
    } else {
      ++rejected_joints_;
    }
  }
  for (std::size_t w = 0; w < pose_.morph_weights.size(); ++w) {
    const bool given =
        w < pose.morph_weights.size() && std::abs(pose.morph_weights[w]) <= kLargestMorphWeight;
    pose_.morph_weights[w] = given ? pose.morph_weights[w] : rest.morph_weights[w];
  }
}

void Performer::apply_morph_targets() {
  for (const CharacterMesh& mesh : character_->meshes()) {
    if (mesh.morph_displacements.empty()) continue;
    const std::size_t count = mesh.weld.size();
    parallel_blocks(count, kPerformedPerTask, [&](std::size_t begin, std::size_t end) {
      const std::span<const Vec3f> rest = character_->rest().subspan(mesh.first_vertex, count);
      Vec3f* morphed = morphed_rest_.data() + mesh.first_vertex;
      for (std::size_t v = begin; v < end; ++v) morphed[v] = rest[v];
      for (std::size_t target = 0; target < mesh.morph_displacements.size(); ++target) {
        const float weight = pose_.morph_weights[mesh.first_morph_weight + target];
        if (weight == 0) continue;
        const std::vector<Vec3f>& displacements = mesh.morph_displacements[target];
        for (std::size_t v = begin; v < end; ++v) morphed[v] += weight * displacements[v];
      }
    });
  }
}

void Performer::perform(const Pose& pose, double seconds) {
  noted_frame_ = -1;
  clean_pose(pose);
  forward_kinematics(character_->skeleton(), pose_.joints, world_from_joint_);
  const std::span<const Binding> bindings = character_->bindings();
  for (std::size_t b = 0; b < bindings.size(); ++b) {
    if (bindings[b].joint < 0) continue;
    const Affine3d posed = world_from_joint_[to_size(bindings[b].joint)] * bindings[b].joint_from_rest;
    const bool good = usable(posed);
    posed_from_rest_[b] = good ? posed : posed_at_rest_[b];
    if (!good) ++rejected_joints_;
  }
  std::span<const Vec3f> rest = character_->rest();
  if (!morphed_rest_.empty()) {
    apply_morph_targets();
    rest = morphed_rest_;
  }
  std::fill(free_motion_.begin(), free_motion_.end(), 1.0f);
  const LayerFrame frame{pose_, world_from_joint_, posed_from_rest_, rest, seconds, free_motion_};
  std::copy(rest.begin(), rest.end(), positions_.begin());
  for (std::size_t l = 0; l < states_.size(); ++l)
    character_->layers()[l]->deform(frame, states_[l].get(), positions_);
  scatter_positions();
  if (character_->normal_solver() != nullptr) compute_normals();
}

void Performer::scatter_positions() {
  for (std::size_t m = 0; m < file_positions_.size(); ++m) {
    std::vector<Vec3f>& file = file_positions_[m];
    const CharacterMesh& mesh = character_->meshes()[m];
    const Vec3f* welded = positions_.data() + mesh.first_vertex;
    parallel_blocks(file.size(), kPerformedPerTask, [&](std::size_t begin, std::size_t end) {
      for (std::size_t v = begin; v < end; ++v) file[v] = welded[mesh.weld.welded_of_vertex[v]];
    });
  }
}

void Performer::compute_normals() {
  // A mirrored part's triangles turn their back; its normals shall not.
  for (std::size_t b = 0; b < binding_sign_.size(); ++b)
    binding_sign_[b] = posed_from_rest_[b].linear().determinant() < 0 ? -1.0f : 1.0f;
  character_->normal_solver()->compute(positions_, normal_scratch_, group_normals_);
  for (std::size_t m = 0; m < slot_normals_.size(); ++m) {
    const CharacterMesh& mesh = character_->meshes()[m];
    std::vector<Vec3f>& slots = slot_normals_[m];
    parallel_blocks(slots.size(), kPerformedPerTask, [&](std::size_t begin, std::size_t end) {
      for (std::size_t s = begin; s < end; ++s)
        slots[s] =
            mesh.slot_sign[s] * binding_sign_[mesh.slot_binding[s]] * group_normals_[mesh.slot_group[s]];
    });
  }
}

std::span<const Vec3f> Performer::positions(std::size_t mesh) const {
  assert(mesh < file_positions_.size());
  if (!file_positions_[mesh].empty()) return file_positions_[mesh];
  const CharacterMesh& source = character_->meshes()[mesh];
  return {positions_.data() + source.first_vertex, source.weld.size()};
}

std::span<const Vec3f> Performer::normals(std::size_t mesh) const {
  if (slot_normals_.empty()) return {};
  assert(mesh < slot_normals_.size());
  return slot_normals_[mesh];
}

const Affine3d& Performer::scene_from_mesh(std::size_t mesh) const {
  static const Affine3d identity = Affine3d::Identity();
  const CharacterMesh& source = character_->meshes()[mesh];
  if (source.skinned || source.joint < 0) return identity;
  return world_from_joint_[to_size(source.joint)];
}

}  // namespace sinew
