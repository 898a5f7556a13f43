#include <sinew/layers/stretch_twist_layer.h>

#include <algorithm>
#include <cmath>

#include <sinew/character/rest_joints.h>
#include <sinew/core/index.h>

namespace sinew {

namespace {

// Cosines of the angle between a bone and its child's, at which the bone gets all and nothing of its child's
// turn. Arms that hang from the clavicle still count half; legs under the hips do not count.
constexpr double kFullTwist = 0.85;  // 32°
constexpr double kNoTwist = 0.45;    // 63°

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

std::vector<StretchBone> stretch_bones(const Character& character, const StretchTwistOptions& options) {
  const RestJoints& joints = character.rest_joints();
  std::vector<StretchBone> result;
  for (std::size_t b = 0; b < character.bindings().size(); ++b) {
    const Binding& start = character.bindings()[b];
    if (start.joint < 0 || joints.is_solid(b)) continue;
    const Vec3d head = joints.place(b);
    if (!joints.is_usable(b)) continue;
    const std::span<const Bone> bones = joints.bones_of(start.joint);
    for (const Bone& bone : bones) {
      if (bone.child < 0) continue;
      // A leaf beside others is a handle in the skin, as eyes and brows are in a head, and no end of a limb.
      if (bones.size() > 1 && is_leaf(joints.bones_of(bone.child))) continue;
      const int end = joints.binding_beside(b, bone.child);
      if (end < 0) continue;
      const Vec3d tail = joints.place(to_size(end));
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
