#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace sinew {

/// In arrays of vertex, edge and triangle numbers: none.
inline constexpr std::uint32_t kNoIndex = 0xffffffff;

/// A number that is not negative, as containers want it.
template <class Number>
constexpr std::size_t to_size(Number number) {
  if constexpr (std::is_signed_v<Number>) assert(number >= 0);
  return static_cast<std::size_t>(number);
}

}  // namespace sinew
