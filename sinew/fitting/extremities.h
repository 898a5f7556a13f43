#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>

/// The function on a surface whose Reeb graph is its limbs (Poirier 2009, §3.1.2; Aujay et al. 2007).
namespace sinew {

/// Lengths along edges from a set of vertices, metres; infinite where nothing leads to.
std::vector<double> edge_distances(const MeshView& mesh, std::span<const std::uint32_t> sources);

/// A vertex where a limb ends.
struct Extremity {
  std::uint32_t vertex = 0;
  double distance = 0;    ///< from the source
  double prominence = 0;  ///< how much farther from the source than the pass to a farther extremity
  /// Its part of its limb's length, see find_extremities().
  double share = 0;
};

/// Local maxima of `values` (one per vertex, infinite ones do not count) that stand out by at least
/// `prominence`: what is above a level falls into pieces as the level sinks; a maximum is as prominent as the
/// levels that its piece lives through before it joins one with a higher maximum. Where two limbs join, each
/// has its length (from there to its farthest extremity) to share out among its extremities, in the
/// proportions they had: an arm's length is shared by the fingers, by their lengths, whichever of them
/// reaches farthest. Highest first.
std::vector<Extremity> find_extremities(const MeshView& mesh, std::span<const double> values,
                                        double prominence);

/// The function that is 0 at `head`, has a source at each extremity, as strong as its share, and is
/// harmonic in between: it rises into every limb and has no maxima but those, so that its Reeb graph has no
/// limb that nobody asked for. Aujay et al. fix the extremities' distances instead; a finger that is nearer
/// to the head than its root's surroundings would let it be then hangs down into the graph as a minimum.
/// `mesh` hangs together; triangles may be anything (geometry/intrinsic_laplacian.h). Extremities at the head
/// are passed over.
std::vector<double> harmonic_function(const MeshView& mesh, std::uint32_t head,
                                      std::span<const Extremity> extremities);

}  // namespace sinew
