#include <sinew/measure/fold_contact.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <sinew/core/parallel.h>

namespace sinew {

namespace {

constexpr double kShareOfLimb = 0.05;
constexpr double kRestRatio = 3;
constexpr int kRings = 3;
constexpr double kCosine = 0.5;
constexpr std::size_t kRaysPerTask = 16;

using Corners = std::array<Vec3d, 3>;

Corners corners_of(std::span<const Vec3f> positions, const Triangle& f) {
  return {positions[f[0]].cast<double>(), positions[f[1]].cast<double>(), positions[f[2]].cast<double>()};
}

/// The weights of the corners at the triangle's point nearest to `p`.
Vec3d nearest_weights(const Vec3d& p, const Corners& corners) {
  const Vec3d &a = corners[0], &b = corners[1], &c = corners[2];
  const Vec3d normal = (b - a).cross(c - a);
  const double area = normal.squaredNorm();
  if (area > 0) {
    const double wb = (p - a).cross(c - a).dot(normal) / area, wc = (b - a).cross(p - a).dot(normal) / area;
    if (wb >= 0 && wc >= 0 && wb + wc <= 1) return {1 - wb - wc, wb, wc};
  }
  Vec3d best = Vec3d::UnitX();
  double least = std::numeric_limits<double>::infinity();
  for (int k = 0; k < 3; ++k) {
    const int next = (k + 1) % 3;
    const Vec3d side = corners[next] - corners[k];
    const double length = side.squaredNorm();
    const double share = length > 0 ? std::clamp((p - corners[k]).dot(side) / length, 0.0, 1.0) : 0.0;
    const double squared = (p - corners[k] - share * side).squaredNorm();
    if (!(squared < least)) continue;
    least = squared;
    best.setZero();
    best[k] = 1 - share;
    best[next] = share;
  }
  return best;
}

Vec3d blend(const Corners& corners, const Vec3d& weights) {
  return weights[0] * corners[0] + weights[1] * corners[1] + weights[2] * corners[2];
}

}  // namespace

/// The vertices within kRings rings, itself included, ascending.
std::vector<std::uint32_t> FoldContact::near_along_surface(std::uint32_t v) const {
  std::vector<std::uint32_t> near{v};
  std::size_t ring_begin = 0;
  for (int ring = 0; ring < kRings; ++ring) {
    const std::size_t ring_end = near.size();
    for (std::size_t i = ring_begin; i < ring_end; ++i)
      for (const std::uint32_t n : rings_[near[i]])
        if (std::find(near.begin(), near.end(), n) == near.end()) near.push_back(n);
    ring_begin = ring_end;
  }
  std::sort(near.begin(), near.end());
  return near;
}

bool FoldContact::in_contact(std::span<const Vec3f> positions, const FittedTriangleTree& boxes,
                             std::span<const std::uint32_t> flipped, std::uint32_t v) const {
  if (rings_[v].empty()) return false;
  const Vec3d here = positions[v].cast<double>(), rest_here = rest_.positions[v].cast<double>();
  double mean_edge = 0;
  for (const std::uint32_t n : rings_[v])
    mean_edge +=
        (rest_.positions[n].cast<double>() - rest_here).norm() / static_cast<double>(rings_[v].size());
  const double reach = std::max(kShareOfLimb * limb_radius_[v], mean_edge);
  const std::vector<std::uint32_t> near = near_along_surface(v);
  bool found = false;
  boxes.for_each(
      [&](const Eigen::AlignedBox3f& box) {
        return !found && box.cast<double>().squaredExteriorDistance(here) <= reach * reach;
      },
      [&](std::uint32_t t) {
        if (found || t >= rest_.triangles.size()) return;
        const Triangle& f = rest_.triangles[t];
        for (const std::uint32_t corner : f)
          if (std::binary_search(near.begin(), near.end(), corner)) return;
        const Corners corners = corners_of(positions, f);
        const Vec3d weights = nearest_weights(here, corners);
        const Vec3d offset = here - blend(corners, weights);
        const double distance = offset.norm();
        if (distance > reach) return;
        if (!((rest_here - blend(corners_of(rest_.positions, f), weights)).norm() > kRestRatio * distance))
          return;
        Vec3d normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]);
        if (std::binary_search(flipped.begin(), flipped.end(), t)) normal = -normal;
        found = offset.dot(normal) >= kCosine * distance * normal.norm();
      });
  return found;
}

std::vector<std::uint8_t> FoldContact::find(std::span<const Vec3f> positions, const FittedTriangleTree& boxes,
                                            std::span<const std::uint32_t> flipped,
                                            std::span<const std::uint32_t> vertices) const {
  std::vector<std::uint8_t> contact(vertices.size(), 0);
  parallel_blocks(vertices.size(), kRaysPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) contact[i] = in_contact(positions, boxes, flipped, vertices[i]);
  });
  return contact;
}

}  // namespace sinew
