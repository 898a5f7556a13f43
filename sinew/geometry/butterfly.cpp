#include <sinew/geometry/butterfly.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

namespace sinew {

namespace {

// The stencil of an extraordinary vertex takes in its whole ring, for each of its edges: the square of its
// valence in all. Hubs with more neighbours than this are treated as not smooth, which bounds it.
constexpr std::uint32_t kLargestRing = 128;

using VertexPair = std::array<std::uint32_t, 2>;

// A triangle on its way to the result.
struct Piece {
  Triangle corners;
  std::uint32_t source;
};

bool has_equal_corners(const Triangle& f) {
  return f[0] == f[1] || f[1] == f[2] || f[2] == f[0];
}

// Triangles with equal corners get level 0 and neither raise others nor are raised.
std::vector<std::uint8_t> graded_levels(std::size_t vertex_count, std::span<const Triangle> triangles,
                                        std::span<const std::uint8_t> levels) {
  std::vector<std::uint8_t> graded(levels.begin(), levels.end());
  for (std::size_t t = 0; t < triangles.size(); ++t)
    if (has_equal_corners(triangles[t])) graded[t] = 0;
  std::vector<std::uint8_t> largest(vertex_count, 0);  // per vertex
  std::uint8_t top = 0;
  const auto enter = [&](std::size_t t) {
    for (const std::uint32_t v : triangles[t]) largest[v] = std::max(largest[v], graded[t]);
    top = std::max(top, graded[t]);
  };
  for (std::size_t t = 0; t < triangles.size(); ++t)
    if (graded[t] > 0) enter(t);
  // From the top down, one pass each is enough: a pass raises to one level less, which only concerns those
  // after it.
  for (std::uint8_t level = top; level > 1; --level)
    for (std::size_t t = 0; t < triangles.size(); ++t) {
      const Triangle& f = triangles[t];
      if (graded[t] + 1 >= level || has_equal_corners(f)) continue;
      if (largest[f[0]] < level && largest[f[1]] < level && largest[f[2]] < level) continue;
      graded[t] = static_cast<std::uint8_t>(level - 1);
      enter(t);
    }
  return graded;
}

// Sources and weights of one new vertex, on their way to compact storage.
class Stencil {
 public:
  void add(std::uint32_t source, double weight) { terms_.emplace_back(source, weight); }

  void append_to(RefinedSurface& surface) {
    // By source and weight: the order in which equal sources are summed does not depend on the triangles'.
    std::sort(terms_.begin(), terms_.end());
    for (std::size_t i = 0; i < terms_.size();) {
      const std::uint32_t source = terms_[i].first;
      double weight = 0;
      for (; i < terms_.size() && terms_[i].first == source; ++i) weight += terms_[i].second;
      if (weight == 0) continue;
      surface.sources.push_back(source);
      surface.weights.push_back(weight);
    }
    surface.starts.push_back(static_cast<std::uint32_t>(surface.sources.size()));
    terms_.clear();
  }

 private:
  std::vector<std::pair<std::uint32_t, double>> terms_;
};

// Zorin et al. 1996: the ring's weights around an interior vertex of K ≠ 6 neighbours, which itself has
// 3/4; the first belongs to the far end of the edge that is halved.
std::vector<double> ring_weights(std::uint32_t valence) {
  if (valence == 3) return {5.0 / 12, -1.0 / 12, -1.0 / 12};
  if (valence == 4) return {3.0 / 8, 0, -1.0 / 8, 0};
  std::vector<double> weights(valence);
  for (std::uint32_t j = 0; j < valence; ++j) {
    // The same for both directions round, to the last bit.
    const double angle = 2 * std::numbers::pi * std::min(j, valence - j) / valence;
    weights[j] = (0.25 + std::cos(angle) + 0.5 * std::cos(2 * angle)) / valence;
  }
  return weights;
}

// The triangles of one level around those that are to be split, by edges. Complete at `busy` vertices, the
// corners of the latter; nothing else may be asked for.
class Level {
 public:
  Level(std::size_t vertex_count, std::span<const Piece> pieces, const std::vector<char>& busy,
        std::span<const VertexPair> creases)
      : first_edge_(vertex_count + 1, 0), fans_(vertex_count) {
    collect_edges(pieces, busy);
    mark_features(creases);
    measure_fans(busy);
  }

