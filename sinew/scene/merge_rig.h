#pragma once

#include <span>
#include <string>
#include <vector>

#include <sinew/scene/scene.h>

namespace sinew {

/// Where joints and meshes stood when the meshes were bound, in scene space. Files may show another posture
/// at rest than the one in which they were bound; vertices are meaningful in the latter only.
struct BindPose {
  std::vector<Affine3d> world_from_joint;  ///< per joint
  std::vector<Affine3d> scene_from_mesh;   ///< per mesh; its vertices in their place among the joints
  /// How far a joint's place at rest is from here, at most, as a share of the skeleton's size.
  double rest_differs = 0;
};

/// A skin's joints stand where its inverse bind matrices put them, the whole of it moved so that its topmost
/// joint is where the rest pose has it (skins may use units and axes of their own). Other joints follow
/// their parents. A mesh without skin goes along with the joint it hangs on. Matrices that cannot be inverted
/// give way to the rest pose, and to mesh space. The scene must pass check_scene.
BindPose bind_pose(const Scene& scene);

/// The joints that are there to move skin: those of the scene's skins or, where there is no skin, all nodes
/// but those that hold a mesh, a camera or a light, or nothing else than such nodes. Of a rig with
/// controllers, only bones that deform. In the skeleton's order.
std::vector<int> rig_joints(const Scene& scene);

/// A scene with another one's skeleton.
struct MergedRig {
  Scene scene;
  std::vector<int> joint_of_rig;  ///< per joint of the rig, its number in `scene`; -1: stayed behind
  /// What could not be kept, one line each.
  std::vector<std::string> warnings;
};

/// `mesh` with the skeleton and the clips of `rig`: all joints of the rig with their names and rest
/// transforms (but not the nodes that only hold its meshes, cameras and lights), its clips (without morph
/// weights, which are those of other meshes) and then the mesh scene's own. Scenes of the same skeleton share
/// it. Else the rig's joints become new nodes, roots at the scene's root, and the mesh's nodes stay; but a
/// joint of one of its skins that has the name of a joint of the rig becomes that joint, and nodes hanging on
/// it stay there. What a clip did to such a joint is dropped unless both rest alike. Meshes, weights and
/// skins come through; bind_meshes() replaces them. The rig's controllers come along (Scene::control_rig).
/// Both scenes must pass check_scene; the result does.
MergedRig merge_rig(const Scene& mesh, const Scene& rig);

/// New weights for one mesh of a scene.
struct NewBinding {
  std::size_t mesh = 0;
  std::vector<Mat4f> joint_from_mesh;  ///< inverse bind matrices, one per joint of the list
  SkinWeights weights;                 ///< one row per vertex; joints are places in the list
};

/// Binds meshes to `joints` (of scene.skeleton). A skin of some of these joints that has all with weights,
/// with the same matrices, stays and is used: the mesh's own before others. Else a new skin called `name`, of
/// all the joints, takes the place of one that no mesh uses any more, or comes last; meshes with the same
/// matrices share it. Unused skins at the end of the list go, and Joint::deforms is set anew.
void bind_meshes(Scene& scene, std::span<const int> joints, const std::string& name,
                 std::vector<NewBinding> bindings);

}  // namespace sinew
