#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/core/index.h>
#include <sinew/scene/frame_writer.h>
#include <sinew/scene/gltf_layout.h>
#include <sinew/scene/gltf_scene_builder.h>
#include <sinew/scene/gltf_split.h>
#include <sinew/scene/normal_slots.h>

namespace sinew {

using Json = nlohmann::ordered_json;

namespace {

/// Vertices that lie together in the file, and the primitives that show them.
struct Part {
  std::size_t mesh = 0;                 ///< of the scene
  std::vector<std::uint32_t> vertices;  ///< per glTF vertex, the mesh's vertex
  std::vector<std::uint32_t> slots;     ///< and its normal slot
  std::vector<std::size_t> primitives;  ///< of the mesh entry

  std::uint64_t size() const { return vertices.size() * sizeof(Vec3f); }  ///< bytes of one of its accessors
};

struct Bounds {
  Vec3f low, high;
};

/// As long as any float becomes in JSON: sign, 17 digits, point, exponent.
constexpr double kWidestNumber = -1.2345678901234567e-38;

/// The scene at rest without skins, clips and morph targets, which frames replace.
Scene still_scene(const Scene& scene) {
  Scene still = scene;
  still.clips.clear();
  still.skins.clear();
  for (SceneMesh& mesh : still.meshes) {
    mesh.skin = -1;
    mesh.weights = {};
    mesh.morph_targets.clear();
    mesh.morph_weights.clear();
  }
  return still;
}

/// The parts of the meshes, in the order of the file.
std::vector<Part> make_parts(const Scene& scene, const GltfScene& gltf) {
  std::vector<Part> parts;
  const std::string file = scene.source.string();
  for (std::size_t m = 0; m < scene.meshes.size(); ++m) {
    if (scene.meshes[m].surface.positions.empty()) continue;
    if (gltf.is_split[m]) {
      SplitVertices split = split_vertices(scene.meshes[m]);
      const std::size_t node = to_size(gltf.mesh_nodes[m]);
      const std::size_t entry = gltf.document.json["nodes"][node]["mesh"].get<std::size_t>();
      std::vector<std::size_t> primitives(gltf.document.json["meshes"][entry]["primitives"].size());
      std::iota(primitives.begin(), primitives.end(), std::size_t{0});
      parts.push_back({m, std::move(split.vertices), std::move(split.slots), std::move(primitives)});
      continue;
    }
    const GltfValue root(scene.document->json, file);
    const GltfLayout layout = gltf_layout(root.member("meshes").element(to_size(gltf.document_entries[m])),
                                          GltfAccessors(*scene.document, root));
    for (std::size_t b = 0; b < layout.blocks.size(); ++b) {
      Part part{m, {}, {}, {}};
      for (std::size_t v = 0; v < layout.blocks[b].count; ++v)
        part.vertices.push_back(static_cast<std::uint32_t>(layout.blocks[b].first_vertex + v));
      part.slots = part.vertices;
      for (std::size_t p = 0; p < layout.primitive_block.size(); ++p)
        if (layout.primitive_block[p] == static_cast<int>(b)) part.primitives.push_back(p);
      parts.push_back(std::move(part));
    }
  }
  return parts;
}

/// The scene's document with every mesh on a node of its own at the root, ready for positions and normals.
class StillDocument {
 public:
  StillDocument(const Scene& scene, GltfScene gltf, std::vector<Part>& parts)
      : out_(std::move(gltf.document)), nodes_(std::move(gltf.mesh_nodes)) {
    entries_.assign(scene.meshes.size(), -1);
    Json meshes = Json::array();
    for (std::size_t m = 0; m < scene.meshes.size(); ++m)
      if (node(m).contains("mesh")) {
        entries_[m] = static_cast<int>(meshes.size());
        meshes.push_back(bare_mesh(m, parts));
      }
    for (std::size_t m = 0; m < scene.meshes.size(); ++m)
      if (entries_[m] >= 0) make_root(m, scene.meshes[m].name);
    keep_other_meshes(meshes);
    out_.json["meshes"] = std::move(meshes);
    out_.drop_unused();
  }

  GltfBuilder& builder() { return out_; }
  const std::vector<int>& nodes() const { return nodes_; }
  const std::vector<int>& entries() const { return entries_; }

 private:
  Json& node(std::size_t m) { return out_.json["nodes"][to_size(nodes_[m])]; }