  std::size_t edge_count() const { return edges_.size(); }
  const VertexPair& edge(std::uint32_t e) const { return edges_[e]; }

  // kNoIndex when there is no such edge.
  std::uint32_t find(std::uint32_t a, std::uint32_t b) const {
    const auto [low, high] = std::minmax(a, b);
    if (std::size_t{high} + 1 >= first_edge_.size()) return kNoIndex;
    const auto begin = edges_.begin() + first_edge_[low], end = edges_.begin() + first_edge_[low + 1];
    const auto place =
        std::lower_bound(begin, end, high, [](const VertexPair& e, std::uint32_t v) { return e[1] < v; });
    return place != end && (*place)[1] == high ? static_cast<std::uint32_t>(place - edges_.begin())
                                               : kNoIndex;
  }

  void halve(std::uint32_t e, Stencil& stencil) {
    const auto [a, b] = edges_[e];
    if (is_feature_[e]) {
      halve_feature(a, b, stencil);
      return;
    }
    const bool around_a = fans_[a].ring > 0 && fans_[a].ring != 6;
    const bool around_b = fans_[b].ring > 0 && fans_[b].ring != 6;
    const double share = around_a && around_b ? 0.5 : 1;
    if (around_a) add_ring(a, b, share, stencil);
    if (around_b) add_ring(b, a, share, stencil);
    if (!around_a && !around_b) add_butterfly(e, stencil);
  }

 private:
  struct Fan {
    std::uint32_t edges = 0;
    std::uint32_t neighbour = kNoIndex;  // any
    std::uint32_t features = 0;          // how many edges are borders, creases or non-manifold
    std::uint32_t feature_ends = 0;      // their far ends, combined by exclusive or
    std::uint32_t ring = 0;              // how many neighbours a smooth interior vertex has; 0: it is none
  };

  void collect_edges(std::span<const Piece> pieces, const std::vector<char>& busy) {
    struct Side {  // of an edge: the third corner of a triangle on it
      std::uint32_t high, apex;
      bool operator==(const Side&) const = default;
      bool operator<(const Side& other) const {
        return std::tie(high, apex) < std::tie(other.high, other.apex);
      }
    };
    const auto for_each_side = [&](const auto& visit) {
      for (const Piece& piece : pieces) {
        const Triangle& f = piece.corners;
        if (!busy[f[0]] && !busy[f[1]] && !busy[f[2]]) continue;
        for (std::size_t k = 0; k < 3; ++k) {
          const auto [low, high] = std::minmax(f[k], f[(k + 1) % 3]);
          visit(low, Side{high, f[(k + 2) % 3]});
        }
      }
    };
    // Grouped by the lower end, then sorted in groups.
    std::vector<std::size_t> places(first_edge_.size() + 1, 0);
    for_each_side([&](std::uint32_t low, const Side&) { ++places[low + 2]; });
    for (std::size_t v = 2; v < places.size(); ++v) places[v] += places[v - 1];
    std::vector<Side> sides(places.back());
    for_each_side([&](std::uint32_t low, const Side& side) { sides[places[low + 1]++] = side; });
    for (std::uint32_t low = 0; low + 1 < first_edge_.size(); ++low) {
      const auto begin = sides.begin() + static_cast<std::ptrdiff_t>(places[low]);
      auto end = sides.begin() + static_cast<std::ptrdiff_t>(places[low + 1]);
      std::sort(begin, end);
      end = std::unique(begin, end);  // triangles of the same vertices count once
      for (auto side = begin; side != end; ++side) {
        if (side == begin || side->high != (side - 1)->high) {
          edges_.push_back({low, side->high});
          apex_starts_.push_back(static_cast<std::uint32_t>(apexes_.size()));
        }
        apexes_.push_back(side->apex);
      }
      first_edge_[low + 1] = static_cast<std::uint32_t>(edges_.size());
    }
    apex_starts_.push_back(static_cast<std::uint32_t>(apexes_.size()));
  }

