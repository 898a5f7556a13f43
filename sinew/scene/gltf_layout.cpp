#include <sinew/scene/gltf_layout.h>

#include <limits>
#include <map>

#include <fmt/format.h>

namespace sinew {

namespace {

/// Equal for primitives with the same accessors, in whatever order they list them.
std::string block_key(const GltfValue& primitive) {
  std::string key = nlohmann::json(primitive.member("attributes").json()).dump();
  if (const auto targets = primitive.find("targets")) key += nlohmann::json(targets->json()).dump();
  return key;
}

}  // namespace

GltfLayout gltf_layout(const GltfValue& mesh, const GltfAccessors& accessors) {
  GltfLayout layout;
  std::map<std::string, int> known;
  const GltfValue primitives = mesh.member("primitives");
  for (std::size_t p = 0; p < primitives.size(); ++p) {
    const GltfValue primitive = primitives.element(p);
    const auto mode_value = primitive.find("mode");
    const std::uint64_t mode = mode_value ? mode_value->natural() : kTriangles;
    if (mode > kTriangleFan) mode_value->fail(fmt::format("{} is no primitive mode (0 to 6)", mode));
    const auto position = primitive.member("attributes").find("POSITION");
    if (mode < kTriangles || !position) {
      layout.primitive_block.push_back(GltfLayout::kSkipped);
      continue;
    }
    const auto [entry, added] =
        known.try_emplace(block_key(primitive), static_cast<int>(layout.blocks.size()));
    if (added) {
      const std::size_t count = accessors.find(*position).count;
      layout.blocks.push_back({layout.vertex_count, count, p});
      if (count > std::numeric_limits<std::uint32_t>::max() - layout.vertex_count)
        mesh.fail(fmt::format("more than {} vertices", std::numeric_limits<std::uint32_t>::max()));
      layout.vertex_count += count;
    }
    layout.primitive_block.push_back(entry->second);
  }
  return layout;
}

}  // namespace sinew
