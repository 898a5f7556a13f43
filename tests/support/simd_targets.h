#pragma once

#include <functional>
#include <string>

namespace sinew::test {

/// Calls `body` once for every instruction set that this build has kernels for and this processor runs, with
/// the kernels switched to it; then switches back to the best.
void for_each_simd_target(const std::function<void(const std::string& target)>& body);

}  // namespace sinew::test
