#include <sinew/layers/elastic_layer.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include <sinew/core/index.h>
#include <sinew/core/pattern.h>
#include <sinew/layers/character_fields.h>
#include <sinew/layers/character_hinges.h>

namespace sinew {

namespace {

/// Sub-steps between two poses: as fine as the paper says (three per bend), but not finer than a turn that
/// shows; by hand, on the built-in clips (docs/elastic.md).
struct ElasticStepTuning {
  /// Turn of a joint in one step, at least; radians.
  double finest_turn = 3 * std::numbers::pi / 180;
  /// Steps for a turn as large as the bend itself.
  double per_bend = 3;
  /// Per frame.
  int most = 6;
  /// From the rest to the pose where it begins.
  int first = 6;
};
constexpr ElasticStepTuning kSteps;

struct ElasticLayerState : LayerState {
  ElasticState skin;
  std::vector<Transform> last;     // the pose of the last frame
  std::vector<Transform> between;  // no history from here on
  std::vector<Affine3d> world_from_joint, posed_from_rest;
  BoneLiftScratch depenetration;
  JointFillingScratch volume_correction;
  std::vector<Affine3d> carried;  // of the last frame

  std::unique_ptr<LayerState> clone() const override { return std::make_unique<ElasticLayerState>(*this); }
};

double angle_between(const Quatf& a, const Quatf& b) {
  return a.cast<double>().angularDistance(b.cast<double>());
}

}  // namespace

void RigidPart::visit(FieldVisitor& fields) {
  fields.text("joint", joint,
              "name of the joint that moves the skin most, or a pattern: * any characters, ? one");
  fields.number("rigidity", rigidity, 0, 1, "1: stays rigid to its bone, 0: is relaxed");
}

ElasticLayerOptions::ElasticLayerOptions() {
  operation.kind = to_size(OperatorKind::union_);
  constexpr int kFlipSweeps = 14;  // fewer than history-free: what they do is remembered, and goes on
  tracking.untangling = kFlipSweeps;
}

void ElasticLayerOptions::visit(FieldVisitor& visitor) {
  FieldLayerOptions::visit(visitor);
  visitor.number("step", tracking.step, 0.05, 1,
                 "share of a Newton step towards the iso-value that is taken");
  visitor.integer("rounds", tracking.rounds, 1, 50, "rounds of projections and a relaxation");
  visitor.integer("steps", tracking.steps, 1, 20, "Newton steps of a round");
  visitor.number("tolerance", tracking.tolerance, 1e-6, 0.1, "field value at which a vertex has arrived");
  visitor.renamed("ease", "dead_zone");
  visitor.number("dead_zone", tracking.ease, 0, 0.1,
                 "field value by which a vertex may be off its iso-value without being moved");
  visitor.renamed("turn", "gradient_angle");
  visitor.number("gradient_angle", tracking.turn, 1, 180,
                 "degrees the gradient may turn in a step: beyond, the step was across a contact");
  visitor.number("gap", tracking.gap, 0, 0.2, "field value by which two skins in contact stay apart");
  visitor.number("relaxation", tracking.relaxation, 0, 1, "strength of the tangential relaxation");
  visitor.number("coherence", tracking.coherence, 0, 1,
                 "share of its neighbours' displacement that a vertex takes on after every round");
  visitor.renamed("strain", "strain_limit");
  visitor.number(
      "strain_limit", tracking.strain, 0.05, 100,
      "most that a vertex's displacement may differ from its neighbours', in lengths of its edges");
  visitor.renamed("swelling", "bulge_share");
  visitor.number(
      "bulge_share", tracking.swelling, 0, 1,
      "share of the bulge of the layer before (dual quaternions bulge at bent joints) that stays: it "
      "makes up for what the fold displaces");
  visitor.integer("smoothing", tracking.smoothing, 0, 20, "sweeps of smoothing where skins touch");
  visitor.integer("diffusion", tracking.diffusion, 0, 20, "sweeps that spread the smoothing");
  visitor.renamed("untangling", "flip_repair");
  visitor.integer("flip_repair", tracking.untangling, 0, 50,
                  "sweeps that turn flipped triangles back, at most");
  visitor.renamed("rising", "depenetration");
  visitor.number(
      "depenetration", depenetration, 0, 1,
      "how far bones that the pose puts inside of another part are moved out of it, with their skin");
  visitor.integer("elastic_rounds", elastic.rounds, 1, 50,
                  "rounds of a projection and a relaxation, per step");
  visitor.integer("elastic_sweeps", elastic.sweeps, 1, 1000, "sweeps of a relaxation, at most");
  visitor.integer("elastic_steps", elastic.steps, 1, 20, "Newton steps of a projection");
  visitor.text(
      "rigid_attribute", rigid_attribute,
      "vertex attribute of the file in which rigidity is painted, 0 to 1; the larger of both counts");
  visitor.list("rigid", rigid, "joints whose skin is not relaxed; the last entry that matches counts");
}

ElasticLayer::ElasticLayer(const Character& character, const ElasticLayerOptions& options)
    : skeleton_(character.skeleton()),
      bindings_(character.bindings().begin(), character.bindings().end()),
      has_morphs_(character.morph_weight_count() > 0) {
  const CharacterFields fields = make_character_fields(character, options);
  std::vector<float> rigidity(character.rest().size(), 0);
  const std::span<const float> painted = character.painted(options.rigid_attribute);
  for (std::size_t v = 0; v < rigidity.size(); ++v) {
    const int joint = bindings_[character.skin_weights().row_joints(v)[0]].joint;
    if (joint < 0) continue;
    for (const RigidPart& part : options.rigid)
      if (matches_pattern(skeleton_.joints[to_size(joint)].name, part.joint))
        rigidity[v] = static_cast<float>(part.rigidity);
    if (!painted.empty()) rigidity[v] = std::max(rigidity[v], std::clamp(painted[v], 0.0f, 1.0f));
  }
  elastic_ = std::make_unique<ElasticTracker>(MeshView{character.rest(), character.triangles()}, fields.own,
                                              fields.set, character.skin_weights(), bindings_.size(),
                                              options.tracking, options.elastic, rigidity);
  depenetration_ =
      std::make_unique<BoneLift>(MeshView{character.rest(), character.triangles()}, fields.own, fields.set,
                                 character.shared_skin_weights(), bindings_.size(), options.depenetration);
  volume_correction_ = std::make_unique<JointFilling>(MeshView{character.rest(), character.triangles()},
                                                      character.shared_skin_weights(), find_hinges(character),
                                                      options.volume_correction);
}

std::unique_ptr<LayerState> ElasticLayer::make_state() const {
  auto state = std::make_unique<ElasticLayerState>();
  state->skin = elastic_->make_state();
  state->last.resize(skeleton_.size());
  state->between.resize(skeleton_.size());
  state->world_from_joint.resize(skeleton_.size());
  state->posed_from_rest.resize(bindings_.size());
  state->depenetration = depenetration_->make_scratch();
  state->volume_correction = volume_correction_->make_scratch();
  state->carried = state->depenetration.transforms;
  return state;
}

int ElasticLayer::steps_between(std::span<const Transform> from, std::span<const Transform> to) const {
  double steps = 1;
  for (std::size_t j = 0; j < skeleton_.size(); ++j) {
    // Where the whole character turns, its skin comes along.
    if (skeleton_.joints[j].parent < 0) continue;
    const double turn = angle_between(from[j].rotation, to[j].rotation);
    if (turn <= kSteps.finest_turn) continue;
    const Quatf& rest = skeleton_.joints[j].rest.rotation;
    const double bend = std::max(angle_between(rest, from[j].rotation), angle_between(rest, to[j].rotation));
    steps = std::max(steps, std::min(kSteps.per_bend * turn / bend, turn / kSteps.finest_turn));
  }
  return std::isfinite(steps) ? std::min(static_cast<int>(std::ceil(steps - 1e-6)), kSteps.most) : 1;
}

void ElasticLayer::pose_bindings(std::span<const Transform> joints, std::span<const Affine3d> unmoved,
                                 std::span<Affine3d> world_from_joint,
                                 std::span<Affine3d> posed_from_rest) const {
  forward_kinematics(skeleton_, joints, world_from_joint);
  for (std::size_t b = 0; b < bindings_.size(); ++b)
    posed_from_rest[b] = bindings_[b].joint < 0
                             ? unmoved[b]
                             : world_from_joint[to_size(bindings_[b].joint)] * bindings_[b].joint_from_rest;
}

void ElasticLayer::deform(const LayerFrame& frame, LayerState* state, std::span<Vec3f> positions) const {
  auto& s = *static_cast<ElasticLayerState*>(state);
  const std::vector<Transform>& joints = frame.pose.joints;
  int steps;
  if (s.skin.started) {
    steps = steps_between(s.last, joints);
  } else {
    // Skin that begins in a pose comes there from the rest: where it slides to depends on the way.
    for (std::size_t j = 0; j < joints.size(); ++j)
      s.last[j] = skeleton_.joints[j].parent < 0 ? joints[j] : skeleton_.joints[j].rest;
    pose_bindings(s.last, frame.posed_from_rest, s.world_from_joint, s.posed_from_rest);
    elastic_->start(depenetration_->lift(s.posed_from_rest, s.depenetration, {}), s.skin, positions);
    steps = steps_between(s.last, joints) > 1 ? kSteps.first : 1;
  }
  for (int step = 1; step < steps; ++step) {
    const float share = static_cast<float>(step) / static_cast<float>(steps);
    for (std::size_t j = 0; j < joints.size(); ++j) {
      const Transform &from = s.last[j], &to = joints[j];
      s.between[j] = {from.translation + share * (to.translation - from.translation),
                      from.rotation.slerp(share, to.rotation), from.scale + share * (to.scale - from.scale)};
    }
    pose_bindings(s.between, frame.posed_from_rest, s.world_from_joint, s.posed_from_rest);
    elastic_->step(depenetration_->lift(s.posed_from_rest, s.depenetration, {}), s.skin, positions);
  }
  const std::span<const Affine3d> posed =
      depenetration_->lift(frame.posed_from_rest, s.depenetration, positions);
  elastic_->step(posed, s.skin, positions);
  std::copy(joints.begin(), joints.end(), s.last.begin());
  std::copy(posed.begin(), posed.end(), s.carried.begin());
  if (has_morphs_) elastic_->add_morphs(s.skin, frame.rest, positions);
  volume_correction_->fill(posed, has_morphs_ ? frame.rest : std::span<const Vec3f>(), s.skin.tracking.room,
                           s.volume_correction, positions);
  elastic_->untangle(s.skin, positions);
  if (!frame.free_motion.empty()) elastic_->leave_room(positions, s.skin, frame.free_motion);
}

std::span<const TrackMark> ElasticLayer::marks(const LayerState& state) const {
  return static_cast<const ElasticLayerState&>(state).skin.tracking.marks;
}

std::span<const Affine3d> ElasticLayer::carried_fields(const LayerState& state) const {
  return static_cast<const ElasticLayerState&>(state).carried;
}

std::unique_ptr<LayerOptions> make_elastic_options() {
  return std::make_unique<ElasticLayerOptions>();
}

std::unique_ptr<const Layer> make_elastic_layer(const LayerOptions& options, const Character& character) {
  return std::make_unique<ElasticLayer>(character, dynamic_cast<const ElasticLayerOptions&>(options));
}

}  // namespace sinew
