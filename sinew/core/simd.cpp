#include <sinew/core/simd.h>

#include <hwy/highway.h>

namespace sinew {

std::string simd_target() {
  // Targets are bits; the best one has the lowest. Only those the compiler was told to build count.
  const auto usable = hwy::SupportedTargets() & HWY_TARGETS;
  return hwy::TargetName(static_cast<decltype(HWY_TARGETS)>(usable & (~usable + 1)));
}

}  // namespace sinew
