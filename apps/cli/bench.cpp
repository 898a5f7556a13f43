// Times every registered method on built-in characters, and the kernels next to plain loops. Ratios within
// one run mean something; absolute times are this machine's, today.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/core/simd.h>
#include <sinew/models/models.h>
#include <sinew/version.h>

#include "apps/cli/argument_types.h"
#include "apps/cli/bench_binding.h"
#include "apps/cli/bench_fitting.h"
#include "apps/cli/bench_methods.h"
#include "apps/cli/bench_report.h"
#include "apps/cli/input.h"
#include "apps/cli/json.h"
#include "apps/cli/kernel_program.h"
#include "apps/cli/machine.h"
#include "apps/cli/progress_bar.h"
#include "apps/cli/verbs.h"

namespace sinew::cli {

namespace {

struct BenchOptions {
  std::string input;  ///< a file whose clips are timed instead of the built-in cases; empty: those
  std::string clip;   ///< of that file; empty: all
  bool json = false;
  int repeats = 0;             ///< 0: up to 60, fewer where a case takes long
  std::string filter;          ///< only cases with this in their name
  std::string methods;         ///< A,B,C: only these, next to lbs, to which they are compared; empty: all
  std::filesystem::path plot;  ///< .svg to write, empty: none
};

constexpr std::size_t kKernelVertices[] = {30000, 500000};
// As many vertices as the human of the published figures, and more.
constexpr std::size_t kBindingVertices[] = {13380, 172974};
// Only for who asks for it: making the character takes minutes.
constexpr std::size_t kLargeBindingVertices = 1000000;
constexpr double kMethodSeconds = 6, kBindingSeconds = 8;  // per case, unless --repeats says otherwise

/// lbs, to which all are compared, and those of a list "A,B,C"; all where it is empty.
std::vector<LayerMethod> chosen_methods(const std::string& list) {
  const auto all = layer_methods();
  if (list.empty()) return {all.begin(), all.end()};
  std::set<std::string, std::less<>> wanted{"lbs"};
  std::stringstream names(list);
  for (std::string name; std::getline(names, name, ',');) {
    if (find_layer_method(name) == nullptr)
      throw Error(fmt::format("--methods: no method '{}'; there are {}", name, layer_method_names()));
    wanted.insert(name);
  }
  std::vector<LayerMethod> chosen;
  std::copy_if(all.begin(), all.end(), std::back_inserter(chosen),
               [&](const LayerMethod& method) { return wanted.contains(method.name); });
  return chosen;
}

void tell_missing_kernels(const std::vector<std::size_t>& sizes) {
  std::string cases;
  for (const std::size_t vertices : sizes)
    cases += fmt::format("{}'{}'", cases.empty() ? "" : " and ", kernel_case(vertices));
  fmt::print(stderr,
             "sinew: warning: {} left out: sinew_bench_kernels is not beside sinew; `cmake --build --preset "
             "release --target sinew_bench_kernels` builds it\n",
             cases);
}

int run_bench(const BenchOptions& options) {
  const auto wanted = [&](std::string_view name) {
    return name.find(options.filter) != std::string_view::npos;
  };
  const std::vector<LayerMethod> methods = chosen_methods(options.methods);
  std::vector<MethodCase> cases;
  std::string names;
  if (!options.clip.empty() && options.input.empty())
    throw Error("--clip: name the file that has the clip, too: sinew bench FILE --clip NAME");
  Scene input;
  if (!options.input.empty()) {
    input = open_input(options.input);
    cases = cases_of(input, options.input, options.clip);
  }
  for (const MethodCase& candidate : method_cases()) {
    if (options.input.empty() && wanted(candidate.name)) cases.push_back(candidate);
    names += fmt::format("{}, ", candidate.name);
  }
  std::vector<std::size_t> kernel_sizes;
  for (const std::size_t vertices : kKernelVertices) {
    if (options.input.empty() && wanted(kernel_case(vertices))) kernel_sizes.push_back(vertices);
    names += fmt::format("{}{}", kernel_case(vertices), vertices == kKernelVertices[1] ? "" : ", ");
  }
  std::vector<std::size_t> binding_sizes;
  for (const std::size_t vertices : kBindingVertices) {
    if (options.input.empty() && wanted(binding_case(vertices))) binding_sizes.push_back(vertices);
    names += ", " + binding_case(vertices);
  }
  std::vector<std::size_t> fitting_sizes;
  for (const std::size_t vertices : kBindingVertices) {
    if (options.input.empty() && wanted(fitting_case(vertices))) fitting_sizes.push_back(vertices);
    names += ", " + fitting_case(vertices);
  }
  names += ", " + binding_case(kLargeBindingVertices) + " (takes minutes; by its whole name only)";
  if (options.filter == binding_case(kLargeBindingVertices)) binding_sizes.push_back(kLargeBindingVertices);
  if (cases.empty() && kernel_sizes.empty() && binding_sizes.empty() && fitting_sizes.empty())
    throw Error(
        fmt::format("--filter {}: no case has that in its name; there are: {}", options.filter, names));
  std::optional<AtomicFile> plot;  // opened now, so that no timing is lost to a wrong path
  if (!options.plot.empty()) {
    if (lower_case_extension(options.plot) != ".svg")
      throw Error(fmt::format("--plot {}: must be an .svg file", options.plot.string()));
    if (std::none_of(cases.begin(), cases.end(), [](const MethodCase& c) { return c.performers == 1; }))
      throw Error(fmt::format("--plot {}: --filter {} leaves no single character to draw",
                              options.plot.string(), options.filter));
    plot.emplace(options.plot);
  }

  const ProcessorTime start = ProcessorTime::now();
  Json report = machine();
  report["cases"] = Json::array();
  report["kernels"] = Json::array();
  report["binding"] = Json::array();
  report["fitting"] = Json::array();
  if (!options.json)
    fmt::print("sinew {} on {} ({} threads), {}, {}\n", SINEW_VERSION, processor_name(),
               std::thread::hardware_concurrency(), simd_target(), report["compiler"].get<std::string>());

  std::map<std::pair<std::string_view, std::size_t>, Scene> scenes;
  const auto scene_of = [&](std::string_view model, std::size_t vertices,
                            const std::string& name) -> const Scene& {
    Scene& scene = scenes[{model, vertices}];
    if (scene.meshes.empty()) {
      ModelOptions model_options;
      model_options.vertices = vertices;
      scene = make_model(model, model_options, progress_bar(name + ": model")).scene;
    }
    return scene;
  };
  std::vector<CaseResult> results;
  for (const MethodCase& what : cases) {
    const Scene& scene = options.input.empty() ? scene_of(what.model, what.vertices, what.name) : input;
    results.push_back(bench_methods(what, scene, methods, {options.repeats, kMethodSeconds},
                                    progress_bar(what.name + ": timing")));
    report["cases"].push_back(to_json(results.back()));
    if (!options.json) print(results.back());
  }
  const std::filesystem::path kernel_program = find_kernel_program();
  if (kernel_program.empty() && !kernel_sizes.empty()) {
    tell_missing_kernels(kernel_sizes);
    kernel_sizes.clear();
  }
  std::vector<KernelRun> kernels;
  for (const std::size_t vertices : kernel_sizes) {
    const std::vector<KernelRun> runs = run_kernel_program(kernel_program, vertices, options.repeats);
    for (const KernelRun& run : runs) report["kernels"].push_back(to_json(run));
    if (!options.json) print(runs);
    kernels.insert(kernels.end(), runs.begin(), runs.end());
  }

  std::vector<std::vector<BindingRun>> bindings;
  for (const std::size_t vertices : binding_sizes) {
    const std::string name = binding_case(vertices);
    bindings.push_back(bench_binding(scene_of("mannequin", vertices, name),
                                     {options.repeats, kBindingSeconds}, progress_bar(name + ": timing")));
    for (const BindingRun& run : bindings.back()) report["binding"].push_back(to_json(run));
    if (!options.json) print(bindings.back());
  }
  std::vector<std::vector<FittingRun>> fittings;
  for (const std::size_t vertices : fitting_sizes) {
    const std::string name = fitting_case(vertices);
    fittings.push_back(bench_fitting(scene_of("mannequin", vertices, name),
                                     {options.repeats, kBindingSeconds}, progress_bar(name + ": timing")));
    for (const FittingRun& run : fittings.back()) report["fitting"].push_back(to_json(run));
    if (!options.json) print(fittings.back());
  }

  const double others = share_of_others(start);
  report["share_of_others"] = others;
  if (options.json)
    fmt::print("{}\n", report.dump(2));
  else
    fmt::print("\nother programs took {:.0f} % of the machine{}\n", 100 * others,
               others > 0.05 ? ": ratios hold roughly, and two threads did not have two cores" : "");
  if (plot) {
    plot->write(scaling_plot(results, methods));
    plot->commit();
    if (!options.json) fmt::print("wrote {}\n", options.plot.string());
  }
  for (const CaseResult& result : results) check_hashes(result);
  check_hashes(kernels);
  for (const std::vector<BindingRun>& runs : bindings) check_hashes(runs);
  for (const std::vector<FittingRun>& runs : fittings) check_hashes(runs);
  return 0;
}

std::function<int()> declare_bench(CLI::App& app) {
  const auto options = std::make_shared<BenchOptions>();
  app.add_option("INPUT", options->input,
                 "time the methods on the clips of this file instead of the built-in cases")
      ->type_name(kFile);
  app.add_option("--clip", options->clip, "of the file: only this clip (default: all)");
  app.add_flag("--json", options->json, "print a machine-readable report");
  app.add_option("--repeats", options->repeats,
                 "timed runs of each case, of which the median counts "
                 "(default: up to 60, within a few seconds per case)")
      ->check(CLI::Range(1, 100000));
  app.add_option("--filter", options->filter, "only the cases with this text in their name, e.g. tube");
  app.add_option("--methods", options->methods, "A,B,C: only these methods, and lbs (default: all)")
      ->type_name(kMethods);
  app.add_option("--plot", options->plot, "OUT.svg: time per vertex over size, a line per method")
      ->type_name(kFile);
  return [options] { return run_bench(*options); };
}

}  // namespace

const Verb kBenchVerb{"bench", "Time every method and the kernels on this machine", declare_bench};

}  // namespace sinew::cli
