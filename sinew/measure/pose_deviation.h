#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sinew/core/math.h>
#include <sinew/skinning/weights.h>

namespace sinew {

/// How far a binding's own skin, taken as rigid, is from where the pose carries it.
struct BindingDeviation {
  std::uint32_t binding = 0;
  double rms = 0;      ///< metres, over its vertices
  double largest = 0;  ///< metres
};

/// A binding's own skin are the vertices that it moves more than any other does. The rigid motion that fits
/// their way from rest to frame best, in least squares, is compared with what the pose does to them: the
/// distance between both, at each of these vertices. Stretch, bulges and folds cancel out; a limb that a
/// method turned or shifted does not. A skin that blends its bones deviates a little, too: compare with it.
class PoseDeviationMeter {
 public:
  /// `weights` has one row per vertex of `rest`; vertices that `counts` says 0 for are left out. Bindings
  /// with fewer than kFewest vertices are not measured.
  PoseDeviationMeter(std::span<const Vec3f> rest, const SkinWeights& weights,
                     std::span<const std::uint8_t> counts);

  /// Of all bindings that are measured and whose transform does not flatten. `rest` is that of the frame,
  /// with what morphs it.
  std::vector<BindingDeviation> measure(std::span<const Vec3f> rest, std::span<const Vec3f> positions,
                                        std::span<const Affine3d> posed_from_rest) const;

  static constexpr std::size_t kFewest = 8;  ///< a rigid motion of fewer says little

 private:
  std::vector<std::uint32_t> bindings_;
  std::vector<std::vector<std::uint32_t>> own_;  // per entry of bindings_: vertices
};

}  // namespace sinew
