#include <sinew/layers/flesh_layer.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include <sinew/character/rest_joints.h>
#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/core/parallel.h>
#include <sinew/core/pattern.h>
#include <sinew/core/rotation.h>
#include <sinew/core/smooth_step.h>
#include <sinew/layers/suggest_flesh.h>

namespace sinew {

namespace {

constexpr std::array<std::string_view, 3> kFleshAttenuations{"bell", "parabola", "none"};
const Vec3d kGravity(0, -9.81, 0);
/// By hand (docs/flesh.md).
struct FleshTuning {
  /// A leader that goes farther in one frame, in thicknesses of its element, has been put there.
  double leap = 20;
  /// Of the spring that turns, radians: turns are taken to the second order.
  double largest_turn = 0.5;
};
constexpr FleshTuning kFlesh;
constexpr std::size_t kVerticesPerTask = 8192;

struct FleshState : LayerState {
  struct Spring {
    SpringState offset, turn;
    Vec3d turned = Vec3d::Zero();  // all turns of the leader, one after the other
    Quatd last = Quatd::Identity();
  };
  std::vector<Spring> springs;

  std::unique_ptr<LayerState> clone() const override { return std::make_unique<FleshState>(*this); }
};

class ElementMaker {
 public:
  ElementMaker(const Character& character, const FleshChoice& choice, std::string where)
      : character_(character),
        skeleton_(character.skeleton()),
        joints_(character.rest_joints()),
        choice_(choice),
        where_(std::move(where)),
        painted_(choice.attribute.empty() ? std::span<const float>() : character.painted(choice.attribute)) {
    if (!choice.attribute.empty() && painted_.empty())
      throw Error(fmt::format("{}: no mesh has an attribute '{}'", where_, choice.attribute));
  }

  std::vector<FleshLayer::Element> make() const {
    std::vector<FleshLayer::Element> elements;
    for (std::uint32_t b = 0; b < character_.bindings().size(); ++b) {
      const int joint = character_.bindings()[b].joint;
      if (joint < 0 || joints_.is_solid(b) || !joints_.place(b).allFinite()) continue;
      if (!matches_pattern(name(joint), choice_.joint)) continue;
      FleshLayer::Element element = make_element(b, joint);
      if (!element.flesh.vertices.empty()) elements.push_back(std::move(element));
    }
    if (elements.empty())
      throw Error(fmt::format("{}: joint: no joint with skin round it fits '{}'", where_, choice_.joint));
    return elements;
  }

 private:
  const std::string& name(int joint) const { return skeleton_.joints[to_size(joint)].name; }

  bool below(int joint, int above) const {
    while (joint > above) joint = skeleton_.joints[to_size(joint)].parent;
    return joint == above;
  }

  FleshLayer::Element make_element(std::uint32_t binding, int joint) const {
    FleshLayer::Element element;
    element.name = choice_.name;
    element.binding = binding;
    element.spring = choice_.spring(where_);
    element.gravity = choice_.gravity;
    element.limit = choice_.limit;
    element.strength = choice_.strength;
    element.rotation = choice_.rotation;
    FleshBone bone;
    bone.head = joints_.place(binding);
    std::vector<int> ends;
    bone.tail = far_end(binding, joint, ends);
    bone.attenuation = static_cast<FleshAttenuation>(choice_.attenuation);
    element.centre = (bone.head + bone.tail) / 2;
    const std::vector<FleshVertex> candidates = find_candidates(joint, ends);
    // Thickness is a share of the flesh's, which is known without it.
    bone.thickness = choice_.thickness * find_flesh(character_.rest(), candidates, bone).thickness;
    element.flesh = find_flesh(character_.rest(), candidates, bone);
    return element;
  }

