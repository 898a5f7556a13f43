#include <sinew/scene/merge_rig.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <sinew/core/index.h>
#include <sinew/scene/gltf_document.h>

namespace sinew {

namespace {

/// Matrices that differ by less, relative to their largest entry, are the same but for rounding.
constexpr double kSameMatrix = 1e-5;

bool same_matrix(const Mat4d& a, const Mat4d& b) {
  const double scale = std::max(a.cwiseAbs().maxCoeff(), b.cwiseAbs().maxCoeff());
  return (a - b).cwiseAbs().maxCoeff() <= kSameMatrix * scale;
}

bool invertible(const Affine3d& matrix) {
  const double volume = std::abs(matrix.linear().determinant());
  return volume > 1e-30 && volume < 1e30 && matrix.matrix().cwiseAbs().maxCoeff() < 1e15;
}

std::vector<Affine3d> rest_world(const Skeleton& skeleton) {
  std::vector<Affine3d> world(skeleton.size());
  forward_kinematics(skeleton, rest_pose(skeleton).joints, world);
  return world;
}

class BindPoseFinder {
 public:
  explicit BindPoseFinder(const Scene& scene)
      : scene_(scene), rest_(rest_world(scene.skeleton)), known_(scene.skeleton.size()) {}

  BindPose run() {
    std::vector<Affine3d> scene_from_skin(scene_.skins.size(), Affine3d::Identity());
    for (const std::size_t s : skins_by_use()) scene_from_skin[s] = place_skin(scene_.skins[s]);

    BindPose pose;
    pose.world_from_joint = rest_;
    for (std::size_t j = 0; j < rest_.size(); ++j) {
      const int parent = scene_.skeleton.joints[j].parent;
      if (known_[j])
        pose.world_from_joint[j] = *known_[j];
      else if (parent >= 0)
        pose.world_from_joint[j] =
            pose.world_from_joint[to_size(parent)] * scene_.skeleton.joints[j].rest.matrix();
    }
    for (const SceneMesh& mesh : scene_.meshes) {
      Affine3d place = Affine3d::Identity();
      if (mesh.skin >= 0)
        place = scene_from_skin[to_size(mesh.skin)];
      else if (mesh.joint >= 0)
        place = pose.world_from_joint[to_size(mesh.joint)];
      // A node scaled to nothing has no way back: its mesh then stays in its own space.
      pose.scene_from_mesh.push_back(invertible(place) ? place : Affine3d::Identity());
    }
    pose.rest_differs = difference(pose.world_from_joint);
    return pose;
  }

 private:
  /// The skin with the most vertices first: it says where the others' joints are.
  std::vector<std::size_t> skins_by_use() const {
    std::vector<std::size_t> vertices(scene_.skins.size(), 0), order(scene_.skins.size());
    for (const SceneMesh& mesh : scene_.meshes)
      if (mesh.skin >= 0) vertices[to_size(mesh.skin)] += mesh.surface.positions.size();
    for (std::size_t s = 0; s < order.size(); ++s) order[s] = s;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return vertices[a] > vertices[b]; });
    return order;
  }

  /// Places the skin's joints that have no place yet; where its mesh space is in the scene.
  Affine3d place_skin(const Skin& skin) {
    // A joint that another skin has placed says where this one is, else the topmost does, by the rest pose.
    int anchor = -1;
    bool anchor_known = false;
    for (std::size_t i = 0; i < skin.joints.size(); ++i) {
      const std::size_t j = to_size(skin.joints[i]);
      const bool is_known = known_[j].has_value();
      if (!invertible(matrix(skin, i)) || !invertible(rest_[j])) continue;
      const bool better = anchor < 0 || (is_known && !anchor_known) ||
                          (is_known == anchor_known && skin.joints[i] < skin.joints[to_size(anchor)]);
      if (!better) continue;
      anchor = static_cast<int>(i);
      anchor_known = is_known;
    }
    if (anchor < 0) return Affine3d::Identity();
    const std::size_t top = to_size(skin.joints[to_size(anchor)]);
    const Affine3d scene_from_mesh = known_[top].value_or(rest_[top]) * matrix(skin, to_size(anchor));
    for (std::size_t i = 0; i < skin.joints.size(); ++i) {
      std::optional<Affine3d>& place = known_[to_size(skin.joints[i])];
      if (place || !invertible(matrix(skin, i))) continue;
      const Affine3d world = scene_from_mesh * matrix(skin, i).inverse();
      if (world.matrix().allFinite()) place = world;
    }
    return scene_from_mesh;
  }

