#pragma once

#include <cstddef>
#include <type_traits>
#include <vector>

namespace sinew {

namespace detail {
template <typename T>
struct IsVector : std::false_type {};
template <typename T, typename Allocator>
struct IsVector<std::vector<T, Allocator>> : std::true_type {};
}  // namespace detail

/// How much memory a vector has taken, with that of vectors in it.
template <typename T, typename Allocator>
std::size_t held_bytes(const std::vector<T, Allocator>& vector) {
  std::size_t bytes = vector.capacity() * sizeof(T);
  if constexpr (detail::IsVector<T>::value)
    for (const T& inner : vector) bytes += held_bytes(inner);
  return bytes;
}

/// The same for several.
template <typename First, typename Second, typename... More>
std::size_t held_bytes(const First& first, const Second& second, const More&... more) {
  return held_bytes(first) + held_bytes(second, more...);
}

}  // namespace sinew
