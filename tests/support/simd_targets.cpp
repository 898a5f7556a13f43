#include "tests/support/simd_targets.h"

#include <hwy/highway.h>

namespace sinew::test {

void for_each_simd_target(const std::function<void(const std::string& target)>& body) {
  const auto usable = hwy::SupportedTargets() & HWY_TARGETS;
  const auto choose = [](auto targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  };
  for (auto rest = usable; rest != 0; rest &= rest - 1) {
    const auto target = rest & (~rest + 1);
    choose(target);
    body(hwy::TargetName(target));
  }
  choose(0);  // 0 means: ask the processor again
}

}  // namespace sinew::test
