// Proposes what of a character could have a layer whose elements a recipe has to name.
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sinew/character/suggest_flesh.h>
#include <sinew/core/error.h>
#include <sinew/core/file.h>

#include "apps/cli/input.h"
#include "apps/cli/verbs.h"

namespace sinew::cli {

int run_suggest(const SuggestCommand& command) {
  const Scene scene = open_input(command.input);
  const auto character = Character::make(scene, Recipe());
  const std::vector<FleshChoice> elements = suggest_flesh(*character);
  if (elements.empty())
    throw Error(
        fmt::format("{}: no flesh was found: no joint's name tells of any, and no limb is thick enough; "
                    "name joints in a recipe (see `sinew recipe`)",
                    command.input));
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const FleshChoice& element : elements) {
    nlohmann::ordered_json entry{{"name", element.name}, {"joint", element.joint}};
    if (!element.to.empty()) entry["to"] = element.to;
    entry["frequency"] = element.frequency;
    entry["damping"] = element.damping;
    entry["thickness"] = element.thickness;
    entry["limit"] = element.limit;
    list.push_back(entry);
    fmt::print("{:<10} {}{}\n", element.name, element.joint, element.to.empty() ? "" : " to " + element.to);
  }
  const nlohmann::ordered_json recipe{
      {"layers", {"dqs", nlohmann::ordered_json{{"method", "flesh"}, {"elements", list}}}}};
  write_file(command.output, recipe.dump(2) + "\n");
  fmt::print("{} elements: {}\n", elements.size(), command.output);
  return 0;
}

}  // namespace sinew::cli
