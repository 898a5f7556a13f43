#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include <sinew/scene/scene.h>

namespace sinew {

/// Reads a .glb or .gltf file. Throws Error naming file and element.
Scene read_gltf(const std::filesystem::path& path);

/// The same from memory; buffers and images must be embedded. `name` is what errors call the file.
Scene parse_gltf(std::span<const std::byte> bytes, const std::string& name);

/// Makes the scene from a document (used by the writer to learn what a scene changed since it was read).
Scene scene_from_document(std::shared_ptr<const GltfDocument> document, const std::string& name);

/// Writes skeleton, skins, weights, clips and meshes as GLB. A scene that came from glTF is written as its
/// own document, patched only where the scene differs from it; everything else comes through unchanged.
/// External buffers and images are embedded. Throws Error; the file appears whole or not at all.
void write_glb(const Scene& scene, const std::filesystem::path& path);

}  // namespace sinew