  void mark_features(std::span<const VertexPair> creases) {
    is_feature_.assign(edges_.size(), 0);
    for (std::size_t e = 0; e < edges_.size(); ++e)
      is_feature_[e] = apex_starts_[e + 1] - apex_starts_[e] != 2;
    for (const auto& [a, b] : creases) {
      if (a == b && a < fans_.size()) fans_[a].features += 3;  // no number of edges makes this two
      const std::uint32_t e = find(a, b);
      if (e != kNoIndex) is_feature_[e] = 1;
    }
    for (std::size_t e = 0; e < edges_.size(); ++e)
      for (std::size_t k = 0; k < 2; ++k) {
        Fan& fan = fans_[edges_[e][k]];
        ++fan.edges;
        fan.neighbour = edges_[e][1 - k];
        if (!is_feature_[e]) continue;
        ++fan.features;
        fan.feature_ends ^= edges_[e][1 - k];
      }
  }

  void measure_fans(const std::vector<char>& busy) {
    for (std::uint32_t v = 0; v < fans_.size(); ++v) {
      Fan& fan = fans_[v];
      if (!busy[v] || fan.features > 0 || fan.edges > kLargestRing) continue;
      // Every edge has two triangles, so these form closed rings. Smooth: a single one.
      std::uint32_t count = 0;
      walk_round(v, fan.neighbour, [&](std::uint32_t) { ++count; });
      if (count == fan.edges) fan.ring = count;
    }
  }

  // The neighbours of v in order, from `start` on. All edges at v must have two triangles.
  template <class Visit>
  void walk_round(std::uint32_t v, std::uint32_t start, const Visit& visit) const {
    std::uint32_t previous = kNoIndex, current = start;
    do {
      visit(current);
      const std::uint32_t first = apex_starts_[find(v, current)];
      const std::uint32_t next = apexes_[first] != previous ? apexes_[first] : apexes_[first + 1];
      previous = std::exchange(current, next);
    } while (current != start);
  }

  void add_ring(std::uint32_t v, std::uint32_t start, double share, Stencil& stencil) {
    const std::uint32_t valence = fans_[v].ring;
    if (ring_weights_.size() <= valence) ring_weights_.resize(valence + 1);
    std::vector<double>& weights = ring_weights_[valence];
    if (weights.empty()) weights = ring_weights(valence);
    stencil.add(v, 0.75 * share);
    std::size_t j = 0;
    walk_round(v, start, [&](std::uint32_t neighbour) { stencil.add(neighbour, weights[j++] * share); });
  }

  // Dyn et al. 1990, with tension w = 1/16. Where a wing would lie beyond a border or crease, the triangle
  // before it is completed to a parallelogram: what a regular grid would have there.
  void add_butterfly(std::uint32_t e, Stencil& stencil) const {
    const auto [a, b] = edges_[e];
    stencil.add(a, 1.0 / 2);
    stencil.add(b, 1.0 / 2);
    for (std::uint32_t side = 0; side < 2; ++side) {
      const std::uint32_t apex = apexes_[apex_starts_[e] + side];
      stencil.add(apex, 1.0 / 8);
      add_wing(a, b, apex, stencil);
      add_wing(b, a, apex, stencil);
    }
  }

  // The corner beyond the edge (end, apex) of the triangle (end, far, apex).
  void add_wing(std::uint32_t end, std::uint32_t far, std::uint32_t apex, Stencil& stencil) const {
    constexpr double kWeight = -1.0 / 16;
    const std::uint32_t e = find(end, apex);
    if (is_feature_[e]) {
      stencil.add(end, kWeight);
      stencil.add(apex, kWeight);
      stencil.add(far, -kWeight);
    } else {
      const std::uint32_t first = apex_starts_[e];
      stencil.add(apexes_[first] != far ? apexes_[first] : apexes_[first + 1], kWeight);
    }
  }

