// Times every registered method on built-in characters, and the kernels next to plain loops. Ratios within
// one run mean something; absolute times are this machine's, today.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/core/simd.h>
#include <sinew/models/models.h>
#include <sinew/picture/plot.h>
#include <sinew/version.h>

#include "apps/cli/bench_binding.h"
#include "apps/cli/bench_fitting.h"
#include "apps/cli/bench_kernels.h"
#include "apps/cli/bench_methods.h"
#include "apps/cli/progress_bar.h"
#include "apps/cli/verbs.h"

namespace sinew::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kKernelVertices[] = {30000, 500000};
// As many vertices as the human of the published figures, and more.
constexpr std::size_t kBindingVertices[] = {13380, 172974};
// Only for who asks for it: making the character takes minutes.
constexpr std::size_t kLargeBindingVertices = 1000000;
constexpr double kKernelSeconds = 3, kMethodSeconds = 6,
                 kBindingSeconds = 8;  // per case, unless --repeats says otherwise

std::string kernel_case(std::size_t vertices) {
  return fmt::format("kernels {}", vertices);
}

std::string binding_case(std::size_t vertices) {
  return fmt::format("bind mannequin {}", vertices);
}

std::string fitting_case(std::size_t vertices) {
  return fmt::format("fit mannequin {}", vertices);
}

std::string processor_name() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

/// Seconds of processor time, summed over all cores since some time long ago.
struct ProcessorTime {
  double ours = 0;
  double everyones = 0;  ///< ours included
  double idle = 0;

  static ProcessorTime now() {
    std::ifstream file("/proc/stat");
    std::string label;
    double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, interrupts = 0, soft = 0, stolen = 0;
    file >> label >> user >> nice >> system >> idle >> waiting >> interrupts >> soft >> stolen;
    const auto tick = static_cast<double>(::sysconf(_SC_CLK_TCK));
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return {seconds(usage.ru_utime) + seconds(usage.ru_stime),
            (user + nice + system + interrupts + soft + stolen) / tick, (idle + waiting) / tick};
  }
};

/// Which share of the machine others took since `start`, 0 to 1: how far the times can be trusted.
double share_of_others(const ProcessorTime& start) {
  const ProcessorTime end = ProcessorTime::now();
  const double busy = end.everyones - start.everyones, all = busy + end.idle - start.idle;
  return all > 0 ? std::clamp((busy - (end.ours - start.ours)) / all, 0.0, 1.0) : 0;
}

Json machine() {
#ifdef __clang__
  const char* compiler = "Clang " __clang_version__;
#else
  const char* compiler = "GCC " __VERSION__;
#endif
  return {{"version", SINEW_VERSION},
          {"processor", processor_name()},
          {"hardware_threads", std::thread::hardware_concurrency()},
          {"simd", simd_target()},
          {"compiler", compiler}};
}

const char* output_name(const MethodRun& run) {
  return run.normals ? "positions and normals" : "positions";
}

Json to_json(const CaseResult& result) {
  Json runs = Json::array();
  for (const MethodRun& run : result.runs) {
    Json entry{{"method", run.method},
               {"output", output_name(run)},
               {"threads", run.threads},
               {"setup_ms", run.setup_seconds * 1e3},
               {"ms_per_frame", run.frame.median * 1e3},
               {"ms_per_frame_fastest", run.frame.fastest * 1e3},
               {"ns_per_vertex", run.nanoseconds_per_vertex},
               {"ratio_to_lbs", run.ratio_to_lbs},
               {"repeats", run.frame.repeats},
               {"character_bytes", run.character_bytes},
               {"performer_bytes", run.performer_bytes},
               {"hash", hash_text(run.hash)}};
    if (run.normals) entry["normals_hash"] = hash_text(run.normals_hash);
    runs.push_back(std::move(entry));
  }
  const MethodCase& what = result.what;
  return {{"case", what.name},
          {"model", what.model},
          {"vertices", what.vertices},
          {"joints", result.joints},
          {"clip", what.clip},
          {"frames", result.frames},
          {"performers", what.performers},
          {"runs", std::move(runs)}};
}

Json to_json(const KernelRun& run) {
  return {{"case", kernel_case(run.vertices)},
          {"method", run.method},
          {"output", run.output},
          {"vertices", run.vertices},
          {"threads", run.threads},
          {"ms", run.timing.median * 1e3},
          {"ms_fastest", run.timing.fastest * 1e3},
          {"ns_per_vertex", run.timing.median / static_cast<double>(run.vertices) * 1e9},
          {"times_plain", run.times_plain},
          {"repeats", run.timing.repeats},
          {"hash", hash_text(run.hash)}};
}

