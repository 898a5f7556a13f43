#include <sinew/geometry/remesh.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include <sinew/core/error.h>
#include <sinew/core/parallel.h>
#include <sinew/geometry/triangulation.h>

namespace sinew {

namespace {

// Botsch and Kobbelt 2004, §4: with these two limits splits and collapses do not undo each other.
constexpr double kLongest = 4.0 / 3;
constexpr double kShortest = 4.0 / 5;
constexpr std::size_t kVerticesPerRemeshTask = 512;
// Vertices that the first stage works with; finer meshes start from its result, four times as fine each time.
constexpr std::size_t kFirstStage = 40'000;

class Remesher {
 public:
  Remesher(const IsoSurface& start, const SolidFunction& solid)
      : solid_(solid), mesh_(start.positions.size(), start.triangles), positions_(start.positions) {
    sizes_.resize(positions_.size());
    normals_.resize(positions_.size());
    moved_.resize(positions_.size());
    for_all_vertices(
        [&](std::uint32_t v) { moved_[v] = on_surface(v, positions_[v], 0.25 * start_edge(v)); });
    std::swap(positions_, moved_);
  }

  void run(std::size_t vertices, const Progress& progress) {
    std::vector<std::size_t> stages{std::min(vertices, kFirstStage)};
    while (stages.back() < vertices) stages.push_back(std::min(vertices, 4 * stages.back()));
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
      const int rounds = stage == 0 ? 8 : 4;
      if (stage > 0) renumber();
      set_scale(stages[stage]);
      for (int round = 0; round < rounds; ++round) {
        split_long_edges();
        collapse_short_edges();
        flip_towards_six();
        relax();
        // The count follows the square of the scale; what is left is settled one by one below.
        scale_ *= std::sqrt(static_cast<double>(mesh_.vertex_count()) / static_cast<double>(stages[stage]));
        report_progress(progress, (static_cast<double>(stage) + static_cast<double>(round) / rounds) /
                                      static_cast<double>(stages.size()));
      }
    }
    // The last few: exact count, good angles. Each round works only where the one before changed something.
    meet_count(vertices);
    renumber();
    for (int i = 0; i < 3; ++i) {
      flip_to_delaunay();
      relax();
    }
    for (int round = 0; round < 8; ++round) {
      active_.assign(mesh_.vertex_slots(), 0);
      if (!remove_bad_triangles()) break;
      meet_count(vertices);
      spread_activity(3);
      for (int i = 0; i < 3; ++i) {
        flip_to_delaunay();
        relax();
      }
    }
    active_.clear();
    flip_to_delaunay();
    refuse_slivers();
    renumber();
    report_progress(progress, 1);
  }

  IsoSurface result() const {
    IsoSurface surface;
    std::vector<std::uint32_t> kept;
    surface.triangles = mesh_.compact(kept);
    surface.positions.reserve(kept.size());
    for (const std::uint32_t v : kept) surface.positions.push_back(positions_[v]);
    return surface;
  }

 private:
  using Corner = std::uint32_t;

  template <class Body>
  void for_all_vertices(const Body& body) const {
    parallel_blocks(mesh_.vertex_slots(), kVerticesPerRemeshTask, [&](std::size_t begin, std::size_t end) {
      for (std::size_t v = begin; v < end; ++v)
        if (mesh_.corner_at(static_cast<std::uint32_t>(v)) != Triangulation::kNone)
          body(static_cast<std::uint32_t>(v));
    });
  }

  template <class Body>
  void for_corners_at(std::uint32_t v, const Body& body) const {
    const Corner first = mesh_.corner_at(v);
    Corner c = first;
    do {
      body(c);
      c = mesh_.swing(c);
    } while (c != first);
  }

  /// Whether c stands for a live edge, each edge once.
  bool is_edge(Corner c) const { return mesh_.vertex(c) != Triangulation::kNone && c < mesh_.opposite(c); }
  bool is_active(std::uint32_t v) const { return active_.empty() || active_[v] != 0; }
  void set_active(std::uint32_t v) {
    if (!active_.empty()) active_[v] = 1;
  }

