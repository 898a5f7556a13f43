#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/scene/gltf_layout.h>
#include <sinew/scene/gltf_reading.h>

namespace sinew {

namespace {

/// What a mesh, a primitive or a morph target costs beside its numbers: hostile files repeat cheap ones.
constexpr std::uint64_t kElementCost = 1024;
constexpr std::uint64_t kCostPerTriangle = 11;  // corners, start, group, triangle, triangle's corners
constexpr float kMaxWeight = 1e6f;              // keeps the sums of a row finite
constexpr float kNormalRounding = 1e-3f;

std::span<float> as_floats(std::span<Vec3f> vectors) {
  return {reinterpret_cast<float*>(vectors.data()), vectors.size() * 3};
}

std::span<float> as_floats(std::span<Vec2f> vectors) {
  return {reinterpret_cast<float*>(vectors.data()), vectors.size() * 2};
}

bool uses_quantization(const GltfValue& root) {
  for (const char* list : {"extensionsUsed", "extensionsRequired"})
    for (const GltfValue& extension : root.elements(list))
      if (extension.text() == "KHR_mesh_quantization") return true;
  return false;
}

/// Reads one mesh of the file as one node shows it.
class MeshReader {
 public:
  MeshReader(GltfReading& reading, const GltfValue& node, std::size_t mesh_number, bool quantized)
      : reading_(reading),
        node_(node),
        mesh_(reading.root.member("meshes").element(mesh_number)),
        quantized_(quantized) {
    scene_mesh_.name = mesh_.name();
    label_ = gltf_label("mesh", mesh_number, scene_mesh_.name);
    if (scene_mesh_.name.empty()) scene_mesh_.name = node.name();
    reading.accessors.charge(kElementCost + scene_mesh_.name.size());
    primitives_ = mesh_.elements("primitives");
    reading.accessors.charge(kElementCost * primitives_.size());
    layout_ = gltf_layout(mesh_, reading.accessors);
    warn_of_skipped();
  }

  bool is_empty() const { return layout_.blocks.empty(); }
  const std::string& label() const { return label_; }

  SceneMesh read() {
    std::vector<Vec3f> positions = read_positions();
    read_normals();
    read_texcoords();
    read_attributes();
    read_morph_targets();
    read_weights();
    Polygons polygons = read_polygons();
    // Per-vertex data seen from the corners: the value has the vertex's number.
    if (polygons.corners.empty()) {
      scene_mesh_.normals.values.clear();
      scene_mesh_.texcoords.values.clear();
    }
    if (!scene_mesh_.normals.values.empty()) scene_mesh_.normals.corners = polygons.corners;
    if (!scene_mesh_.texcoords.values.empty()) scene_mesh_.texcoords.corners = polygons.corners;
    scene_mesh_.surface = make_mesh(std::move(positions), std::move(polygons));
    return std::move(scene_mesh_);
  }

 private:
  std::string where(std::size_t primitive) const {
    return fmt::format("{}: {}, primitive {}", reading_.root.file(), label_, primitive);
  }

  GltfValue attributes(const GltfVertexBlock& block) const {
    return primitives_[block.primitive].member("attributes");
  }

  void warn_of_skipped() {
    std::size_t lines = 0, without_positions = 0;
    for (std::size_t p = 0; p < primitives_.size(); ++p) {
      if (layout_.primitive_block[p] != GltfLayout::kSkipped) continue;
      ++(primitives_[p].member("attributes").has("POSITION") ? lines : without_positions);
    }
    if (lines > 0) reading_.warn(fmt::format("{}: {} primitives of points or lines skipped", label_, lines));
    if (without_positions > 0)
      reading_.warn(fmt::format("{}: {} primitives without positions skipped", label_, without_positions));
  }

  /// The accessor of an attribute, with as many elements as the block has vertices.
  GltfAccessor find(const GltfValue& reference, const GltfVertexBlock& block) {
    const GltfAccessor accessor = reading_.accessors.find(reference);
    if (accessor.count != block.count)
      reference.fail(fmt::format("accessor {} has {} elements for {} vertices", accessor.number,
                                 accessor.count, block.count));
    return accessor;
  }

