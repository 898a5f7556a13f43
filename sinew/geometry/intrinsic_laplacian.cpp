#include <sinew/geometry/intrinsic_laplacian.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <sinew/core/index.h>
#include <sinew/core/parallel.h>
#include <sinew/geometry/disjoint_sets.h>
#include <sinew/geometry/topology.h>

// Sharp & Crane 2020, "A Laplacian for Nonmanifold Triangle Meshes": lengths are mollified, every
// triangle gets a front and a back copy, the copies are glued to an edge-manifold double cover, edges are
// flipped until it is Delaunay, and its cotangent Laplacian is halved.
//
// Differs: interior edges with two triangles of one winding are first flipped on the single surface. The
// cover of the result is then already Delaunay unless a pair of sides to be glued is not, so most surfaces
// never need it. Both ways end in the Delaunay triangulation of the same cover, which is unique up to edges
// of weight zero. Mollification is per connected component, so that a small part is not judged by a large
// one's edges.

namespace sinew {

namespace {

constexpr std::size_t kEdgesPerTask = 2048;

// Relative to 1 and the sizes of the two cotangents: an edge whose cotangents sum to less than -kFlipBelow is
// flipped, and reported when after all flips the sum is still less than -kReportBelow. In between lies what
// rounding can do to flat triangles.
constexpr double kFlipBelow = 1e-12;
constexpr double kReportBelow = 1e-7;

// ---- Sides: side 3 t + k of triangle t runs from its corner k to the next. ----

struct SideVertices {
  std::uint32_t from, to, opposite;
  bool rises() const { return from < to; }
};

SideVertices vertices_of(std::span<const Triangle> triangles, std::uint32_t side) {
  const Triangle& f = triangles[side / 3];
  const std::uint32_t k = side % 3;
  return {f[k], f[k == 2 ? 0 : k + 1], f[k == 0 ? 2 : k - 1]};
}

// Stable. For many short lists, of which most are nearly sorted.
template <class T, class Less>
void sort_short(std::span<T> list, const Less& less) {
  if (list.size() > 64) {
    std::stable_sort(list.begin(), list.end(), less);
    return;
  }
  for (std::size_t i = 1; i < list.size(); ++i) {
    const T item = list[i];
    std::size_t place = i;
    for (; place > 0 && less(item, list[place - 1]); --place) list[place] = list[place - 1];
    list[place] = item;
  }
}

// The sides of all triangles, grouped by edge: by lower vertex, higher vertex, number.
struct SortedSides {
  std::vector<std::uint64_t> keys;    // higher vertex, side
  std::vector<std::uint32_t> starts;  // per lower vertex, and the end

