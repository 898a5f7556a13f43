#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/scene/gltf.h>
#include <sinew/scene/gltf_scene_builder.h>

namespace sinew {

void write_glb(const Scene& scene, const std::filesystem::path& path) {
  check_scene(scene);
  try {
    build_gltf(scene).document.write(path);
  } catch (const nlohmann::ordered_json::exception& error) {
    // A part of the document that no reader looks at is not what glTF says.
    throw Error(fmt::format("{}: its glTF document is broken: {}", scene.source.string(), error.what()));
  }
}

}  // namespace sinew
