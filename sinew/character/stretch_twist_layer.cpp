#include <sinew/character/stretch_twist_layer.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/LU>

#include <sinew/skinning/leaf_bones.h>

namespace sinew {

namespace {

constexpr double kFarthest = 1e15;  // of a place that is one

// Cosines of the angle between a bone and its child's, at which the bone gets all and nothing of its child's
// turn. Arms that hang from the clavicle still count half; legs under the hips do not count.
constexpr double kFullTwist = 0.85;  // 32°
constexpr double kNoTwist = 0.45;    // 63°

bool usable(const Vec3d& place) {
  return place.allFinite() && place.cwiseAbs().maxCoeff() < kFarthest;
}

bool is_leaf(std::span<const Bone> bones_of_joint) {
  return bones_of_joint.size() == 1 && bones_of_joint[0].child < 0;
}

/// How much of the child's turn about the bone in `direction` is twist of the limb, by where the child's own
/// bones go. The bone of a leaf is a guess, too vague to say no: a head's goes to its face.
double shared_twist(const Vec3d& direction, std::span<const Bone> child_bones) {
  if (is_leaf(child_bones)) return 1;
  Vec3d onward = Vec3d::Zero();
  for (const Bone& bone : child_bones) onward += bone.tail - bone.head;
  const double length = onward.norm();
  if (!(length > 0)) return 1;
  const double x =
      std::clamp((direction.dot(onward) / length - kNoTwist) / (kFullTwist - kNoTwist), 0.0, 1.0);
  return x * x * (3 - 2 * x);
}

/// Bindings of meshes that hang on a joint without a skin: solid things.
std::vector<bool> solid_bindings(const Character& character) {
  std::vector<bool> solid(character.bindings().size(), false);
  for (const CharacterMesh& mesh : character.meshes()) {
    if (mesh.skinned) continue;
    for (std::size_t v = mesh.first_vertex; v < mesh.first_vertex + mesh.weld.size(); ++v)
      for (const std::uint32_t binding : character.skin_weights().row_joints(v)) solid[binding] = true;
  }
  return solid;
}

class StretchTwistLayer : public Layer {
 public:
  StretchTwistLayer(const Character& character, const StretchTwistOptions& options)
      : weights_(character.weights()),
        joint_count_(character.bindings().size()),
        binding_(character.rest(), character.skin_weights(), stretch_bones(character, options)) {}

  std::unique_ptr<LayerState> make_state() const override {
    auto state = std::make_unique<State>();
    state->scratch = make_stretch_twist_scratch(joint_count_, binding_);
    return state;
  }

  void deform(const LayerFrame& frame, LayerState* state, std::span<Vec3f> positions) const override {
    stretch_twist_skinning(frame.rest, *weights_, binding_, frame.posed_from_rest,
                           static_cast<State*>(state)->scratch, positions);
  }

