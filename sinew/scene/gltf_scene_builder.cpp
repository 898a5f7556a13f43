#include <sinew/scene/gltf_scene_builder.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/scene/gltf.h>
#include <sinew/scene/gltf_layout.h>
#include <sinew/scene/gltf_rig.h>
#include <sinew/scene/gltf_split.h>
#include <sinew/scene/normal_slots.h>

namespace sinew {

using Json = nlohmann::ordered_json;

namespace {

constexpr int kPoints = 0;                 // primitive mode
constexpr std::size_t kMaxJoints = 65536;  // what JOINTS_n can number

Json to_json(const Vec3f& v) {
  return {v.x(), v.y(), v.z()};
}
Json to_json(const Quatf& q) {
  return {q.x(), q.y(), q.z(), q.w()};
}

/// Where the scene's joints and meshes stand among the nodes: what makes clips and skins of two scenes
/// comparable.
struct NodeNumbers {
  std::vector<int> joints;
  std::vector<int> meshes;
};

/// The values that each vertex shows, zero where no corner uses it; nothing when a vertex shows two.
template <class Value>
std::optional<std::vector<Value>> per_vertex(const CornerValues<Value>& values, const Mesh& surface) {
  std::vector<Value> result(surface.positions.size(), Value::Zero());
  if (values.empty()) return result;
  if (values.corners == surface.polygons.corners && values.values.size() == result.size())
    return values.values;
  std::vector<char> seen(result.size(), 0);
  for (std::size_t c = 0; c < surface.polygons.corners.size(); ++c) {
    const std::uint32_t v = surface.polygons.corners[c];
    const Value& value = values.values[values.corners[c]];
    if (seen[v] && result[v] != value) return std::nullopt;
    seen[v] = 1;
    result[v] = value;
  }
  return result;
}

/// The part of a per-vertex array that belongs to a block.
template <class Value>
std::span<const Value> part(const std::vector<Value>& values, const GltfVertexBlock& block) {
  return std::span(values).subspan(block.first_vertex, block.count);
}

template <class Value>
bool equal_part(const std::vector<Value>& a, const std::vector<Value>& b, const GltfVertexBlock& block) {
  const auto x = part(a, block), y = part(b, block);
  return std::equal(x.begin(), x.end(), y.begin());
}

/// Can `mesh` be written into the primitives `base` was read from?
bool same_layout(const SceneMesh& mesh, const SceneMesh& base) {
  return mesh.surface.positions.size() == base.surface.positions.size() &&
         mesh.surface.polygons == base.surface.polygons && per_vertex(mesh.normals, mesh.surface) &&
         per_vertex(mesh.texcoords, mesh.surface);
}

/// All that a glTF mesh (not its node) holds.
bool same_content(const SceneMesh& a, const SceneMesh& b) {
  return a.name == b.name && a.surface == b.surface && a.normals == b.normals && a.texcoords == b.texcoords &&
         a.attributes == b.attributes && a.morph_targets == b.morph_targets &&
         (a.skin >= 0) == (b.skin >= 0) && (a.skin < 0 || a.weights == b.weights);
}

/// glTF keeps names without the underscore for itself.
std::string attribute_name(const VertexAttribute& attribute) {
  return attribute.name.starts_with('_') ? attribute.name : "_" + attribute.name;
}

bool is_weight_attribute(const std::string& name) {
  return name.starts_with("JOINTS_") || name.starts_with("WEIGHTS_");
}

/// A row that can be written as it is: heaviest first, no zeros, no joint twice, sum 1 as far as floats go.
bool is_clean(std::span<const std::uint32_t> joints, std::span<const float> values) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!(values[i] > 0) || (i > 0 && values[i] > values[i - 1])) return false;
    if (std::find(joints.begin(), joints.begin() + static_cast<std::ptrdiff_t>(i), joints[i]) !=
        joints.begin() + static_cast<std::ptrdiff_t>(i))
      return false;
    sum += values[i];
  }
  return std::abs(sum - 1) < 1e-7;
}

/// Rows for the given vertices, as glTF wants them. Vertices without weights go to joint 0: glTF knows no
/// unbound vertices.
SkinWeights written_weights(const SkinWeights& weights, std::span<const std::uint32_t> vertices) {
  SkinWeights result;
  WeightRepairs repairs;
  std::vector<Influence> row;
  for (std::uint32_t v : vertices) {
    const auto joints = weights.row_joints(v);
    const auto values = weights.row_values(v);
    if (is_clean(joints, values)) {
      result.joints.insert(result.joints.end(), joints.begin(), joints.end());
      result.values.insert(result.values.end(), values.begin(), values.end());
      result.starts.push_back(static_cast<std::uint32_t>(result.joints.size()));
      continue;
    }
    row.clear();
    for (std::size_t i = 0; i < joints.size(); ++i) row.push_back({joints[i], values[i]});
    if (std::none_of(row.begin(), row.end(), [](const Influence& i) { return i.weight > 0; }))
      row = {{0, 1.0f}};
    append_row(result, row, 0, repairs);
  }
  return result;
}

