#include <sinew/scene/frame_writer.h>

#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/file.h>

namespace sinew {

std::unique_ptr<FrameWriter> make_frame_writer(const Scene& scene, const std::filesystem::path& path,
                                               const FrameWriterOptions& options) {
  const std::string extension = lower_case_extension(path);
  const bool known = extension == ".pc2" || extension == ".mdd" || extension == ".glb" || extension == ".obj";
  if (!known)
    throw Error(fmt::format("{}: unknown kind of file '{}'; frames are written as .pc2 .mdd .glb .obj",
                            path.string(), extension));
  if (scene.meshes.empty())
    throw Error(fmt::format("{}: nothing to write, the scene has no meshes", path.string()));
  if (options.frame_count < 1)
    throw Error(
        fmt::format("{}: {} frames to write; at least 1 is needed", path.string(), options.frame_count));
  if (!(options.frames_per_second > 0) || !std::isfinite(options.frames_per_second))
    throw Error(fmt::format("{}: {} frames per second; the rate must be above 0", path.string(),
                            options.frames_per_second));
  if (options.up_axis != 'y' && options.up_axis != 'z')
    throw Error(fmt::format("{}: up axis '{}'; 'y' or 'z' is needed", path.string(), options.up_axis));

  if (extension == ".glb") return make_glb_frame_writer(scene, path, options);
  if (extension == ".obj") return make_obj_frame_writer(scene, path, options);
  return make_point_cache_writer(scene, path, options);
}

}  // namespace sinew
