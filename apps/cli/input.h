#pragma once

#include <string>

#include <sinew/scene/scene.h>

namespace sinew::cli {

/// The scene an INPUT argument names: a file, or model:NAME for a built-in character. What the reader had to
/// mend is told on stderr. Throws Error.
Scene open_input(const std::string& input);

}  // namespace sinew::cli