  static Affine3d matrix(const Skin& skin, std::size_t i) {
    return Affine3d(skin.joint_from_mesh[i].cast<double>());
  }

  double difference(const std::vector<Affine3d>& world) const {
    Eigen::AlignedBox3d box;
    double farthest = 0;
    for (std::size_t j = 0; j < world.size(); ++j) {
      if (!known_[j]) continue;
      box.extend(world[j].translation());
      farthest = std::max(farthest, (world[j].translation() - rest_[j].translation()).norm());
    }
    const double size = box.isEmpty() ? 0 : box.diagonal().norm();
    return size > 0 ? farthest / size : 0;
  }

  const Scene& scene_;
  std::vector<Affine3d> rest_;
  std::vector<std::optional<Affine3d>> known_;  // per joint, where a skin puts it
};

/// Nodes that hold something to look at or to look with.
std::vector<char> holding_nodes(const Scene& scene) {
  std::vector<char> holds(scene.skeleton.size(), 0);
  for (const SceneMesh& mesh : scene.meshes)
    if (mesh.joint >= 0) holds[to_size(mesh.joint)] = 1;
  if (!scene.document || !scene.document->json.contains("nodes")) return holds;
  const auto& nodes = scene.document->json["nodes"];
  for (std::size_t j = 0; j < std::min(holds.size(), scene.joint_nodes.size()); ++j) {
    const int number = scene.joint_nodes[j];
    if (number < 0 || to_size(number) >= nodes.size()) continue;
    const auto& node = nodes[to_size(number)];
    const auto extensions = node.find("extensions");
    if (node.contains("mesh") || node.contains("camera") ||
        (extensions != node.end() && extensions->contains("KHR_lights_punctual")))
      holds[j] = 1;
  }
  return holds;
}

/// Nodes that are joints, or carry some: not those that only hold things, nor what carries only such.
std::vector<char> skeleton_nodes(const Scene& scene, const std::vector<char>& holds) {
  std::vector<char> has_children(scene.skeleton.size(), 0), kept(scene.skeleton.size(), 0);
  for (const Skin& skin : scene.skins)
    for (const int joint : skin.joints) kept[to_size(joint)] = 1;
  for (std::size_t j = 0; j < scene.joint_bones.size(); ++j)
    if (scene.joint_bones[j] >= 0) kept[j] = 1;
  for (std::size_t j = scene.skeleton.size(); j-- > 0;) {
    if (!has_children[j] && !holds[j]) kept[j] = 1;
    const int parent = scene.skeleton.joints[j].parent;
    if (parent < 0) continue;
    has_children[to_size(parent)] = 1;
    if (kept[j]) kept[to_size(parent)] = 1;
  }
  return kept;
}

bool same_skeleton(const Skeleton& a, const Skeleton& b) {
  return std::equal(a.joints.begin(), a.joints.end(), b.joints.begin(), b.joints.end(),
                    [](const Joint& x, const Joint& y) {
                      return x.name == y.name && x.parent == y.parent && x.rest == y.rest;
                    });
}

/// Per name that occurs once, its joint.
std::map<std::string_view, int> unique_names(const Skeleton& skeleton) {
  std::map<std::string_view, int> joints;
  std::set<std::string_view> several;
  for (std::size_t j = 0; j < skeleton.size(); ++j)
    if (!joints.emplace(skeleton.joints[j].name, static_cast<int>(j)).second)
      several.insert(skeleton.joints[j].name);
  for (const std::string_view name : several) joints.erase(name);
  joints.erase("");
  return joints;
}

bool same_transform(const Transform& a, const Transform& b) {
  return same_matrix(a.matrix().matrix(), b.matrix().matrix());
}

/// The clip of the rig without what it does to morph targets and to nodes that stay behind.
Clip joint_channels(const Clip& clip, const std::vector<int>& joint_of_rig) {
  Clip result{clip.name, {}};
  for (const Channel& channel : clip.channels) {
    if (channel.path == ChannelPath::morph_weights) continue;
    const int target = joint_of_rig[to_size(channel.target)];
    if (target < 0) continue;
    result.channels.push_back(channel);
    result.channels.back().target = target;
  }
  return result;
}

class Merger {
 public:
  Merger(const Scene& mesh, const Scene& rig) : mesh_(mesh), rig_(rig) {}

