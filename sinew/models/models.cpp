#include <sinew/models/models.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

namespace sinew {

namespace {

constexpr std::array<Model, 6> kModels{{
    {"tube", "a cylinder with two bones: the papers' test", 150, 2050, "lower", make_tube_model},
    {"arm", "shoulder to finger tips", 1300, 12'000, "little_3", make_arm_model},
    {"hand", "five fingers, 21 bones", 800, 31'750, "little_3", make_hand_model},
    {"mannequin", "a stylised adult with fingers and toes", 6500, 32'056, "little_3.L", make_mannequin_model},
    {"cat", "a quadruped with a tail", 3000, 20'000, "tail_5", make_cat_model},
    {"insect", "an ant with six legs and two antennae", 6000, 16'000, "mid_tarsus.L", make_insect_model},
}};

void check_proportion(std::string_view name, const char* what, double value) {
  if (!(value >= 0.5 && value <= 2))
    throw Error(fmt::format("{}: {} is {}, but must lie between 0.5 and 2", name, what, value));
}

/// Long and thin limbs need more vertices for eight of them round.
std::size_t least_vertices(const Model& model, const Proportions& p) {
  const double longest = std::max({1.0, p.arm, p.leg, p.head}), thinnest = std::min(1.0, p.girth);
  // A thick trunk takes vertices from the fingers, which do not grow with it.
  return to_size(static_cast<double>(model.least_vertices) * longest / thinnest * std::max(1.0, p.girth));
}

}  // namespace

std::span<const Model> models() {
  return kModels;
}

std::string model_names() {
  std::string names;
  for (const Model& model : kModels) names += (names.empty() ? "" : ", ") + std::string(model.name);
  return names;
}

BuiltModel make_model(std::string_view name, const ModelOptions& options, const Progress& progress) {
  const auto model =
      std::find_if(kModels.begin(), kModels.end(), [&](const Model& m) { return m.name == name; });
  if (model == kModels.end())
    throw Error(fmt::format("{}: no such built-in character; there are: {}", name, model_names()));
  ModelOptions settled = options;
  if (settled.vertices == 0) settled.vertices = model->usual_vertices;
  check_proportion(name, "arm", options.proportions.arm);
  check_proportion(name, "leg", options.proportions.leg);
  check_proportion(name, "head", options.proportions.head);
  check_proportion(name, "girth", options.proportions.girth);
  const std::size_t least = least_vertices(*model, options.proportions);
  if (options.vertices == 0) settled.vertices = std::max(settled.vertices, least);
  if (settled.vertices < least || settled.vertices > kMostModelVertices)
    throw Error(fmt::format("{}: {} vertices are out of range; it takes {} to {}", name, settled.vertices,
                            least, kMostModelVertices));
  BuiltModel built = model->make(settled, progress);
  check_scene(built.scene);
  return built;
}

}  // namespace sinew
