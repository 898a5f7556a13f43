#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <sinew/core/index.h>
#include <sinew/core/math.h>
#include <sinew/implicit/field_sample.h>

namespace sinew {

/// A field of compact support, sampled on a regular grid of its own: value and gradient at every node,
/// both interpolated trilinearly, so that the gradient is continuous, too. Zero outside of the box.
class FieldGrid {
 public:
  /// A node: value and the gradient by grid coordinates.
  struct alignas(16) Node {
    float value, gx, gy, gz;
  };

  FieldGrid() = default;
  /// `grid_from_rest` carries a box of rest space to [0, nodes − 1]³. Throws Error unless it is finite and
  /// each side has 2 to 1024 nodes.
  FieldGrid(const Affine3d& grid_from_rest, const std::array<int, 3>& nodes);

  bool empty() const { return nodes_.empty(); }
  const Affine3d& grid_from_rest() const { return grid_from_rest_; }
  const std::array<int, 3>& size() const { return size_; }
  std::span<Node> nodes() { return nodes_; }
  std::span<const Node> nodes() const { return nodes_; }
  std::size_t index(int x, int y, int z) const {
    return (to_size(x) * to_size(size_[1]) + to_size(y)) * to_size(size_[2]) + to_size(z);
  }

  /// Call when all nodes have their values: finds the box, in whole cells, outside of which no value exceeds
  /// `least`. Samples outside of it are 0 from then on.
  void bound(float least);
  const std::array<float, 3>& low() const { return low_; }
  const std::array<float, 3>& high() const { return high_; }

  /// Whether a point, in grid coordinates, is in a cell with a node above what bound() was told.
  bool covers(const Vec3f& at) const {
    if (!inside(at)) return false;
    const std::size_t cell =
        index(static_cast<int>(at.x()), static_cast<int>(at.y()), static_cast<int>(at.z()));
    return (covered_[cell / 32] >> (cell % 32) & 1) != 0;
  }

  /// What covers() asks, as a bit per cell, by its lowest node.
  std::span<const std::uint32_t> covered() const { return covered_; }

  /// At a point given in grid coordinates; the gradient is by grid coordinates, too. Any float will do.
  FieldSample sample(const Vec3f& at) const;
  /// At a point of rest space, gradient by rest space.
  FieldSample sample_rest(const Vec3d& at) const;

 private:
  // Written so that NaN is outside.
  bool inside(const Vec3f& at) const {
    return at.x() >= low_[0] && at.y() >= low_[1] && at.z() >= low_[2] && at.x() < high_[0] &&
           at.y() < high_[1] && at.z() < high_[2];
  }

  Affine3d grid_from_rest_ = Affine3d::Identity();
  std::array<int, 3> size_{0, 0, 0};
  std::array<float, 3> low_{0, 0, 0}, high_{0, 0, 0};
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> covered_;
};

inline FieldSample FieldGrid::sample(const Vec3f& at) const {
  const float x = at.x(), y = at.y(), z = at.z();
  if (!inside(at)) return {};
  const int ix = static_cast<int>(x), iy = static_cast<int>(y), iz = static_cast<int>(z);
  const float tx = x - static_cast<float>(ix), ty = y - static_cast<float>(iy),
              tz = z - static_cast<float>(iz);
  const std::size_t along_y = to_size(size_[2]), along_x = along_y * to_size(size_[1]);
  const Node* n = nodes_.data() + index(ix, iy, iz);
  const auto at_node = [](const Node* node) { return Eigen::Map<const Eigen::Array4f>(&node->value); };
  using Lanes = Eigen::Array4f;
  const Lanes a00 = at_node(n) + tz * (at_node(n + 1) - at_node(n));
  const Lanes a01 = at_node(n + along_y) + tz * (at_node(n + along_y + 1) - at_node(n + along_y));
  const Node* m = n + along_x;
  const Lanes a10 = at_node(m) + tz * (at_node(m + 1) - at_node(m));
  const Lanes a11 = at_node(m + along_y) + tz * (at_node(m + along_y + 1) - at_node(m + along_y));
  const Lanes a0 = a00 + ty * (a01 - a00), a1 = a10 + ty * (a11 - a10);
  const Lanes a = a0 + tx * (a1 - a0);
  return {a[0], Vec3f(a[1], a[2], a[3])};
}

}  // namespace sinew
