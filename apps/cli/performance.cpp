#include "apps/cli/performance.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <numbers>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <sinew/character/layer.h>
#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/core/index.h>
#include <sinew/scene/retarget.h>

#include "apps/cli/argument_types.h"
#include "apps/cli/input.h"

namespace sinew::cli {

namespace {

struct JointTurn {
  std::size_t joint;
  Quatf rotation;
};

/// Reads JOINT=X,Y,Z. Joint names may hold '=' and ','; the angles stand after the last '='.
JointTurn parse_pose(const std::string& text, const Scene& scene) {
  const auto fail = [&](const std::string& what) -> JointTurn {
    throw Error(fmt::format("--pose {}: {}", text, what));
  };
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos) return fail("expected JOINT=X,Y,Z in degrees");
  const std::string name = text.substr(0, equals);
  const int joint = scene.skeleton.find(name);
  if (joint < 0) return fail(fmt::format("no joint '{}'; `sinew info --json` lists them", name));
  double angles[3];
  const char* at = text.data() + equals + 1;
  const char* end = text.data() + text.size();
  for (int axis = 0; axis < 3; ++axis) {
    const auto [rest, error] = std::from_chars(at, end, angles[axis]);
    if (error != std::errc() || !std::isfinite(angles[axis]) || std::abs(angles[axis]) > 1e6)
      return fail("expected three angles in degrees");
    const bool separator = rest != end && *rest == ',';
    if (separator != (axis < 2) || (axis == 2 && rest != end))
      return fail("expected three angles in degrees");
    at = rest + 1;
  }
  const auto turn = [&](int axis) {
    return Eigen::AngleAxisd(angles[axis] * std::numbers::pi / 180, Vec3d::Unit(axis));
  };
  return {to_size(joint), Quatd(turn(2) * turn(1) * turn(0)).cast<float>()};
}

/// The clip that --clip names, or null for the rest pose.
const Clip* choose_clip(const std::vector<Clip>& clips, const std::string& wanted, const std::string& file) {
  const auto list = [&] {
    std::string names;
    for (std::size_t c = 0; c < clips.size(); ++c)
      names += fmt::format("{}{} '{}'", c > 0 ? ", " : "", c, clips[c].name);
    return names;
  };
  if (wanted.empty()) {
    if (clips.empty()) return nullptr;
    if (clips.size() == 1) return &clips[0];
    throw Error(fmt::format("{}: has {} clips; choose one with --clip: {}", file, clips.size(), list()));
  }
  for (const Clip& clip : clips)
    if (clip.name == wanted) return &clip;
  if (wanted == "none") return nullptr;
  std::size_t number = 0;
  const auto [rest, error] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), number);
  if (error == std::errc() && rest == wanted.data() + wanted.size() && number < clips.size())
    return &clips[number];
  if (clips.empty()) throw Error(fmt::format("{}: has no clip '{}': it has no clips", file, wanted));
  throw Error(fmt::format("{}: has no clip '{}'; it has: {}", file, wanted, list()));
}

struct FrameRange {
  int first;
  int last;
};

// More than nine hours at 30 fps: a damaged clip rather than a wish.
constexpr int kMostFrames = 1'000'000;

FrameRange parse_frames(const std::string& text, int count) {
  if (text.empty() && count > kMostFrames)
    throw Error(fmt::format("the clip has {} frames or more; choose some with --frames A-B", count));
  if (text.empty()) return {0, count - 1};
  const auto fail = [&](const std::string& what) -> FrameRange {
    throw Error(fmt::format("--frames {}: {}", text, what));
  };
  FrameRange range{};
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, range.first);
  if (first.ec != std::errc()) return fail("expected A-B or A, counted from 0");
  range.last = range.first;
  if (first.ptr != end) {
    if (*first.ptr != '-') return fail("expected A-B or A, counted from 0");
    const auto last = std::from_chars(first.ptr + 1, end, range.last);
    if (last.ec != std::errc() || last.ptr != end) return fail("expected A-B or A, counted from 0");
  }
  if (range.first < 0) return fail("frames count from 0");
  if (range.last < range.first) return fail("the last frame lies before the first");
  if (range.last >= count) return fail(fmt::format("the clip has the frames 0-{}", count - 1));
  return range;
}

/// The motion file's clips, moved onto the scene's skeleton.
std::vector<Clip> retargeted_clips(const std::string& file, const Scene& scene) {
  const Scene motion = open_input(file);
  if (motion.clips.empty()) throw Error(fmt::format("{}: has no clips", file));
  std::vector<Clip> clips;
  for (const Clip& clip : motion.clips) {
    RetargetReport report;
    clips.push_back(retarget_clip(motion.skeleton, clip, scene.skeleton, &report));
    if (!report.sources_without_partner.empty()) {
      std::string names;
      for (const std::string& name : report.sources_without_partner)
        names += (names.empty() ? "" : ", ") + name;
      fmt::print(stderr, "sinew: warning: {}: clip '{}': no partner in the character for: {}\n", file,
                 clip.name, names);
    }
  }
  return clips;
}

}  // namespace

