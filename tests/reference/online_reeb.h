#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>

namespace sinew::reference {

/// A Reeb graph by its vertices.
struct OnlineReeb {
  std::vector<std::uint32_t> nodes;                ///< vertices, by value
  std::vector<std::array<std::uint32_t, 2>> arcs;  ///< the lower and the upper vertex of each, sorted
};

/// Pascucci et al. 2007 ("Robust on-line computation of Reeb graphs: simplicity and speed"), §4, triangle by
/// triangle: at first every edge is an arc; a triangle says that its long edge and the way over its middle
/// corner are the same. Ties between values are broken by vertex number. Triangles that name a vertex twice
/// are left out.
OnlineReeb online_reeb(const MeshView& mesh, std::span<const double> values);

}  // namespace sinew::reference
