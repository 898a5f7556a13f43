#include <sinew/geometry/isosurface.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <unordered_map>
#include <unordered_set>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

namespace sinew {

namespace {

using Place = std::array<int, 3>;

// A grid place in one number: 20 bits each, far more than the walk can reach.
constexpr int kOffset = 1 << 19;
constexpr int kFarthest = 10'000;  // cells from the start, each way
std::uint64_t key_of(const Place& p) {
  return (static_cast<std::uint64_t>(p[0] + kOffset) << 40) |
         (static_cast<std::uint64_t>(p[1] + kOffset) << 20) | static_cast<std::uint64_t>(p[2] + kOffset);
}

Place corner_of(const Place& cube, int bits) {
  return {cube[0] + (bits & 1), cube[1] + (bits >> 1 & 1), cube[2] + (bits >> 2 & 1)};
}

// Kuhn's division: from corner 000 to corner 111 along the axes, in each of the six orders. Listed so that
// all six have the same orientation.
constexpr std::array<std::array<int, 4>, 6> kTetrahedra{
    {{0, 1, 3, 7}, {0, 3, 2, 7}, {0, 2, 6, 7}, {0, 6, 4, 7}, {0, 4, 5, 7}, {0, 5, 1, 7}}};

class Walker {
 public:
  Walker(const SolidFunction& solid, const Vec3d& origin, double cell)
      : solid_(solid), origin_(origin), cell_(cell) {}

  double value(const Place& place) {
    const auto [entry, fresh] = values_.try_emplace(key_of(place), 0.0);
    if (fresh) entry->second = solid_(point(place)).value;
    return entry->second;
  }

  void walk(const Place& start) {
    std::vector<Place> open{start};
    std::unordered_set<std::uint64_t> seen{key_of(start)};
    while (!open.empty()) {
      const Place cube = open.back();
      open.pop_back();
      std::array<double, 8> values{};
      int inside = 0;
      for (int c = 0; c < 8; ++c) {
        values[to_size(c)] = value(corner_of(cube, c));
        inside |= (values[to_size(c)] < 0 ? 1 : 0) << c;
      }
      if (inside == 0 || inside == 255) continue;
      for (const auto& tetrahedron : kTetrahedra) add_tetrahedron(cube, tetrahedron, values);
      for (int axis = 0; axis < 3; ++axis)
        for (const int side : {0, 1}) {
          // Only faces that the surface passes through lead on.
          int face = 0, face_inside = 0;
          for (int c = 0; c < 8; ++c)
            if ((c >> axis & 1) == side) {
              ++face;
              face_inside += inside >> c & 1;
            }
          if (face_inside == 0 || face_inside == face) continue;
          Place next = cube;
          next[to_size(axis)] += side == 1 ? 1 : -1;
          if (std::abs(next[to_size(axis)]) > kFarthest) throw Error("iso-surface: the solid does not end");
          if (seen.insert(key_of(next)).second) open.push_back(next);
        }
    }
  }

  IsoSurface result;

 private:
  Vec3d point(const Place& p) const { return origin_ + cell_ * Vec3d(p[0], p[1], p[2]); }

  std::uint32_t edge_vertex(const Place& cube, int a, int b, const std::array<double, 8>& values) {
    if (a > b) std::swap(a, b);  // all edges run towards 111, so the pair names one edge from all its cubes
    const Place from = corner_of(cube, a);
    const std::uint64_t key = key_of(from) * 8 + static_cast<std::uint64_t>(b ^ a);
    const auto [entry, fresh] =
        vertices_.try_emplace(key, static_cast<std::uint32_t>(result.positions.size()));
    if (fresh) {
      const double va = values[to_size(a)], vb = values[to_size(b)];
      const double share = std::clamp(va / (va - vb), 0.01, 0.99);  // no zero-length edges
      result.positions.push_back((1 - share) * point(from) + share * point(corner_of(cube, b)));
    }
    return entry->second;
  }

  void add_tetrahedron(const Place& cube, const std::array<int, 4>& corners,
                       const std::array<double, 8>& values) {
    int in[4], out[4], ins = 0, outs = 0;
    for (const int c : corners) {
      if (values[to_size(c)] < 0)
        in[ins++] = c;
      else
        out[outs++] = c;
    }
    if (ins == 0 || outs == 0) return;
    const auto cut = [&](int a, int b) { return edge_vertex(cube, a, b, values); };
    const auto position = [&](int c) {
      const Place p = corner_of({0, 0, 0}, c);
      return Vec3d(p[0], p[1], p[2]);
    };
    // Orientation from the corners' places: normals point from the inside corners to the outside ones.
    const auto add = [&](std::uint32_t a, std::uint32_t b, std::uint32_t c, bool flip) {
      if (flip) std::swap(b, c);
      result.triangles.push_back({a, b, c});
    };
    if (ins == 1 || outs == 1) {
      const int apex = ins == 1 ? in[0] : out[0];
      const int* base = ins == 1 ? out : in;
      const Vec3d p = position(apex);
      const double turn = (position(base[0]) - p).cross(position(base[1]) - p).dot(position(base[2]) - p);
      // Seen from the base, apex–base order is clockwise when `turn` > 0 …
      const bool flip = (turn < 0) != (ins != 1);
      add(cut(apex, base[0]), cut(apex, base[1]), cut(apex, base[2]), flip);
      return;
    }
    const Vec3d p = position(in[0]);
    const double turn = (position(in[1]) - p).cross(position(out[0]) - p).dot(position(out[1]) - p);
    const std::uint32_t a = cut(in[0], out[0]), b = cut(in[0], out[1]), c = cut(in[1], out[1]),
                        d = cut(in[1], out[0]);
    const bool flip = turn < 0;
    add(a, b, c, flip);
    add(a, c, d, flip);
  }

  const SolidFunction& solid_;
  Vec3d origin_;
  double cell_;
  std::unordered_map<std::uint64_t, double> values_;
  std::unordered_map<std::uint64_t, std::uint32_t> vertices_;
};

}  // namespace

IsoSurface extract_isosurface(const SolidFunction& solid, const Vec3d& inside, double cell) {
  if (!(cell > 0)) throw Error("iso-surface: the cell size must be positive");
  Walker walker(solid, inside, cell);
  if (!(walker.value({0, 0, 0}) < 0)) throw Error("iso-surface: the start is not inside the solid");
  int x = 0;
  while (walker.value({x, 0, 0}) < 0)
    if (++x > kFarthest) throw Error("iso-surface: the solid does not end");
  walker.walk({x - 1, 0, 0});
  return std::move(walker.result);
}

}  // namespace sinew