  // Calls body(low, high, sides of the edge) for every edge in order.
  template <class Body>
  void for_each_edge(const Body& body) const {
    std::vector<std::uint32_t> sides;
    for (std::uint32_t low = 0; low + 1 < starts.size(); ++low)
      for (std::uint32_t i = starts[low]; i < starts[low + 1];) {
        const auto high = static_cast<std::uint32_t>(keys[i] >> 32);
        sides.clear();
        for (; i < starts[low + 1] && keys[i] >> 32 == high; ++i)
          sides.push_back(static_cast<std::uint32_t>(keys[i]));
        body(low, high, std::span<std::uint32_t>(sides));
      }
  }
};

SortedSides sort_sides(std::size_t vertex_count, std::span<const Triangle> triangles) {
  SortedSides sorted;
  // Counted two places on, then shifted by the filling pass, the starts need no second array.
  sorted.starts.assign(vertex_count + 2, 0);
  for (const Triangle& f : triangles) {
    ++sorted.starts[std::min(f[0], f[1]) + 2];
    ++sorted.starts[std::min(f[1], f[2]) + 2];
    ++sorted.starts[std::min(f[2], f[0]) + 2];
  }
  for (std::size_t v = 2; v < sorted.starts.size(); ++v) sorted.starts[v] += sorted.starts[v - 1];
  sorted.keys.resize(3 * triangles.size());
  for (std::uint32_t t = 0; t < triangles.size(); ++t)
    for (std::uint32_t k = 0; k < 3; ++k) {
      const std::uint32_t from = triangles[t][k], to = triangles[t][k == 2 ? 0 : k + 1];
      sorted.keys[sorted.starts[std::min(from, to) + 1]++] =
          static_cast<std::uint64_t>(std::max(from, to)) << 32 | (3 * t + k);
    }
  sorted.starts.pop_back();
  for (std::size_t v = 0; v < vertex_count; ++v)
    sort_short(std::span(sorted.keys).subspan(sorted.starts[v], sorted.starts[v + 1] - sorted.starts[v]),
               std::less<>());
  return sorted;
}

// Per triangle: it has the three vertices of an earlier one. Such two share every edge.
std::vector<bool> find_duplicates(const SortedSides& sorted, std::span<const Triangle> triangles) {
  std::vector<bool> duplicate;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> opposites;  // opposite vertex, triangle
  sorted.for_each_edge([&](std::uint32_t, std::uint32_t, std::span<const std::uint32_t> sides) {
    if (sides.size() < 2) return;
    if (sides.size() == 2 &&
        vertices_of(triangles, sides[0]).opposite != vertices_of(triangles, sides[1]).opposite)
      return;
    opposites.clear();
    for (const std::uint32_t side : sides)
      opposites.emplace_back(vertices_of(triangles, side).opposite, side / 3);
    std::sort(opposites.begin(), opposites.end());
    for (std::size_t i = 1; i < opposites.size(); ++i)
      if (opposites[i].first == opposites[i - 1].first) {
        duplicate.resize(triangles.size());
        duplicate[opposites[i].second] = true;
      }
  });
  return duplicate;
}

// Sorts the sides of an edge by the direction in which their triangles leave it, counter-clockwise seen
// against the direction from low to high. Ties, and edges of no length, go by the opposite vertex.
void sort_by_angle(const MeshView& mesh, std::span<const Triangle> triangles, std::uint32_t low,
                   std::uint32_t high, std::span<std::uint32_t> sides) {
  const Vec3d origin = mesh.positions[low].cast<double>();
  const Vec3d along = mesh.positions[high].cast<double>() - origin;
  const double length = along.norm();
  const Vec3d axis = length > 0 ? Vec3d(along / length) : Vec3d(Vec3d::UnitZ());
  const Vec3d u = axis.unitOrthogonal(), v = axis.cross(u);
  struct Leaf {
    double angle;
    std::uint32_t opposite, side;
  };
  std::vector<Leaf> leaves;
  for (const std::uint32_t side : sides) {
    const std::uint32_t opposite = vertices_of(triangles, side).opposite;
    const Vec3d arm = mesh.positions[opposite].cast<double>() - origin;
    leaves.push_back({length > 0 ? std::atan2(v.dot(arm), u.dot(arm)) : 0.0, opposite, side});
  }
  std::sort(leaves.begin(), leaves.end(), [](const Leaf& a, const Leaf& b) {
    return a.angle != b.angle ? a.angle < b.angle : a.opposite < b.opposite;
  });
  for (std::size_t i = 0; i < sides.size(); ++i) sides[i] = leaves[i].side;
}

// ---- Intrinsic triangles ----

// 4 × the area of a triangle, from its edge lengths, by Kahan's order of operations. 0 when they are no
// triangle's.
double four_areas(double a, double b, double c) {
  // Which edge is longest is a coin toss that branches would mispredict.
  const double longer = std::max(a, b), shorter = std::min(a, b), third = std::min(longer, c);
  const double x = std::max(longer, c), y = std::max(shorter, third), z = std::min(shorter, third);
  const double square = (x + (y + z)) * (z - (x - y)) * (z + (x - y)) * (x + (y - z));
  return square > 0 ? std::sqrt(square) : 0;
}

// (b² + c² - a²): 4 × area × the cotangent opposite a.
double cosine_part(double a, double b, double c) {
  return (b - a) * (b + a) + c * c;
}

// Half-edge 2 e + s is side s of edge e and its twin is the other side. Half-edges keep their number when
// edges are flipped.
struct Edge {
  double length;
  double cotangent[2];      // of the angle opposite this side; 0 where no triangle is
  std::uint32_t origin[2];  // the vertex the side starts at; of both sides, even if only one has a triangle
  std::uint32_t next[2];    // half-edge, round the triangle; kNoIndex where no triangle is

  bool rim() const { return next[1] == kNoIndex; }
  double sum() const { return cotangent[0] + cotangent[1]; }
};

bool below(double cotangent, double other, double tolerance) {
  return cotangent + other < -tolerance * (1 + std::abs(cotangent) + std::abs(other));
}

class IntrinsicTriangulation {
 public:
  std::vector<Edge> edges;

