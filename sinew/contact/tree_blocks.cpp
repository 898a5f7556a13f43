#include <sinew/contact/tree_blocks.h>

namespace sinew {

TreeBlocks::TreeBlocks(const TriangleTree& tree) {
  constexpr std::uint32_t kMostTriangles = 1024;  // of a block
  const auto nodes = tree.nodes();
  std::vector<std::uint32_t> ends(nodes.size());
  for (std::uint32_t n = static_cast<std::uint32_t>(nodes.size()); n-- > 0;)
    ends[n] = nodes[n].is_leaf() ? n + 1 : ends[nodes[n].right];
  for (std::uint32_t n = 0; n < nodes.size();) {
    if (nodes[n].is_leaf() || nodes[n].end - nodes[n].begin <= kMostTriangles) {
      blocks_.push_back({n, ends[n]});
      n = ends[n];
    } else {
      above_.push_back(n++);
    }
  }
}

}  // namespace sinew
