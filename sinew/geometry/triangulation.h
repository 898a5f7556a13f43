#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>

namespace sinew {

/// The connectivity of a closed triangle surface that changes by splits, collapses and flips: a corner table
/// (Rossignac 2001). Corner 3 t + k is corner k of triangle t; next() and previous() go round the triangle;
/// opposite(c) is the corner that sees the edge facing c from the other side.
class Triangulation {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// Throws Error unless the triangles form a closed, consistently oriented manifold: every edge has two
  /// triangles, every vertex one fan of them.
  Triangulation(std::size_t vertex_count, std::span<const Triangle> triangles);

  static std::uint32_t next(std::uint32_t c) { return c % 3 == 2 ? c - 2 : c + 1; }
  static std::uint32_t previous(std::uint32_t c) { return c % 3 == 0 ? c + 2 : c - 1; }
  std::uint32_t opposite(std::uint32_t c) const { return opposite_[c]; }
  std::uint32_t vertex(std::uint32_t c) const { return vertex_[c]; }
  /// The next corner at the same vertex, counter-clockwise.
  std::uint32_t swing(std::uint32_t c) const { return next(opposite_[next(c)]); }
  /// Some corner at a vertex, or kNone for one that was collapsed away.
  std::uint32_t corner_at(std::uint32_t v) const { return corner_of_vertex_[v]; }

  std::size_t corner_count() const { return vertex_.size(); }
  std::size_t vertex_slots() const { return corner_of_vertex_.size(); }
  std::size_t vertex_count() const { return live_vertices_; }
  bool triangle_lives(std::uint32_t t) const { return vertex_[3 * t] != kNone; }
  int valence(std::uint32_t v) const;
  /// Whether v and w share an edge.
  bool joined(std::uint32_t v, std::uint32_t w) const;

  /// Puts a new vertex on the edge that faces c; gives its number.
  std::uint32_t split(std::uint32_t c);
  /// Whether the edge that faces c can be contracted without changing the topology.
  bool can_collapse(std::uint32_t c) const;
  /// Contracts the edge that faces c: the vertex of next(c) moves into the one of previous(c) and is gone.
  void collapse(std::uint32_t c);
  /// Whether the edge that faces c can be turned: its two far corners are not yet joined and all valences
  /// stay at three or more.
  bool can_flip(std::uint32_t c) const;
  /// The edge that faces c becomes the edge between the two corners that face it.
  void flip(std::uint32_t c);

  /// Live triangles, with vertices renumbered without gaps; `kept` gets the old number of each new vertex.
  std::vector<Triangle> compact(std::vector<std::uint32_t>& kept) const;

 private:
  void glue(std::uint32_t c, std::uint32_t d) {
    opposite_[c] = d;
    opposite_[d] = c;
  }

  std::vector<std::uint32_t> vertex_;
  std::vector<std::uint32_t> opposite_;
  std::vector<std::uint32_t> corner_of_vertex_;
  std::size_t live_vertices_ = 0;
};

}  // namespace sinew
