// Gives a mesh the weights that make a rig move it.
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <sinew/authoring/bind_scene.h>
#include <sinew/core/error.h>
#include <sinew/scene/gltf.h>
#include <sinew/scene/merge_rig.h>

#include "apps/cli/argument_types.h"
#include "apps/cli/binding.h"
#include "apps/cli/input.h"
#include "apps/cli/json.h"
#include "apps/cli/verbs.h"

namespace sinew::cli {

namespace {

struct BindCommand {
  std::string mesh;
  std::string rig;               ///< empty: the mesh's own skeleton
  std::filesystem::path output;  ///< .glb
  std::string method = "heat";
  std::string influences = "4";   ///< a number or all
  std::string symmetry = "auto";  ///< auto, none, x, y or z
  double sharpness = 2;
  int smooth = 0;
  double prune = 0.01;
  std::vector<std::string> lock, ignore, meshes;  ///< patterns of names
  std::filesystem::path pictures;                 ///< directory, empty: none
  bool json = false;
};

template <class Value, std::size_t N>
Value choice(const char* option, const std::string& text, const std::pair<const char*, Value> (&values)[N]) {
  std::string names;
  for (const auto& [name, value] : values) {
    if (text == name) return value;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  throw Error(fmt::format("{} {}: expected one of {}", option, text, names));
}

BindSceneOptions parse_options(const BindCommand& command) {
  static constexpr std::pair<const char*, BindMethod> kMethods[] = {
      {"heat", BindMethod::heat}, {"rigid", BindMethod::rigid}, {"envelope", BindMethod::envelope}};
  static constexpr std::pair<const char*, SymmetryChoice> kSymmetries[] = {
      {"auto", SymmetryChoice::automatic},
      {"none", SymmetryChoice::none},
      {"x", SymmetryChoice::x},
      {"y", SymmetryChoice::y},
      {"z", SymmetryChoice::z}};
  BindSceneOptions options;
  options.method = choice("--method", command.method, kMethods);
  options.symmetry = choice("--symmetry", command.symmetry, kSymmetries);
  options.influences = parse_influences(command.influences);
  options.prune = command.prune;
  options.smooth = command.smooth;
  options.sharpness = command.sharpness;
  options.ignore = command.ignore;
  options.lock = command.lock;
  options.meshes = command.meshes;
  return options;
}

Json report_json(const BindCommand& command, const BindSceneReport& report) {
  const BindReport& surface = report.surface;
  Json json;
  json["mesh"] = command.mesh;
  json["rig"] = command.rig.empty() ? command.mesh : command.rig;
  json["output"] = command.output.string();
  json["method"] = command.method;
  json["seconds"] = report.seconds;
  json["meshes"] = meshes_json(report.meshes);
  json["joints"] = joints_json(report.joints);
  json["left_out"] = Json::array();
  for (const JointLeftOut& joint : report.left_out)
    json["left_out"].push_back({{"name", joint.name}, {"reason", joint.reason}});
  json["symmetry"] = Json();
  if (report.mirror) {
    const Vec3d &normal = report.mirror->normal, &point = report.mirror->point;
    json["symmetry"] = {{"normal", {normal.x(), normal.y(), normal.z()}},
                        {"point", {point.x(), point.y(), point.z()}},
                        {"joint_pairs", report.mirror_pairs},
                        {"mirrored_vertices", surface.mirrored_vertices},
                        {"unmirrored_vertices", surface.unmirrored_vertices}};
  }
  const HeatReport& heat = surface.heat;
  json["welded_vertices"] = surface.vertices;
  json["heat"] = Json();
  if (command.method != "envelope")
    json["heat"] = {{"components", heat.components},
                    {"blind_vertices", heat.blind_vertices},
                    {"linked_components", heat.linked_components},
                    {"linked_vertices", heat.linked_vertices},
                    {"stray_vertices", heat.stray_vertices},
                    {"outside_bones", heat.outside_bones},
                    {"repaired_triangles", heat.repaired_triangles},
                    {"non_manifold_edges", heat.non_manifold_edges},
                    {"boundary_edges", heat.boundary_edges},
                    {"flipped_edges", heat.flipped_edges}};
  json["unbound_vertices"] = report.unbound();
  json["warnings"] = report.warnings;
  return json;
}

/// What binding had to work around, for people.
void tell_workarounds(const HeatReport& heat) {
  const auto tell = [](std::size_t count, const char* what) {
    if (count > 0) fmt::print(stderr, "  {}: {}\n", what, count);
  };
  tell(heat.linked_components, "loose pieces that see no bone and follow what they sit on");
  tell(heat.stray_vertices, "vertices in no face, which follow what is near them");
  tell(heat.repaired_triangles, "faces without area, or there twice, that did not count");
  tell(heat.non_manifold_edges, "edges with more than two faces");
  tell(heat.flipped_edges, "edges between faces that look to opposite sides");
}

void print_text(const BindCommand& command, const BindSceneReport& report) {
  std::size_t vertices = 0, used = 0;
  for (const BoundMesh& mesh : report.meshes) vertices += mesh.vertices;
  for (const BoundJoint& joint : report.joints) used += joint.vertices > 0;
  fmt::print(stderr, "{}: {} vertices of {} mesh{} bound to {} joints ({}, {:.2f} s)\n",
             command.output.string(), vertices, report.meshes.size(), report.meshes.size() == 1 ? "" : "es",
             used, command.method, report.seconds);
  tell_workarounds(report.surface.heat);
  if (report.mirror)
    fmt::print(stderr, "  symmetric by {} pairs of joints; of {} vertices (welded) {} have a mirror image\n",
               report.mirror_pairs, report.surface.vertices, report.surface.mirrored_vertices);
  std::map<std::string, std::vector<std::string>> left_out;
  for (const JointLeftOut& joint : report.left_out)
    if (joint.reason != "not in the rig's skin") left_out[joint.reason].push_back(joint.name);
  for (const auto& [reason, names] : left_out)
    fmt::print(stderr, "  no weights for '{}'{}: {}\n", names[0],
               names.size() == 1 ? "" : fmt::format(" and {} more", names.size() - 1), reason);
}

/// Meshes that stand still beside what was bound.
void tell_unbound_meshes(const Scene& bound) {
  std::string names;
  for (const SceneMesh& mesh : bound.meshes)
    if (mesh.skin < 0) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", mesh.name);
  if (!names.empty()) fmt::print(stderr, "  not bound, and will not move with the rig: {}\n", names);
}

int run_bind(const BindCommand& command) {
  const BindSceneOptions options = parse_options(command);
  check_glb_output(command.output, {command.mesh, command.rig});
  if (!command.pictures.empty()) make_picture_directory(command.pictures);  // a wrong path shows now
  const Scene mesh = open_input(command.mesh);
  const bool own_rig = command.rig.empty() || same_input(command.mesh, command.rig);
  if (own_rig && rig_joints(mesh).empty())
    throw Error(
        fmt::format("{}: has no skeleton of its own; name the file of one with --rig, or a built-in "
                    "character's, such as --rig model:mannequin",
                    command.mesh));
  const Scene other = own_rig ? Scene() : open_rig(command.rig);
  BindSceneReport report;
  const Scene bound = bind_scene(mesh, own_rig ? mesh : other, options, &report);
  refuse_unbound(report.meshes, command.mesh);
  write_glb(bound, command.output);
  tell_warnings(report.warnings);
  std::vector<std::filesystem::path> pictures;
  if (!command.pictures.empty()) pictures = draw_weights(bound, report.joints, command.pictures);
  if (command.json) {
    Json json = report_json(command, report);
    json["pictures"] = pictures_json(pictures);
    print_json(json);
    return 0;
  }
  print_text(command, report);
  tell_unbound_meshes(bound);
  if (!pictures.empty())
    fmt::print(stderr, "  {} pictures in {}\n", pictures.size(), command.pictures.string());
  return 0;
}

std::function<int()> declare_bind(CLI::App& app) {
  const auto command = std::make_shared<BindCommand>();
  add_character(app, "MESH", command->mesh)->required();
  app.add_option("--rig", command->rig,
                 "the skeleton to bind to: a rig file, any file with a skeleton, model:NAME or "
                 "template:NAME (default: MESH's own)")
      ->type_name(kRig);
  app.add_option("-o,--output", command->output, "OUT.glb")->type_name(kFile)->required();
  app.add_option("--method", command->method,
                 "heat (smooth, follows the shape), rigid (one joint per vertex) or envelope (by distance "
                 "alone)")
      ->check(choices({"heat", "rigid", "envelope"}))
      ->capture_default_str();
  app.add_option("--influences", command->influences, "at most this many joints per vertex: a number, or all")
      ->capture_default_str();
  app.add_option("--sharpness", command->sharpness,
                 "how soon heat hands over from one joint to the next: 1 (softest) to 8")
      ->check(CLI::Range(1.0, 8.0))
      ->capture_default_str();
  app.add_option("--smooth", command->smooth, "passes of smoothing the weights over the surface")
      ->check(CLI::Range(0, 1000));
  app.add_option("--prune", command->prune, "drop weights below this")
      ->check(CLI::Range(0.0, 0.5))
      ->capture_default_str();
  app.add_option("--symmetry", command->symmetry,
                 "the same weights on both sides: auto (where the joints mirror, by their names), none, or "
                 "across the axis x, y or z")
      ->check(choices({"auto", "none", "x", "y", "z"}))
      ->capture_default_str();
  app.add_option("--ignore", command->ignore,
                 "PATTERN: joints that get no weights; * stands for anything, ? for one character; "
                 "repeatable")
      ->allow_extra_args(false);
  app.add_option("--lock", command->lock,
                 "PATTERN: joints that keep the weights they have in MESH; repeatable")
      ->allow_extra_args(false);
  app.add_option("--mesh", command->meshes, "PATTERN: bind these meshes only; repeatable")
      ->allow_extra_args(false);
  app.add_option("--pictures", command->pictures,
                 "draw each joint's weights, and all joints' regions, into this directory")
      ->type_name(kDirectory);
  app.add_flag("--json", command->json, "print a machine-readable report");
  return [command] { return run_bind(*command); };
}

}  // namespace

const Verb kBindVerb{"bind", "Give a mesh the weights by which a skeleton moves it", declare_bind};

}  // namespace sinew::cli
