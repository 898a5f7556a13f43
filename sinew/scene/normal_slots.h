#pragma once

#include <cstdint>
#include <vector>

#include <sinew/scene/scene.h>

namespace sinew {

/// Which normals a mesh shows. Files split normals at hard edges, glTF by doubling the vertex, OBJ by naming
/// another normal at the corner. A slot is one (vertex, file normal) pair, so it holds one output normal. The
/// first slots are the vertices themselves, in order; a vertex that shows more than one normal has further
/// slots behind them, in the order of the corners that first use them.
struct NormalSlots {
  std::vector<std::uint32_t> slot_vertex;  ///< per slot; slot_vertex[v] == v for every vertex v
  std::vector<std::uint32_t> corner_slot;  ///< per entry of Mesh::polygons.corners
  std::vector<Vec3f> file_normal;          ///< per slot; zero where the file gives none
};

NormalSlots normal_slots(const SceneMesh& mesh);

}  // namespace sinew
