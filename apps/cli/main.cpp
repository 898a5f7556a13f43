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
#include <sinew/fitting/template_rigs.h>
#include <sinew/models/models.h>
#include <sinew/models/open_models.h>
#include <sinew/version.h>

#include "apps/cli/verbs.h"

using namespace sinew::cli;

namespace {

constexpr const char* kInputHelp =
    "a .glb, .gltf, .obj, .fbx, .dae or .bvh file, or a built-in character: model:NAME or "
    "model:NAME@VERTICES (see `sinew generate --help`)";

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
  app.footer(
      "Tables of implicit skinning are kept in $XDG_CACHE_HOME/sinew or ~/.cache/sinew;\n"
      "SINEW_CACHE=off in the environment keeps none.");
  int threads = 0;
  app.add_option("--threads", threads, "threads to use (default: all cores)")->check(CLI::Range(1, 1024));

  InfoOptions info;
  CLI::App* info_verb = app.add_subcommand("info", "What a file holds, and what is wrong with it");
  info_verb->add_option("INPUT", info.input, kInputHelp)->required();
  info_verb->add_flag("--json", info.json, "print a machine-readable report");

  GenerateCommand generate;
  CLI::App* generate_verb =
      app.add_subcommand("generate", "Write a built-in character, made by code at any resolution");
  std::string model_list;
  for (const sinew::Model& model : sinew::models())
    model_list += fmt::format("{}{} ({}; from {} vertices)", model_list.empty() ? "" : ", ", model.name,
                              model.summary, model.least_vertices);
  for (const sinew::OpenModel& model : sinew::open_models())
    model_list += fmt::format(", {} ({}; open, one size)", model.name, model.summary);
  generate_verb->add_option("NAME", generate.name, model_list)->required();
  generate_verb->add_option("-o,--output", generate.output, "OUT.glb, or OUT.obj for the mesh alone")
      ->required();
  generate_verb
      ->add_option("--vertices", generate.vertices, "exactly so many vertices (default: the model's own)")
      ->check(CLI::Range(std::size_t{1}, sinew::kMostModelVertices));
  generate_verb->add_option("--arm", generate.arm, "length of the arms or fore legs, 0.5 to 2 (default 1)");
  generate_verb->add_option("--leg", generate.leg, "length of the legs or hind legs, 0.5 to 2");
  generate_verb->add_option("--head", generate.head, "size of the head, 0.5 to 2");
  generate_verb->add_option("--girth", generate.girth, "thickness of everything, 0.5 to 2");

  FitCommand fit;
  CLI::App* fit_verb = app.add_subcommand("fit", "Put a rig, with its controllers, into a mesh");
  fit_verb->add_option("MESH", fit.mesh, kInputHelp)->required();
  fit_verb
      ->add_option("--rig", fit.rig,
                   "the rig: a rig file (.json, docs/rigs.md), any file with a skeleton, model:NAME, or " +
                       std::string("template:NAME, one of ") + sinew::template_names())
      ->required();
  fit_verb
      ->add_option("-o,--output", fit.output,
                   "OUT.glb (mesh and rig, to be bound), or OUT.json (the rig alone)")
      ->required();
  fit_verb->add_option("--head-bone", fit.head_bone, "the rig's head (default: by its name)");
  fit_verb->add_option("--head", fit.head, "X,Y,Z: the top of the mesh's head, metres (default: guessed)");
  fit_verb->add_flag("--asymmetric", fit.asymmetric, "do not make left and right mirror images");
  fit_verb->add_option("--picture", fit.picture, "PNG: the limbs that were found, and the rig in the mesh");
  fit_verb->add_flag("--json", fit.json, "print a machine-readable report");

  BindCommand bind;
  CLI::App* bind_verb = app.add_subcommand("bind", "Give a mesh the weights by which a skeleton moves it");
  bind_verb->add_option("MESH", bind.mesh, kInputHelp)->required();
  bind_verb->add_option("--rig", bind.rig,
                        "the skeleton to bind to: a rig file, any file with a skeleton, model:NAME or "
                        "template:NAME (default: MESH's own)");
  bind_verb->add_option("-o,--output", bind.output, "OUT.glb")->required();
  bind_verb
      ->add_option("--method", bind.method,
                   "heat (smooth, follows the shape), rigid (one joint per vertex) or envelope (by distance "
                   "alone)")
      ->capture_default_str();
  bind_verb->add_option("--influences", bind.influences, "most joints per vertex: a number, or all")
      ->capture_default_str();
  bind_verb
      ->add_option("--sharpness", bind.sharpness,
                   "how soon heat hands over from one joint to the next: 1 (softest) to 8")
      ->check(CLI::Range(1.0, 8.0))
      ->capture_default_str();
  bind_verb->add_option("--smooth", bind.smooth, "passes of smoothing the weights over the surface")
      ->check(CLI::Range(0, 1000));
  bind_verb->add_option("--prune", bind.prune, "drop weights below this")
      ->check(CLI::Range(0.0, 0.5))
      ->capture_default_str();
  bind_verb
      ->add_option("--symmetry", bind.symmetry,
                   "the same weights on both sides: auto (where the joints mirror, by their names), none, or "
                   "across the axis x, y or z")
      ->capture_default_str();
  bind_verb
      ->add_option("--ignore", bind.ignore,
                   "PATTERN: joints that get no weights; * stands for anything, ? for one character; "
                   "repeatable")
      ->allow_extra_args(false);
  bind_verb
      ->add_option("--lock", bind.lock, "PATTERN: joints that keep the weights they have in MESH; repeatable")
      ->allow_extra_args(false);
  bind_verb->add_option("--mesh", bind.meshes, "PATTERN: bind these meshes only; repeatable")
      ->allow_extra_args(false);
  bind_verb->add_option("--pictures", bind.pictures,
                        "DIR: draw each joint's weights, and all joints' regions, into this directory");
  bind_verb->add_flag("--json", bind.json, "print a machine-readable report");

