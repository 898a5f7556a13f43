#include "tests/support/solids.h"

#include <algorithm>
#include <cmath>

#include <sinew/geometry/segment.h>
#include <sinew/geometry/topology.h>

namespace sinew::test {

SolidFunction ball(double radius) {
  return [radius](const Vec3d& p) {
    return SolidSample{p.norm() - radius, p.norm() > 0 ? Vec3d(p.normalized()) : Vec3d(Vec3d::UnitX()), 1};
  };
}

SolidFunction ring(double radius, double thickness) {
  return [radius, thickness](const Vec3d& p) {
    const double across = std::hypot(p.x(), p.z());
    const Vec3d middle = across > 0 ? Vec3d(Vec3d(p.x(), 0, p.z()) * radius / across) : Vec3d(radius, 0, 0);
    const double distance = (p - middle).norm();
    return SolidSample{distance - thickness,
                       distance > 0 ? Vec3d((p - middle) / distance) : Vec3d(Vec3d::UnitY()), 1};
  };
}

SolidFunction capsules(std::vector<std::pair<Vec3d, Vec3d>> segments, double radius) {
  return [segments = std::move(segments), radius](const Vec3d& p) {
    Vec3d away = Vec3d::Constant(1e100);
    for (const std::pair<Vec3d, Vec3d>& segment : segments) {
      const Vec3d way = p - nearest_on_segment(segment.first, segment.second, p);
      if (way.norm() < away.norm()) away = way;
    }
    const double distance = away.norm();
    return SolidSample{distance - radius, distance > 0 ? Vec3d(away / distance) : Vec3d(Vec3d::UnitX()), 1};
  };
}

Mesh to_mesh(const IsoSurface& surface) {
  std::vector<Vec3f> positions;
  for (const Vec3d& p : surface.positions) positions.push_back(p.cast<float>());
  return make_mesh(std::move(positions), surface.triangles);
}

long euler_number(const MeshView& mesh) {
  const TopologyReport report = inspect_topology(mesh);
  return static_cast<long>(report.vertices) - static_cast<long>(report.edges) +
         static_cast<long>(report.triangles);
}

double smallest_angle(const MeshView& mesh) {
  double smallest = 180;
  for (const Triangle& triangle : mesh.triangles)
    for (std::size_t k = 0; k < 3; ++k) {
      const Vec3d a = mesh.positions[triangle[k]].cast<double>();
      const Vec3d b = mesh.positions[triangle[(k + 1) % 3]].cast<double>() - a;
      const Vec3d c = mesh.positions[triangle[(k + 2) % 3]].cast<double>() - a;
      smallest = std::min(smallest, std::atan2(b.cross(c).norm(), b.dot(c)) * 180 / M_PI);
    }
  return smallest;
}

}  // namespace sinew::test
