#include <tests/support/gltf_builder.h>

#include <cstring>
#include <type_traits>

#include <sinew/core/index.h>

namespace sinew::test {

using Json = nlohmann::ordered_json;

namespace {

template <class T>
constexpr int component_type() {
  if (std::is_same_v<T, std::int8_t>) return 5120;
  if (std::is_same_v<T, std::uint8_t>) return 5121;
  if (std::is_same_v<T, std::int16_t>) return 5122;
  if (std::is_same_v<T, std::uint16_t>) return 5123;
  if (std::is_same_v<T, std::uint32_t>) return 5125;
  return 5126;
}

std::size_t type_width(const std::string& type) {
  if (type == "SCALAR") return 1;
  const std::size_t n = to_size(type[3] - '0');
  return type[0] == 'M' ? n * n : n;
}

void put_word(std::vector<std::byte>& out, std::size_t word) {
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<std::byte>(word >> (8 * i) & 0xFF));
}

}  // namespace

GltfFile::GltfFile() {
  json["asset"] = {{"version", "2.0"}};
}

int GltfFile::add_view(std::span<const std::byte> bytes, int stride) {
  binary.resize((binary.size() + 3) / 4 * 4);
  Json view = {{"buffer", 0}, {"byteOffset", binary.size()}, {"byteLength", bytes.size()}};
  if (stride > 0) view["byteStride"] = stride;
  binary.insert(binary.end(), bytes.begin(), bytes.end());
  json["bufferViews"].push_back(view);
  return static_cast<int>(json["bufferViews"].size()) - 1;
}

int GltfFile::add_accessor(int view, std::size_t count, const char* type, int component, std::size_t offset) {
  Json accessor = {{"bufferView", view}, {"componentType", component}, {"count", count}, {"type", type}};
  if (offset > 0) accessor["byteOffset"] = offset;
  json["accessors"].push_back(accessor);
  return static_cast<int>(json["accessors"].size()) - 1;
}

template <class T>
int GltfFile::add(const std::vector<T>& values, const char* type, bool normalized) {
  const int view = add_view(std::as_bytes(std::span(values)));
  const int accessor = add_accessor(view, values.size() / type_width(type), type, component_type<T>());
  if (normalized) json["accessors"][to_size(accessor)]["normalized"] = true;
  return accessor;
}

template <class T>
void GltfFile::poke(int accessor, std::size_t place, T value) {
  const std::size_t view = json["accessors"][to_size(accessor)]["bufferView"];
  const std::size_t offset = json["bufferViews"][view]["byteOffset"];
  std::memcpy(binary.data() + offset + place * sizeof(T), &value, sizeof(T));
}

template int GltfFile::add(const std::vector<std::int8_t>&, const char*, bool);
template int GltfFile::add(const std::vector<std::uint8_t>&, const char*, bool);
template int GltfFile::add(const std::vector<std::int16_t>&, const char*, bool);
template int GltfFile::add(const std::vector<std::uint16_t>&, const char*, bool);
template int GltfFile::add(const std::vector<std::uint32_t>&, const char*, bool);
template int GltfFile::add(const std::vector<float>&, const char*, bool);
template void GltfFile::poke(int, std::size_t, std::uint8_t);
template void GltfFile::poke(int, std::size_t, std::uint16_t);
template void GltfFile::poke(int, std::size_t, float);

Json GltfFile::with_buffer() const {
  Json whole = json;
  if (!binary.empty() && !whole.contains("buffers")) whole["buffers"] = {{{"byteLength", binary.size()}}};
  return whole;
}

std::vector<std::byte> GltfFile::glb() const {
  return make_glb(with_buffer().dump(), binary);
}

std::string GltfFile::gltf() const {
  return gltf_with_buffer("data:application/octet-stream;base64," + base64(binary));
}

std::string GltfFile::gltf_with_buffer(const std::string& uri) const {
  Json whole = with_buffer();
  if (whole.contains("buffers")) whole["buffers"][0]["uri"] = uri;
  return whole.dump();
}

