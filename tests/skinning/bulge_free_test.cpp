#include <sinew/core/index.h>
#include <sinew/skinning/bulge_free.h>

#include <cmath>
#include <numbers>
#include <random>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include "tests/reference/bulge_free.h"
#include "tests/reference/skinning.h"
#include "tests/support/random_skin.h"
#include "tests/support/sanitized.h"
#include "tests/support/simd_targets.h"

namespace sinew {
namespace {

using test::make_random_skin;
using test::RandomSkin;
using test::RandomTransforms;

constexpr double kPi = std::numbers::pi;

/// A limb along x with its joint at the origin, bones 1 m long.
std::vector<BulgeFreeBone> two_bones() {
  return {{-1, 1, Vec3d(-1, 0, 0), Vec3d::Zero()}, {0, 1, Vec3d::Zero(), Vec3d(1, 0, 0)}};
}

/// A tube round it, radius 0.1, whose weights go from one bone to the other within `blend` of the joint.
struct Tube {
  static constexpr int kRings = 41, kSegments = 24;
  static constexpr float kRadius = 0.1f;
  std::vector<Vec3f> rest;
  SkinWeights weights;

  static std::size_t at(int ring, int segment) { return to_size(ring * kSegments + segment); }
  /// 1 towards +y, where the fold is.
  static double towards_fold(int segment) { return std::cos(2 * kPi * segment / kSegments); }