  /// Gives away the places of collapsed vertices and puts neighbours in space next to each other in memory
  /// (along a Morton curve): faster here, and for all who use the mesh.
  void renumber() {
    std::vector<std::uint32_t> kept;
    std::vector<Triangle> triangles = mesh_.compact(kept);
    const std::vector<std::uint32_t> order = spatial_order(kept);
    std::vector<std::uint32_t> place(kept.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    const auto reorder = [&](auto& values) {
      auto sorted = values;
      sorted.resize(order.size());
      for (std::size_t i = 0; i < order.size(); ++i) sorted[i] = values[kept[order[i]]];
      values = std::move(sorted);
    };
    reorder(positions_);
    reorder(sizes_);
    reorder(normals_);
    moved_.resize(order.size());
    for (Triangle& t : triangles) {
      for (std::uint32_t& v : t) v = place[v];
      // The smallest corner first, so that triangles sort by place.
      std::rotate(t.begin(), std::min_element(t.begin(), t.end()), t.end());
    }
    std::sort(triangles.begin(), triangles.end());
    mesh_ = Triangulation(order.size(), triangles);
  }

  std::vector<std::uint32_t> spatial_order(const std::vector<std::uint32_t>& kept) const {
    Eigen::AlignedBox3d box;
    for (const std::uint32_t v : kept) box.extend(positions_[v]);
    const double cell = std::max(box.sizes().maxCoeff(), 1e-300) / ((1 << 20) - 1);
    const auto spread_bits = [](std::uint64_t x) {
      // 20 bits, two zeros after each.
      x = (x | x << 32) & 0x1f00000000ffff;
      x = (x | x << 16) & 0x1f0000ff0000ff;
      x = (x | x << 8) & 0x100f00f00f00f00f;
      x = (x | x << 4) & 0x10c30c30c30c30c3;
      return (x | x << 2) & 0x1249249249249249;
    };
    std::vector<std::pair<std::uint64_t, std::uint32_t>> codes;
    for (std::uint32_t i = 0; i < kept.size(); ++i) {
      const Vec3d at = (positions_[kept[i]] - box.min()) / cell;
      codes.emplace_back(spread_bits(static_cast<std::uint64_t>(at.x())) |
                             spread_bits(static_cast<std::uint64_t>(at.y())) << 1 |
                             spread_bits(static_cast<std::uint64_t>(at.z())) << 2,
                         i);
    }
    std::sort(codes.begin(), codes.end());
    std::vector<std::uint32_t> order;
    for (const auto& code : codes) order.push_back(code.second);
    return order;
  }

  void spread_activity(int rings) {
    for (int ring = 0; ring < rings; ++ring) {
      const std::vector<char> before = active_;
      for (Corner c = 0; c < mesh_.corner_count(); ++c)
        if (mesh_.vertex(c) != Triangulation::kNone && before[mesh_.vertex(c)] != 0) active_[tail(c)] = 1;
    }
  }

  std::uint32_t tail(Corner c) const { return mesh_.vertex(Triangulation::next(c)); }
  std::uint32_t head(Corner c) const { return mesh_.vertex(Triangulation::previous(c)); }
  double length(Corner c) const { return (positions_[tail(c)] - positions_[head(c)]).norm(); }
  /// The edge's length in units of what is wanted there.
  double relative_length(Corner c) const {
    return length(c) / (0.5 * scale_ * (sizes_[tail(c)] + sizes_[head(c)]));
  }
  double start_edge(std::uint32_t v) const {
    double sum = 0;
    int count = 0;
    for_corners_at(v, [&](Corner c) {
      sum += (positions_[mesh_.vertex(Triangulation::next(c))] - positions_[v]).norm();
      ++count;
    });
    return sum / count;
  }

  /// Newton's method along the gradient, no farther than `farthest` in all, so that a vertex does not jump to
  /// another limb. Also notes the wanted edge length and the normal.
  Vec3d on_surface(std::uint32_t v, Vec3d p, double farthest) {
    SolidSample sample;
    double left = farthest;
    for (int step = 0; step < 6; ++step) {
      sample = solid_(p);
      const double slope = sample.gradient.squaredNorm();
      if (!(slope > 1e-12)) break;
      Vec3d move = -sample.value / slope * sample.gradient;
      const double distance = move.norm();
      if (distance < 1e-5 * farthest || left <= 0) break;
      if (distance > left) move *= left / distance;
      left -= distance;
      p += move;
    }
    sizes_[v] = sample.edge_length;
    normals_[v] = sample.gradient.stableNormalized();
    return p;
  }

  void set_scale(std::size_t vertices) {
    // An equilateral triangulation with edges h has one vertex per h² √3/2.
    double wanted = 0;
    for (std::uint32_t t = 0; t < mesh_.corner_count() / 3; ++t) {
      if (!mesh_.triangle_lives(t)) continue;
      const std::uint32_t a = mesh_.vertex(3 * t), b = mesh_.vertex(3 * t + 1), c = mesh_.vertex(3 * t + 2);
      const double area = 0.5 * normal_of(positions_[a], positions_[b], positions_[c]).norm();
      const double size = (sizes_[a] + sizes_[b] + sizes_[c]) / 3;
      wanted += area / (size * size * std::numbers::sqrt3 / 2);
    }
    scale_ = std::sqrt(wanted / static_cast<double>(vertices));
  }

  static Vec3d normal_of(const Vec3d& a, const Vec3d& b, const Vec3d& c) { return (b - a).cross(c - a); }

  void split_edge(Corner c) {
    const std::uint32_t a = tail(c), b = head(c);
    const std::uint32_t v = mesh_.split(c);
    positions_.push_back(0.5 * (positions_[a] + positions_[b]));
    sizes_.push_back(0.5 * (sizes_[a] + sizes_[b]));
    normals_.push_back((normals_[a] + normals_[b]).stableNormalized());
    moved_.emplace_back();
    if (!active_.empty()) active_.push_back(1);
    for (const std::uint32_t end : {a, b}) set_active(end);
    positions_[v] = on_surface(v, positions_[v], 0.25 * (positions_[a] - positions_[b]).norm());
  }

  /// Longest first: in any other order the edges that splits make would be split again and again.
  void split_long_edges() {
    struct Edge {
      double relative;
      Corner corner;
      std::uint32_t tail, head;
    };
    std::vector<Edge> edges;
    // Each round halves the longest edges; more rounds than these mean that the surface defies it.
    for (int round = 0; round < 12; ++round) {
      edges.clear();
      for (Corner c = 0; c < mesh_.corner_count(); ++c)
        if (is_edge(c) && relative_length(c) > kLongest)
          edges.push_back({relative_length(c), c, tail(c), head(c)});
      std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
        return a.relative != b.relative ? a.relative > b.relative : a.corner < b.corner;
      });
      for (const Edge& edge : edges)
        if (tail(edge.corner) == edge.tail && head(edge.corner) == edge.head) split_edge(edge.corner);
      if (edges.empty()) return;
    }
  }

