#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>

/// The function on a surface whose Reeb graph is its limbs (Poirier 2009, §3.1.2; Aujay et al. 2007).
namespace sinew {

/// Lengths of the shortest paths along edges from a set of vertices (Dijkstra), metres; infinite where none
/// leads to.
std::vector<double> edge_distances(const MeshView& mesh, std::span<const std::uint32_t> sources);

/// A vertex where a limb ends.
struct Extremity {
  std::uint32_t vertex = 0;
  double distance = 0;  ///< from the source
  double prominence =
      0;  ///< how much farther from the source than the saddle on the way to a farther extremity
  /// Its part of its limb's length, see find_extremities(); 1 for the largest.
  double share = 0;
};

/// Local maxima of `values` (one per vertex, infinite ones do not count) of at least this prominence, which
/// is topological persistence: as a level sinks, components of what is above it appear at maxima and merge at
/// saddles; a maximum's prominence is its height above the saddle where its component merges into one with a
/// higher maximum. Where two limbs merge, the length of each (from there to its farthest extremity) is
/// divided among its extremities, in the proportions they had: an arm's length is divided among the fingers,
/// by their lengths, whichever of them reaches farthest. Highest first.
std::vector<Extremity> find_extremities(const MeshView& mesh, std::span<const double> values,
                                        double prominence);

/// The function that is 0 at `head`, has a source at each extremity, as strong as its share, and is
/// harmonic in between: it rises into every limb and has no other maxima, so that its Reeb graph has no other
/// limbs. Aujay et al. fix the extremities' distances instead; a finger that is nearer to the head than the
/// values round its root then becomes a minimum, and no limb of the graph. `mesh` is connected; triangles may
/// be anything (geometry/intrinsic_laplacian.h). Extremities at the head are left out.
std::vector<double> harmonic_function(const MeshView& mesh, std::uint32_t head,
                                      std::span<const Extremity> extremities);

}  // namespace sinew