  std::uint32_t& next(std::uint32_t h) { return edges[h >> 1].next[h & 1]; }
  std::uint32_t next(std::uint32_t h) const { return edges[h >> 1].next[h & 1]; }
  std::uint32_t& origin(std::uint32_t h) { return edges[h >> 1].origin[h & 1]; }
  std::uint32_t origin(std::uint32_t h) const { return edges[h >> 1].origin[h & 1]; }
  double length(std::uint32_t h) const { return edges[h >> 1].length; }
  double& cotangent(std::uint32_t h) { return edges[h >> 1].cotangent[h & 1]; }
  double cotangent(std::uint32_t h) const { return edges[h >> 1].cotangent[h & 1]; }

  // Calls body(a, b, c) with the half-edges of every triangle, a the smallest.
  template <class Body>
  void for_each_triangle(const Body& body) const {
    for (std::uint32_t a = 0; a < 2 * edges.size(); ++a) {
      const std::uint32_t b = next(a);
      if (b == kNoIndex || b < a) continue;
      const std::uint32_t c = next(b);
      if (c > a) body(a, b, c);
    }
  }

  void measure_cotangents() {
    for_each_triangle([&](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
      const double la = length(a), lb = length(b), lc = length(c);
      const double longest = std::max({la, lb, lc});
      // The floor is met only where mollification is switched off or lost in rounding.
      const double areas = std::max(four_areas(la, lb, lc), 1e-9 * longest * longest);
      cotangent(a) = cosine_part(la, lb, lc) / areas;
      cotangent(b) = cosine_part(lb, lc, la) / areas;
      cotangent(c) = cosine_part(lc, la, lb) / areas;
    });
  }

  // Flips edges until none is left to flip, or `limit` flips were made. Returns how many were.
  std::size_t make_delaunay(std::size_t limit) {
    std::vector<std::uint32_t> todo;
    for (std::size_t e = edges.size(); e-- > 0;)
      if (wants_flip(edges[e])) todo.push_back(static_cast<std::uint32_t>(e));
    if (todo.empty()) return 0;
    std::vector<bool> queued(edges.size());
    for (const std::uint32_t e : todo) queued[e] = true;
    std::size_t flips = 0;
    while (!todo.empty() && flips < limit) {
      const std::uint32_t e = todo.back();
      todo.pop_back();
      queued[e] = false;
      if (!wants_flip(edges[e]) || !flip(2 * e)) continue;
      ++flips;
      for (const std::uint32_t side : {2 * e, 2 * e + 1}) {
        const std::uint32_t second = next(side), third = next(second);
        for (const std::uint32_t neighbour : {second >> 1, third >> 1})
          if (!queued[neighbour] && wants_flip(edges[neighbour])) {
            queued[neighbour] = true;
            todo.push_back(neighbour);
          }
      }
    }
    return flips;
  }

 private:
  static bool wants_flip(const Edge& edge) {
    return edge.sum() < 0 && !edge.rim() && below(edge.cotangent[0], edge.cotangent[1], kFlipBelow);
  }

