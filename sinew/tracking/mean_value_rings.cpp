#include <sinew/tracking/mean_value_rings.h>

#include <cmath>
#include <numbers>

namespace sinew {

MeanValueRings mean_value_rings(std::span<const Vec3f> positions, const OneRings& rings,
                                std::span<const Vec3f> across) {
  MeanValueRings result;
  result.values.assign(rings.neighbours.size(), 0);
  result.valid.assign(rings.size(), 0);
  std::vector<Vec3d> spokes;
  std::vector<double> length, angle, weight;
  for (std::size_t v = 0; v < rings.size(); ++v) {
    const std::span<const std::uint32_t> ring = rings[v];
    const Vec3d direction = across[v].cast<double>();
    if (rings.kinds[v] != RingKind::closed || ring.size() < 3 || !(direction.norm() > 0)) continue;
    const Vec3d normal = direction.normalized();
    spokes.clear(), length.clear();
    bool usable = true;
    for (const std::uint32_t neighbour : ring) {
      Vec3d spoke = (positions[neighbour] - positions[v]).cast<double>();
      const double full = spoke.norm();
      spoke -= spoke.dot(normal) * normal;
      spokes.push_back(spoke);
      length.push_back(spoke.norm());
      usable = usable && length.back() > 1e-3 * full && std::isfinite(full);
    }
    if (!usable) continue;
    const std::size_t n = spokes.size();
    angle.assign(n, 0);  // from spoke i to the next, signed by the direction
    double turn = 0, sign = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const Vec3d& a = spokes[i];
      const Vec3d& b = spokes[(i + 1) % n];
      angle[i] = std::atan2(normal.dot(a.cross(b)), a.dot(b));
      turn += angle[i];
    }
    sign = turn < 0 ? -1 : 1;
    // Once round, every step forward: then all coordinates are positive.
    if (std::abs(std::abs(turn) - 2 * std::numbers::pi) > 1e-6) continue;
    for (const double a : angle) usable = usable && sign * a > 0 && sign * a < 0.99 * std::numbers::pi;
    if (!usable) continue;
    weight.assign(n, 0);
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double before = sign * angle[(i + n - 1) % n], after = sign * angle[i];
      weight[i] = (std::tan(before / 2) + std::tan(after / 2)) / length[i];
      sum += weight[i];
    }
    if (!std::isfinite(sum) || !(sum > 0)) continue;
    for (std::size_t i = 0; i < n; ++i)
      result.values[rings.starts[v] + i] = static_cast<float>(weight[i] / sum);
    result.valid[v] = 1;
  }
  return result;
}

}  // namespace sinew
