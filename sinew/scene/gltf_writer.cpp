#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/scene/gltf.h>
#include <sinew/scene/gltf_scene_builder.h>

namespace sinew {

namespace {

std::size_t count(const nlohmann::ordered_json& json, const char* array) {
  const auto found = json.find(array);
  return found == json.end() ? 0 : found->size();
}

}  // namespace

void write_glb(const Scene& scene, const std::filesystem::path& path) {
  check_scene(scene);
  try {
    GltfBuilder document = build_gltf(scene).document;
    // What was replaced, such as old weights, would otherwise stay in the file, and more with each writing.
    if (scene.document && count(document.json, "accessors") > count(scene.document->json, "accessors"))
      document.drop_unused();
    document.write(path);
  } catch (const nlohmann::ordered_json::exception& error) {
    // A part of the document that no reader looks at is not what glTF says.
    throw Error(fmt::format("{}: its glTF document is broken: {}", scene.source.string(), error.what()));
  }
}

}  // namespace sinew
