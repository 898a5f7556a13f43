#include <sinew/tracking/twist_view.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include <gtest/gtest.h>

#include <sinew/character/character.h>
#include <sinew/layers/character_fields.h>
#include <sinew/tracking/skin_tracker.h>

#include "tests/reference/skinning.h"
#include "tests/support/oval_limb.h"
#include "tests/support/sanitized.h"

namespace sinew {
namespace {

// Cosines of a turn's axis to the bone between which its share passes from 0 to 1, and sines of half of its
// angle.
constexpr double kBend = 0.7;
constexpr double kTwist = 0.95;
constexpr double kNoAxis = 0.01;
constexpr double kAxis = 0.05;

double radians(double degrees) {
  return degrees * std::numbers::pi / 180;
}

using Turn = Eigen::AngleAxisd;

Mat3d turn_about(const Vec3d& axis, double degrees) {
  return Turn(radians(degrees), axis.normalized()).toRotationMatrix();
}

JointTwist twist_between(const Mat3d& parent, const Mat3d& child, const Vec3d& bone,
                         const Vec3f& place = Vec3f::Zero()) {
  return joint_twist(parent.cast<float>(), child.cast<float>(), place, bone.cast<float>());
}

/// The child turned against its parent, which stays.
JointTwist turned_about(const Vec3d& axis, double degrees, const Vec3d& bone) {
  return twist_between(Mat3d::Identity(), turn_about(axis, degrees), bone);
}

double degrees_of(const TwistTurn& turn) {
  return std::atan2(static_cast<double>(turn.sine), static_cast<double>(turn.cosine)) * 180 /
         std::numbers::pi;
}

TwistShare share_of(float follows, bool carried, float nearness = 1) {
  TwistShare share;
  share.follows = follows, share.carried = carried, share.nearness = nearness;
  return share;
}

void expect_none(const JointTwist& twist, const char* what) {
  EXPECT_EQ(twist.share, 0) << what;
  EXPECT_EQ(twist.half_cosine, 1) << what;
  EXPECT_EQ(twist.half_sine, 0) << what;
  for (const bool carried : {false, true}) {
    const TwistTurn seen = seen_turn(twist, share_of(0.4f, carried));
    EXPECT_EQ(seen.cosine, 1) << what;
    EXPECT_EQ(seen.sine, 0) << what;
  }
}

/// Axes and bones in all directions.
std::vector<Vec3d> directions() {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  std::vector<Vec3d> result{Vec3d::UnitX(), -Vec3d::UnitY(), Vec3d::UnitZ()};
  for (int k = 0; k < 20; ++k) {
    const double x = normal(random), y = normal(random), z = normal(random);
    result.push_back(Vec3d(x, y, z).normalized());
  }
  return result;
}

TEST(TwistView, ATwistIsOneWhicheverWayTheBonesPoint) {
  const Vec3f place(1, -2, 3);
  for (const Vec3d& bone : directions())
    for (const double degrees : {-170.0, -90.0, 8.0, 60.0, 120.0, 175.0}) {
      const Mat3d parent = turn_about({1, 2, -0.5}, 130);
      const JointTwist twist = twist_between(parent, parent * turn_about(bone, degrees), 0.3 * bone, place);
      EXPECT_EQ(twist.place, place);
      EXPECT_NEAR(twist.share, 1, 1e-6f) << degrees;
      EXPECT_NEAR(twist.half_cosine, std::cos(radians(degrees / 2)), 1e-6f) << degrees;
      EXPECT_NEAR(twist.half_sine, std::abs(std::sin(radians(degrees / 2))), 1e-6f) << degrees;
      const Vec3d axis = parent * (degrees > 0 ? bone : Vec3d(-bone));
      EXPECT_LT((twist.axis - axis.cast<float>()).norm(), 1e-4f) << degrees;
    }
}

TEST(TwistView, TheTurnTakesWhatTheParentCarriesToWhereTheChildDoes) {
  // Bends, too.
  const Vec3d place(0.5, 1, -0.3), at(0.2, 0.4, -0.7);
  const std::vector<Vec3d> axes = directions();
  for (std::size_t k = 0; k + 1 < axes.size(); ++k)
    for (const double degrees : {20.0, 90.0, 160.0}) {
      const Mat3d parent = turn_about({-1, 0.3, 2}, 70), child = parent * turn_about(axes[k], degrees);
      const JointTwist twist = twist_between(parent, child, axes[k + 1], place.cast<float>());
      const float cosine = 2 * twist.half_cosine * twist.half_cosine - 1;
      const float sine = 2 * twist.half_cosine * twist.half_sine;
      const Vec3d by_parent = place + parent * at, by_child = place + child * at;
      EXPECT_LT((twist.turned(by_parent.cast<float>(), cosine, sine) - by_child.cast<float>()).norm(), 1e-5f)
          << degrees;
      EXPECT_LT((twist.turned(by_child.cast<float>(), cosine, -sine) - by_parent.cast<float>()).norm(), 1e-5f)
          << degrees;
      EXPECT_LT(
          (twist.turned_direction((parent * at).cast<float>(), cosine, sine) - (child * at).cast<float>())
              .norm(),
          1e-5f)
          << degrees;
    }
}

TEST(TwistView, ABendIsNone) {
  for (const double degrees : {10.0, 90.0, 179.0})
    for (const Vec3d& axis : {Vec3d(0, 0, 1), Vec3d(0, 3, -4), Vec3d(0.9, 0, 1), Vec3d(-0.9, 1, 0)}) {
      const JointTwist twist = turned_about(axis, degrees, Vec3d::UnitX());
      EXPECT_EQ(twist.share, 0) << axis.transpose();
      for (const bool carried : {false, true})
        EXPECT_EQ(seen_turn(twist, share_of(0.5f, carried)).sine, 0) << axis.transpose();
    }
}

TEST(TwistView, ItFadesAsTheAxisLeavesTheBone) {
  const auto share = [](double cosine) {
    return turned_about({cosine, std::sqrt(1 - cosine * cosine), 0}, 90, 2 * Vec3d::UnitX()).share;
  };
  EXPECT_EQ(share(kTwist + 0.001), 1);
  EXPECT_EQ(share(kBend - 0.001), 0);
  EXPECT_NEAR(share((kBend + kTwist) / 2), 0.5f, 1e-4f);
  for (double cosine = -0.999; cosine < 0.999; cosine += 1e-3) {
    EXPECT_NEAR(share(-cosine), share(cosine), 1e-4f) << cosine;
    // The steepest is 1.5 / 0.25.
    EXPECT_NEAR(share(cosine + 1e-3), share(cosine), 6.1e-3f) << cosine;
  }
}

TEST(TwistView, SmallTurnsHaveNoAxis) {
  const auto twist = [](double half_sine) {
    return turned_about(Vec3d::UnitX(), 2 * std::asin(half_sine) * 180 / std::numbers::pi, Vec3d::UnitX());
  };
  expect_none(twist(0), "none");
  expect_none(twist(0.98 * kNoAxis), "least");
  EXPECT_NEAR(twist((kNoAxis + kAxis) / 2).share, 0.5f, 1e-3f);
  EXPECT_EQ(twist(1.02 * kAxis).share, 1);
  // What is seen does not jump on the way, nor to the other side.
  const auto seen = [&](double half_sine) {
    const JointTwist now = twist(half_sine);
    return degrees_of(seen_turn(now, share_of(1, false))) * static_cast<double>(now.axis.x());
  };
  EXPECT_GT(seen(-0.1), 10);
  EXPECT_LT(seen(0.1), -10);
  for (double half_sine = -0.1; half_sine < 0.1; half_sine += 1e-4)
    EXPECT_NEAR(seen(half_sine + 1e-4), seen(half_sine), 0.04) << half_sine;
}

TEST(TwistView, ScalesDoNotMatter) {
  const Vec3d bone(1, 1, 0);
  const Mat3d parent = turn_about({0, 1, 2}, 40), child = parent * turn_about(bone + Vec3d(0, 0, 0.8), 100);
  const JointTwist plain = twist_between(parent, child, bone);
  ASSERT_GT(plain.share, 0.05f);
  ASSERT_LT(plain.share, 0.95f);
  for (const auto& [a, b] : {std::pair(2.0, 2.0), std::pair(0.3, 1.0), std::pair(1e-3, 1e3)}) {
    const JointTwist scaled = twist_between(a * parent, b * child, 1e3 * bone);
    EXPECT_NEAR(scaled.share, plain.share, 1e-4f) << a;
    EXPECT_NEAR(scaled.half_cosine, plain.half_cosine, 1e-5f) << a;
    EXPECT_NEAR(scaled.half_sine, plain.half_sine, 1e-5f) << a;
    EXPECT_LT((scaled.axis - plain.axis).norm(), 1e-5f) << a;
  }
  // A little stretch is no harm.
  const JointTwist stretched = twist_between(parent, child * Vec3d(1, 1.02, 0.99).asDiagonal(), bone);
  EXPECT_NEAR(stretched.share, plain.share, 0.1f);
  EXPECT_NEAR(stretched.half_sine, plain.half_sine, 0.02f);
}

TEST(TwistView, WhatIsNoTurnTwistsNothing) {
  const Vec3d bone = Vec3d::UnitX();
  const Mat3d straight = Mat3d::Identity(), twisted = turn_about(bone, 90);
  ASSERT_EQ(twist_between(straight, twisted, bone).share, 1);
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               infinity = std::numeric_limits<double>::infinity();
  const auto spoilt = [&](double value) {
    Mat3d matrix = Mat3d::Identity();
    matrix(1, 2) = value;
    return matrix;
  };
  const std::vector<std::pair<const char*, Mat3d>> wrong{{"mirrored", Vec3d(1, -1, 1).asDiagonal()},
                                                         {"turned inside out", -Mat3d::Identity()},
                                                         {"flat", Vec3d(1, 0, 1).asDiagonal()},
                                                         {"a point", Mat3d::Zero()},
                                                         {"stretched", Vec3d(1, 1.3, 1).asDiagonal()},
                                                         {"sheared", spoilt(0.5)},
                                                         {"not a number", spoilt(nan)},
                                                         {"all not numbers", Mat3d::Constant(nan)},
                                                         {"not finite", spoilt(infinity)},
                                                         {"huge", 1e30 * Mat3d::Identity()}};
  for (const auto& [what, matrix] : wrong) {
    expect_none(twist_between(matrix, twisted, bone), what);
    expect_none(twist_between(straight, twisted * matrix, bone), what);
    expect_none(twist_between(matrix, twisted * matrix, bone), what);
  }
  expect_none(twist_between(straight, twisted, Vec3d::Zero()), "no bone");
  expect_none(twist_between(straight, twisted, Vec3d(nan, 0, 0)), "bone that is not a number");
  expect_none(twist_between(straight, twisted, bone, Vec3f(0, std::nanf(""), 0)), "no place");
}

TEST(TwistView, TurnsGoTheShorterWay) {
  const Vec3d bone = Vec3d::UnitX();
  for (const double degrees : {181.0, 200.0, 270.0, 350.0}) {
    const JointTwist over = turned_about(bone, degrees, bone),
                     back = turned_about(-bone, 360 - degrees, bone);
    EXPECT_GE(over.half_cosine, 0) << degrees;
    EXPECT_NEAR(over.half_cosine, back.half_cosine, 1e-5f) << degrees;
    EXPECT_NEAR(over.half_sine, back.half_sine, 1e-5f) << degrees;
    EXPECT_LT((over.axis - back.axis).norm(), 1e-4f) << degrees;
    EXPECT_LT(over.axis.x(), -0.999f) << degrees;
    EXPECT_EQ(over.share, 1) << degrees;
  }
}

TEST(TwistView, AVertexSeesWhatTurnsWithItWhereItIs) {
  for (const double degrees : {30.0, 90.0, 150.0}) {
    const JointTwist twist = turned_about(Vec3d::UnitX(), degrees, Vec3d::UnitX());
    const auto seen = [&](float follows, bool carried) {
      return degrees_of(seen_turn(twist, share_of(follows, carried)));
    };
    EXPECT_NEAR(seen(0, false), 0, 1e-4) << degrees;
    EXPECT_NEAR(seen(1, true), 0, 1e-4) << degrees;
    // And what does not, turned by all of it.
    EXPECT_NEAR(seen(1, false), -degrees, 1e-4) << degrees;
    EXPECT_NEAR(seen(0, true), degrees, 1e-4) << degrees;
    // By halves, dual quaternions turn by half of the angle.
    EXPECT_NEAR(seen(0.5f, false), -degrees / 2, 1e-4) << degrees;
    EXPECT_NEAR(seen(0.5f, true), degrees / 2, 1e-4) << degrees;
  }
}

TEST(TwistView, AVertexThatDualQuaternionsTwistedSeesItsRest) {
  const Vec3d place(0.4, -0.1, 0.2), bone = Vec3d(2, 1, -1).normalized();
  const std::vector<Vec3f> rest{{0.5f, 0.1f, 0.3f}};
  for (const double degrees : {-140.0, -60.0, 25.0, 90.0, 170.0, 250.0}) {
    const Affine3d parent(Eigen::Translation3d(3, 1, -2) * Turn(0.9, Vec3d(0.6, 0.8, 0)));
    const Affine3d child(parent * Eigen::Translation3d(place) * Turn(radians(degrees), bone) *
                         Eigen::Translation3d(-place));
    const JointTwist twist =
        twist_between(parent.linear(), child.linear(), bone, (child * place).cast<float>());
    for (const float weight : {0.05f, 0.2f, 0.5f, 0.77f, 0.95f}) {
      SkinWeights weights;
      WeightRepairs repairs;
      Influence row[2] = {{0, 1 - weight}, {1, weight}};
      append_row(weights, row, 0, repairs);
      std::vector<Vec3f> posed(1);
      reference::dual_quaternion<double>(rest, weights, std::array{parent, child}, posed);
      for (const bool carried : {false, true}) {
        const TwistTurn seen = seen_turn(twist, share_of(weight, carried));
        EXPECT_NEAR(seen.cosine * seen.cosine + seen.sine * seen.sine, 1, 1e-5f);
        const Vec3d field_from_rest = (carried ? child : parent) * rest[0].cast<double>();
        EXPECT_LT((twist.turned(posed[0], seen.cosine, seen.sine) - field_from_rest.cast<float>()).norm(),
                  2e-6f)
            << degrees << " " << weight << " " << carried;
      }
    }
  }
}

TEST(TwistView, WhatIsLessNearIsTurnedLess) {
  JointTwist twist = turned_about(Vec3d::UnitX(), 120, Vec3d::UnitX());
  for (const bool carried : {false, true}) {
    const auto seen = [&](float nearness) {
      return degrees_of(seen_turn(twist, share_of(0.3f, carried, nearness)));
    };
    twist.share = 1;
    const double whole = seen(1);
    ASSERT_GT(std::abs(whole), 30);
    EXPECT_EQ(seen(0), 0);
    EXPECT_NEAR(seen(0.5f), whole / 2, 1e-4);
    double before = 0;
    for (float nearness = 0.01f; nearness < 1; nearness += 0.01f) {
      EXPECT_GT(seen(nearness) * whole, before * whole) << nearness;
      EXPECT_NEAR(seen(nearness), before, 0.02 * std::abs(whole)) << nearness;
      before = seen(nearness);
    }
    // The same as a turn that is a twist in part only.
    const double part = seen(0.25f);
    twist.share = 0.25f;
    EXPECT_NEAR(seen(1), part, 1e-4);
    twist.share = 0.5f;
    EXPECT_NEAR(seen(0.5f), part, 1e-4);
    twist.share = 0;
    EXPECT_EQ(seen(1), 0);
  }
}

/// What a vertex has to do with fields.
struct Row {
  std::int32_t own;
  std::vector<Influence> weights;
  std::vector<std::pair<std::uint16_t, float>> neighbours;  // field and nearness
};

using Shares = std::vector<std::vector<TwistShare>>;

Shares find(const FieldSet& set, const std::vector<Row>& rows) {
  FieldNeighbours neighbours;
  std::vector<std::int32_t> own;
  SkinWeights weights;
  for (const Row& row : rows) {
    own.push_back(row.own);
    for (const auto& [field, nearness] : row.neighbours) {
      neighbours.entries.emplace_back();
      neighbours.entries.back().field = field, neighbours.entries.back().nearness = nearness;
    }
    neighbours.starts.push_back(static_cast<std::uint32_t>(neighbours.entries.size()));
    for (const Influence& influence : row.weights) {
      weights.joints.push_back(influence.joint);
      weights.values.push_back(influence.weight);
    }
    weights.starts.push_back(static_cast<std::uint32_t>(weights.joints.size()));
  }
  const TwistShares found = find_twist_shares(set, neighbours, own, weights);
  EXPECT_EQ(found.starts.size(), rows.size() + 1);
  EXPECT_EQ(found.starts.back(), found.entries.size());
  Shares result;
  for (std::size_t v = 0; v < rows.size(); ++v)
    result.emplace_back(found.entries.begin() + found.starts[v], found.entries.begin() + found.starts[v + 1]);
  return result;
}

struct Expected {
  std::uint16_t field, joint;
  bool carried;
  float follows, nearness;
};

/// In this order: fields ascend, and within one the joints.
void expect_shares(const std::vector<TwistShare>& found, const std::vector<Expected>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    EXPECT_EQ(found[k].field, expected[k].field) << k;
    EXPECT_EQ(found[k].joint, expected[k].joint) << k;
    EXPECT_EQ(found[k].carried, expected[k].carried) << k;
    EXPECT_NEAR(found[k].follows, expected[k].follows, 1e-6f) << k;
    EXPECT_EQ(found[k].nearness, expected[k].nearness) << k;
  }
}

/// Fields in a row, each hanging on the one before: joint j is above field j + 1. Each has its own transform.
FieldSet chain(std::size_t fields) {
  FieldSet set;
  set.fields.resize(fields);
  for (std::uint32_t f = 0; f < fields; ++f) {
    set.transform.push_back(f);
    if (f > 0) set.joints.push_back({f - 1, f, Vec3d::Zero()});
  }
  return set;
}

TEST(TwistView, AVertexFollowsAJointByItsWeightBelowIt) {
  const Shares found = find(chain(4), {{1, {{1, 0.7f}, {2, 0.3f}}, {}},
                                       {2, {{2, 0.6f}, {1, 0.4f}}, {}},
                                       {0, {{0, 1}}, {}},
                                       {3, {{3, 1}}, {}},
                                       {1, {{1, 0.5f}, {3, 0.3f}, {0, 0.2f}}, {}}});
  expect_shares(found[0], {{1, 1, false, 0.3f, 1}});
  // The joint above carries the field and all of the vertex: no difference.
  expect_shares(found[1], {{2, 1, true, 0.6f, 1}});
  expect_shares(found[2], {});
  expect_shares(found[3], {});
  expect_shares(found[4], {{1, 0, true, 0.8f, 1}, {1, 1, false, 0.3f, 1}, {1, 2, false, 0.3f, 1}});
}

TEST(TwistView, NeighboursAreSeenAsFarAsTheyAreNear) {
  const Shares found = find(chain(4), {{1, {{1, 0.7f}, {2, 0.3f}}, {{0, 0.4f}, {2, 0.9f}}},
                                       {1, {{1, 0.7f}, {2, 0.3f}}, {{0, 0}, {2, 0.9f}}},
                                       {0, {{0, 1}}, {{3, 0.5f}}},
                                       {3, {{3, 1}}, {{0, 0.5f}}}});
  // Fields ascend, with its own among them. All of the vertex is below the first joint.
  expect_shares(
      found[0],
      {{0, 0, false, 1, 0.4f}, {0, 1, false, 0.3f, 0.4f}, {1, 1, false, 0.3f, 1}, {2, 1, true, 0.3f, 0.9f}});
  expect_shares(found[1], {{1, 1, false, 0.3f, 1}, {2, 1, true, 0.3f, 0.9f}});
  // What touches at rest, though all joints are between.
  expect_shares(found[2], {{3, 0, true, 0, 0.5f}, {3, 1, true, 0, 0.5f}, {3, 2, true, 0, 0.5f}});
  expect_shares(found[3], {{0, 0, false, 1, 0.5f}, {0, 1, false, 1, 0.5f}, {0, 2, false, 1, 0.5f}});
}

TEST(TwistView, BranchesDoNotCarryEachOther) {
  // 1 and 2 hang on 0, 3 on 2; joints are in no order.
  FieldSet set = chain(4);
  set.joints = {{2, 3, Vec3d::Zero()}, {0, 2, Vec3d::Zero()}, {0, 1, Vec3d::Zero()}};
  const Shares found = find(set, {{1, {{1, 0.6f}, {0, 0.4f}}, {{3, 1}}}, {3, {{3, 0.75f}, {0, 0.25f}}, {}}});
  expect_shares(found[0],
                {{1, 2, true, 0.6f, 1}, {3, 0, true, 0, 1}, {3, 1, true, 0, 1}, {3, 2, false, 0.6f, 1}});
  expect_shares(found[1], {{3, 0, true, 0.75f, 1}, {3, 1, true, 0.75f, 1}});
}

TEST(TwistView, VerticesWithoutAFieldSeeNone) {
  const Shares found =
      find(chain(3), {{-1, {{0, 0.5f}, {1, 0.5f}}, {}}, {1, {{0, 0.5f}, {1, 0.5f}}, {}}, {-1, {{2, 1}}, {}}});
  expect_shares(found[0], {});
  expect_shares(found[1], {{1, 0, true, 0.5f, 1}});
  expect_shares(found[2], {});
}

TEST(TwistView, TransformsWithoutAFieldCountForThatAboveThem) {
  FieldSet set = chain(2);
  set.transform = {3, 1};
  const Row row{0, {{3, 0.5f}, {1, 0.2f}, {2, 0.2f}, {9, 0.1f}}, {}};
  // Nobody knows whose the others are: they are left out.
  EXPECT_EQ(fields_of_transforms(set), (std::vector<std::int32_t>{-1, 1, -1, 0}));
  expect_shares(find(set, {row})[0], {{0, 0, false, 0.2f / 0.7f, 1}});
  // 2 hangs on the second field, 0 on none, and 9 is not there.
  set.field_of_transform = {-1, 1, 1, 0};
  EXPECT_EQ(fields_of_transforms(set), set.field_of_transform);
  expect_shares(find(set, {row})[0], {{0, 0, false, 0.4f / 0.9f, 1}});
  set.field_of_transform = {-1, 1, 0, 0};
  expect_shares(find(set, {row})[0], {{0, 0, false, 0.2f / 0.9f, 1}});
}

TEST(TwistView, WeightsNeedNotSumToOne) {
  const Shares found = find(chain(2), {{1, {{1, 3}, {0, 1}}, {}},
                                       {1, {{1, 0.03f}, {0, 0.01f}}, {}},
                                       {1, {}, {}},
                                       {1, {{0, 0}, {1, 0}}, {}},
                                       {0, {{0, 0.9995f}, {1, 0.0005f}}, {}},
                                       {1, {{1, 0.9995f}, {0, 0.0005f}}, {}}});
  expect_shares(found[0], {{1, 0, true, 0.75f, 1}});
  expect_shares(found[1], {{1, 0, true, 0.75f, 1}});
  // What nothing moves does not follow.
  expect_shares(found[2], {{1, 0, true, 0, 1}});
  expect_shares(found[3], {{1, 0, true, 0, 1}});
  // A trifle is not worth the work.
  expect_shares(found[4], {});
  expect_shares(found[5], {});
}

TEST(TwistView, JointsThatGoRoundInCirclesEndSomewhere) {
  // 0 and 1 hang on each other, 2 on itself.
  FieldSet set = chain(4);
  set.joints = {{0, 1, Vec3d::Zero()}, {1, 0, Vec3d::Zero()}, {2, 2, Vec3d::Zero()}};
  for (const std::vector<TwistShare>& row : find(set, {{0, {{0, 0.5f}, {1, 0.5f}}, {{1, 1}}},
                                                       {2, {{1, 0.2f}, {2, 0.8f}}, {{0, 1}}},
                                                       {3, {{0, 0.8f}, {3, 0.2f}}, {}}}))
    for (const TwistShare& share : row) {
      EXPECT_LT(share.joint, set.joints.size());
      EXPECT_GE(share.follows, 0);
      EXPECT_LE(share.follows, 1);
    }
}

TEST(TwistView, ABoneIsAllOfItsSegments) {
  FieldSet set = chain(4);
  const auto segment = [](const Vec3d& head, const Vec3d& tail) {
    BoneSegment result;
    result.head = head, result.tail = tail;
    return result;
  };
  set.fields[0].segments = {segment({0, 0, 0}, {7, 7, 7})};
  set.fields[1].segments = {segment({1, 0, 0}, {2, 1, 0}), segment({1, 0, 0}, {2, -1, 0.5})};
  set.fields[3].segments = {segment({0, 0, 0}, {std::nan(""), 0, 0})};
  const std::vector<Vec3f> bones = child_bones(set);
  ASSERT_EQ(bones.size(), 3u);
  EXPECT_LT((bones[0] - Vec3f(2, 0, 0.5f)).norm(), 1e-6f);
  EXPECT_EQ(bones[1], Vec3f::Zero());
  EXPECT_EQ(bones[2], Vec3f::Zero());
}

Turn about_bone(double degrees) {
  return Turn(radians(degrees), Vec3d::UnitX());
}

constexpr float kRadius = 0.1f;  // of the limb, where it is thin

/// A limb that is twice as high as it is deep, with its fields.
struct Limb {
  test::OvalLimb limb;
  std::shared_ptr<const Character> character;
  CharacterFields fields;

