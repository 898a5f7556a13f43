#include <sinew/scene/gltf_builder.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/core/index.h>
#include <sinew/scene/gltf_uri.h>
#include <sinew/version.h>

namespace sinew {

using Json = nlohmann::ordered_json;

namespace {

void add_word(std::vector<std::byte>& bytes, std::uint64_t word) {
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<std::byte>(word >> (8 * i)));
}

/// The kind of image by its first bytes, or empty.
std::string image_type(std::span<const std::byte> bytes) {
  const std::string_view text = as_text(bytes);
  if (text.starts_with("\x89PNG\r\n\x1a\n")) return "image/png";
  if (text.starts_with("\xff\xd8\xff")) return "image/jpeg";
  if (text.starts_with("RIFF") && text.size() >= 12 && text.substr(8, 4) == "WEBP") return "image/webp";
  if (text.starts_with("\xabKTX 20\xbb\r\n\x1a\n")) return "image/ktx2";
  return {};
}

/// Whether all extensions used below `json` are known to name neither accessors nor buffer views.
bool extensions_are_plain(const Json& json) {
  static constexpr std::array<std::string_view, 5> kPlain = {"KHR_materials_", "KHR_texture_", "KHR_lights_",
                                                             "EXT_materials_", "EXT_texture_"};
  if (json.is_object() && json.contains("extensions"))
    for (const auto& extension : json["extensions"].items())
      if (std::none_of(kPlain.begin(), kPlain.end(),
                       [&](std::string_view prefix) { return extension.key().starts_with(prefix); }))
        return false;
  return !json.is_structured() || std::all_of(json.begin(), json.end(), extensions_are_plain);
}

template <class Visit>
void visit_member(Json& json, const char* key, const Visit& visit) {
  if (json.is_object() && json.contains(key)) visit(json[key]);
}

template <class Visit>
void visit_elements(Json& json, const char* array, const Visit& visit) {
  if (!json.is_object() || !json.contains(array)) return;
  for (Json& element : json[array]) visit(element);
}

template <class Visit>
void visit_accessor_references(Json& json, const Visit& visit) {
  visit_elements(json, "meshes", [&](Json& mesh) {
    visit_elements(mesh, "primitives", [&](Json& primitive) {
      visit_member(primitive, "indices", visit);
      visit_elements(primitive, "attributes", visit);
      visit_elements(primitive, "targets", [&](Json& target) {
        for (Json& reference : target) visit(reference);
      });
    });
  });
  visit_elements(json, "skins", [&](Json& skin) { visit_member(skin, "inverseBindMatrices", visit); });
  visit_elements(json, "animations", [&](Json& animation) {
    visit_elements(animation, "samplers", [&](Json& sampler) {
      visit_member(sampler, "input", visit);
      visit_member(sampler, "output", visit);
    });
  });
}

template <class Visit>
void visit_view_references(Json& json, const Visit& visit) {
  visit_elements(json, "images", [&](Json& image) { visit_member(image, "bufferView", visit); });
  visit_elements(json, "accessors", [&](Json& accessor) {
    visit_member(accessor, "bufferView", visit);
    visit_member(accessor, "sparse", [&](Json& sparse) {
      visit_member(sparse["indices"], "bufferView", visit);
      visit_member(sparse["values"], "bufferView", visit);
    });
  });
}

/// Removes the entries of json[array] that no reference names, and renumbers the references.
template <class VisitReferences>
void drop_unnamed(Json& json, const char* array, const VisitReferences& visit_references) {
  if (!json.contains(array)) return;
  std::vector<int> numbers(json[array].size(), -1);
  visit_references(json, [&](Json& reference) {
    const std::size_t number = reference.get<std::size_t>();
    if (number >= numbers.size())
      throw Error(
          fmt::format("the glTF document names entry {} of {}, which has {}", number, array, numbers.size()));
    numbers[number] = 0;
  });
  Json kept = Json::array();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < 0) continue;
    numbers[i] = static_cast<int>(kept.size());
    kept.push_back(std::move(json[array][i]));
  }
  json[array] = std::move(kept);
  visit_references(json, [&](Json& reference) { reference = numbers[reference.get<std::size_t>()]; });
  if (json[array].empty()) json.erase(array);
}

}  // namespace

const char* gltf_accessor_type(int width) {
  switch (width) {
    case 1:
      return "SCALAR";
    case 2:
      return "VEC2";
    case 3:
      return "VEC3";
    case 4:
      return "VEC4";
    case 9:
      return "MAT3";
    case 16:
      return "MAT4";
    default:
      throw Error(fmt::format("glTF has no elements of {} numbers", width));
  }
}

