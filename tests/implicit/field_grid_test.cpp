#include <sinew/implicit/field_grid.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

#include "tests/reference/implicit_fields.h"

namespace sinew {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

FieldGrid random_grid(const std::array<int, 3>& nodes, unsigned seed) {
  FieldGrid grid(Affine3d::Identity(), nodes);
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> number(0, 1);
  for (FieldGrid::Node& node : grid.nodes())
    node = {number(random), number(random), number(random), number(random)};
  return grid;
}

Vec3f somewhere(const FieldGrid& grid, std::mt19937& random) {
  Vec3f at;
  for (int axis = 0; axis < 3; ++axis)
    at[axis] =
        std::uniform_real_distribution<float>(0, static_cast<float>(grid.size()[to_size(axis)] - 1))(random);
  return at;
}

TEST(FieldGrid, NodesAreWhereTheIndexSays) {
  FieldGrid grid(Affine3d::Identity(), {3, 4, 5});
  ASSERT_EQ(grid.nodes().size(), 60u);
  for (int x = 0; x < 3; ++x)
    for (int y = 0; y < 4; ++y)
      for (int z = 0; z < 5; ++z) {
        const auto number = static_cast<float>(100 * x + 10 * y + z);
        grid.nodes()[grid.index(x, y, z)] = {number, number + 1, number + 2, number + 3};
      }
  for (int x = 0; x < 2; ++x)
    for (int y = 0; y < 3; ++y)
      for (int z = 0; z < 4; ++z) {
        const FieldSample s =
            grid.sample({static_cast<float>(x), static_cast<float>(y), static_cast<float>(z)});
        const auto number = static_cast<float>(100 * x + 10 * y + z);
        EXPECT_EQ(s.value, number);
        EXPECT_EQ(s.gradient, Vec3f(number + 1, number + 2, number + 3));
      }
}

TEST(FieldGrid, ReproducesTrilinearFunctions) {
  const auto f = [](double x, double y, double z) {
    return 0.3 + 0.2 * x - 0.1 * y + 0.4 * z + 0.05 * x * y - 0.02 * y * z + 0.03 * x * z + 0.01 * x * y * z;
  };
  FieldGrid grid(Affine3d::Identity(), {4, 6, 3});
  for (int x = 0; x < 4; ++x)
    for (int y = 0; y < 6; ++y)
      for (int z = 0; z < 3; ++z)
        grid.nodes()[grid.index(x, y, z)] = {static_cast<float>(f(x, y, z)), static_cast<float>(f(x, z, y)),
                                             static_cast<float>(f(y, x, z)), static_cast<float>(f(z, y, x))};
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    const Vec3f at = somewhere(grid, random);
    const FieldSample s = grid.sample(at);
    const double x = at.x(), y = at.y(), z = at.z();
    EXPECT_NEAR(s.value, f(x, y, z), 2e-6);
    EXPECT_NEAR(s.gradient.x(), f(x, z, y), 2e-6);
    EXPECT_NEAR(s.gradient.y(), f(y, x, z), 2e-6);
    EXPECT_NEAR(s.gradient.z(), f(z, y, x), 2e-6);
  }
}

TEST(FieldGrid, IsTheTwin) {
  for (const std::array<int, 3>& nodes :
       {std::array{2, 2, 2}, std::array{2, 7, 3}, std::array{9, 2, 4}, std::array{5, 6, 7}}) {
    const FieldGrid grid = random_grid(nodes, 3);
    std::mt19937 random(2);
    for (int i = 0; i < 1000; ++i) {
      const Vec3f at = somewhere(grid, random);
      const FieldSample s = grid.sample(at);
      const Eigen::Vector4d twin = reference::trilinear(grid, at.cast<double>());
      EXPECT_NEAR(s.value, twin[0], 1e-6);
      EXPECT_NEAR((s.gradient.cast<double>() - twin.tail<3>()).norm(), 0, 2e-6);
    }
  }
}

TEST(FieldGrid, ValueAndGradientAreContinuousAcrossCells) {
  const FieldGrid grid = random_grid({5, 6, 7}, 4);
  std::mt19937 random(5);
  for (int i = 0; i < 500; ++i)
    for (int axis = 0; axis < 3; ++axis) {
      Vec3f at = somewhere(grid, random);
      const int wall = 1 + i % (grid.size()[to_size(axis)] - 2);
      at[axis] = static_cast<float>(wall);
      Vec3f before = at;
      before[axis] = std::nextafter(at[axis], 0.0f);
      const FieldSample a = grid.sample(before), b = grid.sample(at);
      EXPECT_NEAR(a.value, b.value, 5e-6);
      EXPECT_NEAR((a.gradient - b.gradient).norm(), 0, 1e-5);
    }
}

TEST(FieldGrid, IsZeroOutside) {
  FieldGrid grid(Affine3d::Identity(), {4, 5, 6});
  for (FieldGrid::Node& node : grid.nodes()) node = {1, 2, 3, 4};
  const Vec3f inside(1.5f, 2.5f, 3.5f), last(3, 4, 5);
  EXPECT_EQ(grid.sample(inside).value, 1);
  for (int axis = 0; axis < 3; ++axis)
    for (const float out : {-1e-6f, -1.0f, -1e30f, std::nextafter(last[axis], 10.0f), last[axis] + 1, 1e30f,
                            2147483648.0f, kNan, kInfinity, -kInfinity}) {
      Vec3f at = inside;
      at[axis] = out;
      const FieldSample s = grid.sample(at);
      EXPECT_EQ(s.value, 0) << axis << ' ' << out;
      EXPECT_EQ(s.gradient, Vec3f::Zero());
    }
  for (int axis = 0; axis < 3; ++axis) {  // the last float inside
    Vec3f at = inside;
    at[axis] = std::nextafter(last[axis], 0.0f);
    EXPECT_EQ(grid.sample(at).value, 1);
    at[axis] = -0.0f;
    EXPECT_EQ(grid.sample(at).value, 1);
  }
}