/// Writes a scene into a document: its own, changed where the scene differs from what the document says, or a
/// new one, for which everything is a difference.
class SceneWriter {
 public:
  explicit SceneWriter(const Scene& scene)
      : scene_(scene), out_(scene.document ? GltfBuilder(*scene.document) : GltfBuilder()) {
    if (scene.document) base_ = scene_from_document(scene.document, scene.source.string());
    base_nodes_ = {base_.joint_nodes, base_.mesh_nodes};
    base_joints_ = find_in_base(scene.joint_nodes, scene.skeleton.size(), base_.joint_nodes);
    base_meshes_ = find_in_base(scene.mesh_nodes, scene.meshes.size(), base_.mesh_nodes);
    nodes_.joints.assign(scene.skeleton.size(), -1);
    nodes_.meshes.assign(scene.meshes.size(), -1);
    is_split_.assign(scene.meshes.size(), 1);
    entries_.assign(scene.meshes.size(), -1);
  }

  GltfScene write() {
    write_joints();
    write_gltf_rig(out_.json, scene_, nodes_.joints, base_, base_nodes_.joints);
    write_skins();
    join_roots();
    write_meshes();
    write_clips();
    drop_unused_skins();
    if (!scene_.document && out_.json["scenes"][0]["nodes"].empty()) out_.json["scenes"][0].erase("nodes");
    return {std::move(out_), std::move(nodes_.meshes), std::move(is_split_), std::move(entries_)};
  }

 private:
  /// Per element of the scene its number in the document's scene, or -1. Node numbers that do not fit (the
  /// scene was edited by hand) count as new elements.
  static std::vector<int> find_in_base(const std::vector<int>& nodes, std::size_t count,
                                       const std::vector<int>& base_nodes) {
    std::map<int, int> free;
    for (std::size_t i = 0; i < base_nodes.size(); ++i) free.emplace(base_nodes[i], static_cast<int>(i));
    std::vector<int> result(count, -1);
    for (std::size_t i = 0; i < std::min(count, nodes.size()); ++i) {
      const auto found = free.find(nodes[i]);
      if (found == free.end()) continue;
      result[i] = found->second;
      free.erase(found);
    }
    return result;
  }

  Json& node(int n) { return out_.json["nodes"][to_size(n)]; }

  /// The scene's list of root nodes; null when the document has no scenes, where all parentless nodes count.
  Json* roots() {
    Json& json = out_.json;
    if (!json.contains("scenes") || json["scenes"].empty()) return nullptr;
    Json& scene = json["scenes"][json.value("scene", std::size_t{0})];
    if (!scene.contains("nodes")) scene["nodes"] = Json::array();
    return &scene["nodes"];
  }

  void attach(int child, int parent) {
    if (parent >= 0) {
      Json& children = node(parent)["children"];
      if (!children.is_array()) children = Json::array();
      children.push_back(child);
    } else if (Json* list = roots()) {
      list->push_back(child);
    }
  }

  void detach(int child, int parent) {
    Json* list = parent >= 0 ? &node(parent)["children"] : roots();
    if (list == nullptr || !list->is_array()) return;
    const auto found = std::find_if(list->begin(), list->end(), [&](const Json& n) { return n == child; });
    if (found != list->end()) list->erase(found);
    if (parent >= 0 && list->empty()) node(parent).erase("children");
  }

  // --- joints

  static void set_transform(Json& node, const Transform& value) {
    node.erase("matrix");
    const Transform standard;
    const auto set = [&](const char* key, bool is_standard, Json json) {
      if (is_standard)
        node.erase(key);
      else
        node[key] = std::move(json);
    };
    set("translation", value.translation == standard.translation, to_json(value.translation));
    set("rotation", value.rotation.coeffs() == standard.rotation.coeffs(), to_json(value.rotation));
    set("scale", value.scale == standard.scale, to_json(value.scale));
  }

  static int node_of(const NodeNumbers& nodes, int joint) {
    return joint >= 0 ? nodes.joints[to_size(joint)] : -1;
  }

