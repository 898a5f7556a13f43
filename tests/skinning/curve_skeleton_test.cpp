#include <sinew/skinning/curve_skeleton.h>

#include <cmath>
#include <numbers>
#include <random>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

#include "tests/reference/curve_skeleton.h"

namespace sinew {
namespace {

constexpr double kDegree = std::numbers::pi / 180;
constexpr double kRadius = 0.25;
constexpr int kAround = 12, kRingsPerBone = 10;

/// A tail of `bones` unit bones along x, each with a joint at its start: a tube with weights that pass from
/// joint to joint. What lies before the first joint is joint 0's, which is not in the chain.
struct Tail {
  std::vector<Vec3f> rest;
  std::vector<Triangle> triangles;
  SkinWeights weights;
  CurveChain chain;
  int rings = 0;

  explicit Tail(int bones) {
    for (int b = 0; b < bones; ++b) {
      chain.joints.push_back(static_cast<std::uint32_t>(b + 1));
      chain.places.emplace_back(b, 0, 0);
    }
    chain.tip = Vec3d(bones, 0, 0);
    rings = (bones + 2) * kRingsPerBone + 1;
    WeightRepairs repairs;
    for (int r = 0; r < rings; ++r) {
      const double x = static_cast<double>(r) / kRingsPerBone - 1;
      // Bone b's middle is at b + 0.5; joint 0's at -0.5.
      const double number = std::clamp(x + 0.5, 0.0, static_cast<double>(bones));
      const double lower = std::min(std::floor(number), bones - 1.0);
      for (int s = 0; s < kAround; ++s) {
        const double angle = s * 2 * std::numbers::pi / kAround;
        rest.emplace_back(x, kRadius * std::cos(angle), kRadius * std::sin(angle));
        Influence row[2] = {{static_cast<std::uint32_t>(lower), static_cast<float>(1 - (number - lower))},
                            {static_cast<std::uint32_t>(lower) + 1, static_cast<float>(number - lower)}};
        append_row(weights, row, 0, repairs);
      }
    }
    for (int r = 0; r + 1 < rings; ++r)
      for (int s = 0; s < kAround; ++s) {
        const auto at = [&](int ring, int side) {
          return static_cast<std::uint32_t>(ring * kAround + side % kAround);
        };
        triangles.push_back({at(r, s), at(r, s + 1), at(r + 1, s)});
        triangles.push_back({at(r, s + 1), at(r + 1, s + 1), at(r + 1, s)});
      }
  }

