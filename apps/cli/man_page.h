#pragma once

#include <string>

#include "apps/cli/command_tree.h"

namespace sinew::cli {

/// sinew.1, in the macros of man(7). Pure ASCII.
std::string man_page(const CommandTree& tree);

}  // namespace sinew::cli
