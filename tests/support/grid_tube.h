#pragma once

#include <sinew/scene/scene.h>

namespace sinew::test {

/// The papers' test on a regular grid, so that tests know where each vertex is: a closed cylinder along x
/// with two bones, smooth weights round the joint in its middle, and the clips `bend` (about z, 0° to 150°,
/// 1° per frame) and `twist` (about x, the same).
struct GridTubeOptions {
  int rings = 64;       ///< along the tube, at least 3
  int segments = 32;    ///< round it, at least 3
  float length = 2;     ///< metres
  float radius = 0.2f;  ///< metres
  float blend =
      0.4f;  ///< metres each side of the joint over which the weights pass from one bone to the other
};

/// Throws Error for options out of range.
Scene make_grid_tube(const GridTubeOptions& options = {});

}  // namespace sinew::test
