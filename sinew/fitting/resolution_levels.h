#pragma once

#include <vector>

#include <sinew/fitting/limb_graph.h>

namespace sinew {

/// Poirier 2009, §3.1.2.2: ten levels were enough for all of the paper's tests, and 10 % was found by
/// experiment.
struct ResolutionOptions {
  int count = 10;         ///< levels, at least 1
  double coarsest = 0.1;  ///< threshold of the last level, as a share of the graph's size
};

/// A graph without its short arcs. A valid LimbGraph of its own, linked to the original graph and to the
/// levels before (finer) and behind it (coarser). "Original" nodes are those of the graph that the levels
/// were made from.
struct ResolutionLevel {
  double threshold = 0;  ///< metres; no arc is shorter
  LimbGraph graph;
  NodeMap original;                          ///< per node, its original; nodes do not move
  NodeMap reduced;                           ///< per original node, its node here; kNone where it was removed
  PerArc<std::vector<NodeId>> originals_on;  ///< per arc, the original nodes on it, its end the last
  /// Per arc, the finer arc that starts where it does and goes the same way, perhaps not as far. kNone at the
  /// finest level.
  PerArc<ArcId> finer_arc;
  /// Per arc, the coarser arc that its end is on. kNone: it was pruned, or is now the start of several, or
  /// this is the coarsest level.
  PerArc<ArcId> coarser_arc;
};

/// The same tree with fewer and fewer arcs. Finest first.
using ResolutionLevels = std::vector<ResolutionLevel>;

/// Thresholds rise evenly from 0 to `coarsest`. The graph's size is the longest path from its head, which
/// simplification preserves. At the first level all limbs are there, only nodes with a single child are gone.
ResolutionLevels resolution_levels(const LimbGraph& graph, const ResolutionOptions& options = {});

}  // namespace sinew
