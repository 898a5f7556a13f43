#pragma once

#include <cstddef>

namespace sinew::test {

/// Sanitizers have their own allocator, which is not counted.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kCountsAllocations = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kCountsAllocations = false;
#else
inline constexpr bool kCountsAllocations = true;
#endif
#else
inline constexpr bool kCountsAllocations = true;
#endif

/// How often this thread has called operator new.
std::size_t allocations();

/// Bytes of the whole process that are allocated now.
std::size_t allocated_bytes();

}  // namespace sinew::test