  MergedRig run() {
    result_.scene = mesh_;
    if (same_skeleton(mesh_.skeleton, rig_.skeleton)) {
      result_.joint_of_rig.resize(rig_.skeleton.size());
      for (std::size_t j = 0; j < rig_.skeleton.size(); ++j) result_.joint_of_rig[j] = static_cast<int>(j);
      joint_of_mesh_ = result_.joint_of_rig;
      taken_over_.assign(mesh_.skeleton.size(), -1);
    } else {
      take_rig_joints();
      take_over_joints();
      join_skeletons();
    }
    take_control_rig();
    join_clips();
    return std::move(result_);
  }

 private:
  /// The rig's joints come first in the result: their parents are among them, and the others' parents among
  /// all that stand before. Nodes of its meshes and cameras stay behind.
  void take_rig_joints() {
    const std::vector<char> kept = skeleton_nodes(rig_, holding_nodes(rig_));
    std::vector<Joint>& joints = result_.scene.skeleton.joints;
    joints.clear();
    result_.joint_of_rig.assign(rig_.skeleton.size(), -1);
    for (std::size_t j = 0; j < rig_.skeleton.size(); ++j) {
      if (!kept[j]) continue;
      result_.joint_of_rig[j] = static_cast<int>(joints.size());
      joints.push_back(rig_.skeleton.joints[j]);
      int& parent = joints.back().parent;
      if (parent >= 0) parent = result_.joint_of_rig[to_size(parent)];
    }
  }

  /// Finds the mesh's joints that become the rig's.
  void take_over_joints() {
    taken_over_.assign(mesh_.skeleton.size(), -1);
    const auto own = unique_names(mesh_.skeleton), rig = unique_names(rig_.skeleton);
    const std::vector<Affine3d> own_world = rest_world(mesh_.skeleton), rig_world = rest_world(rig_.skeleton);
    const std::vector<char> holds = holding_nodes(mesh_);
    for (const auto& [name, joint] : rig) {
      const auto found = own.find(name);
      if (found == own.end() || result_.joint_of_rig[to_size(joint)] < 0) continue;
      const std::size_t j = to_size(found->second);
      // A node that moves no skin may carry anything; it is the same only where nothing it carries moves.
      const bool stays = !holds[j] && same_matrix(own_world[j].matrix(), rig_world[to_size(joint)].matrix());
      if (mesh_.skeleton.joints[j].deforms || stays)
        taken_over_[j] = joint;
      else
        result_.warnings.push_back(fmt::format(
            "the mesh's file has a node '{}' of its own beside the rig's joint of that name", name));
    }
  }

  /// Adds the mesh's nodes that do not become the rig's joints.
  void join_skeletons() {
    Scene& scene = result_.scene;
    std::vector<int> nodes(scene.skeleton.size(), -1);
    joint_of_mesh_.assign(mesh_.skeleton.size(), -1);
    for (std::size_t j = 0; j < mesh_.skeleton.size(); ++j) {
      const int node = j < mesh_.joint_nodes.size() ? mesh_.joint_nodes[j] : -1;
      if (taken_over_[j] >= 0) {
        joint_of_mesh_[j] = result_.joint_of_rig[to_size(taken_over_[j])];
        nodes[to_size(joint_of_mesh_[j])] = node;
        continue;
      }
      joint_of_mesh_[j] = static_cast<int>(scene.skeleton.size());
      Joint joint = mesh_.skeleton.joints[j];
      if (joint.parent >= 0) joint.parent = joint_of_mesh_[to_size(joint.parent)];
      scene.skeleton.joints.push_back(std::move(joint));
      nodes.push_back(node);
    }
    if (mesh_.document)
      scene.joint_nodes = std::move(nodes);
    else
      scene.joint_nodes.clear();
    for (Skin& skin : scene.skins)
      for (int& joint : skin.joints) joint = joint_of_mesh_[to_size(joint)];
    for (SceneMesh& mesh : scene.meshes)
      if (mesh.joint >= 0) mesh.joint = joint_of_mesh_[to_size(mesh.joint)];
  }

  /// The rig's controllers, with the numbers that its joints have now. Those of the mesh's file stay only
  /// where both have one skeleton and the rig says nothing else.
  void take_control_rig() {
    Scene& scene = result_.scene;
    if (!rig_.control_rig) {
      if (!mesh_.control_rig || same_skeleton(mesh_.skeleton, rig_.skeleton)) return;
      result_.warnings.push_back(fmt::format(
          "the mesh's file has a rig of its own with {} bones, whose constraints give way to the new rig",
          mesh_.control_rig->bones.size()));
      scene.control_rig.reset();
      scene.joint_bones.clear();
      return;
    }
    scene.control_rig = rig_.control_rig;
    scene.joint_bones.assign(scene.skeleton.size(), -1);
    for (std::size_t j = 0; j < rig_.joint_bones.size(); ++j)
      if (result_.joint_of_rig[j] >= 0)
        scene.joint_bones[to_size(result_.joint_of_rig[j])] = rig_.joint_bones[j];
  }

