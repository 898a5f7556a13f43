// Proposes what of a character could have a layer whose elements a recipe has to name.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <sinew/authoring/suggest_wrinkles.h>
#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/core/index.h>
#include <sinew/layers/suggest_flesh.h>
#include <sinew/skeleton/clip.h>

#include "apps/cli/argument_types.h"
#include "apps/cli/input.h"
#include "apps/cli/json.h"
#include "apps/cli/operator_tables.h"
#include "apps/cli/performance.h"
#include "apps/cli/progress_bar.h"
#include "apps/cli/verbs.h"

namespace sinew::cli {

namespace {

struct SuggestCommand {
  PerformanceOptions performance;  ///< wrinkles: what the character does; no clip: all of them
  std::string layer = "flesh";
  int most = 16;  ///< wrinkle tools
  std::string output;
};

constexpr int kMostFramesPerClip = 40;

/// A length as people write it: four figures are enough for a suggestion.
double rounded(double value) {
  if (value == 0) return 0;
  const double unit = std::pow(10.0, std::floor(std::log10(std::abs(value))) - 3);
  return std::stod(fmt::format("{:.9g}", std::round(value / unit) * unit));
}

Json flesh_layer(const SuggestCommand& command, const Character& character) {
  const std::vector<FleshChoice> elements = suggest_flesh(character);
  if (elements.empty())
    throw Error(
        fmt::format("{}: no flesh was found: no joint's name tells of any, and no limb is thick enough; "
                    "name joints in a recipe (see `sinew recipe`)",
                    command.performance.input));
  Json list = Json::array();
  for (const FleshChoice& element : elements) {
    Json entry{{"name", element.name}, {"joint", element.joint}};
    if (!element.to.empty()) entry["to"] = element.to;
    entry["frequency"] = element.frequency;
    entry["damping"] = element.damping;
    entry["thickness"] = element.thickness;
    entry["limit"] = element.limit;
    list.push_back(entry);
    fmt::print("{:<10} {}{}\n", element.name, element.joint, element.to.empty() ? "" : " to " + element.to);
  }
  fmt::print("{} elements: {}\n", elements.size(), command.output);
  return {{"method", "flesh"}, {"elements", list}};
}

/// A few frames of the clip that --clip names, or of all.
WrinkleFrames measured_frames(const SuggestCommand& command) {
  PerformanceOptions options = command.performance;
  if (options.clip.empty()) options.clip.assign(1, '0');
  const std::string& file = options.motion.empty() ? options.input : options.motion;
  const auto no_clip = [&] {
    return Error(fmt::format(
        "{}: has no clip to measure compression over; give a file with one that bends joints with --motion",
        file));
  };
  if (command.performance.clip.empty() && open_input(file).clips.empty()) throw no_clip();
  const Performance performance = open_performance(options);
  if (!performance.clip) throw no_clip();
  std::vector<Clip> clips{*performance.clip};
  if (command.performance.clip.empty()) clips = performance.scene.clips;
  struct Step {
    std::size_t clip;
    double time;
  };
  std::vector<Step> steps;
  for (std::size_t c = 0; c < clips.size(); ++c) {
    const int count = std::clamp(frame_count(clips[c], guess_frame_rate(clips[c])), 1, kMostFramesPerClip);
    for (int i = 0; i < count; ++i)
      steps.push_back({c, count > 1 ? clips[c].duration() * i / (count - 1) : 0});
  }
  WrinkleFrames frames;
  frames.count = static_cast<int>(steps.size());
  if (steps.size() > 1 && steps[1].time > 0) frames.seconds = steps[1].time;
  frames.set_pose = [clips, steps, rest = rest_pose(performance.scene)](int i, Pose& pose) {
    const Step& step = steps[to_size(i)];
    pose = rest;
    sample_clip(clips[step.clip], step.time, pose);
  };
  return frames;
}

Json wrinkle_layer(const SuggestCommand& command, const std::shared_ptr<const Character>& character) {
  const WrinkleFrames frames = measured_frames(command);
  const std::vector<WrinkleChoice> tools =
      suggest_wrinkles(character, frames, to_size(command.most), progress_bar("compression"));
  if (tools.empty())
    throw Error(fmt::format(
        "{}: nowhere is its skin pressed together enough to fold in these clips, over more than a few "
        "vertices; try a clip that bends its joints more, or name tools in a recipe (see `sinew recipe`)",
        command.performance.input));
  Json list = Json::array();
  for (const WrinkleChoice& tool : tools) {
    Json entry{{"name", tool.name}};
    if (!tool.mesh.empty()) entry["mesh"] = tool.mesh;
    entry["points"] = Json::array();
    for (const RecipePoint& point : tool.points)
      entry["points"].push_back({{"x", rounded(point.x)}, {"y", rounded(point.y)}, {"z", rounded(point.z)}});
    entry["width"] = rounded(tool.width);
    entry["folds"] = tool.folds;
    entry["levels"] = Json::array();
    for (const WrinkleChoice::Level& level : tool.levels) entry["levels"].push_back({{"share", level.share}});
    entry["strength"] = tool.strength;
    if (tool.extension != 1) entry["extension"] = rounded(tool.extension);
    list.push_back(entry);
    fmt::print("{:<16} {:.3g} m long, {:.3g} m wide\n", tool.name,
               (tool.points[1].position() - tool.points[0].position()).norm(), tool.width);
  }
  fmt::print("{} tools: {}\n", tools.size(), command.output);
  return {{"method", "wrinkles"}, {"tools", list}};
}

/// The recipe that the layer is added to, in the user's own words where there are some, without such a layer.
Json base_recipe(const SuggestCommand& command) {
  Json json;
  if (!command.performance.recipe.empty()) {
    const std::vector<std::byte> bytes = read_file(command.performance.recipe);
    json = Json::parse(reinterpret_cast<const char*>(bytes.data()),
                       reinterpret_cast<const char*>(bytes.data()) + bytes.size());
  }
  if (!json.contains("layers")) {
    json["layers"] = Json::array();
    for (const LayerRecipe& layer : choose_recipe(command.performance).layers)
      json["layers"].push_back(layer.method);
  }
  Json kept = Json::array();
  for (const Json& layer : json["layers"])
    if (layer != command.layer && !(layer.is_object() && layer.value("method", "") == command.layer))
      kept.push_back(layer);
  json["layers"] = kept;
  return json;
}

int run_suggest(const SuggestCommand& command) {
  refuse_to_overwrite_inputs(command.performance, command.output);
  (void)choose_recipe(command.performance);  // refuses what is wrong with it, before it is read as plain JSON
  Json recipe = base_recipe(command);
  const Recipe below = parse_recipe(recipe.dump(), "recipe");
  const auto character = make_character(open_input(command.performance.input), below);
  recipe["layers"].push_back(command.layer == "flesh" ? flesh_layer(command, *character)
                                                      : wrinkle_layer(command, character));
  write_file(command.output, recipe.dump(2) + "\n");
  return 0;
}

std::function<int()> declare_suggest(CLI::App& app) {
  const auto command = std::make_shared<SuggestCommand>();
  add_character(app, "INPUT", command->performance.input)->required();
  app.add_option("--layer", command->layer, "what for: flesh or wrinkles")
      ->check(CLI::IsMember({"flesh", "wrinkles"}))
      ->capture_default_str();
  app.add_option("--clip", command->performance.clip,
                 "wrinkles: the clip over which compression is measured (default: all clips)");
  app.add_option("--motion", command->performance.motion,
                 "wrinkles: file whose clips are used instead of the input's")
      ->type_name(kCharacter);
  CLI::Option* skin =
      app.add_option("--skin", command->performance.skin, "the method below the new layer (default: dqs)")
          ->type_name(kMethod);
  app.add_option("--recipe", command->performance.recipe, "RECIPE.json to add the layer to")
      ->type_name(kFile)
      ->excludes(skin);
  app.add_option("--most", command->most, "wrinkles: at most this many tools, the strongest first")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("-o,--output", command->output, "RECIPE.json")->type_name(kFile)->required();
  return [command] { return run_suggest(*command); };
}

}  // namespace

const Verb kSuggestVerb{"suggest", "Write a recipe with elements found on a bound character, to be edited",
                        declare_suggest};

}  // namespace sinew::cli
