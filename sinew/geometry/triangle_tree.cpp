#include <sinew/geometry/triangle_tree.h>

#include <algorithm>
#include <numeric>

namespace sinew {

namespace {

constexpr std::uint32_t kLeafSize = 4;

}  // namespace

TriangleTree::TriangleTree(const MeshView& mesh) : order_(mesh.triangles.size()) {
  std::vector<Vec3f> centres;
  centres.reserve(mesh.triangles.size());
  for (const Triangle& f : mesh.triangles) {
    // Shares first: corners near the largest float must not overflow.
    Vec3f centre = Vec3f::Zero();
    for (const std::uint32_t v : f) {
      assert(v < mesh.positions.size());
      centre += mesh.positions[v] / 3;
    }
    centres.push_back(centre);
  }
  std::iota(order_.begin(), order_.end(), 0u);
  if (!order_.empty()) split(0, static_cast<std::uint32_t>(order_.size()), centres);
  triangles_.reserve(order_.size());
  for (const std::uint32_t t : order_) triangles_.push_back(mesh.triangles[t]);
}

std::uint32_t TriangleTree::split(std::uint32_t begin, std::uint32_t end, std::span<const Vec3f> centres) {
  const auto number = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back({begin, end, 0});
  if (end - begin <= kLeafSize) return number;
  Eigen::AlignedBox3d box;
  for (std::uint32_t t = begin; t < end; ++t) box.extend(centres[order_[t]].cast<double>());
  Eigen::Index axis = 0;
  box.sizes().maxCoeff(&axis);
  const std::uint32_t middle = begin + (end - begin) / 2;
  std::nth_element(order_.begin() + begin, order_.begin() + middle, order_.begin() + end,
                   [&](std::uint32_t a, std::uint32_t b) {
                     return centres[a][axis] != centres[b][axis] ? centres[a][axis] < centres[b][axis]
                                                                 : a < b;
                   });
  split(begin, middle, centres);
  const std::uint32_t right = split(middle, end, centres);
  nodes_[number].right = right;
  return number;
}

FittedTriangleTree::FittedTriangleTree(const TriangleTree& tree, std::span<const Vec3f> positions)
    : tree_(tree), boxes_(tree.nodes().size()) {
  for (std::size_t n = boxes_.size(); n-- > 0;) {
    const TriangleTree::Node& node = tree.nodes()[n];
    if (node.is_leaf()) {
      for (std::uint32_t t = node.begin; t < node.end; ++t)
        for (const std::uint32_t v : tree.triangles()[t]) boxes_[n].extend(positions[v]);
    } else {
      boxes_[n] = boxes_[n + 1].merged(boxes_[node.right]);
    }
  }
}

}  // namespace sinew