  TransferCommand transfer;
  CLI::App* transfer_verb =
      app.add_subcommand("transfer", "Carry the weights of a bound mesh over to another, such as clothes");
  transfer_verb->add_option("BOUND", transfer.bound, "the bound character: a file, or model:NAME")
      ->required();
  transfer_verb->add_option("MESH", transfer.mesh, "what shall move along: a file")->required();
  transfer_verb->add_option("-o,--output", transfer.output, "OUT.glb")->required();
  transfer_verb
      ->add_option(
          "--distance", transfer.distance,
          "SHARE: farther from BOUND than this share of its size, a vertex takes its weights from its "
          "neighbours (default: 0.05)")
      ->check(CLI::Range(0.0, 10.0));
  transfer_verb
      ->add_option("--angle", transfer.angle,
                   "DEGREES: the same where the surfaces' directions differ by more (default: 60)")
      ->check(CLI::Range(0.1, 90.0));
  transfer_verb->add_option("--influences", transfer.influences, "most joints per vertex: a number, or all")
      ->capture_default_str();
  transfer_verb->add_option("--mesh", transfer.meshes, "PATTERN: these meshes of MESH only; repeatable")
      ->allow_extra_args(false);
  transfer_verb->add_option("--pictures", transfer.pictures, "DIR: draw each joint's weights");
  transfer_verb->add_flag("--json", transfer.json, "print a machine-readable report");

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
  bake_verb->add_flag(
      "--loop", bake.loop,
      "the clip's last frame is its first: what has a history goes round it first, without a seam");
  bake_verb->add_flag("--json", bake.json, "print a machine-readable report");

  MeasureCommand measure;
  CLI::App* measure_verb =
      app.add_subcommand("measure", "What a performance does to the surface: overlap, stretch, flicker");
  add_performance_options(*measure_verb, measure.performance);
  measure_verb
      ->add_option("--compare", measure.compare,
                   "A,B,C: these methods side by side, and recipes (.json files)")
      ->excludes("--skin")
      ->excludes("--recipe");
  measure_verb->add_flag("--per-frame", measure.per_frame, "print every frame's figures too");
  measure_verb->add_flag("--json", measure.json, "print a machine-readable report, every frame included");

  RenderCommand render;
  CLI::App* render_verb = app.add_subcommand("render", "A picture or an animation of a character in clay");
  add_performance_options(*render_verb, render.performance);
  render_verb
      ->add_option("-o,--output", render.output,
                   "OUT.png (the rest pose, or the clip's frames on one sheet) or OUT.webp (an animation)")
      ->required();
  render_verb
      ->add_option("--compare", render.compare,
                   "A,B,C: these methods side by side, and recipes (.json files)")
      ->excludes("--skin")
      ->excludes("--recipe");
  render_verb->add_option("--size", render.size,
                          "WxH: pixels of one view (default: 960x960, 480x480 of many)");
  render_verb->add_option(
      "--camera", render.camera,
      "front, back, left, right, top, three-quarter, or YAW,PITCH in degrees (default: front; "
      "for --field-slice, facing its plane)");
  render_verb->add_option("--focus", render.focus, "JOINT: a close-up that goes along with this joint");
  render_verb->add_option("--zoom", render.zoom, "above 1 shows less, and larger")
      ->check(CLI::Range(0.05, 100.0));
  render_verb->add_flag("--follow", render.follow, "the camera goes along with the character's root");
  render_verb
      ->add_option(
          "--color", render.color,
          "clay, weights, partition, stretch (area), contact (what implicit skinning did to each "
          "vertex), freedom or freedom:JOINT (how freely skin restores volume), or bone:JOINT (weight)")
      ->capture_default_str();
  render_verb->add_flag("--wireframe", render.wireframe, "draw the triangles' edges");
  render_verb->add_flag("--skeleton", render.skeleton, "draw the bones over the surface");
  render_verb->add_flag("--no-floor", render.no_floor, "no floor to cast a shadow on");
  render_verb->add_option("--cut", render.cut,
                          "x=0.1: cut the character open there, the side towards the camera taken away; "
                          "x<0.1 and x>0.1 say which side stays");
  render_verb
      ->add_option("--field-slice", render.field_slice,
                   "x=0.1: cut the character open there and paint the field of implicit skinning on the "
                   "plane, with its iso-lines; y=0.1 and z=0.1 likewise")
      ->excludes("--cut")
      ->excludes("--color");
  render_verb
      ->add_flag("--fields", render.fields,
                 "show each bone's field of implicit skinning as a solid, with the skin as glass")
      ->excludes("--field-slice")
      ->excludes("--color")
      ->excludes("--wireframe");
  render_verb->add_option("--quality", render.quality, "draft or final (default: draft for .webp)")
      ->check(CLI::IsMember({"draft", "final"}));
  render_verb->add_option("--sheet", render.sheet, "columns of a sheet of several frames")
      ->check(CLI::Range(1, 100));
  render_verb->add_option("--every", render.every, "N: show every Nth frame only")
      ->check(CLI::Range(1, 1000000));
  render_verb->add_option("--caption", render.caption, "a line of text for the picture");