  /// A copy of the mesh with only the primitives that frames move, and without what frames bring.
  Json bare_mesh(std::size_t m, std::vector<Part>& parts) {
    Json json = out_.json["meshes"][node(m)["mesh"].get<std::size_t>()];
    Json primitives = Json::array();
    for (Part& part : parts) {
      if (part.mesh != m) continue;
      for (std::size_t& p : part.primitives) {
        Json primitive = json["primitives"][p];
        // Tangents belong to the rest pose; viewers make new ones where a material needs them.
        for (const char* name : {"POSITION", "NORMAL", "TANGENT"}) primitive["attributes"].erase(name);
        drop_draco(primitive);
        p = primitives.size();
        primitives.push_back(std::move(primitive));
      }
    }
    json["primitives"] = std::move(primitives);
    json.erase("weights");
    return json;
  }

  /// Moves mesh m to a root node without transform: its own, when nothing else hangs on that.
  void make_root(std::size_t m, const std::string& mesh_name) {
    Json& old = node(m);
    for (const char* key : {"mesh", "skin", "weights"}) old.erase(key);
    if (old.contains("children") || old.contains("camera") || old.contains("extensions")) {
      Json added = Json::object();
      const std::string name = old.value("name", mesh_name);
      if (!name.empty()) added["name"] = name;
      nodes_[m] = out_.append("nodes", std::move(added));
    } else {
      for (const char* key : {"matrix", "translation", "rotation", "scale"}) old.erase(key);
      detach(nodes_[m]);
    }
    node(m)["mesh"] = entries_[m];
    if (out_.json.contains("scenes") && !out_.json["scenes"].empty())
      out_.json["scenes"][out_.json.value("scene", std::size_t{0})]["nodes"].push_back(nodes_[m]);
  }

  static void erase_number(Json& owner, const char* key, int number) {
    if (!owner.contains(key)) return;
    Json kept = Json::array();
    for (const Json& entry : owner[key])
      if (entry != number) kept.push_back(entry);
    if (kept.empty())
      owner.erase(key);
    else
      owner[key] = std::move(kept);
  }

  void detach(int number) {
    for (Json& parent : out_.json["nodes"]) erase_number(parent, "children", number);
    if (out_.json.contains("scenes") && !out_.json["scenes"].empty())
      erase_number(out_.json["scenes"][out_.json.value("scene", std::size_t{0})], "nodes", number);
  }

  /// Meshes of nodes that are not in the scene (points, lines, other scenes) stay, behind the scene's.
  void keep_other_meshes(Json& meshes) {
    std::vector<int> kept(out_.json["meshes"].size(), -1);
    for (std::size_t n = 0; n < out_.json["nodes"].size(); ++n) {
      Json& json = out_.json["nodes"][n];
      if (!json.contains("mesh") ||
          std::find(nodes_.begin(), nodes_.end(), static_cast<int>(n)) != nodes_.end())
        continue;
      const std::size_t old = json["mesh"].get<std::size_t>();
      if (kept[old] < 0) {
        kept[old] = static_cast<int>(meshes.size());
        meshes.push_back(out_.json["meshes"][old]);
      }
      json["mesh"] = kept[old];
    }
  }

  GltfBuilder out_;
  std::vector<int> nodes_;    // per mesh of the scene
  std::vector<int> entries_;  // per mesh of the scene its number in "meshes", -1 without vertices
};

/// File: JSON | what does not change, key times, key weights | first frame | displacements of every frame.
/// The JSON comes first but holds the bounds of all frames, so room is left for the longest it can become.
class GlbFrameWriter final : public FrameWriter {
 public:
  GlbFrameWriter(const Scene& scene, const std::filesystem::path& path, const FrameWriterOptions& options)
      : path_(path), options_(options), frame_count_(to_size(options.frame_count)) {
    assert(options.frame_count >= 1);
    for (const SceneMesh& mesh : scene.meshes) {
      vertex_counts_.push_back(mesh.surface.positions.size());
      slot_counts_.push_back(normal_slots(mesh).slot_vertex.size());
      names_.push_back(mesh.name);
    }
    has_normals_.assign(scene.meshes.size(), 1);
    const Scene still = still_scene(scene);
    GltfScene gltf = build_gltf(still);
    parts_ = make_parts(still, gltf);
    StillDocument document(still, std::move(gltf), parts_);
    still_ = std::move(document.builder().json);
    static_size_ = padded_to_4(document.builder().binary().size());
    nodes_ = document.nodes();
    entries_ = document.entries();

    check_size(0);
    bounds_.assign(parts_.size() * (1 + target_count()), {});
    json_size_ = padded_to_4(gltf_text(make_json(true)).size());
    check_size(json_size_);

    file_ = std::make_unique<AtomicFile>(path);
    file_->seek(kGlbHeadSize + json_size_ + kGlbBinaryHeadSize);
    std::vector<std::byte> bytes = document.builder().binary();
    bytes.resize(static_size_);
    file_->write(bytes);
    write_keys();
  }

