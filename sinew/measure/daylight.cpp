#include <sinew/measure/daylight.h>

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include <sinew/core/parallel.h>

namespace sinew {

namespace {

/// The 26 directions to a cube's faces, edges and corners.
std::vector<Vec3f> directions() {
  std::vector<Vec3f> result;
  for (int x = -1; x <= 1; ++x)
    for (int y = -1; y <= 1; ++y)
      for (int z = -1; z <= 1; ++z)
        if (x != 0 || y != 0 || z != 0)
          result.push_back(
              Vec3f(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z)).normalized());
  return result;
}

}  // namespace

std::vector<LightBundle> find_daylight(const SurfaceQuery& before, const SurfaceQuery& after,
                                       const Vec3f& place, float radius, const DaylightOptions& options) {
  const std::vector<Vec3f> from = directions();
  std::vector<std::vector<LightBundle>> found(from.size());
  const auto stops = [](const SurfaceQuery& surface, const Vec3f& through, const Vec3f& direction) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    return surface.occluded({through, direction, -kInfinity, kInfinity});
  };
  parallel_blocks(from.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Vec3f side = from[i].unitOrthogonal(), up = from[i].cross(side);
      std::array<Vec3f, 7> rays{Vec3f::Zero()};
      for (std::size_t k = 0; k < 6; ++k) {
        const float angle = static_cast<float>(k) * std::numbers::pi_v<float> / 3;
        rays[k + 1] = options.width / 2 * (std::cos(angle) * side + std::sin(angle) * up);
      }
      const int most = static_cast<int>(radius / options.spacing);
      for (int a = -most; a <= most; ++a)
        for (int b = -most; b <= most; ++b) {
          const Vec3f offset = options.spacing * (static_cast<float>(a) * side + static_cast<float>(b) * up);
          if (offset.norm() > radius) continue;
          bool comes_through = true;
          for (std::size_t k = 0; k < rays.size() && comes_through; ++k)
            comes_through = !stops(after, place + offset + rays[k], from[i]);
          for (std::size_t k = 0; k < rays.size() && comes_through; ++k)
            comes_through = stops(before, place + offset + rays[k], from[i]);
          if (comes_through) found[i].push_back({place + offset, from[i]});
        }
    }
  });
  std::vector<LightBundle> all;
  for (const auto& bundles : found) all.insert(all.end(), bundles.begin(), bundles.end());
  return all;
}

}  // namespace sinew