  RecipeOptions recipe;
  CLI::App* recipe_verb =
      app.add_subcommand("recipe", "Every field a recipe may have, with default and range");
  recipe_verb->add_flag("--json", recipe.json, "print it as JSON");
  CLI::Option* profiles =
      recipe_verb->add_option("--profiles", recipe.profiles,
                              "RECIPE.json: instead draw the curves along bones of its volume layer, to -o");
  recipe_verb->add_option("-o,--output", recipe.output, "OUT.svg")->needs(profiles);
  profiles->needs("--output")->excludes("--json");

  SuggestCommand suggest;
  CLI::App* suggest_verb = app.add_subcommand(
      "suggest", "A recipe with elements that are found on a bound character, to be edited");
  suggest_verb->add_option("INPUT", suggest.performance.input, kInputHelp)->required();
  suggest_verb->add_option("--layer", suggest.layer, "what for: flesh or wrinkles")
      ->check(CLI::IsMember({"flesh", "wrinkles"}))
      ->capture_default_str();
  suggest_verb->add_option("--clip", suggest.performance.clip,
                           "wrinkles: the clip over which compression is measured (default: all clips)");
  suggest_verb->add_option("--motion", suggest.performance.motion,
                           "wrinkles: file whose clips are used instead of the input's");
  CLI::Option* suggest_skin =
      suggest_verb->add_option("--skin", suggest.performance.skin, "method to stand below (default: dqs)");
  suggest_verb->add_option("--recipe", suggest.performance.recipe, "RECIPE.json to add the layer to")
      ->excludes(suggest_skin);
  suggest_verb->add_option("--most", suggest.most, "wrinkles: how many tools, strongest first")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  suggest_verb->add_option("-o,--output", suggest.output, "RECIPE.json")->required();

  BenchOptions bench;
  CLI::App* bench_verb = app.add_subcommand("bench", "Time every method and the kernels on this machine");
  bench_verb->add_flag("--json", bench.json, "print a machine-readable report");
  bench_verb
      ->add_option("--repeats", bench.repeats,
                   "timed runs of each case, of which the median counts "
                   "(default: up to 60, within a few seconds per case)")
      ->check(CLI::Range(1, 100000));
  bench_verb->add_option("--filter", bench.filter, "only the cases with this text in their name, e.g. tube");
  bench_verb->add_option("--methods", bench.methods, "A,B,C: only these methods, and lbs (default: all)");
  bench_verb->add_option("--plot", bench.plot, "OUT.svg: time per vertex over size, a line per method");

  DemoOptions demo;
  CLI::App* demo_verb =
      app.add_subcommand("demo", "Show every method on built-in characters: pictures, figures, files");
  demo_verb->add_option("-o,--output", demo.directory, "directory to write to (default: out/demo)");
  demo_verb->add_option("--only", demo.only, "one of arm, hand, mannequin and cat (default: all)");
  demo_verb->add_option("--size", demo.size, "pixels of one view's side (default: 400)")
      ->check(CLI::Range(32, 2000));
  demo_verb->add_flag("--quick", demo.quick, "coarse characters and few frames: rough, but soon done");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    const std::vector<CLI::App*> verbs = app.get_subcommands();
    fmt::print(stderr, "sinew: {}; see `sinew {}--help`\n", error.what(),
               verbs.empty() ? "" : verbs[0]->get_name() + " ");
    return 1;
  }

  std::optional<tbb::global_control> limit;
  if (threads > 0)
    limit.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads));
  if (info_verb->parsed()) return run_info(info);
  if (generate_verb->parsed()) return run_generate(generate);
  if (fit_verb->parsed()) return run_fit(fit);
  if (bind_verb->parsed()) return run_bind(bind);
  if (transfer_verb->parsed()) return run_transfer(transfer);
  if (bake_verb->parsed()) return run_bake(bake);
  if (measure_verb->parsed()) return run_measure(measure);
  if (render_verb->parsed()) return run_render(render);
  if (recipe_verb->parsed()) return run_recipe(recipe);
  if (suggest_verb->parsed()) return run_suggest(suggest);
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
