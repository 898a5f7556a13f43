#include <sinew/character/joined_surface.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/core/pattern.h>
#include <sinew/scene/weld_keys.h>

namespace sinew {

namespace {

/// Joints scaled to nothing get the identity, unless they have weights.
std::vector<Affine3d> inverses(const Scene& rig, std::span<const Affine3d> world_from_joint,
                               const SkinWeights& weights) {
  std::vector<char> weighted(world_from_joint.size(), 0);
  for (const std::uint32_t joint : weights.joints) weighted[joint] = 1;
  std::vector<Affine3d> result(world_from_joint.size(), Affine3d::Identity());
  for (std::size_t j = 0; j < result.size(); ++j) {
    if (std::abs(world_from_joint[j].linear().determinant()) > 1e-30) {
      const Affine3d inverse = world_from_joint[j].inverse();
      if (inverse.matrix().cwiseAbs().maxCoeff() < 1e30) {
        result[j] = inverse;
        continue;
      }
    }
    if (weighted[j])
      throw Error(
          fmt::format("{}: joint '{}' is scaled to nothing and cannot move skin; --ignore leaves it out",
                      rig.source.string(), rig.skeleton.joints[j].name));
  }
  return result;
}

/// Meshes that were bound to joints which are not the rig's.
void tell_dropped_skins(MergedRig& merged, const JoinedSurface& surface) {
  const std::set<int> rig(merged.joint_of_rig.begin(), merged.joint_of_rig.end());
  for (const JoinedSurface::Part& part : surface.parts) {
    const SceneMesh& mesh = merged.scene.meshes[part.mesh];
    if (mesh.skin < 0) continue;
    const std::vector<int>& joints = merged.scene.skins[to_size(mesh.skin)].joints;
    const auto foreign =
        std::count_if(joints.begin(), joints.end(), [&](int joint) { return !rig.contains(joint); });
    if (foreign > 0)
      merged.warnings.push_back(fmt::format(
          "mesh '{}' was bound to another skeleton: its weights are replaced; {} of its {} joints, "
          "which the rig does not have, stay as plain nodes",
          mesh.name, foreign, joints.size()));
  }
}

}  // namespace

JoinedSurface join_surfaces(const Scene& scene, std::span<const std::size_t> meshes,
                            std::span<const Affine3d> scene_from_mesh, WeldBy weld_by) {
  assert(scene_from_mesh.size() == scene.meshes.size());
  JoinedSurface joined;
  for (const std::size_t m : meshes) {
    const Mesh& surface = scene.meshes[m].surface;
    const Affine3d& place = scene_from_mesh[m];
    const std::vector<std::uint32_t> keys =
        weld_by == WeldBy::position_and_skin ? weld_keys(scene.meshes[m]) : std::vector<std::uint32_t>();
    JoinedSurface::Part part{m, joined.positions.size(), weld_vertices(surface.positions, keys)};
    if (part.weld.size() > std::numeric_limits<std::uint32_t>::max() - joined.positions.size())
      throw Error(fmt::format("{}: too many vertices for one surface", scene.source.string()));
    joined.positions.reserve(joined.positions.size() + part.weld.size());
    for (const std::uint32_t v : part.weld.first_vertex) {
      const Vec3f position = (place * surface.positions[v].cast<double>()).cast<float>();
      if (!position.allFinite())
        throw Error(fmt::format("{}: mesh '{}': vertex {} is too far away in the scene",
                                scene.source.string(), scene.meshes[m].name, v));
      joined.positions.push_back(position);
    }
    const bool mirrored = place.linear().determinant() < 0;
    const std::uint32_t shift = static_cast<std::uint32_t>(part.first_vertex);
    const WeldedTriangles welded = weld_triangles(part.weld, surface.triangles);
    joined.triangles.reserve(joined.triangles.size() + welded.triangles.size());
    for (const Triangle& t : welded.triangles)
      joined.triangles.push_back(mirrored ? Triangle{t[0] + shift, t[2] + shift, t[1] + shift}
                                          : Triangle{t[0] + shift, t[1] + shift, t[2] + shift});
    joined.parts.push_back(std::move(part));
  }
  return joined;
}

std::vector<std::size_t> choose_meshes(const Scene& scene, std::span<const std::string> patterns) {
  std::vector<std::string> names;
  for (const SceneMesh& mesh : scene.meshes) names.push_back(fmt::format("'{}'", mesh.name));
  for (const std::string& pattern : patterns)
    if (std::none_of(scene.meshes.begin(), scene.meshes.end(),
                     [&](const SceneMesh& mesh) { return matches_pattern(mesh.name, pattern); }))
      throw Error(fmt::format("{}: no mesh is called '{}'; {}", scene.source.string(), pattern,
                              names.empty() ? "it has none" : "there are " + list_names(names)));
  std::vector<std::size_t> chosen;
  for (std::size_t m = 0; m < scene.meshes.size(); ++m)
    if (!scene.meshes[m].surface.positions.empty() &&
        (patterns.empty() || matches_any(scene.meshes[m].name, patterns)))
      chosen.push_back(m);
  if (chosen.empty())
    throw Error(fmt::format("{}: has no mesh with vertices to bind", scene.source.string()));
  return chosen;
}

SkinWeights file_weights(const JoinedSurface::Part& part, const SkinWeights& welded,
                         std::span<const int> number_of_joint) {
  SkinWeights weights;
  const std::vector<std::uint32_t>& row_of = part.weld.welded_of_vertex;
  weights.starts.reserve(row_of.size() + 1);
  std::size_t total = 0;
  for (const std::uint32_t row : row_of) total += welded.row_size(part.first_vertex + row);
  if (total > std::numeric_limits<std::uint32_t>::max())
    throw Error(fmt::format("{} weights are too many for one mesh; allow fewer influences", total));
  weights.joints.reserve(total);
  weights.values.reserve(total);
  for (const std::uint32_t row : row_of) {
    for (const std::uint32_t joint : welded.row_joints(part.first_vertex + row)) {
      assert(number_of_joint[joint] >= 0);
      weights.joints.push_back(static_cast<std::uint32_t>(number_of_joint[joint]));
    }
    const auto values = welded.row_values(part.first_vertex + row);
    weights.values.insert(weights.values.end(), values.begin(), values.end());
    weights.starts.push_back(static_cast<std::uint32_t>(weights.joints.size()));
  }
  return weights;
}

MergedRig bind_joined(const Scene& mesh, const Scene& rig, const JoinedSurface& surface,
                      std::span<const Affine3d> scene_from_mesh, std::span<const Affine3d> world_from_joint,
                      std::span<const int> joints, const SkinWeights& weights) {
  const std::vector<Affine3d> joint_from_world = inverses(rig, world_from_joint, weights);
  MergedRig merged = merge_rig(mesh, rig);
  tell_dropped_skins(merged, surface);
  std::vector<int> slot_of_joint(rig.skeleton.size(), -1), merged_joints;
  for (std::size_t i = 0; i < joints.size(); ++i) {
    slot_of_joint[to_size(joints[i])] = static_cast<int>(i);
    merged_joints.push_back(merged.joint_of_rig[to_size(joints[i])]);
  }
  std::vector<NewBinding> bindings;
  for (const JoinedSurface::Part& part : surface.parts) {
    NewBinding binding{part.mesh, {}, file_weights(part, weights, slot_of_joint)};
    for (const int joint : joints)
      binding.joint_from_mesh.push_back(
          (joint_from_world[to_size(joint)] * scene_from_mesh[part.mesh]).matrix().cast<float>());
    bindings.push_back(std::move(binding));
  }
  bind_meshes(merged.scene, merged_joints, rig.skins.empty() ? rig.source.stem().string() : rig.skins[0].name,
              std::move(bindings));
  return merged;
}

std::vector<int> joints_of_skins(const Scene& scene) {
  std::vector<int> joints;
  std::set<int> listed;
  for (const Skin& skin : scene.skins)
    for (const int joint : skin.joints)
      if (listed.insert(joint).second) joints.push_back(joint);
  return joints;
}

std::string list_names(std::span<const std::string> names) {
  constexpr std::size_t kShown = 6;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kShown) text += fmt::format(" and {} more", names.size() - kShown);
  return text;
}

}  // namespace sinew
