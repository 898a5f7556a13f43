// Puts a rig, with its controllers, into a mesh.
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/fitting/fit_scene.h>
#include <sinew/fitting/template_rigs.h>
#include <sinew/picture/png.h>
#include <sinew/scene/gltf.h>
#include <sinew/scene/rig_file.h>

#include "apps/cli/argument_types.h"
#include "apps/cli/binding.h"
#include "apps/cli/fit_picture.h"
#include "apps/cli/input.h"
#include "apps/cli/json.h"
#include "apps/cli/verbs.h"

namespace sinew::cli {

namespace {

struct FitCommand {
  std::string mesh;
  std::string rig;
  std::filesystem::path output;   ///< .glb or .json
  std::string head_bone;          ///< empty: guessed
  std::string head;               ///< x,y,z; empty: guessed
  std::filesystem::path picture;  ///< .png, empty: none
  bool asymmetric = false;
  bool json = false;
};

void check_output(const FitCommand& command) {
  if (lower_case_extension(command.output) == ".glb")
    return check_glb_output(command.output, {command.mesh, command.rig});
  if (lower_case_extension(command.output) != ".json")
    throw Error(fmt::format("{}: choose a name that ends in .glb (mesh and rig) or .json (the rig alone)",
                            command.output.string()));
  for (const std::string& input : {command.mesh, command.rig})
    if (same_input(command.output.string(), input))
      throw Error(
          fmt::format("{}: is an input; choose another name for the output", command.output.string()));
  AtomicFile probe(command.output);  // a wrong path shows now; removed again
}

Vec3d parse_point(const std::string& text) {
  Vec3d point;
  const char *at = text.data(), *end = text.data() + text.size();
  for (int k = 0; k < 3; ++k) {
    const auto [next, error] = std::from_chars(at, end, point[k]);
    const bool separated = k == 2 ? next == end : next != end && *next == ',';
    if (error != std::errc() || !separated || !std::isfinite(point[k]))
      throw Error(fmt::format("--head {}: expected a point of the mesh in metres, such as 0,1.7,0.05", text));
    at = next + 1;
  }
  return point;
}

/// Which way the rig was turned to stand in the mesh, in words.
std::string turn_name(const Mat3d& turn) {
  const Eigen::AngleAxisd rotation(turn);
  const double degrees = rotation.angle() * 180 / 3.14159265358979323846;
  if (degrees < 1) return "as the mesh stands";
  const Vec3d axis = rotation.axis();
  return fmt::format("turned by {:.0f}° about ({:.2f}, {:.2f}, {:.2f})", degrees, axis.x(), axis.y(),
                     axis.z());
}

Json names(const std::vector<std::string>& list) {
  Json json = Json::array();
  for (const std::string& name : list) json.push_back(name);
  return json;
}

Json report_json(const FitCommand& command, const FittedScene& fitted) {
  const FitReport& report = fitted.report;
  Json json;
  json["mesh"] = command.mesh;
  json["rig"] = command.rig;
  json["output"] = command.output.string();
  json["head"] = {{"bone", report.head_bone},
                  {"point", {report.head.x(), report.head.y(), report.head.z()}},
                  {"guessed", report.head_guessed}};
  const Eigen::Quaterniond turn(report.mesh_from_rig);
  json["turn"] = {turn.x(), turn.y(), turn.z(), turn.w()};
  json["scale"] = report.scale;
  json["score"] = report.score;
  json["matched_by"] = report.by_descriptors ? "descriptors" : "alignment";
  json["pieces"] = report.components;
  json["wrapped"] = report.wrapped;
  json["limbs"] = report.limbs;
  json["ignored_limbs"] = report.ignored_limbs;
  json["symmetric"] = report.mirror.has_value();
  json["bones"] = Json::array();
  for (const RigBone& bone : fitted.rig.bones)
    json["bones"].push_back({{"name", bone.name},
                             {"deform", bone.deforms},
                             {"head", {bone.head.x(), bone.head.y(), bone.head.z()}},
                             {"tail", {bone.tail.x(), bone.tail.y(), bone.tail.z()}},
                             {"roll", bone.roll}});
  json["carried"] = names(report.carried);
  json["dropped"] = names(report.dropped);
  json["seconds"] = {{"graph", report.graph_seconds},
                     {"matching", report.matching_seconds},
                     {"placement", report.placement_seconds},
                     {"controllers", report.controllers_seconds}};
  json["warnings"] = names(fitted.warnings);
  return json;
}

void print_names(const char* what, const std::vector<std::string>& list) {
  if (list.empty()) return;
  std::string text;
  for (std::size_t k = 0; k < list.size() && k < 8; ++k) text += (k > 0 ? ", " : "") + list[k];
  if (list.size() > 8) text += fmt::format(" and {} more", list.size() - 8);
  fmt::print(stderr, "  {}: {}\n", what, text);
}

void print_text(const FitCommand& command, const FittedScene& fitted) {
  const FitReport& report = fitted.report;
  std::size_t deforming = 0;
  for (const RigBone& bone : fitted.rig.bones) deforming += bone.deforms;
  fmt::print(
      stderr, "{}: {} bones and {} controllers fitted in {:.2f} s\n", command.output.string(), deforming,
      fitted.rig.bones.size() - deforming,
      report.graph_seconds + report.matching_seconds + report.placement_seconds + report.controllers_seconds);
  fmt::print(stderr, "  head: bone '{}' at ({:.3g}, {:.3g}, {:.3g}){}; {}; {:.3g} times the rig's size\n",
             report.head_bone, report.head.x(), report.head.y(), report.head.z(),
             report.head_guessed ? ", guessed (--head x,y,z and --head-bone NAME say otherwise)" : "",
             turn_name(report.mesh_from_rig), report.scale);
  if (report.wrapped)
    fmt::print(stderr, "  the mesh has {} pieces; a surface round all of them was used\n", report.components);
  if (report.ignored_limbs > 0)
    fmt::print(stderr, "  limbs of the mesh that the rig has no bones for: {}\n", report.ignored_limbs);
  if (report.mirror) fmt::print(stderr, "  left and right are mirror images\n");
  print_names("carried along, having no limb of their own", report.carried);
  print_names("dropped, the mesh has no such limb", report.dropped);
}

int run_fit(const FitCommand& command) {
  check_output(command);
  if (!command.picture.empty()) AtomicFile probe(command.picture);
  FitOptions options;
  options.head_bone = command.head_bone;
  if (!command.head.empty()) options.head_point = parse_point(command.head);
  options.symmetric = !command.asymmetric;
  const Scene mesh = open_input(command.mesh);
  const FittedScene fitted = fit_scene(mesh, open_rig(command.rig), options);
  if (lower_case_extension(command.output) == ".glb")
    write_glb(fitted.scene, command.output);
  else
    write_rig(fitted.rig, command.output);
  if (!command.picture.empty()) write_png(draw_fit(fitted), command.picture);
  tell_warnings(fitted.warnings);
  if (command.json) {
    print_json(report_json(command, fitted));
    return 0;
  }
  print_text(command, fitted);
  return 0;
}

std::function<int()> declare_fit(CLI::App& app) {
  const auto command = std::make_shared<FitCommand>();
  add_character(app, "MESH", command->mesh)->required();
  app.add_option("--rig", command->rig,
                 "the rig: a rig file (.json, docs/rigs.md), any file with a skeleton, model:NAME, or " +
                     std::string("template:NAME, one of ") + template_names())
      ->type_name(kRig)
      ->required();
  app.add_option("-o,--output", command->output,
                 "OUT.glb (mesh and rig, to be bound), or OUT.json (the rig alone)")
      ->type_name(kFile)
      ->required();
  app.add_option("--head-bone", command->head_bone, "the rig's head (default: by its name)");
  app.add_option("--head", command->head, "X,Y,Z: the top of the mesh's head, metres (default: guessed)");
  app.add_flag("--asymmetric", command->asymmetric, "do not make left and right mirror images");
  app.add_option("--picture", command->picture, "PNG: the limbs that were found, and the rig in the mesh")
      ->type_name(kFile);
  app.add_flag("--json", command->json, "print a machine-readable report");
  return [command] { return run_fit(*command); };
}

}  // namespace

const Verb kFitVerb{"fit", "Fit a rig, with its controllers, to a mesh", declare_fit};

}  // namespace sinew::cli
