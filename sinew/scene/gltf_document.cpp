#include <sinew/scene/gltf_document.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/core/index.h>
#include <sinew/core/nesting.h>
#include <sinew/scene/gltf_json.h>
#include <sinew/scene/gltf_uri.h>

namespace sinew {

namespace fs = std::filesystem;

namespace {

static_assert(std::endian::native == std::endian::little, "glTF data is read as it lies in memory");

constexpr std::uint32_t kMagic = 0x46546C67;      // "glTF"
constexpr std::uint32_t kJsonChunk = 0x4E4F534A;  // "JSON"
constexpr std::uint32_t kBinaryChunk = 0x004E4942;
constexpr std::size_t kHeaderSize = 12;
constexpr std::size_t kChunkHeaderSize = 8;
constexpr std::uint64_t kMaxExternalBytes = std::uint64_t{8} << 30;
constexpr const char* kVersion1 = "glTF 1.0 is not supported; convert the file to glTF 2.0";

// Extensions that may be required because they cannot change geometry, skinning or animation.
// KHR_mesh_quantization can, and the reader knows it.
constexpr std::array<std::string_view, 19> kHarmlessExtensions = {"KHR_mesh_quantization",
                                                                  "KHR_texture_transform",
                                                                  "KHR_texture_basisu",
                                                                  "KHR_lights_punctual",
                                                                  "KHR_xmp",
                                                                  "KHR_xmp_json_ld",
                                                                  "KHR_audio_emitter",
                                                                  "KHR_techniques_webgl",
                                                                  "EXT_texture_webp",
                                                                  "EXT_texture_avif",
                                                                  "EXT_lights_ies",
                                                                  "EXT_lights_image_based",
                                                                  "EXT_structural_metadata",
                                                                  "EXT_mesh_features",
                                                                  "EXT_instance_features",
                                                                  "MSFT_texture_dds",
                                                                  "MSFT_packing_normalRoughnessMetallic",
                                                                  "MSFT_packing_occlusionRoughnessMetallic",
                                                                  "AGI_stk_metadata"};

constexpr std::array<std::string_view, 4> kHarmlessPrefixes = {"KHR_materials_", "EXT_materials_",
                                                               "ADOBE_materials_", "VRMC_materials_"};

std::uint32_t read_u32(std::span<const std::byte> bytes, std::size_t offset) {
  std::uint32_t value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// Where a file's two parts lie in its bytes.
struct Parts {
  std::string_view json;
  std::size_t binary_offset = 0;
  std::size_t binary_size = 0;
  bool has_binary = false;
};

Parts split_glb(std::span<const std::byte> bytes, const std::string& name) {
  if (bytes.size() < kHeaderSize)
    throw Error(fmt::format("{}: the file is cut short: {} bytes, a GLB header has {}", name, bytes.size(),
                            kHeaderSize));
  const std::uint32_t version = read_u32(bytes, 4);
  if (version == 1) throw Error(fmt::format("{}: {}", name, kVersion1));
  if (version != 2) throw Error(fmt::format("{}: GLB version {} is not supported, only 2", name, version));
  const std::size_t length = read_u32(bytes, 8);
  if (length > bytes.size())
    throw Error(fmt::format("{}: the file is cut short: {} of {} bytes", name, bytes.size(), length));

  Parts parts;
  bool has_json = false;
  std::size_t offset = kHeaderSize;
  for (int chunk = 0; offset < length; ++chunk) {
    if (length - offset < kChunkHeaderSize)
      throw Error(fmt::format("{}: chunk {}: the file ends within the chunk's header", name, chunk));
    const std::size_t chunk_size = read_u32(bytes, offset);
    const std::uint32_t type = read_u32(bytes, offset + 4);
    offset += kChunkHeaderSize;
    if (chunk_size > length - offset)
      throw Error(fmt::format("{}: chunk {}: {} bytes long, but only {} are left in the file", name, chunk,
                              chunk_size, length - offset));
    if (chunk == 0) {
      if (type != kJsonChunk) throw Error(fmt::format("{}: chunk 0 is not JSON", name));
      has_json = true;
      parts.json = as_text(bytes.subspan(offset, chunk_size));
    } else if (chunk == 1 && type == kBinaryChunk) {
      parts.binary_offset = offset;
      parts.binary_size = chunk_size;
      parts.has_binary = true;
    }
    offset += chunk_size;
  }
  if (!has_json) throw Error(fmt::format("{}: the file has no JSON chunk", name));
  // Padding is spaces by the standard, zeros in practice.
  while (!parts.json.empty() && parts.json.back() == '\0') parts.json.remove_suffix(1);
  return parts;
}

Parts split(std::span<const std::byte> bytes, const std::string& name) {
  if (bytes.empty()) throw Error(fmt::format("{}: the file is empty", name));
  if (bytes.size() >= 4 && read_u32(bytes, 0) == kMagic) return split_glb(bytes, name);
  std::string_view text = as_text(bytes);
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{')
    throw Error(fmt::format("{}: not a glTF file: it starts with '{}', neither 'glTF' nor JSON", name,
                            printable(as_text(bytes).substr(0, 4))));
  return {.json = text};
}

nlohmann::ordered_json parse_json(std::string_view text, const std::string& name) {
  check_json_nesting(text, name);
  // The parser takes a zero for the end and would drop what stands behind it.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos)
    throw Error(fmt::format("{}: not valid JSON: a zero at byte {}", name, zero));
  try {
    return nlohmann::ordered_json::parse(text.begin(), text.end());
  } catch (const nlohmann::json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    std::string_view what = error.what();
    if (const std::size_t bracket = what.find("] "); bracket != std::string_view::npos)
      what.remove_prefix(bracket + 2);
    std::string shown;
    for (; !what.empty(); what.remove_prefix(std::min<std::size_t>(what.size(), 40)))
      shown += printable(what.substr(0, 40));
    throw Error(fmt::format("{}: not valid JSON: {}", name, shown));
  }
}

/// Major and minor number of "2.0".
std::pair<int, int> version_numbers(const GltfValue& value) {
  const std::string& text = value.text();
  const std::size_t dot = text.find('.');
  const auto is_number = [](std::string_view digits) {
    return !digits.empty() && digits.size() <= 4 &&
           digits.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (dot == std::string::npos || !is_number(text.substr(0, dot)) || !is_number(text.substr(dot + 1)))
    value.fail(fmt::format("'{}' is not a version such as 2.0", printable(text)));
  return {std::stoi(text.substr(0, dot)), std::stoi(text.substr(dot + 1))};
}

void check_version(const GltfValue& root) {
  const auto asset = root.find("asset");
  if (!asset) root.fail("not a glTF file: its JSON has no 'asset'");
  const GltfValue version = asset->member("version");
  const int major = version_numbers(version).first;
  if (major == 1) root.fail(kVersion1);
  if (major != 2) version.fail(fmt::format("glTF {} is not supported, only 2.0", version.text()));
  if (const auto minimum = asset->find("minVersion"); minimum && version_numbers(*minimum) > std::pair(2, 0))
    minimum->fail(fmt::format("the file needs glTF {}, only 2.0 is supported", minimum->text()));
}

bool is_supported(std::string_view extension) {
  const auto starts_with = [&](std::string_view prefix) {
    return extension.substr(0, prefix.size()) == prefix;
  };
  return std::find(kHarmlessExtensions.begin(), kHarmlessExtensions.end(), extension) !=
             kHarmlessExtensions.end() ||
         std::any_of(kHarmlessPrefixes.begin(), kHarmlessPrefixes.end(), starts_with);
}

void check_extensions(const GltfValue& root) {
  for (const GltfValue& extension : root.elements("extensionsRequired"))
    if (!is_supported(extension.text()))
      root.fail(fmt::format("the file requires the extension {}, which is not supported; export without it",
                            printable(extension.text())));
}

void load_buffers(GltfDocument& document, const GltfValue& root, std::vector<std::byte> binary,
                  bool has_binary) {
  std::uint64_t external_left = kMaxExternalBytes;
  const std::vector<GltfValue> buffers = root.elements("buffers");
  document.buffers.resize(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const GltfValue& buffer = buffers[i];
    std::vector<std::byte>& bytes = document.buffers[i];
    const std::uint64_t length = buffer.member("byteLength").natural();
    const auto uri = buffer.find("uri");
    if (!uri) {
      if (i != 0 || !has_binary) buffer.fail("no uri, and no binary chunk that holds the data");
      bytes = std::move(binary);
    } else if (is_data_uri(uri->text())) {
      bytes = decode_data_uri(uri->text(), uri->where());
    } else {
      const fs::path path = resolve_uri(uri->text(), document.directory, uri->where());
      bytes = read_file(path, external_left);
      external_left -= bytes.size();
    }
    if (bytes.size() < length)
      buffer.fail(fmt::format("byteLength is {}, but the data has {} bytes", length, bytes.size()));
    bytes.resize(to_size(length));  // a GLB's chunk may be padded
  }
}

/// All of them, also those the reader has no use for: a writer moves them to another buffer.
void check_buffer_views(const GltfDocument& document, const GltfValue& root) {
  for (const GltfValue& view : root.elements("bufferViews")) {
    const std::uint64_t size =
        document.buffers[view.member("buffer").index(document.buffers.size(), "buffer")].size();
    const auto offset_value = view.find("byteOffset");
    const std::uint64_t offset = offset_value ? offset_value->natural() : 0;
    const std::uint64_t length = view.member("byteLength").natural();
    if (offset > size || length > size - offset)
      view.fail(
          fmt::format("bytes {} to {} lie outside of the buffer ({} bytes)", offset, offset + length, size));
    if (const auto stride = view.find("byteStride")) stride->natural();
  }
}

/// Images are not read, but a document from memory cannot have any elsewhere.
void check_images(const GltfValue& root, const fs::path& directory) {
  for (const GltfValue& image : root.elements("images"))
    if (const auto uri = image.find("uri"); uri && !is_data_uri(uri->text()) && directory.empty())
      resolve_uri(uri->text(), directory, uri->where());
}

void check_head(const GltfValue& root) {
  if (!root.json().is_object()) root.fail("not a glTF file: its JSON is not an object");
  check_version(root);
  check_extensions(root);
}

}  // namespace

GltfDocument read_gltf_document(const fs::path& path) {
  const std::string name = path.string();
  GltfDocument document;
  document.directory = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::vector<std::byte> bytes = read_file(path);
  const Parts parts = split(bytes, name);
  document.json = parse_json(parts.json, name);
  // The file's own memory becomes the buffer, so that a large file is in memory once.
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(parts.binary_offset));
  bytes.resize(parts.binary_size);
  if (!parts.has_binary) bytes.shrink_to_fit();
  const GltfValue root(document.json, name);
  check_head(root);
  load_buffers(document, root, std::move(bytes), parts.has_binary);
  check_buffer_views(document, root);
  return document;
}

GltfDocument parse_gltf_document(std::span<const std::byte> bytes, const std::string& name,
                                 const fs::path& directory) {
  GltfDocument document;
  document.directory = directory;
  const Parts parts = split(bytes, name);
  document.json = parse_json(parts.json, name);
  const GltfValue root(document.json, name);
  check_head(root);
  check_images(root, directory);
  const auto binary = bytes.subspan(parts.binary_offset, parts.binary_size);
  load_buffers(document, root, {binary.begin(), binary.end()}, parts.has_binary);
  check_buffer_views(document, root);
  return document;
}

}  // namespace sinew