  /// The barycentre of the joints at the other end, or the end of the joint's longest bone.
  Vec3d far_end(std::uint32_t binding, int joint, std::vector<int>& ends) const {
    Vec3d sum = Vec3d::Zero(), longest = joints_.place(binding);
    for (const Bone& bone : joints_.bones_of(joint)) {
      const Vec3d tail = joints_.tail(binding, bone);
      if (tail.allFinite() &&
          (tail - joints_.place(binding)).norm() > (longest - joints_.place(binding)).norm())
        longest = tail;
    }
    if (choice_.to.empty()) return longest;
    for (int j = 0; j < static_cast<int>(skeleton_.size()); ++j) {
      if (j == joint || !matches_pattern(name(j), choice_.to) || !below(j, joint)) continue;
      const int end = joints_.binding_beside(binding, j);
      if (end < 0) continue;
      sum += joints_.place(to_size(end));
      ends.push_back(j);
    }
    if (ends.empty())
      throw Error(fmt::format("{}: to: no joint below '{}' fits '{}'", where_, name(joint), choice_.to));
    return sum / static_cast<double>(ends.size());
  }

  /// Whether a joint's skin belongs to the element.
  bool belongs(int of, int joint, std::span<const int> ends) const {
    if (!choice_.skin.empty()) return matches_pattern(name(of), choice_.skin);
    if (of == joint) return true;
    return below(of, joint) &&
           std::any_of(ends.begin(), ends.end(), [&](int end) { return end != of && below(end, of); });
  }

  std::vector<FleshVertex> find_candidates(int joint, std::span<const int> ends) const {
    std::vector<std::uint8_t> mine(character_.bindings().size(), 0), weighs(mine.size(), 0);
    for (std::size_t b = 0; b < mine.size(); ++b) {
      const int of = character_.bindings()[b].joint;
      if (of < 0) continue;
      mine[b] = belongs(of, joint, ends);
      weighs[b] = choice_.weight.empty() ? mine[b] : matches_pattern(name(of), choice_.weight);
    }
    std::vector<FleshVertex> candidates;
    for (std::uint32_t v = 0; v < character_.rest().size(); ++v) {
      const auto bindings = character_.skin_weights().row_joints(v);
      const auto values = character_.skin_weights().row_values(v);
      double share = 0;
      bool in = false;
      for (std::size_t k = 0; k < bindings.size(); ++k) {
        in |= mine[bindings[k]] != 0;
        if (weighs[bindings[k]]) share += static_cast<double>(values[k]);
      }
      if (!painted_.empty()) share *= std::clamp(static_cast<double>(painted_[v]), 0.0, 1.0);
      share *= within_region(character_.rest()[v].cast<double>());
      if (in && share > 0) candidates.push_back({v, share});
    }
    return candidates;
  }

  double within_region(const Vec3d& at) const {
    if (choice_.region.empty()) return 1;
    double most = 0;
    for (const RecipeBall& ball : choice_.region)
      if (ball.radius > 0)
        most = std::max(most, smooth_step(0.0, 1.0, 1 - (at - ball.position()).norm() / ball.radius));
    return most;
  }