std::string base64(std::span<const std::byte> bytes) {
  constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t n = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 3; ++k)
      word = word << 8 | (k < n ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0);
    for (std::size_t k = 0; k < 4; ++k) text += k <= n ? digits[word >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

std::vector<std::byte> to_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> make_glb(std::string_view json, std::span<const std::byte> binary) {
  const std::size_t json_size = (json.size() + 3) / 4 * 4;
  const std::size_t binary_size = (binary.size() + 3) / 4 * 4;
  std::vector<std::byte> out;
  put_word(out, 0x46546C67);
  put_word(out, 2);
  put_word(out, 20 + json_size + (binary.empty() ? 0 : 8 + binary_size));
  put_word(out, json_size);
  put_word(out, 0x4E4F534A);
  for (char c : json) out.push_back(static_cast<std::byte>(c));
  out.resize(20 + json_size, std::byte{' '});
  if (!binary.empty()) {
    put_word(out, binary_size);
    put_word(out, 0x004E4942);
    out.insert(out.end(), binary.begin(), binary.end());
    out.resize(28 + json_size + binary_size);
  }
  return out;
}

GltfFile triangle_file() {
  GltfFile file;
  const int positions = file.add<float>({0, 0, 0, 1, 0, 0, 0, 1, 0}, "VEC3");
  const int indices = file.add<std::uint16_t>({0, 1, 2}, "SCALAR");
  file.json["meshes"] = {
      {{"name", "triangle"},
       {"primitives", {{{"attributes", {{"POSITION", positions}}}, {"indices", indices}}}}}};
  file.json["nodes"] = {{{"name", "shape"}, {"mesh", 0}}};
  file.json["scenes"] = {{{"nodes", {0}}}};
  file.json["scene"] = 0;
  return file;
}

GltfFile arm_file() {
  GltfFile file;
  file.add<float>({0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0}, "VEC3");
  file.add<float>({0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1}, "VEC3");
  file.add<float>({0, 1, 1, 1, 0, 0, 1, 0}, "VEC2");
  file.add<float>({0.5f, 1, 1.5f, 2}, "SCALAR");
  file.add<std::uint8_t>({0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}, "VEC4");
  file.add<float>({1, 0, 0, 0, 0.75f, 0.25f, 0, 0, 0.75f, 0.25f, 0, 0, 1, 0, 0, 0}, "VEC4");
  file.add<std::uint16_t>({0, 1, 2, 2, 1, 3}, "SCALAR");
  file.add<float>({0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0, 4}, "VEC3");
  // The second joint stands at (0, 1, 0): its matrix takes that to the origin.
  file.add<float>(
      {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, -1, 0, 1},
      "MAT4");
  file.add<float>({0, 1}, "SCALAR");
  file.add<float>({0, 0, 0, 1, 0, 0, 1, 0}, "VEC4");
  file.add<float>({0, 0, 0, 1, 2, 3}, "VEC3");
  file.add<float>({0, 1}, "SCALAR");
  file.json["meshes"] =
      Json::parse(R"([{"name": "body", "weights": [0.25], "extras": {"targetNames": ["smile"]},
    "primitives": [{"attributes": {"POSITION": 0, "NORMAL": 1, "TEXCOORD_0": 2, "_SIGMA": 3, "JOINTS_0": 4,
                                   "WEIGHTS_0": 5}, "indices": 6, "targets": [{"POSITION": 7}]}]}])");
  file.json["nodes"] =
      Json::parse(R"([{"name": "root", "children": [1, 2]}, {"name": "upper", "children": [3]},
    {"name": "body", "mesh": 0, "skin": 0}, {"name": "lower", "translation": [0, 1, 0]}])");
  file.json["skins"] = Json::parse(R"([{"name": "arm", "joints": [1, 3], "inverseBindMatrices": 8}])");
  file.json["animations"] = Json::parse(R"([{"name": "bend",
    "samplers": [{"input": 9, "output": 10}, {"input": 9, "output": 11, "interpolation": "STEP"},
                 {"input": 9, "output": 12}],
    "channels": [{"sampler": 0, "target": {"node": 3, "path": "rotation"}},
                 {"sampler": 1, "target": {"node": 0, "path": "translation"}},
                 {"sampler": 2, "target": {"node": 2, "path": "weights"}}]}])");
  file.json["scenes"] = Json::parse(R"([{"nodes": [0]}])");
  file.json["scene"] = 0;
  return file;
}

}  // namespace sinew::test