std::string gltf_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void drop_draco(Json& primitive) {
  if (!primitive.contains("extensions")) return;
  primitive["extensions"].erase("KHR_draco_mesh_compression");
  if (primitive["extensions"].empty()) primitive.erase("extensions");
}

void set_only_buffer(Json& json, std::uint64_t size) {
  if (size == 0) {
    json.erase("buffers");
    return;
  }
  Json buffer = Json::object();
  if (json.contains("buffers") && !json["buffers"].empty()) buffer = json["buffers"][0];
  buffer.erase("uri");
  buffer["byteLength"] = size;
  json["buffers"] = Json::array({std::move(buffer)});
}

std::vector<std::byte> glb_head(std::uint64_t json_size, std::uint64_t binary_size) {
  assert(json_size % 4 == 0 && binary_size % 4 == 0);
  std::vector<std::byte> head;
  add_word(head, 0x46546c67);  // glTF
  add_word(head, 2);
  add_word(head, kGlbHeadSize + json_size + (binary_size > 0 ? kGlbBinaryHeadSize + binary_size : 0));
  add_word(head, json_size);
  add_word(head, 0x4e4f534a);  // JSON
  return head;
}

std::vector<std::byte> glb_binary_head(std::uint64_t binary_size) {
  std::vector<std::byte> head;
  add_word(head, binary_size);
  add_word(head, 0x004e4942);  // BIN
  return head;
}

GltfBuilder::GltfBuilder() {
  json["asset"] = {{"version", "2.0"}, {"generator", "Sinew " SINEW_VERSION}};
  json["scene"] = 0;
  json["scenes"] = Json::array({Json{{"nodes", Json::array()}}});
}

GltfBuilder::GltfBuilder(const GltfDocument& document) : json(document.json) {
  std::vector<std::uint64_t> starts;
  for (std::size_t b = 0; b < document.buffers.size(); ++b) {
    binary_.resize(padded_to_4(binary_.size()));
    starts.push_back(binary_.size());
    // A GLB's chunk may be longer than the buffer it holds.
    const std::size_t size = json["buffers"][b]["byteLength"].get<std::size_t>();
    assert(size <= document.buffers[b].size());
    binary_.insert(binary_.end(), document.buffers[b].begin(),
                   document.buffers[b].begin() + static_cast<std::ptrdiff_t>(size));
  }
  const auto move_view = [&](Json& view) {
    const std::size_t buffer = view["buffer"].get<std::size_t>();
    if (buffer >= starts.size())
      throw Error(fmt::format("a buffer view names buffer {}, which does not exist ({} buffers)", buffer,
                              starts.size()));
    const std::uint64_t start = starts[buffer];
    view["buffer"] = 0;
    if (start > 0) view["byteOffset"] = view.value("byteOffset", std::uint64_t{0}) + start;
  };
  if (json.contains("bufferViews"))
    for (Json& view : json["bufferViews"]) {
      move_view(view);
      if (view.contains("extensions") && view["extensions"].contains("EXT_meshopt_compression"))
        move_view(view["extensions"]["EXT_meshopt_compression"]);
    }
  embed_images(document.directory);
}

void GltfBuilder::embed_images(const std::filesystem::path& directory) {
  if (directory.empty() || !json.contains("images")) return;
  for (Json& image : json["images"]) {
    if (!image.is_object() || !image.contains("uri") || !image["uri"].is_string()) continue;
    const std::string uri = image["uri"].get<std::string>();
    if (is_data_uri(uri)) continue;
    std::filesystem::path path;
    try {
      path = resolve_uri(uri, directory, "image");
    } catch (const Error&) {
      continue;  // what may not be read stays a link
    }
    if (!std::filesystem::is_regular_file(path)) continue;
    const std::vector<std::byte> bytes = read_file(path, std::uint64_t{1} << 30);
    const std::string type = image_type(bytes);
    if (type.empty()) continue;
    image.erase("uri");
    image["bufferView"] = add_view(bytes, ViewTarget::none);
    image["mimeType"] = type;
  }
}

int GltfBuilder::append(const char* array, Json entry) {
  Json& entries = json[array];
  if (!entries.is_array()) entries = Json::array();
  entries.push_back(std::move(entry));
  return static_cast<int>(entries.size()) - 1;
}

int GltfBuilder::add_view(std::span<const std::byte> bytes, ViewTarget target) {
  binary_.resize(padded_to_4(binary_.size()));
  Json view{{"buffer", 0}, {"byteLength", bytes.size()}};
  if (!binary_.empty()) view["byteOffset"] = binary_.size();
  if (target != ViewTarget::none) view["target"] = static_cast<int>(target);
  binary_.insert(binary_.end(), bytes.begin(), bytes.end());
  return append("bufferViews", std::move(view));
}

