#pragma once

#include <memory>
#include <vector>

#include <sinew/character/character.h>
#include <sinew/layers/field_layer.h>
#include <sinew/layers/implicit_options.h>
#include <sinew/tracking/bone_lift.h>
#include <sinew/tracking/elastic_tracker.h>
#include <sinew/tracking/joint_filling.h>

namespace sinew {

/// Joints whose skin is stiffer than the rest.
struct RigidPart {
  std::string joint = "*";
  double rigidity = 1;
  void visit(FieldVisitor& fields);
};

/// All that a recipe may say about elastic skinning.
class ElasticLayerOptions : public FieldLayerOptions {
 public:
  ElasticLayerOptions();

  TrackingOptions tracking;
  double depenetration = 1;  ///< how far bones inside of other parts are moved out of them, 0 to 1: BoneLift
  ElasticOptions elastic;
  std::vector<RigidPart> rigid;  ///< the last that matches counts
  std::string rigid_attribute = "_RIGID";
  void visit(FieldVisitor& visitor) override;
};

/// Elastic implicit skinning (tracking/elastic_tracker.h) of one character. Put it after dual quaternion
/// skinning, of which it reads the first frame, and vertices that no field reaches.
class ElasticLayer : public FieldLayer {
 public:
  ElasticLayer(const Character& character, const ElasticLayerOptions& options);

  const FieldSet& fields() const override { return elastic_->tracker().fields(); }
  std::span<const TrackMark> marks(const LayerState& state) const override;
  std::span<const Affine3d> carried_fields(const LayerState& state) const override;
  bool has_history() const override { return true; }
  std::unique_ptr<LayerState> make_state() const override;
  void deform(const LayerFrame& frame, LayerState* state, std::span<Vec3f> positions) const override;

 private:
  /// In how many steps the skin follows from one pose to the next.
  int steps_between(std::span<const Transform> from, std::span<const Transform> to) const;
  /// Where a pose's joints put the bindings; those of no joint stay where they are.
  void pose_bindings(std::span<const Transform> joints, std::span<const Affine3d> unmoved,
                     std::span<Affine3d> world_from_joint, std::span<Affine3d> posed_from_rest) const;

  Skeleton skeleton_;
  std::vector<Binding> bindings_;
  bool has_morphs_ = false;
  std::unique_ptr<const ElasticTracker> elastic_;
  std::unique_ptr<const BoneLift> depenetration_;
  std::unique_ptr<const JointFilling> volume_correction_;
};

std::unique_ptr<LayerOptions> make_elastic_options();
std::unique_ptr<const Layer> make_elastic_layer(const LayerOptions& options, const Character& character);

}  // namespace sinew