  /// Whether the triangles round `v` still face their way, without becoming slivers, when it moves to `p`;
  /// those that hold `other` are left out.
  bool may_move(std::uint32_t v, const Vec3d& p, std::uint32_t other, double longest) const {
    bool fine = true;
    for_corners_at(v, [&](Corner c) {
      const std::uint32_t a = mesh_.vertex(Triangulation::next(c)),
                          b = mesh_.vertex(Triangulation::previous(c));
      if (a == other || b == other) return;
      const Vec3d before = normal_of(positions_[v], positions_[a], positions_[b]);
      const Vec3d after = normal_of(p, positions_[a], positions_[b]);
      fine = fine && before.dot(after) > 0.3 * before.norm() * after.norm();
      fine = fine && (positions_[a] - p).norm() < longest * scale_ * 0.5 * (sizes_[a] + sizes_[v]);
    });
    return fine;
  }

  bool collapse_edge(Corner c, double longest) {
    const std::uint32_t a = tail(c), b = head(c);
    const Vec3d middle = 0.5 * (positions_[a] + positions_[b]);
    if (!mesh_.can_collapse(c) || !may_move(a, middle, b, longest) || !may_move(b, middle, a, longest))
      return false;
    mesh_.collapse(c);
    sizes_[b] = 0.5 * (sizes_[a] + sizes_[b]);
    normals_[b] = (normals_[a] + normals_[b]).stableNormalized();
    positions_[b] = middle;
    set_active(b);
    return true;
  }

