#include <sinew/skinning/stretch_twist.h>

#include <cmath>
#include <numbers>
#include <random>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include "tests/reference/skinning.h"
#include "tests/reference/stretch_twist.h"
#include "tests/support/random_skin.h"
#include "tests/support/simd_targets.h"

namespace sinew {
namespace {

using test::make_random_skin;
using test::RandomSkin;
using test::RandomTransforms;

constexpr double kDegree = std::numbers::pi / 180;

std::vector<Vec3f> skin_with_kernel(const RandomSkin& skin, const std::vector<StretchBone>& bones) {
  const StretchTwistBinding binding(skin.rest, skin.weights, bones);
  StretchTwistScratch scratch = make_stretch_twist_scratch(skin.posed_from_rest.size(), binding);
  std::vector<Vec3f> posed(skin.rest.size());
  stretch_twist_skinning(skin.rest, PackedWeights(skin.weights), binding, skin.posed_from_rest, scratch,
                         posed);
  return posed;
}

std::vector<Vec3f> skin_linearly(const RandomSkin& skin) {
  std::vector<SkinMatrix> matrices(skin.posed_from_rest.size());
  pack_matrices(skin.posed_from_rest, matrices);
  std::vector<Vec3f> posed(skin.rest.size());
  linear_blend_skinning(skin.rest, PackedWeights(skin.weights), matrices, posed);
  return posed;
}

/// Every joint but the last has 1 to 3 bones that end at joints after it.
std::vector<StretchBone> random_bones(std::uint32_t seed, std::size_t joints) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> unit(-1, 1);
  std::vector<StretchBone> bones;
  for (std::uint32_t j = 0; j + 1 < joints; ++j)
    for (std::uint32_t k = 0; k < 1 + j % 3; ++k) {
      StretchBone bone;
      bone.start = j;
      bone.end = j + 1 + (k % static_cast<std::uint32_t>(joints - 1 - j));
      bone.head = Vec3d(unit(random), unit(random), unit(random));
      bone.tail = bone.head + Vec3d(1 + unit(random), unit(random), unit(random) + 0.1);
      bone.twist = 0.5 + 0.5 * unit(random);
      bone.stretch = random() % 4 != 0;
      bones.push_back(bone);
    }
  return bones;
}

/// Two joints on the x axis, at 0 and 1, and points on circles about it.
struct Rod {
  RandomSkin skin;
  std::vector<StretchBone> bones;