TEST(FieldGrid, AnEmptyOneIsZeroEverywhere) {
  const FieldGrid grid;
  EXPECT_TRUE(grid.empty());
  for (const float x : {0.0f, 0.5f, -1.0f, kNan}) {
    EXPECT_EQ(grid.sample({x, x, x}).value, 0);
    EXPECT_EQ(grid.sample_rest(Vec3d(x, x, x)).gradient, Vec3f::Zero());
  }
}

TEST(FieldGrid, RestSpaceHasItsOwnGradient) {
  // f(x) = <a, x> in rest space.
  const Vec3d a(0.3, -0.2, 0.5);
  const Affine3d grid_from_rest(Eigen::Scaling(4.0, 10.0, 25.0) *
                                Eigen::AngleAxisd(0.7, Vec3d(1, 1, 0).normalized()) *
                                Eigen::Translation3d(0.3, 0.2, 0.1));
  FieldGrid grid(grid_from_rest, {5, 6, 7});
  const Affine3d rest_from_grid = grid_from_rest.inverse();
  const Vec3f by_grid = (rest_from_grid.linear().transpose() * a).cast<float>();
  for (int x = 0; x < 5; ++x)
    for (int y = 0; y < 6; ++y)
      for (int z = 0; z < 7; ++z)
        grid.nodes()[grid.index(x, y, z)] = {static_cast<float>(a.dot(rest_from_grid * Vec3d(x, y, z))),
                                             by_grid.x(), by_grid.y(), by_grid.z()};
  std::mt19937 random(6);
  for (int i = 0; i < 200; ++i) {
    const Vec3d x = rest_from_grid * Vec3d(somewhere(grid, random).cast<double>());
    const FieldSample s = grid.sample_rest(x);
    EXPECT_NEAR(s.value, a.dot(x), 1e-6);
    EXPECT_NEAR((s.gradient.cast<double>() - a).norm(), 0, 1e-5);
  }
  EXPECT_EQ(grid.sample_rest(Vec3d(100, 0, 0)).value, 0);
  const FieldSample nowhere = grid.sample_rest(Vec3d::Constant(static_cast<double>(kNan)));
  EXPECT_EQ(nowhere.value, 0);
  EXPECT_EQ(nowhere.gradient, Vec3f::Zero());
}

TEST(FieldGrid, IsBoundedByTheNodesThatCount) {
  FieldGrid grid(Affine3d::Identity(), {9, 8, 7});
  for (FieldGrid::Node& node : grid.nodes()) node = {0.001f, 1, 1, 1};
  grid.nodes()[grid.index(3, 0, 5)].value = 0.5f;
  grid.nodes()[grid.index(4, 2, 6)].value = 0.7f;
  EXPECT_EQ(grid.high(), (std::array{8.0f, 7.0f, 6.0f}));
  const FieldGrid whole = grid;
  grid.bound(0.001f);
  EXPECT_EQ(grid.low(), (std::array{2.0f, 0.0f, 4.0f}));
  EXPECT_EQ(grid.high(), (std::array{5.0f, 3.0f, 6.0f}));
  std::mt19937 random(7);
  int inside = 0;
  for (int i = 0; i < 3000; ++i) {
    const Vec3f at = somewhere(grid, random);
    const FieldSample a = grid.sample(at), b = whole.sample(at);
    if (a.gradient.isZero()) {
      EXPECT_LE(b.value, 0.0010001f) << at.transpose();  // all that is lost
      continue;
    }
    ++inside;
    EXPECT_EQ(a.value, b.value);
    EXPECT_EQ(a.gradient, b.gradient);
  }
  EXPECT_GT(inside, 100);
  grid.bound(0.9f);  // nothing counts
  for (int i = 0; i < 100; ++i) EXPECT_EQ(grid.sample(somewhere(grid, random)).value, 0);
  FieldGrid none;
  none.bound(0);
  EXPECT_EQ(none.sample({0, 0, 0}).value, 0);
}

TEST(FieldGrid, RejectsSizesOutOfRange) {
  for (const int bad : {1, 0, -3, 1025, std::numeric_limits<int>::max()})
    for (std::size_t axis = 0; axis < 3; ++axis) {
      std::array<int, 3> nodes{4, 4, 4};
      nodes[axis] = bad;
      EXPECT_THROW(FieldGrid(Affine3d::Identity(), nodes), Error) << bad;
    }
  EXPECT_NO_THROW(FieldGrid(Affine3d::Identity(), {2, 1024, 2}));
  Affine3d broken = Affine3d::Identity();
  broken(1, 3) = std::numeric_limits<double>::infinity();
  EXPECT_THROW(FieldGrid(broken, {2, 2, 2}), Error);
}

}  // namespace
}  // namespace sinew