  GltfAccessor find_geometry(const GltfValue& reference, const GltfVertexBlock& block, int width) {
    const GltfAccessor accessor = find(reference, block);
    if (accessor.width != width) reference.fail(fmt::format("expected an accessor of type VEC{}", width));
    if (accessor.component == GltfComponent::u32) reference.fail("32-bit integers are not allowed here");
    const bool is_texcoord = width == 2;
    const bool allowed =
        accessor.component == GltfComponent::f32 || quantized_ ||
        (is_texcoord && accessor.normalized &&
         (accessor.component == GltfComponent::u8 || accessor.component == GltfComponent::u16));
    if (!allowed) reference.fail("integers need KHR_mesh_quantization in extensionsUsed");
    return accessor;
  }

  std::vector<Vec3f> read_positions() {
    reading_.accessors.charge(3 * layout_.vertex_count);
    std::vector<Vec3f> positions(layout_.vertex_count);
    for (const GltfVertexBlock& block : layout_.blocks) {
      const GltfValue reference = attributes(block).member("POSITION");
      const GltfAccessor accessor = find_geometry(reference, block, 3);
      refuse_compressed(block, accessor, reference);
      decode_finite(reading_, accessor,
                    as_floats(std::span(positions).subspan(block.first_vertex, block.count)),
                    where(block.primitive), "position");
    }
    return positions;
  }

  /// Compression that is used but not required promises plain data beside it; files that break the promise
  /// would read as all zeros.
  void refuse_compressed(const GltfVertexBlock& block, const GltfAccessor& accessor,
                         const GltfValue& reference) {
    if (accessor.data != nullptr || accessor.sparse_count > 0) return;
    const auto extensions = primitives_[block.primitive].find("extensions");
    if (extensions && extensions->has("KHR_draco_mesh_compression"))
      reference.fail("the data is compressed by KHR_draco_mesh_compression; export without it");
  }

  void read_normals() {
    std::vector<Vec3f>& normals = scene_mesh_.normals.values;
    std::size_t mended = 0;
    for (const GltfVertexBlock& block : layout_.blocks) {
      const auto reference = attributes(block).find("NORMAL");
      if (!reference) continue;
      if (normals.empty()) {
        reading_.accessors.charge(3 * layout_.vertex_count);
        normals.assign(layout_.vertex_count, Vec3f::Zero());
      }
      const std::span<Vec3f> part = std::span(normals).subspan(block.first_vertex, block.count);
      reading_.accessors.decode(find_geometry(*reference, block, 3), as_floats(part));
      for (Vec3f& normal : part) {
        const float length = normal.norm();
        if (std::abs(length - 1) <= kNormalRounding) continue;
        // Integers are rounded, so only their direction counts; a normal without one counts as none.
        const Vec3d direction = normal.cast<double>();
        const double exact = direction.norm();
        if (!std::isfinite(exact)) ++mended;
        normal = exact > 0 && std::isfinite(exact) ? Vec3f((direction / exact).cast<float>())
                                                   : Vec3f(Vec3f::Zero());
      }
    }
    if (mended > 0) reading_.warn(fmt::format("{}: {} normals were not finite: set to zero", label_, mended));
  }

  void read_texcoords() {
    std::vector<Vec2f>& texcoords = scene_mesh_.texcoords.values;
    std::size_t mended = 0;
    for (const GltfVertexBlock& block : layout_.blocks) {
      const auto reference = attributes(block).find("TEXCOORD_0");
      if (!reference) continue;
      if (texcoords.empty()) {
        reading_.accessors.charge(2 * layout_.vertex_count);
        texcoords.assign(layout_.vertex_count, Vec2f::Zero());
      }
      const std::span<Vec2f> part = std::span(texcoords).subspan(block.first_vertex, block.count);
      reading_.accessors.decode(find_geometry(*reference, block, 2), as_floats(part));
      for (Vec2f& texcoord : part) {
        if (texcoord.allFinite()) continue;
        texcoord.setZero();
        ++mended;
      }
    }
    if (mended > 0) reading_.warn(fmt::format("{}: {} UVs were not finite: set to zero", label_, mended));
  }

