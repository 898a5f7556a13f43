#pragma once

#include <string>

#include <sinew/core/progress.h>

namespace sinew::cli {

/// A bar on stderr (nothing when stderr is not a terminal) that also stops the work on SIGINT and SIGTERM.
Progress progress_bar(const std::string& label);

}  // namespace sinew::cli
