// The command line: `sinew VERB INPUT -o OUTPUT`. Data goes to stdout, messages and progress to stderr; any
// failure prints one line and exits with 1.
#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <tbb/global_control.h>
#include <CLI/CLI.hpp>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/version.h>

#include "apps/cli/verbs.h"

using namespace sinew::cli;

namespace {

/// In the order of `sinew --help`.
constexpr const Verb* kVerbs[] = {&kInfoVerb,  &kGenerateVerb, &kFitVerb,        &kBindVerb,   &kTransferVerb,
                                  &kBakeVerb,  &kMeasureVerb,  &kRenderVerb,     &kRecipeVerb, &kSuggestVerb,
                                  &kBenchVerb, &kDemoVerb,     &kCompletionVerb, &kManVerb};

int run(int argc, char** argv) {
  CLI::App app("Sinew rigs characters and deforms their skin like flesh.\n", "sinew");
  app.set_version_flag("--version", "sinew " SINEW_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  app.footer(
      "Tables of implicit skinning are kept in $XDG_CACHE_HOME/sinew or ~/.cache/sinew;\n"
      "SINEW_CACHE=off in the environment keeps none.");
  int threads = 0;
  app.add_option("--threads", threads, "threads to use (default: all cores)")->check(CLI::Range(1, 1024));
  std::vector<std::pair<const CLI::App*, std::function<int()>>> verbs;
  for (const Verb* verb : kVerbs) {
    CLI::App* declared = app.add_subcommand(verb->name, verb->summary);
    verbs.emplace_back(declared, verb->declare(*declared));
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    const std::vector<CLI::App*> parsed = app.get_subcommands();
    fmt::print(stderr, "sinew: {}; see `sinew {}--help`\n", error.what(),
               parsed.empty() ? "" : parsed[0]->get_name() + " ");
    return 1;
  }

  std::optional<tbb::global_control> limit;
  if (threads > 0) limit.emplace(tbb::global_control::max_allowed_parallelism, sinew::to_size(threads));
  for (const auto& [verb, work] : verbs)
    if (verb->parsed()) return work();
  return 1;  // not reached: the parser wants a verb
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int code = run(argc, argv);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      fmt::print(stderr, "sinew: cannot write to standard output\n");
      return 1;
    }
    return code;
  } catch (const sinew::Error& error) {
    fmt::print(stderr, "sinew: {}\n", error.what());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "sinew: not enough memory\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "sinew: unexpected failure: {}\n", error.what());
  }
  return 1;
}
