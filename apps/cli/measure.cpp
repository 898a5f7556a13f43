#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/measure/quantities.h>

#include "apps/cli/json.h"
#include "apps/cli/operator_tables.h"
#include "apps/cli/performance.h"
#include "apps/cli/progress_bar.h"
#include "apps/cli/verbs.h"

namespace sinew::cli {

namespace {

struct MeasureCommand {
  PerformanceOptions performance;
  std::string compare;  ///< methods and recipe files, separated by commas; empty: the performance's own
  bool per_frame = false;
  bool json = false;
};

struct MeasuredMethod {
  std::string name;
  Recipe recipe;
  PerformanceMeasurements measured;
  std::vector<std::optional<QuantitySummary>> summary;
};

std::string number(double value) {
  if (value == std::round(value) && std::abs(value) < 1e9) return fmt::format("{:.0f}", value);
  const double size = std::abs(value);
  if (size >= 1e6) return fmt::format("{:.3g}", value);
  return fmt::format("{:.{}f}", value,
                     size >= 100    ? 0
                     : size >= 10   ? 1
                     : size >= 0.1  ? 2
                     : size >= 1e-4 ? 4
                                    : 6);
}

/// Characters, not bytes, of UTF-8.
std::size_t width(const std::string& text) {
  return to_size(std::count_if(text.begin(), text.end(),
                               [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

using Table = std::vector<std::vector<std::string>>;

/// First `left` columns flush left, the others flush right.
void print(const Table& table, std::size_t left) {
  std::vector<std::size_t> widths;
  for (const auto& row : table)
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c >= widths.size()) widths.push_back(0);
      widths[c] = std::max(widths[c], width(row[c]));
    }
  for (const auto& row : table) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string space(widths[c] - width(row[c]), ' ');
      line += (c > 0 ? "  " : "") + (c < left ? row[c] + space : space + row[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print("{}\n", line);
  }
}

void print_summary(const std::vector<MeasuredMethod>& methods) {
  Table table;
  table.push_back({"", ""});
  for (const MeasuredMethod& method : methods)
    for (const std::string& column : {method.name + " worst", std::string("frame"), std::string("mean")})
      table.back().push_back(column);
  for (std::size_t q = 0; q < quantities().size(); ++q) {
    const Quantity& quantity = quantities()[q];
    table.push_back({std::string(quantity.heading), std::string(quantity.unit)});
    for (const MeasuredMethod& method : methods) {
      const auto& summary = method.summary[q];
      if (summary) {
        for (const std::string& cell :
             {number(summary->worst), fmt::format("@{}", summary->worst_frame), number(summary->mean)})
          table.back().push_back(cell);
      } else {
        table.back().insert(table.back().end(), {"-", "", "-"});
      }
    }
  }
  for (const auto& [heading, share] :
       {std::pair("gap of all frames, median", 0.5), {"  90th percentile", 0.9}}) {
    table.push_back({heading, "mm"});
    for (const MeasuredMethod& method : methods) {
      std::vector<double> gaps = method.measured.gaps;
      table.back().insert(table.back().end(),
                          {gaps.empty() ? "-" : number(1e3 * quantile(gaps, share)), "", ""});
    }
  }
  table.push_back({"time, median", "ms"});
  for (const MeasuredMethod& method : methods)
    table.back().insert(table.back().end(), {number(1e3 * method.measured.median_seconds), "", ""});
  print(table, 2);
}

void print_frames(const MeasuredMethod& method) {
  fmt::print("\n{}\n", method.name);
  Table table;
  table.push_back({"frame"});
  for (const Quantity& quantity : quantities()) table.back().emplace_back(quantity.key);
  for (const FrameMeasurements& frame : method.measured.frames) {
    table.push_back({fmt::format("{}", frame.frame)});
    for (const Quantity& quantity : quantities()) {
      const auto value = quantity.value(frame, method.measured.rest);
      table.back().push_back(value ? number(*value) : "-");
    }
  }
  print(table, 0);
}

Json to_json(const RestSurface& rest) {
  Json json;
  json["parts"] = rest.parts;
  json["closed"] = rest.open_borders == 0;
  json["open_borders"] = rest.open_borders;
  json["unused_vertices"] = rest.unused_vertices;
  json["unusable_triangles"] = rest.unusable_triangles;
  json["slivers"] = rest.slivers;
  json["pairs"] = rest.pairs_known ? Json(rest.intersecting_pairs) : Json();
  json["buried"] = rest.buried_vertices;
  json["overlap_within_parts_cm3"] = rest.pairs_known ? Json(1e6 * rest.overlap.within_parts) : Json();
  json["overlap_between_parts_cm3"] = rest.pairs_known ? Json(1e6 * rest.overlap.between_parts) : Json();
  json["volume_cm3"] = 1e6 * rest.volume;
  json["volume_known"] = rest.volume_known;
  json["mean_edge_mm"] = 1e3 * rest.mean_edge;
  json["caveats"] = rest.caveats;
  return json;
}

/// The joint that "joint_volume_smallest_percent" is about.
Json name_of_smallest_joint(const FrameMeasurements& frame, const RestSurface& rest) {
  const JointVolume* joint = smallest_joint_volume(frame.surface);
  return joint != nullptr ? Json(rest.hinges[joint->hinge]) : Json();
}

using JointName = std::function<std::string(int joint)>;

Json to_json(const MeasuredMethod& method, const JointName& joint_name) {
  const PerformanceMeasurements& measured = method.measured;
  Json json;
  json["method"] = method.name;
  json["layers"] = Json::array();
  for (const LayerRecipe& layer : method.recipe.layers) json["layers"].push_back(layer.method);
  json["rejected_joints"] = measured.rejected_joints;
  json["median_time_ms"] = 1e3 * measured.median_seconds;
  json["mean_time_ms"] = 1e3 * measured.mean_seconds;
  json["rest"] = to_json(measured.rest);
  std::vector<double> gaps = measured.gaps;
  json["gap_of_all_frames"] = {{"median_mm", gaps.empty() ? Json() : Json(1e3 * quantile(gaps, 0.5))},
                               {"p90_mm", gaps.empty() ? Json() : Json(1e3 * quantile(gaps, 0.9))},
                               {"count", gaps.size()},
                               {"misses", measured.gap_misses}};
  for (std::size_t q = 0; q < quantities().size(); ++q) {
    Json& entry = json["summary"][std::string(quantities()[q].key)];
    if (const auto& summary = method.summary[q])
      entry = {{"worst", summary->worst}, {"worst_frame", summary->worst_frame}, {"mean", summary->mean}};
    if (quantities()[q].key != "joint_volume_smallest_percent" || entry.is_null()) continue;
    for (const FrameMeasurements& frame : measured.frames)
      if (frame.frame == entry["worst_frame"]) entry["joint"] = name_of_smallest_joint(frame, measured.rest);
  }
  json["frames"] = Json::array();
  for (const FrameMeasurements& frame : measured.frames) {
    Json entry;
    entry["frame"] = frame.frame;
    for (const Quantity& quantity : quantities()) {
      const auto value = quantity.value(frame, measured.rest);
      entry[std::string(quantity.key)] = value ? Json(*value) : Json();
    }
    entry["joint_volume_smallest_joint"] = name_of_smallest_joint(frame, measured.rest);
    entry["joint_volume_percent"] = Json::object();
    for (const JointVolume& joint : frame.surface.joint_volumes)
      entry["joint_volume_percent"][measured.rest.hinges[joint.hinge]] = 100 * joint.ratio;
    entry["pose_deviation"] = Json::object();
    for (const JointDeviation& d : frame.deviations)
      entry["pose_deviation"][joint_name(d.joint)] = {
          {"rms_mm", 1e3 * d.rms},
          {"largest_mm", 1e3 * d.largest},
          {"rms_percent", d.limb_length > 0 ? Json(100 * d.rms / d.limb_length) : Json()}};
    json["frames"].push_back(std::move(entry));
  }
  return json;
}

int run_measure(const MeasureCommand& command) {
  std::vector<MeasuredMethod> methods;
  for (NamedRecipe& named : choose_recipes(command.performance, command.compare)) {
    named.recipe.normals = false;
    methods.push_back({std::move(named.name), std::move(named.recipe), {}, {}});
  }
  const Performance performance = open_performance(command.performance);
  const std::string& input = command.performance.input;
  MeasureOptions options;
  options.first_frame = performance.first_frame;
  options.last_frame = performance.last_frame;
  options.frames_per_second = performance.frames_per_second;
  options.set_pose = performance.set_pose;
  std::set<std::string> told;  // most are about the file, and the same for all methods
  for (MeasuredMethod& method : methods) {
    const std::shared_ptr<const Character> character = make_character(performance.scene, method.recipe);
    for (const std::string& warning : character->warnings())
      if (told.insert(warning).second) fmt::print(stderr, "sinew: warning: {}: {}\n", input, warning);
    method.measured = measure_performance(character, options, progress_bar("measure " + method.name));
    method.summary = summarise(method.measured);
    if (method.measured.rejected_joints > 0)
      fmt::print(stderr,
                 "sinew: warning: {}: {} joint transforms were not finite or absurd and took their rest\n",
                 input, method.measured.rejected_joints);
  }
  const RestSurface& rest = methods.front().measured.rest;
  const std::string clip = performance.clip ? performance.clip->name : "";
  if (command.json) {
    Json json;
    json["input"] = input;
    json["clip"] = performance.clip ? Json(clip) : Json();
    json["fps"] = performance.frames_per_second;
    json["first_frame"] = performance.first_frame;
    json["last_frame"] = performance.last_frame;
    json["methods"] = Json::array();
    for (const MeasuredMethod& method : methods)
      json["methods"].push_back(
          to_json(method, [&](int joint) { return performance.scene.skeleton.joints[to_size(joint)].name; }));
    print_json(json);
    return 0;
  }
  fmt::print("{}, {}, frames {}-{}\n", input,
             performance.clip ? fmt::format("clip '{}'", clip) : std::string("rest pose"),
             performance.first_frame, performance.last_frame);
  fmt::print(
      "rest: {} part{}, {}, {} intersecting pairs, {} buried vertices, overlap {} cm³, volume {} cm³\n",
      rest.parts, rest.parts == 1 ? "" : "s",
      rest.open_borders == 0
          ? std::string("closed")
          : fmt::format("{} open border{}", rest.open_borders, rest.open_borders == 1 ? "" : "s"),
      rest.pairs_known ? fmt::format("{}", rest.intersecting_pairs) : "-", rest.buried_vertices,
      rest.pairs_known ? number(1e6 * rest.overlap.total()) : "-", number(1e6 * rest.volume));
  for (const std::string& caveat : rest.caveats) fmt::print("note: {}\n", caveat);
  fmt::print("\n");
  print_summary(methods);
  if (command.per_frame)
    for (const MeasuredMethod& method : methods) print_frames(method);
  return 0;
}

std::function<int()> declare_measure(CLI::App& app) {
  const auto command = std::make_shared<MeasureCommand>();
  add_performance_options(app, command->performance);
  add_compare_option(app, command->compare);
  app.add_flag("--per-frame", command->per_frame, "print every frame's figures too");
  app.add_flag("--json", command->json, "print a machine-readable report, every frame included");
  return [command] { return run_measure(*command); };
}

}  // namespace

const Verb kMeasureVerb{
    "measure", "Measure what a performance does to the surface: overlap, stretch, flicker", declare_measure};

}  // namespace sinew::cli
