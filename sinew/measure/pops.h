#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <sinew/core/math.h>

namespace sinew {

/// In metres per frame², but for the shares.
struct Pops {
  double share = 0;             ///< of the vertices, those that pop by more than kPop
  double share_in_contact = 0;  ///< the same of the vertices that are in contact; 0 when none is
  double largest = 0;           ///< of one vertex
  double rms = 0;               ///< over the vertices
};

/// How far a vertex's displacement changed since the last frame; what continuity is told by in slow motion.
struct DisplacementSteps {
  double share = 0;    ///< of the vertices, those whose displacement changed by more than kPop
  double largest = 0;  ///< metres
};

/// A second difference beyond this is one that eyes see as a jump, at 30 frames a second on a body; metres.
inline constexpr double kPop = 2e-3;

/// How much a method adds to the shaking of what it starts from: with e = method − base skin, the second
/// difference |e(f) − 2 e(f−1) + e(f−2)| of each vertex. The base's own motion cancels out, however fast;
/// a displacement that comes or goes evenly has none.
class PopMeter {
 public:
  /// Vertices that `counts` says 0 for are left out.
  explicit PopMeter(std::span<const std::uint8_t> counts) : counts_(counts.begin(), counts.end()) {}

  /// The next frame; both surfaces have one position per vertex, and so has `in_contact`, which says 1 for
  /// those that touch or overlap other skin.
  void add(std::span<const Vec3f> positions, std::span<const Vec3f> base,
           std::span<const std::uint8_t> in_contact);

  /// Of the last three frames; nothing before the third.
  std::optional<Pops> pops() const;
  /// Between the last two; nothing before the second.
  std::optional<DisplacementSteps> steps() const;

 private:
  std::vector<std::uint8_t> counts_, in_contact_;
  std::array<std::vector<Vec3d>, 3> displacements_;  // oldest first
  int known_ = 0;
};

}  // namespace sinew
