#include <sinew/scene/scene.h>

#include <cctype>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/core/index.h>
#include <sinew/scene/assimp_import.h>
#include <sinew/scene/bvh.h>
#include <sinew/scene/gltf.h>
#include <sinew/scene/obj.h>
#include <sinew/scene/rig_file.h>

namespace sinew {

std::size_t Scene::first_morph_weight(std::size_t mesh) const {
  std::size_t first = 0;
  for (std::size_t m = 0; m < mesh; ++m) first += meshes[m].morph_weights.size();
  return first;
}

std::size_t Scene::morph_weight_count() const {
  return first_morph_weight(meshes.size());
}

Pose rest_pose(const Scene& scene) {
  Pose pose = rest_pose(scene.skeleton);
  for (const SceneMesh& mesh : scene.meshes)
    pose.morph_weights.insert(pose.morph_weights.end(), mesh.morph_weights.begin(), mesh.morph_weights.end());
  return pose;
}

Scene read_scene(const std::filesystem::path& path) {
  static constexpr std::string_view kReadable[] = {".glb", ".gltf", ".obj", ".fbx", ".dae", ".bvh", ".json"};
  require_file(path, kReadable);
  const std::string extension = lower_case_extension(path);
  if (extension == ".glb" || extension == ".gltf") return read_gltf(path);
  if (extension == ".obj") return read_obj(path);
  if (extension == ".fbx" || extension == ".dae") return read_assimp(path);
  if (extension == ".bvh") return read_bvh(path);
  if (extension == ".json") return scene_from_rig(read_rig(path), path);
  throw Error(fmt::format(
      "{}: unknown kind of file '{}'; Sinew reads .glb .gltf .obj .fbx .dae .bvh, and .json for rigs",
      path.string(), extension));
}

namespace {

// Beyond it, products of positions and transforms no longer fit a float.
constexpr float kFarthest = 1e15f;
constexpr float kFarthestMorph = 1e12f;
constexpr float kLargestMorphWeight = 1e3f;

void check_corner_values(std::size_t corner_count, std::size_t value_count,
                         const std::vector<std::uint32_t>& corners, const std::string& where) {
  if (corners.empty()) return;
  if (corners.size() != corner_count)
    throw Error(fmt::format("{}: {} entries for {} polygon corners", where, corners.size(), corner_count));
  for (std::uint32_t value : corners)
    if (value >= value_count)
      throw Error(fmt::format("{}: value {} does not exist ({} values)", where, value, value_count));
}

void check_weights(const SkinWeights& weights, std::size_t vertex_count, std::size_t joint_count,
                   const std::string& where) {
  if (weights.rows() != vertex_count)
    throw Error(fmt::format("{}: {} rows of weights for {} vertices", where, weights.rows(), vertex_count));
  if (weights.joints.size() != weights.values.size() || weights.starts.back() != weights.joints.size())
    throw Error(fmt::format("{}: {} joint numbers for {} weights", where, weights.joints.size(),
                            weights.values.size()));
  for (std::size_t v = 0; v < vertex_count; ++v) {
    if (weights.starts[v] > weights.starts[v + 1])
      throw Error(fmt::format("{}: row {} of the weights ends before it starts", where, v));
    for (std::size_t i = weights.starts[v]; i < weights.starts[v + 1]; ++i) {
      if (weights.joints[i] >= joint_count)
        throw Error(fmt::format("{}: vertex {} is bound to joint {} of {}", where, v, weights.joints[i],
                                joint_count));
      if (!(weights.values[i] >= 0) || !std::isfinite(weights.values[i]))
        throw Error(fmt::format("{}: vertex {} has the weight {}", where, v, weights.values[i]));
    }
  }
}

void check_mesh(const Scene& scene, const SceneMesh& mesh, const std::string& where) {
  const std::size_t vertices = mesh.surface.positions.size();
  const std::size_t corners = mesh.surface.polygons.corners.size();
  for (std::size_t v = 0; v < vertices; ++v)
    if (!mesh.surface.positions[v].allFinite())
      throw Error(fmt::format("{}: position {} is not finite", where, v));
    else if (mesh.surface.positions[v].cwiseAbs().maxCoeff() > kFarthest)
      throw Error(fmt::format("{}: position {} is more than 1e15 m from the origin", where, v));
  for (std::uint32_t corner : mesh.surface.polygons.corners)
    if (corner >= vertices)
      throw Error(fmt::format("{}: vertex {} does not exist ({})", where, corner, vertices));
  if (mesh.surface.triangles.size() != mesh.surface.triangle_corners.size())
    throw Error(fmt::format("{}: {} triangles with the corners of {}", where, mesh.surface.triangles.size(),
                            mesh.surface.triangle_corners.size()));
  for (std::size_t t = 0; t < mesh.surface.triangles.size(); ++t)
    for (int c = 0; c < 3; ++c) {
      const std::uint32_t place = mesh.surface.triangle_corners[t][c];
      if (place >= corners || mesh.surface.polygons.corners[place] != mesh.surface.triangles[t][c])
        throw Error(fmt::format("{}: triangle {} does not belong to the polygons", where, t));
    }
  if (!mesh.polygon_groups.empty() && mesh.polygon_groups.size() != mesh.surface.polygons.size())
    throw Error(fmt::format("{}: {} groups for {} polygons", where, mesh.polygon_groups.size(),
                            mesh.surface.polygons.size()));
  check_corner_values(corners, mesh.normals.values.size(), mesh.normals.corners, where + ": normals");
  check_corner_values(corners, mesh.texcoords.values.size(), mesh.texcoords.corners, where + ": UVs");
  for (const VertexAttribute& attribute : mesh.attributes)
    if (attribute.width < 1 || attribute.values.size() != vertices * to_size(attribute.width))
      throw Error(fmt::format("{}: attribute '{}': {} values for {} vertices", where, attribute.name,
                              attribute.values.size(), vertices));
  if (mesh.morph_weights.size() != mesh.morph_targets.size())
    throw Error(fmt::format("{}: {} morph weights for {} targets", where, mesh.morph_weights.size(),
                            mesh.morph_targets.size()));
  for (const MorphTarget& target : mesh.morph_targets) {
    if (target.displacements.size() != vertices)
      throw Error(fmt::format("{}: morph target '{}': {} displacements for {} vertices", where, target.name,
                              target.displacements.size(), vertices));
    for (const Vec3f& displacement : target.displacements)
      if (!displacement.allFinite() || displacement.cwiseAbs().maxCoeff() > kFarthestMorph)
        throw Error(fmt::format("{}: morph target '{}': a displacement is not finite or beyond 1e12 m", where,
                                target.name));
  }
  for (float weight : mesh.morph_weights)
    if (!(std::abs(weight) <= kLargestMorphWeight))
      throw Error(fmt::format("{}: a morph weight is {}; at most 1000 makes sense", where, weight));
  if (mesh.joint < -1 || mesh.joint >= static_cast<int>(scene.skeleton.size()))
    throw Error(fmt::format("{}: hangs on joint {} of {}", where, mesh.joint, scene.skeleton.size()));
  if (mesh.skin < -1 || mesh.skin >= static_cast<int>(scene.skins.size()))
    throw Error(fmt::format("{}: skin {} does not exist ({} skins)", where, mesh.skin, scene.skins.size()));
  if (mesh.skin >= 0)
    check_weights(mesh.weights, vertices, scene.skins[to_size(mesh.skin)].joints.size(), where);
}

void check_control_rig(const Scene& scene, const std::string& file) {
  if (!scene.control_rig) {
    if (!scene.joint_bones.empty())
      throw Error(fmt::format("{}: {} joints have bone numbers, but there is no rig", file,
                              scene.joint_bones.size()));
    return;
  }
  const std::vector<RigBone>& bones = scene.control_rig->bones;
  check_rig(*scene.control_rig, file);
  if (scene.joint_bones.size() != scene.skeleton.size())
    throw Error(fmt::format("{}: {} bone numbers for {} joints", file, scene.joint_bones.size(),
                            scene.skeleton.size()));
  std::vector<int> joint_of_bone(bones.size(), -1);
  for (std::size_t j = 0; j < scene.joint_bones.size(); ++j) {
    const int bone = scene.joint_bones[j];
    if (bone == -1) continue;
    if (bone < -1 || bone >= static_cast<int>(bones.size()))
      throw Error(fmt::format("{}: joint {} '{}': bone {} does not exist ({} bones)", file, j,
                              scene.skeleton.joints[j].name, bone, bones.size()));
    int& joint = joint_of_bone[to_size(bone)];
    if (joint >= 0)
      throw Error(
          fmt::format("{}: joints {} and {} both are bone '{}'", file, joint, j, bones[to_size(bone)].name));
    joint = static_cast<int>(j);
  }
  for (std::size_t b = 0; b < bones.size(); ++b)
    if (joint_of_bone[b] < 0) throw Error(fmt::format("{}: bone '{}' has no joint", file, bones[b].name));
}

}  // namespace

void check_scene(const Scene& scene) {
  const std::string file = scene.source.empty() ? "scene" : scene.source.string();
  check_skeleton(scene.skeleton, file);
  check_control_rig(scene, file);
  for (std::size_t s = 0; s < scene.skins.size(); ++s) {
    const Skin& skin = scene.skins[s];
    const std::string where = fmt::format("{}: skin {} '{}'", file, s, skin.name);
    if (skin.joints.empty()) throw Error(where + ": has no joints");
    if (skin.joint_from_mesh.size() != skin.joints.size())
      throw Error(fmt::format("{}: {} inverse bind matrices for {} joints", where,
                              skin.joint_from_mesh.size(), skin.joints.size()));
    for (int joint : skin.joints)
      if (joint < 0 || joint >= static_cast<int>(scene.skeleton.size()))
        throw Error(
            fmt::format("{}: joint {} does not exist ({} joints)", where, joint, scene.skeleton.size()));
    for (std::size_t j = 0; j < skin.joints.size(); ++j)
      if (!skin.joint_from_mesh[j].allFinite())
        throw Error(fmt::format("{}: inverse bind matrix {} is not finite", where, j));
  }
  for (std::size_t m = 0; m < scene.meshes.size(); ++m)
    check_mesh(scene, scene.meshes[m], fmt::format("{}: mesh '{}'", file, scene.meshes[m].name));
  const std::size_t morph_weights = scene.morph_weight_count();
  for (const Clip& clip : scene.clips) check_clip(clip, scene.skeleton.size(), morph_weights, file);
}

}  // namespace sinew
