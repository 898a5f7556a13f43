#include <sinew/geometry/winding.h>

#include <cmath>
#include <numbers>

namespace sinew {

double winding_number(const MeshView& mesh, const Vec3d& point) {
  double solid_angle = 0;
  for (const Triangle& triangle : mesh.triangles) {
    const Vec3d a = mesh.positions[triangle[0]].cast<double>() - point;
    const Vec3d b = mesh.positions[triangle[1]].cast<double>() - point;
    const Vec3d c = mesh.positions[triangle[2]].cast<double>() - point;
    const double la = a.norm(), lb = b.norm(), lc = c.norm();
    // Van Oosterom & Strackee 1983, eq. 8: tan(Ω/2).
    const double numerator = a.dot(b.cross(c));
    const double denominator = la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb;
    if (numerator != 0 || denominator != 0) solid_angle += 2 * std::atan2(numerator, denominator);
  }
  return solid_angle / (4 * std::numbers::pi);
}

}  // namespace sinew
