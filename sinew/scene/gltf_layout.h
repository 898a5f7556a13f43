#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <sinew/scene/gltf_accessors.h>
#include <sinew/scene/gltf_json.h>

namespace sinew {

/// "mode" of a primitive; smaller ones are points and lines.
enum GltfMode : std::uint64_t { kTriangles = 4, kTriangleStrip = 5, kTriangleFan = 6 };

/// Vertices that one or more primitives share: same accessors for all attributes and all morph targets.
struct GltfVertexBlock {
  std::size_t first_vertex = 0;  ///< in the scene's mesh
  std::size_t count = 0;
  std::size_t primitive = 0;  ///< the first primitive that uses it, whose attributes describe it
};

/// How a mesh of the file becomes a mesh of the scene: vertex blocks one after the other, in the order of the
/// primitives that first use them. Private to scene/.
struct GltfLayout {
  static constexpr int kSkipped = -1;

  std::vector<GltfVertexBlock> blocks;
  std::vector<int> primitive_block;  ///< per primitive; kSkipped for points and lines
  std::size_t vertex_count = 0;
};

/// `mesh` is an entry of "meshes". Throws Error.
GltfLayout gltf_layout(const GltfValue& mesh, const GltfAccessors& accessors);

}  // namespace sinew