void add_performance_options(CLI::App& app, PerformanceOptions& options) {
  add_character(app, "INPUT", options.input)->required();
  app.add_option("--clip", options.clip,
                 "clip by name or number, from 0, or none for the rest pose (default: the only one)");
  app.add_option("--motion", options.motion,
                 "take the clips from this file, e.g. a .bvh, matched to the character by joint names")
      ->type_name(kCharacter);
  app.add_option("--pose", options.poses,
                 "JOINT=X,Y,Z: turn a joint on top of the clip, degrees about x, then y, then z of the "
                 "joint's frame; repeatable")
      ->allow_extra_args(false);
  CLI::Option* skin =
      app.add_option("--skin", options.skin, "deform with this one method: " + layer_method_names())
          ->type_name(kMethod);
  app.add_option("--recipe", options.recipe, "deform as this recipe says (see `sinew recipe`)")
      ->type_name(kFile)
      ->excludes(skin);
  app.add_option("--fps", options.fps, "frames per second (default: the clip's own rate)")
      ->check(CLI::Range(0.01, 10000.0));
  app.add_option("--frames", options.frames, "A-B or A: frames, from 0, both included (default: all)");
}

void add_compare_option(CLI::App& app, std::string& compare) {
  app.add_option("--compare", compare, "A,B,C: these methods side by side, and recipes (.json files)")
      ->type_name(kMethods)
      ->excludes("--skin")
      ->excludes("--recipe");
}

Recipe open_recipe(const std::filesystem::path& path) {
  Recipe recipe = read_recipe(path);
  for (const std::string& warning : recipe.warnings) fmt::print(stderr, "sinew: warning: {}\n", warning);
  return recipe;
}

Recipe choose_recipe(const PerformanceOptions& options) {
  if (!options.recipe.empty()) return open_recipe(options.recipe);
  if (!options.skin.empty()) return recipe_for_method(options.skin);
  return Recipe();
}

std::vector<NamedRecipe> choose_recipes(const PerformanceOptions& options, const std::string& compare) {
  std::vector<NamedRecipe> recipes;
  if (compare.empty()) {
    recipes.push_back({"", choose_recipe(options)});
    for (const LayerRecipe& layer : recipes[0].recipe.layers)
      recipes[0].name += (recipes[0].name.empty() ? "" : "+") + layer.method;
    if (recipes[0].name.empty()) recipes[0].name = "none";
    return recipes;
  }
  for (std::size_t begin = 0; begin <= compare.size();) {
    const std::size_t end = std::min(compare.find(',', begin), compare.size());
    const std::string name = compare.substr(begin, end - begin);
    begin = end + 1;
    if (name.empty()) throw Error(fmt::format("--compare {}: a name is empty", compare));
    if (std::any_of(recipes.begin(), recipes.end(),
                    [&](const NamedRecipe& other) { return other.name == name; }))
      throw Error(fmt::format("--compare {}: '{}' stands there twice", compare, name));
    const bool is_file = lower_case_extension(name) == ".json";
    if (!is_file && find_layer_method(name) == nullptr)
      throw Error(fmt::format("--compare: no method '{}'; there are {}, and recipes (.json files)", name,
                              layer_method_names()));
    recipes.push_back({name, is_file ? open_recipe(name) : recipe_for_method(name)});
  }
  return recipes;
}

Performance open_performance(const PerformanceOptions& options) {
  Performance performance;
  performance.scene = open_input(options.input);
  Scene& scene = performance.scene;
  if (!options.motion.empty()) scene.clips = retargeted_clips(options.motion, scene);
  const Clip* clip =
      choose_clip(scene.clips, options.clip, options.motion.empty() ? options.input : options.motion);
  if (clip != nullptr) performance.clip = *clip;
  std::vector<JointTurn> turns;
  for (const std::string& pose : options.poses) turns.push_back(parse_pose(pose, scene));

  const double fps = options.fps > 0 ? options.fps : clip != nullptr ? guess_frame_rate(*clip) : 30;
  performance.frames_per_second = fps;
  const FrameRange range = parse_frames(options.frames, clip != nullptr ? frame_count(*clip, fps) : 1);
  performance.first_frame = range.first;
  performance.last_frame = range.last;
  performance.set_pose = [rest = rest_pose(scene), clip = performance.clip, turns, fps](int frame,
                                                                                        Pose& pose) {
    pose = rest;
    if (clip) sample_clip(*clip, frame / fps, pose);
    for (const JointTurn& turn : turns) {
      Quatf& rotation = pose.joints[turn.joint].rotation;
      rotation = (rotation * turn.rotation).normalized();
    }
  };
  return performance;
}

void refuse_to_overwrite_inputs(const PerformanceOptions& options, const std::filesystem::path& output) {
  for (const std::filesystem::path& source :
       {std::filesystem::path(options.input), std::filesystem::path(options.motion), options.recipe}) {
    std::error_code ignored;
    if (!source.empty() && std::filesystem::equivalent(output, source, ignored))
      throw Error(fmt::format("{}: is an input; choose another name for the output", output.string()));
  }
}

}  // namespace sinew::cli
