#include <sinew/scene/gltf_split.h>

#include <array>
#include <cmath>
#include <limits>
#include <map>

#include <sinew/scene/normal_slots.h>

namespace sinew {

SplitVertices split_vertices(const SceneMesh& mesh) {
  constexpr std::uint32_t kUnseen = std::numeric_limits<std::uint32_t>::max();
  const NormalSlots slots = normal_slots(mesh);
  const std::vector<std::uint32_t>& corners = mesh.surface.polygons.corners;
  const std::size_t count = mesh.surface.positions.size();
  const bool has_texcoords = !mesh.texcoords.empty();

  SplitVertices split;
  split.vertices.assign(slots.slot_vertex.begin(),
                        slots.slot_vertex.begin() + static_cast<std::ptrdiff_t>(count));
  split.slots.assign(count, kUnseen);
  if (has_texcoords) split.texcoords.assign(count, Vec2f::Zero());

  std::vector<std::uint32_t> corner_vertex(corners.size());
  std::map<std::array<std::uint32_t, 3>, std::uint32_t> doubles;  // (vertex, slot, UV) to glTF vertex
  for (std::size_t c = 0; c < corners.size(); ++c) {
    const std::uint32_t vertex = corners[c];
    const std::uint32_t slot = slots.corner_slot[c];
    const std::uint32_t uv = has_texcoords ? mesh.texcoords.corners[c] : 0;
    if (split.slots[vertex] == kUnseen) {
      split.slots[vertex] = slot;
      if (has_texcoords) split.texcoords[vertex] = mesh.texcoords.values[uv];
    }
    corner_vertex[c] = vertex;
    if (split.slots[vertex] == slot &&
        (!has_texcoords || split.texcoords[vertex] == mesh.texcoords.values[uv]))
      continue;
    const auto [entry, added] =
        doubles.try_emplace({vertex, slot, uv}, static_cast<std::uint32_t>(split.vertices.size()));
    if (added) {
      split.vertices.push_back(vertex);
      split.slots.push_back(slot);
      if (has_texcoords) split.texcoords.push_back(mesh.texcoords.values[uv]);
    }
    corner_vertex[c] = entry->second;
  }
  for (std::size_t v = 0; v < count; ++v)
    if (split.slots[v] == kUnseen) split.slots[v] = static_cast<std::uint32_t>(v);

  split.triangles.reserve(3 * mesh.surface.triangle_corners.size());
  for (const Triangle& places : mesh.surface.triangle_corners)
    for (std::uint32_t place : places) split.triangles.push_back(corner_vertex[place]);
  return split;
}

Vec3f unit_normal(const Vec3f& normal) {
  const double length = normal.cast<double>().norm();
  if (!(length > 0) || !std::isfinite(length)) return Vec3f::UnitY();
  if (std::abs(length - 1) < 1e-4) return normal;
  return (normal.cast<double>() / length).cast<float>();
}

}  // namespace sinew
