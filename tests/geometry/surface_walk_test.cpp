#include <sinew/geometry/surface_walk.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include <gtest/gtest.h>

#include <sinew/geometry/mesh.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

/// Triangles of a mesh and a walk over them.
struct Ground {
  explicit Ground(const Mesh& mesh)
      : positions(mesh.positions), triangles(mesh.triangles), walk(positions.size(), triangles) {}
  Ground(std::vector<Vec3f> at, std::vector<Triangle> all)
      : positions(std::move(at)), triangles(std::move(all)), walk(positions.size(), triangles) {}

  Vec3f position(const WalkPoint& point) const { return walk.position(point, positions); }

  std::vector<Vec3f> positions;
  std::vector<Triangle> triangles;
  SurfaceWalk walk;
};

void expect_inside(const WalkPoint& point) {
  float sum = 0;
  for (const float place : point.place) {
    EXPECT_GE(place, 0);
    sum += place;
  }
  EXPECT_NEAR(sum, 1, 1e-5);
}

constexpr std::uint32_t kMiddle = 5 * 11 + 5;  // of a grid of ten by ten

TEST(SurfaceWalk, AVertexIsAPoint) {
  const Ground grid(test::make_grid(4, 3));
  for (std::uint32_t v = 0; v < grid.positions.size(); ++v) {
    ASSERT_TRUE(grid.walk.has_triangle(v));
    EXPECT_EQ(grid.position(grid.walk.at(v)), grid.positions[v]);
  }
  const Ground loose({{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {5, 5, 5}}, {{0, 1, 2}, {3, 3, 3}, {0, 3, 3}});
  EXPECT_TRUE(loose.walk.has_triangle(2));
  EXPECT_FALSE(loose.walk.has_triangle(3));
}

TEST(SurfaceWalk, GoesStraightOverAPlane) {
  const Ground grid(test::make_grid(10, 10));
  std::mt19937 random(1);
  std::uniform_real_distribution<float> part(-0.3f, 0.3f);
  for (int i = 0; i < 200; ++i) {
    const Vec3f move(part(random), part(random), 0);
    const WalkPoint there = grid.walk.walk(grid.walk.at(kMiddle), move, grid.positions);
    expect_inside(there);
    EXPECT_LT((grid.position(there) - grid.positions[kMiddle] - move).norm(), 1e-5f) << move.transpose();
    const WalkPoint back = grid.walk.walk(there, -move, grid.positions);
    EXPECT_LT((grid.position(back) - grid.positions[kMiddle]).norm(), 1e-5f) << move.transpose();
  }
}

TEST(SurfaceWalk, OfAMoveOnlyWhatLiesInTheSurfaceCounts) {
  const Ground grid(test::make_grid(10, 10));
  const WalkPoint there = grid.walk.walk(grid.walk.at(kMiddle), {0.13f, 0.07f, 5}, grid.positions);
  EXPECT_LT((grid.position(there) - grid.positions[kMiddle] - Vec3f(0.13f, 0.07f, 0)).norm(), 1e-5f);
}

TEST(SurfaceWalk, BendsRoundEdgesAsATapeDoes) {
  // A sheet of paper rolled up to a polygon: the walk ends at the same spot of the paper.
  const Ground flat(test::make_grid(10, 10));
  Ground rolled = flat;
  constexpr float kEdge = 0.1f;
  Vec3f corner = Vec3f::Zero();
  std::vector<Vec3f> corners;
  for (int i = 0; i <= 10; ++i) {
    corners.push_back(corner);
    const auto angle = 0.5f * static_cast<float>(i);
    corner += kEdge * Vec3f(std::cos(angle), 0, std::sin(angle));
  }
  for (std::size_t v = 0; v < rolled.positions.size(); ++v)
    rolled.positions[v] = corners[v % 11] + Vec3f(0, flat.positions[v].y(), 0);
  // Starts in the middle of a triangle, whose plane says how to turn the move.
  const WalkPoint start{2 * kMiddle - 10, {0.3f, 0.3f, 0.4f}};
  const Triangle& f = flat.triangles[start.triangle];
  Eigen::Matrix3f paper, roll;
  const auto frame = [&](const std::vector<Vec3f>& p) {
    Eigen::Matrix3f m;
    m.col(0) = p[f[1]] - p[f[0]], m.col(1) = p[f[2]] - p[f[0]];
    m.col(2) = m.col(0).cross(m.col(1)).normalized();
    return m;
  };
  paper = frame(flat.positions), roll = frame(rolled.positions);
  std::mt19937 random(2);
  std::uniform_real_distribution<float> part(-0.35f, 0.35f);
  for (int i = 0; i < 100; ++i) {
    const Vec3f move(part(random), part(random), 0);
    const WalkPoint on_paper = flat.walk.walk(start, move, flat.positions);
    const WalkPoint on_roll = rolled.walk.walk(start, roll * paper.inverse() * move, rolled.positions);
    EXPECT_LT((flat.position(on_roll) - flat.position(on_paper)).norm(), 1e-4f) << move.transpose();
  }
}

TEST(SurfaceWalk, StaysOnABall) {
  const Ground ball(test::make_icosphere(3));
  std::mt19937 random(3);
  std::normal_distribution<float> part;
  for (std::uint32_t v = 0; v < 40; ++v) {
    // The walk begins in a triangle beside the vertex, which is not quite across the radius.
    const Vec3f out = ball.positions[v].normalized();
    Vec3f move(part(random), part(random), part(random));
    move = 0.8f * (move - move.dot(out) * out).normalized();
    const WalkPoint there = ball.walk.walk(ball.walk.at(v), move, ball.positions);
    expect_inside(there);
    const Vec3f at = ball.position(there);
    EXPECT_NEAR(at.norm(), 1, 0.02);
    EXPECT_NEAR(std::acos(std::clamp(at.normalized().dot(out), -1.0f, 1.0f)), 0.8, 0.06);
  }
}

TEST(SurfaceWalk, EndsAtBorders) {
  const Ground grid(test::make_grid(10, 10));
  const WalkPoint there = grid.walk.walk(grid.walk.at(kMiddle), {3, 0.3f, 0}, grid.positions);
  expect_inside(there);
  EXPECT_LT((grid.position(there) - Vec3f(1, 0.55f, 0)).norm(), 1e-5f);
  // And goes on from there.
  const WalkPoint back = grid.walk.walk(there, {-0.25f, 0, 0}, grid.positions);
  EXPECT_LT((grid.position(back) - Vec3f(0.75f, 0.55f, 0)).norm(), 1e-5f);
}

TEST(SurfaceWalk, EndsWhereThreeTrianglesMeetAndInTrianglesWithoutArea) {
  const std::vector<Vec3f> positions{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, -1}};
  const Ground fan(positions, {{0, 1, 2}, {1, 0, 3}, {0, 1, 4}});
  WalkPoint there = fan.walk.walk({0, {0.4f, 0.3f, 0.3f}}, {0, -5, 0}, positions);
  EXPECT_EQ(there.triangle, 0u);
  EXPECT_LT((fan.position(there) - Vec3f(0.3f, 0, 0)).norm(), 1e-5f);

  // A needle between two triangles.
  const std::vector<Vec3f> needle{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0.5f, 0, 0}};
  const Ground thin(needle, {{0, 1, 2}, {1, 0, 3}});
  there = thin.walk.walk({0, {0.4f, 0.3f, 0.3f}}, {0, -5, 0}, needle);
  expect_inside(there);
  EXPECT_NEAR(thin.position(there).y(), 0, 1e-5);
  const WalkPoint in_needle{1, {0.2f, 0.3f, 0.5f}};
  there = thin.walk.walk(in_needle, {1, 1, 1}, needle);
  EXPECT_EQ(there.triangle, 1u);
  EXPECT_EQ(there.place, in_needle.place);
}

