#pragma once

#include <sinew/fitting/ids.h>
#include <sinew/skeleton/control_rig.h>

namespace sinew {

/// What became of a bone of a rig that was fitted to a mesh.
enum class BoneFate {
  placed,   ///< a deforming bone that has its own place in the mesh
  carried,  ///< moved with a placed bone: controllers, and small bones such as a face's
  dropped,  ///< the mesh has no such limb
};

/// A rig in its new place. Bones that were dropped are still there, so that indices agree with the rig's.
struct FittedRig {
  ControlRig rig;
  PerBone<BoneFate> fate;
};

}  // namespace sinew