  void write_joints() {
    const std::vector<Joint>& joints = scene_.skeleton.joints;
    for (std::size_t j = 0; j < joints.size(); ++j) {
      if (base_joints_[j] < 0) {
        Json added = Json::object();
        if (!joints[j].name.empty()) added["name"] = joints[j].name;
        set_transform(added, joints[j].rest);
        nodes_.joints[j] = out_.append("nodes", std::move(added));
        continue;
      }
      const Joint& base = base_.skeleton.joints[to_size(base_joints_[j])];
      nodes_.joints[j] = node_of(base_nodes_, base_joints_[j]);
      Json& json = node(nodes_.joints[j]);
      if (joints[j].name != base.name) json["name"] = joints[j].name;
      if (!(joints[j].rest == base.rest)) set_transform(json, joints[j].rest);
    }
    for (std::size_t j = 0; j < joints.size(); ++j) {
      const int parent = node_of(nodes_, joints[j].parent);
      if (base_joints_[j] >= 0) {
        const int base = base_.skeleton.joints[to_size(base_joints_[j])].parent;
        if (node_of(base_nodes_, base) == parent) continue;
        detach(nodes_.joints[j], node_of(base_nodes_, base));
      }
      attach(nodes_.joints[j], parent);
    }
  }

  // --- skins

  static std::vector<int> joint_nodes(const NodeNumbers& nodes, const Skin& skin) {
    std::vector<int> result;
    for (int joint : skin.joints) result.push_back(node_of(nodes, joint));
    return result;
  }

  int add_bind_matrices(const Skin& skin) {
    std::vector<float> values;
    for (Mat4f matrix : skin.joint_from_mesh) {
      matrix.row(3) = Eigen::RowVector4f(0, 0, 0, 1);
      values.insert(values.end(), matrix.data(), matrix.data() + 16);
    }
    return out_.add_floats(values, 16, ViewTarget::none, false);
  }

  void write_skins() {
    for (std::size_t s = 0; s < scene_.skins.size(); ++s) {
      const Skin& skin = scene_.skins[s];
      if (skin.joints.size() > kMaxJoints)
        throw Error(fmt::format("skin '{}' has {} joints; glTF can number {}", skin.name, skin.joints.size(),
                                kMaxJoints));
      const bool is_new = s >= base_.skins.size();
      if (is_new) out_.append("skins", Json::object());
      Json json = out_.json["skins"][s];
      const Skin base = is_new ? Skin{} : base_.skins[s];
      if (skin.name != base.name) json["name"] = skin.name;
      if (skin.joint_from_mesh != base.joint_from_mesh) json["inverseBindMatrices"] = add_bind_matrices(skin);
      if (const auto joints = joint_nodes(nodes_, skin); is_new || joints != joint_nodes(base_nodes_, base)) {
        json["joints"] = joints;
        json.erase("skeleton");  // the old common root may not be one of the new joints
      }
      out_.json["skins"][s] = std::move(json);
    }
  }

  static std::set<int> root_joints(const Skeleton& skeleton, const Skin& skin) {
    std::set<int> roots;
    for (int joint : skin.joints) {
      const std::vector<Joint>& joints = skeleton.joints;
      while (joints[to_size(joint)].parent >= 0) joint = joints[to_size(joint)].parent;
      roots.insert(joint);
    }
    return roots;
  }

  /// The joints of a skin must have a common root in glTF. Where the scene gives them none, a node without
  /// transform is put above the roots. A document that already broke the rule stays as it is.
  void join_roots() {
    std::set<int> apart;
    for (std::size_t s = 0; s < scene_.skins.size(); ++s) {
      if (s < base_.skins.size() && root_joints(base_.skeleton, base_.skins[s]).size() > 1) continue;
      const std::set<int> roots = root_joints(scene_.skeleton, scene_.skins[s]);
      if (roots.size() > 1) apart.insert(roots.begin(), roots.end());
    }
    if (apart.empty()) return;
    const int top = out_.append("nodes", Json{{"name", "root"}});
    attach(top, -1);
    for (int joint : apart) {
      detach(node_of(nodes_, joint), -1);
      attach(node_of(nodes_, joint), top);
    }
  }

  /// Skins that the scene no longer has, unless a node outside of the scene uses them.
  void drop_unused_skins() {
    for (std::size_t s = base_.skins.size(); s > scene_.skins.size(); --s) {
      for (const Json& json : out_.json["nodes"])
        if (json.contains("skin") && json["skin"] == s - 1) return;
      out_.json["skins"].erase(s - 1);
      if (s == 1) out_.json.erase("skins");  // glTF has no empty lists
    }
  }

  // --- meshes

