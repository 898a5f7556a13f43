#include <sinew/fitting/similarity.h>

#include <numbers>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace sinew {
namespace {

const Mat3d kUpright = Mat3d::Identity();

std::vector<Vec3d> random_points(std::mt19937& random, std::size_t count) {
  std::normal_distribution<double> normal;
  std::vector<Vec3d> points(count);
  for (Vec3d& p : points) p = Vec3d(normal(random), normal(random), normal(random));
  return points;
}

Mat3d random_turn(std::mt19937& random) {
  std::normal_distribution<double> normal;
  return Quatd(normal(random), normal(random), normal(random), normal(random))
      .normalized()
      .toRotationMatrix();
}

std::vector<Vec3d> moved(const std::vector<Vec3d>& points, const Similarity& by) {
  std::vector<Vec3d> result;
  for (const Vec3d& p : points) result.push_back(by(p));
  return result;
}

TEST(Similarity, IsFoundAgain) {
  std::mt19937 random(1);
  for (int round = 0; round < 30; ++round) {
    const std::vector<Vec3d> points = random_points(random, 8);
    const Similarity by{0.1 + round, random_turn(random), Vec3d(1, -2, 3)};
    // Exactly where it is the usual one; else the usual one pulls a little.
    const Similarity exact = best_similarity(points, moved(points, by), by.rotation, 1);
    EXPECT_LT((exact.rotation - by.rotation).norm(), 1e-9);
    EXPECT_NEAR(exact.scale, by.scale, 1e-9 * by.scale);
    EXPECT_LT((exact.translation - by.translation).norm(), 1e-7);
    const Similarity found = best_similarity(points, moved(points, by), kUpright, 1);
    EXPECT_LT((found.rotation - by.rotation).norm(), 0.03);
    EXPECT_NEAR(found.scale, by.scale, 0.001 * by.scale);
  }
}

TEST(Similarity, IsTheUsualOneForASinglePoint) {
  std::mt19937 random(2);
  const Mat3d usual = random_turn(random);
  const std::vector<Vec3d> from{Vec3d(1, 2, 3)}, to{Vec3d(-4, 0, 2)};
  const Similarity found = best_similarity(from, to, usual, 2.5);
  EXPECT_EQ(found.rotation, usual);
  EXPECT_EQ(found.scale, 2.5);
  EXPECT_LT((found(from[0]) - to[0]).norm(), 1e-12);
  const Similarity none = best_similarity({}, {}, usual, 2.5);
  EXPECT_EQ(none.rotation, usual);
  EXPECT_EQ(none.translation, Vec3d::Zero());
}

TEST(Similarity, TakesTheUsualTurnAboutALine) {
  // Two points along y that stay along y: nothing says how to turn about it but the usual turn, by 40°.
  const Mat3d usual = Eigen::AngleAxisd(40 * std::numbers::pi / 180, Vec3d::UnitY()).toRotationMatrix();
  const std::vector<Vec3d> from{Vec3d(0, 0, 0), Vec3d(0, 1, 0)}, to{Vec3d(5, 0, 0), Vec3d(5, 3, 0)};
  const Similarity found = best_similarity(from, to, usual, 1);
  EXPECT_LT((found.rotation - usual).norm(), 1e-6);
  EXPECT_NEAR(found.scale, 3, 1e-9);
}

TEST(Similarity, IsNeverAMirrorImage) {
  std::mt19937 random(3);
  const std::vector<Vec3d> points = random_points(random, 6);
  std::vector<Vec3d> mirrored = points;
  for (Vec3d& p : mirrored) p.x() = -p.x();
  const Similarity found = best_similarity(points, mirrored, kUpright, 1);
  EXPECT_NEAR(found.rotation.determinant(), 1, 1e-9);
  EXPECT_GT(found.scale, 0);
}

TEST(Carried, MeetsThePointsItIsGiven) {
  std::mt19937 random(4);
  const std::vector<Vec3d> from = random_points(random, 5), to = random_points(random, 5);
  for (std::size_t k = 0; k < 5; ++k) EXPECT_EQ(warped(from, to, from[k], kUpright, 1), to[k]);
  // And comes near where it is near.
  EXPECT_LT((warped(from, to, from[2] + Vec3d(1e-6, 0, 0), kUpright, 1) - to[2]).norm(), 1e-4);
}

TEST(Carried, FollowsASimilarityEverywhere) {
  std::mt19937 random(5);
  const std::vector<Vec3d> from = random_points(random, 6);
  const Similarity by{2, random_turn(random), Vec3d(3, 2, 1)};
  for (const Vec3d& p : random_points(random, 10))
    EXPECT_LT((warped(from, moved(from, by), p, by.rotation, 1) - by(p)).norm(), 1e-8);
}

TEST(Carried, ByNothingIsTheUsual) {
  EXPECT_EQ(warped({}, {}, Vec3d(1, 2, 3), kUpright, 2), Vec3d(2, 4, 6));
}

}  // namespace
}  // namespace sinew
