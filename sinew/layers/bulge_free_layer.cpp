#include <sinew/layers/bulge_free_layer.h>

#include <algorithm>
#include <cmath>

#include <sinew/character/character.h>
#include <sinew/core/index.h>
#include <sinew/skeleton/bones.h>
#include <sinew/skinning/bulge_free.h>
#include <sinew/skinning/dual_quaternion.h>
#include <sinew/skinning/leaf_bones.h>

namespace sinew {

namespace {

/// Bindings first … last, of one skin.
struct BindingRange {
  std::size_t first, last;
};

/// The bindings that move vertices, skin by skin: each skin has a rest space of its own, in which its bones
/// lie. A skin's bindings are neighbours, so meshes that share one overlap.
std::vector<BindingRange> bindings_of_skins(const Character& character) {
  const SkinWeights& weights = character.skin_weights();
  std::vector<BindingRange> ranges;
  for (const CharacterMesh& mesh : character.meshes()) {
    const std::size_t begin = weights.starts[mesh.first_vertex];
    const std::size_t end = weights.starts[mesh.first_vertex + mesh.weld.size()];
    if (!mesh.skinned || begin == end) continue;
    const auto [first, last] =
        std::minmax_element(weights.joints.begin() + static_cast<std::ptrdiff_t>(begin),
                            weights.joints.begin() + static_cast<std::ptrdiff_t>(end));
    ranges.push_back({*first, *last});
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const BindingRange& a, const BindingRange& b) { return a.first < b.first; });
  std::vector<BindingRange> merged;
  for (const BindingRange& range : ranges) {
    if (!merged.empty() && range.first <= merged.back().last)
      merged.back().last = std::max(merged.back().last, range.last);
    else
      merged.push_back(range);
  }
  return merged;
}

/// Per binding, the vertices that follow it with more than half their weight.
std::vector<std::vector<std::uint32_t>> dominated_vertices(const Character& character) {
  const SkinWeights& weights = character.skin_weights();
  std::vector<std::vector<std::uint32_t>> dominated(character.bindings().size());
  for (std::size_t v = 0; v < weights.rows(); ++v)
    if (weights.row_values(v)[0] > 0.5f)
      dominated[weights.row_joints(v)[0]].push_back(static_cast<std::uint32_t>(v));
  return dominated;
}

class BoneBuilder {
 public:
  explicit BoneBuilder(const Character& character)
      : character_(character),
        bones_(character.bindings().size()),
        dominated_(dominated_vertices(character)),
        used_(character.bindings().size(), false) {
    for (const std::uint32_t binding : character.skin_weights().joints) used_[binding] = true;
    for (const BindingRange& range : bindings_of_skins(character)) add_skin(range);
  }

  std::vector<BulgeFreeBone> take() { return std::move(bones_); }

 private:
  void add_skin(const BindingRange& range);
  std::optional<Vec3d> leaf_tail(std::size_t binding, int joint, const Vec3d& head,
                                 const Vec3d& direction) const;

