#pragma once

#include <string>

#include <sinew/core/progress.h>

namespace sinew::cli {

/// A bar on stderr, or nothing when stderr is not a terminal.
Progress progress_bar(const std::string& label);

}  // namespace sinew::cli
