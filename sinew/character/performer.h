#pragma once

#include <memory>
#include <span>
#include <vector>

#include <sinew/character/character.h>

namespace sinew {

/// What the layers of one character remember after a frame. Holds on to the character.
class PerformerCheckpoint {
 private:
  friend class Performer;
  PerformerCheckpoint() = default;

  std::shared_ptr<const Character> character_;
  std::vector<std::unique_ptr<LayerState>> states_;  // per layer; null for those without history
};

/// Plays one character: owns the history and the scratch memory. Two performers never touch each other's
/// memory, so each may run on a thread of its own.
class Performer {
 public:
  /// `keep_free_motion`: free_motion() is needed, even if no layer of the character asks for it.
  explicit Performer(std::shared_ptr<const Character> character, bool keep_free_motion = false);

  /// Deforms the character to `pose`, `seconds` after the last call (for layers with history; 0 is fine).
  /// Joints whose transform is not finite or absurd (beyond 1e15) take their rest, so that NaN never comes
  /// out; so do joints and morph weights that the pose does not have. Does not throw or allocate.
  void perform(const Pose& pose, double seconds = 0);

  /// Forgets all history: the next frame is as the first.
  void reset();

  /// The history so far; the last frame's surface is not part of it. Throws Error when a layer with history
  /// has a state that cannot be copied.
  PerformerCheckpoint checkpoint() const;
  /// Takes up the history of a checkpoint, any number of times: the next frame is as it was after
  /// checkpoint(). Until then positions and normals stay those of the last frame. Allocates. Throws Error
  /// for a checkpoint of another character, and then changes nothing.
  void restore(const PerformerCheckpoint& checkpoint);

  /// Notes that the last frame was this one of `sequence`, whatever that is to the caller (not null; it is
  /// not kept alive). The note is gone after the next perform(), reset() or restore(), so that whoever left
  /// it can see whether someone else performed since.
  void note_frame(const std::shared_ptr<const void>& sequence, int frame);
  /// The frame that was noted for `sequence`, or -1.
  int noted_frame(const std::shared_ptr<const void>& sequence) const;

  const Character& character() const { return *character_; }
  const std::shared_ptr<const Character>& shared_character() const { return character_; }
  bool keeps_free_motion() const { return !free_motion_.empty(); }
  /// The last frame's free-motion mask (LayerFrame::free_motion); empty unless a layer asks for it or the
  /// performer was made to keep it.
  std::span<const float> free_motion() const { return free_motion_; }
  /// The last frame, in scene space: file vertices in file order, of the scene's mesh of that number.
  std::span<const Vec3f> positions(std::size_t mesh) const;
  /// One per normal slot (scene/normal_slots.h; the first are the file's vertices); empty when the recipe
  /// wants no normals.
  std::span<const Vec3f> normals(std::size_t mesh) const;
  /// The welded surface that the layers deform.
  std::span<const Vec3f> welded_positions() const { return positions_; }
  /// The welded rest surface with the last frame's morph targets.
  std::span<const Vec3f> welded_rest() const {
    return morphed_rest_.empty() ? character_->rest() : std::span<const Vec3f>(morphed_rest_);
  }
  /// Per binding of the character, where the last frame carried it from its rest, as the layers saw it:
  /// unusable transforms have given way to their rest.
  std::span<const Affine3d> posed_from_rest() const { return posed_from_rest_; }
  /// What the character's layer of that number remembers; null for layers that remember nothing.
  const LayerState* layer_state(std::size_t layer) const { return states_[layer].get(); }
  /// Scene from mesh space in this frame: identity for skinned meshes, the node's transform for others.
  const Affine3d& scene_from_mesh(std::size_t mesh) const;
  /// About how much memory it holds, with its layers' states (LayerState::bytes: those of layers with history
  /// may be missing).
  std::size_t bytes() const;
  /// Joints and bindings that took their rest in this frame because the pose's transform was unusable.
  std::size_t rejected_joints() const { return rejected_joints_; }

 private:
  void clean_pose(const Pose& pose);
  void apply_morph_targets();
  void scatter_positions();
  void compute_normals();

  std::shared_ptr<const Character> character_;
  Pose pose_;
  std::size_t rejected_joints_ = 0;
  std::vector<Affine3d> world_from_joint_;
  std::vector<Affine3d> posed_from_rest_;
  std::vector<Affine3d> posed_at_rest_;  // what an unusable transform gives way to
  std::vector<float> binding_sign_;      // -1 where this frame mirrors
  std::vector<Vec3f> morphed_rest_;      // empty without morph targets
  std::vector<Vec3f> positions_;
  std::vector<float> free_motion_;  // LayerFrame::free_motion
  std::vector<std::unique_ptr<LayerState>> states_;
  std::weak_ptr<const void> noted_sequence_;
  int noted_frame_ = -1;
  std::vector<std::vector<Vec3f>> file_positions_;  // per mesh; empty where nothing was welded
  std::vector<Vec4f> normal_scratch_;
  std::vector<Vec3f> group_normals_;
  std::vector<std::vector<Vec3f>> slot_normals_;
};

}  // namespace sinew