TEST(SurfaceWalk, EndsAfterSoManyTriangles) {
  // Round a tube for ever.
  const Ground tube(test::make_tube(12, 2));
  const WalkPoint start = tube.walk.at(12 + 3);
  const Vec3f at = tube.position(start);
  const Vec3f along = Vec3f::UnitY().cross(at).normalized();
  const WalkPoint there = tube.walk.walk(start, 1000 * along, tube.positions);
  expect_inside(there);
  EXPECT_TRUE(tube.position(there).allFinite());
}

TEST(SurfaceWalk, WhatIsNoMoveLeavesThePointWhereItIs) {
  const Ground grid(test::make_grid(10, 10));
  const WalkPoint start{40, {0.2f, 0.3f, 0.5f}};
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinite = std::numeric_limits<float>::infinity();
  for (const Vec3f& move : {Vec3f(0, 0, 0), Vec3f(nan, 0, 0), Vec3f(infinite, 0, 0)}) {
    const WalkPoint there = grid.walk.walk(start, move, grid.positions);
    EXPECT_EQ(there.triangle, start.triangle);
    for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(there.place[k], start.place[k], 1e-6);
  }
  expect_inside(grid.walk.walk(start, Vec3f::Constant(std::numeric_limits<float>::max()), grid.positions));
  std::vector<Vec3f> lost = grid.positions;
  for (Vec3f& p : lost) p.x() = nan;
  const WalkPoint there = grid.walk.walk(start, {0.1f, 0, 0}, lost);
  EXPECT_EQ(there.place, start.place);
}

}  // namespace
}  // namespace sinew