  explicit Limb(int bones, float blend = 0.3f, const ImplicitOptions& options = {}, float helper = 0)
      : Limb(sized(bones, blend), options, helper) {}

  Limb(const test::OvalLimbOptions& size, const ImplicitOptions& options, float helper = 0) : limb(size) {
    if (helper > 0) add_helper(helper);
    Recipe recipe;
    recipe.normals = false;
    character = Character::make(limb.scene, recipe);
    fields = make_character_fields(*character, options);
  }

  static test::OvalLimbOptions sized(int bones, float blend) {
    test::OvalLimbOptions size;
    size.bones = bones, size.blend = blend;
    if (test::kSanitized) size.rings = 28, size.segments = 16;
    return size;
  }

  /// Gives a share of the second bone's weights to a joint of its own that hangs on it. It moves no skin
  /// most, and so has no field.
  void add_helper(float share) {
    Scene& scene = limb.scene;
    scene.skins[0].joints.push_back(static_cast<int>(scene.skeleton.size()));
    scene.skins[0].joint_from_mesh.push_back(scene.skins[0].joint_from_mesh[1]);
    scene.skeleton.joints.push_back({"helper", 1, {}, true});
    // Out along the bone: where it begins there would be none.
    constexpr float kOut = 0.8f;
    scene.skeleton.joints.back().rest.translation = {kOut, 0, 0};
    scene.skins[0].joint_from_mesh.back()(0, 3) -= kOut;
    scene.joint_nodes.assign(scene.skeleton.size(), -1);
    SkinWeights helped;
    WeightRepairs repairs;
    const SkinWeights& weights = scene.meshes[0].weights;
    for (std::size_t v = 0; v < weights.rows(); ++v) {
      std::vector<Influence> row;
      for (std::size_t k = 0; k < weights.row_size(v); ++k)
        row.push_back({weights.row_joints(v)[k], weights.row_values(v)[k]});
      for (std::size_t k = 0; k < weights.row_size(v); ++k)
        if (row[k].joint == 1) {
          row.push_back({2, share * row[k].weight});
          row[k].weight *= 1 - share;
        }
      append_row(helped, row, 0, repairs);
    }
    scene.meshes[0].weights = helped;
  }