  void read_attributes() {
    for (const GltfVertexBlock& block : layout_.blocks)
      for (const auto& [name, reference] : attributes(block).members()) {
        if (name.empty() || name[0] != '_') continue;
        const GltfAccessor accessor = find(reference, block);
        if (accessor.is_matrix) {
          reading_.warn(fmt::format("{}: attribute '{}' holds matrices: skipped", label_, printable(name)));
          continue;
        }
        VertexAttribute& attribute = find_attribute(name, accessor.width);
        if (attribute.width != accessor.width)
          reference.fail(fmt::format("{} numbers per vertex, but another primitive has {}", accessor.width,
                                     attribute.width));
        const std::size_t width = to_size(accessor.width);
        decode_finite(reading_, accessor,
                      std::span(attribute.values).subspan(block.first_vertex * width, block.count * width),
                      where(block.primitive),
                      fmt::format("attribute '{}' of vertex", printable(name)).c_str());
      }
  }

  VertexAttribute& find_attribute(const std::string& name, int width) {
    for (VertexAttribute& attribute : scene_mesh_.attributes)
      if (attribute.name == name) return attribute;
    const std::size_t size = layout_.vertex_count * to_size(width);
    reading_.accessors.charge(kElementCost + name.size() + size);
    return scene_mesh_.attributes.emplace_back(VertexAttribute{name, width, std::vector<float>(size)});
  }

  void read_morph_targets() {
    const std::size_t count = primitives_[layout_.blocks.front().primitive].count("targets");
    for (const GltfVertexBlock& block : layout_.blocks)
      if (primitives_[block.primitive].count("targets") != count)
        throw Error(fmt::format("{}: {} morph targets, but primitive {} has {}", where(block.primitive),
                                primitives_[block.primitive].count("targets"),
                                layout_.blocks.front().primitive, count));
    reading_.accessors.charge((kElementCost + 3 * layout_.vertex_count) * count);
    scene_mesh_.morph_targets.resize(count);
    for (std::size_t t = 0; t < count; ++t) {
      MorphTarget& target = scene_mesh_.morph_targets[t];
      target.name = target_name(t);
      reading_.accessors.charge(target.name.size());
      target.displacements.assign(layout_.vertex_count, Vec3f::Zero());
      for (const GltfVertexBlock& block : layout_.blocks) {
        const auto reference = primitives_[block.primitive].member("targets").element(t).find("POSITION");
        if (!reference) continue;
        const GltfAccessor accessor = find_geometry(*reference, block, 3);
        const auto part = std::span(target.displacements).subspan(block.first_vertex, block.count);
        decode_finite(reading_, accessor, as_floats(part),
                      fmt::format("{}, morph target {}", where(block.primitive), t), "displacement");
      }
    }
    read_morph_weights(count);
  }

  /// glTF has no place for names of targets; mesh.extras.targetNames is what all exporters use. Extras may be
  /// anything, so nothing is demanded of them.
  std::string target_name(std::size_t target) const {
    const auto extras = mesh_.json().find("extras");
    if (extras == mesh_.json().end() || !extras->is_object()) return {};
    const auto names = extras->find("targetNames");
    if (names == extras->end() || !names->is_array() || target >= names->size()) return {};
    const auto& name = (*names)[target];
    return name.is_string() ? name.get<std::string>() : std::string();
  }

  void read_morph_weights(std::size_t count) {
    scene_mesh_.morph_weights.assign(count, 0.0f);
    auto weights = node_.find("weights");
    if (!weights) weights = mesh_.find("weights");
    if (!weights) return;
    if (weights->size() != count)
      weights->fail(fmt::format("{} weights for {} morph targets", weights->size(), count));
    scene_mesh_.morph_weights = weights->numbers(count);
  }

