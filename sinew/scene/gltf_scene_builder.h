#pragma once

#include <vector>

#include <sinew/scene/gltf_builder.h>
#include <sinew/scene/scene.h>

namespace sinew {

/// A scene as a glTF document, and where its meshes went. Private to scene/.
struct GltfScene {
  GltfBuilder document;
  std::vector<int>
      mesh_nodes;  ///< per mesh of the scene, its node; one without "mesh" when it has no vertices
  /// Per mesh: whether all its primitives have the vertices of split_vertices(). Else it has the primitives of
  /// the document's entry number document_entries[m], with the vertices in the order of gltf_layout().
  std::vector<char> is_split;
  std::vector<int> document_entries;
};

/// The scene's own document, changed where the scene differs from it, or a new one for a scene without. The
/// scene must pass check_scene.
GltfScene build_gltf(const Scene& scene);

}  // namespace sinew
