#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include <sinew/scene/scene.h>

namespace sinew {

/// Reads an FBX (text or binary) or Collada file with the Assimp library, brought to metres and Y up;
/// Scene::original_space remembers what the file said. Polygons, UVs, normals, skins, morph targets and clips
/// are kept; materials, lights and cameras are not read. Vertices are the file's, in the order polygons first
/// use them. Curves between animation keys become straight lines. Assimp crashes on some damaged files, so it
/// works in a process of its own, after the file's structure was checked. Throws Error.
Scene read_assimp(const std::filesystem::path& path);

/// The same from memory. `name` is what errors call the file; `extension` is "fbx" or "dae".
Scene parse_assimp(std::span<const std::byte> bytes, const std::string& name, const std::string& extension);

}  // namespace sinew
