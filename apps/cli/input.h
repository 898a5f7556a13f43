#pragma once

#include <string>

#include <sinew/scene/scene.h>

namespace sinew::cli {

/// The scene an INPUT argument names: a file, or model:NAME for a built-in character. What the reader had to
/// mend is told on stderr, unless the caller shows the warnings itself. Throws Error.
Scene open_input(const std::string& input, bool tell_warnings = true);

}  // namespace sinew::cli
