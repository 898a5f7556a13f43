#pragma once

#include <sinew/scene/scene.h>

namespace sinew {

/// The papers' test: a closed cylinder along x with two bones, smooth weights round the joint in its middle,
/// and the clips `bend` (about z, 0° to 150°, 1° per frame) and `twist` (about x, the same).
struct TubeOptions {
  int rings = 64;       ///< along the tube, at least 3
  int segments = 32;    ///< round it, at least 3
  float length = 2;     ///< metres
  float radius = 0.2f;  ///< metres
  float blend =
      0.4f;  ///< metres each side of the joint over which the weights pass from one bone to the other
};

/// Throws Error for options out of range.
Scene make_tube(const TubeOptions& options = {});

}  // namespace sinew
