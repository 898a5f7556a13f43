#include <sinew/geometry/vertex_normals.h>

#include <cmath>

#include <Eigen/Geometry>

namespace sinew {

std::vector<Vec3d> angle_weighted_normals(const MeshView& mesh) {
  std::vector<Vec3d> normals(mesh.positions.size(), Vec3d::Zero());
  for (const Triangle& f : mesh.triangles) {
    const Vec3d corners[3] = {mesh.positions[f[0]].cast<double>(), mesh.positions[f[1]].cast<double>(),
                              mesh.positions[f[2]].cast<double>()};
    const Vec3d cross = (corners[1] - corners[0]).cross(corners[2] - corners[0]);
    const double length = cross.norm();
    if (!(length > 0)) continue;
    for (int k = 0; k < 3; ++k) {
      const Vec3d to_next = corners[(k + 1) % 3] - corners[k], to_last = corners[(k + 2) % 3] - corners[k];
      normals[f[k]] += std::atan2(length, to_next.dot(to_last)) / length * cross;
    }
  }
  for (Vec3d& normal : normals) {
    const double length = normal.norm();
    normal = length > 1e-9 ? Vec3d(normal / length) : Vec3d(Vec3d::Zero());
  }
  return normals;
}

}  // namespace sinew
