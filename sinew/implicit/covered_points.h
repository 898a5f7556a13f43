#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <sinew/implicit/field_set.h>

namespace sinew {

/// Points by coordinate, as SIMD likes them. Unused ones are NaN.
struct PointBlock {
  static constexpr std::size_t kSize = 64;

  PointBlock();
  void set(std::size_t i, const Vec3f& at) { x[i] = at.x(), y[i] = at.y(), z[i] = at.z(); }

  alignas(64) std::array<float, kSize> x, y, z;
};

/// A bit per point that PosedField::covers(), its muscles left out. Points within rounding of a cell's border
/// may count for the cell beside it.
std::uint64_t covered_points(const PosedField& field, const PointBlock& points);

}  // namespace sinew