  void add_weights(Json& attributes, const SceneMesh& mesh, std::span<const std::uint32_t> vertices) {
    const std::size_t joint_count = scene_.skins[to_size(mesh.skin)].joints.size();
    const SkinWeights weights = written_weights(mesh.weights, vertices);
    std::size_t longest = 1;
    for (std::size_t v = 0; v < weights.rows(); ++v) longest = std::max(longest, weights.row_size(v));
    for (std::size_t set = 0; set < (longest + 3) / 4; ++set) {
      std::vector<std::uint32_t> joints(4 * weights.rows(), 0);
      std::vector<float> values(4 * weights.rows(), 0.0f);
      for (std::size_t v = 0; v < weights.rows(); ++v)
        for (std::size_t i = 4 * set; i < std::min(weights.row_size(v), 4 * set + 4); ++i) {
          joints[4 * v + i % 4] = weights.row_joints(v)[i];
          values[4 * v + i % 4] = weights.row_values(v)[i];
        }
      attributes[fmt::format("JOINTS_{}", set)] = out_.add_joint_numbers(joints, joint_count);
      attributes[fmt::format("WEIGHTS_{}", set)] = out_.add_floats(values, 4, ViewTarget::vertices, false);
    }
  }

  int add_attribute(const VertexAttribute& attribute, std::span<const std::uint32_t> vertices) {
    const std::size_t width = to_size(attribute.width);
    std::vector<float> values;
    values.reserve(vertices.size() * width);
    for (std::uint32_t v : vertices)
      values.insert(values.end(), attribute.values.begin() + static_cast<std::ptrdiff_t>(v * width),
                    attribute.values.begin() + static_cast<std::ptrdiff_t>((v + 1) * width));
    return out_.add_floats(values, attribute.width, ViewTarget::vertices, false);
  }

  /// Names have no place of their own in glTF; everybody uses this one. Extras that are no object stay.
  static void set_target_names(Json& json, const SceneMesh& mesh) {
    if (json.contains("extras") && !json["extras"].is_object()) return;
    if (mesh.morph_targets.empty()) {
      if (json.contains("extras")) json["extras"].erase("targetNames");
      return;
    }
    Json names = Json::array();
    for (const MorphTarget& target : mesh.morph_targets) names.push_back(target.name);
    json["extras"]["targetNames"] = std::move(names);
  }

  /// Vertex numbers of the triangles of each polygon group; of all together for meshes without groups.
  static std::map<std::uint32_t, std::vector<std::uint32_t>> group_triangles(const SceneMesh& mesh,
                                                                             const SplitVertices& split) {
    std::map<std::uint32_t, std::vector<std::uint32_t>> groups;
    const std::vector<std::uint32_t>& starts = mesh.surface.polygons.starts;
    std::size_t polygon = 0;  // triangles stand in the order of their polygons
    for (std::size_t t = 0; t < mesh.surface.triangles.size(); ++t) {
      while (starts[polygon + 1] <= mesh.surface.triangle_corners[t][0]) ++polygon;
      std::vector<std::uint32_t>& group =
          groups[mesh.polygon_groups.empty() ? 0 : mesh.polygon_groups[polygon]];
      group.insert(group.end(), split.triangles.begin() + static_cast<std::ptrdiff_t>(3 * t),
                   split.triangles.begin() + static_cast<std::ptrdiff_t>(3 * t + 3));
    }
    return groups;
  }

  /// A new mesh entry with all the mesh holds, in a primitive for each polygon group; `material` tells the
  /// material of a group. Returns -1 for a mesh without vertices, which glTF cannot hold.
  template <class MaterialOf>
  int add_mesh(const SceneMesh& mesh, const MaterialOf& material_of) {
    if (mesh.surface.positions.empty()) return -1;
    const SplitVertices split = split_vertices(mesh);
    Json primitive{{"attributes", Json::object()}};
    Json& attributes = primitive["attributes"];
    std::vector<Vec3f> vectors(split.vertices.size());
    const auto gather = [&](auto&& value) {
      for (std::size_t i = 0; i < vectors.size(); ++i) vectors[i] = value(i);
    };
    gather([&](std::size_t i) { return mesh.surface.positions[split.vertices[i]]; });
    attributes["POSITION"] = out_.add_vectors(vectors, true);
    if (!mesh.normals.empty()) {
      const NormalSlots slots = normal_slots(mesh);
      gather([&](std::size_t i) { return unit_normal(slots.file_normal[split.slots[i]]); });
      attributes["NORMAL"] = out_.add_vectors(vectors, false);
    }
    if (!split.texcoords.empty())
      attributes["TEXCOORD_0"] = out_.add_floats({split.texcoords[0].data(), 2 * split.texcoords.size()}, 2,
                                                 ViewTarget::vertices, false);
    for (const VertexAttribute& attribute : mesh.attributes)
      attributes[attribute_name(attribute)] = add_attribute(attribute, split.vertices);
    if (mesh.skin >= 0) add_weights(attributes, mesh, split.vertices);
    for (const MorphTarget& target : mesh.morph_targets) {
      if (!primitive.contains("targets")) primitive["targets"] = Json::array();
      gather([&](std::size_t i) { return target.displacements[split.vertices[i]]; });
      primitive["targets"].push_back(Json{{"POSITION", out_.add_vectors(vectors, true)}});
    }
    Json json = Json::object();
    if (!mesh.name.empty()) json["name"] = mesh.name;
    json["primitives"] = Json::array();
    for (const auto& [group, triangles] : group_triangles(mesh, split)) {
      Json own = primitive;
      own["indices"] = out_.add_indices(triangles);
      if (const Json material = material_of(group); !material.is_null()) own["material"] = material;
      json["primitives"].push_back(std::move(own));
    }
    if (split.triangles.empty()) {
      primitive["mode"] = kPoints;
      if (const Json material = material_of(0); !material.is_null()) primitive["material"] = material;
      json["primitives"].push_back(std::move(primitive));
    }
    if (!mesh.morph_targets.empty()) {
      json["weights"] = mesh.morph_weights;
      set_target_names(json, mesh);
    }
    return out_.append("meshes", std::move(json));
  }

