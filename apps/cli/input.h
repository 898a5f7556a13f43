#pragma once

#include <string>

#include <sinew/scene/scene.h>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sinew::cli {

/// An argument that names a character: what open_input() takes.
CLI::Option* add_character(CLI::App& app, const char* name, std::string& input);

/// The scene an INPUT argument names: a file, or model:NAME for a built-in character. What the reader had to
/// mend is told on stderr, unless the caller shows the warnings itself. Throws Error.
Scene open_input(const std::string& input, bool tell_warnings = true);

/// The same for a rig: also template:NAME, one of Sinew's own (fitting/template_rigs.h).
Scene open_rig(const std::string& input);

}  // namespace sinew::cli
