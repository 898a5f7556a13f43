#include "tests/support/allocations.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include <malloc.h>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if !defined(__has_feature)
#define SINEW_COUNTS_ALLOCATIONS 1
#elif !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
#define SINEW_COUNTS_ALLOCATIONS 1
#endif
#endif

namespace {

thread_local std::size_t count = 0;

}  // namespace

namespace sinew::test {

bool counts_allocations() {
#ifdef SINEW_COUNTS_ALLOCATIONS
  return true;
#else
  return false;
#endif
}

std::size_t allocations() {
  return count;
}

std::size_t allocated_bytes() {
  const struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

}  // namespace sinew::test

#ifdef SINEW_COUNTS_ALLOCATIONS
void* operator new(std::size_t bytes) {
  ++count;
  if (void* const memory = std::malloc(std::max<std::size_t>(bytes, 1))) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
#endif
