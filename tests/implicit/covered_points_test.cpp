#include <sinew/core/index.h>
#include <sinew/implicit/covered_points.h>

#include <limits>
#include <random>

#include <gtest/gtest.h>
#include <Eigen/Geometry>

namespace sinew {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// A turned grid of uneven sides in which some cells count.
FieldGrid patchy_grid() {
  Affine3d grid_from_rest = Affine3d::Identity();
  grid_from_rest.linear() = Eigen::AngleAxisd(0.7, Vec3d(1, 2, 3).normalized()).toRotationMatrix() * 8;
  grid_from_rest.translation() = Vec3d(3, 4, 5);
  FieldGrid grid(grid_from_rest, {11, 7, 9});
  std::mt19937 random(5);
  for (FieldGrid::Node& node : grid.nodes()) node = {random() % 17 == 0 ? 0.5f : 0.0f, 0, 0, 0};
  grid.bound(0.1f);
  return grid;
}

PosedField posed(const FieldGrid& grid) {
  PosedField field;
  field.grid = &grid;
  field.usable = true;
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 4; ++column)
      field.grid_from_world[to_size(4 * row + column)] =
          static_cast<float>(grid.grid_from_rest()(row, column));
  return field;
}

TEST(CoveredPoints, AreThoseThatTheFieldCovers) {
  const FieldGrid grid = patchy_grid();
  const PosedField field = posed(grid);
  const Affine3d rest_from_grid = grid.grid_from_rest().inverse();
  std::mt19937 random(6);
  std::uniform_real_distribution<double> within(-0.2, 1.2);
  int covered = 0, free = 0;
  for (int block = 0; block < 50; ++block) {
    PointBlock points;
    std::array<bool, PointBlock::kSize> expected{};
    for (std::size_t i = 0; i < PointBlock::kSize; ++i) {
      const Vec3d at(10 * within(random), 6 * within(random), 8 * within(random));
      const Vec3f place = (rest_from_grid * at).cast<float>();
      // Not where rounding decides.
      const Vec3d rounded = at.array().round();
      if ((at - rounded).cwiseAbs().minCoeff() < 1e-4) continue;
      points.set(i, place);
      expected[i] = field.covers(place);
    }
    const std::uint64_t bits = covered_points(field, points);
    for (std::size_t i = 0; i < PointBlock::kSize; ++i) {
      EXPECT_EQ((bits >> i & 1) != 0, expected[i]) << block << " " << i;
      expected[i] ? ++covered : ++free;
    }
  }
  EXPECT_GT(covered, 300);
  EXPECT_GT(free, 300);
}

TEST(CoveredPoints, AreFiniteOnes) {
  const FieldGrid grid = patchy_grid();
  const PosedField field = posed(grid);
  EXPECT_EQ(covered_points(field, PointBlock()), 0u);
  PointBlock odd;
  const float infinity = std::numeric_limits<float>::infinity();
  odd.set(0, Vec3f::Constant(infinity));
  odd.set(1, Vec3f::Constant(-infinity));
  odd.set(2, Vec3f(0, kNan, 0));
  odd.set(3, Vec3f::Constant(3e38f));
  odd.set(63, Vec3f(infinity, 0, -infinity));
  EXPECT_EQ(covered_points(field, odd), 0u);
}

}  // namespace
}  // namespace sinew