  explicit Tube(double blend = 0.3) {
    WeightRepairs repairs;
    for (int r = 0; r < kRings; ++r)
      for (int s = 0; s < kSegments; ++s) {
        const double x = -0.5 + static_cast<double>(r) / (kRings - 1), angle = 2 * kPi * s / kSegments;
        rest.emplace_back(static_cast<float>(x), kRadius * static_cast<float>(std::cos(angle)),
                          kRadius * static_cast<float>(std::sin(angle)));
        const double t = std::clamp(0.5 + 0.5 * x / blend, 0.0, 1.0);
        const float below = static_cast<float>(t * t * (3 - 2 * t));
        Influence row[] = {{0, 1 - below}, {1, below}};
        append_row(weights, row, 0, repairs);
      }
  }
};

std::vector<Affine3d> bend_by(double radians) {
  return {Affine3d::Identity(), Affine3d(Eigen::AngleAxisd(radians, Vec3d::UnitZ()))};
}

std::vector<Vec3f> dual_quaternions(std::span<const Vec3f> rest, const SkinWeights& weights,
                                    std::span<const Affine3d> posed_from_rest) {
  std::vector<Vec3f> posed(rest.size());
  reference::dual_quaternion<double>(rest, weights, posed_from_rest, posed);
  return posed;
}

std::vector<Vec3f> corrected(std::span<const BulgeFreeBone> bones, std::span<const Vec3f> rest,
                             const SkinWeights& weights, std::span<const Affine3d> posed_from_rest,
                             float strength = 1) {
  const BulgeFreeCorrection correction(bones, weights);
  BulgeFreeCorrection::Scratch scratch = correction.make_scratch();
  std::vector<Vec3f> posed = dual_quaternions(rest, weights, posed_from_rest);
  correction.correct(rest, posed_from_rest, strength, scratch, posed);
  return posed;
}

double distance_to_segment(const Vec3f& p, const Vec3d& a, const Vec3d& b) {
  const double t = std::clamp((p.cast<double>() - a).dot(b - a) / (b - a).squaredNorm(), 0.0, 1.0);
  return (p.cast<double>() - a - t * (b - a)).norm();
}

double distance_to_limb(const Vec3f& p, std::span<const Affine3d> posed) {
  return std::min(distance_to_segment(p, posed[0] * Vec3d(-1, 0, 0), posed[1] * Vec3d::Zero()),
                  distance_to_segment(p, posed[1] * Vec3d::Zero(), posed[1] * Vec3d(1, 0, 0)));
}

TEST(BulgeFree, OuterSideKeepsItsDistanceAndTheFoldIsLeftAlone) {
  const Tube tube;
  for (const int degrees : {30, 60, 90, 120, 140}) {
    const std::vector<Affine3d> posed = bend_by(degrees * kPi / 180);
    const std::vector<Vec3f> before = dual_quaternions(tube.rest, tube.weights, posed);
    const std::vector<Vec3f> after = corrected(two_bones(), tube.rest, tube.weights, posed);
    double worst_before = 0, worst_after = 0;
    for (int r = 0; r < Tube::kRings; ++r)
      for (int s = 0; s < Tube::kSegments; ++s) {
        const std::size_t v = Tube::at(r, s);
        if (Tube::towards_fold(s) > BulgeFreeCorrection::kFoldSide + 1e-3) {
          EXPECT_EQ(before[v], after[v]) << degrees << "°, ring " << r << ", segment " << s;
        } else if (Tube::towards_fold(s) < 1e-3) {
          worst_before = std::max(worst_before, distance_to_limb(before[v], posed) / Tube::kRadius - 1);
          worst_after =
              std::max(worst_after, std::abs(distance_to_limb(after[v], posed) / Tube::kRadius - 1));
        }
      }
    EXPECT_GT(worst_before, 0.003 * degrees) << degrees;
    EXPECT_LT(worst_after, 0.06) << degrees;
    EXPECT_LT(worst_after, 0.25 * worst_before) << degrees;
  }
}

TEST(BulgeFree, StrengthGoesPartOfTheWay) {
  const Tube tube;
  const std::vector<Affine3d> posed = bend_by(1.5);
  const std::vector<Vec3f> none = dual_quaternions(tube.rest, tube.weights, posed);
  const std::vector<Vec3f> zero = corrected(two_bones(), tube.rest, tube.weights, posed, 0);
  const std::vector<Vec3f> half = corrected(two_bones(), tube.rest, tube.weights, posed, 0.5f);
  const std::vector<Vec3f> whole = corrected(two_bones(), tube.rest, tube.weights, posed, 1);
  EXPECT_TRUE(none == zero);
  for (std::size_t v = 0; v < none.size(); ++v)
    ASSERT_LT((half[v] - 0.5f * (none[v] + whole[v])).norm(), 1e-6f);
}

TEST(BulgeFree, RestRigidMotionAndTwistAreLeftToTheBit) {
  const Tube tube;
  Affine3d motion = Eigen::Translation3d(3, -2, 1) * Eigen::AngleAxisd(2, Vec3d(1, 2, 3).normalized());
  std::vector<Affine3d> twist = bend_by(0);
  twist[1] = Eigen::AngleAxisd(2.5, Vec3d::UnitX());
  for (const std::vector<Affine3d>& posed : {bend_by(0), std::vector<Affine3d>{motion, motion}, twist})
    EXPECT_TRUE(corrected(two_bones(), tube.rest, tube.weights, posed) ==
                dual_quaternions(tube.rest, tube.weights, posed));
}

TEST(BulgeFree, RigidMotionOfTheWholeCommutes) {
  const Tube tube;
  const Affine3d motion =
      Eigen::Translation3d(0.3, -0.2, 0.1) * Eigen::AngleAxisd(2, Vec3d(1, 2, 3).normalized());
  const std::vector<Affine3d> posed = bend_by(1.5);
  const std::vector<Affine3d> moved = {motion * posed[0], motion * posed[1]};
  const std::vector<Vec3f> a = corrected(two_bones(), tube.rest, tube.weights, posed);
  const std::vector<Vec3f> b = corrected(two_bones(), tube.rest, tube.weights, moved);
  for (std::size_t v = 0; v < a.size(); ++v)
    ASSERT_LT((motion * a[v].cast<double>() - b[v].cast<double>()).norm(), 2e-6) << v;
}

TEST(BulgeFree, ScaleScalesTheDistance) {
  const Tube tube;
  const std::vector<Affine3d> posed = bend_by(1.5);
  const Affine3d larger(Eigen::Scaling(3.0));
  const Affine3d mirrored(Eigen::Scaling(1.0, 1.0, -1.0));
  const std::vector<Vec3f> plain = corrected(two_bones(), tube.rest, tube.weights, posed);
  const std::vector<Vec3f> large =
      corrected(two_bones(), tube.rest, tube.weights, std::vector{larger * posed[0], larger * posed[1]});
  const std::vector<Vec3f> mirror =
      corrected(two_bones(), tube.rest, tube.weights, std::vector{mirrored * posed[0], mirrored * posed[1]});
  for (std::size_t v = 0; v < plain.size(); ++v) ASSERT_LT((large[v] - 3 * plain[v]).norm(), 1e-5f) << v;
  // Dual quaternions mirror by the limb's axis here, so only the shape of the outer side is known.
  for (std::size_t v = 0; v < mirror.size(); ++v) ASSERT_TRUE(mirror[v].allFinite());
}

TEST(BulgeFree, NothingJumpsAsTheJointBends) {
  const Tube tube;
  const std::vector<BulgeFreeBone> bones = two_bones();
  const BulgeFreeCorrection correction(bones, tube.weights);
  BulgeFreeCorrection::Scratch scratch = correction.make_scratch();
  std::vector<Vec3f> last;
  const double step = test::kSanitized ? 2 : 0.5;  // degrees
  for (double degrees = -160; degrees <= 160; degrees += step) {
    const std::vector<Affine3d> posed_from_rest = bend_by(degrees * kPi / 180);
    const std::vector<Vec3f> before = dual_quaternions(tube.rest, tube.weights, posed_from_rest);
    std::vector<Vec3f> pull = before;
    correction.correct(tube.rest, posed_from_rest, 1, scratch, pull);
    for (std::size_t v = 0; v < pull.size(); ++v) pull[v] -= before[v];
    // Half a metre at the end of the limb moves by 4 mm in half a degree.
    for (std::size_t v = 0; v < last.size(); ++v)
      ASSERT_LT((pull[v] - last[v]).norm(), 4e-3 * step) << degrees << "°, vertex " << v;
    last = pull;
  }
}

TEST(BulgeFree, NothingJumpsBetweenBonesThatMeetAtAnAngle) {
  // A hip: the bone above runs sideways to the joint, the thigh hangs down from it and swings forward. Skin
  // between the legs is about as near to one as to the other.
  const std::vector<BulgeFreeBone> bones = {{-1, 1, Vec3d::Zero(), Vec3d(0.1, 0, 0)},
                                            {0, 1, Vec3d(0.1, 0, 0), Vec3d(0.1, -0.45, 0)}};
  std::vector<Vec3f> rest;
  SkinWeights weights;
  WeightRepairs repairs;
  for (int i = 0; i < 7; ++i)
    for (int j = 0; j < 7; ++j)
      for (int k = 0; k < 5; ++k) {
        rest.emplace_back(0.01f * static_cast<float>(i), -0.14f + 0.01f * static_cast<float>(j),
                          -0.06f + 0.02f * static_cast<float>(k));
        const float below = 0.2f + 0.1f * static_cast<float>(6 - j);
        Influence row[] = {{0, 1 - below}, {1, below}};
        append_row(weights, row, 0, repairs);
      }
  const BulgeFreeCorrection correction(bones, weights);
  BulgeFreeCorrection::Scratch scratch = correction.make_scratch();
  std::vector<Vec3f> last;
  float farthest = 0;
  for (double degrees = 0; degrees <= 130; degrees += 0.5) {
    const std::vector<Affine3d> posed_from_rest = {
        Affine3d::Identity(), Eigen::Translation3d(0.1, 0, 0) *
                                  Eigen::AngleAxisd(-degrees * kPi / 180, Vec3d::UnitX()) *
                                  Eigen::Translation3d(-0.1, 0, 0)};
    const std::vector<Vec3f> before = dual_quaternions(rest, weights, posed_from_rest);
    std::vector<Vec3f> pull = before;
    correction.correct(rest, posed_from_rest, 1, scratch, pull);
    for (std::size_t v = 0; v < pull.size(); ++v) {
      pull[v] -= before[v];
      farthest = std::max(farthest, pull[v].norm());
    }
    for (std::size_t v = 0; v < last.size(); ++v)
      ASSERT_LT((pull[v] - last[v]).norm(), 1.5e-3f) << degrees << "°, vertex " << v;
    last = pull;
  }
  EXPECT_GT(farthest, 0.01f);
}

TEST(BulgeFree, NothingJumpsFromVertexToVertex) {
  const Tube tube;
  for (const int degrees : {20, 60, 100, 140}) {
    const std::vector<Affine3d> posed = bend_by(degrees * kPi / 180);
    const std::vector<Vec3f> before = dual_quaternions(tube.rest, tube.weights, posed);
    const std::vector<Vec3f> after = corrected(two_bones(), tube.rest, tube.weights, posed);
    const auto pull = [&](int r, int s) -> Vec3f { return after[Tube::at(r, s)] - before[Tube::at(r, s)]; };
    for (int r = 0; r + 1 < Tube::kRings; ++r)
      for (int s = 0; s < Tube::kSegments; ++s) {
        // Neighbours are 25 mm apart at rest.
        EXPECT_LT((pull(r, s) - pull(r + 1, s)).norm(), 0.02f) << degrees << ' ' << r << ' ' << s;
        EXPECT_LT((pull(r, s) - pull(r, (s + 1) % Tube::kSegments)).norm(), 0.02f)
            << degrees << ' ' << r << ' ' << s;
      }
  }
}

/// A muzzle whose mouth is shut, as one sheet in front of a jaw that swings down: from the jaw, beside whose
/// bone it lies, up to the skull, whose bone ends at the jaw's joint far behind.
struct Muzzle {
  static constexpr int kRows = 21, kColumns = 9, kDepth = 6;
  std::vector<Vec3f> rest;
  SkinWeights weights;

