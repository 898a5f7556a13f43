// Carries the weights of a bound mesh over to another one.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <sinew/authoring/transfer_scene.h>
#include <sinew/scene/gltf.h>

#include "apps/cli/argument_types.h"
#include "apps/cli/binding.h"
#include "apps/cli/input.h"
#include "apps/cli/json.h"
#include "apps/cli/verbs.h"

namespace sinew::cli {

namespace {

struct TransferCommand {
  std::string bound;
  std::string mesh;
  std::filesystem::path output;    ///< .glb
  std::optional<double> distance;  ///< share of the bound mesh's size; none: the usual
  std::optional<double> angle;     ///< degrees; none: the usual
  std::string influences = "4";
  std::vector<std::string> meshes;
  std::filesystem::path pictures;
  bool json = false;
};

Json report_json(const TransferCommand& command, const TransferSceneReport& report) {
  const TransferReport& surface = report.surface;
  Json json;
  json["bound"] = command.bound;
  json["mesh"] = command.mesh;
  json["output"] = command.output.string();
  json["seconds"] = report.seconds;
  json["meshes"] = meshes_json(report.meshes);
  json["joints"] = joints_json(report.joints);
  json["surface"] = {{"welded_vertices", surface.vertices},
                     {"transferred_vertices", surface.transferred_vertices},
                     {"filled_vertices", surface.filled_vertices},
                     {"fallback_vertices", surface.fallback_vertices},
                     {"fallback_components", surface.fallback_components},
                     {"too_far_vertices", surface.too_far_vertices},
                     {"wrong_side_vertices", surface.wrong_side_vertices},
                     {"facing_vertices", surface.facing_vertices},
                     {"stray_vertices", surface.stray_vertices},
                     {"turned_components", surface.turned_components}};
  json["unbound_vertices"] = report.unbound();
  json["warnings"] = report.warnings;
  return json;
}

void print_text(const TransferCommand& command, const TransferSceneReport& report) {
  const TransferReport& surface = report.surface;
  std::size_t vertices = 0;
  for (const BoundMesh& mesh : report.meshes) vertices += mesh.vertices;
  fmt::print(stderr, "{}: {} vertices of {} mesh{} bound to {} joints ({:.2f} s)\n", command.output.string(),
             vertices, report.meshes.size(), report.meshes.size() == 1 ? "" : "es", report.joints.size(),
             report.seconds);
  fmt::print(
      stderr,
      "  of {} vertices (welded) {} took the weights of their closest points, {} lie too far off or face "
      "another way and were filled in between them, {} had nothing to be filled in from\n",
      surface.vertices, surface.transferred_vertices, surface.filled_vertices, surface.fallback_vertices);
  if (2 * surface.transferred_vertices < surface.vertices)
    fmt::print(stderr,
               "sinew: warning: {}: less than half of the weights were taken over; does the mesh lie on the "
               "bound one, in the same pose? --distance and --angle allow more\n",
               command.output.string());
}

int run_transfer(const TransferCommand& command) {
  TransferSceneOptions options;
  if (command.distance) options.surface.max_distance = *command.distance;
  if (command.angle) options.surface.max_angle = *command.angle;
  options.influences = parse_influences(command.influences);
  options.meshes = command.meshes;
  check_glb_output(command.output, {command.bound, command.mesh});
  if (!command.pictures.empty()) make_picture_directory(command.pictures);  // a wrong path shows now
  const Scene bound = open_input(command.bound);
  const Scene mesh = open_input(command.mesh);
  TransferSceneReport report;
  const Scene result = transfer_scene(bound, mesh, options, &report);
  refuse_unbound(report.meshes, command.mesh);
  write_glb(result, command.output);
  tell_warnings(report.warnings);
  std::vector<std::filesystem::path> pictures;
  if (!command.pictures.empty()) pictures = draw_weights(result, report.joints, command.pictures);
  if (command.json) {
    Json json = report_json(command, report);
    json["pictures"] = pictures_json(pictures);
    print_json(json);
    return 0;
  }
  print_text(command, report);
  if (!pictures.empty())
    fmt::print(stderr, "  {} pictures in {}\n", pictures.size(), command.pictures.string());
  return 0;
}

std::function<int()> declare_transfer(CLI::App& app) {
  const auto command = std::make_shared<TransferCommand>();
  app.add_option("BOUND", command->bound, "the bound character: a file, or model:NAME")
      ->type_name(kCharacter)
      ->required();
  app.add_option("MESH", command->mesh, "what is to move along, such as clothes: a file")
      ->type_name(kFile)
      ->required();
  app.add_option("-o,--output", command->output, "OUT.glb")->type_name(kFile)->required();
  app.add_option("--distance", command->distance,
                 "SHARE: farther from BOUND than this share of its size, a vertex takes its weights from its "
                 "neighbours (default: 0.05)")
      ->check(CLI::Range(0.0, 10.0));
  app.add_option("--angle", command->angle,
                 "DEGREES: the same where the two surfaces face directions that differ by more (default: 60)")
      ->check(CLI::Range(0.1, 90.0));
  app.add_option("--influences", command->influences, "at most this many joints per vertex: a number, or all")
      ->capture_default_str();
  app.add_option("--mesh", command->meshes, "PATTERN: these meshes of MESH only; repeatable")
      ->allow_extra_args(false);
  app.add_option("--pictures", command->pictures, "draw each joint's weights into this directory")
      ->type_name(kDirectory);
  app.add_flag("--json", command->json, "print a machine-readable report");
  return [command] { return run_transfer(*command); };
}

}  // namespace

const Verb kTransferVerb{"transfer", "Carry the weights of a bound mesh over to another, such as clothes",
                         declare_transfer};

}  // namespace sinew::cli
