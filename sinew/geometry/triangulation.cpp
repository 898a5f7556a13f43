#include <sinew/geometry/triangulation.h>

#include <algorithm>
#include <array>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

namespace sinew {

Triangulation::Triangulation(std::size_t vertex_count, std::span<const Triangle> triangles)
    : vertex_(3 * triangles.size()),
      opposite_(3 * triangles.size(), kNone),
      corner_of_vertex_(vertex_count, kNone) {
  struct Side {
    std::uint64_t edge;
    std::uint32_t corner;
    bool operator<(const Side& other) const {
      return edge != other.edge ? edge < other.edge : corner < other.corner;
    }
  };
  std::vector<Side> sides;
  sides.reserve(vertex_.size());
  for (std::size_t t = 0; t < triangles.size(); ++t)
    for (std::size_t k = 0; k < 3; ++k) {
      const auto c = static_cast<std::uint32_t>(3 * t + k);
      vertex_[c] = triangles[t][k];
      if (vertex_[c] >= vertex_count)
        throw Error("triangulation: a triangle names a vertex that does not exist");
      corner_of_vertex_[vertex_[c]] = c;
      const std::uint64_t a = triangles[t][(k + 1) % 3], b = triangles[t][(k + 2) % 3];
      sides.push_back({std::min(a, b) << 32 | std::max(a, b), c});
    }
  std::sort(sides.begin(), sides.end());
  for (std::size_t i = 0; i < sides.size(); i += 2) {
    const bool pair = i + 1 < sides.size() && sides[i].edge == sides[i + 1].edge &&
                      (i + 2 >= sides.size() || sides[i + 2].edge != sides[i].edge);
    if (!pair || vertex_[next(sides[i].corner)] != vertex_[previous(sides[i + 1].corner)])
      throw Error("triangulation: the surface is not a closed, consistently oriented manifold");
    glue(sides[i].corner, sides[i + 1].corner);
  }
  // All corners of a vertex must be one fan: a second one would be lost when the first collapses.
  std::size_t corners_in_fans = 0;
  for (std::uint32_t v = 0; v < vertex_count; ++v)
    if (corner_of_vertex_[v] != kNone) {
      ++live_vertices_;
      corners_in_fans += to_size(valence(v));
    }
  if (corners_in_fans != vertex_.size())
    throw Error("triangulation: two sheets of the surface touch in a single vertex");
}

int Triangulation::valence(std::uint32_t v) const {
  int count = 0;
  const std::uint32_t first = corner_of_vertex_[v];
  std::uint32_t c = first;
  do {
    ++count;
    c = swing(c);
  } while (c != first);
  return count;
}

bool Triangulation::joined(std::uint32_t v, std::uint32_t w) const {
  const std::uint32_t first = corner_of_vertex_[v];
  std::uint32_t c = first;
  do {
    if (vertex_[next(c)] == w) return true;
    c = swing(c);
  } while (c != first);
  return false;
}

std::uint32_t Triangulation::split(std::uint32_t c) {
  //      v                v
  //     / \              /|\          Triangles (v a b) and (w b a) keep a and b respectively:
  //    a - b    ->      a m b         (v a m) and (w b m); (v m b) and (w m a) are new.
  //     \ /              \|/
  //      w                w
  const std::uint32_t d = opposite_[c];
  const std::uint32_t ca = next(c), cb = previous(c), db = next(d), da = previous(d);
  const std::uint32_t v = vertex_[c], w = vertex_[d], a = vertex_[ca], b = vertex_[cb];
  const auto m = static_cast<std::uint32_t>(corner_of_vertex_.size());
  const auto e = static_cast<std::uint32_t>(vertex_.size());
  const std::uint32_t f = e + 3;
  const std::uint32_t beyond_vb = opposite_[ca], beyond_wa = opposite_[db];
  vertex_.insert(vertex_.end(), {v, m, b, w, m, a});
  opposite_.resize(opposite_.size() + 6);
  vertex_[cb] = m;
  vertex_[da] = m;
  glue(e + 1, beyond_vb);  // e faces (m b), e+1 faces (b v), e+2 faces (v m)
  glue(f + 1, beyond_wa);  // f faces (m a), f+1 faces (a w), f+2 faces (w m)
  glue(ca, e + 2);         // (m v) between (v a m) and (v m b)
  glue(db, f + 2);         // (m w) between (w b m) and (w m a)
  glue(c, f);              // (a m)
  glue(d, e);              // (b m)
  corner_of_vertex_.push_back(cb);
  corner_of_vertex_[a] = ca;
  corner_of_vertex_[b] = db;
  corner_of_vertex_[v] = c;
  corner_of_vertex_[w] = d;
  ++live_vertices_;
  return m;
}

bool Triangulation::can_collapse(std::uint32_t c) const {
  const std::uint32_t d = opposite_[c];
  const std::uint32_t a = vertex_[next(c)], b = vertex_[previous(c)];
  if (valence(vertex_[c]) <= 3 || valence(vertex_[d]) <= 3) return false;
  // Link condition: the two ends share no neighbours but the two far corners.
  int shared = 0;
  const std::uint32_t first = corner_of_vertex_[a];
  std::uint32_t at = first;
  do {
    const std::uint32_t neighbour = vertex_[next(at)];
    if (neighbour != b && joined(neighbour, b)) ++shared;
    at = swing(at);
  } while (at != first);
  return shared == 2;
}

void Triangulation::collapse(std::uint32_t c) {
  const std::uint32_t d = opposite_[c];
  const std::uint32_t ca = next(c), cb = previous(c), db = next(d), da = previous(d);
  const std::uint32_t v = vertex_[c], w = vertex_[d], a = vertex_[ca], b = vertex_[cb];
  const std::uint32_t first = ca;
  std::uint32_t at = first;
  std::array<std::uint32_t, 4> outer{opposite_[ca], opposite_[cb], opposite_[db], opposite_[da]};
  do {
    const std::uint32_t following = swing(at);
    vertex_[at] = b;
    at = following;
  } while (at != first);
  glue(outer[0], outer[1]);  // (v b) and (v a)
  glue(outer[2], outer[3]);  // (w a) and (w b)
  for (const std::uint32_t gone : {c, ca, cb, d, da, db}) vertex_[gone] = kNone;
  corner_of_vertex_[a] = kNone;
  // The triangle beyond (v a) runs a → v … so outer[1] is followed by the corner at a, now b's, or at v.
  const std::uint32_t beside_v = next(outer[1]), beside_w = next(outer[3]);
  corner_of_vertex_[v] = vertex_[beside_v] == v ? beside_v : previous(outer[1]);
  corner_of_vertex_[b] = vertex_[beside_v] == v ? previous(outer[1]) : beside_v;
  corner_of_vertex_[w] = vertex_[beside_w] == w ? beside_w : previous(outer[3]);
  --live_vertices_;
}

bool Triangulation::can_flip(std::uint32_t c) const {
  const std::uint32_t d = opposite_[c];
  const std::uint32_t v = vertex_[c], w = vertex_[d];
  if (v == w || joined(v, w)) return false;
  return valence(vertex_[next(c)]) > 3 && valence(vertex_[previous(c)]) > 3;
}

void Triangulation::flip(std::uint32_t c) {
  // (v a b), (w b a) become (v a w), (w b v).
  const std::uint32_t d = opposite_[c];
  const std::uint32_t ca = next(c), cb = previous(c), db = next(d), da = previous(d);
  const std::uint32_t v = vertex_[c], w = vertex_[d], a = vertex_[ca], b = vertex_[cb];
  const std::uint32_t beyond_vb = opposite_[ca], beyond_wa = opposite_[db];
  vertex_[cb] = w;
  vertex_[da] = v;
  glue(c, beyond_wa);  // faces (a w)
  glue(d, beyond_vb);  // faces (b v)
  glue(ca, db);        // the new edge (w v); ca faces (w v), db faces (v w)
  corner_of_vertex_[v] = c;
  corner_of_vertex_[w] = d;
  corner_of_vertex_[a] = ca;
  corner_of_vertex_[b] = db;
}

std::vector<Triangle> Triangulation::compact(std::vector<std::uint32_t>& kept) const {
  kept.clear();
  std::vector<std::uint32_t> number(corner_of_vertex_.size(), kNone);
  for (std::uint32_t v = 0; v < corner_of_vertex_.size(); ++v)
    if (corner_of_vertex_[v] != kNone) {
      number[v] = static_cast<std::uint32_t>(kept.size());
      kept.push_back(v);
    }
  std::vector<Triangle> triangles;
  for (std::uint32_t t = 0; t < vertex_.size() / 3; ++t)
    if (triangle_lives(t))
      triangles.push_back({number[vertex_[3 * t]], number[vertex_[3 * t + 1]], number[vertex_[3 * t + 2]]});
  return triangles;
}

}  // namespace sinew
