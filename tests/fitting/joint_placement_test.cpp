#include <sinew/core/index.h>
#include <sinew/fitting/joint_placement.h>

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include <tests/reference/joint_placement.h>

namespace sinew {
namespace {

std::vector<Vec3d> line(const Vec3d& from, const Vec3d& to, std::size_t count) {
  std::vector<Vec3d> points;
  for (std::size_t k = 0; k < count; ++k)
    points.push_back(from + static_cast<double>(k) / static_cast<double>(count - 1) * (to - from));
  return points;
}

/// A walk that turns a little at each step.
std::vector<Vec3d> random_walk(std::mt19937& random, std::size_t count, double turn) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> step(0.5, 1.5);
  Vec3d direction = Vec3d(normal(random), normal(random), normal(random)).normalized();
  std::vector<Vec3d> points{Vec3d(normal(random), normal(random), normal(random))};
  while (points.size() < count) {
    points.push_back(points.back() + step(random) * direction);
    direction = (direction + turn * Vec3d(normal(random), normal(random), normal(random))).normalized();
  }
  return points;
}

void expect_rising(const JointPlacement& placement, std::size_t joints) {
  ASSERT_EQ(placement.points.size(), joints);
  EXPECT_EQ(placement.points.front(), 0u);
  EXPECT_EQ(placement.points.back(), placement.arc.size() - 1);
  for (std::size_t j = 1; j < joints; ++j) EXPECT_LT(placement.points[j - 1], placement.points[j]);
  EXPECT_TRUE(std::isfinite(placement.cost));
}

TEST(JointPlacement, PutsTheOnlyBoneOnTheArcsEnds) {
  const std::vector<Vec3d> joints{Vec3d(0, 0, 0), Vec3d(1, 0, 0)};
  const JointPlacement placement = place_joints(joints, line(Vec3d(5, 0, 0), Vec3d(5, 3, 0), 7));
  EXPECT_EQ(placement.points, (std::vector<std::size_t>{0, 6}));
}

TEST(JointPlacement, KeepsProportionsOnAStraightArcOfAnyScale) {
  const std::vector<Vec3d> joints{Vec3d(0, 0, 0), Vec3d(0, 0.3, 0), Vec3d(0, 0.5, 0), Vec3d(0, 1, 0)};
  for (const double scale : {0.01, 1.0, 300.0}) {
    const JointPlacement placement = place_joints(joints, line(Vec3d::Zero(), Vec3d(scale, 0, 0), 101));
    EXPECT_EQ(placement.points, (std::vector<std::size_t>{0, 30, 50, 100})) << scale;
    EXPECT_NEAR(placement.cost, 0, 1e-6);
  }
}

TEST(JointPlacement, FindsTheElbowOfABentLimb) {
  // The rig's arm is straight and its elbow in the middle; the mesh bends by 40° at 45 % of its way.
  const std::vector<Vec3d> joints{Vec3d(0, 0, 0), Vec3d(1, 0, 0), Vec3d(2, 0, 0)};
  std::vector<Vec3d> arc = line(Vec3d(0, 0, 0), Vec3d(4.5, 0, 0), 46);
  const Vec3d down(std::cos(0.7), -std::sin(0.7), 0);
  for (int k = 1; k <= 55; ++k) arc.push_back(Vec3d(4.5, 0, 0) + 0.1 * k * down);
  EXPECT_NEAR(static_cast<double>(place_joints(joints, arc).points[1]), 45, 1);
  // With the rig's shape alone, lengths are kept instead.
  JointPlacementOptions shape;
  shape.distance = 0;
  shape.angle = 0;
  EXPECT_NEAR(static_cast<double>(place_joints(joints, arc, shape).points[1]), 50, 1);
}

TEST(JointPlacement, PutsBendsWhereTheRigHasThem) {
  // A Z of a rig on a Z of a mesh with other lengths: the corners match by shape, not by length.
  const std::vector<Vec3d> joints{Vec3d(0, 0, 0), Vec3d(1, 0, 0), Vec3d(1, 1, 0), Vec3d(2, 1, 0)};
  std::vector<Vec3d> arc = line(Vec3d(0, 0, 0), Vec3d(2, 0, 0), 21);
  for (int k = 1; k <= 10; ++k) arc.push_back(Vec3d(2, 0.1 * k, 0));
  for (int k = 1; k <= 15; ++k) arc.push_back(Vec3d(2 + 0.1 * k, 1, 0));
  EXPECT_EQ(place_joints(joints, arc).points, (std::vector<std::size_t>{0, 20, 30, 45}));
}

TEST(JointPlacement, CostsWhatAlgorithm2Finds) {
  std::mt19937 random(7);
  int bounded = 0;
  for (int round = 0; round < 200; ++round) {
    const std::size_t bones = 1 + round % 5;
    const std::size_t points = bones + 1 + random() % 9;
    const std::vector<Vec3d> joints = random_walk(random, bones + 1, 0.8);
    const std::vector<Vec3d> arc = random_walk(random, points, 0.4);
    std::uniform_real_distribution<double> weight(0, 2);
    JointPlacementOptions options;
    options.angle = weight(random);
    options.length = weight(random);
    options.distance = 5 * weight(random);
    std::vector<double> table((bones + 1) * points);
    for (double& value : table) value = weight(random) - 1;
    if (round % 2)
      options.extra = [&](int joint, std::size_t point) { return table[to_size(joint) * points + point]; };
    const JointPlacement fast = place_joints(joints, arc, options);
    const JointPlacement plain = reference::place_joints(joints, arc, options);
    expect_rising(fast, bones + 1);
    EXPECT_NEAR(fast.cost, plain.cost, 1e-7 * (1 + std::abs(plain.cost))) << round;
    // The cost is that of the points, too.
    EXPECT_NEAR(fast.cost, reference::placement_cost(joints, arc, fast.points, options),
                1e-7 * (1 + std::abs(fast.cost)));
    bounded += fast.points == plain.points;
  }
  EXPECT_GT(bounded, 190);  // ties are rare
}

TEST(JointPlacement, TurningAndScalingChangesNothing) {
  std::mt19937 random(11);
  for (int round = 0; round < 20; ++round) {
    const std::vector<Vec3d> joints = random_walk(random, 4, 0.5);
    std::vector<Vec3d> arc = random_walk(random, 40, 0.2);
    const JointPlacement before = place_joints(joints, arc);
    const Quatd turn = Eigen::AngleAxisd(0.3 + round, Vec3d(1, 2, -1).normalized()) * Quatd::Identity();
    for (Vec3d& point : arc) point = 17 * (turn * point) + Vec3d(3, -8, 2);
    const JointPlacement after = place_joints(joints, arc);
    EXPECT_EQ(before.points, after.points);
    EXPECT_NEAR(before.cost, after.cost, 1e-6);
  }
}

TEST(JointPlacement, ExtraCostMovesAJoint) {
  const std::vector<Vec3d> joints{Vec3d(0, 0, 0), Vec3d(1, 0, 0), Vec3d(2, 0, 0)};
  JointPlacementOptions options;
  options.extra = [](int joint, std::size_t point) { return joint == 1 && point == 13 ? -1.0 : 0.0; };
  const JointPlacement placement = place_joints(joints, line(Vec3d::Zero(), Vec3d(0, 4, 0), 41), options);
  EXPECT_EQ(placement.points[1], 13u);
}

TEST(JointPlacement, ResamplesAnArcWithFewerPointsThanJoints) {
  const std::vector<Vec3d> joints{Vec3d(0, 0, 0), Vec3d(1, 0, 0), Vec3d(2, 0, 0), Vec3d(4, 0, 0)};
  const std::vector<Vec3d> arc{Vec3d(0, 0, 0), Vec3d(0, 12, 0)};
  JointPlacementOptions options;
  options.extra = [](int, std::size_t point) { return point < 2 ? 0.0 : 1e9; };  // only points that exist
  const JointPlacement placement = place_joints(joints, arc, options);
  expect_rising(placement, 4);
  EXPECT_NEAR((placement.arc[placement.points[1]] - Vec3d(0, 3, 0)).norm(), 0, 1e-9);
  EXPECT_NEAR((placement.arc[placement.points[2]] - Vec3d(0, 6, 0)).norm(), 0, 1e-9);
  EXPECT_EQ(placement.arc.back(), arc.back());
}

TEST(JointPlacement, DegenerateInputGivesFiniteAnswers) {
  const std::vector<Vec3d> still(4, Vec3d(1, 2, 3));
  const std::vector<Vec3d> joints{Vec3d(0, 0, 0), Vec3d(1, 0, 0), Vec3d(1, 0, 0), Vec3d(2, 0, 0)};
  const std::vector<Vec3d> straight = line(Vec3d::Zero(), Vec3d(0, 1, 0), 21);
  expect_rising(place_joints(still, straight), 4);                          // a rig chain without length
  expect_rising(place_joints(joints, straight), 4);                         // one bone without
  expect_rising(place_joints(joints, std::vector<Vec3d>(9, still[0])), 4);  // an arc without
  expect_rising(place_joints(joints, std::vector<Vec3d>(1, still[0])), 4);  // a single point
  std::vector<Vec3d> doubled;
  for (const Vec3d& point : straight) doubled.insert(doubled.end(), 2, point);
  const JointPlacement placement = place_joints(joints, doubled);
  expect_rising(placement, 4);
  EXPECT_NEAR(placement.arc[placement.points[1]].y(), 0.5, 0.051);
  expect_rising(place_joints(still, still), 4);  // as many points as joints
  // A chain without length is spread evenly.
  EXPECT_EQ(place_joints(still, line(Vec3d::Zero(), Vec3d(0, 1, 0), 31)).points,
            (std::vector<std::size_t>{0, 10, 20, 30}));
}

}  // namespace
}  // namespace sinew