 private:
  struct State : LayerState {
    std::size_t bytes() const override { return scratch.bytes(); }
    StretchTwistScratch scratch;
  };
  std::shared_ptr<const PackedWeights> weights_;
  std::size_t joint_count_;
  StretchTwistBinding binding_;
};

}  // namespace

RestJoints::RestJoints(const Character& character)
    : bindings_(character.bindings().begin(), character.bindings().end()),
      rest_world_(character.skeleton().size()),
      solid_(solid_bindings(character)),
      bindings_of_joint_(character.skeleton().size()) {
  const Skeleton& skeleton = character.skeleton();
  forward_kinematics(skeleton, character.rest_pose().joints, rest_world_);
  std::vector<int> joint_of_binding;
  for (std::size_t b = 0; b < bindings_.size(); ++b) {
    const Affine3d& joint_from_rest = bindings_[b].joint_from_rest;
    places_.push_back(joint_from_rest.linear().inverse() * -joint_from_rest.translation());
    joint_of_binding.push_back(bindings_[b].joint);
    if (bindings_[b].joint >= 0 && !solid_[b] && usable(places_[b]))
      bindings_of_joint_[static_cast<std::size_t>(bindings_[b].joint)].push_back(b);
  }

  std::vector<Affine3d> rest_from_joint = rest_world_;
  std::vector<bool> known(skeleton.size(), false);
  for (std::size_t j = 0; j < skeleton.size(); ++j) {
    const int parent = skeleton.joints[j].parent;
    if (!bindings_of_joint_[j].empty()) {
      rest_from_joint[j] = bindings_[bindings_of_joint_[j].front()].joint_from_rest.inverse();
      known[j] = true;
    } else if (parent >= 0 && known[static_cast<std::size_t>(parent)]) {
      rest_from_joint[j] =
          rest_from_joint[static_cast<std::size_t>(parent)] * character.rest_pose().joints[j].matrix();
      known[j] = true;
    }
  }
  bones_ = derive_bones(skeleton, rest_from_joint,
                        leaf_tail_from_weights(character.rest(), character.skin_weights(), joint_of_binding));
}

std::span<const Bone> RestJoints::bones_of(int joint) const {
  const auto begin = std::lower_bound(bones_.begin(), bones_.end(), joint,
                                      [](const Bone& bone, int j) { return bone.joint < j; });
  auto end = begin;
  while (end != bones_.end() && end->joint == joint) ++end;
  return {begin, end};
}

Vec3d RestJoints::tail(std::size_t binding, const Bone& bone) const {
  const std::vector<std::size_t>& candidates = bindings_of_joint_[static_cast<std::size_t>(bone.joint)];
  if (candidates.empty() || candidates.front() == binding) return bone.tail;
  return bindings_[binding].joint_from_rest.inverse() *
         (bindings_[candidates.front()].joint_from_rest * bone.tail);
}

int RestJoints::binding_beside(std::size_t binding, int joint) const {
  const std::vector<std::size_t>& candidates = bindings_of_joint_[static_cast<std::size_t>(joint)];
  if (candidates.empty()) return -1;
  if (candidates.size() == 1 || bindings_[binding].joint < 0) return static_cast<int>(candidates.front());
  const Vec3d expected = rest_world_[static_cast<std::size_t>(bindings_[binding].joint)].inverse() *
                         rest_world_[static_cast<std::size_t>(joint)].translation();
  const auto error = [&](std::size_t b) {
    const double distance = (bindings_[binding].joint_from_rest * places_[b] - expected).norm();
    return std::isfinite(distance) ? distance : std::numeric_limits<double>::max();
  };
  double least = std::numeric_limits<double>::max();
  for (const std::size_t b : candidates) least = std::min(least, error(b));
  // Skins of one rest space differ by the file's rounding only; of those the nearest number will do.
  const double tolerance = expected.allFinite() ? 1e-4 * expected.norm() : 0.0;
  const auto apart = [&](std::size_t b) { return b > binding ? b - binding : binding - b; };
  std::size_t best = candidates.front(), best_apart = std::numeric_limits<std::size_t>::max();
  for (const std::size_t b : candidates)
    if (error(b) <= least + tolerance && apart(b) < best_apart) best = b, best_apart = apart(b);
  return static_cast<int>(best);
}

std::vector<StretchBone> stretch_bones(const Character& character, const StretchTwistOptions& options) {
  const RestJoints joints(character);
  std::vector<StretchBone> result;
  for (std::size_t b = 0; b < character.bindings().size(); ++b) {
    const Binding& start = character.bindings()[b];
    if (start.joint < 0 || joints.is_solid(b)) continue;
    const Vec3d head = joints.place(b);
    if (!usable(head)) continue;
    const std::span<const Bone> bones = joints.bones_of(start.joint);
    for (const Bone& bone : bones) {
      if (bone.child < 0) continue;
      // A leaf beside others is a handle in the skin, as eyes and brows are in a head, and no end of a limb.
      if (bones.size() > 1 && is_leaf(joints.bones_of(bone.child))) continue;
      const int end = joints.binding_beside(b, bone.child);
      if (end < 0) continue;
      const Vec3d tail = joints.place(static_cast<std::size_t>(end));
      // Too short to tell a direction from rounding.
      const double length = (tail - head).norm();
      if (!(length > 1e-6 * (head.norm() + tail.norm())) || !(length > 1e-12)) continue;
      const double share = shared_twist((tail - head) / length, joints.bones_of(bone.child));
      result.push_back({static_cast<std::uint32_t>(b), static_cast<std::uint32_t>(end), head, tail,
                        options.twist * share, options.stretch});
    }
  }
  return result;
}

void StretchTwistOptions::visit(FieldVisitor& fields) {
  fields.number("twist", twist, 0, 1,
                "share of a joint's turn about the bone in front of it that is spread over that bone");
  fields.boolean("stretch", stretch, "bones stretch to their child joints where those are moved");
}

std::unique_ptr<LayerOptions> make_stretch_twist_options() {
  return std::make_unique<StretchTwistOptions>();
}

std::unique_ptr<const Layer> make_stretch_twist_layer(const LayerOptions& options,
                                                      const Character& character) {
  return std::make_unique<StretchTwistLayer>(character, dynamic_cast<const StretchTwistOptions&>(options));
}

}  // namespace sinew
