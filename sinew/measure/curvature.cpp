#include <sinew/measure/curvature.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

#include <Eigen/Geometry>

#include <sinew/geometry/laplacian.h>
#include <sinew/geometry/one_rings.h>

namespace sinew {

namespace {

constexpr double kFlat = 1e-3;  // curvature times the surface's size

struct Bend {
  Vec3d normal = Vec3d::Zero();  // the cotangent Laplacian of the positions: 2 H A times the normal
  double area = 0;
};

std::vector<Bend> bends_of(const MeshView& mesh) {
  std::vector<Bend> bends(mesh.positions.size());
  for (const Triangle& f : mesh.triangles) {
    const Vec3d a = mesh.positions[f[0]].cast<double>(), b = mesh.positions[f[1]].cast<double>(),
                c = mesh.positions[f[2]].cast<double>();
    const Vec3d ab = b - a, bc = c - b, ca = a - c;
    const double longest = std::max({ab.squaredNorm(), bc.squaredNorm(), ca.squaredNorm()});
    if (!(longest > 0)) continue;
    const double double_area = ab.cross(bc).norm();
    // Halves of the cotangents, flat triangles as in cotangent_laplacian().
    const double floor = 2 * std::max(double_area, kSmallestHeight * longest);
    const double cot_a = -ab.dot(ca) / floor, cot_b = -bc.dot(ab) / floor, cot_c = -ca.dot(bc) / floor;
    bends[f[0]].normal += cot_b * ca - cot_c * ab;
    bends[f[1]].normal += cot_c * ab - cot_a * bc;
    bends[f[2]].normal += cot_a * bc - cot_b * ca;
    const double least = std::min({cot_a, cot_b, cot_c});
    if (least < 0) {
      const double cots[3] = {cot_a, cot_b, cot_c};
      for (int k = 0; k < 3; ++k) bends[f[k]].area += double_area / (cots[k] == least ? 4 : 8);
    } else {
      const double by_a = bc.squaredNorm() * cot_a / 4, by_b = ca.squaredNorm() * cot_b / 4,
                   by_c = ab.squaredNorm() * cot_c / 4;
      bends[f[0]].area += by_b + by_c;
      bends[f[1]].area += by_c + by_a;
      bends[f[2]].area += by_a + by_b;
    }
  }
  return bends;
}

double curvature_of(const Bend& bend) {
  return bend.area > 0 ? bend.normal.norm() / (2 * bend.area) : 0;
}

}  // namespace

std::vector<double> mean_curvature(const MeshView& mesh) {
  std::vector<double> curvature;
  curvature.reserve(mesh.positions.size());
  for (const Bend& bend : bends_of(mesh)) curvature.push_back(curvature_of(bend));
  return curvature;
}

CurvatureMeter::CurvatureMeter(const MeshView& rest)
    : triangles_(rest.triangles.begin(), rest.triangles.end()) {
  const OneRings rings = one_rings(rest.positions.size(), rest.triangles);
  const std::vector<Bend> bends = bends_of(rest);
  Eigen::AlignedBox3d box;
  for (std::size_t v = 0; v < bends.size(); ++v) {
    const bool counts = rings.kinds[v] == RingKind::closed && bends[v].area > 0;
    area_.push_back(counts ? bends[v].area : 0);
    most_.push_back(counts ? std::sqrt(4 * std::numbers::pi / bends[v].area) : 0);
    rest_.push_back(std::min(curvature_of(bends[v]), most_.back()));
    if (rings.kinds[v] != RingKind::isolated) box.extend(rest.positions[v].cast<double>());
  }
  if (!box.isEmpty() && box.diagonal().norm() > 0) flat_ = kFlat / box.diagonal().norm();
}

std::optional<CurvatureChange> CurvatureMeter::change(std::span<const Vec3f> positions,
                                                      std::span<const std::uint8_t> left_out) const {
  assert(positions.size() == rest_.size() && left_out.size() == rest_.size());
  const std::vector<Bend> bends = bends_of({positions, triangles_});
  double area = 0, at_rest = 0, change = 0, sum = 0, rest_sum = 0;
  for (std::size_t v = 0; v < rest_.size(); ++v) {
    if (left_out[v] || !(area_[v] > 0)) continue;
    // Without area now, it is bent as much as can be.
    const double now = bends[v].area > 0 ? std::min(curvature_of(bends[v]), most_[v]) : most_[v];
    area += area_[v];
    at_rest += area_[v] * rest_[v] * rest_[v];
    sum += area_[v] * now;
    rest_sum += area_[v] * rest_[v];
    change += area_[v] * (now - rest_[v]) * (now - rest_[v]);
  }
  if (!(area > 0) || !(std::sqrt(at_rest / area) > flat_)) return std::nullopt;
  return CurvatureChange{std::sqrt(change / at_rest), sum / rest_sum - 1};
}

}  // namespace sinew
