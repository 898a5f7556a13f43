#pragma once

#include <sinew/fitting/graph_symmetry.h>
#include <sinew/fitting/resolution_levels.h>

namespace sinew {

struct MatchingOptions {
  SymmetryOptions symmetry;
  /// Whether a chain for which no limb has as many children takes the one that comes nearest, so that a rig's
  /// fifth finger is dropped and not the arm it hangs on: figure 4.1 shows that, Algorithm 1 does not do it.
  bool nearest_shape = true;
};

/// Poirier 2009, §3.1.3.1, Algorithm 1: goes down both trees from their heads and gives each chain of the rig
/// the limb with the same symmetry and as many children, at the level of resolution at which it has them. The
/// map leads to nodes of the graph that `mesh` was made from. kNone: the rig has a chain there that the mesh
/// has no limb for, or it is below such a one.
///
/// `mesh_from_rig` is the rotation that brings the rig to where the mesh looks; `mesh` is not empty.
NodeMap match_graphs(const LimbGraph& rig, const ResolutionLevels& mesh, const Mat3d& mesh_from_rig,
                     const MatchingOptions& options = {});

}  // namespace sinew
