#pragma once

#include <vector>

#include <sinew/fitting/rig_graph.h>

namespace sinew {

/// Where a limb's radius and direction are measured: behind its fork, where cross-sections are those of the
/// limb alone. Each is the smaller of a multiple of its radius and a share of its length. By hand, on the
/// built-in characters.
struct LimbMeasuring {
  double radius_at_share = 0.3;                             ///< at one radius, at most this share
  double direction_from = 0.5, direction_from_share = 0.1;  ///< from here …
  double direction_to = 3.5, direction_to_share = 0.5;      ///< … to here
};
inline constexpr LimbMeasuring kLimbMeasuring{};

/// A chain of the rig with the limb of the mesh that it is matched with.
struct MatchedLimb {
  NodeId from, to;                   ///< of the rig's graph
  std::vector<PointId> chain;        ///< from `from` to `to`
  NodeId fork;                       ///< of the mesh's graph, at which the limb separates from its neighbours
  std::vector<Vec3d> centres;        ///< of the limb's cross-sections behind that fork
  std::vector<double> radii;         ///< of these cross-sections
  double radius = 0;                 ///< near the fork …
  Vec3d direction = Vec3d::UnitY();  ///< … and in which the limb leaves it
  bool is_trunk = false;             ///< continues the trunk behind a fork, does not branch off it
};

struct MatchedLimbs {
  PerLimb<MatchedLimb> limbs;  ///< those nearer to the head first
  double scale = 1;            ///< lengths in the mesh per lengths in the rig
};

/// All chains between nodes of the rig that are matched by `node_map`. Of the limbs that leave a fork at most
/// one is the trunk.
MatchedLimbs matched_limbs(const RigGraph& rig, const LimbGraph& mesh, const NodeMap& node_map);

}  // namespace sinew
