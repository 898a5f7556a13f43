#pragma once

#include <span>
#include <string>
#include <vector>

#include <sinew/geometry/weld.h>
#include <sinew/scene/merge_rig.h>
#include <sinew/scene/scene.h>

namespace sinew {

/// Some meshes of a scene as one welded surface, so that eyes and clothes see the body they sit on. Vertices
/// of one mesh at the same position are one, or only where they also move alike; meshes stay apart.
enum class WeldBy {
  position,           ///< for surfaces that get new weights
  position_and_skin,  ///< for those whose weights count: closed lips stay apart (scene/weld_keys.h)
};
struct JoinedSurface {
  struct Part {
    std::size_t mesh = 0;  ///< of the scene
    std::size_t first_vertex = 0;
    Weld weld;  ///< file vertex to welded vertex, counted from first_vertex
  };
  std::vector<Vec3f> positions;  ///< scene space
  /// Corners in the order of the file, turned round where the mesh's place in the scene mirrors it.
  std::vector<Triangle> triangles;
  std::vector<Part> parts;

  MeshView view() const { return {positions, triangles}; }
};

/// `scene_from_mesh` has one entry per mesh of the scene. Throws Error when there are more than 2³² - 1
/// vertices or one lands where no float reaches.
JoinedSurface join_surfaces(const Scene& scene, std::span<const std::size_t> meshes,
                            std::span<const Affine3d> scene_from_mesh, WeldBy weld_by);

/// The meshes with vertices whose name fits one of the patterns (core/pattern.h); all when there are no
/// patterns. Throws Error when a pattern fits no mesh, or nothing is left.
std::vector<std::size_t> choose_meshes(const Scene& scene, std::span<const std::string> patterns);

/// Rows of welded vertices for each vertex of a part's mesh in the file, with joints renumbered:
/// `number_of_joint` has an entry for every joint that has weights.
SkinWeights file_weights(const JoinedSurface::Part& part, const SkinWeights& welded,
                         std::span<const int> number_of_joint);

/// The scene of `mesh` with the rig's skeleton (merge_rig) and these weights: rows of welded vertices, with
/// joints of the rig. New skins list `joints` of the rig, which hold all that have weights. Throws Error when
/// a joint with weights is scaled to nothing.
MergedRig bind_joined(const Scene& mesh, const Scene& rig, const JoinedSurface& surface,
                      std::span<const Affine3d> scene_from_mesh, std::span<const Affine3d> world_from_joint,
                      std::span<const int> joints, const SkinWeights& weights);

/// The joints of all skins of a scene, in the order of their first mention.
std::vector<int> joints_of_skins(const Scene& scene);

/// "a, b, c and 12 more"
std::string list_names(std::span<const std::string> names);

}  // namespace sinew