  // The cubic through four points of the border or crease, the parabola through three where it ends on one
  // side, the middle where it ends on both.
  void halve_feature(std::uint32_t a, std::uint32_t b, Stencil& stencil) const {
    const bool goes_on_at_a = fans_[a].features == 2, goes_on_at_b = fans_[b].features == 2;
    const std::uint32_t before = fans_[a].feature_ends ^ b, after = fans_[b].feature_ends ^ a;
    if (goes_on_at_a && goes_on_at_b) {
      stencil.add(before, -1.0 / 16);
      stencil.add(a, 9.0 / 16);
      stencil.add(b, 9.0 / 16);
      stencil.add(after, -1.0 / 16);
    } else if (goes_on_at_a) {
      stencil.add(before, -1.0 / 8);
      stencil.add(a, 3.0 / 4);
      stencil.add(b, 3.0 / 8);
    } else if (goes_on_at_b) {
      stencil.add(a, 3.0 / 8);
      stencil.add(b, 3.0 / 4);
      stencil.add(after, -1.0 / 8);
    } else {
      stencil.add(a, 1.0 / 2);
      stencil.add(b, 1.0 / 2);
    }
  }

  std::vector<std::uint32_t> first_edge_;   // per vertex, of those that lead to larger numbers; and the end
  std::vector<VertexPair> edges_;           // ascending
  std::vector<std::uint32_t> apex_starts_;  // per edge, and the end
  std::vector<std::uint32_t> apexes_;       // third corners of the triangles on an edge, each once
  std::vector<char> is_feature_;            // per edge
  std::vector<Fan> fans_;
  std::vector<std::vector<double>> ring_weights_;  // per valence, filled when needed
};

void add_quarters(const Piece& piece, const Triangle& middles, std::vector<Piece>& out) {
  const Triangle& f = piece.corners;
  for (std::size_t k = 0; k < 3; ++k) out.push_back({{f[k], middles[k], middles[(k + 2) % 3]}, piece.source});
  out.push_back({middles, piece.source});
}

// A triangle that stays, cut at those of its edges that finer neighbours have halved. middles[k] lies on the
// edge from corner k to the next, or is kNoIndex.
void add_closed(const Piece& piece, const Triangle& middles, std::vector<Piece>& out) {
  const auto halved =
      std::count_if(middles.begin(), middles.end(), [](std::uint32_t m) { return m != kNoIndex; });
  if (halved == 0) {
    out.push_back(piece);
    return;
  }
  if (halved == 3) {
    add_quarters(piece, middles, out);
    return;
  }
  // Turned so that the first edge is halved and, of two, the second.
  std::size_t turn = 0;
  while (middles[turn] == kNoIndex || (halved == 2 && middles[(turn + 1) % 3] == kNoIndex)) ++turn;
  const std::uint32_t a = piece.corners[turn], b = piece.corners[(turn + 1) % 3],
                      c = piece.corners[(turn + 2) % 3];
  const std::uint32_t ab = middles[turn], bc = middles[(turn + 1) % 3];
  if (halved == 1) {
    out.push_back({{a, ab, c}, piece.source});
    out.push_back({{ab, b, c}, piece.source});
    return;
  }
  out.push_back({{ab, b, bc}, piece.source});
  // Lengths are not known here; the smaller corner decides, so that equal triangles are cut alike.
  if (a < c) {
    out.push_back({{a, ab, bc}, piece.source});
    out.push_back({{a, bc, c}, piece.source});
  } else {
    out.push_back({{a, ab, c}, piece.source});
    out.push_back({{ab, bc, c}, piece.source});
  }
}

}  // namespace

RefinedSurface refine_butterfly(std::size_t vertex_count, std::span<const Triangle> triangles,
                                std::span<const std::uint8_t> levels, std::span<const VertexPair> creases) {
  assert(levels.size() == triangles.size());
  assert(vertex_count < kNoIndex);
  for (std::size_t t = 0; t < levels.size(); ++t)
    if (levels[t] > kMaxButterflyLevel)
      throw Error(fmt::format("triangle {}: refinement level {}, but {} is the largest", t, levels[t],
                              kMaxButterflyLevel));
  const std::vector<std::uint8_t> graded = graded_levels(vertex_count, triangles, levels);
  std::uint64_t expected = 0;
  for (const std::uint8_t level : graded) expected += std::uint64_t{1} << 2 * level;
  if (expected > std::uint64_t{1} << 28)
    throw Error(fmt::format("the refined surface would have {} triangles, more than 2^28", expected));

  RefinedSurface surface;
  surface.original_vertices = vertex_count;
  std::vector<Piece> done;
  std::vector<Piece> pieces;  // of the present level
  for (std::uint32_t t = 0; t < triangles.size(); ++t)
    (has_equal_corners(triangles[t]) ? done : pieces).push_back({triangles[t], t});
  std::vector<VertexPair> level_creases(creases.begin(), creases.end());

  // A level at a time. Thanks to the grading, all triangles at the corners of one that is split are of its
  // level, and one that stays meets no finer edges than those halved now.
  for (std::uint8_t level = 0;; ++level) {
    std::vector<char> busy(surface.size(), 0);
    bool any = false;
    for (const Piece& piece : pieces)
      if (graded[piece.source] > level) {
        any = true;
        for (const std::uint32_t v : piece.corners) busy[v] = 1;
      }
    if (!any) break;

    Level mesh(surface.size(), pieces, busy, level_creases);
    std::vector<std::uint32_t> middles(mesh.edge_count(), kNoIndex);
    const auto visit_edges = [&](const Piece& piece, const auto& visit) {
      for (std::size_t k = 0; k < 3; ++k) {
        const std::uint32_t a = piece.corners[k], b = piece.corners[(k + 1) % 3];
        if (busy[a] && busy[b]) visit(k, mesh.find(a, b));
      }
    };
    for (const Piece& piece : pieces)
      if (graded[piece.source] > level)
        visit_edges(piece, [&](std::size_t, std::uint32_t e) { middles[e] = 0; });
    // Numbered in the order of edges, not of triangles.
    Stencil stencil;
    const auto first_new = static_cast<std::uint32_t>(surface.size());
    std::uint32_t next_new = first_new;
    for (std::uint32_t e = 0; e < middles.size(); ++e) {
      if (middles[e] == kNoIndex) continue;
      middles[e] = next_new++;
      surface.parents.push_back(mesh.edge(e));
      mesh.halve(e, stencil);
      stencil.append_to(surface);
    }

    std::vector<Piece> finer;
    for (const Piece& piece : pieces) {
      Triangle own{kNoIndex, kNoIndex, kNoIndex};
      visit_edges(piece, [&](std::size_t k, std::uint32_t e) { own[k] = middles[e]; });
      if (graded[piece.source] > level)
        add_quarters(piece, own, finer);
      else
        add_closed(piece, own, done);
    }
    pieces = std::move(finer);

    std::vector<VertexPair> finer_creases;
    for (const VertexPair& crease : level_creases) {
      if (crease[0] == crease[1]) finer_creases.push_back(crease);
      const std::uint32_t e = mesh.find(crease[0], crease[1]);
      if (e == kNoIndex || middles[e] == kNoIndex) continue;
      finer_creases.push_back({crease[0], middles[e]});
      finer_creases.push_back({middles[e], crease[1]});
    }
    level_creases = std::move(finer_creases);
  }
  done.insert(done.end(), pieces.begin(), pieces.end());

  // By source. The pieces of one were all done at the same level, in order.
  std::vector<std::size_t> places(triangles.size() + 1, 0);
  for (const Piece& piece : done) ++places[piece.source + 1];
  for (std::size_t t = 0; t < triangles.size(); ++t) places[t + 1] += places[t];
  surface.triangles.resize(done.size());
  surface.triangle_sources.resize(done.size());
  for (const Piece& piece : done) {
    const std::size_t place = places[piece.source]++;
    surface.triangles[place] = piece.corners;
    surface.triangle_sources[place] = piece.source;
  }
  return surface;
}

}  // namespace sinew
