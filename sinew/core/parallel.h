#pragma once

#include <algorithm>
#include <cstddef>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#if defined(__SANITIZE_THREAD__)
#define SINEW_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SINEW_THREAD_SANITIZER 1
#endif
#endif

#ifdef SINEW_THREAD_SANITIZER
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace sinew {

namespace detail {

// Tell ThreadSanitizer what Debian's oneTBB, built without it, cannot: that a loop's blocks start after what
// stands before the loop and end before what stands behind it. With this, races in loop bodies are found and
// need no suppression that would hide them. One address for all loops: a block knows it before it reads
// anything.
#ifdef SINEW_THREAD_SANITIZER
inline char loop_fence;
inline void hand_over() {
  __tsan_release(&loop_fence);
}
inline void take_over() {
  __tsan_acquire(&loop_fence);
}
#else
inline void hand_over() {}
inline void take_over() {}
#endif

}  // namespace detail

/// Runs body(begin, end) over [0, count) in blocks of exactly `block` items (the last may be shorter), on the
/// caller's oneTBB arena. Block borders depend on `count` and `block` only, never on the number of threads,
/// so a body whose result depends on its block's borders still gives the same bits on any machine.
template <class Body>
void parallel_blocks(std::size_t count, std::size_t block, const Body& body) {
  const std::size_t blocks = (count + block - 1) / block;
  if (blocks <= 1) {
    if (count > 0) body(std::size_t{0}, count);
    return;
  }
  const auto run_block = [&](std::size_t b) {
    detail::take_over();
    body(b * block, std::min(count, (b + 1) * block));
    detail::hand_over();
  };
  detail::hand_over();
  tbb::parallel_for(std::size_t{0}, blocks, run_block);
  detail::take_over();
}

}  // namespace sinew
