#include <sinew/scene/weld_keys.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace sinew {

namespace {

std::uint64_t mix(std::uint64_t hash, std::uint32_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

std::uint32_t bits(float value) {
  value += 0.0f;  // -0 and 0 are one weight
  std::uint32_t word;
  std::memcpy(&word, &value, sizeof word);
  return word;
}

std::uint64_t hash_vertex(const SceneMesh& mesh, std::size_t v) {
  std::uint64_t hash = 0;
  if (mesh.skin >= 0)
    for (std::size_t i = mesh.weights.starts[v]; i < mesh.weights.starts[v + 1]; ++i)
      hash = mix(mix(hash, mesh.weights.joints[i]), bits(mesh.weights.values[i]));
  for (const MorphTarget& target : mesh.morph_targets)
    for (int c = 0; c < 3; ++c) hash = mix(hash, bits(target.displacements[v][c]));
  return hash;
}

bool move_alike(const SceneMesh& mesh, std::size_t a, std::size_t b) {
  if (mesh.skin >= 0) {
    const auto joints_a = mesh.weights.row_joints(a), joints_b = mesh.weights.row_joints(b);
    const auto values_a = mesh.weights.row_values(a), values_b = mesh.weights.row_values(b);
    if (!std::equal(joints_a.begin(), joints_a.end(), joints_b.begin(), joints_b.end()) ||
        !std::equal(values_a.begin(), values_a.end(), values_b.begin(), values_b.end()))
      return false;
  }
  return std::all_of(mesh.morph_targets.begin(), mesh.morph_targets.end(), [&](const MorphTarget& target) {
    return target.displacements[a] == target.displacements[b];
  });
}

}  // namespace

std::vector<std::uint32_t> weld_keys(const SceneMesh& mesh) {
  const std::size_t count = mesh.surface.positions.size();
  std::vector<std::uint32_t> keys(count, 0);
  if (mesh.skin < 0 && mesh.morph_targets.empty()) return keys;
  // Vertices of one hash are almost always alike; the list is for the rest.
  std::unordered_multimap<std::uint64_t, std::uint32_t> first_of_class;
  for (std::size_t v = 0; v < count; ++v) {
    const std::uint64_t hash = hash_vertex(mesh, v);
    const auto [begin, end] = first_of_class.equal_range(hash);
    const auto same =
        std::find_if(begin, end, [&](const auto& entry) { return move_alike(mesh, entry.second, v); });
    if (same != end) {
      keys[v] = same->second;
    } else {
      keys[v] = static_cast<std::uint32_t>(v);
      first_of_class.emplace(hash, keys[v]);
    }
  }
  return keys;
}

}  // namespace sinew
