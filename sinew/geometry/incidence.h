#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>

namespace sinew {

/// Which triangle corners stand at each vertex, in compact storage. Corner 3 t + k is corner k of triangle t.
struct Incidence {
  std::vector<std::uint32_t> starts;   ///< one per vertex, and the end
  std::vector<std::uint32_t> corners;  ///< per vertex in triangle order

  std::size_t size() const { return starts.size() - 1; }
  std::span<const std::uint32_t> operator[](std::size_t v) const {
    return {corners.data() + starts[v], starts[v + 1] - starts[v]};
  }
};

/// Every index must be smaller than `vertex_count`. Instead of vertices, any numbers that corners refer to
/// will do, such as normal slots.
Incidence vertex_incidence(std::size_t vertex_count, std::span<const Triangle> triangles);

}  // namespace sinew