Json to_json(const BindingRun& run) {
  return {{"case", binding_case(run.vertices)},
          {"vertices", run.vertices},
          {"joints", run.joints},
          {"threads", run.threads},
          {"ms", run.timing.median * 1e3},
          {"ms_fastest", run.timing.fastest * 1e3},
          {"us_per_vertex", run.timing.median / static_cast<double>(run.vertices) * 1e6},
          {"repeats", run.timing.repeats},
          {"hash", hash_text(run.hash)}};
}

Json to_json(const FittingRun& run) {
  return {{"case", fitting_case(run.vertices)},
          {"vertices", run.vertices},
          {"bones", run.bones},
          {"threads", run.threads},
          {"ms", run.timing.median * 1e3},
          {"ms_fastest", run.timing.fastest * 1e3},
          {"graph_share", run.graph_share},
          {"matching_share", run.matching_share},
          {"placement_share", run.placement_share},
          {"repeats", run.timing.repeats},
          {"hash", hash_text(run.hash)}};
}

void print(const CaseResult& result) {
  const MethodCase& what = result.what;
  fmt::print("\n{}: {} vertices, {} joints, clip '{}' of {} frames", what.name, what.vertices, result.joints,
             what.clip, result.frames);
  if (what.performers > 1) fmt::print(", {} performers of one character, all in each frame", what.performers);
  fmt::print("; median of {}\n", result.runs.empty() ? 0 : result.runs[0].frame.repeats);
  fmt::print("  {:<8} {:<21} {:>7} {:>10} {:>10} {:>10} {:>7} {:>10} {:>10}   {}\n", "method", "output",
             "threads", "set-up ms", "ms/frame", "ns/vertex", "x lbs", "character", "performers", "hash");
  for (const MethodRun& run : result.runs)
    fmt::print("  {:<8} {:<21} {:>7} {:>10.2f} {:>10.4f} {:>10.2f} {:>7.2f} {:>7.2f} MB {:>7.2f} MB   {}\n",
               run.method, output_name(run), run.threads, run.setup_seconds * 1e3, run.frame.median * 1e3,
               run.nanoseconds_per_vertex, run.ratio_to_lbs, static_cast<double>(run.character_bytes) / 1e6,
               static_cast<double>(run.performer_bytes) / 1e6, hash_text(run.hash));
  std::fflush(stdout);
}

void print(const std::vector<BindingRun>& runs) {
  fmt::print("\n{}: bones and heat weights, {} joints; median of {}\n", binding_case(runs[0].vertices),
             runs[0].joints, runs[0].timing.repeats);
  fmt::print("  {:>7} {:>10} {:>12}   {}\n", "threads", "ms", "us/vertex", "hash");
  for (const BindingRun& run : runs)
    fmt::print("  {:>7} {:>10.2f} {:>12.3f}   {}\n", run.threads, run.timing.median * 1e3,
               run.timing.median / static_cast<double>(run.vertices) * 1e6, hash_text(run.hash));
  std::fflush(stdout);
}

void print(const std::vector<FittingRun>& runs) {
  fmt::print("\n{}: the template biped, {} bones with its controllers; median of {}\n",
             fitting_case(runs[0].vertices), runs[0].bones, runs[0].timing.repeats);
  fmt::print("  {:>7} {:>10} {:>8} {:>10} {:>11}   {}\n", "threads", "ms", "graph %", "matching %",
             "placement %", "hash");
  for (const FittingRun& run : runs)
    fmt::print("  {:>7} {:>10.2f} {:>8.0f} {:>10.0f} {:>11.0f}   {}\n", run.threads, run.timing.median * 1e3,
               100 * run.graph_share, 100 * run.matching_share, 100 * run.placement_share,
               hash_text(run.hash));
  std::fflush(stdout);
}

void print(const std::vector<KernelRun>& runs) {
  fmt::print("\n{}: the kernels alone, {} joints, 4 influences; median of {}\n",
             kernel_case(runs[0].vertices), kKernelJoints, runs[0].timing.repeats);
  fmt::print("  {:<8} {:<21} {:>7} {:>10} {:>10} {:>13}   {}\n", "method", "output", "threads", "ms",
             "ns/vertex", "x plain speed", "hash");
  for (const KernelRun& run : runs)
    fmt::print("  {:<8} {:<21} {:>7} {:>10.4f} {:>10.2f} {:>13.2f}   {}\n", run.method, run.output,
               run.threads, run.timing.median * 1e3,
               run.timing.median / static_cast<double>(run.vertices) * 1e9, run.times_plain,
               hash_text(run.hash));
  std::fflush(stdout);
}

