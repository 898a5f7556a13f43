#include <sinew/scene/inspect.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <sinew/core/index.h>
#include <sinew/core/parallel.h>
#include <sinew/geometry/volume.h>
#include <sinew/geometry/weld.h>
#include <sinew/geometry/winding.h>
#include <sinew/scene/weld_keys.h>

namespace sinew {

namespace {

/// Names of the joints that move `mesh` but stood outside of it when it was bound.
std::vector<std::string> joints_outside(const Scene& scene, const SceneMesh& mesh, const MeshView& welded) {
  const Skin& skin = scene.skins[to_size(mesh.skin)];
  std::vector<char> used(skin.joints.size(), 0);
  for (std::uint32_t joint : mesh.weights.joints) used[joint] = 1;
  std::vector<char> outside(skin.joints.size(), 0);
  parallel_blocks(skin.joints.size(), 1, [&](std::size_t j, std::size_t) {
    if (!used[j]) return;
    const Mat4d joint_from_mesh = skin.joint_from_mesh[j].cast<double>();
    if (std::abs(joint_from_mesh.topLeftCorner<3, 3>().determinant()) < 1e-30) return;
    const Vec3d place = Affine3d(joint_from_mesh).inverse().translation();
    outside[j] = !place.allFinite() || std::abs(winding_number(welded, place)) < 0.5;
  });
  std::vector<std::string> names;
  for (std::size_t j = 0; j < outside.size(); ++j)
    if (outside[j]) names.push_back(scene.skeleton.joints[to_size(skin.joints[j])].name);
  return names;
}

MeshInspection inspect_mesh(const Scene& scene, const SceneMesh& mesh) {
  MeshInspection result;
  result.name = mesh.name;
  result.file_vertices = mesh.surface.positions.size();
  result.polygons = mesh.surface.polygons.size();
  for (const Vec3f& p : mesh.surface.positions) result.bounds.extend(p);
  const Weld weld = weld_vertices(mesh.surface.positions, weld_keys(mesh));
  const std::vector<Vec3f> positions = welded_positions(weld, mesh.surface.positions);
  // Collapsed triangles stay in: inspect_topology counts them.
  std::vector<Triangle> triangles = mesh.surface.triangles;
  for (Triangle& triangle : triangles)
    for (std::uint32_t& corner : triangle) corner = weld.welded_of_vertex[corner];
  const MeshView welded{positions, triangles};
  result.topology = inspect_topology(welded);
  result.area = surface_area(welded);
  result.volume = enclosed_volume(welded);
  if (mesh.skin >= 0) {
    result.skinned = true;
    result.skin = scene.skins[to_size(mesh.skin)].name;
    for (std::size_t v = 0; v < mesh.weights.rows(); ++v) {
      result.most_influences = std::max(result.most_influences, mesh.weights.row_size(v));
      if (mesh.weights.row_size(v) == 0) ++result.unweighted_vertices;
    }
    result.joints_outside = joints_outside(scene, mesh, welded);
  }
  return result;
}

std::string list_names(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 6;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kShown) text += fmt::format(" and {} more", names.size() - kShown);
  return text;
}

void find_problems(const MeshInspection& mesh, std::vector<std::string>& problems) {
  const TopologyReport& topology = mesh.topology;
  const auto say = [&](std::string what) {
    problems.push_back(fmt::format("mesh '{}': {}", mesh.name, what));
  };
  if (mesh.unweighted_vertices > 0) say(fmt::format("{} vertices without weights", mesh.unweighted_vertices));
  if (!mesh.skinned) say("not bound to a skeleton");
  if (topology.boundary_loops > 0)
    say(fmt::format("open: {} borders with {} edges", topology.boundary_loops, topology.boundary_edges));
  if (topology.components > 1) say(fmt::format("{} islands that do not hang together", topology.components));
  if (topology.isolated_vertices > 0) say(fmt::format("{} vertices in no face", topology.isolated_vertices));
  if (topology.zero_area_triangles > 0)
    say(fmt::format("{} triangles of zero area", topology.zero_area_triangles));
  if (topology.duplicate_triangles > 0) say(fmt::format("{} triangles twice", topology.duplicate_triangles));
  if (topology.non_manifold_edges > 0)
    say(fmt::format("{} edges with more than two triangles", topology.non_manifold_edges));
  if (topology.flipped_edges > 0)
    say(fmt::format("{} edges where neighbouring triangles face opposite sides", topology.flipped_edges));
  if (topology.watertight() && mesh.volume < 0) say("inside out: its triangles face inwards");
  if (!mesh.joints_outside.empty())
    say(fmt::format("{} of its joints lie outside of it: {}", mesh.joints_outside.size(),
                    list_names(mesh.joints_outside)));
}

}  // namespace

SceneInspection inspect_scene(const Scene& scene) {
  SceneInspection result;
  for (const SceneMesh& mesh : scene.meshes) {
    result.meshes.push_back(inspect_mesh(scene, mesh));
    find_problems(result.meshes.back(), result.problems);
  }
  if (scene.meshes.empty()) result.problems.push_back("no mesh");
  result.problems.insert(result.problems.end(), scene.warnings.begin(), scene.warnings.end());
  return result;
}

}  // namespace sinew
