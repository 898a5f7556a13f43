// Bakes the built-in tube with every method of this build, as something to open and look at.
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>

#include <sinew/character/bake.h>
#include <sinew/core/error.h>
#include <sinew/models/models.h>
#include <sinew/scene/gltf.h>

#include "apps/cli/progress_bar.h"
#include "apps/cli/verbs.h"

namespace sinew::cli {

int run_demo(const DemoOptions& options) {
  std::error_code error;
  std::filesystem::create_directories(options.directory, error);
  if (error)
    throw Error(
        fmt::format("{}: cannot make the directory: {}", options.directory.string(), error.message()));
  const Scene scene = make_model("tube").scene;
  write_glb(scene, options.directory / "tube.glb");
  for (const LayerMethod& method : layer_methods()) {
    const auto character = Character::make(scene, recipe_for_method(method.name));
    for (const Clip& clip : scene.clips) {
      FrameWriterOptions format;
      format.frame_count = frame_count(clip, format.frames_per_second);
      format.clip_name = clip.name;
      BakeOptions frames;
      frames.last_frame = format.frame_count - 1;
      frames.set_pose = [&](int frame, Pose& pose) {
        sample_clip(clip, frame / format.frames_per_second, pose);
      };
      const std::string stem = fmt::format("tube_{}_{}", clip.name, method.name);
      const auto bake_to = [&](const std::string& name) {
        const auto writer = make_frame_writer(scene, options.directory / name, format);
        bake(character, frames, *writer, progress_bar(name));
      };
      bake_to(stem + ".glb");
      bake_to(stem + ".pc2");
    }
  }
  fmt::print(
      "wrote {}: tube.glb is the rigged character; tube_CLIP_METHOD.glb play in any glTF viewer,\n"
      "tube_CLIP_METHOD.pc2 hold the same frames as point caches\n",
      options.directory.string());
  return 0;
}

}  // namespace sinew::cli