  void write_frame(std::span<const MeshFrame> meshes) override {
    if (written_ == frame_count_)
      throw Error(fmt::format("{}: frame {} of {} frames", path_.string(), written_ + 1, frame_count_));
    check_frame(meshes);
    if (written_ == 0) {
      for (std::size_t m = 0; m < meshes.size(); ++m) has_normals_[m] = !meshes[m].normals.empty();
      base_.resize(parts_.size());
      for (std::size_t p = 0; p < parts_.size(); ++p) {
        gather(parts_[p], meshes, base_[p]);
        bounds_[p] = write_vectors(base_[p].positions, p);
        if (has_normals_[parts_[p].mesh]) write_vectors(base_[p].normals, p);
      }
    }
    for (std::size_t p = 0; p < parts_.size() && target_count() > 0; ++p) {
      gather(parts_[p], meshes, scratch_);
      for (std::size_t v = 0; v < scratch_.positions.size(); ++v)
        scratch_.positions[v] -= base_[p].positions[v];
      for (std::size_t v = 0; v < scratch_.normals.size(); ++v) scratch_.normals[v] -= base_[p].normals[v];
      bounds_[parts_.size() * (1 + written_) + p] = write_vectors(scratch_.positions, p);
      if (has_normals_[parts_[p].mesh]) write_vectors(scratch_.normals, p);
    }
    ++written_;
  }

  void finish() override {
    if (written_ != frame_count_)
      throw Error(fmt::format("{}: {} of {} frames came", path_.string(), written_, frame_count_));
    std::string text = gltf_text(make_json(false));
    assert(text.size() <= json_size_);
    text.resize(json_size_, ' ');
    file_->seek(0);
    file_->write(glb_head(json_size_, binary_size()));
    file_->write(text);
    if (binary_size() > 0) file_->write(glb_binary_head(binary_size()));
    file_->commit();
  }

  std::vector<std::filesystem::path> outputs() const override { return {path_}; }

 private:
  struct Vectors {
    std::vector<Vec3f> positions;
    std::vector<Vec3f> normals;
  };

  /// A single frame needs no targets.
  std::size_t target_count() const { return frame_count_ > 1 ? frame_count_ : 0; }
  std::uint64_t times_size() const { return target_count() * sizeof(float); }
  std::uint64_t weights_size() const { return target_count() * target_count() * sizeof(float); }
  std::uint64_t frames_start() const { return static_size_ + times_size() + weights_size(); }
  std::uint64_t frame_size() const {
    std::uint64_t size = 0;
    for (const Part& part : parts_) size += part.size() * (has_normals_[part.mesh] ? 2 : 1);
    return size;
  }
  std::uint64_t binary_size() const { return frames_start() + frame_size() * (1 + target_count()); }

  void check_size(std::uint64_t json_size) const {
    // In double: the square of a hostile number of frames does not fit 64 bits.
    const double targets = static_cast<double>(target_count());
    const double size = static_cast<double>(kGlbHeadSize + json_size + kGlbBinaryHeadSize + static_size_) +
                        4 * targets * (1 + targets) + static_cast<double>(frame_size()) * (1 + targets);
    if (size <= static_cast<double>(kGlbSizeLimit)) return;
    throw Error(fmt::format("{}: {} frames need {:.1f} GiB, a GLB holds 4; use .pc2 or fewer frames",
                            path_.string(), frame_count_, size / (1 << 30)));
  }

