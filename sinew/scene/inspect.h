#pragma once

#include <string>
#include <vector>

#include <sinew/geometry/topology.h>
#include <sinew/scene/scene.h>

namespace sinew {

/// What one mesh of a scene holds. Counts of the surface are those after welding: what deformation works on.
struct MeshInspection {
  std::string name;
  std::size_t file_vertices = 0;
  std::size_t polygons = 0;
  TopologyReport topology;
  Eigen::AlignedBox3f bounds;  ///< metres, in mesh space
  double area = 0;             ///< m²
  double volume = 0;           ///< m³, meaningful when watertight
  std::string skin;            ///< name of its skin; empty when it has none
  bool skinned = false;
  std::size_t most_influences = 0;
  std::size_t unweighted_vertices = 0;
  std::vector<std::string> joints_outside;  ///< joints that move it but lie outside of it, at bind time
};

struct SceneInspection {
  std::vector<MeshInspection> meshes;
  /// What is wrong, one line each, most telling first; empty when nothing is.
  std::vector<std::string> problems;
};

/// Looks a scene over: what is in it and what is wrong with it. Reports, never throws for odd content.
SceneInspection inspect_scene(const Scene& scene);

}  // namespace sinew