  explicit Rod(double blend = 0) {
    WeightRepairs repairs;
    for (int ring = -10; ring <= 30; ++ring)
      for (int s = 0; s < 8; ++s) {
        const double angle = s * std::numbers::pi / 4, x = ring * 0.05;
        skin.rest.emplace_back(x, 0.2 * std::cos(angle), 0.2 * std::sin(angle));
        const double share = blend > 0 ? std::clamp(0.5 + (x - 1) / (2 * blend), 0.0, 1.0) : 0.0;
        Influence row[2] = {{0, static_cast<float>(1 - share)}, {1, static_cast<float>(share)}};
        append_row(skin.weights, row, 0, repairs);
      }
    skin.posed_from_rest.assign(2, Affine3d::Identity());
    bones.push_back({0, 1, Vec3d::Zero(), Vec3d::UnitX()});
  }
  std::vector<Vec3f> posed() const { return skin_with_kernel(skin, bones); }
};

Affine3d turn_about(const Vec3d& point, double angle, const Vec3d& axis) {
  return Eigen::Translation3d(point) * Eigen::AngleAxisd(angle, axis) * Eigen::Translation3d(-point);
}

double angle_about_x(const Vec3f& p) {
  return std::atan2(p.z(), p.y());
}

TEST(StretchTwist, AgreesWithTheFormulaOnEveryInstructionSet) {
  int targets = 0;
  test::for_each_simd_target([&](const std::string& target) {
    ++targets;
    for (const std::size_t vertices : {1u, 65u, 300u})
      for (const auto transforms : {RandomTransforms::rigid, RandomTransforms::scaled})
        for (const int influences : {1, 4}) {
          const auto seed = static_cast<std::uint32_t>(vertices + static_cast<unsigned>(influences));
          const RandomSkin skin = make_random_skin(seed, vertices, 12, influences, transforms);
          const std::vector<StretchBone> bones = random_bones(seed, 12);
          const std::vector<Vec3f> posed = skin_with_kernel(skin, bones);
          std::vector<Vec3f> expected(vertices);
          reference::stretch_twist(skin.rest, skin.weights, bones, skin.posed_from_rest, expected);
          for (std::size_t v = 0; v < vertices; ++v)
            ASSERT_LT((posed[v] - expected[v]).norm(), 2e-5f) << target << ", vertex " << v;
        }
  });
  EXPECT_GE(targets, 1);
}

TEST(StretchTwist, WithoutBonesIsLinearBlending) {
  const RandomSkin skin = make_random_skin(3, 300, 5, 3, RandomTransforms::scaled);
  EXPECT_TRUE(skin_with_kernel(skin, {}) == skin_linearly(skin));
  EXPECT_TRUE(
      skin_with_kernel(make_random_skin(1, 0, 3, 4, RandomTransforms::rigid), random_bones(1, 3)).empty());
}

TEST(StretchTwist, BendingAloneIsLinearBlendingBitForBit) {
  Rod rod(0.3);
  const Affine3d start = turn_about({1, 2, 3}, 0.8, Vec3d(1, 2, -1).normalized());
  for (const double angle : {0.0, 0.3, -2.0, 2.6}) {
    rod.skin.posed_from_rest = {start, start * turn_about(Vec3d::UnitX(), angle, Vec3d(0, 3, 4) / 5)};
    EXPECT_TRUE(rod.posed() == skin_linearly(rod.skin)) << angle;
  }
}

TEST(StretchTwist, RestAndRigidMotionsAreExact) {
  Rod rod(0.3);
  EXPECT_TRUE(rod.posed() == rod.skin.rest);
  const Affine3d motion =
      Eigen::Translation3d(3, -2, 1) * Eigen::AngleAxisd(2.5, Vec3d(1, -2, 2).normalized());
  rod.skin.posed_from_rest.assign(2, motion);
  const std::vector<Vec3f> posed = rod.posed();
  for (std::size_t v = 0; v < posed.size(); ++v)
    ASSERT_LT((posed[v].cast<double>() - motion * rod.skin.rest[v].cast<double>()).norm(), 1e-6);
}

TEST(StretchTwist, ALengthenedBoneStretchesEvenlyAndNotBeyondItsEnds) {
  Rod rod;
  rod.skin.posed_from_rest[1] = Eigen::Translation3d(0.5, 0, 0);
  const std::vector<Vec3f> posed = rod.posed();
  for (std::size_t v = 0; v < posed.size(); ++v) {
    const Vec3f& p = rod.skin.rest[v];
    const float moved = posed[v].x() - p.x();
    EXPECT_FLOAT_EQ(posed[v].y(), p.y());
    EXPECT_FLOAT_EQ(posed[v].z(), p.z());
    if (p.x() <= 0) {
      EXPECT_EQ(moved, 0);
    } else if (p.x() >= 1) {
      EXPECT_NEAR(moved, 0.5f, 1e-6);
    } else if (p.x() > 0.11f && p.x() < 0.89f) {
      EXPECT_NEAR(moved, 0.5 * (p.x() - 0.05) / 0.9, 1e-6);
    }
  }
}

TEST(StretchTwist, TheTailMayMoveAnyWay) {
  Rod rod;
  rod.skin.posed_from_rest[1] = Eigen::Translation3d(0.1, 0.2, -0.3);
  const std::vector<Vec3f> posed = rod.posed();
  for (std::size_t v = 0; v < posed.size(); ++v) {
    const double e = end_point_weight(rod.skin.rest[v].cast<double>(), Vec3d::Zero(), Vec3d::UnitX());
    const Vec3f expected = rod.skin.rest[v] + static_cast<float>(e) * Vec3f(0.1f, 0.2f, -0.3f);
    ASSERT_LT((posed[v] - expected).norm(), 1e-6f);
  }
  rod.bones[0].stretch = false;
  EXPECT_TRUE(rod.posed() == skin_linearly(rod.skin));
}

TEST(StretchTwist, TheTurnGrowsAlongTheBoneAndKeepsTheCrossSection) {
  for (const double degrees : {30.0, -90.0, 150.0, 179.0}) {
    Rod rod;
    rod.skin.posed_from_rest[1] = turn_about(Vec3d::UnitX(), degrees * kDegree, Vec3d::UnitX());
    for (const double share : {1.0, 0.5}) {
      rod.bones[0].twist = share;
      const std::vector<Vec3f> posed = rod.posed();
      for (std::size_t v = 0; v < posed.size(); ++v) {
        const Vec3f& p = rod.skin.rest[v];
        const double e = end_point_weight(p.cast<double>(), Vec3d::Zero(), Vec3d::UnitX());
        const double turned = std::remainder(angle_about_x(posed[v]) - angle_about_x(p), 360 * kDegree);
        EXPECT_NEAR(std::remainder(turned - e * share * degrees * kDegree, 360 * kDegree), 0, 1e-5);
        EXPECT_NEAR(posed[v].tail<2>().norm(), 0.2, 1e-6);
        EXPECT_NEAR(posed[v].x(), p.x(), 1e-6);
      }
    }
  }
}

TEST(StretchTwist, ATwistedForearmKeepsItsRadiusWhereLinearBlendingLosesIt) {
  Rod rod(0.3);
  rod.skin.posed_from_rest[1] = turn_about(Vec3d::UnitX(), 150 * kDegree, Vec3d::UnitX());
  const auto least_radius = [](const std::vector<Vec3f>& posed) {
    float least = 1;
    for (const Vec3f& p : posed) least = std::min(least, p.tail<2>().norm());
    return least;
  };
  EXPECT_LT(least_radius(skin_linearly(rod.skin)), 0.06f);
  EXPECT_GT(least_radius(rod.posed()), 0.197f);
}

TEST(StretchTwist, ScaleIsKept) {
  Rod rod;
  Affine3d scale = Affine3d::Identity();
  scale.linear().diagonal() = Vec3d(2, 0.5, 3);
  rod.skin.posed_from_rest = {scale, scale * turn_about(Vec3d::UnitX(), 90 * kDegree, Vec3d::UnitX())};
  const std::vector<Vec3f> posed = rod.posed();
  for (std::size_t v = 0; v < posed.size(); ++v) {
    const Vec3d unscaled = scale.inverse() * posed[v].cast<double>();
    EXPECT_NEAR(unscaled.tail<2>().norm(), 0.2, 1e-6);
    EXPECT_NEAR(unscaled.x(), rod.skin.rest[v].x(), 1e-6);
  }
}

TEST(StretchTwist, EndPointWeights) {
  const Vec3d head(1, 2, 3), tail(1, 4, 3);
  const auto weight = [&](double along) {
    const double e = end_point_weight(head + along * (tail - head), head, tail);
    EXPECT_DOUBLE_EQ(e, end_point_weight(head + along * (tail - head) + Vec3d(0.7, 0, -5), head, tail));
    return e;
  };
  EXPECT_EQ(weight(0), 0);
  EXPECT_EQ(weight(-3), 0);
  EXPECT_DOUBLE_EQ(weight(1), 1);
  EXPECT_DOUBLE_EQ(weight(9), 1);
  EXPECT_DOUBLE_EQ(weight(0.5), 0.5);
  double last_slope = 0;
  for (double x = -0.2; x < 1.2; x += 0.001) {
    const double slope = (weight(x + 0.001) - weight(x)) / 0.001;
    EXPECT_GE(slope, -1e-9);
    EXPECT_LT(std::abs(slope - last_slope), 0.02) << "a corner at " << x;
    last_slope = slope;
  }
}

TEST(StretchTwist, TwistOfABone) {
  const Vec3d axis = Vec3d(1, 2, 2) / 3;
  const Affine3d start = turn_about({4, 5, 6}, 1.1, Vec3d(0, 3, 4) / 5) * Eigen::Scaling(2.0, 1.0, 0.7);
  const auto turned = [&](double swing, double twist) {
    const Vec3d across = axis.unitOrthogonal();
    return start * (Eigen::AngleAxisd(swing, across) * Eigen::AngleAxisd(twist, axis));
  };
  EXPECT_NEAR(bone_twist(axis, start, start), 0, 1e-12);
  for (const double swing : {0.0, 0.5, -1.5, 2.4})
    for (const double twist : {0.0, 0.3, -1.0, 3.0})
      EXPECT_NEAR(bone_twist(axis, start, Affine3d(turned(swing, twist))), twist, 1e-6);
  EXPECT_NEAR(bone_twist(axis, start, Affine3d(turned(0, 200 * kDegree))), -160 * kDegree, 1e-6);
  // Pointing straight back, any twist would do.
  for (const double twist : {0.0, 1.0, 3.0})
    EXPECT_NEAR(bone_twist(axis, start, Affine3d(turned(180 * kDegree, twist))), 0, 1e-6);
  double last = bone_twist(axis, start, Affine3d(turned(2, 1)));
  for (double swing = 2; swing < 4.2; swing += 0.01) {
    const double here = bone_twist(axis, start, Affine3d(turned(swing, 1)));
    EXPECT_LT(std::abs(here - last), 0.2) << swing;
    last = here;
  }
  Affine3d flat = Affine3d::Identity();
  flat.linear().setZero();
  EXPECT_EQ(bone_twist(axis, flat, start), 0);
  EXPECT_EQ(bone_twist(axis, start, flat), 0);
  EXPECT_EQ(bone_twist(axis, start, start * Eigen::Scaling(-1.0, 1.0, 1.0)), 0);
}

TEST(StretchTwist, SeveralBonesShareTheirJointSmoothly) {
  RandomSkin skin;
  std::vector<StretchBone> bones;
  constexpr std::uint32_t kBones = 9;
  for (std::uint32_t b = 0; b < kBones; ++b) {
    const double angle = b * 2 * std::numbers::pi / kBones;
    bones.push_back({0, b + 1, Vec3d::Zero(), Vec3d(std::cos(angle), std::sin(angle), 0)});
  }
  WeightRepairs repairs;
  for (int i = 0; i < 2000; ++i) {
    const double angle = i * 2 * std::numbers::pi / 2000;
    skin.rest.emplace_back(3 * std::cos(angle), 3 * std::sin(angle), 0.2);
    Influence row[1] = {{0, 1.0f}};
    append_row(skin.weights, row, 0, repairs);
  }
  skin.posed_from_rest.assign(kBones + 1, Affine3d(Eigen::Translation3d(0, 0, 1)));
  skin.posed_from_rest[0].setIdentity();
  // All tails move alike: shares that sum to 1 move every vertex beyond them by that.
  const std::vector<Vec3f> alike = skin_with_kernel(skin, bones);
  for (std::size_t v = 0; v < alike.size(); ++v) {
    double most = 0;
    for (const StretchBone& bone : bones)
      most = std::max(most, end_point_weight(skin.rest[v].cast<double>(), bone.head, bone.tail));
    ASSERT_DOUBLE_EQ(most, 1);
    EXPECT_NEAR(alike[v].z(), 1.2, 1e-3);
  }
  for (std::uint32_t b = 0; b < kBones; ++b)
    skin.posed_from_rest[b + 1] = Eigen::Translation3d(0, 0, b % 3 == 0 ? 1 : 0);
  const std::vector<Vec3f> posed = skin_with_kernel(skin, bones);
  float lowest = 9, highest = 0;
  for (std::size_t v = 0; v < posed.size(); ++v) {
    EXPECT_LT(std::abs(posed[v].z() - posed[(v + 1) % posed.size()].z()), 0.02f);
    lowest = std::min(lowest, posed[v].z());
    highest = std::max(highest, posed[v].z());
  }
  EXPECT_LT(lowest, 0.3f);
  EXPECT_GT(highest, 0.8f);
}

TEST(StretchTwist, HugeAndFlatTransformsStayFinite) {
  RandomSkin skin = make_random_skin(9, 500, 6, 4, RandomTransforms::rigid);
  skin.posed_from_rest[0].linear().setZero();
  skin.posed_from_rest[1].translation() = Vec3d(1e15, -1e15, 1e15);
  skin.posed_from_rest[2].linear() *= 1e15;
  skin.posed_from_rest[3].linear() *= 1e-15;
  skin.posed_from_rest[4].linear().col(0) *= -1;
  for (const Vec3f& p : skin_with_kernel(skin, random_bones(2, 6))) ASSERT_TRUE(p.allFinite());
}

TEST(StretchTwist, SameBitsForAnyNumberOfThreads) {
  const RandomSkin skin = make_random_skin(7, 20000, 12, 4, RandomTransforms::scaled);
  const std::vector<StretchBone> bones = random_bones(7, 12);
  std::vector<Vec3f> one, four;
  tbb::task_arena(1).execute([&] { one = skin_with_kernel(skin, bones); });
  tbb::task_arena(4).execute([&] { four = skin_with_kernel(skin, bones); });
  EXPECT_TRUE(one == four);
}

}  // namespace
}  // namespace sinew