  // Half-edge ij with the triangles ijk and jil becomes lk. Refuses where both sides are in one triangle, or
  // where rounding leaves no improvement, without which two flips could follow each other for ever.
  bool flip(std::uint32_t ij) {
    const std::uint32_t ji = ij ^ 1;
    const std::uint32_t jk = next(ij), ki = next(jk), il = next(ji), lj = next(il);
    if (ji == jk || ji == ki) return false;
    const double base = length(ij), b = length(jk), a = length(ki), d = length(il), c = length(lj);
    // In a plane with ij on the x axis; 2 × base × the difference of k and l.
    const double dx = (a - b) * (a + b) - (d - c) * (d + c);
    const double dy = four_areas(base, a, b) + four_areas(base, c, d);
    const double length_lk = std::sqrt(dx * dx + dy * dy) / (2 * base);
    const double areas_i = four_areas(length_lk, a, d), areas_j = four_areas(length_lk, b, c);
    if (!(areas_i > 0 && areas_j > 0)) return false;
    const double at_i = cosine_part(length_lk, a, d) / areas_i;
    const double at_j = cosine_part(length_lk, b, c) / areas_j;
    if (!(at_i + at_j > edges[ij >> 1].sum() && std::isfinite(at_i + at_j))) return false;

    const std::uint32_t k = origin(ki), l = origin(lj);
    const std::uint32_t lk = ij, kl = ji;
    edges[lk >> 1].length = length_lk;
    origin(lk) = l;
    origin(kl) = k;
    next(il) = lk;
    next(lk) = ki;
    next(ki) = il;
    next(jk) = kl;
    next(kl) = lj;
    next(lj) = jk;
    cotangent(lk) = at_i;
    cotangent(ki) = cosine_part(a, d, length_lk) / areas_i;
    cotangent(il) = cosine_part(d, length_lk, a) / areas_i;
    cotangent(kl) = at_j;
    cotangent(lj) = cosine_part(c, length_lk, b) / areas_j;
    cotangent(jk) = cosine_part(b, c, length_lk) / areas_j;
    return true;
  }
};

// Calls body(first, count) for the edges [first, first + count) that are the rims at one edge of the mesh, in
// the order round it.
template <class Body>
void for_each_rim_group(const std::vector<Edge>& edges, const Body& body) {
  const auto ends = [](const Edge& edge) { return std::minmax(edge.origin[0], edge.origin[1]); };
  for (std::uint32_t e = 0; e < edges.size();) {
    if (!edges[e].rim()) {
      ++e;
      continue;
    }
    std::uint32_t end = e + 1;
    while (end < edges.size() && edges[end].rim() && ends(edges[end]) == ends(edges[e])) ++end;
    body(e, end - e);
    e = end;
  }
}

// The double cover of those components whose edges are `doubled`.
template <class Doubled>
IntrinsicTriangulation double_cover(const IntrinsicTriangulation& sheet, const Doubled& doubled) {
  // Which half-edge of the cover a half-edge's front copy and its back copy become. The back copy runs the
  // other way round its triangle.
  std::vector<std::uint32_t> front(2 * sheet.edges.size(), kNoIndex), back(2 * sheet.edges.size(), kNoIndex);
  std::uint32_t count = 0;
  for (std::uint32_t e = 0; e < sheet.edges.size(); ++e) {
    const Edge& edge = sheet.edges[e];
    if (edge.rim() || !doubled(edge)) continue;
    for (const std::uint32_t s : {0u, 1u}) {
      front[2 * e + s] = 2 * count + s;
      back[2 * e + s] = 2 * (count + 1) + s;
    }
    count += 2;
  }
  // Round an edge, each triangle's copy that faces the next triangle is glued to that one's copy that
  // faces this one. With triangles in counter-clockwise order the former rises from low to high, the latter
  // falls.
  for_each_rim_group(sheet.edges, [&](std::uint32_t first, std::uint32_t size) {
    if (!doubled(sheet.edges[first])) return;
    for (std::uint32_t i = 0; i < size; ++i) {
      const Edge& edge = sheet.edges[first + i];
      const std::uint32_t rising = 2 * (count + i), falling = 2 * (count + (i == 0 ? size : i) - 1) + 1;
      const bool rises = edge.origin[0] < edge.origin[1];
      front[2 * (first + i)] = rises ? rising : falling;
      back[2 * (first + i)] = rises ? falling : rising;
    }
    count += size;
  });

  IntrinsicTriangulation cover;
  cover.edges.resize(count);
  for (std::uint32_t h = 0; h < front.size(); ++h) {
    if (front[h] == kNoIndex) continue;
    for (const std::uint32_t copy : {front[h], back[h]}) {
      cover.edges[copy >> 1].length = sheet.length(h);
      cover.cotangent(copy) = sheet.cotangent(h);
    }
    cover.origin(front[h]) = sheet.origin(h);
    cover.next(front[h]) = front[sheet.next(h)];
    cover.origin(back[h]) = sheet.origin(h ^ 1);
    cover.next(back[h]) = back[sheet.next(sheet.next(h))];
  }
  return cover;
}

// ---- Matrix ----

struct MatrixEntry {
  int row;
  double weight;
};

// Sorts a column and sums what stands in one row, in place. Returns how many rows are left.
std::size_t merge(std::span<MatrixEntry> column) {
  // Edges come in the order of the mesh's, so that only flipped ones are out of place.
  sort_short(column, [](const MatrixEntry& a, const MatrixEntry& b) { return a.row < b.row; });
  std::size_t kept = 0;
  for (const MatrixEntry& entry : column) {
    if (kept > 0 && column[kept - 1].row == entry.row)
      column[kept - 1].weight += entry.weight;
    else
      column[kept++] = entry;
  }
  return kept;
}

// The matrix L = D - W from weights of edges. MatrixEntry (i, j) and entry (j, i) add the same numbers in the
// same order, so it is symmetric to the bit.
class LaplacianBuilder {
 public:
  explicit LaplacianBuilder(std::size_t vertex_count) : starts_(vertex_count + 2, 0) {}

