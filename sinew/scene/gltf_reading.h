#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <sinew/scene/gltf_accessors.h>
#include <sinew/scene/gltf_document.h>
#include <sinew/scene/gltf_json.h>
#include <sinew/scene/scene.h>

namespace sinew {

/// What the parts of the glTF reader share. Private to scene/.
struct GltfReading {
  GltfValue root;
  GltfAccessors accessors;
  Scene& scene;
  std::vector<int> node_joint;           ///< per node, its joint; set by read_gltf_nodes
  std::vector<int> node_mesh;            ///< per node, its mesh of the scene or -1; set by read_gltf_meshes
  std::vector<std::size_t> mesh_morphs;  ///< per mesh of the scene, its first place in Pose::morph_weights

  /// Adds a warning, prefixed with the file's name.
  void warn(const std::string& what) { scene.warnings.push_back(root.file() + ": " + what); }
};

/// Decodes and throws Error "WHERE: position 17 is not finite", for `noun` "position", when an element is
/// not.
void decode_finite(const GltfReading& reading, const GltfAccessor& accessor, std::span<float> out,
                   const std::string& where, const char* noun);

/// The parts of the reader, in the order they must run.
void read_gltf_nodes(GltfReading& reading);
void read_gltf_skins(GltfReading& reading);
void read_gltf_meshes(GltfReading& reading);
void read_gltf_animations(GltfReading& reading);

}  // namespace sinew