  /// JOINTS_n and WEIGHTS_n, vertex by vertex four each.
  struct InfluenceSet {
    std::vector<std::uint32_t> joints;
    std::vector<float> weights;
  };

  std::vector<InfluenceSet> read_influence_sets(const GltfVertexBlock& block) {
    std::vector<InfluenceSet> sets;
    const GltfValue attributes_value = attributes(block);
    for (const auto& [name, reference] : attributes_value.members()) {
      const bool is_joints = name.compare(0, 7, "JOINTS_") == 0;
      const bool is_weights = name.compare(0, 8, "WEIGHTS_") == 0;
      if (!is_joints && !is_weights) continue;
      const std::string mate = is_joints ? "WEIGHTS_" + name.substr(7) : "JOINTS_" + name.substr(8);
      const auto mate_reference = attributes_value.find(mate.c_str());
      if (!mate_reference) reference.fail(fmt::format("'{}' is missing", printable(mate)));
      if (is_joints) sets.push_back(read_influence_set(block, reference, *mate_reference));
    }
    return sets;
  }

  InfluenceSet read_influence_set(const GltfVertexBlock& block, const GltfValue& joints_reference,
                                  const GltfValue& weights_reference) {
    const GltfAccessor joints = find(joints_reference, block);
    if (joints.width != 4 || joints.is_matrix ||
        (joints.component != GltfComponent::u8 && joints.component != GltfComponent::u16))
      joints_reference.fail("joint numbers must be VEC4 of unsigned bytes or shorts");
    const GltfAccessor weights = find(weights_reference, block);
    const bool is_fraction = weights.component == GltfComponent::f32 ||
                             (weights.normalized && (weights.component == GltfComponent::u8 ||
                                                     weights.component == GltfComponent::u16));
    if (weights.width != 4 || weights.is_matrix || !is_fraction)
      weights_reference.fail("weights must be VEC4 of floats or of normalized unsigned bytes or shorts");
    reading_.accessors.charge(joints.values() + weights.values());
    InfluenceSet set{std::vector<std::uint32_t>(joints.values()), std::vector<float>(weights.values())};
    reading_.accessors.decode(joints, std::span(set.joints));
    decode_finite(reading_, weights, set.weights, where(block.primitive), "weight of vertex");
    return set;
  }

  void read_weights() {
    const auto skin_reference = node_.find("skin");
    if (!skin_reference) return;
    const std::size_t skin = skin_reference->index(reading_.scene.skins.size(), "skin");
    scene_mesh_.skin = static_cast<int>(skin);
    SkinWeights& weights = scene_mesh_.weights;
    reading_.accessors.charge(layout_.vertex_count);
    weights.starts.reserve(layout_.vertex_count + 1);
    WeightRepairs repairs;
    for (const GltfVertexBlock& block : layout_.blocks) append_weights(block, skin, repairs);
    if (repairs.unweighted_vertices > 0)
      reading_.warn(fmt::format("{}: {} of {} vertices have no weights", label_, repairs.unweighted_vertices,
                                layout_.vertex_count));
    if (repairs.negative_weights > 0)
      reading_.warn(fmt::format("{}: {} negative weights set to 0", label_, repairs.negative_weights));
    if (repairs.rescaled_rows > 0)
      reading_.warn(fmt::format("{}: the weights of {} vertices did not sum to 1: rescaled", label_,
                                repairs.rescaled_rows));
    if (repairs.merged_duplicates > 0)
      reading_.warn(fmt::format("{}: {} times a joint is listed twice on a vertex: weights added up", label_,
                                repairs.merged_duplicates));
  }