  void collapse_short_edges() {
    for (Corner c = 0; c < mesh_.corner_count(); ++c)
      if (is_edge(c) && relative_length(c) < kShortest) collapse_edge(c, kLongest);
  }

  /// Whether turning the edge keeps the surface's shape: the two new triangles face where the old ones did.
  bool flip_keeps_shape(Corner c) const {
    const Vec3d& v = positions_[mesh_.vertex(c)];
    const Vec3d& w = positions_[mesh_.vertex(mesh_.opposite(c))];
    const Vec3d &a = positions_[tail(c)], &b = positions_[head(c)];
    const Vec3d old_1 = normal_of(v, a, b), old_2 = normal_of(w, b, a);
    const Vec3d new_1 = normal_of(v, a, w), new_2 = normal_of(w, b, v);
    const Vec3d mean = old_1.stableNormalized() + old_2.stableNormalized();
    const double limit = 0.4 * mean.norm();
    return new_1.dot(mean) > limit * new_1.norm() && new_2.dot(mean) > limit * new_2.norm() &&
           new_1.dot(new_2) > 0.3 * new_1.norm() * new_2.norm();
  }

  void flip_towards_six() {
    for (Corner c = 0; c < mesh_.corner_count(); ++c) {
      if (!is_edge(c)) continue;
      const int a = mesh_.valence(tail(c)), b = mesh_.valence(head(c));
      const int v = mesh_.valence(mesh_.vertex(c)), w = mesh_.valence(mesh_.vertex(mesh_.opposite(c)));
      const auto off = [](int valence) { return (valence - 6) * (valence - 6); };
      const int gain = off(a) + off(b) + off(v) + off(w) - off(a - 1) - off(b - 1) - off(v + 1) - off(w + 1);
      if (gain > 0 && mesh_.can_flip(c) && flip_keeps_shape(c)) mesh_.flip(c);
    }
  }

  /// cot of the angle at p in the triangle (p a b).
  static double cotangent(const Vec3d& p, const Vec3d& a, const Vec3d& b) {
    const double double_area = normal_of(p, a, b).norm();
    return (a - p).dot(b - p) / std::max(double_area, 1e-300);
  }

  void flip_to_delaunay() {
    for (int sweep = 0; sweep < 3; ++sweep) {
      std::size_t flips = 0;
      for (Corner c = 0; c < mesh_.corner_count(); ++c) {
        if (!is_edge(c) || !is_active(tail(c)) || !is_active(head(c))) continue;
        const Vec3d &a = positions_[tail(c)], &b = positions_[head(c)];
        const double sum = cotangent(positions_[mesh_.vertex(c)], a, b) +
                           cotangent(positions_[mesh_.vertex(mesh_.opposite(c))], a, b);
        if (sum < -1e-3 && mesh_.can_flip(c) && flip_keeps_shape(c)) {
          mesh_.flip(c);
          ++flips;
        }
      }
      if (flips == 0) return;
    }
  }

  /// Moves every vertex within its tangent plane to the centroid of its triangles, weighted by how many
  /// vertices belong there (Dunyach et al. 2013, eq. 4), then back onto the surface.
  void relax() {
    for_all_vertices([&](std::uint32_t v) {
      moved_[v] = positions_[v];
      if (!is_active(v)) return;
      Vec3d centroid = Vec3d::Zero();
      double total = 0;
      for_corners_at(v, [&](Corner c) {
        const std::uint32_t a = mesh_.vertex(Triangulation::next(c)),
                            b = mesh_.vertex(Triangulation::previous(c));
        const double size = (sizes_[v] + sizes_[a] + sizes_[b]) / 3;
        const double weight =
            normal_of(positions_[v], positions_[a], positions_[b]).norm() / (size * size * size * size);
        centroid += weight * (positions_[v] + positions_[a] + positions_[b]) / 3;
        total += weight;
      });
      if (!(total > 0)) return;
      Vec3d move = centroid / total - positions_[v];
      move -= move.dot(normals_[v]) * normals_[v];
      moved_[v] += move;
    });
    for_all_vertices([&](std::uint32_t v) {
      if (is_active(v)) moved_[v] = on_surface(v, moved_[v], 0.25 * scale_ * sizes_[v]);
    });
    std::swap(positions_, moved_);
  }

