#pragma once

#include <functional>

namespace CLI {
class App;
}

/// The verbs of the command line. Each has a file of its own, which declares its arguments and does its work.
namespace sinew::cli {

struct Verb {
  const char* name;
  const char* summary;
  /// Declares the verb's arguments on `app`. What it returns does the work, once they are parsed, and gives
  /// the exit code.
  std::function<int()> (*declare)(CLI::App& app);
};

extern const Verb kBakeVerb, kBenchVerb, kBindVerb, kCompletionVerb, kDemoVerb, kFitVerb, kGenerateVerb,
    kInfoVerb, kManVerb, kMeasureVerb, kRecipeVerb, kRenderVerb, kSuggestVerb, kTransferVerb;

}  // namespace sinew::cli
