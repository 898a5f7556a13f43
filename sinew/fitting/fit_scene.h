#pragma once

#include <string>
#include <vector>

#include <sinew/fitting/fit_rig.h>
#include <sinew/scene/scene.h>

namespace sinew {

/// A mesh with a rig that was fitted to it.
struct FittedScene {
  Scene scene;     ///< the mesh's scene with the rig's joints and clips; not bound yet
  ControlRig rig;  ///< the rig in its new place, without the bones that were dropped
  FitReport report;
  std::vector<std::string> warnings;  ///< one line each
};

/// Fits the rig of one scene to the meshes of another, all of them together (fit_rig.h). The rig is
/// Scene::control_rig, or else what the scene's joints make (rig_from_skeleton.h); then a root that is only a
/// place on the ground counts as a controller, and how long the last bones are is not known.
///
/// The joints of the rig come along with their names, hierarchy and whatever axes they have, turned as their
/// bones were. Its clips do, too: what they turn a joint by, relative to its rest, stays; where a joint rests
/// otherwise than in the rig by more than 25° (a shoulder, from T to A), it is turned to where the rig's
/// would be. What moves is scaled.
///
/// Throws Error as fit_rig() does, and when the mesh's scene has no mesh or the rig's no joint. Both scenes
/// must pass check_scene; the result does.
FittedScene fit_scene(const Scene& mesh, const Scene& rig, const FitOptions& options = {});

/// The rig without the bones whose fate is `dropped`. Children of these hang on what they hung on;
/// constraints lose them as targets.
ControlRig without_dropped(const FittedRig& fitted);

}  // namespace sinew