  // Every edge is counted once, then counted() called, then every edge added in the same order.
  void count(const Edge& edge) {
    if (edge.origin[0] == edge.origin[1]) return;
    ++starts_[edge.origin[0] + 2];
    ++starts_[edge.origin[1] + 2];
  }
  void counted() {
    for (std::size_t v = 2; v < starts_.size(); ++v) starts_[v] += starts_[v - 1];
    entries_.resize(starts_.back());
  }
  void add(const Edge& edge, double factor) {
    const std::uint32_t i = edge.origin[0], j = edge.origin[1];
    if (i == j) return;  // Flips on the cover make loops, which a Laplacian does not feel.
    const double weight = factor * edge.sum();
    entries_[starts_[i + 1]++] = {static_cast<int>(j), weight};
    entries_[starts_[j + 1]++] = {static_cast<int>(i), weight};
  }

  Eigen::SparseMatrix<double> build() {
    const std::size_t n = starts_.size() - 2;
    std::vector<int> places(n + 1, 0);
    parallel_blocks(n, kEdgesPerTask, [&](std::size_t begin, std::size_t end) {
      for (std::size_t v = begin; v < end; ++v) places[v + 1] = static_cast<int>(merge(column(v)) + 1);
    });
    for (std::size_t v = 0; v < n; ++v) places[v + 1] += places[v];

    Eigen::SparseMatrix<double> laplacian(static_cast<Eigen::Index>(n), static_cast<Eigen::Index>(n));
    laplacian.resizeNonZeros(places.back());
    std::copy(places.begin(), places.end(), laplacian.outerIndexPtr());
    int* const rows = laplacian.innerIndexPtr();
    double* const values = laplacian.valuePtr();
    parallel_blocks(n, kEdgesPerTask, [&](std::size_t begin, std::size_t end) {
      for (std::size_t v = begin; v < end; ++v) {
        int place = places[v], diagonal_place = place;
        double diagonal = 0;
        const auto kept = to_size(places[v + 1] - places[v] - 1);
        for (const MatrixEntry& entry : column(v).first(kept)) {
          if (entry.row < static_cast<int>(v)) ++diagonal_place;
          if (place == diagonal_place) ++place;
          // Below 0 by rounding, or where flips ran out.
          const double weight = std::max(entry.weight, 0.0);
          rows[place] = entry.row;
          values[place] = 0.0 - weight;
          diagonal += weight;
          ++place;
        }
        rows[diagonal_place] = static_cast<int>(v);
        values[diagonal_place] = diagonal;
      }
    });
    return laplacian;
  }

 private:
  std::span<MatrixEntry> column(std::size_t v) {
    return std::span(entries_).subspan(starts_[v], starts_[v + 1] - starts_[v]);
  }

