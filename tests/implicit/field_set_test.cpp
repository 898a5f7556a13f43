#include <sinew/implicit/field_set.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <sinew/implicit/compact_support.h>

#include "tests/support/sanitized.h"

namespace sinew {
namespace {

constexpr double kRadius = 0.2;

// The field of a ball, exact at the nodes of a grid that is turned as those of bones are.
BoneField ball_field(const Vec3d& center, int nodes = 33) {
  BoneField field;
  field.radius = kRadius;
  const double half = 2 * kRadius;
  const Affine3d grid_from_rest(
      Eigen::Scaling((nodes - 1) / (2 * half)) * Eigen::Translation3d(Vec3d::Constant(half)) *
      Eigen::AngleAxisd(0.4, Vec3d(1, 0, 1).normalized()) * Eigen::Translation3d(-center));
  const Affine3d rest_from_grid = grid_from_rest.inverse();
  field.grid = FieldGrid(grid_from_rest, {nodes, nodes, nodes});
  for (int x = 0; x < nodes; ++x)
    for (int y = 0; y < nodes; ++y)
      for (int z = 0; z < nodes; ++z) {
        const Vec3d from = rest_from_grid * Vec3d(x, y, z) - center;
        const double d = from.norm() - kRadius;
        const Vec3d g = from.norm() > 0 ? Vec3d(rest_from_grid.linear().transpose() * from / from.norm() *
                                                compact_support_slope(d, kRadius))
                                        : Vec3d::Zero();
        field.grid.nodes()[field.grid.index(x, y, z)] = {static_cast<float>(compact_support(d, kRadius)),
                                                         static_cast<float>(g.x()), static_cast<float>(g.y()),
                                                         static_cast<float>(g.z())};
      }
  return field;
}

FieldSet two_balls() {
  FieldSet set;
  static const std::vector<BoneField> balls{ball_field({0, 0, 0}), ball_field({0.3, 0, 0})};
  set.fields = balls;
  set.transform = {2, 0};
  set.tree = CompositionTree(2, {{0, 1, 0}}, {Operator()});
  return set;
}

double ball_value(const Vec3d& from_center) {
  return compact_support(from_center.norm() - kRadius, kRadius);
}

Affine3d some_transform(std::mt19937& random, bool scaled) {
  std::uniform_real_distribution<double> number(-1, 1), factor(0.5, 2);
  Affine3d t(Eigen::Translation3d(3 * number(random), 3 * number(random), 3 * number(random)) *
             Eigen::AngleAxisd(3 * number(random),
                               Vec3d(number(random), number(random), number(random)).normalized()));
  if (scaled) {
    t = t * Eigen::Scaling(factor(random), factor(random), factor(random));
    t = t * Eigen::AngleAxisd(number(random), Vec3d::UnitX());  // shear
  }
  return t;
}

TEST(FieldSet, FieldsMoveWithTheirTransforms) {
  const FieldSet set = two_balls();
  std::mt19937 random(1);
  std::uniform_real_distribution<double> number(-1, 1);
  for (const bool scaled : {false, true})
    for (int trial = 0; trial < 20; ++trial) {
      const std::vector<Affine3d> posed_from_rest{some_transform(random, scaled), Affine3d::Identity(),
                                                  some_transform(random, scaled)};
      std::vector<PosedField> posed(2);
      pose_fields(set, posed_from_rest, posed);
      for (std::size_t f = 0; f < 2; ++f) {
        ASSERT_TRUE(posed[f].usable);
        const Vec3d center = f == 0 ? Vec3d(0, 0, 0) : Vec3d(0.3, 0, 0);
        const Affine3d& transform = posed_from_rest[set.transform[f]];
        for (int i = 0; i < 20; ++i) {
          const Vec3d rest = center + 0.25 * Vec3d(number(random), number(random), number(random));
          const Vec3d x = transform * rest;
          const FieldSample s = posed[f].sample(x.cast<float>());
          EXPECT_NEAR(s.value, ball_value(rest - center), 0.01);
          // ∇f turns with the inverse's transpose.
          const double from = (rest - center).norm();
          const Vec3d expected = transform.linear().inverse().transpose() * (rest - center) / from *
                                 compact_support_slope(from - kRadius, kRadius);
          EXPECT_NEAR((s.gradient.cast<double>() - expected).norm(), 0, from < 0.05 ? 1.5 : 0.1);
        }
      }
    }
}

TEST(FieldSet, AtRestTheyAreTheirGrids) {
  const FieldSet set = two_balls();
  const std::vector<Affine3d> rest(3, Affine3d::Identity());
  std::vector<PosedField> posed(2);
  pose_fields(set, rest, posed);
  std::mt19937 random(2);
  std::uniform_real_distribution<float> number(-0.4f, 0.6f);
  for (int i = 0; i < 200; ++i) {
    const Vec3f x(number(random), number(random), number(random));
    for (std::size_t f = 0; f < 2; ++f) {
      const FieldSample a = posed[f].sample(x), b = set.fields[f].grid.sample_rest(x.cast<double>());
      EXPECT_NEAR(a.value, b.value, 1e-5);
      EXPECT_NEAR((a.gradient - b.gradient).norm(), 0, 1e-3);
    }
    EXPECT_EQ(sample(set, posed, x).value, std::max(posed[0].sample(x).value, posed[1].sample(x).value));
  }
}

TEST(FieldSet, FieldsThatCannotBeInvertedAreZero) {
  FieldSet set = two_balls();
  set.fields[1].grid.nodes()[0] = {1, 1, 1, 1};
  std::mt19937 random(3);
  std::vector<Affine3d> bad;
  Affine3d zero = Affine3d::Identity();
  zero.linear().setZero();
  bad.push_back(zero);
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Affine3d broken = Affine3d::Identity();
    broken(0, 3) = value;
    bad.push_back(broken);
    broken = Affine3d::Identity();
    broken(1, 1) = value;
    bad.push_back(broken);
  }
  bad.push_back(Affine3d(Eigen::Scaling(1.0, 0.0, 1.0)));
  bad.push_back(Affine3d(Eigen::Scaling(1e-30)));
  bad.push_back(Affine3d(Eigen::Scaling(1.0, 1e-200, 1e-200)));
  for (int i = 0; i < 50; ++i) {  // flat, and turned, so that no entry is zero
    const Affine3d turn = some_transform(random, false), other = some_transform(random, false);
    bad.push_back(turn * Eigen::Scaling(1.0, i % 2 ? 1.0 : 0.0, 0.0) * Affine3d(other.linear()));
  }
  for (const Affine3d& transform : bad) {
    const std::vector<Affine3d> posed_from_rest{transform, transform, Affine3d::Identity()};
    std::vector<PosedField> posed(2);
    pose_fields(set, std::vector<Affine3d>(3, Affine3d::Identity()), posed);  // what a pose before left
    pose_fields(set, posed_from_rest, posed);
    EXPECT_TRUE(posed[0].usable);
    EXPECT_FALSE(posed[1].usable) << transform.matrix();
    EXPECT_FALSE(reaches(posed[1], Vec3f::Constant(-10), Vec3f::Constant(10)));
    EXPECT_EQ(posed[1].sample({0.3f, 0, 0}).value, 0);
    EXPECT_EQ(posed[1].sample({0.3f, 0, 0}).gradient, Vec3f::Zero());
    // The other one stays: in the middle of the unusable one it is the only field.
    const Vec3f x(0.1f, 0, 0);
    EXPECT_EQ(sample(set, posed, x).value, posed[0].sample(x).value);
    EXPECT_EQ(sample(set, posed, {0.5f, 0, 0}).value, 0);
  }
}

TEST(FieldSet, AnySizeIsUsable) {
  const FieldSet set = two_balls();
  for (const double scale : {1e-4, 1e-2, 1e2, 1e4, -1.0}) {
    // Much thinner than long is fine, too.
    const std::vector<Affine3d> posed_from_rest(3, Affine3d(Eigen::Scaling(scale, 1e-3 * scale, scale)));
    std::vector<PosedField> posed(2);
    pose_fields(set, posed_from_rest, posed);
    ASSERT_TRUE(posed[0].usable) << scale;
    const FieldSample s = posed[0].sample((scale * Vec3d(0.2, 0, 0)).cast<float>());
    EXPECT_NEAR(s.value, 0.5, 0.01);
    EXPECT_NEAR(s.gradient.x() * scale, -15 / (16 * kRadius), 0.05);
  }
}

TEST(FieldSet, ABoxThatAFieldDoesNotReachHasNone) {
  FieldSet set;
  // Its grid ends where it is not zero yet, so that every hair's breadth counts.
  set.fields = {ball_field({0.1, 0.2, 0.3}, 9)};
  for (FieldGrid::Node& node : set.fields[0].grid.nodes()) node.value = 1;
  set.transform = {0};
  set.tree = CompositionTree(1, {}, {});
  std::mt19937 random(4);
  std::uniform_real_distribution<float> number(-1, 1);
  int reached = 0, missed = 0, hits = 0;
  for (int trial = 0; trial < (test::kSanitized ? 400 : 4000); ++trial) {
    Affine3d transform = some_transform(random, trial % 2 == 0);
    if (trial % 5 == 0) transform.pretranslate(Vec3d(1000, -3000, 500));  // a long walk
    if (trial % 7 == 0) transform.linear().setIdentity();
    std::vector<PosedField> posed(1);
    pose_fields(set, std::vector<Affine3d>{transform}, posed);
    const Vec3f middle = (transform * Vec3d(0.1, 0.2, 0.3)).cast<float>();
    const Vec3f corner = middle + Vec3f(number(random), number(random), number(random));
    const Vec3f size = (0.3f * Vec3f(number(random), number(random), number(random))).cwiseAbs();
    const Vec3f low = corner - size, high = corner + size;
    const bool does = reaches(posed[0], low, high);
    (does ? reached : missed)++;
    if (does) continue;
    for (int i = 0; i < 60; ++i) {
      Vec3f x = low + (high - low)
                          .cwiseProduct(
                              (Vec3f(number(random), number(random), number(random)) + Vec3f::Ones()) / 2);
      for (int axis = 0; axis < 3; ++axis)  // mostly on its faces, edges and corners
        if (random() % 3 != 0) x[axis] = random() % 2 ? low[axis] : high[axis];
      hits += posed[0].sample(x.cwiseMax(low).cwiseMin(high)).value != 0 ? 1 : 0;
    }
  }
  EXPECT_EQ(hits, 0);
  EXPECT_GT(reached, missed / 10);
  EXPECT_GT(missed, reached / 10);
}

TEST(FieldSet, BoxesThatTouchAreReached) {
  FieldSet set;
  set.fields = {BoneField()};
  set.fields[0].grid = FieldGrid(Affine3d::Identity(), {3, 3, 3});
  for (FieldGrid::Node& node : set.fields[0].grid.nodes()) node.value = 1;
  set.transform = {0};
  std::vector<PosedField> posed(1);
  pose_fields(set, std::vector<Affine3d>{Affine3d::Identity()}, posed);
  EXPECT_TRUE(reaches(posed[0], {-1, -1, -1}, {0, 0, 0}));
  EXPECT_NE(posed[0].sample({0, 0, 0}).value, 0);
  EXPECT_FALSE(reaches(posed[0], {-1, -1, -1}, {-0.01f, 3, 3}));
  EXPECT_FALSE(reaches(posed[0], {-1, 2.01f, -1}, {3, 3, 3}));
  EXPECT_TRUE(reaches(posed[0], {0.5f, 0.5f, 0.5f}, {0.5f, 0.5f, 0.5f}));
  // Boxes without end.
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(reaches(posed[0], Vec3f::Constant(-infinity), Vec3f::Constant(infinity)));
  EXPECT_TRUE(reaches(posed[0], Vec3f::Constant(-3e38f), Vec3f::Constant(3e38f)));
}

TEST(FieldSet, NoFields) {
  const FieldSet set;
  std::vector<PosedField> posed;
  pose_fields(set, {}, posed);
  EXPECT_EQ(sample(set, posed, {0, 0, 0}).value, 0);
}

}  // namespace
}  // namespace sinew
