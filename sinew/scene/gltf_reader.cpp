#include <sinew/scene/gltf.h>

#include <cmath>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/scene/gltf_reading.h>
#include <sinew/scene/gltf_rig.h>

namespace sinew {

namespace {

Scene make_scene(std::shared_ptr<const GltfDocument> document, const std::string& name,
                 const std::filesystem::path& source) {
  Scene scene;
  scene.source = source;
  const GltfValue root(document->json, name);
  GltfReading reading{root, GltfAccessors(*document, root), scene, {}, {}, {}};
  read_gltf_nodes(reading);
  read_gltf_skins(reading);
  read_gltf_rig(reading);
  read_gltf_meshes(reading);
  read_gltf_animations(reading);
  scene.document = std::move(document);
  check_scene(scene);
  return scene;
}

}  // namespace

void decode_finite(const GltfReading& reading, const GltfAccessor& accessor, std::span<float> out,
                   const std::string& where, const char* noun) {
  reading.accessors.decode(accessor, out);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (!std::isfinite(out[i]))
      throw Error(fmt::format("{}: {} {} is not finite", where, noun, i / to_size(accessor.width)));
}

Scene read_gltf(const std::filesystem::path& path) {
  return make_scene(std::make_shared<const GltfDocument>(read_gltf_document(path)), path.string(), path);
}

Scene parse_gltf(std::span<const std::byte> bytes, const std::string& name) {
  return make_scene(std::make_shared<const GltfDocument>(parse_gltf_document(bytes, name, {})), name, name);
}

Scene scene_from_document(std::shared_ptr<const GltfDocument> document, const std::string& name) {
  return make_scene(std::move(document), name, name);
}

}  // namespace sinew
