#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <sinew/core/math.h>
#include <sinew/skinning/weights.h>

namespace sinew {

/// In metres per frame², at the rest's size.
struct Flicker {
  double rms = 0;      ///< over the vertices
  double largest = 0;  ///< of one vertex
};

/// How much vertices shake against the skeleton: the second difference over three frames of each vertex's
/// position as its strongest binding sees it. A vertex that rides on its bone, however wildly the bone moves,
/// has none. Steady sliding has none either; a jump, or going to and fro, has.
class FlickerMeter {
 public:
  /// `weights` has one row per vertex. Vertices of empty rows, and those `counts` says 0 for, are left out.
  FlickerMeter(const SkinWeights& weights, std::span<const std::uint8_t> counts);

  /// The next frame. Nothing for the first two. Vertices whose strongest binding cannot be inverted in one of
  /// the three frames are left out of it. Without `posed_from_rest` all bindings stand still.
  std::optional<Flicker> add(std::span<const Vec3f> positions, std::span<const Affine3d> posed_from_rest);

 private:
  struct Frame {
    std::vector<Vec3d> seen;
    std::vector<std::uint8_t> usable;
  };
  static constexpr std::uint32_t kNone = 0xffffffffu;

  std::vector<std::uint32_t> strongest_;
  std::array<Frame, 3> frames_;  // oldest first
  int known_ = 0;
};

}  // namespace sinew
