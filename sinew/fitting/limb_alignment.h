#pragma once

#include <cstddef>

#include <sinew/fitting/limb_graph.h>

namespace sinew {

/// How much each difference between a rig's chain and a limb of the mesh costs. Each is multiplied by the
/// square root of the chain's length over the longest path from the head, so that fingers count less than
/// legs. Set by hand, on the built-in characters.
struct AlignmentWeights {
  double length = 1;     ///< |log| of the ratio of lengths
  double direction = 1;  ///< angle, radians
  double tip = 0.4;      ///< angle of the last eighth of a chain, radians: toes tell front from back
  double drop = 3;       ///< a chain of the rig without a limb
  double ignore = 0.25;  ///< a limb of the mesh without a chain
  double merge = 0.5;    ///< an arc between two forks of the mesh that are one fork of the rig
  /// Of a node's chains so many take part, the largest; more are dropped. Time grows with 3 to this power.
  std::size_t max_chains = 8;
};

struct Alignment {
  NodeMap node_map;  ///< kNone: dropped, or passed on the way to a node that is not
  double cost = 0;
  /// How much the chains that have a limb differ from it, on average: lengths and directions alone.
  double difference = 0;
};

/// The best way to map the tree of a rig into the tree of a mesh, head to head. A chain of the rig goes down
/// one limb of the mesh, past forks where other limbs leave that no chain is mapped to, and past forks of the
/// rig whose other chains are dropped; chains that leave one node of the rig may leave one after the other in
/// the mesh. Costs compare lengths, and directions in a frame that is carried from limb to limb by the
/// shortest rotation, so that a rig with spread arms fits a body whose arms hang down. This finds what
/// Poirier's matching (graph_matching.h) cannot, where both trees differ in more than detail; exact, by
/// dynamic programming over pairs of nodes and sets of chains.
///
/// `mesh_from_rig` is the rotation that brings the rig to where the mesh looks.
Alignment align_limbs(const LimbGraph& rig, const LimbGraph& mesh, const Mat3d& mesh_from_rig,
                      const AlignmentWeights& weights = {});

/// The cost of a given map: align_limbs()'s own for its own, and for comparing other matchings with it. Heads
/// always match; nodes that are not mapped below the nearest mapped one above them count as dropped.
double alignment_cost(const LimbGraph& rig, const LimbGraph& mesh, const Mat3d& mesh_from_rig,
                      const NodeMap& node_map, const AlignmentWeights& weights = {});

}  // namespace sinew
