#pragma once

#include <memory>
#include <string>
#include <vector>

#include <sinew/character/character.h>
#include <sinew/character/layer.h>
#include <sinew/effects/volume_freedom.h>
#include <sinew/effects/volume_keeper.h>
#include <sinew/geometry/one_rings.h>
#include <sinew/layers/implicit_options.h>

namespace sinew {

/// How a joint's skin restores the volume that the joint has lost.
struct VolumeChoice {
  static constexpr double kAsPreset = -1;

  struct ProfilePoint {
    double along = 0, value = 0;
    void visit(FieldVisitor& fields);
  };

  std::size_t preset = 0;
  double strength = 1;
  double max_displacement = 0.2;  ///< of skin, in radii of the limb
  double share_along = kAsPreset, share_hinge = kAsPreset, share_across = kAsPreset;
  std::size_t axis = 0;  ///< along which bone the first axis lies; 0: as the preset says
  double softness = kAsPreset;
  std::vector<ProfilePoint> profile;  ///< none: the preset's
  std::size_t curve = 0;              ///< smooth or straight
  std::size_t side = 0;               ///< all, or one of six
  double spread = 40;                 ///< degrees
  std::vector<RecipeBall> region;
  std::string weight;  ///< joints whose skin weights multiply the freedom

  void visit(FieldVisitor& fields);
  /// What it comes to; adds up to 1. Throws Error, prefixed with `where`, when all shares are zero.
  VolumeShares shares(const std::string& where) const;
  /// Where the first axis points: 0 the bone before the joint, 1 the one behind it, ½ between.
  double bone() const;
  /// Throws Error, prefixed with `where`, for a profile that does not hold.
  FreedomRule rule(const std::string& where) const;
};

struct JointVolumeChoice {
  std::string joint = "*";
  VolumeChoice choice;
  void visit(FieldVisitor& fields);
};

class VolumeLayerOptions : public LayerOptions {
 public:
  VolumeChoice choice;                    ///< of all joints that `joints` does not name
  std::vector<JointVolumeChoice> joints;  ///< the last that matches counts
  std::string freedom_attribute = "_SIGMA";
  bool respect_contact = true;
  void visit(FieldVisitor& fields) override;
};

/// Keeps the volume of a character's closed parts (effects/volume_keeper.h), whatever layer stands before it.
class VolumeLayer : public Layer {
 public:
  VolumeLayer(const Character& character, const VolumeLayerOptions& options);

  std::string idle_because() const override;
  std::vector<std::string> notes() const override { return notes_; }
  bool uses_free_motion() const override { return respect_contact_ && keeper_->can_act(); }
  std::unique_ptr<LayerState> make_state() const override;
  void deform(const LayerFrame& frame, LayerState* state, std::span<Vec3f> positions) const override;

  const VolumeKeeper& keeper() const { return *keeper_; }
  /// σ of every welded vertex at a joint; for -1, the largest that any joint gives it.
  std::vector<float> freedom(int joint = -1) const;
  /// Where the anchors, one per binding, are at rest.
  std::span<const Vec3d> rest_anchors() const { return rest_anchors_; }

 private:
  /// Along which axes a joint restores its volume: of a binding's joint.
  struct JointAxes {
    int parent = -1;                                       // binding
    Vec3d before = Vec3d::Zero(), behind = Vec3d::Zero();  // directions of its bones at rest; zero: none
    Vec3d across = Vec3d::UnitX();                         // some direction across them
    double bone = 0.5;
  };
  /// A cell's rest volume that follows a binding.
  struct Holding {
    std::uint32_t cell, binding;
    double volume;
  };
  struct State;

  /// The frame's free-motion mask, fading out towards contacts over a few rings: skin must not shear beside
  /// them.
  std::span<const float> find_free_motion(const LayerFrame& frame, State& state) const;
  void note_sheets(const Character& character);
  void find_target_volumes(const LayerFrame& frame, State& state) const;
  void find_frame(std::size_t binding, const LayerFrame& frame, State& state) const;

  std::unique_ptr<const VolumeKeeper> keeper_;
  std::vector<Vec3d> rest_anchors_;
  std::vector<JointAxes> joint_axes_;
  std::vector<std::uint8_t> needed_;  // per binding, whether it has cells
  std::vector<VolumeShares> shares_;
  std::vector<double> strengths_;
  std::vector<double> limits_;  // metres
  std::vector<Holding> holdings_;
  std::vector<std::vector<VolumePatch::Vertex>> freedoms_;  // per binding
  std::vector<int> joint_of_binding_;
  std::vector<std::string> notes_;
  OneRings rings_;
  bool has_morphs_ = false;
  bool respect_contact_ = true;
};

std::unique_ptr<LayerOptions> make_volume_options();
std::unique_ptr<const Layer> make_volume_layer(const LayerOptions& options, const Character& character);

}  // namespace sinew