  void check_frame(std::span<const MeshFrame> meshes) const {
    if (meshes.size() != vertex_counts_.size())
      throw Error(fmt::format("{}: frame {}: {} meshes, the scene has {}", path_.string(), written_,
                              meshes.size(), vertex_counts_.size()));
    for (std::size_t m = 0; m < meshes.size(); ++m) {
      const auto fail = [&](const std::string& what) {
        throw Error(fmt::format("{}: frame {}, mesh '{}': {}", path_.string(), written_, names_[m], what));
      };
      if (meshes[m].positions.size() != vertex_counts_[m])
        fail(fmt::format("{} positions for {} vertices", meshes[m].positions.size(), vertex_counts_[m]));
      for (std::size_t v = 0; v < meshes[m].positions.size(); ++v)
        if (!meshes[m].positions[v].allFinite())
          fail(fmt::format("the position of vertex {} is not finite", v));
      const std::size_t normals = meshes[m].normals.size();
      if (normals != 0 && normals != slot_counts_[m])
        fail(fmt::format("{} normals for {} slots", normals, slot_counts_[m]));
      if (written_ > 0 && (normals != 0) != static_cast<bool>(has_normals_[m]))
        fail("normals in some frames only");
    }
  }

  void gather(const Part& part, std::span<const MeshFrame> meshes, Vectors& out) const {
    const MeshFrame& frame = meshes[part.mesh];
    out.positions.resize(part.vertices.size());
    for (std::size_t i = 0; i < part.vertices.size(); ++i)
      out.positions[i] = frame.positions[part.vertices[i]];
    out.normals.resize(has_normals_[part.mesh] ? part.slots.size() : 0);
    for (std::size_t i = 0; i < out.normals.size(); ++i)
      out.normals[i] = unit_normal(frame.normals[part.slots[i]]);
  }

  Bounds write_vectors(const std::vector<Vec3f>& vectors, std::size_t p) {
    Bounds bounds{vectors[0], vectors[0]};
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      if (!vectors[i].allFinite())
        throw Error(fmt::format("{}: frame {}, mesh '{}': vertex {} moves farther than a float holds",
                                path_.string(), written_, names_[parts_[p].mesh], parts_[p].vertices[i]));
      bounds.low = bounds.low.cwiseMin(vectors[i]);
      bounds.high = bounds.high.cwiseMax(vectors[i]);
    }
    file_->write(vectors.data(), vectors.size() * sizeof(Vec3f));
    return bounds;
  }

  /// The animation: key k at time k / fps has weight 1 for target k alone.
  void write_keys() {
    std::vector<float> row(target_count());
    for (std::size_t k = 0; k < row.size(); ++k)
      row[k] = static_cast<float>(static_cast<double>(k) / options_.frames_per_second);
    file_->write(row.data(), times_size());
    std::fill(row.begin(), row.end(), 0.0f);
    for (std::size_t k = 0; k < row.size(); ++k) {
      row[k] = 1;
      file_->write(row.data(), times_size());
      row[k] = 0;
    }
  }

  static Json vector_json(const Vec3f& v, bool widest) {
    if (widest) return {kWidestNumber, kWidestNumber, kWidestNumber};
    return {v.x(), v.y(), v.z()};
  }

  static int append(Json& json, const char* array, Json entry) {
    Json& entries = json[array];
    if (!entries.is_array()) entries = Json::array();
    entries.push_back(std::move(entry));
    return static_cast<int>(entries.size()) - 1;
  }

  static int add_view(Json& json, std::uint64_t offset, std::uint64_t size, bool vertices) {
    Json view{{"buffer", 0}, {"byteOffset", offset}, {"byteLength", size}};
    if (vertices) {
      view["byteStride"] = sizeof(Vec3f);  // several accessors share the view
      view["target"] = static_cast<int>(ViewTarget::vertices);
    }
    return append(json, "bufferViews", std::move(view));
  }

  static int add_accessor(Json& json, int view, std::uint64_t offset, std::uint64_t count, int width) {
    Json accessor{{"bufferView", view}};
    if (offset > 0) accessor["byteOffset"] = offset;
    accessor["componentType"] = static_cast<int>(GltfComponent::f32);
    accessor["count"] = count;
    accessor["type"] = gltf_accessor_type(width);
    return append(json, "accessors", std::move(accessor));
  }

