#pragma once

#include <string>

#include "apps/cli/command_tree.h"

/// Scripts that make a shell complete the command line: verbs, options, and what a value may be.
namespace sinew::cli {

std::string bash_completion(const CommandTree& tree);
std::string zsh_completion(const CommandTree& tree);
std::string fish_completion(const CommandTree& tree);

}  // namespace sinew::cli
