#pragma once

#include <array>
#include <cstddef>

#include <sinew/contact/posed_surface.h>

namespace sinew {

/// The crossings of a ray that are nearest to its beginning, in order; how often the surface winds counts
/// them all.
struct CrossingOrder {
  static constexpr std::size_t kMost = 64;

  std::array<Crossing, kMost> list;
  std::size_t count = 0;
  int winding = 0;  ///< of all

  void add(const Crossing& crossing) {
    winding += crossing.winding;
    if (count == kMost && crossing.t >= list[kMost - 1].t) return;
    std::size_t at = count < kMost ? count++ : kMost - 1;
    for (; at > 0 && list[at - 1].t > crossing.t; --at) list[at] = list[at - 1];
    list[at] = crossing;
  }
};

}  // namespace sinew
