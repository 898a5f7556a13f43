#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>

#include <sinew/fitting/limb_alignment.h>
#include <sinew/fitting/resolution_levels.h>
#include <sinew/fitting/rig_graph.h>

namespace sinew {

/// The graphs of one mesh, one per head vertex, each made when it is first needed. The mesh must outlive
/// this.
class MeshGraphs {
 public:
  MeshGraphs(const MeshView& mesh, const MeshGraphOptions& options) : mesh_(mesh), options_(options) {}

  const MeshView& mesh() const { return mesh_; }
  const MeshGraphOptions& options() const { return options_; }
  /// References stay valid.
  const LimbGraph& graph(std::uint32_t head);
  const ResolutionLevels& levels(std::uint32_t head);
  /// Time spent on graphs so far.
  double seconds() const { return seconds_; }

 private:
  MeshView mesh_;
  MeshGraphOptions options_;
  std::map<std::uint32_t, LimbGraph> graphs_;
  std::map<std::uint32_t, ResolutionLevels> levels_;
  double seconds_ = 0;
};

/// One assumption of how a rig is oriented in a mesh, and which limb each of its chains has then.
struct OrientationHypothesis {
  Mat3d mesh_from_rig = Mat3d::Identity();  ///< the rotation from the rig's orientation to the mesh's
  std::uint32_t head = 0;                   ///< vertex of the mesh
  Alignment alignment;
  bool by_descriptors = false;  ///< Poirier's matching (graph_matching.h) found one that is as good
  /// The lower the more plausible: `difference`, plus the residual of the best similarity, which includes the
  /// pose.
  double score = std::numeric_limits<double>::infinity();
  /// Of the limbs from the chains, in length and direction; of left from right limbs, in length; and how much
  /// is dropped.
  double difference = 0;
};

/// The most plausible orientation: as both files are, turned about y, upside down, lying down. That of the
/// files is preferred. `head_point`, when given, is at the mesh's head; else the head is guessed: the end of
/// a limb that is nearest to where the rig's head would be.
OrientationHypothesis find_orientation(const ControlRig& rig, const RigGraph& graph, MeshGraphs& meshes,
                                       const std::optional<Vec3d>& head_point);

/// Which share of a rig has no limb, by length; chains shorter than `min_length` of the longest path do not
/// count. `largest`, when given, receives the node that ends the longest dropped chain, and stays as it is
/// when there is none.
double dropped_share(const LimbGraph& rig, const NodeMap& node_map, double min_length,
                     NodeId* largest = nullptr);

/// Shorter chains, as a share of the longest path, may be dropped freely: fingers, ears. By hand, on the
/// built-in characters.
inline constexpr double kSmallLimb = 1.0 / 12;

/// Diagonal of the box round a rig's points.
double rig_size(const RigGraph& rig);

}  // namespace sinew