  /// The mesh entry that may be changed for mesh m: the one its node has, or a copy when others show it too
  /// and do not change alike. `done` says that an equal mesh already made it.
  int own_entry(int entry, std::size_t m, bool& done) {
    for (const Written& written : written_)
      if (written.entry == entry && same_content(scene_.meshes[written.mesh], scene_.meshes[m])) {
        done = true;
        return written.result;
      }
    bool alone = true;
    for (std::size_t n = 0; n < out_.json["nodes"].size() && alone; ++n) {
      const Json& other = out_.json["nodes"][n];
      if (!other.contains("mesh") || other["mesh"] != entry) continue;
      const auto found = std::find(nodes_.meshes.begin(), nodes_.meshes.end(), static_cast<int>(n));
      alone = found != nodes_.meshes.end() &&
              same_content(scene_.meshes[to_size(found - nodes_.meshes.begin())], scene_.meshes[m]);
    }
    const int result = alone ? entry : out_.append("meshes", Json(out_.json["meshes"][to_size(entry)]));
    written_.push_back({entry, m, result});
    return result;
  }

  /// How the reader laid out the vertices of a mesh of the document.
  GltfLayout document_layout(int entry) const {
    const std::string file = scene_.source.string();
    const GltfValue root(scene_.document->json, file);
    return gltf_layout(root.member("meshes").element(to_size(entry)), GltfAccessors(*scene_.document, root));
  }

  void patch_mesh(int entry, const GltfLayout& layout, const SceneMesh& mesh, const SceneMesh& base) {
    // The builder appends to the same JSON, so the entry is changed apart and put back.
    Json json = out_.json["meshes"][to_size(entry)];
    for (std::size_t b = 0; b < layout.blocks.size(); ++b) {
      const GltfVertexBlock& block = layout.blocks[b];
      Json attributes = json["primitives"][block.primitive]["attributes"];
      patch_attributes(attributes, block, mesh, base);
      const std::vector<int> targets = patched_targets(block, mesh, base);
      for (std::size_t p = 0; p < layout.primitive_block.size(); ++p)
        if (layout.primitive_block[p] == static_cast<int>(b))
          patch_primitive(json["primitives"][p], attributes, targets);
    }
    if (mesh.name != base.name) json["name"] = mesh.name;
    const auto names_differ = [&] {
      for (std::size_t t = 0; t < mesh.morph_targets.size(); ++t)
        if (mesh.morph_targets[t].name != base.morph_targets[t].name) return true;
      return false;
    };
    if (mesh.morph_targets.size() != base.morph_targets.size() || names_differ()) {
      set_target_names(json, mesh);
      json.erase("weights");
      if (!mesh.morph_weights.empty()) json["weights"] = mesh.morph_weights;
    }
    out_.json["meshes"][to_size(entry)] = std::move(json);
  }

  static void patch_primitive(Json& json, const Json& attributes, const std::vector<int>& targets) {
    if (json["attributes"] != attributes) {
      json["attributes"] = attributes;
      drop_draco(json);
    }
    if (targets.empty()) {
      json.erase("targets");
      return;
    }
    Json& list = json["targets"];
    if (!list.is_array()) list = Json::array();
    while (list.size() > targets.size()) list.erase(list.size() - 1);
    while (list.size() < targets.size()) list.push_back(Json::object());
    for (std::size_t t = 0; t < targets.size(); ++t)
      if (targets[t] >= 0) list[t]["POSITION"] = targets[t];
  }

