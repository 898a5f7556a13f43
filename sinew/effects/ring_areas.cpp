#include <sinew/effects/ring_areas.h>

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sinew/effects/ring_areas.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sinew::HWY_NAMESPACE {
namespace {

AxisSums padded_ring_areas(const std::uint32_t* rings, std::size_t count, const double* b, const double* c,
                            const double* freedom, double* displacement) {
  AxisSums sums;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t* ring = rings + i * kPaddedRing;
    // Two sums, so that neither waits for the other.
    double even = 0, odd = 0;
    double b0 = b[ring[0]], c0 = c[ring[0]];
    for (std::size_t k = 1; k < kPaddedRing; ++k) {
      const double b1 = b[ring[k]], c1 = c[ring[k]];
      even += b0 * c1;
      odd += c0 * b1;
      b0 = b1, c0 = c1;
    }
    const double area = even - odd;
    displacement[i] = freedom[i] * area;
    sums.strength += displacement[i] * area;
    sums.farthest = std::max(sums.farthest, std::abs(displacement[i]));
  }
  return sums;
}

std::array<double, 3> padded_ring_strengths(const std::uint32_t* rings, std::size_t count, const double* x,
                                             const double* y, const double* z, const double* freedom) {
  std::array<double, 3> strengths{};
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t* ring = rings + i * kPaddedRing;
    double along_x = 0, along_y = 0, along_z = 0;
    double x0 = x[ring[0]], y0 = y[ring[0]], z0 = z[ring[0]];
    for (std::size_t k = 1; k < kPaddedRing; ++k) {
      const double x1 = x[ring[k]], y1 = y[ring[k]], z1 = z[ring[k]];
      along_x += y0 * z1 - z0 * y1;
      along_y += z0 * x1 - x0 * z1;
      along_z += x0 * y1 - y0 * x1;
      x0 = x1, y0 = y1, z0 = z1;
    }
    strengths[0] += freedom[i] * along_x * along_x;
    strengths[1] += freedom[i] * along_y * along_y;
    strengths[2] += freedom[i] * along_z * along_z;
  }
  return strengths;
}

}  // namespace
}  // namespace sinew::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sinew {

HWY_EXPORT(padded_ring_areas);

AxisSums ring_areas(const std::uint32_t* rings, std::size_t count, const double* b, const double* c,
                    const double* freedom, double* displacement) {
  return HWY_DYNAMIC_DISPATCH(padded_ring_areas)(rings, count, b, c, freedom, displacement);
}

HWY_EXPORT(padded_ring_strengths);

std::array<double, 3> ring_strengths(const std::uint32_t* rings, std::size_t count, const double* x,
                                     const double* y, const double* z, const double* freedom) {
  return HWY_DYNAMIC_DISPATCH(padded_ring_strengths)(rings, count, x, y, z, freedom);
}

}  // namespace sinew
#endif
