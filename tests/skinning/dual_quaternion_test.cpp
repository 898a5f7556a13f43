#include <sinew/skinning/dual_quaternion.h>

#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include "tests/reference/skinning.h"
#include "tests/support/random_skin.h"
#include "tests/support/sanitized.h"
#include "tests/support/simd_targets.h"

namespace sinew {
namespace {

using test::make_random_skin;
using test::RandomSkin;
using test::RandomTransforms;

std::vector<Vec3f> skin_with_kernel(const RandomSkin& skin) {
  const PackedWeights packed(skin.weights);
  DualQuaternionScratch scratch = make_dual_quaternion_scratch(skin.posed_from_rest.size(), skin.rest.size());
  std::vector<Vec3f> posed(skin.rest.size());
  dual_quaternion_skinning(skin.rest, packed, skin.posed_from_rest, scratch, posed);
  return posed;
}

/// Blends whose quaternions nearly cancel are ill-conditioned: their error may grow as their norm shrinks.
float blend_norm(const RandomSkin& skin, std::size_t v) {
  Eigen::Vector4d sum = Eigen::Vector4d::Zero();
  const auto quaternion = [&](std::size_t i) {
    return Quatd(skin.posed_from_rest[skin.weights.joints[i]].rotation()).coeffs();
  };
  const Eigen::Vector4d pivot = quaternion(skin.weights.starts[v]);
  for (std::size_t i = skin.weights.starts[v]; i < skin.weights.starts[v + 1]; ++i) {
    const Eigen::Vector4d q = quaternion(i);
    sum += (q.dot(pivot) < 0 ? -skin.weights.values[i] : skin.weights.values[i]) * q;
  }
  return static_cast<float>(sum.norm());
}

/// Whether some influence is so near the border between hemispheres that rounding may pick either side.
bool sign_is_a_toss(const RandomSkin& skin, std::size_t v) {
  const auto quaternion = [&](std::size_t i) {
    return Quatd(skin.posed_from_rest[skin.weights.joints[i]].rotation());
  };
  for (std::size_t i = skin.weights.starts[v]; i < skin.weights.starts[v + 1]; ++i)
    if (std::abs(quaternion(skin.weights.starts[v]).dot(quaternion(i))) < 1e-5) return true;
  return false;
}

TEST(DualQuaternion, AgreesWithTheFormulaOnEveryInstructionSet) {
  int targets = 0, compared = 0;
  test::for_each_simd_target([&](const std::string& target) {
    ++targets;
    for (const RandomTransforms kind : {RandomTransforms::rigid, RandomTransforms::scaled})
      for (const std::size_t vertices : {1u, 63u, 64u, 65u, test::kSanitized ? 129u : 1000u})
        for (const int influences : {1, 2, 3, 4, 7}) {
          const RandomSkin skin = make_random_skin(static_cast<std::uint32_t>(vertices * 37) + influences,
                                                   vertices, 20, influences, kind);
          const std::vector<Vec3f> posed = skin_with_kernel(skin);
          std::vector<Vec3f> expected(vertices);
          reference::dual_quaternion<double>(skin.rest, skin.weights, skin.posed_from_rest, expected);
          for (std::size_t v = 0; v < vertices; ++v) {
            if (sign_is_a_toss(skin, v)) continue;
            ++compared;
            ASSERT_LT((posed[v] - expected[v]).norm(), 2e-5f / blend_norm(skin, v))
                << target << ", vertex " << v << " of " << vertices;
          }
        }
  });
  EXPECT_GE(targets, 1);
  EXPECT_GT(compared, (test::kSanitized ? 2500 : 10000) * targets);
}

/// Two joints that turn about x, at the given angles, and one vertex half on each.
RandomSkin two_joints(double first, double second) {
  RandomSkin skin;
  for (double angle : {first, second})
    skin.posed_from_rest.emplace_back(Eigen::AngleAxisd(angle, Vec3d::UnitX()));
  skin.rest = {Vec3f(0, 1, 0)};
  WeightRepairs repairs;
  Influence row[] = {{0, 0.5f}, {1, 0.5f}};
  append_row(skin.weights, row, 0, repairs);
  return skin;
}

TEST(DualQuaternion, TwistKeepsTheRadius) {
  for (double degrees = 0; degrees < 180; degrees += 10) {
    const RandomSkin skin = two_joints(0, degrees * std::numbers::pi / 180);
    const Vec3f v = skin_with_kernel(skin)[0];
    EXPECT_NEAR(v.norm(), 1, 1e-6) << degrees;
    const double half = degrees * std::numbers::pi / 360;
    EXPECT_NEAR(v.y(), std::cos(half), 1e-6) << degrees;
    EXPECT_NEAR(v.z(), std::sin(half), 1e-6) << degrees;
  }
}

TEST(DualQuaternion, AntipodalQuaternionsTakeTheShortWay) {
  // 350° and 10° are 20° apart, but their quaternions lie in opposite hemispheres.
  const Vec3f v = skin_with_kernel(two_joints(10 * std::numbers::pi / 180, 350 * std::numbers::pi / 180))[0];
  EXPECT_NEAR(v.y(), 1, 1e-6);
  EXPECT_NEAR(v.z(), 0, 1e-6);
}

TEST(DualQuaternion, SignsThatNoChoicePerJointSatisfies) {
  // Three joints 120° apart round one axis: each pair wants one hemisphere, all three together cannot have
  // it. Each vertex must still blend towards its own heaviest joint.
  RandomSkin skin;
  for (int j = 0; j < 3; ++j)
    skin.posed_from_rest.emplace_back(
        Eigen::AngleAxisd(j * 2 * std::numbers::pi / 3 + 0.01 * j, Vec3d::UnitX()));
  WeightRepairs repairs;
  for (std::uint32_t j = 0; j < 3; ++j) {
    skin.rest.emplace_back(0.0f, 1.0f, 0.0f);
    Influence row[] = {{j, 0.6f}, {(j + 1) % 3, 0.4f}};
    append_row(skin.weights, row, 0, repairs);
  }
  const std::vector<Vec3f> posed = skin_with_kernel(skin);
  std::vector<Vec3f> expected(3);
  reference::dual_quaternion<double>(skin.rest, skin.weights, skin.posed_from_rest, expected);
  for (std::size_t v = 0; v < 3; ++v) {
    EXPECT_LT((posed[v] - expected[v]).norm(), 1e-5f) << v;
    EXPECT_NEAR(posed[v].norm(), 1, 1e-5);
  }
}

// A blend follows its joints without jumps, through any turns, but where a joint is turned by 180° against
// the vertex' heaviest one: there it begins to turn the other way round. No skin that is told by one pose
// alone can do without: which way round a half turn went is not in the pose. Then it jumps, at the same
// distance from the joint that both turn about.
TEST(DualQuaternion, IsAsContinuousAsItsPoses) {
  constexpr int kSteps = 4000, kJoints = 3;
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  int jumps = 0, turned = 0;
  for (int trial = 0; trial < (test::kSanitized ? 3 : 12); ++trial) {
    // Joints that turn about the origin, by up to two whole turns there and back.
    std::array<Vec3d, kJoints> axis, wobble;
    std::array<double, kJoints> speed{};
    for (std::size_t j = 0; j < kJoints; ++j) {
      axis[j] = Vec3d(normal(random), normal(random), normal(random)).normalized();
      wobble[j] = 0.5 * Vec3d(normal(random), normal(random), normal(random));
      speed[j] = 4 * normal(random);
    }
    RandomSkin skin;
    std::uniform_real_distribution<float> number(0.05f, 1);
    for (int v = 0; v < 40; ++v) {
      skin.rest.push_back(Vec3f::Random().normalized());
      std::vector<Influence> row;
      for (std::uint32_t j = 0; j < kJoints; ++j) row.push_back({j, number(random)});
      WeightRepairs repairs;
      append_row(skin.weights, row, 0, repairs);
    }
    skin.posed_from_rest.resize(kJoints);
    std::vector<Vec3f> before;
    std::vector<bool> opposite_before;
    for (int step = 0; step <= kSteps; ++step) {
      const double time = std::sin(2.0 * std::numbers::pi * step / kSteps);
      for (std::size_t j = 0; j < kJoints; ++j)
        skin.posed_from_rest[j] =
            Eigen::AngleAxisd(speed[j] * time, (axis[j] + time * wobble[j]).normalized());
      const std::vector<Vec3f> now = skin_with_kernel(skin);
      std::vector<bool> opposite;
      for (std::size_t v = 0; v < now.size(); ++v) {
        const auto quaternion = [&](std::size_t k) {
          return Quatd(skin.posed_from_rest[skin.weights.row_joints(v)[k]].rotation());
        };
        for (std::size_t k = 1; k < kJoints; ++k) {
          const double cosine =
              2 * std::pow(quaternion(0).dot(quaternion(k)), 2) - 1;  // of the relative turn
          opposite.push_back(cosine < -0.999);
          turned += opposite.back();
        }
        EXPECT_NEAR(now[v].norm(), 1, 1e-4);
        if (before.empty()) continue;
        const double moved = static_cast<double>((now[v] - before[v]).norm());
        bool may_jump = false;
        for (std::size_t k = 0; k + 1 < kJoints; ++k)
          may_jump = may_jump || opposite[v * (kJoints - 1) + k] || opposite_before[v * (kJoints - 1) + k];
        jumps += moved > 0.1;
        if (!may_jump) EXPECT_LT(moved, 0.1) << trial << ' ' << step;
        EXPECT_LE(moved, 2.001);
      }
      before = now, opposite_before = opposite;
    }
  }
  EXPECT_GT(turned, 100);  // else no half turn was tried
  EXPECT_GT(jumps, 0);     // else the test's words are wrong
}

TEST(DualQuaternion, ScaleSurvives) {
  RandomSkin skin = two_joints(0, 0);
  skin.posed_from_rest[0].linear() = Vec3d(3, 2, 1).asDiagonal();
  skin.posed_from_rest[1].linear() = Vec3d(3, 2, 1).asDiagonal();
  skin.posed_from_rest[0].translation() = skin.posed_from_rest[1].translation() = Vec3d(0, 0, 5);
  EXPECT_LT((skin_with_kernel(skin)[0] - Vec3f(0, 2, 5)).norm(), 1e-6f);
}

TEST(DualQuaternion, SplitGivesTheTransformBack) {
  const RandomSkin skin = make_random_skin(11, 0, 50, 1, RandomTransforms::scaled);
  int mirrored = 0;
  for (Affine3d transform : skin.posed_from_rest) {
    if (transform.translation().x() > 0) {
      transform.linear().col(1) = -transform.linear().col(1);
      ++mirrored;
    }
    const SplitTransform split = split_transform(transform);
    const Quatd real(split.rigid.real[3], split.rigid.real[0], split.rigid.real[1], split.rigid.real[2]);
    EXPECT_NEAR(real.norm(), 1, 1e-6);
    EXPECT_LT((real.toRotationMatrix() * split.stretch.linear() - transform.linear()).cwiseAbs().maxCoeff(),
              1e-5);
    EXPECT_FALSE(split.is_rigid);
  }
  EXPECT_GT(mirrored, 5);
}

TEST(DualQuaternion, MirroredCharacterEqualsTheMirrorImage) {
  RandomSkin skin = make_random_skin(3, 500, 8, 4, RandomTransforms::rigid);
  // Blends near the antipodal point swing wildly; keep the joints within a half turn of each other.
  for (std::size_t j = 0; j < skin.posed_from_rest.size(); ++j)
    skin.posed_from_rest[j] =
        Eigen::Translation3d(0.1 * j, 0, 0) * Eigen::AngleAxisd(0.2 * j, Vec3d(1, 1, 0).normalized());
  const std::vector<Vec3f> plain = skin_with_kernel(skin);
  const Eigen::DiagonalMatrix<double, 3> mirror(-1, 1, 1);
  for (Affine3d& transform : skin.posed_from_rest) transform = Affine3d(mirror) * transform;
  const std::vector<Vec3f> mirrored = skin_with_kernel(skin);
  for (std::size_t v = 0; v < plain.size(); ++v)
    EXPECT_LT((mirrored[v] - Vec3f(-plain[v].x(), plain[v].y(), plain[v].z())).norm(), 1e-5f) << v;
}

TEST(DualQuaternion, CollapsedJointGivesNoNan) {
  RandomSkin skin = two_joints(0, 1);
  skin.posed_from_rest[0].linear().setZero();
  EXPECT_TRUE(skin_with_kernel(skin)[0].allFinite());
  skin.posed_from_rest[1].linear().setZero();
  EXPECT_TRUE(skin_with_kernel(skin)[0].allFinite());
}

TEST(DualQuaternion, SameBitsForAnyNumberOfThreads) {
  const RandomSkin skin = make_random_skin(7, 50000, 40, 6, RandomTransforms::scaled);
  std::vector<Vec3f> one, four;
  tbb::task_arena(1).execute([&] { one = skin_with_kernel(skin); });
  tbb::task_arena(4).execute([&] { four = skin_with_kernel(skin); });
  EXPECT_TRUE(one == four);
}

}  // namespace
}  // namespace sinew
