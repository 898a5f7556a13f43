#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <sinew/core/progress.h>
#include <sinew/layers/wrinkle_layer.h>

namespace sinew {

/// What a character does while its compression is measured.
struct WrinkleFrames {
  int count = 0;
  /// Writes the pose of a frame from 0 to count - 1 into `pose`, which is the rest pose before the first call
  /// and what was left in it after that.
  std::function<void(int frame, Pose& pose)> set_pose;
  double seconds = 1.0 / 30;  ///< from frame to frame, for layers with history
};

/// Wrinkle tools where the skin is pressed together most while the character performs: one for each place,
/// across the direction of the compression, as long and as wide as what is pressed together, with its length
/// where it is stretched the most. Strongest first, at most `most`; places that an earlier tool covers get
/// none. Skin that loses less than a sixth of its length, or a third of what the strongest loses, gets none.
std::vector<WrinkleChoice> suggest_wrinkles(const std::shared_ptr<const Character>& character,
                                            const WrinkleFrames& frames, std::size_t most = 16,
                                            const Progress& progress = {});

}  // namespace sinew
