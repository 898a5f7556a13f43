#include <sinew/fitting/symmetrise.h>

#include <cmath>

#include <gtest/gtest.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

/// A ball with two smaller ones at its sides, the way characters have arms.
Mesh body() {
  const Mesh ball = test::make_icosphere(3);
  return test::join(
      ball, test::join(test::moved(ball, Vec3f(1, 0, 0), 0.3f), test::moved(ball, Vec3f(-1, 0, 0), 0.3f)));
}

/// Left and right, nearly symmetric, and one in the middle.
PerPoint<Vec3d> points() {
  return {Vec3d(1, 0.01, 0),      Vec3d(-1.02, 0, 0.01), Vec3d(0.5, -0.5, 0),
          Vec3d(-0.49, -0.51, 0), Vec3d(0.01, 0.6, 0.2), Vec3d(7, 8, 9)};
}
SymmetricPoints partners(int left, int right) {
  return {PointId(left), PointId(right)};
}
const std::vector<SymmetricPoints> kPairs{partners(0, 1), partners(3, 2), partners(4, 4)};

std::optional<MirrorPlane> symmetric(const Mesh& mesh, const std::vector<SymmetricPoints>& pairs,
                                     PerPoint<Vec3d>& moved) {
  return make_symmetric(mesh.view(), SurfaceQuery(mesh.view()), pairs, moved);
}

void expect_mirrored(const MirrorPlane& plane, const PerPoint<Vec3d>& moved, double tolerance) {
  for (const SymmetricPoints& pair : kPairs) {
    const Vec3d left = moved[pair.left];
    const Vec3d right = moved[pair.right];
    EXPECT_LT((plane.mirrored(left) - right).norm(), tolerance);
  }
}

TEST(Symmetrise, MirrorsAboutThePlaneThroughTheOrigin) {
  PerPoint<Vec3d> moved = points();
  const std::optional<MirrorPlane> plane = symmetric(body(), kPairs, moved);
  ASSERT_TRUE(plane);
  EXPECT_EQ(plane->normal.cwiseAbs(), Vec3d::UnitX());
  EXPECT_EQ(plane->height(Vec3d::Zero()), 0);
  expect_mirrored(*plane, moved, 1e-15);
  EXPECT_LT((moved[PointId(0)] - Vec3d(1.01, 0.005, 0.005)).norm(), 1e-12);  // half-way
  EXPECT_EQ(moved[PointId(4)].x(), 0);
  EXPECT_EQ(moved[PointId(5)], points()[PointId(5)]);  // in no pair
}

TEST(Symmetrise, FindsAPlaneThatLiesAnyhow) {
  const Quatd turn(Eigen::AngleAxisd(0.7, Vec3d(1, 2, 3).normalized()));
  const Vec3d shift(40, -20, 10);
  Mesh turned = body();
  for (Vec3f& p : turned.positions) p = (turn * p.cast<double>() + shift).cast<float>();
  PerPoint<Vec3d> moved;
  for (const Vec3d& p : points()) moved.push_back(turn * p + shift);
  const std::optional<MirrorPlane> plane = symmetric(turned, kPairs, moved);
  ASSERT_TRUE(plane);
  EXPECT_GT(std::abs(plane->normal.dot(turn * Vec3d::UnitX())), 0.999);
  EXPECT_NEAR(plane->height(shift), 0, 0.02);
  expect_mirrored(*plane, moved, 1e-12);
}

TEST(Symmetrise, SymmetricPointsStay) {
  PerPoint<Vec3d> moved{Vec3d(1, 0.25, 0), Vec3d(-1, 0.25, 0), Vec3d(0.5, -0.5, 0), Vec3d(-0.5, -0.5, 0),
                        Vec3d(0, 0.5, 0.25)};
  const PerPoint<Vec3d> before = moved;
  EXPECT_TRUE(symmetric(body(), kPairs, moved));
  EXPECT_EQ(moved, before);
}

TEST(Symmetrise, APosedCharacterStays) {
  PerPoint<Vec3d> moved = points();
  moved[PointId(0)] += Vec3d(0, 0.5, 0);  // an arm is raised
  const PerPoint<Vec3d> before = moved;
  EXPECT_FALSE(symmetric(body(), kPairs, moved));
  EXPECT_EQ(moved, before);
}

TEST(Symmetrise, AnAsymmetricMeshIsLeftAlone) {
  const Mesh ball = test::make_icosphere(3);
  const Mesh one_armed = test::join(ball, test::moved(ball, Vec3f(1, 0, 0), 0.3f));
  PerPoint<Vec3d> moved = points();
  EXPECT_FALSE(symmetric(one_armed, kPairs, moved));
  EXPECT_EQ(moved, points());
}

TEST(Symmetrise, AFlawIsForgiven) {
  // A wart of 12 vertices among 1926.
  const Mesh warty = test::join(body(), test::moved(test::make_icosphere(0), Vec3f(0.6f, 1.1f, 0), 0.05f));
  PerPoint<Vec3d> moved = points();
  EXPECT_TRUE(symmetric(warty, kPairs, moved));
}

TEST(Symmetrise, WithoutPairsThereIsNoPlane) {
  PerPoint<Vec3d> moved = points();
  EXPECT_FALSE(symmetric(body(), {}, moved));
  EXPECT_FALSE(symmetric(body(), {partners(4, 4)}, moved));
  PerPoint<Vec3d> same(2, Vec3d(0.1, 0.2, 0.3));
  EXPECT_FALSE(symmetric(body(), {partners(0, 1)}, same));
  EXPECT_EQ(moved, points());
}

}  // namespace
}  // namespace sinew
