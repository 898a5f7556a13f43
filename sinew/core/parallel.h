#pragma once

#include <algorithm>
#include <cstddef>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

namespace sinew {

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
  tbb::parallel_for(std::size_t{0}, blocks,
                    [&](std::size_t b) { body(b * block, std::min(count, (b + 1) * block)); });
}

}  // namespace sinew
