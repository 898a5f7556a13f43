#pragma once

#include <string>

namespace sinew {

/// The instruction set that the kernels use on this processor, e.g. "AVX3" (AVX-512), "AVX2", "SSE4", "NEON".
std::string simd_target();

}  // namespace sinew
