#include <sinew/fitting/polyline.h>

#include <gtest/gtest.h>

namespace sinew {
namespace {

const Polyline kBent({Vec3d(0, 0, 0), Vec3d(2, 0, 0), Vec3d(2, 1, 0)});

TEST(Polyline, IsMeasuredAlongItself) {
  EXPECT_DOUBLE_EQ(kBent.length(), 3);
  EXPECT_DOUBLE_EQ(kBent.arc_length(0), 0);
  EXPECT_DOUBLE_EQ(kBent.arc_length(1), 2);
  EXPECT_EQ(kBent.at(0.5), Vec3d(0.5, 0, 0));
  EXPECT_EQ(kBent.at(2), Vec3d(2, 0, 0));
  EXPECT_EQ(kBent.at(2.25), Vec3d(2, 0.25, 0));
}

TEST(Polyline, EndsWhereItEnds) {
  EXPECT_EQ(kBent.at(-1), Vec3d(0, 0, 0));
  EXPECT_EQ(kBent.at(4), Vec3d(2, 1, 0));
  EXPECT_EQ(kBent.at(3), Vec3d(2, 1, 0));
}

TEST(Polyline, KnowsItsNearestPlace) {
  EXPECT_DOUBLE_EQ(kBent.project(Vec3d(1, 0.2, 0)), 1);
  EXPECT_DOUBLE_EQ(kBent.distance(Vec3d(1, 0.2, 0)), 0.2);
  EXPECT_DOUBLE_EQ(kBent.project(Vec3d(3, 0.5, 0)), 2.5);
  EXPECT_DOUBLE_EQ(kBent.project(Vec3d(-1, -1, 0)), 0);
  EXPECT_DOUBLE_EQ(kBent.project(Vec3d(2, 7, 0)), 3);
  EXPECT_EQ(kBent.nearest_index(0.9), 0u);
  EXPECT_EQ(kBent.nearest_index(2.4), 1u);
  EXPECT_EQ(kBent.nearest_index(9), 2u);
}

TEST(Polyline, IsSampledEvenly) {
  const std::vector<Vec3d> points = kBent.resampled(4);
  ASSERT_EQ(points.size(), 4u);
  EXPECT_EQ(points[0], Vec3d(0, 0, 0));
  EXPECT_LT((points[1] - Vec3d(1, 0, 0)).norm(), 1e-12);
  EXPECT_LT((points[2] - Vec3d(2, 0, 0)).norm(), 1e-12);
  EXPECT_EQ(points[3], Vec3d(2, 1, 0));
}

TEST(Polyline, OfOnePointOrOfOnePlaceIsThere) {
  const Vec3d p(1, 2, 3);
  for (const Polyline& line : {Polyline({p}), Polyline({p, p, p})}) {
    EXPECT_EQ(line.length(), 0);
    for (const double along : {-1.0, 0.0, 1.0}) EXPECT_EQ(line.at(along), p);
    EXPECT_EQ(line.project(Vec3d(1, 2, 5)), 0);
    EXPECT_EQ(line.distance(Vec3d(1, 2, 5)), 2);
    EXPECT_EQ(line.resampled(3), (std::vector<Vec3d>{p, p, p}));
  }
}

}  // namespace
}  // namespace sinew
