#pragma once

#include <cstdint>
#include <vector>

#include <sinew/core/parallel.h>
#include <sinew/geometry/triangle_tree.h>

namespace sinew {

/// A tree cut into subtrees, for walks from the leaves up on several threads.
class TreeBlocks {
 public:
  explicit TreeBlocks(const TriangleTree& tree);

  /// Calls visit(n) for every node, children before parents; on several threads.
  template <class Visit>
  void bottom_up(const Visit& visit) const {
    parallel_blocks(blocks_.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        for (std::uint32_t n = blocks_[i].end; n-- > blocks_[i].begin;) visit(n);
    });
    for (std::size_t i = above_.size(); i-- > 0;) visit(above_[i]);
  }

 private:
  /// The nodes of a subtree, which follow each other.
  struct Block {
    std::uint32_t begin, end;
  };

  std::vector<Block> blocks_;
  std::vector<std::uint32_t> above_;  // the nodes over them, parents first
};

}  // namespace sinew
