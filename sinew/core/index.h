#pragma once

#include <cstdint>

namespace sinew {

/// In arrays of vertex, edge and triangle numbers: none.
inline constexpr std::uint32_t kNoIndex = 0xffffffff;

}  // namespace sinew
