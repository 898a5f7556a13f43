#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include <sinew/core/math.h>
#include <sinew/scene/scene.h>

namespace sinew {

/// One mesh of one frame, in scene space.
struct MeshFrame {
  std::span<const Vec3f> positions;  ///< per vertex, file order
  std::span<const Vec3f> normals;    ///< per slot of normal_slots(mesh); may be empty
  /// Scene from mesh space. Identity for skinned meshes (glTF ignores their node's transform); for others the
  /// node's transform at this frame, which point caches take out again.
  Affine3d scene_from_mesh = Affine3d::Identity();
};

struct FrameWriterOptions {
  int frame_count = 1;
  int first_frame = 0;  ///< number of the first frame, for file names and caches' start
  double frames_per_second = 30;
  char up_axis = 'y';              ///< 'y' or 'z'; point caches only
  std::string clip_name = "bake";  ///< name of the animation in GLB
};

/// Receives baked frames one at a time and keeps none of them in memory. Files appear at finish(), all of
/// them, or, when it is not reached, none.
class FrameWriter {
 public:
  virtual ~FrameWriter() = default;
  /// Whether frames need normals; a bake to a point cache can spare their cost.
  virtual bool wants_normals() const { return true; }
  /// Frames come in order; meshes in scene order.
  virtual void write_frame(std::span<const MeshFrame> meshes) = 0;
  virtual void finish() = 0;
  /// The files that finish() makes (or has made).
  virtual std::vector<std::filesystem::path> outputs() const = 0;
};

/// A writer by extension: .pc2 and .mdd (one file per mesh: OUT.pc2 for a single mesh, OUT_NAME.pc2 for
/// several), .glb (frames as morph targets), .obj (OUT.obj for a single frame, OUT_0000.obj … for several).
/// Throws Error for other extensions, an empty scene, or an output that would pass the format's limits.
std::unique_ptr<FrameWriter> make_frame_writer(const Scene& scene, const std::filesystem::path& path,
                                               const FrameWriterOptions& options);

/// One writer each; make_frame_writer picks.
std::unique_ptr<FrameWriter> make_point_cache_writer(const Scene& scene, const std::filesystem::path& path,
                                                     const FrameWriterOptions& options);
std::unique_ptr<FrameWriter> make_glb_frame_writer(const Scene& scene, const std::filesystem::path& path,
                                                   const FrameWriterOptions& options);
std::unique_ptr<FrameWriter> make_obj_frame_writer(const Scene& scene, const std::filesystem::path& path,
                                                   const FrameWriterOptions& options);

}  // namespace sinew