  const Character& character_;
  const Skeleton& skeleton_;
  const RestJoints& joints_;
  const FleshChoice& choice_;
  std::string where_;
  std::span<const float> painted_;
};

}  // namespace

void FleshChoice::visit(FieldVisitor& fields) {
  fields.text("name", name, "for messages");
  fields.text("joint", joint, "the joint that carries it, name or pattern: one element for each that fits");
  fields.text("to", to,
              "joints below it, whose middle is the other end of its bone; none: the end of its own bone");
  fields.text("skin", skin,
              "joints whose skin belongs to it; none: the carrying one and those on the way to the end");
  fields.text("weight", weight, "joints whose skin weights are its share of a vertex; none: those of `skin`");
  fields.text("attribute", attribute, "vertex attribute in which its share is painted, 0 to 1");
  fields.list("region", region, "balls outside of which skin stays");
  fields.number("frequency", frequency, 0.1, 30, "swings in a second");
  fields.number("damping", damping, 0, 5, "0: swings for ever, 1: comes back without swinging");
  fields.number("mass", mass, 0, 1e6, "kilograms; with a stiffness, instead of frequency and damping");
  fields.number("stiffness", stiffness, 0, 1e9, "newtons per metre");
  fields.number("damping_constant", damping_constant, 0, 1e9, "newtons per metre and second");
  fields.number("gravity", gravity, 0, 10,
                "how much it hangs down where the bone has turned; 1: as on earth");
  fields.number("thickness", thickness, 0, 0.95,
                "of the bone, as a share of the distance to the farthest skin");
  fields.number("limit", limit, 0.01, 1, "of the stretch, as a share of the flesh's thickness");
  fields.number("strength", strength, 0, 4, "multiplies what is seen of it, up to the limit");
  fields.number("rotation", rotation, 0, 2, "how much it also turns behind its bone");
  fields.choice("attenuation", attenuation, kFleshAttenuations,
                "how it fades out towards both ends of its bone");
}

DampedSpring FleshChoice::spring(const std::string& where) const {
  try {
    if (mass > 0 || stiffness > 0) return DampedSpring::from_constants(mass, stiffness, damping_constant);
    return {frequency, damping};
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", where, error.what()));
  }
}

void FleshLayerOptions::visit(FieldVisitor& fields) {
  fields.list("elements", elements, "pieces of flesh; none: found by themselves, as `sinew suggest` does");
}

FleshLayer::FleshLayer(const Character& character, const FleshLayerOptions& options) {
  for (std::size_t i = 0; i < options.elements.size(); ++i) {
    const FleshChoice& choice = options.elements[i];
    std::vector<Element> made =
        ElementMaker(character, choice, fmt::format("flesh: elements: {} ('{}')", i, choice.name)).make();
    std::move(made.begin(), made.end(), std::back_inserter(elements_));
  }
}

std::string FleshLayer::idle_because() const {
  return elements_.empty() ? "no flesh was found by itself, and its recipe names none" : "";
}

std::unique_ptr<LayerState> FleshLayer::make_state() const {
  auto state = std::make_unique<FleshState>();
  state->springs.resize(elements_.size());
  return state;
}

void FleshLayer::deform(const LayerFrame& frame, LayerState* state, std::span<Vec3f> positions) const {
  auto& s = *static_cast<FleshState*>(state);
  for (std::size_t e = 0; e < elements_.size(); ++e) {
    const Element& element = elements_[e];
    FleshState::Spring& spring = s.springs[e];
    const Affine3d& carrier = frame.posed_from_rest[element.binding];
    const double scale = std::cbrt(std::abs(carrier.linear().determinant()));
    const double most = element.limit * element.flesh.thickness * scale;
    const Vec3d centre = carrier * element.centre;
    const Quatd rotation = rotation_of(carrier);
    // The rest is how it hangs at rest.
    const Vec3d pull = element.gravity * (kGravity - rotation * kGravity);
    const bool was_started = spring.offset.started;
    element.spring.step(spring.offset, centre, frame.seconds, pull, most,
                        kFlesh.leap * element.flesh.thickness * scale);
    Vec3d turn = Vec3d::Zero();
    if (element.rotation > 0) {
      if (was_started && spring.offset.last_seconds > 0)
        spring.turned += rotation_vector(rotation * spring.last.conjugate());
      spring.last = rotation;
      element.spring.step(spring.turn, spring.turned, frame.seconds, Vec3d::Zero(), kFlesh.largest_turn,
                          kFlesh.leap);
      turn = element.rotation * element.spring.shown(spring.turn, kFlesh.largest_turn);
    }
    const Vec3d stretch = element.spring.shown(spring.offset, most, element.strength);
    const std::span<const FleshVertex> vertices = element.flesh.vertices;
    parallel_blocks(vertices.size(), kVerticesPerTask, [&](std::size_t begin, std::size_t end) {
      move_flesh(vertices.subspan(begin, end - begin), stretch, turn, centre, positions);
    });
  }
}

std::unique_ptr<LayerOptions> make_flesh_options() {
  return std::make_unique<FleshLayerOptions>();
}

std::unique_ptr<const Layer> make_flesh_layer(const LayerOptions& options, const Character& character) {
  FleshLayerOptions own = dynamic_cast<const FleshLayerOptions&>(options);
  if (own.elements.empty()) own.elements = suggest_flesh(character);
  return std::make_unique<FleshLayer>(character, own);
}

}  // namespace sinew