  /// Whether a joint of the mesh's rests as it did: what its clips say then still means the same.
  bool rests_alike(std::size_t joint) const {
    if (taken_over_[joint] < 0) return true;
    const Joint& own = mesh_.skeleton.joints[joint];
    const Joint& rig = rig_.skeleton.joints[to_size(taken_over_[joint])];
    return same_transform(own.rest, rig.rest);
  }

  void join_clips() {
    std::vector<Clip> clips;
    for (const Clip& clip : rig_.clips) {
      if (same_skeleton_clip(clip)) continue;
      Clip added = joint_channels(clip, result_.joint_of_rig);
      if (!added.channels.empty()) clips.push_back(std::move(added));
    }
    for (const Clip& clip : mesh_.clips) {
      Clip kept{clip.name, {}};
      for (const Channel& channel : clip.channels) {
        const bool morph = channel.path == ChannelPath::morph_weights;
        if (!morph && !rests_alike(to_size(channel.target))) continue;
        kept.channels.push_back(channel);
        if (!morph) kept.channels.back().target = joint_of_mesh_[to_size(channel.target)];
      }
      const std::size_t lost = clip.channels.size() - kept.channels.size();
      if (lost > 0)
        result_.warnings.push_back(fmt::format(
            "clip '{}' of the mesh's file: {} of {} channels move joints that rest differently in "
            "the rig, and are dropped",
            clip.name, lost, clip.channels.size()));
      if (lost == 0 || !kept.channels.empty()) clips.push_back(std::move(kept));
    }
    result_.scene.clips = std::move(clips);
  }

  /// A clip of the rig that the mesh's file has too, bit for bit.
  bool same_skeleton_clip(const Clip& clip) const {
    if (!same_skeleton(mesh_.skeleton, rig_.skeleton)) return false;
    return std::any_of(mesh_.clips.begin(), mesh_.clips.end(), [&](const Clip& own) {
      return own == clip || own == joint_channels(clip, result_.joint_of_rig);
    });
  }

  const Scene& mesh_;
  const Scene& rig_;
  MergedRig result_;
  std::vector<int> taken_over_;     // per joint of the mesh's, the rig's joint it becomes, or -1
  std::vector<int> joint_of_mesh_;  // per joint of the mesh's, its number in the result
};

/// Per place in `joints`, the place in the skin; nothing when a joint with weights is missing there or has
/// another matrix, or the skin has joints that are none of these.
std::optional<std::vector<int>> fitting_places(const Skin& skin, std::span<const int> joints,
                                               const NewBinding& binding) {
  std::vector<char> weighted(joints.size(), 0);
  for (const std::uint32_t joint : binding.weights.joints) weighted[joint] = 1;
  std::map<int, int> places;
  for (std::size_t i = 0; i < skin.joints.size(); ++i) places.emplace(skin.joints[i], static_cast<int>(i));
  if (!std::all_of(skin.joints.begin(), skin.joints.end(),
                   [&](int joint) { return std::find(joints.begin(), joints.end(), joint) != joints.end(); }))
    return std::nullopt;
  std::vector<int> result(joints.size(), -1);
  for (std::size_t i = 0; i < joints.size(); ++i) {
    if (!weighted[i]) continue;
    const auto found = places.find(joints[i]);
    if (found == places.end()) return std::nullopt;
    const Mat4f& matrix = skin.joint_from_mesh[to_size(found->second)];
    if (!same_matrix(matrix.cast<double>(), binding.joint_from_mesh[i].cast<double>())) return std::nullopt;
    result[i] = found->second;
  }
  return result;
}

std::vector<char> used_skins(const Scene& scene) {
  std::vector<char> used(scene.skins.size(), 0);
  for (const SceneMesh& mesh : scene.meshes)
    if (mesh.skin >= 0) used[to_size(mesh.skin)] = 1;
  // Nodes that show only points or lines are no meshes of the scene, but may be skinned as well.
  if (!scene.document || !scene.document->json.contains("nodes")) return used;
  const auto& nodes = scene.document->json["nodes"];
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (std::count(scene.mesh_nodes.begin(), scene.mesh_nodes.end(), static_cast<int>(n)) > 0) continue;
    const auto skin = nodes[n].find("skin");
    if (skin == nodes[n].end() || !skin->is_number_unsigned()) continue;
    const std::size_t number = skin->get<std::size_t>();
    if (number < used.size()) used[number] = 1;
  }
  return used;
}