  std::size_t joint_count() const { return chain.joints.size() + 1; }
  std::vector<Affine3d> at_rest() const { return std::vector<Affine3d>(joint_count(), Affine3d::Identity()); }
  /// Each joint turned, relative to the one before, about its place.
  std::vector<Affine3d> posed(const std::vector<Quatd>& turns) const {
    std::vector<Affine3d> result = at_rest();
    for (std::size_t j = 0; j < chain.joints.size(); ++j)
      result[j + 1] = result[j] * Eigen::Translation3d(chain.places[j]) * turns[j % turns.size()] *
                      Eigen::Translation3d(-chain.places[j]);
    return result;
  }
  std::vector<Vec3f> deformed(const std::vector<Affine3d>& posed_from_rest) const {
    const CurveSkeleton curves({rest, triangles}, weights, std::span(&chain, 1));
    CurveSkeleton::Scratch scratch = curves.make_scratch();
    std::vector<Vec3f> positions = rest;
    curves.deform(rest, posed_from_rest, scratch, positions);
    return positions;
  }
};

Quatd turn(double degrees, const Vec3d& axis) {
  return Quatd(Eigen::AngleAxisd(degrees * kDegree, axis.normalized()));
}

/// The motions of the samples of one curve.
std::vector<Affine3d> motions(const CurveChain& chain, const std::vector<Affine3d>& posed_from_rest) {
  const SkinCurve curve(chain, 24);
  SkinCurve::Scratch scratch = curve.make_scratch();
  std::vector<Affine3d> result(curve.sample_count());
  curve.pose(posed_from_rest, scratch, result);
  return result;
}

TEST(CurveSkeleton, AgreesWithTheFormula) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> unit(-1, 1);
  const Tail tail(4);
  for (int round = 0; round < 2; ++round) {
    std::vector<Quatd> turns;
    for (int j = 0; j < 4; ++j)
      turns.push_back(turn(50 * unit(random), Vec3d(0, unit(random), unit(random))) *
                      turn(60 * unit(random), Vec3d::UnitX()));
    const std::vector<Affine3d> posed = tail.posed(turns);
    const std::vector<Vec3f> positions = tail.deformed(posed);
    std::vector<Vec3f> expected = tail.rest;
    reference::curve_skeleton(tail.rest, tail.weights, tail.chain, posed, expected);
    for (std::size_t v = 0; v < expected.size(); ++v)
      ASSERT_LT((positions[v] - expected[v]).norm(), 4e-3f) << "vertex " << v << " at " << tail.rest[v].x();
  }
}

TEST(CurveSkeleton, RestAndWholeMotionsAreExact) {
  const Tail tail(6);
  const std::vector<Vec3f> rest = tail.deformed(tail.at_rest());
  for (std::size_t v = 0; v < rest.size(); ++v) ASSERT_LT((rest[v] - tail.rest[v]).norm(), 1e-6f);
  Affine3d motion = Eigen::Translation3d(1, 2, 3) * Eigen::AngleAxisd(3, Vec3d(1, -1, 2).normalized());
  for (const bool scaled : {false, true}) {
    if (scaled) motion.linear() *= 2.5;
    const std::vector<Vec3f> posed = tail.deformed(std::vector<Affine3d>(tail.joint_count(), motion));
    const CurveSkeleton curves({tail.rest, tail.triangles}, tail.weights, std::span(&tail.chain, 1));
    for (std::size_t i = 0; i < curves.vertices().size(); ++i) {
      if (curves.shares()[i] < 1) continue;
      const std::uint32_t v = curves.vertices()[i];
      ASSERT_LT((posed[v].cast<double>() - motion * tail.rest[v].cast<double>()).norm(), 1e-5);
    }
  }
}

TEST(CurveSkeleton, ABentTailKeepsItsCrossSection) {
  const Tail tail(6);
  const std::vector<Affine3d> posed = tail.posed({turn(35, Vec3d::UnitZ())});
  const std::vector<Vec3f> positions = tail.deformed(posed);
  const std::vector<Affine3d> along = motions(tail.chain, posed);
  const SkinCurve curve(tail.chain, 24);
  float longest = 0;
  int checked = 0;
  for (int r = 2 * kRingsPerBone; r + kRingsPerBone < tail.rings; ++r)
    for (int s = 0; s < kAround; ++s) {
      const auto v = to_size(r * kAround + s);
      double nearest = 9;
      for (std::size_t i = 0; i < along.size(); ++i)
        nearest = std::min(nearest, (along[i] * curve.rest_points()[i] - positions[v].cast<double>()).norm());
      EXPECT_NEAR(nearest, kRadius, 0.004) << "at " << tail.rest[v].x();
      longest = std::max(longest, (positions[v] - positions[v - kAround]).norm());
      ++checked;
    }
  EXPECT_GT(checked, 400);
  // Rings lie 0.1 apart at rest; the outer side of the bend is longer, nothing is torn.
  EXPECT_LT(longest, 0.125f);
}

TEST(CurveSkeleton, FramesDoNotFlipAtInflectionsOrOnStraights) {
  const Tail tail(8);
  const std::vector<std::vector<Quatd>> poses = {
      {turn(40, Vec3d::UnitZ()), turn(-40, Vec3d::UnitZ())},
      {turn(0, Vec3d::UnitZ())},
      {turn(0, Vec3d::UnitZ()), turn(60, Vec3d::UnitY()), turn(-60, Vec3d::UnitY()), turn(0, Vec3d::UnitZ())},
      {turn(50, Vec3d::UnitZ()), turn(50, Vec3d::UnitY())},
      {turn(80, Vec3d::UnitZ())},
  };
  for (std::size_t pose = 0; pose < poses.size(); ++pose) {
    const std::vector<Affine3d> along = motions(tail.chain, tail.posed(poses[pose]));
    for (std::size_t s = 0; s + 1 < along.size(); ++s) {
      const Mat3d step = along[s].linear().transpose() * along[s + 1].linear();
      EXPECT_LT(Eigen::AngleAxisd(step).angle(), 15 * kDegree) << "pose " << pose << ", sample " << s;
      EXPECT_NEAR(along[s].linear().determinant(), 1, 1e-9);
    }
  }
}

TEST(CurveSkeleton, JointsPassOnTheirRoll) {
  const Tail tail(5);
  for (const double degrees : {20.0, -70.0, 150.0}) {
    const std::vector<Affine3d> posed = tail.posed({turn(degrees, Vec3d::UnitX())});
    const std::vector<Affine3d> along = motions(tail.chain, posed);
    for (std::size_t j = 0; j < 5; ++j)
      EXPECT_TRUE(along[24 * j].linear().isApprox(posed[j + 1].linear(), 1e-9)) << "joint " << j;
    // In between the roll goes the short way, without going back.
    const double sign = degrees > 0 ? 1 : -1;
    for (std::size_t s = 0; s + 1 < along.size(); ++s) {
      const Mat3d step = along[s].linear().transpose() * along[s + 1].linear();
      const double turned = std::atan2(step(2, 1), step(1, 1));
      EXPECT_GE(sign * turned, -1e-9);
      EXPECT_LT(sign * turned, 0.2);
    }
  }
}

TEST(CurveSkeleton, MovedAndScaledJointsStretchTheCurve) {
  const Tail tail(4);
  std::vector<Affine3d> posed = tail.at_rest();
  Affine3d thin = Affine3d::Identity();
  thin.linear().diagonal() = Vec3d(1.5, 0.5, 0.5);
  for (std::size_t j = 1; j < posed.size(); ++j) posed[j] = thin;
  const std::vector<Vec3f> positions = tail.deformed(posed);
  for (std::size_t v = 0; v < positions.size(); ++v) {
    const double x = tail.rest[v].x();
    if (x < 1) continue;
    EXPECT_NEAR(positions[v].x(), 1.5 * x, 1e-5);
    EXPECT_NEAR(positions[v].tail<2>().norm(), 0.5 * kRadius, 1e-5);
  }
}

TEST(CurveSkeleton, DegenerateChains) {
  Tail tail(6);
  // Two joints in one place, and a tip on the last joint.
  tail.chain.places[3] = tail.chain.places[2];
  tail.chain.tip = tail.chain.places.back();
  const std::vector<Vec3f> rest = tail.deformed(tail.at_rest());
  for (std::size_t v = 0; v < rest.size(); ++v) ASSERT_LT((rest[v] - tail.rest[v]).norm(), 1e-6f);
  for (const Vec3f& p : tail.deformed(tail.posed({turn(60, Vec3d::UnitZ())}))) ASSERT_TRUE(p.allFinite());
  // All joints in one place in a pose, mirrored, flat or far away.
  std::vector<Affine3d> posed = tail.at_rest();
  for (std::size_t j = 1; j < posed.size(); ++j) posed[j] = Eigen::Translation3d(-tail.chain.places[j - 1]);
  for (const Vec3f& p : tail.deformed(posed)) ASSERT_TRUE(p.allFinite());
  posed[2].linear().setZero();
  posed[3].linear().col(1) *= -1;
  posed[4].translation() = Vec3d(1e15, 1e15, -1e15);
  posed[5].linear() *= 1e15;
  for (const Vec3f& p : tail.deformed(posed)) ASSERT_TRUE(p.allFinite());
  for (Vec3d& place : tail.chain.places) place.setOnes();
  tail.chain.tip.setOnes();
  EXPECT_THROW(tail.deformed(posed), Error);
}

TEST(CurveSkeleton, AJointThatLooksBackIsFollowed) {
  const Tail tail(5);
  for (double degrees = 0; degrees <= 360; degrees += 15)
    for (const Affine3d& motion :
         motions(tail.chain, tail.posed({turn(0, Vec3d::UnitZ()), turn(degrees, Vec3d::UnitZ()),
                                         turn(0, Vec3d::UnitZ()), turn(0, Vec3d::UnitZ())}))) {
      ASSERT_TRUE(motion.matrix().allFinite());
      ASSERT_NEAR(motion.linear().determinant(), 1, 1e-9);
    }
}

TEST(CurveSkeleton, WhatFollowsTheCurveAloneForgetsWhereItWas) {
  const Tail tail(3);
  const CurveSkeleton curves({tail.rest, tail.triangles}, tail.weights, std::span(&tail.chain, 1));
  CurveSkeleton::Scratch scratch = curves.make_scratch();
  std::vector<Vec3f> positions(tail.rest.size(), Vec3f::Constant(std::nanf("")));
  curves.deform(tail.rest, tail.at_rest(), scratch, positions);
  int replaced = 0;
  for (std::size_t v = 0; v < positions.size(); ++v)
    if (tail.rest[v].x() >= 0.5f) {
      ASSERT_LT((positions[v] - tail.rest[v]).norm(), 1e-6f);
      ++replaced;
    }
  EXPECT_GT(replaced, 100);
}

TEST(CurveSkeleton, MorphedRestIsCarriedAlong) {
  const Tail tail(3);
  const CurveSkeleton curves({tail.rest, tail.triangles}, tail.weights, std::span(&tail.chain, 1));
  CurveSkeleton::Scratch scratch = curves.make_scratch();
  std::vector<Vec3f> morphed = tail.rest;
  for (Vec3f& p : morphed) p.y() *= 1.5f;
  std::vector<Vec3f> positions = morphed;
  curves.deform(morphed, tail.at_rest(), scratch, positions);
  for (std::size_t v = 0; v < positions.size(); ++v) ASSERT_LT((positions[v] - morphed[v]).norm(), 1e-6f);
}

/// A curve that turns back at rest, as a curled tail does.
TEST(CurveSkeleton, VerticesBindToTheirOwnTurnOfTheCurve) {
  CurveChain chain;
  for (const Vec3d& place : {Vec3d(0, 0, 0), Vec3d(1, 0, 0), Vec3d(2, 0, 0), Vec3d(2.3, 0.3, 0),
                             Vec3d(2, 0.6, 0), Vec3d(1, 0.6, 0)}) {
    chain.joints.push_back(static_cast<std::uint32_t>(chain.places.size()));
    chain.places.push_back(place);
  }
  chain.tip = Vec3d(0, 0.6, 0);
  // Each nearer to the other turn than to the one whose skin it is.
  const std::vector<Vec3f> rest = {{0.5f, 0.35f, 0}, {0.5f, 0.25f, 0}};
  SkinWeights weights;
  WeightRepairs repairs;
  for (const std::uint32_t joint : {0u, 5u}) {
    Influence row[1] = {{joint, 1.0f}};
    append_row(weights, row, 0, repairs);
  }
  const CurveSkeleton curves({rest, {}}, weights, std::span(&chain, 1));
  const auto bone = [&](std::size_t v) { return curves.samples().row_joints(v)[0] / 24; };
  EXPECT_EQ(bone(0), 0u);
  EXPECT_EQ(bone(1), 5u);
}

TEST(CurveSkeleton, SharpRestBendsAreSpreadAndStayAtRest) {
  Tail tail(6);
  // Bent at rest by much more than its thickness allows: the surface goes by bones, the curve turns sharply.
  const std::vector<Affine3d> bend =
      tail.posed({turn(0, Vec3d::UnitZ()), turn(0, Vec3d::UnitZ()), turn(80, Vec3d::UnitZ()),
                  turn(80, Vec3d::UnitZ()), turn(0, Vec3d::UnitZ()), turn(0, Vec3d::UnitZ())});
  for (std::size_t j = 0; j < 6; ++j) tail.chain.places[j] = bend[j + 1] * tail.chain.places[j];
  tail.chain.tip = bend[6] * tail.chain.tip;
  for (std::size_t v = 0; v < tail.rest.size(); ++v) {
    Vec3d sum = Vec3d::Zero();
    for (std::size_t i = tail.weights.starts[v]; i < tail.weights.starts[v + 1]; ++i)
      sum += static_cast<double>(tail.weights.values[i]) *
             (bend[tail.weights.joints[i]] *
              Vec3d(tail.rest[v].x(), 3 * tail.rest[v].y(), 3 * tail.rest[v].z()));
    tail.rest[v] = sum.cast<float>();
  }
  const std::vector<Vec3f> rest = tail.deformed(tail.at_rest());
  for (std::size_t v = 0; v < rest.size(); ++v) ASSERT_LT((rest[v] - tail.rest[v]).norm(), 2e-6f);
  // Along each line of the tube the places on the curve advance without jumps.
  const CurveSkeleton curves({tail.rest, tail.triangles}, tail.weights, std::span(&tail.chain, 1));
  std::vector<double> place(tail.rest.size(), -1);
  for (std::size_t i = 0; i < curves.vertices().size(); ++i) {
    const auto joints = curves.samples().row_joints(i);
    const auto values = curves.samples().row_values(i);
    double sum = 0;
    for (std::size_t k = 0; k < joints.size(); ++k) sum += static_cast<double>(values[k]) * joints[k];
    place[curves.vertices()[i]] = sum;
  }
  double longest = 0;
  for (std::size_t v = kAround; v < place.size(); ++v)
    if (place[v] >= 0 && place[v - kAround] >= 0) longest = std::max(longest, place[v] - place[v - kAround]);
  EXPECT_LT(longest, 15.0);
}

TEST(CurveSkeleton, NoChainsChangeNothing) {
  const Tail tail(3);
  const CurveSkeleton curves({tail.rest, tail.triangles}, tail.weights, {});
  CurveSkeleton::Scratch scratch = curves.make_scratch();
  std::vector<Vec3f> positions(tail.rest.size(), Vec3f(1, 2, 3));
  curves.deform(tail.rest, tail.at_rest(), scratch, positions);
  for (const Vec3f& p : positions) ASSERT_EQ(p, Vec3f(1, 2, 3));
}

TEST(CurveSkeleton, SameBitsForAnyNumberOfThreads) {
  const Tail tail(30);
  const std::vector<Affine3d> posed = tail.posed({turn(12, Vec3d(0, 1, 2)), turn(20, Vec3d(1, 0, 1))});
  std::vector<Vec3f> one, four;
  tbb::task_arena(1).execute([&] { one = tail.deformed(posed); });
  tbb::task_arena(4).execute([&] { four = tail.deformed(posed); });
  EXPECT_TRUE(one == four);
}

}  // namespace
}  // namespace sinew
