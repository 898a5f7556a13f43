#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sinew/character/recipe.h>
#include <sinew/scene/scene.h>

namespace CLI {
class App;
}

/// What bake, measure and render have in common: which character, doing what, in which frames.
namespace sinew::cli {

struct PerformanceOptions {
  std::string input;
  std::string clip;    ///< name or number; empty: the only one, or the rest pose; none: the rest pose
  std::string motion;  ///< file whose clips are retargeted to the input; empty: the input's own
  std::vector<std::string> poses;  ///< JOINT=X,Y,Z in degrees
  std::string skin;                ///< method; empty: the recipe's
  std::filesystem::path recipe;
  double fps = 0;      ///< 0: the clip's own rate
  std::string frames;  ///< A-B or A; empty: all
};

struct Performance {
  Scene scene;
  std::optional<Clip> clip;  ///< none: the rest pose
  double frames_per_second = 30;
  int first_frame = 0;
  int last_frame = 0;  ///< inclusive
  /// The pose of any frame of the clip, as BakeOptions::set_pose wants it. Keeps what it needs.
  std::function<void(int frame, Pose& pose)> set_pose;
};

/// Input, clip, poses, method and frames, as arguments of a verb.
void add_performance_options(CLI::App& app, PerformanceOptions& options);

/// --compare A,B,C, instead of the --skin and --recipe of add_performance_options().
void add_compare_option(CLI::App& app, std::string& compare);

/// Reads the input and settles clip, frames and poses. Throws Error for what does not exist.
Performance open_performance(const PerformanceOptions& options);

/// Reads a recipe; what reading it has to say is told on stderr. Throws Error.
Recipe open_recipe(const std::filesystem::path& path);

/// --recipe, --skin or the default.
Recipe choose_recipe(const PerformanceOptions& options);

struct NamedRecipe {
  std::string name;  ///< the method's, the file's, or the layers' joined by +
  Recipe recipe;
};

/// What --compare A,B,C names: methods and recipe files (.json). Without it, the one that choose_recipe
/// gives. Throws Error for unknown, empty and repeated names.
std::vector<NamedRecipe> choose_recipes(const PerformanceOptions& options, const std::string& compare);

/// Throws Error when `output` is one of the files that are read.
void refuse_to_overwrite_inputs(const PerformanceOptions& options, const std::filesystem::path& output);

}  // namespace sinew::cli