  void patch_attributes(Json& attributes, const GltfVertexBlock& block, const SceneMesh& mesh,
                        const SceneMesh& base) {
    std::vector<std::uint32_t> vertices(block.count);
    for (std::size_t v = 0; v < vertices.size(); ++v)
      vertices[v] = static_cast<std::uint32_t>(block.first_vertex + v);

    if (!equal_part(mesh.surface.positions, base.surface.positions, block))
      attributes["POSITION"] = out_.add_vectors(part(mesh.surface.positions, block), true);

    const std::vector<Vec3f> normals = *per_vertex(mesh.normals, mesh.surface);
    if (!equal_part(normals, *per_vertex(base.normals, base.surface), block)) {
      attributes.erase("TANGENT");  // they belonged to the old normals
      attributes.erase("NORMAL");
      std::vector<Vec3f> units(part(normals, block).begin(), part(normals, block).end());
      if (std::any_of(units.begin(), units.end(), [](const Vec3f& n) { return !n.isZero(0); })) {
        std::transform(units.begin(), units.end(), units.begin(), unit_normal);
        attributes["NORMAL"] = out_.add_vectors(units, false);
      }
    }
    const std::vector<Vec2f> texcoords = *per_vertex(mesh.texcoords, mesh.surface);
    if (!equal_part(texcoords, *per_vertex(base.texcoords, base.surface), block)) {
      const auto values = part(texcoords, block);
      attributes["TEXCOORD_0"] =
          out_.add_floats({values[0].data(), 2 * values.size()}, 2, ViewTarget::vertices, false);
    }
    for (const VertexAttribute& attribute : base.attributes)
      if (std::none_of(mesh.attributes.begin(), mesh.attributes.end(),
                       [&](const VertexAttribute& a) { return a.name == attribute.name; }))
        attributes.erase(attribute.name);
    for (const VertexAttribute& attribute : mesh.attributes) {
      const auto old = std::find(base.attributes.begin(), base.attributes.end(), attribute);
      if (old != base.attributes.end()) continue;
      attributes[attribute_name(attribute)] = add_attribute(attribute, vertices);
    }
    if ((mesh.skin >= 0) == (base.skin >= 0) && (mesh.skin < 0 || mesh.weights == base.weights)) return;
    Json kept = Json::object();
    for (const auto& [name, accessor] : attributes.items())
      if (!is_weight_attribute(name)) kept[name] = accessor;
    attributes = std::move(kept);
    if (mesh.skin < 0) return;
    add_weights(attributes, mesh, vertices);
  }

  /// Per morph target the new accessor of its displacements, -1 where the old one still holds.
  std::vector<int> patched_targets(const GltfVertexBlock& block, const SceneMesh& mesh,
                                   const SceneMesh& base) {
    std::vector<int> result;
    for (std::size_t t = 0; t < mesh.morph_targets.size(); ++t) {
      const std::vector<Vec3f>& displacements = mesh.morph_targets[t].displacements;
      const bool same = t < base.morph_targets.size() &&
                        equal_part(displacements, base.morph_targets[t].displacements, block);
      result.push_back(same ? -1 : out_.add_vectors(part(displacements, block), true));
    }
    return result;
  }

  /// The material for new triangles in place of those of a primitive of `entry`, unless the material may need
  /// UVs that the new mesh does not have.
  Json usable_material(int entry, std::size_t group, const SceneMesh& mesh) {
    const Json& primitives = out_.json["meshes"][to_size(entry)]["primitives"];
    const Json& primitive = primitives[group < primitives.size() ? group : 0];
    const Json material = primitive.value("material", Json());
    if (primitive["attributes"].contains("TEXCOORD_0") && mesh.texcoords.empty()) return {};
    if (!material.is_number_unsigned() || !out_.json.contains("materials") ||
        material.get<std::size_t>() >= out_.json["materials"].size() ||
        uses_further_texcoords(out_.json["materials"][material.get<std::size_t>()]))
      return {};
    return material;
  }

  /// Whether any texture of a material, or of an extension of it, is laid out by another than the first UV
  /// set.
  static bool uses_further_texcoords(const Json& json) {
    if (json.is_object() && json.contains("texCoord") && json["texCoord"] != 0) return true;
    if (!json.is_object() && !json.is_array()) return false;
    return std::any_of(json.begin(), json.end(), uses_further_texcoords);
  }

  static void clear_mesh(Json& json) {
    for (const char* key : {"mesh", "skin", "weights"}) json.erase(key);
  }

