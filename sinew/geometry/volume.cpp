#include <sinew/geometry/volume.h>

#include <Eigen/Geometry>

namespace sinew {

namespace {

Vec3d position(const MeshView& mesh, std::uint32_t v) {
  return mesh.positions[v].cast<double>();
}

// Of the vertices in use: a stray vertex far away must not cost digits.
Vec3d middle(const MeshView& mesh) {
  Eigen::AlignedBox3d box;
  for (const Triangle& f : mesh.triangles)
    for (const std::uint32_t v : f) box.extend(position(mesh, v));
  return box.isEmpty() ? Vec3d(Vec3d::Zero()) : box.center();
}

}  // namespace

double enclosed_volume(const MeshView& mesh) {
  const Vec3d origin = middle(mesh);
  double sum = 0;
  for (const Triangle& f : mesh.triangles) {
    const Vec3d a = position(mesh, f[0]) - origin, b = position(mesh, f[1]) - origin,
                c = position(mesh, f[2]) - origin;
    sum += a.dot(b.cross(c));
  }
  return sum / 6;
}

double surface_area(const MeshView& mesh) {
  double sum = 0;
  for (const Triangle& f : mesh.triangles) {
    const Vec3d a = position(mesh, f[0]);
    sum += (position(mesh, f[1]) - a).cross(position(mesh, f[2]) - a).norm();
  }
  return sum / 2;
}

Vec3d surface_centroid(const MeshView& mesh) {
  if (mesh.triangles.empty()) return Vec3d::Zero();
  const Vec3d origin = middle(mesh);
  Vec3d weighted = Vec3d::Zero(), plain = Vec3d::Zero();
  double total = 0;
  for (const Triangle& f : mesh.triangles) {
    const Vec3d a = position(mesh, f[0]) - origin, b = position(mesh, f[1]) - origin,
                c = position(mesh, f[2]) - origin;
    const double area = (b - a).cross(c - a).norm();
    weighted += area * (a + b + c) / 3;
    plain += (a + b + c) / 3;
    total += area;
  }
  if (total > 0) return origin + weighted / total;
  return origin + plain / static_cast<double>(mesh.triangles.size());
}

}  // namespace sinew
