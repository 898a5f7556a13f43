// Writes a built-in character or open surface to a file.
#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/models/open_models.h>
#include <sinew/scene/gltf.h>
#include <sinew/scene/obj.h>

#include "apps/cli/progress_bar.h"
#include "apps/cli/verbs.h"

namespace sinew::cli {

int run_generate(const GenerateCommand& command) {
  std::string extension = command.output.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
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

}  // namespace sinew::cli
