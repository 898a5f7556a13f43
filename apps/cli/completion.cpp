// Prints a script that makes a shell complete the command line.
#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "apps/cli/completion_scripts.h"
#include "apps/cli/verbs.h"

namespace sinew::cli {

namespace {

int run_completion(const std::string& shell, CLI::App& root) {
  const CommandTree tree = describe_program(root);
  fmt::print("{}", shell == "bash"  ? bash_completion(tree)
                   : shell == "zsh" ? zsh_completion(tree)
                                    : fish_completion(tree));
  return 0;
}

std::function<int()> declare_completion(CLI::App& app) {
  const auto shell = std::make_shared<std::string>();
  app.add_option(
         "SHELL", *shell,
         "the shell to print it for, e.g. `source <(sinew completion bash)`; `cmake --install` puts all "
         "three where shells look")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->required();
  return [shell, &app] { return run_completion(*shell, *app.get_parent()); };
}

}  // namespace

const Verb kCompletionVerb{"completion", "Print a script that completes this command line in a shell",
                           declare_completion};

}  // namespace sinew::cli