  /// Puts a mesh that has no node yet on one: on its joint's when that is free, else on a new one. Skinned
  /// meshes stand at the root, where no other transform suggests itself to readers.
  int place_mesh(const SceneMesh& mesh, int entry) {
    const int host = mesh.skin >= 0 ? -1 : node_of(nodes_, mesh.joint);
    if (host >= 0 && entry >= 0 && !node(host).contains("mesh")) {
      node(host)["mesh"] = entry;
      return host;
    }
    Json added = Json::object();
    if (!mesh.name.empty()) added["name"] = mesh.name;
    if (entry >= 0) added["mesh"] = entry;
    const int number = out_.append("nodes", std::move(added));
    attach(number, host);
    return number;
  }

  void write_mesh(std::size_t m) {
    const SceneMesh& mesh = scene_.meshes[m];
    if (base_meshes_[m] < 0) {
      nodes_.meshes[m] = place_mesh(mesh, add_mesh(mesh, [](std::uint32_t) { return Json(); }));
      if (mesh.skin >= 0 && node(nodes_.meshes[m]).contains("mesh"))
        node(nodes_.meshes[m])["skin"] = mesh.skin;
      return;
    }
    const SceneMesh& base = base_.meshes[to_size(base_meshes_[m])];
    int entry = node(nodes_.meshes[m])["mesh"].get<int>();
    entries_[m] = entry;
    is_split_[m] = !same_layout(mesh, base);
    if (is_split_[m]) {
      entry =
          add_mesh(mesh, [&, old = entry](std::uint32_t group) { return usable_material(old, group, mesh); });
    } else if (!same_content(mesh, base)) {
      bool done = false;
      entry = own_entry(entry, m, done);
      if (!done) patch_mesh(entry, document_layout(entries_[m]), mesh, base);
    }
    if (mesh.skin < 0 && node_of(nodes_, mesh.joint) != node_of(base_nodes_, base.joint)) {
      clear_mesh(node(nodes_.meshes[m]));
      nodes_.meshes[m] = place_mesh(mesh, entry);
      if (mesh.morph_weights != base.morph_weights) node(nodes_.meshes[m])["weights"] = mesh.morph_weights;
      return;
    }
    Json& json = node(nodes_.meshes[m]);
    if (entry < 0) {
      clear_mesh(json);
      return;
    }
    json["mesh"] = entry;
    if (mesh.skin < 0)
      json.erase("skin");
    else if (mesh.skin != base.skin)
      json["skin"] = mesh.skin;
    if (mesh.morph_weights.empty())
      json.erase("weights");
    else if (mesh.morph_weights != base.morph_weights)
      json["weights"] = mesh.morph_weights;
  }

  void write_meshes() {
    std::vector<char> kept(base_.meshes.size(), 0);
    for (std::size_t m = 0; m < scene_.meshes.size(); ++m) {
      if (base_meshes_[m] < 0) continue;
      kept[to_size(base_meshes_[m])] = 1;
      nodes_.meshes[m] = base_nodes_.meshes[to_size(base_meshes_[m])];
    }
    for (std::size_t b = 0; b < kept.size(); ++b)
      if (!kept[b]) clear_mesh(node(base_nodes_.meshes[b]));
    for (std::size_t m = 0; m < scene_.meshes.size(); ++m) write_mesh(m);
  }

  // --- clips

  /// The node a channel animates. Throws when it animates some of a mesh's morph targets: glTF takes all at
  /// once.
  static int channel_node(const Scene& scene, const NodeNumbers& nodes, const Channel& channel) {
    if (channel.path != ChannelPath::morph_weights) return node_of(nodes, channel.target);
    std::size_t first = 0;
    for (std::size_t m = 0; m < scene.meshes.size(); ++m) {
      const std::size_t count = scene.meshes[m].morph_weights.size();
      if (count > 0 && first == to_size(channel.target) && count == to_size(channel.width))
        return nodes.meshes[m];
      first += count;
    }
    throw Error(fmt::format("a clip animates morph weights {} to {}, which are not those of one mesh",
                            channel.target, channel.target + channel.width - 1));
  }

  bool same_clip(const Clip& clip, const Clip& base) const {
    if (clip.name != base.name || clip.channels.size() != base.channels.size()) return false;
    for (std::size_t c = 0; c < clip.channels.size(); ++c) {
      const Channel& a = clip.channels[c];
      const Channel& b = base.channels[c];
      if (a.path != b.path || a.interpolation != b.interpolation || a.width != b.width ||
          a.times != b.times || a.values != b.values ||
          channel_node(scene_, nodes_, a) != channel_node(base_, base_nodes_, b))
        return false;
    }
    return true;
  }

  int add_times(const std::vector<float>& times) {
    const auto [entry, added] = times_.try_emplace(times, -1);
    if (added) entry->second = out_.add_floats(times, 1, ViewTarget::none, true);
    return entry->second;
  }

