#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace sinew {

/// A glTF file as it is: its JSON, untouched and in order, and its buffers' bytes. Kept beside the scene made
/// from it, so that a writer can pass on all that Sinew does not know. Private to scene/: the JSON library
/// stays out of the public headers.
struct GltfDocument {
  nlohmann::ordered_json json;
  std::vector<std::vector<std::byte>>
      buffers;                      ///< one per entry of json["buffers"], at least byteLength long
  std::filesystem::path directory;  ///< where relative URIs are looked up
};

/// Reads .glb or .gltf (told apart by content) with its embedded and external buffers. Checked here:
/// container sizes, nesting depth, UTF-8, asset version, required extensions, buffer lengths. Throws Error.
GltfDocument read_gltf_document(const std::filesystem::path& path);

/// The same from memory. `name` is what errors call the file. External URIs are refused when `directory` is
/// empty.
GltfDocument parse_gltf_document(std::span<const std::byte> bytes, const std::string& name,
                                 const std::filesystem::path& directory);

}  // namespace sinew
