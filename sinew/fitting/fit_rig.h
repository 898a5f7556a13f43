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
  Mat3d mesh_from_rig = Mat3d::Identity();  ///< the turn from the rig's way of standing to the mesh's
  double scale = 1;                         ///< lengths in the mesh per lengths in the rig, on the whole
  double cost = 0;  ///< of the alignment, see limb_alignment.h; below 10 for good ones
  double score =
      0;  ///< how much the rig's limbs differ from the mesh's, see fit_rig.cpp; good matches are below 1.8
  bool by_descriptors = false;        ///< Poirier's matching found it; else alignment did
  std::size_t components = 0;         ///< of the mesh
  bool wrapped = false;               ///< it was made of several pieces
  std::size_t limbs = 0;              ///< chains of the rig that found their limb
  std::size_t ignored_limbs = 0;      ///< ends of the mesh's limbs that no chain wanted
  std::vector<std::string> dropped;   ///< deforming bones that the mesh has no limb for
  std::vector<std::string> carried;   ///< deforming bones that moved along with others
  std::optional<MirrorPlane> mirror;  ///< by which the result was made symmetric
  LimbGraph mesh_graph;
  double graph_seconds = 0, matching_seconds = 0, placement_seconds = 0, controllers_seconds = 0;
};

/// Fits a rig, with its controllers, to a mesh: Poirier 2009, §3.1. The deforming bones get their place in
/// the limbs, their rolls, and the controllers go along. Names, hierarchy, constraints and drivers stay. The
/// mesh may face any way, lie on its back, have any size, several pieces, borders and flaws.
///
/// Throws Error when the rig does not deform anything, the mesh has no area, or no sane match is found: the
/// message names the chain of bones that has no limb.
FittedRig fit_rig(const MeshView& mesh, const ControlRig& rig, const FitOptions& options = {},
                  FitReport* report = nullptr);

}  // namespace sinew
