#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <sinew/character/bake.h>
#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/scene/gltf_document.h>
#include <sinew/skeleton/clip.h>

#include "apps/cli/argument_types.h"
#include "apps/cli/json.h"
#include "apps/cli/operator_tables.h"
#include "apps/cli/performance.h"
#include "apps/cli/progress_bar.h"
#include "apps/cli/verbs.h"

namespace sinew::cli {

namespace {

struct BakeCommand {
  PerformanceOptions performance;
  std::filesystem::path output;
  char up = 'y';
  bool loop = false;
  bool json = false;
};

/// Whether a glTF file has vertex data that a scene does not hold, and that new triangles therefore lose.
bool has_further_attributes(const Scene& scene) {
  if (!scene.document || !scene.document->json.contains("meshes")) return false;
  for (const auto& mesh : scene.document->json["meshes"])
    for (const auto& primitive : mesh["primitives"])
      for (const auto& [name, accessor] : primitive["attributes"].items())
        if (name.starts_with("COLOR_") || (name.starts_with("TEXCOORD_") && name != "TEXCOORD_0"))
          return true;
  return false;
}

int run_bake(const BakeCommand& command) {
  Recipe recipe = choose_recipe(command.performance);
  const Performance performance = open_performance(command.performance);
  const std::string& input = command.performance.input;
  FrameWriterOptions format;
  format.frame_count = performance.last_frame - performance.first_frame + 1;
  format.first_frame = performance.first_frame;
  format.frames_per_second = performance.frames_per_second;
  format.up_axis = command.up;
  if (performance.clip && !performance.clip->name.empty()) format.clip_name = performance.clip->name;

  // A first writer knows what the format wants and refuses what it cannot do before any work is done.
  std::unique_ptr<FrameWriter> writer = make_frame_writer(performance.scene, command.output, format);
  for (const std::filesystem::path& output : writer->outputs())
    refuse_to_overwrite_inputs(command.performance, output);
  recipe.normals = recipe.normals && writer->wants_normals();
  const std::shared_ptr<const Character> character = make_character(performance.scene, recipe);
  if (character->refined_scene() != nullptr) {
    writer.reset();
    writer = make_frame_writer(*character->refined_scene(), command.output, format);
    if (lower_case_extension(command.output) == ".glb" && has_further_attributes(performance.scene))
      fmt::print(stderr,
                 "sinew: warning: {}: meshes that get more triangles lose vertex colours and second UV sets; "
                 "\"refine\": 0 in the recipe's wrinkles layer keeps them\n",
                 input);
    // Other formats hold the mesh; a cache only fits one that has the same vertices.
    if (!writer->wants_normals())
      fmt::print(
          stderr,
          "sinew: warning: {}: the recipe gives the character more triangles, so the cache does not fit "
          "the file; it fits what `bake --frames 0 -o NAME.obj` with this recipe writes\n",
          input);
  }
  const Scene& scene = character->shown_scene(performance.scene);
  for (const std::string& warning : character->warnings())
    fmt::print(stderr, "sinew: warning: {}: {}\n", input, warning);

  BakeOptions options;
  options.first_frame = performance.first_frame;
  options.last_frame = performance.last_frame;
  options.frames_per_second = performance.frames_per_second;
  options.set_pose = performance.set_pose;
  if (command.loop) {
    if (!performance.clip) throw Error("--loop: there is no clip to go round; choose one with --clip");
    options.loop_frames = std::max(1, frame_count(*performance.clip, performance.frames_per_second) - 1);
  }
  const BakeReport report = bake(character, options, *writer, progress_bar("bake"));

  if (report.rejected_joints > 0)
    fmt::print(stderr,
               "sinew: warning: {}: {} joint transforms were not finite or absurd and took their rest\n",
               input, report.rejected_joints);
  if (command.json) {
    Json json;
    json["input"] = input;
    json["clip"] = performance.clip ? Json(performance.clip->name) : Json();
    json["layers"] = Json::array();
    for (const LayerRecipe& layer : recipe.layers) json["layers"].push_back(layer.method);
    json["fps"] = performance.frames_per_second;
    json["first_frame"] = performance.first_frame;
    json["frames"] = report.frames;
    json["rejected_joints"] = report.rejected_joints;
    json["meshes"] = Json::array();
    for (const SceneMesh& mesh : scene.meshes)
      json["meshes"].push_back({{"name", mesh.name}, {"vertices", mesh.surface.positions.size()}});
    json["outputs"] = Json::array();
    for (const auto& path : writer->outputs()) json["outputs"].push_back(path.string());
    print_json(json);
  } else {
    const auto outputs = writer->outputs();
    fmt::print(
        stderr, "{} frame{} at {} fps: {}{}\n", report.frames, report.frames == 1 ? "" : "s",
        performance.frames_per_second, outputs.front().string(),
        outputs.size() > 1 ? fmt::format(" … {} ({} files)", outputs.back().string(), outputs.size()) : "");
  }
  return 0;
}

std::function<int()> declare_bake(CLI::App& app) {
  const auto command = std::make_shared<BakeCommand>();
  add_performance_options(app, command->performance);
  app.add_option(
         "-o,--output", command->output,
         "OUT.pc2 or OUT.mdd (one per mesh), OUT.glb (frames as morph targets) or OUT.obj (one per frame)")
      ->type_name(kFile)
      ->required();
  app.add_option("--up", command->up, "up axis of .pc2 and .mdd: y, or z for Blender")
      ->check(CLI::IsMember({'y', 'z'}));
  app.add_flag("--loop", command->loop,
               "the clip's last frame is its first: methods with a history play it once beforehand, so that "
               "no seam shows");
  app.add_flag("--json", command->json, "print a machine-readable report");
  return [command] { return run_bake(*command); };
}

}  // namespace

const Verb kBakeVerb{"bake", "Deform a character and write the frames to a cache", declare_bake};

}  // namespace sinew::cli
