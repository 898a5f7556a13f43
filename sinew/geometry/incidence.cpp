#include <sinew/geometry/incidence.h>

#include <cassert>
#include <limits>

namespace sinew {

Incidence vertex_incidence(std::size_t vertex_count, std::span<const Triangle> triangles) {
  assert(triangles.size() <= std::numeric_limits<std::uint32_t>::max() / 3);
  Incidence incidence;
  // Counted two places on, then shifted by the filling pass, the starts need no second array.
  incidence.starts.assign(vertex_count + 2, 0);
  for (const Triangle& triangle : triangles)
    for (const std::uint32_t v : triangle) {
      assert(v < vertex_count);
      ++incidence.starts[v + 2];
    }
  for (std::size_t v = 2; v < incidence.starts.size(); ++v) incidence.starts[v] += incidence.starts[v - 1];
  incidence.corners.resize(3 * triangles.size());
  for (std::uint32_t t = 0; t < triangles.size(); ++t)
    for (std::uint32_t k = 0; k < 3; ++k)
      incidence.corners[incidence.starts[triangles[t][k] + 1]++] = 3 * t + k;
  incidence.starts.pop_back();
  return incidence;
}

}  // namespace sinew