  std::vector<std::uint32_t> starts_;
  std::vector<MatrixEntry> entries_;
};

// ---- From the mesh to its intrinsic triangulation ----

// The surface as it is: edges with two triangles of one winding have two sides, at all others each triangle
// has a rim of its own. Rims of one edge of the mesh stand together, in the order round it.
IntrinsicTriangulation glue(const MeshView& mesh, IntrinsicLaplacian& report) {
  std::vector<Triangle> triangles(mesh.triangles.begin(), mesh.triangles.end());
  report.repeated_corner_triangles = std::erase_if(triangles, repeats_corner);
  SortedSides sorted = sort_sides(mesh.positions.size(), triangles);
  if (const std::vector<bool> duplicate = find_duplicates(sorted, triangles); !duplicate.empty()) {
    std::size_t kept = 0;
    for (std::size_t t = 0; t < triangles.size(); ++t)
      if (!duplicate[t]) triangles[kept++] = triangles[t];
    report.duplicate_triangles = triangles.size() - kept;
    triangles.resize(kept);
    sorted = sort_sides(mesh.positions.size(), triangles);
  }

  IntrinsicTriangulation sheet;
  sheet.edges.reserve(3 * triangles.size() / 2 + triangles.size() / 8);
  std::vector<std::uint32_t> half_edge_of_side(3 * triangles.size());
  sorted.for_each_edge([&](std::uint32_t low, std::uint32_t high, std::span<std::uint32_t> sides) {
    const auto e = static_cast<std::uint32_t>(sheet.edges.size());
    if (sides.size() == 2) {
      const bool first_rises = vertices_of(triangles, sides[0]).rises();
      if (first_rises != vertices_of(triangles, sides[1]).rises()) {
        half_edge_of_side[sides[0]] = first_rises ? 2 * e : 2 * e + 1;
        half_edge_of_side[sides[1]] = first_rises ? 2 * e + 1 : 2 * e;
        sheet.edges.push_back({0, {0, 0}, {low, high}, {kNoIndex, kNoIndex}});
        return;
      }
      ++report.flipped_edges;
    } else if (sides.size() == 1) {
      ++report.boundary_edges;
    } else {
      ++report.non_manifold_edges;
      sort_by_angle(mesh, triangles, low, high, sides);
    }
    for (const std::uint32_t side : sides) {
      const SideVertices vertices = vertices_of(triangles, side);
      half_edge_of_side[side] = static_cast<std::uint32_t>(2 * sheet.edges.size());
      sheet.edges.push_back({0, {0, 0}, {vertices.from, vertices.to}, {kNoIndex, kNoIndex}});
    }
  });
  for (std::size_t side = 0; side < half_edge_of_side.size(); side += 3)
    for (std::size_t k = 0; k < 3; ++k)
      sheet.next(half_edge_of_side[side + k]) = half_edge_of_side[side + (k + 1) % 3];
  return sheet;
}

struct Component {
  double length = 0;  // of all sides of its triangles together
  std::size_t sides = 0;
  double slack = std::numeric_limits<double>::infinity();  // smallest excess of two sides over the third
  bool doubled = false;

  bool is_point() const { return length == 0; }
};

struct ComponentTable {
  std::vector<std::uint32_t> of_vertex;  // kNoIndex for vertices without triangles
  std::vector<Component> all;

