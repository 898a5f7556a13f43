#pragma once

#include <vector>

#include <sinew/fitting/limb_graph.h>

namespace sinew {

struct ResolutionOptions {
  int count = 10;         ///< levels, at least 1
  double coarsest = 0.1;  ///< threshold of the last level, as a share of the graph's size
};

/// A graph without its short arcs. A valid LimbGraph of its own, linked to the graph it was made from and to
/// the levels before (finer) and behind it (coarser).
struct ResolutionLevel {
  double threshold = 0;  ///< metres; no arc is shorter
  LimbGraph graph;
  std::vector<int> origin;               ///< per node, its number in the given graph; it has not moved
  std::vector<int> place;                ///< per node of the given graph, its number here; -1: gone
  std::vector<std::vector<int>> passes;  ///< per arc, the nodes of the given graph on it, its end the last
  /// Per arc, the finer one that starts where it does and goes its way, perhaps not as far. -1 at the finest.
  std::vector<int> finer_arc;
  /// Per arc, the coarser one that its end is on. -1: it was pruned, or is now the start of several, or this
  /// is the coarsest level.
  std::vector<int> coarser_arc;
};

/// Poirier 2009, §3.1.2.2: the same tree with fewer and fewer arcs. Finest first.
using ResolutionLevels = std::vector<ResolutionLevel>;

/// Thresholds rise evenly from 0 to `coarsest`. The graph's size is the longest way from its head, which the
/// rules keep. At the first level all limbs are there, only nodes that just pass on one limb are gone.
ResolutionLevels resolution_levels(const LimbGraph& graph, const ResolutionOptions& options = {});

}  // namespace sinew
