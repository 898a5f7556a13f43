#include <sinew/core/parallel.h>

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

namespace sinew {
namespace {

TEST(ParallelBlocks, CoverTheRangeOnceWithBordersOfTheirOwn) {
  for (const int threads : {1, 4})
    for (const std::size_t count : {0u, 1u, 63u, 64u, 65u, 1000u}) {
      std::vector<int> visits(count), starts(count);
      tbb::task_arena(threads).execute([&] {
        parallel_blocks(count, 64, [&](std::size_t begin, std::size_t end) {
          ++starts[begin];
          EXPECT_EQ(begin % 64, 0u);
          EXPECT_EQ(end, std::min(count, begin + 64));
          for (std::size_t i = begin; i < end; ++i) ++visits[i];
        });
      });
      EXPECT_EQ(visits, std::vector<int>(count, 1));
      for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(starts[i], i % 64 == 0);
    }
}

}  // namespace
}  // namespace sinew