  /// Splits the relatively longest or collapses the relatively shortest edges until the count is right.
  void meet_count(std::size_t vertices) {
    while (mesh_.vertex_count() != vertices) {
      const bool too_few = mesh_.vertex_count() < vertices;
      std::vector<std::pair<double, Corner>> edges;
      for (Corner c = 0; c < mesh_.corner_count(); ++c)
        if (is_edge(c)) edges.emplace_back(relative_length(c), c);
      std::sort(edges.begin(), edges.end());
      if (too_few) std::reverse(edges.begin(), edges.end());
      // An edge next to one that has just changed is left for the next sweep.
      std::vector<bool> touched(mesh_.vertex_slots(), false);
      const auto touch = [&](std::uint32_t v) {
        for_corners_at(v, [&](Corner c) { touched[mesh_.vertex(Triangulation::next(c))] = true; });
        touched[v] = true;
      };
      const std::size_t before = mesh_.vertex_count();
      double worst = edges.front().first;
      for (const auto& [relative, c] : edges) {
        if (mesh_.vertex_count() == vertices) break;
        // Spread over several sweeps, so that edges far from the worst stay as they are.
        if (mesh_.vertex_count() != before && (too_few ? relative < 0.8 * worst : relative > 1.25 * worst))
          break;
        if (!is_edge(c)) continue;
        const std::uint32_t a = tail(c), b = head(c);
        if (touched[a] || touched[b]) continue;
        // The worst that may change at all sets the measure.
        if (mesh_.vertex_count() == before) worst = relative;
        if (too_few) {
          split_edge(c);
          touched.resize(mesh_.vertex_slots(), true);
          touch(a);
          touch(b);
        } else if (collapse_edge(c, 10)) {
          touch(b);
        }
      }
      if (mesh_.vertex_count() == before) throw_too_few();
    }
  }

  /// Collapses the shortest edge of triangles with an angle below 25°. Gives whether one could be.
  bool remove_bad_triangles() {
    bool any = false;
    for (Corner c = 0; c < mesh_.corner_count(); ++c)
      // The edge that faces a sharp angle is the triangle's shortest.
      if (mesh_.vertex(c) != Triangulation::kNone && is_sharper(c, 25)) any = collapse_edge(c, 2) || any;
    return any;
  }

  bool is_sharper(Corner c, double degrees) const {
    return cotangent(positions_[mesh_.vertex(c)], positions_[tail(c)], positions_[head(c)]) >
           1 / std::tan(degrees * std::numbers::pi / 180);
  }

  void refuse_slivers() const {
    for (Corner c = 0; c < mesh_.corner_count(); ++c)
      if (mesh_.vertex(c) != Triangulation::kNone && is_sharper(c, 3)) throw_too_few();
  }

  [[noreturn]] static void throw_too_few() {
    throw Error("remesh: so few vertices cannot show this shape; ask for more");
  }

  const SolidFunction& solid_;
  Triangulation mesh_;
  std::vector<Vec3d> positions_;
  std::vector<double> sizes_;
  std::vector<Vec3d> normals_;
  std::vector<Vec3d> moved_;
  std::vector<char> active_;  // per vertex: whether to work on it; empty: all
  double scale_ = 1;
};

}  // namespace

IsoSurface remesh(const IsoSurface& start, const SolidFunction& solid, std::size_t vertices,
                  const Progress& progress) {
  if (vertices < 12) throw Error("remesh: needs at least 12 vertices");
  Remesher remesher(start, solid);
  remesher.run(vertices, progress);
  return remesher.result();
}

}  // namespace sinew
