#include "apps/cli/input.h"

#include <charconv>
#include <cstdio>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <sinew/core/error.h>
#include <sinew/fitting/template_rigs.h>
#include <sinew/models/open_models.h>
#include <sinew/scene/rig_file.h>

#include "apps/cli/argument_types.h"

namespace sinew::cli {

CLI::Option* add_character(CLI::App& app, const char* name, std::string& input) {
  return app
      .add_option(name, input,
                  "a .glb, .gltf, .obj, .fbx, .dae or .bvh file, or a built-in character: model:NAME or "
                  "model:NAME@VERTICES (see `sinew generate --help`)")
      ->type_name(kCharacter);
}

Scene open_input(const std::string& input, bool tell_warnings) {
  constexpr std::string_view kModel = "model:";
  if (input.starts_with(kModel)) {
    std::string name = input.substr(kModel.size());
    ModelOptions options;
    if (const std::size_t at = name.find('@'); at != std::string::npos) {
      const std::string count = name.substr(at + 1);
      const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), options.vertices);
      if (error != std::errc() || end != count.data() + count.size() || options.vertices == 0)
        throw Error(fmt::format("{}: expected a number of vertices after the @", input));
      name.resize(at);
    }
    return make_built_in_scene(name, options);
  }
  Scene scene = read_scene(input);
  if (tell_warnings)
    for (const std::string& warning : scene.warnings)
      fmt::print(stderr, "sinew: warning: {}{}\n", warning.starts_with(input) ? "" : input + ": ", warning);
  return scene;
}

Scene open_rig(const std::string& input) {
  constexpr std::string_view kTemplate = "template:";
  if (!input.starts_with(kTemplate)) return open_input(input);
  return scene_from_rig(make_template_rig(input.substr(kTemplate.size())), input);
}

}  // namespace sinew::cli
