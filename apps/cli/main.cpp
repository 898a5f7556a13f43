// The command line: `sinew VERB INPUT -o OUTPUT`. Data goes to stdout, messages and progress to stderr; any
// failure prints one line and exits with 1.
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <tbb/global_control.h>
#include <CLI/CLI.hpp>

#include <sinew/character/layer.h>
#include <sinew/core/error.h>
#include <sinew/version.h>

#include "apps/cli/verbs.h"

using namespace sinew::cli;

namespace {

constexpr const char* kInputHelp = "a .glb, .gltf, .obj, .fbx, .dae or .bvh file, or model:tube";

/// Input, clip, poses, method and frames: the same for all verbs that play a character.
void add_performance_options(CLI::App& verb, PerformanceOptions& options) {
  verb.add_option("INPUT", options.input, kInputHelp)->required();
  verb.add_option("--clip", options.clip,
                  "clip by name or number, from 0, or none for the rest pose (default: the only one)");
  verb.add_option("--motion", options.motion,
                  "take the clips from this file, e.g. a .bvh, matched to the character by joint names");
  verb.add_option("--pose", options.poses,
                  "JOINT=X,Y,Z: turn a joint on top of the clip, degrees about x, then y, then z of the "
                  "joint's frame; repeatable")
      ->allow_extra_args(false);
  CLI::Option* skin =
      verb.add_option("--skin", options.skin, "deform with this one method: " + sinew::layer_method_names());
  verb.add_option("--recipe", options.recipe, "deform as this recipe says (see `sinew recipe`)")
      ->excludes(skin);
  verb.add_option("--fps", options.fps, "frames per second (default: the clip's own rate)")
      ->check(CLI::Range(0.01, 10000.0));
  verb.add_option("--frames", options.frames, "A-B or A: frames, from 0, both included (default: all)");
}

int run(int argc, char** argv) {
  CLI::App app("Sinew rigs characters and deforms their skin like flesh.\n", "sinew");
  app.set_version_flag("--version", "sinew " SINEW_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  int threads = 0;
  app.add_option("--threads", threads, "threads to use (default: all cores)")->check(CLI::Range(1, 1024));

  InfoOptions info;
  CLI::App* info_verb = app.add_subcommand("info", "What a file holds, and what is wrong with it");
  info_verb->add_option("INPUT", info.input, kInputHelp)->required();
  info_verb->add_flag("--json", info.json, "print a machine-readable report");

  BakeCommand bake;
  CLI::App* bake_verb = app.add_subcommand("bake", "Deform a character and write the frames to a cache");
  add_performance_options(*bake_verb, bake.performance);
  bake_verb
      ->add_option(
          "-o,--output", bake.output,
          "OUT.pc2 or OUT.mdd (one per mesh), OUT.glb (frames as morph targets) or OUT.obj (one per frame)")
      ->required();
  bake_verb->add_option("--up", bake.up, "up axis of .pc2 and .mdd: y, or z for Blender")
      ->check(CLI::IsMember({'y', 'z'}));
  bake_verb->add_flag("--json", bake.json, "print a machine-readable report");

  RecipeOptions recipe;
  CLI::App* recipe_verb =
      app.add_subcommand("recipe", "Every field a recipe may have, with default and range");
  recipe_verb->add_flag("--json", recipe.json, "print it as JSON");

  BenchOptions bench;
  CLI::App* bench_verb = app.add_subcommand("bench", "Time the skinning kernels on this machine");
  bench_verb->add_flag("--json", bench.json, "print a machine-readable report");
  bench_verb->add_option("--repeats", bench.repeats, "timed runs of each case, of which the median counts")
      ->check(CLI::Range(1, 100000));

  DemoOptions demo;
  CLI::App* demo_verb = app.add_subcommand("demo", "Bake a tube made by code, with every method");
  demo_verb->add_option("-o,--output", demo.directory, "directory to write to (default: out/demo)");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    fmt::print(stderr, "sinew: {}; see `sinew --help`\n", error.what());
    return 1;
  }

  std::optional<tbb::global_control> limit;
  if (threads > 0)
    limit.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads));
  if (info_verb->parsed()) return run_info(info);
  if (bake_verb->parsed()) return run_bake(bake);
  if (recipe_verb->parsed()) return run_recipe(recipe);
  if (bench_verb->parsed()) return run_bench(bench);
  return run_demo(demo);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int code = run(argc, argv);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      fmt::print(stderr, "sinew: cannot write to standard output\n");
      return 1;
    }
    return code;
  } catch (const sinew::Error& error) {
    fmt::print(stderr, "sinew: {}\n", error.what());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "sinew: not enough memory\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "sinew: unexpected failure: {}\n", error.what());
  }
  return 1;
}
