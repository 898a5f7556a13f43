#pragma once

#include <sinew/fitting/limb_graph.h>
#include <sinew/skeleton/joint_sides.h>

namespace sinew {

enum class SymmetryType {
  primary,  ///< on the axis of the character
  axial,    ///< one of a pair
  radial,   ///< one of three or more
  none,     ///< off the axis, like no other
};

/// What Poirier 2009 calls an arc's symmetry level and metadata (§3.1.2.3, §3.1.2.6).
struct ArcSymmetry {
  int level = 1;  ///< 1 on the axis, one more for each symmetry that must be crossed to come back to it
  SymmetryType type = SymmetryType::none;
  Side side = Side::none;  ///< axial: see graph_symmetry()
  int number = 0;          ///< radial: by length, the longest is 1

  bool operator==(const ArcSymmetry&) const = default;
};

struct SymmetryOptions {
  /// C of Poirier 2009, §3.1.2.5: arcs whose lengths differ by as much are not symmetric to each other; a
  /// share of the longest path from the head. The paper gives no number; by hand, on the built-in characters.
  double length_difference = 0.1;
};

/// Arcs that leave the same node are symmetric to each other when their shape descriptors are equal and their
/// lengths differ by less than C. Of a pair, the one on the positive side of the main axis nearest to the
/// line that joins their ends is called left. `common_from_graph` turns the graph to a frame that it shares
/// with those it is compared with: what is called left need not be, but is the same for all of them.
PerArc<ArcSymmetry> graph_symmetry(const LimbGraph& graph, const Mat3d& common_from_graph,
                                   const SymmetryOptions& options = {});

}  // namespace sinew
