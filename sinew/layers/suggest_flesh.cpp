#include <sinew/layers/suggest_flesh.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/skeleton/joint_names.h>

namespace sinew {

namespace {

/// How flesh is found. By hand, on the built-in characters, human.glb and the fox (docs/flesh.md).
struct FleshSuggestionTuning {
  /// Thickness of flesh that is found by name, in diagonals of the character.
  double thinnest = 0.01;
  /// The same, found without a name.
  double thick_limb = 0.025;
  /// Elements without a name, at most.
  std::size_t most_unnamed = 6;
  /// Of the stretch, in thicknesses: more makes creases at the ends of the bone.
  double limit = 0.35;
};
constexpr FleshSuggestionTuning kSuggestedFlesh;

struct Kind {
  FleshPart part;
  std::string_view name;
  double frequency, damping, thickness;
};

// Heavier flesh swings more slowly; calves and arms are mostly muscle.
constexpr std::array<Kind, 6> kFleshKinds{{
    {FleshPart::thigh, "thigh", 4, 0.3, 0.4},
    {FleshPart::calf, "calf", 5, 0.4, 0.4},
    {FleshPart::upper_arm, "upper arm", 4.5, 0.35, 0.4},
    {FleshPart::breast, "breast", 3, 0.2, 0.2},
    {FleshPart::cheek, "cheek", 5, 0.3, 0.3},
    {FleshPart::buttock, "buttock", 3.5, 0.25, 0.2},
}};

class FleshSuggester {
 public:
  explicit FleshSuggester(const Character& character)
      : character_(character), skeleton_(character.skeleton()) {
    Eigen::AlignedBox3d box;
    for (const Vec3f& p : character.rest()) box.extend(p.cast<double>());
    size_ = box.isEmpty() ? 0 : box.diagonal().norm();
    has_skin_.assign(skeleton_.size(), false);
    for (std::size_t v = 0; v < character.rest().size(); ++v) {
      const int joint = character.bindings()[character.skin_weights().row_joints(v)[0]].joint;
      if (joint >= 0) has_skin_[to_size(joint)] = true;
    }
  }

  std::vector<FleshChoice> suggest() {
    for (std::size_t j = 0; j < skeleton_.size(); ++j) {
      const FleshPart part = flesh_part_of(skeleton_.joints[j].name);
      for (const Kind& kind : kFleshKinds)
        if (kind.part == part) {
          FleshChoice choice;
          choice.name = kind.name;
          choice.joint = skeleton_.joints[j].name;
          choice.frequency = kind.frequency, choice.damping = kind.damping, choice.thickness = kind.thickness;
          add(choice, kSuggestedFlesh.thinnest);
          break;
        }
    }
    suggest_belly();
    suggest_tail();
    if (elements_.empty()) suggest_thickest();
    return elements_;
  }

 private:
  /// The thickness of its flesh; 0 when there is none.
  double thickness_of(const FleshChoice& choice) const {
    FleshLayerOptions options;
    options.elements = {choice};
    try {
      const FleshLayer layer(character_, options);
      return layer.elements()[0].flesh.thickness;
    } catch (const Error&) {
      return 0;
    }
  }

  bool add(FleshChoice choice, double least) {
    choice.limit = kSuggestedFlesh.limit;
    if (choice.joint.empty() || !(thickness_of(choice) >= least * size_)) return false;
    elements_.push_back(choice);
    return true;
  }

  bool below(std::size_t joint, std::size_t above) const {
    int at = static_cast<int>(joint);
    while (at > static_cast<int>(above)) at = skeleton_.joints[to_size(at)].parent;
    return at == static_cast<int>(above);
  }

  /// From the hips to the topmost joint of the trunk before neck and limbs.
  void suggest_belly() {
    for (std::size_t j = 0; j < skeleton_.size(); ++j) {
      if (!has_skin_[j] || !is_hip_name(skeleton_.joints[j].name)) continue;
      std::size_t top = j;
      for (std::size_t k = j + 1; k < skeleton_.size(); ++k)
        if (has_skin_[k] && below(k, top) && is_trunk_name(skeleton_.joints[k].name)) top = k;
      if (top == j) continue;
      FleshChoice choice;
      choice.name = "belly";
      choice.joint = skeleton_.joints[j].name;
      choice.to = skeleton_.joints[top].name;
      choice.frequency = 3.5, choice.damping = 0.25, choice.thickness = 0.3;
      if (add(choice, kSuggestedFlesh.thinnest)) return;
    }
  }

  void suggest_tail() {
    for (std::size_t j = 0; j < skeleton_.size(); ++j) {
      if (!is_tail_name(skeleton_.joints[j].name)) continue;
      std::size_t last = j;
      for (std::size_t k = j + 1; k < skeleton_.size(); ++k)
        if (below(k, last) && is_tail_name(skeleton_.joints[k].name)) last = k;
      FleshChoice choice;
      choice.name = "tail";
      choice.joint = skeleton_.joints[j].name;
      if (last != j) choice.to = skeleton_.joints[last].name;
      choice.frequency = 3, choice.damping = 0.2;
      if (add(choice, kSuggestedFlesh.thinnest / 4)) return;
    }
  }

  /// Where names say nothing: joints with a bone behind them and much flesh round it.
  void suggest_thickest() {
    std::vector<std::pair<double, FleshChoice>> found;
    for (std::size_t j = 0; j < skeleton_.size(); ++j) {
      const bool inner = std::any_of(skeleton_.joints.begin(), skeleton_.joints.end(),
                                     [&](const Joint& joint) { return joint.parent == static_cast<int>(j); });
      if (!has_skin_[j] || !inner || skeleton_.joints[j].name.empty()) continue;
      FleshChoice choice;
      choice.joint = skeleton_.joints[j].name;
      choice.thickness = 0.4;
      const double thickness = thickness_of(choice);
      if (thickness >= kSuggestedFlesh.thick_limb * size_) found.emplace_back(-thickness, choice);
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < std::min(found.size(), kSuggestedFlesh.most_unnamed); ++i)
      elements_.push_back(found[i].second);
  }

  const Character& character_;
  const Skeleton& skeleton_;
  double size_ = 0;
  std::vector<bool> has_skin_;
  std::vector<FleshChoice> elements_;
};

}  // namespace

std::vector<FleshChoice> suggest_flesh(const Character& character) {
  return FleshSuggester(character).suggest();
}

}  // namespace sinew