  void append_weights(const GltfVertexBlock& block, std::size_t skin, WeightRepairs& repairs) {
    const std::vector<InfluenceSet> sets = read_influence_sets(block);
    SkinWeights& weights = scene_mesh_.weights;
    if (block.count * 4 * sets.size() > std::numeric_limits<std::uint32_t>::max() - weights.joints.size())
      throw Error(fmt::format("{}: more than {} weights", where(block.primitive),
                              std::numeric_limits<std::uint32_t>::max()));
    const std::size_t joint_count = reading_.scene.skins[skin].joints.size();
    std::vector<Influence> row;
    for (std::size_t v = 0; v < block.count; ++v) {
      row.clear();
      for (const InfluenceSet& set : sets)
        for (std::size_t i = 4 * v; i < 4 * v + 4; ++i) {
          if (set.weights[i] == 0) continue;
          if (set.joints[i] >= joint_count)
            throw Error(fmt::format("{}: vertex {} is bound to joint {}, but skin {} has {} joints",
                                    where(block.primitive), v, set.joints[i], skin, joint_count));
          if (std::abs(set.weights[i]) > kMaxWeight)
            throw Error(
                fmt::format("{}: vertex {} has the weight {}", where(block.primitive), v, set.weights[i]));
          row.push_back({set.joints[i], set.weights[i]});
        }
      append_row(weights, row, 0, repairs);
    }
  }

  /// The primitive's vertex numbers, counted within its block.
  std::vector<std::uint32_t> read_indices(std::size_t primitive, std::size_t vertex_count) {
    std::vector<std::uint32_t> indices;
    const auto reference = primitives_[primitive].find("indices");
    if (!reference) {
      reading_.accessors.charge(vertex_count);
      indices.resize(vertex_count);
      for (std::size_t i = 0; i < vertex_count; ++i) indices[i] = static_cast<std::uint32_t>(i);
      return indices;
    }
    const GltfAccessor accessor = reading_.accessors.find(*reference);
    std::uint32_t restart = 0;
    if (accessor.component == GltfComponent::u8) restart = 0xFF;
    if (accessor.component == GltfComponent::u16) restart = 0xFFFF;
    if (accessor.component == GltfComponent::u32) restart = 0xFFFFFFFF;
    if (accessor.width != 1 || restart == 0 || accessor.normalized)
      reference->fail("indices must be SCALAR of unsigned integers");
    reading_.accessors.charge(accessor.count);
    indices.resize(accessor.count);
    reading_.accessors.decode(accessor, std::span(indices));
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] == restart)
        throw Error(fmt::format("{}: index {} is the restart value {}, which glTF does not allow",
                                where(primitive), i, restart));
      if (indices[i] >= vertex_count)
        throw Error(fmt::format("{}: index {} names vertex {}, but there are {}", where(primitive), i,
                                indices[i], vertex_count));
    }
    return indices;
  }

  Polygons read_polygons() {
    Polygons polygons;
    std::vector<std::uint32_t>& groups = scene_mesh_.polygon_groups;
    for (std::size_t p = 0; p < primitives_.size(); ++p) {
      if (layout_.primitive_block[p] == GltfLayout::kSkipped) continue;
      const GltfVertexBlock& block = layout_.blocks[to_size(layout_.primitive_block[p])];
      const auto mode_value = primitives_[p].find("mode");
      const std::uint64_t mode = mode_value ? mode_value->natural() : std::uint64_t{kTriangles};
      const std::vector<std::uint32_t> indices = read_indices(p, block.count);
      const std::uint64_t triangles =
          mode == kTriangles ? indices.size() / 3 : std::max<std::size_t>(indices.size(), 2) - 2;
      if (triangles > (std::numeric_limits<std::uint32_t>::max() - polygons.corners.size()) / 3)
        throw Error(fmt::format("{}: too many triangles", where(p)));
      reading_.accessors.charge(kCostPerTriangle * triangles);
      polygons.corners.reserve(polygons.corners.size() + 3 * triangles);
      polygons.starts.reserve(polygons.starts.size() + triangles);
      append_triangles(polygons, indices, mode, static_cast<std::uint32_t>(block.first_vertex));
      if (primitives_.size() > 1) groups.resize(polygons.size(), static_cast<std::uint32_t>(p));
      if (mode == kTriangles && indices.size() % 3 != 0)
        reading_.warn(
            fmt::format("{}, primitive {}: {} indices do not make whole triangles; the last {} are ignored",
                        label_, p, indices.size(), indices.size() % 3));
    }
    return polygons;
  }

  static void append_triangles(Polygons& polygons, const std::vector<std::uint32_t>& indices,
                               std::uint64_t mode, std::uint32_t first_vertex) {
    const auto add = [&](std::size_t a, std::size_t b, std::size_t c) {
      const Triangle triangle = {first_vertex + indices[a], first_vertex + indices[b],
                                 first_vertex + indices[c]};
      // Strips repeat vertices to jump to the next row; such triangles are no surface. Lists stay as they
      // are.
      if (mode != kTriangles &&
          (triangle[0] == triangle[1] || triangle[1] == triangle[2] || triangle[2] == triangle[0]))
        return;
      polygons.add(triangle);
    };
    // glTF 2.0, 3.7.2.1, which also fixes the order of the corners.
    if (mode == kTriangles)
      for (std::size_t i = 0; i + 2 < indices.size(); i += 3) add(i, i + 1, i + 2);
    if (mode == kTriangleStrip)
      for (std::size_t i = 0; i + 2 < indices.size(); ++i) add(i, i + 1 + i % 2, i + 2 - i % 2);
    if (mode == kTriangleFan)
      for (std::size_t i = 0; i + 2 < indices.size(); ++i) add(i + 1, i + 2, 0);
  }

  GltfReading& reading_;
  const GltfValue& node_;
  GltfValue mesh_;
  bool quantized_;
  std::string label_;
  std::vector<GltfValue> primitives_;
  GltfLayout layout_;
  SceneMesh scene_mesh_;
};

