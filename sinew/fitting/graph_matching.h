#pragma once

#include <vector>

#include <sinew/fitting/graph_symmetry.h>
#include <sinew/fitting/resolution_levels.h>

namespace sinew {

struct MatchingOptions {
  SymmetryOptions symmetry;
  /// Whether a chain for which no limb parts into as many takes the one that comes nearest, so that a rig's
  /// fifth finger is dropped and not the arm it hangs on: figure 4.1 shows that, Algorithm 1 does not do it.
  bool nearest_shape = true;
};

/// Poirier 2009, §3.1.3.1, Algorithm 1: goes down both trees from their heads and gives each chain of the rig
/// the limb of the same symmetry that parts into as many, at the level of resolution at which it does. Per
/// node of the rig, the node of the graph that `mesh` was made from. -1: the rig has a chain there that the
/// mesh has no limb for, or it is below such a one.
///
/// `mesh_from_rig` is the turn that brings the rig to where the mesh looks; `mesh` is not empty.
std::vector<int> match_graphs(const LimbGraph& rig, const ResolutionLevels& mesh, const Mat3d& mesh_from_rig,
                              const MatchingOptions& options = {});

}  // namespace sinew
