// Writes a built-in character or open surface to a file.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/models/models.h>
#include <sinew/models/open_models.h>
#include <sinew/scene/gltf.h>
#include <sinew/scene/obj.h>

#include "apps/cli/argument_types.h"
#include "apps/cli/progress_bar.h"
#include "apps/cli/verbs.h"

namespace sinew::cli {

namespace {

struct GenerateCommand {
  std::string name;
  std::filesystem::path output;
  std::size_t vertices = 0;  ///< 0: the model's usual number
  double arm = 1, leg = 1, head = 1, girth = 1;
};

std::string model_list() {
  std::string list;
  for (const Model& model : models())
    list += fmt::format("{}{} ({}; from {} vertices)", list.empty() ? "" : ", ", model.name, model.summary,
                        model.least_vertices);
  for (const OpenModel& model : open_models())
    list += fmt::format(", {} ({}; open, one size)", model.name, model.summary);
  return list;
}

int run_generate(const GenerateCommand& command) {
  const std::string extension = lower_case_extension(command.output);
  if (extension != ".glb" && extension != ".obj")
    throw Error(fmt::format("{}: choose a name that ends in .glb or .obj", command.output.string()));
  AtomicFile probe(command.output);  // a wrong path shows now, not after all the work; removed again
  ModelOptions options;
  options.vertices = command.vertices;
  options.proportions = {command.arm, command.leg, command.head, command.girth};
  const Scene scene = make_built_in_scene(command.name, options, progress_bar(command.name));
  if (extension == ".glb")
    write_glb(scene, command.output);
  else
    write_obj(scene, command.output);
  std::string clips;
  for (const Clip& clip : scene.clips) clips += (clips.empty() ? "" : ", ") + clip.name;
  fmt::print(stderr, "{}: {} vertices, {} triangles, {} joints, clips: {}{}\n", command.output.string(),
             scene.meshes[0].surface.positions.size(), scene.meshes[0].surface.triangles.size(),
             scene.skeleton.size(), clips, extension == ".obj" ? " (the .obj holds the mesh alone)" : "");
  return 0;
}

std::function<int()> declare_generate(CLI::App& app) {
  const auto command = std::make_shared<GenerateCommand>();
  app.add_option("NAME", command->name, model_list())->type_name(kModelName)->required();
  app.add_option("-o,--output", command->output, "OUT.glb, or OUT.obj for the mesh alone")
      ->type_name(kFile)
      ->required();
  app.add_option("--vertices", command->vertices, "exactly this many vertices (default: the model's own)")
      ->check(CLI::Range(std::size_t{1}, kMostModelVertices));
  app.add_option("--arm", command->arm, "length of the arms or fore legs, 0.5 to 2 (default 1)");
  app.add_option("--leg", command->leg, "length of the legs or hind legs, 0.5 to 2");
  app.add_option("--head", command->head, "size of the head, 0.5 to 2");
  app.add_option("--girth", command->girth, "thickness of everything, 0.5 to 2");
  return [command] { return run_generate(*command); };
}

}  // namespace

const Verb kGenerateVerb{"generate", "Write a built-in character, made by code at any resolution",
                         declare_generate};

}  // namespace sinew::cli