int GltfBuilder::add_accessor(int view, GltfComponent component, std::size_t count, int width) {
  return append("accessors", {{"bufferView", view},
                              {"componentType", static_cast<int>(component)},
                              {"count", count},
                              {"type", gltf_accessor_type(width)}});
}

int GltfBuilder::add_floats(std::span<const float> values, int width, ViewTarget target, bool bounds) {
  const std::size_t step = to_size(width);
  assert(!values.empty() && values.size() % step == 0);
  const int accessor =
      add_accessor(add_view(std::as_bytes(values), target), GltfComponent::f32, values.size() / step, width);
  if (bounds) {
    std::vector<float> low(values.begin(), values.begin() + width);
    std::vector<float> high = low;
    for (std::size_t i = 0; i < values.size(); ++i) {
      low[i % step] = std::min(low[i % step], values[i]);
      high[i % step] = std::max(high[i % step], values[i]);
    }
    json["accessors"].back()["min"] = low;
    json["accessors"].back()["max"] = high;
  }
  return accessor;
}

int GltfBuilder::add_vectors(std::span<const Vec3f> values, bool bounds) {
  return add_floats({values.empty() ? nullptr : values[0].data(), 3 * values.size()}, 3, ViewTarget::vertices,
                    bounds);
}

int GltfBuilder::add_indices(std::span<const std::uint32_t> indices) {
  assert(!indices.empty());
  // 65535 is primitive restart in 16 bits.
  if (*std::max_element(indices.begin(), indices.end()) >= 65535)
    return add_accessor(add_view(std::as_bytes(indices), ViewTarget::indices), GltfComponent::u32,
                        indices.size(), 1);
  const std::vector<std::uint16_t> narrow(indices.begin(), indices.end());
  return add_accessor(add_view(std::as_bytes(std::span(narrow)), ViewTarget::indices), GltfComponent::u16,
                      indices.size(), 1);
}

int GltfBuilder::add_joint_numbers(std::span<const std::uint32_t> joints, std::size_t joint_count) {
  assert(!joints.empty() && joints.size() % 4 == 0 && joint_count <= 65536);
  if (joint_count <= 256) {
    const std::vector<std::uint8_t> narrow(joints.begin(), joints.end());
    return add_accessor(add_view(std::as_bytes(std::span(narrow)), ViewTarget::vertices), GltfComponent::u8,
                        joints.size() / 4, 4);
  }
  const std::vector<std::uint16_t> narrow(joints.begin(), joints.end());
  return add_accessor(add_view(std::as_bytes(std::span(narrow)), ViewTarget::vertices), GltfComponent::u16,
                      joints.size() / 4, 4);
}

void GltfBuilder::drop_unused() {
  if (!extensions_are_plain(json)) return;
  drop_unnamed(json, "accessors",
               [](Json& root, const auto& visit) { visit_accessor_references(root, visit); });
  drop_unnamed(json, "bufferViews",
               [](Json& root, const auto& visit) { visit_view_references(root, visit); });
  std::vector<std::byte> kept;
  visit_elements(json, "bufferViews", [&](Json& view) {
    const std::size_t offset = view.value("byteOffset", std::size_t{0});
    const std::size_t size = view["byteLength"].get<std::size_t>();
    kept.resize(padded_to_4(kept.size()));
    view["byteOffset"] = kept.size();
    const std::span<const std::byte> bytes = std::span(binary_).subspan(offset, size);
    kept.insert(kept.end(), bytes.begin(), bytes.end());
  });
  binary_ = std::move(kept);
}

void GltfBuilder::write(const std::filesystem::path& path) {
  set_only_buffer(json, binary_.size());
  std::string text = gltf_text(json);
  text.resize(padded_to_4(text.size()), ' ');
  binary_.resize(padded_to_4(binary_.size()));
  const std::uint64_t size = kGlbHeadSize + text.size() + kGlbBinaryHeadSize + binary_.size();
  if (size > kGlbSizeLimit)
    throw Error(fmt::format("{}: {} bytes, more than the 4 GiB a GLB can hold; write fewer meshes or clips",
                            path.string(), size));
  AtomicFile file(path);
  file.write(glb_head(text.size(), binary_.size()));
  file.write(text);
  if (!binary_.empty()) {
    file.write(glb_binary_head(binary_.size()));
    file.write(binary_);
  }
  file.commit();
}

}  // namespace sinew
