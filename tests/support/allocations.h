#pragma once

#include <cstddef>

namespace sinew::test {

/// Whether this program counts. Sanitizers have their own allocator, which is not counted.
bool counts_allocations();

/// How often this thread has called operator new.
std::size_t allocations();

}  // namespace sinew::test
