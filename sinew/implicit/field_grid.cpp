#include <sinew/implicit/field_grid.h>

#include <algorithm>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

namespace sinew {

FieldGrid::FieldGrid(const Affine3d& grid_from_rest, const std::array<int, 3>& nodes)
    : grid_from_rest_(grid_from_rest), size_(nodes) {
  constexpr int kMostNodes = 1024;
  for (const int n : nodes)
    if (n < 2 || n > kMostNodes)
      throw Error(fmt::format("a field's grid has 2 to {} nodes per side, not {}", kMostNodes, n));
  if (!grid_from_rest.matrix().allFinite())
    throw Error("a field's grid lies nowhere: its transform is not finite");
  nodes_.resize(to_size(nodes[0]) * to_size(nodes[1]) * to_size(nodes[2]));
  covered_.assign(nodes_.size() / 32 + 1, ~std::uint32_t{0});
  for (std::size_t axis = 0; axis < 3; ++axis) high_[axis] = static_cast<float>(size_[axis] - 1);
}

void FieldGrid::bound(float least) {
  covered_.assign(nodes_.size() / 32 + 1, 0);
  std::array<int, 3> low = size_, high{-1, -1, -1};
  for (int x = 0; x < size_[0]; ++x)
    for (int y = 0; y < size_[1]; ++y)
      for (int z = 0; z < size_[2]; ++z) {
        if (!(nodes_[index(x, y, z)].value > least)) continue;
        const std::array<int, 3> at{x, y, z};
        for (std::size_t axis = 0; axis < 3; ++axis) {
          low[axis] = std::min(low[axis], at[axis]);
          high[axis] = std::max(high[axis], at[axis]);
        }
        // The cells that have this node as a corner.
        for (int corner = 0; corner < 8; ++corner) {
          const int cx = x - (corner & 1), cy = y - (corner >> 1 & 1), cz = z - (corner >> 2);
          if (cx < 0 || cy < 0 || cz < 0) continue;
          const std::size_t cell = index(cx, cy, cz);
          covered_[cell / 32] |= std::uint32_t{1} << (cell % 32);
        }
      }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    low_[axis] = static_cast<float>(std::max(low[axis] - 1, 0));
    high_[axis] = static_cast<float>(std::min(high[axis] + 1, size_[axis] - 1));
  }
}

FieldSample FieldGrid::sample_rest(const Vec3d& at) const {
  FieldSample result = sample((grid_from_rest_ * at).cast<float>());
  result.gradient = (grid_from_rest_.linear().transpose() * result.gradient.cast<double>()).cast<float>();
  return result;
}

}  // namespace sinew
