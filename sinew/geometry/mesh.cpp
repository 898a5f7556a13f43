#include <sinew/geometry/mesh.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <sinew/core/error.h>

namespace sinew {

namespace {

// Ear clipping takes time quadratic in the corners; a hostile file must not hang the reader.
constexpr std::size_t kMaxConcaveCorners = 16384;

struct Point {
  double x, y;
};

double orient(const Point& a, const Point& b, const Point& c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

double squared_length(const Point& a, const Point& b) {
  return (b.x - a.x) * (b.x - a.x) + (b.y - a.y) * (b.y - a.y);
}

bool same(const Point& a, const Point& b) {
  return a.x == b.x && a.y == b.y;
}

// Works on one polygon after another and keeps its memory.
class Triangulator {
 public:
  explicit Triangulator(Mesh& mesh) : mesh_(mesh) {}

  void add(std::size_t polygon) {
    const std::span<const std::uint32_t> corners = mesh_.polygons[polygon];
    first_corner_ = mesh_.polygons.starts[polygon];
    if (corners.size() < 3) return;
    if (corners.size() == 3) return emit(0, 1, 2);
    collect(corners);
    if (ring_.size() < 3) return;
    if (ring_.size() == 3) return emit(ring_[0], ring_[1], ring_[2]);
    project(corners);
    if (is_fan())
      for (std::size_t i = 1; i + 1 < ring_.size(); ++i) emit(ring_[0], ring_[i], ring_[i + 1]);
    else if (ring_.size() > kMaxConcaveCorners)
      throw Error(
          fmt::format("polygon {}: {} corners and not convex; cut it into polygons of at most {} corners",
                      polygon, ring_.size(), kMaxConcaveCorners));
    else
      clip_ears(corners);
  }

 private:
  void emit(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    const Triangle at = {first_corner_ + a, first_corner_ + b, first_corner_ + c};
    const std::vector<std::uint32_t>& corners = mesh_.polygons.corners;
    mesh_.triangles.push_back({corners[at[0]], corners[at[1]], corners[at[2]]});
    mesh_.triangle_corners.push_back(at);
  }

  // The polygon's corners without repeats (a a) and spikes (a b a), which enclose nothing.
  void collect(std::span<const std::uint32_t> corners) {
    ring_.clear();
    for (std::uint32_t i = 0; i < corners.size(); ++i) {
      if (!ring_.empty() && corners[ring_.back()] == corners[i]) continue;
      if (ring_.size() >= 2 && corners[ring_[ring_.size() - 2]] == corners[i])
        ring_.pop_back();
      else
        ring_.push_back(i);
    }
    // The same across the seam between the last and the first corner.
    std::size_t begin = 0, end = ring_.size();
    while (end - begin >= 2) {
      if (corners[ring_[begin]] == corners[ring_[end - 1]] ||
          (end - begin >= 3 && corners[ring_[begin]] == corners[ring_[end - 2]]))
        --end;
      else if (end - begin >= 3 && corners[ring_[begin + 1]] == corners[ring_[end - 1]])
        ++begin;
      else
        break;
    }
    ring_.assign(ring_.begin() + static_cast<std::ptrdiff_t>(begin),
                 ring_.begin() + static_cast<std::ptrdiff_t>(end));
  }

  // Drops the axis that is nearest to the polygon's normal (Newell's, so any polygon has one), which keeps
  // coordinates exact. Afterwards the polygon runs counter-clockwise.
  void project(std::span<const std::uint32_t> corners) {
    const auto position = [&](std::size_t i) -> Vec3d {
      return mesh_.positions[corners[ring_[i]]].cast<double>();
    };
    const Vec3d origin = position(0);
    Vec3d normal = Vec3d::Zero();
    for (std::size_t i = 1; i + 1 < ring_.size(); ++i)
      normal += (position(i) - origin).cross(position(i + 1) - origin);
    int axis = 0;
    normal.cwiseAbs().maxCoeff(&axis);
    const int u = (axis + 1) % 3, v = (axis + 2) % 3;
    const bool flip = normal[axis] < 0;
    points_.resize(corners.size());
    for (std::size_t i = 0; i < ring_.size(); ++i) {
      const Vec3d p = position(i);
      points_[ring_[i]] = flip ? Point{p[v], p[u]} : Point{p[u], p[v]};
    }
  }

  bool is_fan() const {
    const std::size_t n = ring_.size();
    for (std::size_t i = 0; i < n; ++i)
      if (orient(points_[ring_[i]], points_[ring_[(i + 1) % n]], points_[ring_[(i + 2) % n]]) < 0)
        return false;
    for (std::size_t i = 1; i + 1 < n; ++i)
      if (orient(points_[ring_[0]], points_[ring_[i]], points_[ring_[i + 1]]) <= 0) return false;
    return true;
  }

  // Height over the longest side of the ear at ring corner i, as a share of that side: larger is rounder.
  // Negative when the corner is reflex.
  double ear_shape(std::uint32_t i) const {
    const Point &a = points_[previous_[i]], &b = points_[i], &c = points_[next_[i]];
    const double longest = std::max({squared_length(a, b), squared_length(b, c), squared_length(c, a)});
    return longest > 0 ? orient(a, b, c) / longest : 0;
  }

  // Looks for a corner inside the ear at i, from `from` on along the ring.
  void find_blocker(std::uint32_t i, std::uint32_t from) {
    const Point &a = points_[previous_[i]], &b = points_[i], &c = points_[next_[i]];
    blocker_[i] = kNone;
    if (shape_[i] <= 0) return;
    for (std::uint32_t j = from; j != previous_[i]; j = next_[j]) {
      const Point& p = points_[j];
      // Holes are bridged by corners that are visited twice: those do not block.
      if (same(p, a) || same(p, b) || same(p, c)) continue;
      if (shape_[j] <= 0 && orient(a, b, p) >= 0 && orient(b, c, p) >= 0 && orient(c, a, p) >= 0) {
        blocker_[i] = j;
        return;
      }
    }
  }

  // Corners only ever stop blocking, so the search goes on behind the last blocker: all searches for one ear
  // together pass the ring once.
  void update_blocker(std::uint32_t i) {
    std::uint32_t j = blocker_[i];
    if (j == kNone || (!removed_[j] && shape_[j] <= 0)) return;
    do j = next_[j];
    while (removed_[j]);
    find_blocker(i, j);
  }

  void clip_ears(std::span<const std::uint32_t> corners) {
    const std::size_t n = ring_.size();
    previous_.resize(corners.size());
    next_.resize(corners.size());
    blocker_.resize(corners.size());
    shape_.resize(corners.size());
    removed_.assign(corners.size(), 0);
    for (std::size_t i = 0; i < n; ++i) {
      next_[ring_[i]] = ring_[(i + 1) % n];
      previous_[ring_[i]] = ring_[(i + n - 1) % n];
    }
    for (const std::uint32_t i : ring_) shape_[i] = ear_shape(i);
    for (const std::uint32_t i : ring_) find_blocker(i, next_[next_[i]]);
    std::uint32_t start = ring_[0];
    for (std::size_t left = n; left > 3; --left) {
      // The roundest ear. Polygons that cross themselves may have none: then the least bad corner, so that
      // every polygon is covered up to its border whatever it looks like.
      std::uint32_t best = start;
      bool best_is_free = false;
      std::uint32_t i = start;
      do {
        update_blocker(i);
        const bool is_free = shape_[i] > 0 && blocker_[i] == kNone;
        if (is_free != best_is_free ? is_free : shape_[i] > shape_[best]) {
          best = i;
          best_is_free = is_free;
        }
      } while ((i = next_[i]) != start);
      const std::uint32_t before = previous_[best], after = next_[best];
      if (corners[before] != corners[after]) emit(before, best, after);
      next_[before] = after;
      previous_[after] = before;
      removed_[best] = 1;
      start = before;
      shape_[before] = ear_shape(before);
      shape_[after] = ear_shape(after);
      find_blocker(before, next_[next_[before]]);
      find_blocker(after, next_[next_[after]]);
    }
    const std::uint32_t a = start, b = next_[a], c = next_[b];
    if (corners[a] != corners[b] && corners[b] != corners[c] && corners[c] != corners[a]) emit(a, b, c);
  }

  static constexpr std::uint32_t kNone = 0xffffffff;

  Mesh& mesh_;
  std::uint32_t first_corner_ = 0;
  std::vector<std::uint32_t> ring_;  // places in the polygon that are left after collect()
  std::vector<Point> points_;        // per place in the polygon, like all below
  std::vector<std::uint32_t> previous_, next_;
  std::vector<std::uint32_t> blocker_;
  std::vector<double> shape_;
  std::vector<char> removed_;
};

void check_positions(std::span<const Vec3f> positions) {
  if (positions.size() > std::numeric_limits<std::uint32_t>::max())
    throw Error(fmt::format("{} vertices, more than the {} that a mesh can have", positions.size(),
                            std::numeric_limits<std::uint32_t>::max()));
  for (std::size_t v = 0; v < positions.size(); ++v)
    if (!positions[v].allFinite())
      throw Error(fmt::format("vertex {}: position ({}, {}, {}) is not finite", v, positions[v].x(),
                              positions[v].y(), positions[v].z()));
}

}  // namespace

Mesh make_mesh(std::vector<Vec3f> positions, Polygons polygons) {
  assert(!polygons.starts.empty() && polygons.starts.front() == 0 &&
         polygons.starts.back() == polygons.corners.size());
  check_positions(positions);
  std::size_t triangle_count = 0;
  for (std::size_t p = 0; p < polygons.size(); ++p) {
    for (const std::uint32_t v : polygons[p])
      if (v >= positions.size())
        throw Error(
            fmt::format("polygon {}: vertex {} does not exist ({} vertices)", p, v, positions.size()));
    if (polygons[p].size() >= 3) triangle_count += polygons[p].size() - 2;
  }
  Mesh mesh;
  mesh.positions = std::move(positions);
  mesh.polygons = std::move(polygons);
  mesh.triangles.reserve(triangle_count);
  mesh.triangle_corners.reserve(triangle_count);
  Triangulator triangulator(mesh);
  for (std::size_t p = 0; p < mesh.polygons.size(); ++p) triangulator.add(p);
  return mesh;
}

Mesh make_mesh(std::vector<Vec3f> positions, std::span<const Triangle> triangles) {
  if (triangles.size() > std::numeric_limits<std::uint32_t>::max() / 3)
    throw Error(fmt::format("{} triangles, more than the {} that a mesh can have", triangles.size(),
                            std::numeric_limits<std::uint32_t>::max() / 3));
  Polygons polygons;
  polygons.corners.reserve(3 * triangles.size());
  polygons.starts.reserve(triangles.size() + 1);
  for (const Triangle& triangle : triangles) polygons.add(triangle);
  return make_mesh(std::move(positions), std::move(polygons));
}

}  // namespace sinew
