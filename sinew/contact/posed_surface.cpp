#include <sinew/contact/posed_surface.h>

#include <cassert>
#include <limits>

namespace sinew {

PosedSurface::PosedSurface(const TriangleTree& tree)
    : tree_(&tree),
      blocks_(tree),
      boxes_(tree.nodes().size()),
      normals_(boxes_.size()),
      areas_(boxes_.size(), Vec3f::Zero()),
      place_of_node_(tree.nodes().size(), 0) {
  if (boxes_.empty()) return;
  fours_.reserve(boxes_.size() / 2 + 1);
  gather(0);
}

std::uint32_t PosedSurface::gather(std::uint32_t node) {
  const std::span<const TriangleTree::Node> nodes = tree_->nodes();
  const auto number = static_cast<std::uint32_t>(fours_.size());
  Four four;
  for (auto* corners : {&four.low, &four.high, &four.normal_low, &four.normal_high})
    for (Numbers& numbers : *corners) numbers.setZero();
  const auto add = [&](std::uint32_t n) { four.node[four.count++] = n; };
  if (nodes[node].is_leaf()) {
    add(node);
  } else {
    for (const std::uint32_t child : {node + 1, nodes[node].right}) {
      if (nodes[child].is_leaf()) {
        add(child);
      } else {
        add(child + 1);
        add(nodes[child].right);
      }
    }
  }
  if (!nodes[node].is_leaf()) place_of_node_[node] = number;
  fours_.push_back(four);
  for (std::uint32_t i = 0; i < four.count; ++i) {
    const std::uint32_t n = four.node[i];
    if (!nodes[n].is_leaf()) {
      four.below[i] = gather(n);
      continue;
    }
    place_of_node_[n] = static_cast<std::uint32_t>(leaves_.size());
    four.below[i] = kLeaf | static_cast<std::uint32_t>(leaves_.size());
    Leaf& leaf = leaves_.emplace_back();
    for (auto& corner : leaf.corners)
      for (Numbers& numbers : corner) numbers.setZero();
    leaf.begin = nodes[n].begin;
    leaf.count = nodes[n].end - nodes[n].begin;
    assert(leaf.count <= 4);
  }
  fours_[number] = four;
  return number;
}

void PosedSurface::refit(std::span<const Vec3f> positions) {
  positions_ = positions;
  const std::span<const TriangleTree::Node> nodes = tree_->nodes();
  const std::span<const Triangle> triangles = tree_->triangles();
  const auto place = [&](std::uint32_t v) {
    const Vec3f& p = positions[v];
    return Vec4f(p.x(), p.y(), p.z(), 0);
  };
  blocks_.bottom_up([&](std::uint32_t n) {
    const TriangleTree::Node& node = nodes[n];
    Box box;
    if (node.is_leaf()) {
      box.low = box.high = place(triangles[node.begin][0]);
      for (std::uint32_t t = node.begin; t < node.end; ++t)
        for (const std::uint32_t v : triangles[t]) {
          const Vec4f p = place(v);
          box.low = box.low.cwiseMin(p);
          box.high = box.high.cwiseMax(p);
        }
    } else {
      const Box &left = boxes_[n + 1], &right = boxes_[node.right];
      box.low = left.low.cwiseMin(right.low);
      box.high = left.high.cwiseMax(right.high);
    }
    boxes_[n] = box;
  });
  constexpr std::size_t kFoursPerTask = 256, kLeavesPerTask = 256;
  parallel_blocks(fours_.size(), kFoursPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t f = begin; f < end; ++f) {
      Four& four = fours_[f];
      for (std::uint32_t i = 0; i < four.count; ++i)
        for (std::size_t k = 0; k < 3; ++k) {
          const Box& box = boxes_[four.node[i]];
          four.low[k][i] = box.low[static_cast<int>(k)];
          four.high[k][i] = box.high[static_cast<int>(k)];
        }
    }
  });
  parallel_blocks(leaves_.size(), kLeavesPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t l = begin; l < end; ++l) {
      Leaf& leaf = leaves_[l];
      for (std::uint32_t i = 0; i < leaf.count; ++i)
        for (std::size_t k = 0; k < 3; ++k)
          for (std::size_t axis = 0; axis < 3; ++axis)
            leaf.corners[k][axis][i] = positions[triangles[leaf.begin + i][k]][static_cast<int>(axis)];
    }
  });
}

void PosedSurface::find_normals() {
  const std::span<const TriangleTree::Node> nodes = tree_->nodes();
  blocks_.bottom_up([&](std::uint32_t n) {
    Box& box = normals_[n];
    if (!nodes[n].is_leaf()) {
      const Box &left = normals_[n + 1], &right = normals_[nodes[n].right];
      box.low = left.low.cwiseMin(right.low);
      box.high = left.high.cwiseMax(right.high);
      return;
    }
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    box.low.setConstant(kInfinity), box.high.setConstant(-kInfinity);
    areas_[n].setZero();
    for (std::uint32_t t = nodes[n].begin; t < nodes[n].end; ++t) {
      const Triangle& f = tree_->triangles()[t];
      const Vec3f area = (positions_[f[1]] - positions_[f[0]]).cross(positions_[f[2]] - positions_[f[0]]);
      const float length = area.norm();
      if (!(length > 0)) continue;
      areas_[n] += area;
      const Vec4f normal = Vec4f(area.x(), area.y(), area.z(), 0) / length;
      box.low = box.low.cwiseMin(normal);
      box.high = box.high.cwiseMax(normal);
    }
  });
  constexpr std::size_t kFoursPerTask = 256;
  parallel_blocks(fours_.size(), kFoursPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t f = begin; f < end; ++f)
      for (std::uint32_t i = 0; i < fours_[f].count; ++i)
        for (std::size_t k = 0; k < 3; ++k) {
          const Box& box = normals_[fours_[f].node[i]];
          fours_[f].normal_low[k][i] = box.low[static_cast<int>(k)];
          fours_[f].normal_high[k][i] = box.high[static_cast<int>(k)];
        }
  });
}

int PosedSurface::winding(const Vec3f& origin, const Vec3f& direction) const {
  int sum = 0;
  cross(origin, direction, 0, std::numeric_limits<float>::infinity(),
        [&](const Crossing& crossing) { sum -= crossing.winding; });
  return sum;
}

}  // namespace sinew