  std::size_t size() const { return character->rest().size(); }

  std::vector<Vec3f> dqs(std::span<const Affine3d> posed) const {
    std::vector<Vec3f> result(size());
    reference::dual_quaternion<double>(character->rest(), character->skin_weights(), posed, result);
    return result;
  }

  SkinTracker tracker(const TrackingOptions& options = {}) const {
    const std::vector<Affine3d> identity(character->bindings().size(), Affine3d::Identity());
    return SkinTracker({character->rest(), character->triangles()}, fields.own, fields.set,
                       character->skin_weights(), identity, options);
  }

  /// How far tracking moves what dual quaternions made of a pose, at most, in radii.
  float moved(std::span<const Affine3d> posed, const TrackingOptions& options = {}) const {
    const SkinTracker skin = tracker(options);
    TrackingScratch scratch = skin.make_scratch();
    const std::vector<Vec3f> before = dqs(posed);
    std::vector<Vec3f> after = before;
    skin.track(posed, scratch, after);
    skin.untangle(scratch, after);
    float most = 0;
    for (std::size_t v = 0; v < size(); ++v) most = std::max(most, (after[v] - before[v]).norm() / kRadius);
    return most;
  }

  /// How far the fields themselves are from their values at rest, where dual quaternions put the skin.
  float off(std::span<const Affine3d> posed) const {
    std::vector<PosedField> posed_fields(fields.set->fields.size());
    pose_fields(*fields.set, posed, posed_fields);
    const std::vector<Vec3f> skin = dqs(posed);
    const std::vector<float> iso = tracker().iso();
    float most = 0;
    for (std::size_t v = 0; v < size(); ++v)
      most = std::max(most, std::abs(sample(*fields.set, posed_fields, skin[v]).value - iso[v]));
    return most;
  }
};

/// To the last bit of what a float can tell.
TrackingOptions exacting() {
  TrackingOptions options;
  options.ease = options.swelling = 0;
  options.tolerance = 2e-5;
  return options;
}

TEST(TwistView, AnOvalLimbIsTwistedAsDualQuaternionsTwistIt) {
  const Limb limb(2);
  const Affine3d away(Eigen::Translation3d(0.7, -1.1, 0.4) * Turn(0.8, Vec3d(1, 2, 3).normalized()));
  for (const double degrees : {-150.0, -90.0, 30.0, 60.0, 90.0, 120.0, 165.0}) {
    std::vector<Affine3d> posed = limb.limb.posed(std::array{about_bone(degrees)});
    // The fields themselves are far from where the skin is.
    EXPECT_GT(limb.off(posed), std::abs(degrees) < 60 ? 0.1f : 0.2f) << degrees;
    EXPECT_LT(limb.moved(posed), 1e-6f) << degrees;
    EXPECT_LT(limb.moved(posed, exacting()), 1e-3f) << degrees;
    for (Affine3d& transform : posed) transform = away * transform;
    EXPECT_LT(limb.moved(posed), 1e-6f) << degrees;
    // A bend by as much leaves much to do.
    EXPECT_GT(limb.moved(limb.limb.posed(std::array{Turn(radians(degrees), Vec3d::UnitY())})), 0.05f)
        << degrees;
  }
}

TEST(TwistView, AllOperatorsSeeIt) {
  ImplicitOptions contact;
  contact.operation.kind = static_cast<std::size_t>(OperatorKind::contact);
  const Limb limb(2, 0.3f, contact);
  const std::vector<Affine3d> posed = limb.limb.posed(std::array{about_bone(90)});
  EXPECT_LT(limb.moved(posed), 1e-6f);
  EXPECT_LT(limb.moved(posed, exacting()), 1e-3f);
  EXPECT_GT(limb.moved(limb.limb.posed(std::array{Turn(radians(90), Vec3d::UnitY())})), 0.1f);
}

TEST(TwistView, FieldsThatHaveSwungAwayAreSeen) {
  // Bones at the skin's edge, and fields that do not reach far: where the skin is, none of them is left.
  test::OvalLimbOptions size;
  size.rings = 80, size.segments = 64;
  size.depth = 0.05f, size.raised = 0.15f;
  ImplicitOptions options;
  options.field.support = 0.2;
  const Limb limb(size, options);
  for (const double degrees : {90.0, 150.0}) {
    const std::vector<Affine3d> posed = limb.limb.posed(std::array{about_bone(degrees)});
    EXPECT_GT(limb.off(posed), 0.5f) << degrees;
    EXPECT_LT(limb.moved(posed), 0.02f) << degrees;
  }
}

TEST(TwistView, AChainOfTwistsIsOne) {
  // Where the weights pass far, vertices follow three bones. Dual quaternions do not blend these as one joint
  // after the other, but nearly.
  for (const float blend : {0.25f, 0.55f}) {
    const Limb limb(3, blend);
    for (const auto& turns :
         {std::array{about_bone(90), about_bone(80)}, std::array{about_bone(-120), about_bone(100)}}) {
      const std::vector<Affine3d> posed = limb.limb.posed(turns);
      EXPECT_GT(limb.off(posed), 0.2f) << blend;
      EXPECT_LT(limb.moved(posed), 1e-6f) << blend;
      EXPECT_LT(limb.moved(posed, exacting()), blend < 0.3f ? 5e-3f : 0.05f) << blend;
    }
  }
}

TEST(TwistView, ATwistBeyondABendIsOne) {
  const Limb limb(3);
  const std::vector<Affine3d> posed =
      limb.limb.posed(std::array{Turn(radians(60), Vec3d::UnitY()), about_bone(90)});
  const SkinTracker tracker = limb.tracker();
  TrackingScratch scratch = tracker.make_scratch();
  const std::vector<Vec3f> before = limb.dqs(posed);
  std::vector<Vec3f> after = before;
  tracker.track(posed, scratch, after);
  tracker.untangle(scratch, after);
  std::size_t twisted = 0, bent = 0;
  for (std::size_t v = 0; v < limb.size(); ++v) {
    const float moved = (after[v] - before[v]).norm() / kRadius;
    bent += moved > 0.05f;
    if (limb.character->rest()[v].x() < 0.05f) continue;
    EXPECT_LT(moved, 1e-3f) << limb.character->rest()[v].transpose();
    ++twisted;
  }
  EXPECT_GT(twisted, limb.size() / 3);
  EXPECT_GT(bent, 5u);
}

TEST(TwistView, HelpersCountForTheBoneThatTheyHangOn) {
  const Limb limb(2, 0.3f, {}, 0.4f);
  EXPECT_EQ(limb.fields.set->fields.size(), 2u);
  EXPECT_EQ(limb.fields.set->field_of_transform, (std::vector<std::int32_t>{0, 1, 1}));
  std::vector<Affine3d> posed = limb.limb.posed(std::array{about_bone(90)});
  posed.push_back(posed[1]);
  EXPECT_GT(limb.off(posed), 0.2f);
  EXPECT_LT(limb.moved(posed, exacting()), 1e-3f);
}

}  // namespace
}  // namespace sinew
