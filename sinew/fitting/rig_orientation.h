#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <sinew/fitting/limb_alignment.h>
#include <sinew/fitting/resolution_levels.h>
#include <sinew/fitting/rig_graph.h>

namespace sinew {

/// The graphs of one mesh, each made when it is first asked for. The mesh must outlive this.
class MeshGraphs {
 public:
  MeshGraphs(const MeshView& mesh, const MeshGraphOptions& options) : mesh_(mesh), options_(options) {}

  const MeshView& mesh() const { return mesh_; }
  const MeshGraphOptions& options() const { return options_; }
  /// From that head; stays where it is.
  const LimbGraph& graph(std::uint32_t head);
  const ResolutionLevels& levels(std::uint32_t head);
  /// How long graphs took so far.
  double seconds() const { return seconds_; }

 private:
  MeshView mesh_;
  MeshGraphOptions options_;
  std::map<std::uint32_t, LimbGraph> graphs_;
  std::map<std::uint32_t, ResolutionLevels> levels_;
  double seconds_ = 0;
};

/// A way in which a rig may stand in a mesh, and which limb each of its chains then has.
struct OrientationHypothesis {
  Mat3d mesh_from_rig = Mat3d::Identity();  ///< the turn from the rig's way of standing to the mesh's
  std::uint32_t head = 0;                   ///< vertex of the mesh
  Alignment alignment;
  bool by_descriptors = false;  ///< Poirier's matching (graph_matching.h) found as good a one
  /// How little sense it makes: `difference`, and what the best similarity leaves over, which includes the
  /// pose.
  double score = std::numeric_limits<double>::infinity();
  /// Of the limbs from the chains, in length and direction, of left from right limbs in length, and how much
  /// is dropped.
  double difference = 0;
};

/// Looks for the way in which the rig makes most sense: as both files stand, turned about y, the other way
/// round, lying down. The way the files stand is preferred. `head_point`, when given, is at the mesh's head;
/// else it is guessed: the end of a limb that is nearest to where the rig's head would be.
OrientationHypothesis find_orientation(const ControlRig& rig, const RigGraph& graph, MeshGraphs& meshes,
                                       const std::optional<Vec3d>& head_point);

/// How much of a rig has no limb, by length, chains shorter than `smallest` of the longest way left out.
/// `largest`, when given, receives the node that ends the longest of them, and stays as it is when there is
/// none.
double dropped_share(const LimbGraph& rig, const std::vector<int>& image, double smallest,
                     int* largest = nullptr);

/// Chains shorter than this share of the longest way may be dropped without anybody missing them.
inline constexpr double kSmallLimb = 1.0 / 12;

/// Diagonal of the box round a rig's points.
double rig_size(const RigGraph& rig);

}  // namespace sinew
