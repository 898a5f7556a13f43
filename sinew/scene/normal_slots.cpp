#include <sinew/scene/normal_slots.h>

#include <limits>
#include <map>

namespace sinew {

NormalSlots normal_slots(const SceneMesh& mesh) {
  const std::vector<std::uint32_t>& corners = mesh.surface.polygons.corners;
  NormalSlots slots;
  slots.slot_vertex.resize(mesh.surface.positions.size());
  for (std::size_t v = 0; v < slots.slot_vertex.size(); ++v)
    slots.slot_vertex[v] = static_cast<std::uint32_t>(v);
  slots.corner_slot = corners;
  slots.file_normal.assign(slots.slot_vertex.size(), Vec3f::Zero());
  if (mesh.normals.empty()) return slots;

  constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> first_normal(slots.slot_vertex.size(), kNone);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> further;  // (vertex, normal) to slot
  for (std::size_t c = 0; c < corners.size(); ++c) {
    const std::uint32_t vertex = corners[c];
    const std::uint32_t normal = mesh.normals.corners[c];
    if (first_normal[vertex] == kNone) {
      first_normal[vertex] = normal;
      slots.file_normal[vertex] = mesh.normals.values[normal];
    }
    // Exporters repeat equal normals under different numbers; only another direction makes another slot.
    if (first_normal[vertex] == normal ||
        mesh.normals.values[first_normal[vertex]] == mesh.normals.values[normal])
      continue;
    const auto [entry, added] =
        further.try_emplace({vertex, normal}, static_cast<std::uint32_t>(slots.slot_vertex.size()));
    if (added) {
      slots.slot_vertex.push_back(vertex);
      slots.file_normal.push_back(mesh.normals.values[normal]);
    }
    slots.corner_slot[c] = entry->second;
  }
  return slots;
}

}  // namespace sinew
