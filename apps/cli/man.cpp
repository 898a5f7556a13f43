// Prints the manual page.
#include <cstdio>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "apps/cli/man_page.h"
#include "apps/cli/verbs.h"

namespace sinew::cli {

namespace {

std::function<int()> declare_man(CLI::App& app) {
  return [&app] {
    fmt::print("{}", man_page(describe_program(*app.get_parent())));
    return 0;
  };
}

}  // namespace

const Verb kManVerb{"man", "Print the manual page; `sinew man | man -l -` shows it", declare_man};

}  // namespace sinew::cli
