#include <sinew/authoring/transfer_scene.h>

#include <chrono>

#include <fmt/format.h>

#include <sinew/character/joined_surface.h>
#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/scene/merge_rig.h>

namespace sinew {

namespace {

/// Rows of the joined vertices, with joints of the skeleton.
SkinWeights joined_weights(const Scene& scene, const JoinedSurface& surface) {
  SkinWeights weights;
  weights.starts.reserve(surface.positions.size() + 1);
  for (const JoinedSurface::Part& part : surface.parts) {
    const SceneMesh& mesh = scene.meshes[part.mesh];
    const std::vector<int>& joint_of_slot = scene.skins[to_size(mesh.skin)].joints;
    for (const std::uint32_t v : part.weld.first_vertex) {
      for (const std::uint32_t slot : mesh.weights.row_joints(v))
        weights.joints.push_back(static_cast<std::uint32_t>(joint_of_slot[slot]));
      const auto values = mesh.weights.row_values(v);
      weights.values.insert(weights.values.end(), values.begin(), values.end());
      weights.starts.push_back(static_cast<std::uint32_t>(weights.joints.size()));
    }
  }
  return weights;
}

double size_of(const JoinedSurface& surface) {
  Eigen::AlignedBox3f box;
  for (const Vec3f& p : surface.positions) box.extend(p);
  return box.isEmpty() ? 0.0 : static_cast<double>(box.diagonal().norm());
}

}  // namespace

std::size_t TransferSceneReport::unbound() const {
  std::size_t count = 0;
  for (const BoundMesh& mesh : meshes) count += mesh.unbound;
  return count;
}

Scene transfer_scene(const Scene& bound, const Scene& mesh, const TransferSceneOptions& options,
                     TransferSceneReport* report) {
  const auto start = std::chrono::steady_clock::now();
  check_scene(bound);
  if (&mesh != &bound) check_scene(mesh);
  std::vector<std::size_t> sources;
  for (std::size_t m = 0; m < bound.meshes.size(); ++m)
    if (bound.meshes[m].skin >= 0 && !bound.meshes[m].surface.positions.empty()) sources.push_back(m);
  if (sources.empty())
    throw Error(fmt::format("{}: no mesh of it is bound to a skeleton; `sinew bind` does that",
                            bound.source.string()));
  const std::vector<std::size_t> chosen = choose_meshes(mesh, options.meshes);
  const BindPose bound_pose = bind_pose(bound);
  const std::vector<Affine3d> scene_from_mesh = bind_pose(mesh).scene_from_mesh;
  const JoinedSurface source =
      join_surfaces(bound, sources, bound_pose.scene_from_mesh, WeldBy::position_and_skin);
  const JoinedSurface target = join_surfaces(mesh, chosen, scene_from_mesh, WeldBy::position);

  TransferSceneReport result;
  SkinWeights weights = transfer_weights(source.view(), joined_weights(bound, source), target.view(),
                                         options.surface, &result.surface);
  if (options.influences > 0) weights = limit_influences(weights, options.influences);
  MergedRig merged = bind_joined(mesh, bound, target, scene_from_mesh, bound_pose.world_from_joint,
                                 joints_of_skins(bound), weights);

  result.meshes = mesh_statistics(merged.scene, chosen);
  for (BoundJoint& joint : joint_statistics(merged.scene, chosen))
    if (joint.vertices > 0) result.joints.push_back(std::move(joint));
  const TransferReport& surface = result.surface;
  if (2 * surface.too_far_vertices > surface.vertices)
    result.warnings.push_back(
        fmt::format("{} of {} vertices are far from the bound mesh ({:.3g} m across, the other {:.3g} m): do "
                    "both stand in "
                    "the same place, pose and unit?",
                    surface.too_far_vertices, surface.vertices, size_of(source), size_of(target)));
  result.warnings.insert(result.warnings.end(), merged.warnings.begin(), merged.warnings.end());
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (report != nullptr) *report = std::move(result);
  return std::move(merged.scene);
}

}  // namespace sinew
