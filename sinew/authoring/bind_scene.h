#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sinew/scene/scene.h>
#include <sinew/skinning/bind.h>

namespace sinew {

/// Which mirror plane makes both sides' weights the same.
enum class SymmetryChoice {
  automatic,  ///< the one that mirrors the joints, told apart by their names; none where they do not mirror
  none,
  x,  ///< across the x axis, through the joints in the middle
  y,
  z,
};

struct BindSceneOptions {
  BindMethod method = BindMethod::heat;
  std::size_t influences = 4;  ///< most joints per vertex; 0: all
  double prune = 0.01;         ///< as BindOptions
  double sharpness = 2;        ///< as BindOptions
  int smooth = 0;              ///< as BindOptions
  SymmetryChoice symmetry = SymmetryChoice::automatic;
  // Patterns with * and ? (core/pattern.h) of names. Each must fit something.
  std::vector<std::string> ignore = {};  ///< joints of the rig that shall have no weights
  std::vector<std::string> lock = {};    ///< joints whose weights in the mesh's file stay as they are
  std::vector<std::string> meshes = {};  ///< meshes to bind; empty: all. The others stay as they are.
};

struct BoundMesh {
  std::string name;
  std::size_t vertices = 0;  ///< of the file
  std::size_t unbound = 0;   ///< without weights
  std::size_t first_unbound = 0;
};

/// What one joint moves. Counts are of the files' vertices.
struct BoundJoint {
  std::string name;
  int joint = -1;  ///< of the bound scene's skeleton
  bool locked = false;
  std::size_t vertices = 0;   ///< with any weight of it
  std::size_t dominated = 0;  ///< where it has the largest weight
  double weight = 0;          ///< sum over all vertices
};

/// A joint of the rig that got no weights because it is not there for that.
struct JointLeftOut {
  std::string name;
  std::string reason;
};

struct BindSceneReport {
  BindReport surface;
  std::vector<BoundMesh> meshes;
  std::vector<BoundJoint> joints;
  std::vector<JointLeftOut> left_out;
  std::optional<MirrorPlane> mirror;  ///< the plane of the symmetry; none: bound without
  std::size_t mirror_pairs = 0;       ///< joints with a partner, in pairs
  /// What a user should know, one line each, with what to do about it.
  std::vector<std::string> warnings;
  double seconds = 0;

  std::size_t unbound() const;
};

/// `mesh` bound to the skeleton of `rig`, which may be the same scene. All meshes (or those chosen) are bound
/// together, as one surface, and become skinned; vertices, their order and all else come through (see
/// merge_rig), with the rig's joints, rest pose and clips. Weights are the same for file vertices at one
/// position.
///
/// Meshes and bones meet in the bind pose: joints stand where the rig's skin says they were bound, which its
/// rest pose need not show (bind_pose), or at rest in a rig without skin; meshes where their own skin or
/// their node puts them. Vertex data stays in its own space: the bind matrices take a node's transform in.
///
/// Bones are made for the rig's joints in skins, or for all that look like joints (rig_joints). No weights go
/// to controllers and mechanism (MCH-, ORG-, CTRL-, IK_ and the like) where there are others, and only to
/// DEF- joints where there are any; nor to a root whose bone comes from outside of the mesh to where the rest
/// begins.
///
/// Throws Error when there is no mesh or no joint, a pattern fits nothing, the mesh has no weights of locked
/// joints, or an option is out of range.
Scene bind_scene(const Scene& mesh, const Scene& rig, const BindSceneOptions& options = {},
                 BindSceneReport* report = nullptr);

/// How many vertices of these meshes have weights.
std::vector<BoundMesh> mesh_statistics(const Scene& scene, std::span<const std::size_t> meshes);

/// What each joint of the skeleton moves of these meshes.
std::vector<BoundJoint> joint_statistics(const Scene& scene, std::span<const std::size_t> meshes);

}  // namespace sinew
