#pragma once

#include <cstddef>

namespace sinew::test {

/// Whether this program counts. Sanitizers have their own allocator, which is not counted.
bool counts_allocations();

/// How often this thread has called operator new.
std::size_t allocations();

/// Bytes of the whole process that are allocated now.
std::size_t allocated_bytes();

}  // namespace sinew::test