/// Takes unused skins off the end of the list; those before others must stay, or numbers would change.
void drop_unused_skins(Scene& scene) {
  std::vector<char> used = used_skins(scene);
  while (!used.empty() && !used.back()) {
    used.pop_back();
    scene.skins.pop_back();
  }
  for (Joint& joint : scene.skeleton.joints) joint.deforms = false;
  for (const Skin& skin : scene.skins)
    for (const int joint : skin.joints) scene.skeleton.joints[to_size(joint)].deforms = true;
}

}  // namespace

BindPose bind_pose(const Scene& scene) {
  return BindPoseFinder(scene).run();
}

std::vector<int> rig_joints(const Scene& scene) {
  std::set<int> joints;
  const auto bone = [&](int joint) -> const RigBone* {
    const int number = scene.control_rig ? scene.joint_bones[to_size(joint)] : -1;
    return number < 0 ? nullptr : &scene.control_rig->bones[to_size(number)];
  };
  for (const Skin& skin : scene.skins) joints.insert(skin.joints.begin(), skin.joints.end());
  std::erase_if(joints, [&](int joint) { return bone(joint) != nullptr && !bone(joint)->deforms; });
  if (!joints.empty()) return {joints.begin(), joints.end()};
  if (scene.control_rig) {
    for (std::size_t j = 0; j < scene.skeleton.size(); ++j)
      if (const RigBone* own = bone(static_cast<int>(j)); own != nullptr && own->deforms)
        joints.insert(static_cast<int>(j));
    return {joints.begin(), joints.end()};
  }
  const std::vector<char> holds = holding_nodes(scene), kept = skeleton_nodes(scene, holds);
  for (std::size_t j = 0; j < kept.size(); ++j)
    if (kept[j] && !holds[j]) joints.insert(static_cast<int>(j));
  return {joints.begin(), joints.end()};
}

MergedRig merge_rig(const Scene& mesh, const Scene& rig) {
  return Merger(mesh, rig).run();
}

void bind_meshes(Scene& scene, std::span<const int> joints, const std::string& name,
                 std::vector<NewBinding> bindings) {
  std::vector<int> own_skins;
  for (const NewBinding& binding : bindings) {
    assert(binding.joint_from_mesh.size() == joints.size());
    own_skins.push_back(std::exchange(scene.meshes[binding.mesh].skin, -1));
  }
  const auto adopt = [&](NewBinding& binding, int s) {
    const auto places = fitting_places(scene.skins[to_size(s)], joints, binding);
    if (!places) return false;
    for (std::uint32_t& joint : binding.weights.joints) joint = static_cast<std::uint32_t>((*places)[joint]);
    SceneMesh& mesh = scene.meshes[binding.mesh];
    assert(binding.weights.rows() == mesh.surface.positions.size());
    mesh.skin = s;
    mesh.weights = std::move(binding.weights);
    return true;
  };
  const auto adopt_any = [&](NewBinding& binding) {
    for (std::size_t s = 0; s < scene.skins.size(); ++s)
      if (adopt(binding, static_cast<int>(s))) return true;
    return false;
  };
  // Who finds a skin first: only then is it known which ones are free.
  std::vector<NewBinding*> without_skin;
  for (std::size_t b = 0; b < bindings.size(); ++b)
    if (!(own_skins[b] >= 0 && adopt(bindings[b], own_skins[b])) && !adopt_any(bindings[b]))
      without_skin.push_back(&bindings[b]);
  for (NewBinding* binding : without_skin) {
    if (adopt_any(*binding)) continue;
    const std::vector<char> used = used_skins(scene);
    const std::size_t free = to_size(std::find(used.begin(), used.end(), 0) - used.begin());
    if (free == scene.skins.size()) scene.skins.emplace_back();
    scene.skins[free] = {name, {joints.begin(), joints.end()}, std::move(binding->joint_from_mesh)};
    binding->joint_from_mesh = scene.skins[free].joint_from_mesh;
    adopt(*binding, static_cast<int>(free));
  }
  drop_unused_skins(scene);
}

}  // namespace sinew