/// Which nodes the file shows: those of its default scene, else of its first, else all.
std::vector<bool> shown_nodes(const GltfValue& root, const std::vector<GltfValue>& nodes) {
  const std::vector<GltfValue> scenes = root.elements("scenes");
  const auto chosen = root.find("scene");
  const std::size_t scene = chosen ? chosen->index(scenes.size(), "scene") : 0;
  if (scenes.empty()) return std::vector<bool>(nodes.size(), true);
  std::vector<bool> shown(nodes.size(), false);
  std::vector<std::size_t> open;
  for (const GltfValue& node : scenes[scene].elements("nodes"))
    open.push_back(node.index(nodes.size(), "node"));
  while (!open.empty()) {
    const std::size_t n = open.back();
    open.pop_back();
    if (shown[n]) continue;
    shown[n] = true;
    for (const GltfValue& child : nodes[n].elements("children")) open.push_back(child.natural());
  }
  return shown;
}

}  // namespace

void read_gltf_meshes(GltfReading& reading) {
  const std::vector<GltfValue> nodes = reading.root.elements("nodes");
  const std::vector<bool> shown = shown_nodes(reading.root, nodes);
  const std::size_t mesh_count = reading.root.count("meshes");
  const bool quantized = uses_quantization(reading.root);
  Scene& scene = reading.scene;
  reading.node_mesh.assign(nodes.size(), -1);
  std::size_t morphs = 0;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const auto reference = nodes[n].find("mesh");
    if (!reference) continue;
    const std::size_t mesh_number = reference->index(mesh_count, "mesh");
    if (!shown[n]) continue;
    MeshReader reader(reading, nodes[n], mesh_number, quantized);
    if (reader.is_empty()) {
      reading.warn(fmt::format("{}: no triangles: skipped", reader.label()));
      continue;
    }
    SceneMesh mesh = reader.read();
    mesh.joint = reading.node_joint[n];
    reading.node_mesh[n] = static_cast<int>(scene.meshes.size());
    reading.mesh_morphs.push_back(morphs);
    morphs += mesh.morph_weights.size();
    scene.mesh_nodes.push_back(static_cast<int>(n));
    scene.meshes.push_back(std::move(mesh));
  }
}

}  // namespace sinew