  /// POSITION and NORMAL of every part for the data written as number `block`: 0 the first frame's own, k + 1
  /// the displacements of frame k.
  std::vector<Json> add_block(Json& json, std::size_t block, bool widest) const {
    std::vector<Json> attributes;
    const int view = add_view(json, frames_start() + block * frame_size(), frame_size(), true);
    std::uint64_t offset = 0;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      const Bounds& bounds = bounds_[parts_.size() * block + p];
      const std::size_t count = parts_[p].vertices.size();
      Json names = Json::object();
      names["POSITION"] = add_accessor(json, view, offset, count, 3);
      json["accessors"].back()["min"] = vector_json(bounds.low, widest);
      json["accessors"].back()["max"] = vector_json(bounds.high, widest);
      offset += parts_[p].size();
      if (has_normals_[parts_[p].mesh]) {
        names["NORMAL"] = add_accessor(json, view, offset, count, 3);
        offset += parts_[p].size();
      }
      attributes.push_back(std::move(names));
    }
    return attributes;
  }

  template <class Visit>
  void visit_primitives(Json& json, const Visit& visit) const {
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      Json& mesh = json["meshes"][to_size(entries_[parts_[p].mesh])];
      for (std::size_t primitive : parts_[p].primitives) visit(mesh["primitives"][primitive], p);
    }
  }

  Json make_json(bool widest) const {
    Json json = still_;
    if (!parts_.empty()) {
      const std::vector<Json> base = add_block(json, 0, widest);
      visit_primitives(json, [&](Json& primitive, std::size_t p) {
        for (const auto& [name, accessor] : base[p].items()) primitive["attributes"][name] = accessor;
        if (target_count() > 0) primitive["targets"] = Json::array();
      });
      for (std::size_t k = 0; k < target_count(); ++k) {
        const std::vector<Json> target = add_block(json, k + 1, widest);
        visit_primitives(json,
                         [&](Json& primitive, std::size_t p) { primitive["targets"].push_back(target[p]); });
      }
      if (target_count() > 0) add_animation(json);
    }
    set_only_buffer(json, binary_size());
    return json;
  }

  void add_animation(Json& json) const {
    const std::size_t n = target_count();
    const int times = add_accessor(json, add_view(json, static_size_, times_size(), false), 0, n, 1);
    json["accessors"].back()["min"] = {0.0f};
    json["accessors"].back()["max"] = {
        static_cast<float>(static_cast<double>(n - 1) / options_.frames_per_second)};
    const int weights =
        add_accessor(json, add_view(json, static_size_ + times_size(), weights_size(), false), 0, n * n, 1);
    Json channels = Json::array();
    for (std::size_t m = 0; m < entries_.size(); ++m) {
      if (entries_[m] < 0) continue;
      json["meshes"][to_size(entries_[m])]["weights"] = std::vector<int>(n, 0);
      channels.push_back(Json{{"sampler", 0}, {"target", Json{{"node", nodes_[m]}, {"path", "weights"}}}});
    }
    Json animation = Json::object();
    if (!options_.clip_name.empty()) animation["name"] = options_.clip_name;
    animation["channels"] = std::move(channels);
    animation["samplers"] =
        Json::array({Json{{"input", times}, {"interpolation", "LINEAR"}, {"output", weights}}});
    append(json, "animations", std::move(animation));
  }

  std::filesystem::path path_;
  FrameWriterOptions options_;
  std::size_t frame_count_;
  std::vector<std::size_t> vertex_counts_, slot_counts_;  // per mesh of the scene, as the next four
  std::vector<std::string> names_;
  std::vector<char> has_normals_;  // assumed until the first frame tells
  std::vector<int> nodes_, entries_;
  std::vector<Part> parts_;
  Json still_;
  std::uint64_t static_size_ = 0;
  std::uint64_t json_size_ = 0;
  std::vector<Bounds> bounds_;  // per block of frame data and part
  std::vector<Vectors> base_;
  Vectors scratch_;
  std::unique_ptr<AtomicFile> file_;
  std::size_t written_ = 0;
};

}  // namespace

std::unique_ptr<FrameWriter> make_glb_frame_writer(const Scene& scene, const std::filesystem::path& path,
                                                   const FrameWriterOptions& options) {
  check_scene(scene);
  try {
    return std::make_unique<GlbFrameWriter>(scene, path, options);
  } catch (const Json::exception& error) {
    throw Error(fmt::format("{}: its glTF document is broken: {}", scene.source.string(), error.what()));
  }
}

}  // namespace sinew