  /// Unit quaternions at the keys; a spline's tangents stay as they are.
  static void normalize_rotations(Channel& channel) {
    const bool spline = channel.interpolation == Interpolation::cubic_spline;
    for (std::size_t k = 0; k < channel.times.size(); ++k) {
      Eigen::Map<Vec4f> key(channel.values.data() + (spline ? 12 * k + 4 : 4 * k));
      const double length = key.cast<double>().norm();
      if (!(length > 0))
        key = Vec4f(0, 0, 0, 1);
      else if (std::abs(length - 1) > 1e-4)
        key = (key.cast<double>() / length).cast<float>();
    }
  }

  void write_clip(Json& json, const Clip& clip) {
    static constexpr const char* kPaths[] = {"translation", "rotation", "scale", "weights"};
    static constexpr const char* kInterpolations[] = {"STEP", "LINEAR", "CUBICSPLINE"};
    Json samplers = Json::array();
    Json channels = Json::array();
    for (std::size_t c = 0; c < clip.channels.size(); ++c) {
      Channel channel = clip.channels[c];
      // Of two channels for one property the later one wins when a clip is played; glTF allows only one.
      if (std::any_of(clip.channels.begin() + static_cast<std::ptrdiff_t>(c) + 1, clip.channels.end(),
                      [&](const Channel& o) { return o.path == channel.path && o.target == channel.target; }))
        continue;
      const int target = channel_node(scene_, nodes_, channel);
      if (channel.path != ChannelPath::morph_weights && node(target).contains("matrix"))
        set_transform(node(target), scene_.skeleton.joints[to_size(channel.target)].rest);
      if (channel.path == ChannelPath::rotation) normalize_rotations(channel);
      if (channel.interpolation == Interpolation::cubic_spline && channel.times.size() == 1) {
        // glTF wants two keys of a spline; one key is a constant.
        const auto width = static_cast<std::ptrdiff_t>(channel.width);
        channel.values = {channel.values.begin() + width, channel.values.begin() + 2 * width};
        channel.interpolation = Interpolation::step;
      }
      const int element = channel.path == ChannelPath::morph_weights ? 1 : channel.width;
      samplers.push_back(Json{{"input", add_times(channel.times)},
                              {"interpolation", kInterpolations[static_cast<int>(channel.interpolation)]},
                              {"output", out_.add_floats(channel.values, element, ViewTarget::none, false)}});
      channels.push_back(
          Json{{"sampler", samplers.size() - 1},
               {"target", {{"node", target}, {"path", kPaths[static_cast<int>(channel.path)]}}}});
    }
    if (!clip.name.empty() || json.contains("name")) json["name"] = clip.name;
    json["channels"] = std::move(channels);
    json["samplers"] = std::move(samplers);
  }

  void write_clips() {
    const Json old = out_.json.value("animations", Json::array());
    std::vector<char> used(base_.clips.size(), 0);
    const auto take = [&](auto&& fits) -> int {
      for (std::size_t b = 0; b < used.size(); ++b)
        if (!used[b] && fits(base_.clips[b])) {
          used[b] = 1;
          return static_cast<int>(b);
        }
      return -1;
    };
    std::vector<int> unchanged(scene_.clips.size(), -1);
    for (std::size_t c = 0; c < scene_.clips.size(); ++c)
      unchanged[c] = take([&](const Clip& base) { return same_clip(scene_.clips[c], base); });
    Json animations = Json::array();
    for (std::size_t c = 0; c < scene_.clips.size(); ++c) {
      const Clip& clip = scene_.clips[c];
      if (unchanged[c] >= 0) {
        animations.push_back(old[to_size(unchanged[c])]);
        continue;
      }
      const int base = take([&](const Clip& other) { return other.name == clip.name; });
      if (clip.channels.empty()) continue;  // glTF has no empty animations
      Json json = base >= 0 ? old[to_size(base)] : Json::object();
      write_clip(json, clip);
      animations.push_back(std::move(json));
    }
    if (animations == old) return;
    if (!animations.empty())
      out_.json["animations"] = std::move(animations);
    else
      out_.json.erase("animations");
  }

  /// A mesh entry made for a mesh of the scene out of an entry of the document.
  struct Written {
    int entry;
    std::size_t mesh;
    int result;
  };

  const Scene& scene_;
  GltfBuilder out_;
  Scene base_;  // what the document says
  NodeNumbers base_nodes_;
  NodeNumbers nodes_;
  std::vector<int> base_joints_;
  std::vector<int> base_meshes_;
  std::vector<char> is_split_;
  std::vector<int> entries_;  // per mesh, the entry of "meshes" its node had in the document
  std::vector<Written> written_;
  std::map<std::vector<float>, int> times_;
};

}  // namespace

GltfScene build_gltf(const Scene& scene) {
  return SceneWriter(scene).write();
}

}  // namespace sinew