/// Time per vertex over the size of the character, one line per method: level lines scale as they should.
std::string scaling_plot(const std::vector<CaseResult>& results, const std::vector<LayerMethod>& methods) {
  LinePlot plot;
  plot.title = "Time per vertex and frame, positions, 1 thread";
  plot.x_label = "vertices";
  plot.y_label = "ns/vertex";
  plot.log_x = plot.log_y = plot.markers = true;
  std::vector<const CaseResult*> by_size;
  for (const CaseResult& result : results)
    if (result.what.performers == 1) by_size.push_back(&result);
  std::stable_sort(by_size.begin(), by_size.end(), [](const CaseResult* a, const CaseResult* b) {
    return a->what.vertices < b->what.vertices;
  });
  for (const LayerMethod& method : methods) {
    PlotSeries series;
    series.name = method.name;
    for (const CaseResult* result : by_size)
      for (const MethodRun& run : result->runs)
        if (run.method == method.name && !run.normals && run.threads == 1) {
          series.x.push_back(static_cast<double>(result->what.vertices));
          series.y.push_back(run.nanoseconds_per_vertex);
        }
    plot.series.push_back(std::move(series));
  }
  return line_plot_svg(plot);
}

/// What one and several threads gave must be the same to the bit.
[[noreturn]] void fail_on_different_results(std::string_view name, const std::string& method) {
  throw Error(fmt::format("bench: {}, {}: one and two threads give different results", name, method));
}

void check_hashes(const CaseResult& result) {
  for (const MethodRun& a : result.runs)
    for (const MethodRun& b : result.runs)
      if (a.method == b.method && a.normals == b.normals &&
          (a.hash != b.hash || a.normals_hash != b.normals_hash))
        fail_on_different_results(result.what.name, a.method);
}

void check_hashes(const std::vector<KernelRun>& runs) {
  for (const KernelRun& a : runs)
    for (const KernelRun& b : runs)
      if (a.method == b.method && a.output == b.output && a.vertices == b.vertices && a.hash != b.hash)
        fail_on_different_results(kernel_case(a.vertices), a.method);
}

void check_hashes(const std::vector<BindingRun>& runs) {
  for (const BindingRun& run : runs)
    if (run.hash != runs[0].hash) fail_on_different_results(binding_case(run.vertices), "heat");
}

void check_hashes(const std::vector<FittingRun>& runs) {
  for (const FittingRun& run : runs)
    if (run.hash != runs[0].hash) fail_on_different_results(fitting_case(run.vertices), "fit");
}

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

}  // namespace

int run_bench(const BenchOptions& options) {
  const auto wanted = [&](std::string_view name) {
    return name.find(options.filter) != std::string_view::npos;
  };
  const std::vector<LayerMethod> methods = chosen_methods(options.methods);
  std::vector<MethodCase> cases;
  std::string names;
  for (const MethodCase& candidate : method_cases()) {
    if (wanted(candidate.name)) cases.push_back(candidate);
    names += fmt::format("{}, ", candidate.name);
  }
  std::vector<std::size_t> kernel_sizes;
  for (const std::size_t vertices : kKernelVertices) {
    if (wanted(kernel_case(vertices))) kernel_sizes.push_back(vertices);
    names += fmt::format("{}{}", kernel_case(vertices), vertices == kKernelVertices[1] ? "" : ", ");
  }
  std::vector<std::size_t> binding_sizes;
  for (const std::size_t vertices : kBindingVertices) {
    if (wanted(binding_case(vertices))) binding_sizes.push_back(vertices);
    names += ", " + binding_case(vertices);
  }
  std::vector<std::size_t> fitting_sizes;
  for (const std::size_t vertices : kBindingVertices) {
    if (wanted(fitting_case(vertices))) fitting_sizes.push_back(vertices);
    names += ", " + fitting_case(vertices);
  }
  names += ", " + binding_case(kLargeBindingVertices) + " (takes minutes; by its whole name only)";
  if (options.filter == binding_case(kLargeBindingVertices)) binding_sizes.push_back(kLargeBindingVertices);
  if (cases.empty() && kernel_sizes.empty() && binding_sizes.empty() && fitting_sizes.empty())
    throw Error(
        fmt::format("--filter {}: no case has that in its name; there are: {}", options.filter, names));
  std::optional<AtomicFile> plot;  // opened now, so that no timing is lost to a wrong path
  if (!options.plot.empty()) {
    if (options.plot.extension() != ".svg")
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
    const std::string name(what.name);
    const Scene& scene = scene_of(what.model, what.vertices, name);
    results.push_back(bench_methods(what, scene, methods, {options.repeats, kMethodSeconds},
                                    progress_bar(name + ": timing")));
    report["cases"].push_back(to_json(results.back()));
    if (!options.json) print(results.back());
  }
  std::vector<KernelRun> kernels;
  for (const std::size_t vertices : kernel_sizes) {
    const std::vector<KernelRun> runs = bench_kernels(vertices, {options.repeats, kKernelSeconds},
                                                      progress_bar(kernel_case(vertices) + ": timing"));
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

}  // namespace sinew::cli
