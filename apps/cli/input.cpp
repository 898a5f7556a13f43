#include "apps/cli/input.h"

#include <cstdio>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/models/tube.h>

namespace sinew::cli {

Scene open_input(const std::string& input, bool tell_warnings) {
  constexpr std::string_view kModel = "model:";
  if (input.starts_with(kModel)) {
    const std::string name = input.substr(kModel.size());
    if (name == "tube") return make_tube();
    throw Error(fmt::format("{}: no such built-in character; there is: tube", input));
  }
  Scene scene = read_scene(input);
  if (tell_warnings)
    for (const std::string& warning : scene.warnings)
      fmt::print(stderr, "sinew: warning: {}{}\n", warning.starts_with(input) ? "" : input + ": ", warning);
  return scene;
}

}  // namespace sinew::cli
