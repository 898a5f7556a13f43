#pragma once

#include <vector>

#include <sinew/fitting/limb_graph.h>

namespace sinew {

/// How much each difference between a rig's chain and a limb of the mesh counts. Each is multiplied by the
/// square root of the chain's length over the longest way from the head, so that fingers count less than
/// legs.
struct AlignmentWeights {
  double length = 1;     ///< |log| of the ratio of lengths
  double direction = 1;  ///< angle, radians
  double tip = 0.4;      ///< angle of the last eighth of a chain's way, radians: toes tell front from back
  double drop = 3;       ///< a chain of the rig without a limb
  double ignore = 0.25;  ///< a limb of the mesh without a chain
  double merge = 0.5;    ///< a piece between two forks of the mesh that are one fork of the rig
};

/// Which node of the mesh's tree each node of the rig's is.
struct Alignment {
  std::vector<int> image;  ///< per node of the rig; -1: dropped, or passed on the way to one that is not
  double cost = 0;
  /// How much the chains that have a limb differ from it, on average: lengths and directions alone.
  double difference = 0;
};

/// The best way to lay the tree of a rig into the tree of a mesh, head on head. A chain of the rig goes down
/// one limb of the mesh, past forks where other limbs leave that no chain wants, and past forks of the rig
/// whose other chains are dropped; chains that part at one node of the rig may part one after the other in
/// the mesh. Costs compare lengths, and directions in a frame that is carried along from limb to limb by the
/// shortest turn, so that a rig with spread arms fits a body whose arms hang down. This finds what Poirier's
/// matching (graph_matching.h) cannot, where both trees differ in more than detail; exact, by dynamic
/// programming over pairs of nodes and sets of chains.
///
/// `mesh_from_rig` is the turn that brings the rig to where the mesh looks. Of a node's chains those past the
/// eighth in size are dropped.
Alignment align_limbs(const LimbGraph& rig, const LimbGraph& mesh, const Mat3d& mesh_from_rig,
                      const AlignmentWeights& weights = {});

/// What align_limbs() counts for given images: its own cost for its own, and for comparing other matchings
/// with it. Heads always meet; images that are not below that of the nearest node above count as dropped.
double alignment_cost(const LimbGraph& rig, const LimbGraph& mesh, const Mat3d& mesh_from_rig,
                      const std::vector<int>& image, const AlignmentWeights& weights = {});

/// Length of the way from the head to each node; metres.
std::vector<double> distances_from_head(const LimbGraph& graph);

}  // namespace sinew
