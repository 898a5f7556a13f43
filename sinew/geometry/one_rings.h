#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>

namespace sinew {

enum class RingKind : std::uint8_t {
  isolated,   ///< no triangle, no neighbour
  closed,     ///< the triangles go all the way round
  open,       ///< a boundary vertex: one fan of triangles
  irregular,  ///< anything else: non-manifold or inconsistently oriented
};

/// The neighbours of every vertex, in compact storage. Closed rings run counter-clockwise (seen from the side
/// the triangles face) from the smallest neighbour on; each neighbour and the next span a triangle, as do the
/// last and the first. Open ones run counter-clockwise from boundary to boundary. Irregular ones are
/// unordered: each neighbour once, ascending.
struct OneRings {
  std::vector<std::uint32_t> starts{0};  ///< one per vertex, and the end
  std::vector<std::uint32_t> neighbours;
  std::vector<RingKind> kinds;

  std::size_t size() const { return kinds.size(); }
  std::span<const std::uint32_t> operator[](std::size_t v) const {
    return {neighbours.data() + starts[v], starts[v + 1] - starts[v]};
  }
};

/// Takes any triangles whose corners are smaller than `vertex_count`. Triangles with two equal corners are
/// left out; the same triangle twice counts once.
OneRings one_rings(std::size_t vertex_count, std::span<const Triangle> triangles);

}  // namespace sinew
