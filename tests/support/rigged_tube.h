#pragma once

#include <string>
#include <vector>

#include <sinew/core/math.h>
#include <sinew/geometry/mesh.h>
#include <sinew/scene/scene.h>

namespace sinew::test {

/// A tube along +y, 2 m high, bound to the joints "Lower" (at the origin) and "Upper" (1 m up), and its
/// bending: "Upper" turns about z by 0°, 45° and 90° at 0, 1 and 2 seconds. What exchange files made from it
/// must give back.
struct RiggedTube {
  Mesh mesh;
  std::vector<float> upper_weights;  ///< per vertex; the rest belongs to "Lower"

  /// The tube bent by `angle` (radians), by linear blending.
  std::vector<Vec3f> bent(double angle) const;
};

RiggedTube make_rigged_tube(int around = 6, int along = 4);

/// How a file of the tube is to be written. Axes and unit are the file's; the tube stays where it is.
struct TubeFileOptions {
  char up_axis = 'y';  ///< 'y', or 'z' with -y to the front
  double metres_per_unit = 0.01;
  Vec3d mesh_node = Vec3d(0.25, 0, 0);  ///< where the mesh's node stands, metres
};

/// The file's coordinates of a point or direction of the scene, without the unit.
Vec3d to_file_axes(const TubeFileOptions& options, const Vec3d& scene);

/// The vertices of mesh `m` at `seconds` into clip 0, by linear blending with the scene's own weights and
/// bind matrices.
std::vector<Vec3f> pose_mesh(const Scene& scene, std::size_t m, double seconds);

}  // namespace sinew::test
