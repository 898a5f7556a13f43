#pragma once

#include <span>
#include <vector>

#include <sinew/scene/scene.h>

namespace sinew::test {

/// A closed limb along x that is not round, so that it shows when its field is turned: bones of equal length
/// in a row, and weights that pass smoothly from each to the next.
struct OvalLimbOptions {
  int bones = 2;
  int rings = 40;       ///< along the limb
  int segments = 24;    ///< round it
  float height = 0.2f;  ///< metres from its middle along y
  float depth = 0.1f;   ///< metres from its middle along z
  float raised = 0;     ///< metres along y from the bones to its middle
  float blend = 0.3f;   ///< metres each side of a joint over which the weights pass
};

struct OvalLimb {
  Scene scene;
  std::vector<Vec3d> joints;  ///< where each bone but the first begins

  explicit OvalLimb(const OvalLimbOptions& options = {});

  /// What moves each bone when the first stays and each other turns by one of `turns` against the one before.
  std::vector<Affine3d> posed(std::span<const Eigen::AngleAxisd> turns) const;
};

}  // namespace sinew::test
