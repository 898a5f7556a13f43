#include "apps/cli/bench_report.h"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/picture/plot.h>

namespace sinew::cli {

namespace {

const char* output_name(const MethodRun& run) {
  return run.normals ? "positions and normals" : "positions";
}

[[noreturn]] void fail_on_different_results(std::string_view name, const std::string& method) {
  throw Error(fmt::format("bench: {}, {}: one and two threads give different results", name, method));
}

}  // namespace

std::string binding_case(std::size_t vertices) {
  return fmt::format("bind mannequin {}", vertices);
}

std::string fitting_case(std::size_t vertices) {
  return fmt::format("fit mannequin {}", vertices);
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
               {"ms_per_frame_slowest", run.frame.slowest * 1e3},
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
  fmt::print("  {:<8} {:<21} {:>7} {:>10} {:>10} {:>10} {:>10} {:>7} {:>10} {:>10}   {}\n", "method",
             "output", "threads", "set-up ms", "ms/frame", "slowest", "ns/vertex", "x lbs", "character",
             "performers", "hash");
  for (const MethodRun& run : result.runs)
    fmt::print(
        "  {:<8} {:<21} {:>7} {:>10.2f} {:>10.4f} {:>10.4f} {:>10.2f} {:>7.2f} {:>7.2f} MB {:>7.2f} MB   "
        "{}\n",
        run.method, output_name(run), run.threads, run.setup_seconds * 1e3, run.frame.median * 1e3,
        run.frame.slowest * 1e3, run.nanoseconds_per_vertex, run.ratio_to_lbs,
        static_cast<double>(run.character_bytes) / 1e6, static_cast<double>(run.performer_bytes) / 1e6,
        hash_text(run.hash));
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

std::string scaling_plot(const std::vector<CaseResult>& results, std::span<const LayerMethod> methods) {
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

}  // namespace sinew::cli
