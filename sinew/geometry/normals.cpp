#include <sinew/geometry/normals.h>

#include <cassert>
#include <cmath>

#include <sinew/core/parallel.h>

namespace sinew {

namespace {

// Squared lengths of a sum of face normals between which float arithmetic has neither lost digits to
// underflow nor overflowed; outside, the slow way is taken.
constexpr float kSmallestTrusted = 1e-28f;
constexpr float kLargestTrusted = 1e30f;

constexpr std::size_t kTriangleBlock = 8192;
constexpr std::size_t kSlotBlock = 4096;

}  // namespace

NormalSolver::NormalSolver(std::span<const Triangle> triangles, std::span<const Triangle> corner_slots,
                           std::size_t slot_count)
    : triangles_(triangles.begin(), triangles.end()), incidence_(vertex_incidence(slot_count, corner_slots)) {
  assert(triangles.size() == corner_slots.size());
  for (std::uint32_t& corner : incidence_.corners) corner /= 3;
}

void NormalSolver::compute(std::span<const Vec3f> positions, std::span<Vec4f> scratch, std::span<Vec3f> out,
                           const Vec3f& fallback) const {
  assert(scratch.size() >= triangles_.size());
  assert(out.size() == slot_count());
  parallel_blocks(triangles_.size(), kTriangleBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t t = begin; t < end; ++t) {
      const Vec3f &a = positions[triangles_[t][0]], &b = positions[triangles_[t][1]],
                  &c = positions[triangles_[t][2]];
      const float ux = b.x() - a.x(), uy = b.y() - a.y(), uz = b.z() - a.z();
      const float vx = c.x() - a.x(), vy = c.y() - a.y(), vz = c.z() - a.z();
      // One number after the other: building a Vec4f first takes four times as long.
      float* normal = scratch[t].data();
      normal[0] = uy * vz - uz * vy;
      normal[1] = uz * vx - ux * vz;
      normal[2] = ux * vy - uy * vx;
      normal[3] = 0;
    }
  });
  parallel_blocks(slot_count(), kSlotBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t s = begin; s < end; ++s) {
      Vec4f sum = Vec4f::Zero();
      for (const std::uint32_t t : incidence_[s]) sum += scratch[t];
      const float squared = sum.squaredNorm();
      if (squared > kSmallestTrusted && squared < kLargestTrusted)
        out[s] = sum.head<3>() * (1.0f / std::sqrt(squared));
      else
        out[s] = slow_normal(s, positions, fallback);
    }
  });
}

// The same in double, where no finite float position can overflow or underflow.
Vec3f NormalSolver::slow_normal(std::size_t slot, std::span<const Vec3f> positions,
                                const Vec3f& fallback) const {
  Vec3d sum = Vec3d::Zero();
  double lengths = 0;
  for (const std::uint32_t t : incidence_[slot]) {
    const Triangle& f = triangles_[t];
    const Vec3d a = positions[f[0]].cast<double>();
    const Vec3d normal = (positions[f[1]].cast<double>() - a).cross(positions[f[2]].cast<double>() - a);
    sum += normal;
    lengths += normal.norm();
  }
  const double length = sum.norm();
  // What cancels down to rounding has no direction. Written so that NaN falls back too.
  if (!(length > 1e-12 * lengths) || std::isinf(length)) return fallback;
  return (sum / length).cast<float>();
}

}  // namespace sinew