  static std::size_t at(int depth, int row, int column) {
    return to_size((depth * kRows + row) * kColumns + column);
  }

  Muzzle() {
    WeightRepairs repairs;
    for (int d = 0; d < kDepth; ++d)
      for (int r = 0; r < kRows; ++r)
        for (int c = 0; c < kColumns; ++c) {
          const float height = static_cast<float>(r) / (kRows - 1);
          rest.emplace_back(0.7f + 0.08f * static_cast<float>(d), -0.08f + 0.2f * height,
                            -0.08f + 0.02f * static_cast<float>(c));
          const float above = height * height * (3 - 2 * height);
          Influence row[] = {{0, above}, {1, 1 - above}};
          append_row(weights, row, 0, repairs);
        }
  }
};

TEST(BulgeFree, LipsThatSpanFromSkullToJawAreNoBulge) {
  const Muzzle muzzle;
  for (const int degrees : {10, 20, 40}) {
    const std::vector<Affine3d> posed = bend_by(-degrees * kPi / 180);
    const std::vector<Vec3f> before = dual_quaternions(muzzle.rest, muzzle.weights, posed);
    const std::vector<Vec3f> after = corrected(two_bones(), muzzle.rest, muzzle.weights, posed);
    const auto pull = [&](int d, int r, int c) -> Vec3f {
      return after[Muzzle::at(d, r, c)] - before[Muzzle::at(d, r, c)];
    };
    double most_before = 0;
    for (int d = 0; d < Muzzle::kDepth; ++d)
      for (int r = 0; r < Muzzle::kRows; ++r)
        for (int c = 0; c < Muzzle::kColumns; ++c) {
          const std::size_t v = Muzzle::at(d, r, c);
          const double radius = distance_to_segment(muzzle.rest[v], Vec3d::Zero(), Vec3d(1, 0, 0));
          most_before = std::max(most_before, distance_to_limb(before[v], posed) - radius);
          // Between skull and jaw nothing moves; the chin may, by a part of its thickness.
          const bool lip = r >= Muzzle::kRows / 3;
          ASSERT_LE(pull(d, r, c).norm(), lip ? 0 : 0.008 * degrees * radius)
              << degrees << "°, depth " << d << ", row " << r << ", column " << c;
          // Neighbours are 10 mm apart at rest.
          ASSERT_LT((pull(d, r, c) - pull(d, std::max(r - 1, 0), c)).norm(), 0.01f)
              << degrees << "°, depth " << d << ", row " << r << ", column " << c;
        }
    EXPECT_GT(most_before, 0.01 * degrees) << degrees;
  }
}

TEST(BulgeFree, MorphedRestKeepsItsMorphedDistance) {
  const Tube tube;
  std::vector<Vec3f> morphed = tube.rest;
  for (Vec3f& p : morphed) p.y() *= 1.4f, p.z() *= 1.4f;
  const std::vector<Affine3d> posed_from_rest = bend_by(1.5);
  const BulgeFreeCorrection correction(two_bones(), tube.weights);
  BulgeFreeCorrection::Scratch scratch = correction.make_scratch();
  std::vector<Vec3f> posed = dual_quaternions(morphed, tube.weights, posed_from_rest);
  correction.correct(morphed, posed_from_rest, 1, scratch, posed);
  for (int r = 0; r < Tube::kRings; ++r)
    EXPECT_NEAR(distance_to_limb(posed[Tube::at(r, Tube::kSegments / 2)], posed_from_rest), 0.14, 0.008) << r;
}

/// Random trees of bones: some start where their parent does, some are points, some vertices lie on a bone.
std::vector<BulgeFreeBone> random_bones(std::uint32_t seed, int count) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> unit(-1, 1);
  std::vector<BulgeFreeBone> bones;
  for (int j = 0; j < count; ++j) {
    BulgeFreeBone bone;
    bone.parent =
        j == 0 || random() % 8 == 0 ? -1 : static_cast<int>(random() % static_cast<std::uint32_t>(j));
    bone.head = Vec3d(unit(random), unit(random), unit(random));
    if (bone.parent >= 0 && random() % 4 == 0) bone.head = bones[to_size(bone.parent)].head;
    bone.tail = bone.head + Vec3d(unit(random), unit(random), unit(random));
    if (random() % 8 == 0) bone.tail = bone.head;
    bone.tail_joint = random() % 4 == 0 ? static_cast<int>(random() % static_cast<std::uint32_t>(count)) : j;
    bones.push_back(bone);
  }
  return bones;
}

TEST(BulgeFree, AgreesWithTheFormulaOnEveryInstructionSet) {
  int targets = 0;
  test::for_each_simd_target([&](const std::string& target) {
    ++targets;
    int pulled = 0, compared = 0;
    const std::uint32_t seeds = test::kSanitized ? 2 : 10;
    for (std::uint32_t seed = 0; seed < seeds; ++seed)
      for (const RandomTransforms kind : {RandomTransforms::rigid, RandomTransforms::scaled}) {
        const std::size_t vertices = seed == 0 ? 5 : 333;
        const RandomSkin skin =
            make_random_skin(seed + 100, vertices, 12, 1 + static_cast<int>(seed % 7), kind);
        const std::vector<BulgeFreeBone> bones = random_bones(seed, 12);
        const std::vector<Vec3f> before = dual_quaternions(skin.rest, skin.weights, skin.posed_from_rest);
        const std::vector<Vec3f> after =
            corrected(bones, skin.rest, skin.weights, skin.posed_from_rest, 0.8f);
        std::vector<Vec3f> expected = before;
        reference::bulge_free(skin.rest, skin.weights, bones, skin.posed_from_rest, 0.8, expected);
        for (std::size_t v = 0; v < vertices; ++v) {
          ASSERT_LT((after[v] - expected[v]).norm(), 1e-4f)
              << target << ", seed " << seed << ", vertex " << v;
          pulled += (expected[v] - before[v]).norm() > 1e-3f;
          ++compared;
        }
      }
    // Neither all nor none: both branches are met.
    EXPECT_GT(pulled, compared / 5);
    EXPECT_LT(pulled, compared * 19 / 20);
  });
  EXPECT_GE(targets, 1);
}

TEST(BulgeFree, DegenerateBonesAndVertices) {
  Tube tube;
  tube.rest[Tube::at(25, 12)] = Vec3f(0.1f, 0, 0);  // on the bone
  tube.rest[Tube::at(20, 12)] = Vec3f::Zero();      // on the joint
  const std::vector<Affine3d> posed = bend_by(1.5);
  for (const Vec3f& p : corrected(two_bones(), tube.rest, tube.weights, posed)) ASSERT_TRUE(p.allFinite());
  // A vertex on the bone is no skin round it.
  const std::vector<Vec3f> after = corrected(two_bones(), tube.rest, tube.weights, posed);
  EXPECT_EQ(after[Tube::at(25, 12)], dual_quaternions(tube.rest, tube.weights, posed)[Tube::at(25, 12)]);

  std::vector<BulgeFreeBone> points = two_bones();
  points[0].head = points[1].tail = Vec3d::Zero();
  EXPECT_TRUE(corrected(points, tube.rest, tube.weights, posed) ==
              dual_quaternions(tube.rest, tube.weights, posed));
  std::vector<BulgeFreeBone> no_parent_bone = two_bones();
  no_parent_bone[0].head = Vec3d::Zero();
  for (const Vec3f& p : corrected(no_parent_bone, tube.rest, tube.weights, posed)) ASSERT_TRUE(p.allFinite());

  std::vector<Affine3d> flat = posed;
  flat[1].linear().setZero();
  for (const Vec3f& p : corrected(two_bones(), tube.rest, tube.weights, flat)) ASSERT_TRUE(p.allFinite());
  std::vector<Affine3d> huge = posed;
  huge[1] = Eigen::Translation3d(1e15, -1e15, 1e15) * Eigen::Scaling(1e15) * huge[1];
  for (const Vec3f& p : corrected(two_bones(), tube.rest, tube.weights, huge)) ASSERT_TRUE(p.allFinite());
  EXPECT_EQ(BulgeFreeCorrection({}, SkinWeights()).bent_vertex_count(), 0u);
}

TEST(BulgeFree, JointsOnTopOfEachOtherBendAsOne) {
  // The elbow as two joints, one per axis; the upper one turns. The bone above starts at the shoulder still.
  const Tube tube;
  SkinWeights weights = tube.weights;
  for (std::uint32_t& joint : weights.joints)
    if (joint == 1) joint = 2;
  const std::vector<BulgeFreeBone> bones = {{-1, 1, Vec3d(-1, 0, 0), Vec3d::Zero()},
                                            {0, 2, Vec3d::Zero(), Vec3d(1, 0, 0)},
                                            {1, 2, Vec3d::Zero(), Vec3d(1, 0, 0)}};
  const std::vector<Affine3d> two = bend_by(1.5), three = {two[0], two[1], two[1]},
                              late = {two[0], two[0], two[1]};
  const std::vector<Vec3f> expected = corrected(two_bones(), tube.rest, tube.weights, two);
  const std::vector<Vec3f> early_bend = corrected(bones, tube.rest, weights, three);
  const std::vector<Vec3f> late_bend = corrected(bones, tube.rest, weights, late);
  for (std::size_t v = 0; v < expected.size(); ++v) {
    ASSERT_LT((early_bend[v] - expected[v]).norm(), 1e-6f) << v;
    ASSERT_LT((late_bend[v] - expected[v]).norm(), 1e-6f) << v;
  }
}

TEST(BulgeFree, SameBitsForAnyNumberOfThreads) {
  const RandomSkin skin =
      make_random_skin(5, test::kSanitized ? 3000 : 20000, 12, 4, RandomTransforms::rigid);
  const std::vector<BulgeFreeBone> bones = random_bones(5, 12);
  const BulgeFreeCorrection correction(bones, skin.weights);
  EXPECT_GT(correction.bent_vertex_count(), skin.rest.size() / 4);
  const std::vector<Vec3f> before = dual_quaternions(skin.rest, skin.weights, skin.posed_from_rest);
  const auto run = [&](int threads) {
    std::vector<Vec3f> posed = before;
    BulgeFreeCorrection::Scratch scratch = correction.make_scratch();
    tbb::task_arena arena(threads);
    arena.execute([&] { correction.correct(skin.rest, skin.posed_from_rest, 1, scratch, posed); });
    return posed;
  };
  const std::vector<Vec3f> one = run(1);
  EXPECT_FALSE(one == before);
  EXPECT_TRUE(one == run(2));
  EXPECT_TRUE(one == run(7));
}

}  // namespace
}  // namespace sinew
