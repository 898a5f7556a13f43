#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sinew/core/math.h>
#include <sinew/fitting/fitted_rig.h>
#include <sinew/fitting/limb_graph.h>
#include <sinew/fitting/limb_placement.h>
#include <sinew/geometry/mesh.h>
#include <sinew/skeleton/joint_sides.h>

namespace sinew {

struct FitOptions {
  /// The bone whose end is the head's; empty: guessed by its name, or where the rig starts.
  std::string head_bone;
  /// A point at the top of the mesh's head, metres; else guessed. The nearest vertex counts.
  std::optional<Vec3d> head_point;
  /// Whether a symmetric rig in a symmetric mesh is made exactly symmetric.
  bool symmetric = true;
  MeshGraphOptions graph;
  LimbPlacementOptions placement;
};

/// What fit_rig() found and did.
struct FitReport {
  Vec3d head = Vec3d::Zero();  ///< where the mesh's head was taken to be
  std::string head_bone;
  bool head_guessed = true;
  Mat3d mesh_from_rig = Mat3d::Identity();  ///< the rotation from the rig's orientation to the mesh's
  double scale = 1;                         ///< lengths in the mesh per lengths in the rig, on the whole
  double cost = 0;  ///< of the alignment, see limb_alignment.h; below 10 for good ones
  /// How much the rig's limbs differ from the mesh's, see OrientationHypothesis; good matches are below 1.8.
  double score = 0;
  bool by_descriptors = false;        ///< Poirier's matching was used; else align_limbs()
  std::size_t components = 0;         ///< connected components of the mesh
  bool wrapped = false;               ///< it has several, see body_surface.h
  std::size_t limbs = 0;              ///< chains of the rig that found their limb
  std::size_t ignored_limbs = 0;      ///< ends of the mesh's limbs that no chain was matched with
  std::vector<std::string> dropped;   ///< deforming bones that the mesh has no limb for
  std::vector<std::string> carried;   ///< deforming bones that moved with others
  std::optional<MirrorPlane> mirror;  ///< by which the result was made symmetric
  LimbGraph mesh_graph;
  double graph_seconds = 0, matching_seconds = 0, placement_seconds = 0, controllers_seconds = 0;
};

/// Fits a rig, with its controllers, to a mesh: Poirier 2009, §3.1. The deforming bones are placed in the
/// limbs and get their rolls, and the controllers move with them. Names, hierarchy, constraints and drivers
/// stay. The mesh may face any way, lie on its back, have any size, several components, borders and flaws.
///
/// Throws Error when the rig does not deform anything, the mesh has no area, or no plausible match is found:
/// the message names the chain of bones that has no limb.
FittedRig fit_rig(const MeshView& mesh, const ControlRig& rig, const FitOptions& options = {},
                  FitReport* report = nullptr);

}  // namespace sinew
