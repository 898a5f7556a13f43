#include <sinew/scene/gltf_rig.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/core/nesting.h>
#include <sinew/scene/rig_values.h>

namespace sinew {

using Json = nlohmann::ordered_json;

namespace {

constexpr const char* kBone = "sinew_bone";
constexpr const char* kRig = "sinew_rig";
// A node has moved when it is off by more than this: share of the rig's size, and difference of unit axes.
constexpr double kMoved = 1e-4, kTurned = 1e-3;

/// The object that extras hold for us, or null.
const Json* find_extra(const Json& owner, const char* key) {
  if (!owner.is_object()) return nullptr;
  const auto extras = owner.find("extras");
  if (extras == owner.end() || !extras->is_object()) return nullptr;
  const auto found = extras->find(key);
  return found != extras->end() && found->is_object() ? &*found : nullptr;
}

void erase_extra(Json& owner, const char* key) {
  if (!owner.is_object() || !owner.contains("extras") || !owner["extras"].is_object()) return;
  if (owner["extras"].erase(key) > 0 && owner["extras"].empty()) owner.erase("extras");
}

/// Extras that are no object, which glTF allows but nobody writes, become the member "value" of one.
void put_extra(Json& owner, const char* key, Json value) {
  Json& extras = owner["extras"];
  if (!extras.is_object()) extras = extras.is_null() ? Json::object() : Json{{"value", extras}};
  extras[key] = std::move(value);
}

const Json& elements(const Json& document, const char* key) {
  static const Json nothing = Json::array();
  const auto found = document.find(key);
  return found != document.end() && found->is_array() ? *found : nothing;
}

/// A document in the format of rig files, and the node of each of its bones.
struct RigDocument {
  Json json = Json{{"sinew_rig", 1}};
  std::vector<std::size_t> nodes;
};

RigDocument gather(const Json& document) {
  RigDocument rig;
  const Json* header = find_extra(document, kRig);
  for (const Json& scene : elements(document, "scenes"))
    if (const Json* found = find_extra(scene, kRig)) header = found;
  if (header != nullptr) rig.json = *header;
  std::unordered_map<std::string, std::size_t> order;
  for (const Json& name : elements(rig.json, "bones"))
    if (name.is_string()) order.emplace(name.get<std::string>(), order.size());
  const Json& nodes = elements(document, "nodes");
  const auto rank = [&](std::size_t n) {
    const auto name = nodes[n]["extras"][kBone].find("name");
    if (name == nodes[n]["extras"][kBone].end() || !name->is_string()) return order.size();
    const auto found = order.find(name->get<std::string>());
    return found == order.end() ? order.size() : found->second;
  };
  std::vector<std::pair<std::size_t, std::size_t>> ranks;
  for (std::size_t n = 0; n < nodes.size(); ++n)
    if (find_extra(nodes[n], kBone) != nullptr) ranks.emplace_back(rank(n), n);
  std::sort(ranks.begin(), ranks.end());
  Json bones = Json::array();
  for (const auto& entry : ranks) {
    rig.nodes.push_back(entry.second);
    bones.push_back(nodes[entry.second]["extras"][kBone]);
    bones.back().erase("parent");  // the nodes say it
  }
  rig.json["bones"] = std::move(bones);
  return rig;
}

/// Parents as the nodes have them. Returns how many bones have another one than their extras say.
std::size_t take_parents(ControlRig& rig, const Scene& scene, const Json& nodes,
                         const std::vector<std::size_t>& bone_nodes) {
  std::size_t changed = 0;
  std::vector<int> nearest(scene.skeleton.size(), -1);  // bone at or above the joint
  for (std::size_t j = 0; j < scene.skeleton.size(); ++j) {
    const int above = scene.skeleton.joints[j].parent;
    const int bone_above = above < 0 ? -1 : nearest[to_size(above)];
    const int own = scene.joint_bones[j];
    nearest[j] = own >= 0 ? own : bone_above;
    if (own < 0) continue;
    rig.bones[to_size(own)].parent = bone_above;
    const Json said = nodes[bone_nodes[to_size(own)]]["extras"][kBone].value("parent", Json());
    const Json is = bone_above < 0 ? Json() : Json(rig.bones[to_size(bone_above)].name);
    changed += said != is;
  }
  return changed;
}

/// Bones whose nodes stand elsewhere follow them. Returns how many.
std::size_t follow_nodes(ControlRig& rig, const Scene& scene) {
  std::vector<Affine3d> world(scene.skeleton.size());
  forward_kinematics(scene.skeleton, rest_pose(scene.skeleton).joints, world);
  Eigen::AlignedBox3d box;
  for (const RigBone& bone : rig.bones) box.extend(bone.head).extend(bone.tail);
  const double near = kMoved * box.diagonal().norm();
  std::size_t moved = 0;
  for (std::size_t j = 0; j < world.size(); ++j) {
    if (scene.joint_bones[j] < 0) continue;
    RigBone& bone = rig.bones[to_size(scene.joint_bones[j])];
    const Mat3d frame = bone_frame(bone.tail - bone.head, bone.roll);
    const Vec3d place = world[j].translation();
    const Mat3d axes = world[j].linear().colwise().normalized();
    const double scale = world[j].linear().col(1).norm();
    if ((place - bone.head).norm() <= near && (axes - frame).cwiseAbs().maxCoeff() <= kTurned &&
        std::abs(scale - 1) <= kTurned)
      continue;
    if (!place.allFinite() || !axes.allFinite() || !(scale > 1e-12)) continue;  // scaled to nothing
    const double length = scale * bone.length();
    bone.head = place;
    bone.tail = place + length * axes.col(1);
    bone.roll = bone_roll(axes);
    ++moved;
  }
  return moved;
}

ControlRig make_rig(GltfReading& reading, const RigDocument& document) {
  Scene& scene = reading.scene;
  const std::string where = reading.root.file() + ": " + kRig;
  check_json_nesting(rig_text(document.json, -1, where), where, kRigDepth);
  ControlRig rig = rig_from_json(document.json, where);
  scene.joint_bones.assign(scene.skeleton.size(), -1);
  for (std::size_t b = 0; b < document.nodes.size(); ++b)
    scene.joint_bones[to_size(reading.node_joint[document.nodes[b]])] = static_cast<int>(b);
  const auto told = [&](std::size_t count, const char* what) {
    if (count > 0) reading.warn(fmt::format("{} of {} bones of its rig {}", count, rig.bones.size(), what));
  };
  told(take_parents(rig, scene, reading.root.json()["nodes"], document.nodes),
       "hang on other nodes than their extras say; the nodes count");
  told(follow_nodes(rig, scene), "stand elsewhere than their extras say; the nodes count");
  check_rig(rig, where);
  return rig;
}

std::map<int, int> bones_of_nodes(const Scene& scene, std::span<const int> joint_nodes) {
  std::map<int, int> bones;
  for (std::size_t j = 0; j < std::min(scene.joint_bones.size(), joint_nodes.size()); ++j)
    if (scene.joint_bones[j] >= 0) bones.emplace(joint_nodes[j], scene.joint_bones[j]);
  return bones;
}

}  // namespace

void read_gltf_rig(GltfReading& reading) {
  const RigDocument document = gather(reading.root.json());
  if (document.nodes.empty()) return;
  Scene& scene = reading.scene;
  try {
    scene.control_rig = std::make_shared<const ControlRig>(make_rig(reading, document));
  } catch (const Error& error) {
    scene.joint_bones.clear();
    const std::string& file = reading.root.file();
    std::string what = error.what();
    if (what.starts_with(file + ": ")) what = what.substr(file.size() + 2);
    reading.warn(fmt::format("its rig with controllers is left out: {}", what));
    return;
  }
  if (!scene.skins.empty()) return;
  for (std::size_t j = 0; j < scene.skeleton.size(); ++j)
    scene.skeleton.joints[j].deforms =
        scene.joint_bones[j] >= 0 && scene.control_rig->bones[to_size(scene.joint_bones[j])].deforms;
}

void write_gltf_rig(Json& document, const Scene& scene, std::span<const int> joint_nodes, const Scene& base,
                    std::span<const int> base_joint_nodes) {
  const std::map<int, int> bones = bones_of_nodes(scene, joint_nodes);
  const ControlRig* rig = scene.control_rig.get();
  const ControlRig* was = base.control_rig.get();
  if (rig == nullptr && was == nullptr) return;
  if (rig != nullptr && was != nullptr && *rig == *was && bones == bones_of_nodes(base, base_joint_nodes))
    return;
  erase_extra(document, kRig);
  for (const char* key : {"scenes", "nodes"})
    if (document.contains(key))
      for (Json& owner : document[key]) erase_extra(owner, key[0] == 's' ? kRig : kBone);
  if (rig == nullptr) return;
  for (const auto& [node, bone] : bones)
    put_extra(document["nodes"][to_size(node)], kBone, bone_to_json(*rig, rig->bones[to_size(bone)]));
  Json header = rig_header_json(*rig);
  header["bones"] = Json::array();
  for (const RigBone& bone : rig->bones) header["bones"].push_back(bone.name);
  const bool has_scene = !elements(document, "scenes").empty();
  put_extra(has_scene ? document["scenes"][document.value("scene", std::size_t{0})] : document, kRig,
            std::move(header));
}

}  // namespace sinew