  const Character& character_;
  std::vector<BulgeFreeBone> bones_;
  std::vector<std::vector<std::uint32_t>> dominated_;
  std::vector<bool> used_;
};

std::optional<Vec3d> BoneBuilder::leaf_tail(std::size_t binding, int joint, const Vec3d& head,
                                            const Vec3d& direction) const {
  // Only the leaf's own vertices: many leaves must not each look at all of them.
  std::vector<Vec3f> positions;
  SkinWeights weights;
  for (const std::uint32_t v : dominated_[binding]) {
    positions.push_back(character_.rest()[v]);
    weights.joints.push_back(0);
    weights.values.push_back(1.0f);
    weights.starts.push_back(static_cast<std::uint32_t>(weights.joints.size()));
  }
  const int joint_of_weight[] = {joint};
  return leaf_tail_from_weights(positions, weights, joint_of_weight)(joint, head, direction);
}

void BoneBuilder::add_skin(const BindingRange& range) {
  const std::span<const Binding> bindings = character_.bindings();
  // The skeleton as this skin sees it: joints that move none of its vertices are passed over.
  Skeleton skeleton = character_.skeleton();
  for (Joint& joint : skeleton.joints) joint.deforms = false;
  std::vector<int> binding_of_joint(skeleton.size(), -1);
  std::vector<Affine3d> rest_from_joint(skeleton.size(), Affine3d::Identity());
  Vec3d some_place = Vec3d::Zero();
  for (std::size_t b = range.first; b <= range.last; ++b) {
    const int number = bindings[b].joint;
    if (number < 0 || !used_[b]) continue;
    const auto joint = to_size(number);
    const Affine3d rest = bindings[b].joint_from_rest.inverse();
    // A bind matrix that flattens has no way back: such a joint has no place.
    if (binding_of_joint[joint] >= 0 || !rest.matrix().allFinite() ||
        rest.matrix().cwiseAbs().maxCoeff() > 1e15)
      continue;
    skeleton.joints[joint].deforms = true;
    binding_of_joint[joint] = static_cast<int>(b);
    rest_from_joint[joint] = rest;
    some_place = rest.translation();
  }
  const auto binding_of = [&](int joint) { return binding_of_joint[to_size(joint)]; };
  bool any = false;
  for (std::size_t j = 0; j < skeleton.size(); ++j) {
    if (binding_of_joint[j] < 0)
      rest_from_joint[j].translation() = some_place;  // passed over, but counts for the skeleton's size
    else
      any = true;
  }
  if (!any) return;

  const std::vector<Bone> segments =
      derive_bones(skeleton, rest_from_joint, [&](int joint, const Vec3d& head, const Vec3d& direction) {
        return leaf_tail(to_size(binding_of(joint)), joint, head, direction);
      });
  const auto segments_of = [&](int joint) {
    const auto before = [](const Bone& bone, int j) { return bone.joint < j; };
    const auto first = std::lower_bound(segments.begin(), segments.end(), joint, before);
    const auto last = std::lower_bound(first, segments.end(), joint + 1, before);
    return std::span<const Bone>(first, last);
  };

  for (std::size_t j = skeleton.size(); j-- > 0;) {
    if (binding_of_joint[j] < 0) continue;
    BulgeFreeBone& bone = bones_[to_size(binding_of_joint[j])];
    for (int above = skeleton.joints[j].parent; above >= 0 && bone.parent < 0;
         above = skeleton.joints[to_size(above)].parent)
      bone.parent = binding_of(above);
    bone.head = rest_from_joint[j].translation();

    const std::span<const Bone> own = segments_of(static_cast<int>(j));
    if (own.size() == 1 && own[0].child >= 0 && own[0].tail == own[0].head) {
      // All children lie on the joint itself: the bone is the child's, which comes later in the skeleton.
      const BulgeFreeBone& child = bones_[to_size(binding_of(own[0].child))];
      bone.tail = child.tail;
      bone.tail_joint = child.tail_joint;
      continue;
    }
    if (own.size() == 1) {
      bone.tail = own[0].tail;
      bone.tail_joint = own[0].child >= 0 ? binding_of(own[0].child) : binding_of_joint[j];
      continue;
    }
    // One bone for a joint with several children: down their middle, as far as the farthest reaches.
    Vec3d direction = Vec3d::Zero();
    for (const Bone& segment : own) direction += segment.tail - segment.head;
    direction.normalize();
    double reach = 0;
    for (const Bone& segment : own) reach = std::max(reach, (segment.tail - segment.head).dot(direction));
    bone.tail = own[0].head + reach * direction;
    bone.tail_joint = binding_of_joint[j];
  }
}

class BulgeFreeLayer : public Layer {
 public:
  BulgeFreeLayer(const BulgeFreeLayerOptions& options, const Character& character)
      : weights_(character.weights()),
        joint_count_(character.bindings().size()),
        correction_(BoneBuilder(character).take(), character.skin_weights()),
        strength_(static_cast<float>(options.strength)) {}

  std::unique_ptr<LayerState> make_state() const override {
    auto state = std::make_unique<State>();
    state->dual_quaternions = make_dual_quaternion_scratch(joint_count_, weights_->vertex_count());
    state->correction = correction_.make_scratch();
    return state;
  }

  void deform(const LayerFrame& frame, LayerState* state, std::span<Vec3f> positions) const override {
    State& scratch = *static_cast<State*>(state);
    dual_quaternion_skinning(frame.rest, *weights_, frame.posed_from_rest, scratch.dual_quaternions,
                             positions);
    correction_.correct(frame.rest, frame.posed_from_rest, strength_, scratch.correction, positions);
  }

 private:
  struct State : LayerState {
    std::size_t bytes() const override { return dual_quaternions.bytes() + correction.bytes(); }
    DualQuaternionScratch dual_quaternions;
    BulgeFreeCorrection::Scratch correction;
  };
  std::shared_ptr<const PackedWeights> weights_;
  std::size_t joint_count_;
  BulgeFreeCorrection correction_;
  float strength_;
};

}  // namespace

void BulgeFreeLayerOptions::visit(FieldVisitor& visitor) {
  visitor.number("strength", strength, 0, 1, "how much of the bulge to take away; 0 is dqs");
}

std::unique_ptr<LayerOptions> make_bulge_free_options() {
  return std::make_unique<BulgeFreeLayerOptions>();
}

std::unique_ptr<const Layer> make_bulge_free_layer(const LayerOptions& options, const Character& character) {
  return std::make_unique<BulgeFreeLayer>(dynamic_cast<const BulgeFreeLayerOptions&>(options), character);
}

}  // namespace sinew
