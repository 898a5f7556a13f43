#pragma once

#include <cstdint>
#include <vector>

#include <sinew/scene/scene.h>

namespace sinew {

/// The vertices of a mesh as glTF must see them: where corners of one vertex show different normals or UVs,
/// the vertex is doubled. Private to scene/.
struct SplitVertices {
  /// Per glTF vertex, the mesh's vertex it stands for. The mesh's own vertices come first, in order; doubles
  /// follow in the order of the corners that first need them.
  std::vector<std::uint32_t> vertices;
  std::vector<std::uint32_t> slots;      ///< per glTF vertex, its slot of normal_slots()
  std::vector<Vec2f> texcoords;          ///< per glTF vertex; empty when the mesh has no UVs
  std::vector<std::uint32_t> triangles;  ///< three glTF vertices each
};

SplitVertices split_vertices(const SceneMesh& mesh);

/// The normal itself when it has unit length, else scaled to it; +Y when it has no direction. Viewers and the
/// validator want unit normals everywhere, also where a vertex belongs to no triangle.
Vec3f unit_normal(const Vec3f& normal);

}  // namespace sinew
