#include <sinew/geometry/surface_walk.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace sinew {

namespace {

/// Which corner of a triangle a vertex is.
std::size_t corner_of(const Triangle& f, std::uint32_t vertex) {
  return f[0] == vertex ? 0 : f[1] == vertex ? 1 : 2;
}

}  // namespace

SurfaceWalk::SurfaceWalk(std::size_t vertex_count, std::span<const Triangle> triangles)
    : triangles_(triangles.begin(), triangles.end()),
      corner_(vertex_count),
      known_(vertex_count, 0),
      neighbours_(triangles.size(), {kNone, kNone, kNone}) {
  struct Side {
    std::uint32_t low, high, triangle, across;
  };
  std::vector<Side> sides;
  for (std::uint32_t t = 0; t < triangles.size(); ++t) {
    const Triangle& f = triangles[t];
    if (repeats_corner(f)) continue;
    for (std::uint32_t k = 0; k < 3; ++k) {
      const std::uint32_t a = f[(k + 1) % 3], b = f[(k + 2) % 3];
      sides.push_back({std::min(a, b), std::max(a, b), t, k});
      if (known_[f[k]] != 0) continue;
      known_[f[k]] = 1;
      corner_[f[k]] = {t, {0, 0, 0}};
      corner_[f[k]].place[k] = 1;
    }
  }
  std::sort(sides.begin(), sides.end(), [](const Side& x, const Side& y) {
    return std::pair(x.low, x.high) != std::pair(y.low, y.high)
               ? std::pair(x.low, x.high) < std::pair(y.low, y.high)
               : x.triangle < y.triangle;
  });
  for (std::size_t begin = 0, end; begin < sides.size(); begin = end) {
    end = begin + 1;
    while (end < sides.size() && sides[end].low == sides[begin].low && sides[end].high == sides[begin].high)
      ++end;
    if (end - begin != 2) continue;
    const Side &a = sides[begin], &b = sides[begin + 1];
    neighbours_[a.triangle][a.across] = b.triangle;
    neighbours_[b.triangle][b.across] = a.triangle;
  }
}

Vec3f SurfaceWalk::position(const WalkPoint& point, std::span<const Vec3f> positions) const {
  const Triangle& f = triangles_[point.triangle];
  return point.place[0] * positions[f[0]] + point.place[1] * positions[f[1]] +
         point.place[2] * positions[f[2]];
}

WalkPoint SurfaceWalk::walk(WalkPoint from, const Vec3f& move, std::span<const Vec3f> positions) const {
  Vec3f left = move;
  for (int step = 0; step < kMostTriangles; ++step) {
    const Triangle& f = triangles_[from.triangle];
    const Vec3f first = positions[f[1]] - positions[f[0]], second = positions[f[2]] - positions[f[0]];
    const float aa = first.squaredNorm(), bb = second.squaredNorm(), ab = first.dot(second);
    const float determinant = aa * bb - ab * ab;
    constexpr float kThin = 1e-9f;
    if (!(determinant > kThin * aa * bb)) return from;
    // left = rate[1] first + rate[2] second, and what is across.
    const float da = left.dot(first), db = left.dot(second);
    const float r1 = (bb * da - ab * db) / determinant, r2 = (aa * db - ab * da) / determinant;
    const std::array<float, 3> rate{-r1 - r2, r1, r2};
    float share = 1;
    std::size_t across = 3;  // the corner whose weight runs out first
    for (std::size_t k = 0; k < 3; ++k)
      if (rate[k] < 0 && from.place[k] + rate[k] * share < 0)
        share = std::max(0.0f, from.place[k] / -rate[k]), across = k;
    std::array<float, 3> place{};
    float sum = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      place[k] = k == across ? 0.0f : std::max(0.0f, from.place[k] + share * rate[k]);
      sum += place[k];
    }
    if (!(sum > 0) || !std::isfinite(sum)) return from;
    for (std::size_t k = 0; k < 3; ++k) from.place[k] = place[k] / sum;
    if (across == 3) return from;
    const std::uint32_t next = neighbours_[from.triangle][across];
    if (next == kNone) return from;

    // Over the edge: the part along it stays, the part straight across turns into the next triangle.
    const std::uint32_t a = f[(across + 1) % 3], b = f[(across + 2) % 3];
    const Triangle& g = triangles_[next];
    const std::size_t beyond = 3 - corner_of(g, a) - corner_of(g, b);
    const Vec3f along = (positions[b] - positions[a]).normalized();
    const auto inwards = [&](std::uint32_t corner) {
      const Vec3f to = positions[corner] - positions[a];
      const Vec3f straight = to - to.dot(along) * along;
      const float length = straight.norm();
      return length > 0 ? Vec3f(straight / length) : Vec3f(Vec3f::Zero());
    };
    left *= 1 - share;
    const float out = -left.dot(inwards(f[across]));
    left = left.dot(along) * along + out * inwards(g[beyond]);
    WalkPoint there{next, {0, 0, 0}};
    there.place[corner_of(g, a)] = from.place[(across + 1) % 3];
    there.place[corner_of(g, b)] = from.place[(across + 2) % 3];
    from = there;
  }
  return from;
}

}  // namespace sinew