  Component& operator[](const Edge& edge) { return all[of_vertex[edge.origin[0]]]; }
  const Component& operator[](const Edge& edge) const { return all[of_vertex[edge.origin[0]]]; }
};

ComponentTable find_components(std::size_t vertex_count, const IntrinsicTriangulation& sheet) {
  DisjointSets sets(vertex_count);
  for (const Edge& edge : sheet.edges) sets.join(edge.origin[0], edge.origin[1]);
  ComponentTable components;
  components.of_vertex.assign(vertex_count, kNoIndex);
  for (const Edge& edge : sheet.edges) {
    std::uint32_t& at_root = components.of_vertex[sets.find(edge.origin[0])];
    if (at_root != kNoIndex) continue;
    at_root = static_cast<std::uint32_t>(components.all.size());
    components.all.emplace_back();
  }
  // Roots are the smallest of their sets, so they are set before they are read.
  for (std::uint32_t v = 0; v < vertex_count; ++v)
    components.of_vertex[v] = components.of_vertex[sets.find(v)];
  return components;
}

// The lengths of the mesh's edges, mollified.
void measure_lengths(const MeshView& mesh, double mollification, IntrinsicTriangulation& sheet,
                     ComponentTable& components, IntrinsicLaplacian& report) {
  for (Edge& edge : sheet.edges)
    edge.length =
        (mesh.positions[edge.origin[0]].cast<double>() - mesh.positions[edge.origin[1]].cast<double>())
            .norm();
  sheet.for_each_triangle([&](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    const double la = sheet.length(a), lb = sheet.length(b), lc = sheet.length(c);
    const double longest = std::max({la, lb, lc}), around = la + lb + lc;
    Component& component = components[sheet.edges[a >> 1]];
    component.length += around;
    component.sides += 3;
    component.slack = std::min(component.slack, around - 2 * longest);
  });
  const auto longer_by = [&](const Component& component) {
    if (component.is_point()) return 1.0;
    const double mean = component.length / static_cast<double>(component.sides);
    return std::max(mollification * mean - component.slack, 0.0);
  };
  report.mollified_components = to_size(std::count_if(components.all.begin(), components.all.end(),
                                                      [&](const Component& c) { return longer_by(c) > 0; }));
  if (report.mollified_components > 0)
    for (Edge& edge : sheet.edges) edge.length += longer_by(components[edge]);
}

// Which components have rims that would be flipped once they are glued to their neighbours on the cover.
void find_doubled(const IntrinsicTriangulation& sheet, bool always, ComponentTable& components) {
  if (always)
    for (Component& component : components.all) component.doubled = true;
  for_each_rim_group(sheet.edges, [&](std::uint32_t first, std::uint32_t size) {
    for (std::uint32_t i = 0; i < size; ++i) {
      const double here = sheet.edges[first + i].cotangent[0];
      const double there = sheet.edges[first + (i + 1) % size].cotangent[0];
      if (below(here, there, kFlipBelow)) components[sheet.edges[first]].doubled = true;
    }
  });
}

}  // namespace

IntrinsicLaplacian intrinsic_laplacian(const MeshView& mesh, const IntrinsicLaplacianOptions& options) {
  assert(options.mollification >= 0 && options.flips_per_edge >= 0);
  assert(mesh.positions.size() < to_size(std::numeric_limits<int>::max()));
  assert(mesh.triangles.size() < std::numeric_limits<int>::max() / 12);
  const std::size_t n = mesh.positions.size();
  IntrinsicLaplacian result;

  IntrinsicTriangulation sheet = glue(mesh, result);
  ComponentTable components = find_components(n, sheet);
  result.components = components.all.size();
  measure_lengths(mesh, options.mollification, sheet, components, result);
  sheet.measure_cotangents();
  const auto limit =
      to_size(std::min(options.flips_per_edge * static_cast<double>(sheet.edges.size()), 1e18));
  if (!options.always_double) result.flips = sheet.make_delaunay(limit);

  find_doubled(sheet, options.always_double, components);
  IntrinsicTriangulation cover;
  for (const Component& component : components.all) result.doubled_components += component.doubled;
  if (result.doubled_components > 0) {
    cover = double_cover(sheet, [&](const Edge& edge) { return components[edge].doubled; });
    result.flips += cover.make_delaunay(limit - result.flips);
  }

  // Every edge that counts, with its part: the cover has everything twice.
  const auto for_each_edge = [&](const auto& body) {
    for (const Edge& edge : sheet.edges)
      if (!components[edge].doubled) body(edge, 1.0);
    for (const Edge& edge : cover.edges) body(edge, 0.5);
  };
  LaplacianBuilder builder(n);
  for_each_edge([&](const Edge& edge, double) { builder.count(edge); });
  builder.counted();
  for_each_edge([&](const Edge& edge, double part) {
    builder.add(edge, 0.5 * part);
    if (!edge.rim() && below(edge.cotangent[0], edge.cotangent[1], kReportBelow)) ++result.non_delaunay_edges;
  });
  result.laplacian = builder.build();

  result.mass = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(n));
  double total = 0;
  const auto add_areas = [&](const IntrinsicTriangulation& triangulation, bool doubled) {
    triangulation.for_each_triangle([&](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
      const Component& component = components[triangulation.edges[a >> 1]];
      if (component.doubled != doubled || component.is_point()) return;
      const double area =
          four_areas(triangulation.length(a), triangulation.length(b), triangulation.length(c)) /
          (doubled ? 8 : 4);
      for (const std::uint32_t h : {a, b, c}) result.mass[triangulation.origin(h)] += area / 3;
      total += area;
    });
  };
  add_areas(sheet, false);
  add_areas(cover, true);
  // A large piece beside a small one must not raise the small one's floor.
  const Components pieces = connected_components(n, mesh.triangles);
  std::vector<double> piece_area(pieces.count, 0);
  std::vector<std::size_t> piece_size(pieces.count, 0);
  for (std::size_t v = 0; v < n; ++v) {
    piece_area[pieces.of_vertex[v]] += result.mass[static_cast<Eigen::Index>(v)];
    ++piece_size[pieces.of_vertex[v]];
  }
  const double mean = total > 0 ? total / static_cast<double>(n) : 1e6;
  for (std::size_t v = 0; v < n; ++v) {
    const std::uint32_t piece = pieces.of_vertex[v];
    const double own =
        piece_area[piece] > 0 ? piece_area[piece] / static_cast<double>(piece_size[piece]) : mean;
    double& mass = result.mass[static_cast<Eigen::Index>(v)];
    mass = std::max(mass, 1e-6 * own);
  }
  return result;
}

}  // namespace sinew
