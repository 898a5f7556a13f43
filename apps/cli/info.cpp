#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <sinew/scene/inspect.h>

#include "apps/cli/input.h"
#include "apps/cli/json.h"
#include "apps/cli/verbs.h"

namespace sinew::cli {

namespace {

struct InfoOptions {
  std::string input;
  bool json = false;
};

std::size_t deforming_joints(const Scene& scene) {
  std::size_t count = 0;
  for (const Joint& joint : scene.skeleton.joints) count += joint.deforms;
  return count;
}

struct RigCounts {
  std::size_t deforming = 0;
  std::size_t constraints = 0;
};

RigCounts count_rig(const ControlRig& rig) {
  RigCounts counts;
  for (const RigBone& bone : rig.bones) {
    counts.deforming += bone.deforms;
    counts.constraints += bone.constraints.size();
  }
  return counts;
}

Json mesh_json(const SceneMesh& source, const MeshInspection& mesh) {
  Json json;
  const TopologyReport& t = mesh.topology;
  json["name"] = mesh.name;
  json["vertices"] = mesh.file_vertices;
  json["welded_vertices"] = t.vertices;
  json["polygons"] = mesh.polygons;
  json["triangles"] = t.triangles;
  json["size_metres"] = mesh.file_vertices > 0
                            ? Json(std::vector<float>{mesh.bounds.sizes().x(), mesh.bounds.sizes().y(),
                                                      mesh.bounds.sizes().z()})
                            : Json();
  json["area_m2"] = mesh.area;
  json["volume_m3"] = t.watertight() ? Json(mesh.volume) : Json();
  json["watertight"] = t.watertight();
  json["islands"] = t.components;
  json["open_borders"] = t.boundary_loops;
  json["border_edges"] = t.boundary_edges;
  json["non_manifold_edges"] = t.non_manifold_edges;
  json["flipped_edges"] = t.flipped_edges;
  json["zero_area_triangles"] = t.zero_area_triangles;
  json["duplicate_triangles"] = t.duplicate_triangles;
  json["isolated_vertices"] = t.isolated_vertices;
  json["skinned"] = mesh.skinned;
  if (mesh.skinned) {
    json["skin"] = mesh.skin;
    json["most_influences"] = mesh.most_influences;
    json["unweighted_vertices"] = mesh.unweighted_vertices;
    json["joints_outside"] = mesh.joints_outside;
  }
  json["morph_targets"] = Json::array();
  for (const MorphTarget& target : source.morph_targets) json["morph_targets"].push_back(target.name);
  json["attributes"] = Json::array();
  for (const VertexAttribute& attribute : source.attributes) json["attributes"].push_back(attribute.name);
  return json;
}

void print_report(const Scene& scene, const SceneInspection& inspection) {
  Json json;
  json["file"] = scene.source.string();
  json["original_up_axis"] = std::string(1, scene.original_space.up_axis);
  json["original_metres_per_unit"] = scene.original_space.metres_per_unit;
  json["meshes"] = Json::array();
  for (std::size_t m = 0; m < scene.meshes.size(); ++m)
    json["meshes"].push_back(mesh_json(scene.meshes[m], inspection.meshes[m]));
  json["joints"] = Json::array();
  for (const Joint& joint : scene.skeleton.joints)
    json["joints"].push_back({{"name", joint.name}, {"parent", joint.parent}, {"deforms", joint.deforms}});
  json["skins"] = Json::array();
  for (const Skin& skin : scene.skins)
    json["skins"].push_back({{"name", skin.name}, {"joints", skin.joints.size()}});
  json["rig"] = Json();
  if (scene.control_rig) {
    const RigCounts rig = count_rig(*scene.control_rig);
    json["rig"] = {{"name", scene.control_rig->name},
                   {"bones", scene.control_rig->bones.size()},
                   {"deforming", rig.deforming},
                   {"constraints", rig.constraints}};
  }
  json["clips"] = Json::array();
  for (const Clip& clip : scene.clips) {
    const double fps = guess_frame_rate(clip);
    json["clips"].push_back({{"name", clip.name},
                             {"seconds", clip.duration()},
                             {"channels", clip.channels.size()},
                             {"fps", fps},
                             {"frames", frame_count(clip, fps)}});
  }
  json["problems"] = inspection.problems;
  print_json(json);
}

void print_text(const Scene& scene, const SceneInspection& inspection) {
  fmt::print("{}\n", scene.source.string());
  for (std::size_t m = 0; m < scene.meshes.size(); ++m) {
    const MeshInspection& mesh = inspection.meshes[m];
    const TopologyReport& t = mesh.topology;
    fmt::print("mesh '{}'\n", mesh.name);
    fmt::print("  {} vertices ({} after welding seams), {} polygons, {} triangles\n", mesh.file_vertices,
               t.vertices, mesh.polygons, t.triangles);
    if (mesh.file_vertices > 0) {
      const Vec3f size = mesh.bounds.sizes();
      fmt::print("  {:.4g} x {:.4g} x {:.4g} m, area {:.4g} m²{}\n", size.x(), size.y(), size.z(), mesh.area,
                 t.watertight() ? fmt::format(", closed, volume {:.4g} m³", mesh.volume) : ", open");
    }
    if (mesh.skinned)
      fmt::print("  bound to skin '{}', at most {} influences per vertex\n", mesh.skin, mesh.most_influences);
    for (const MorphTarget& target : scene.meshes[m].morph_targets)
      fmt::print("  morph target '{}'\n", target.name);
    for (const VertexAttribute& attribute : scene.meshes[m].attributes)
      fmt::print("  attribute {} ({} per vertex)\n", attribute.name, attribute.width);
  }
  fmt::print("{} joints, {} of them in {} skin{}\n", scene.skeleton.size(),
             scene.skins.empty() ? 0 : deforming_joints(scene), scene.skins.size(),
             scene.skins.size() == 1 ? "" : "s");
  if (scene.control_rig) {
    const RigCounts rig = count_rig(*scene.control_rig);
    const std::size_t bones = scene.control_rig->bones.size();
    fmt::print("rig '{}' of {} bones: deforming {}, controllers {}, constraints {}\n",
               scene.control_rig->name, bones, rig.deforming, bones - rig.deforming, rig.constraints);
  }
  for (std::size_t c = 0; c < scene.clips.size(); ++c) {
    const double fps = guess_frame_rate(scene.clips[c]);
    fmt::print("clip {} '{}': {:.3f} s, {} frames at {} fps, {} channels\n", c, scene.clips[c].name,
               scene.clips[c].duration(), frame_count(scene.clips[c], fps), fps,
               scene.clips[c].channels.size());
  }
  if (inspection.problems.empty()) fmt::print("no problems found\n");
  for (const std::string& problem : inspection.problems) fmt::print("problem: {}\n", problem);
}

int run_info(const InfoOptions& options) {
  const Scene scene = open_input(options.input, false);
  const SceneInspection inspection = inspect_scene(scene);
  if (options.json)
    print_report(scene, inspection);
  else
    print_text(scene, inspection);
  return 0;
}

std::function<int()> declare_info(CLI::App& app) {
  const auto options = std::make_shared<InfoOptions>();
  add_character(app, "INPUT", options->input)->required();
  app.add_flag("--json", options->json, "print a machine-readable report");
  return [options] { return run_info(*options); };
}

}  // namespace

const Verb kInfoVerb{"info", "Tell what a file holds, and what is wrong with it", declare_info};

}  // namespace sinew::cli
