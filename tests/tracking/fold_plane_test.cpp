#include <sinew/tracking/fold_plane.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include <gtest/gtest.h>

#include <sinew/implicit/compact_support.h>

namespace sinew {
namespace {

constexpr float kRadius = 0.2f;     // of the limbs
constexpr float kReach = 2.2f;      // in radii: where the plane ends
constexpr float kMostTurn = 0.35f;  // radians

float radians(double degrees) {
  return static_cast<float>(degrees * std::numbers::pi / 180);
}

/// Parent along -x, child along +x turned about z by `degrees`: it bends to where y > 0.
FoldPlane bent(double degrees) {
  const Vec3f child(std::cos(radians(degrees)), std::sin(radians(degrees)), 0);
  return fold_plane(Vec3f::Zero(), -0.5f * Vec3f::UnitX(), 0.7f * child);
}

void expect_none(const FoldPlane& plane) {
  EXPECT_EQ(plane.normal, Vec3f::Zero());
  for (const Vec3f& at : {Vec3f(0, 0.1f, 0), Vec3f(0.1f, 0, 0.1f), Vec3f(-1, 2, 3)}) {
    EXPECT_EQ(plane.share(at, kRadius), 0);
    EXPECT_EQ(plane.side(at, kRadius), 0);
  }
}

TEST(FoldPlane, TheNormalPointsToTheChildAndTheInsideIntoTheBend) {
  for (const double degrees : {20.0, 60.0, 90.0, 120.0, 160.0}) {
    const FoldPlane plane = bent(degrees);
    const float half = radians(degrees / 2);
    EXPECT_LT((plane.normal - Vec3f(std::cos(half), std::sin(half), 0)).norm(), 1e-5f) << degrees;
    EXPECT_LT((plane.inside.normalized() - Vec3f(-std::sin(half), std::cos(half), 0)).norm(), 1e-5f)
        << degrees;
    // Half of the angle between the bones.
    EXPECT_NEAR(plane.inside.norm(), std::cos(radians(90 - degrees / 2)), 1e-5f) << degrees;
  }
}

TEST(FoldPlane, AStraightLimbHasNoInside) {
  const FoldPlane plane = bent(0);
  EXPECT_LT((plane.normal - Vec3f::UnitX()).norm(), 1e-6f);
  EXPECT_LT(plane.inside.norm(), 1e-6f);
  for (const Vec3f& at : {Vec3f(0, 0.1f, 0), Vec3f(0, -0.3f, 0.1f), Vec3f(0.1f, 0.2f, 0)})
    EXPECT_EQ(plane.share(at, kRadius), 0);
}

TEST(FoldPlane, BonesThatLieOnEachOtherHaveNone) {
  expect_none(bent(180));
  expect_none(bent(178));
  EXPECT_GT(bent(175).normal.norm(), 0.99f);
}

TEST(FoldPlane, PartsWhoseMiddleIsAtTheJointHaveNone) {
  for (const Vec3f& joint : {Vec3f(0, 0, 0), Vec3f(0.3f, -1.7f, 0.1f)})
    for (const Vec3f& to : {Vec3f(0.5f, 0, 0), Vec3f(0, -0.2f, 0.3f)}) {
      ASSERT_GT(fold_plane(joint, joint + to, joint - 2 * to).normal.norm(), 0.99f);
      for (const FoldPlane& plane : {fold_plane(joint, joint, joint + to),
                                     fold_plane(joint, joint + to, joint), fold_plane(joint, joint, joint)}) {
        expect_none(plane);
        EXPECT_EQ(plane.inside, Vec3f::Zero());
      }
    }
}

TEST(FoldPlane, RigidMotionCarriesItAlong) {
  const Eigen::Affine3f motion =
      Eigen::Translation3f(0.4f, -2, 1) * Eigen::AngleAxisf(2, Vec3f(1, -2, 3).normalized());
  const Vec3f joint(0.1f, 0.2f, -0.1f), parent(-0.3f, 0.1f, 0), child(0.2f, 0.6f, 0.3f);
  const FoldPlane plane = fold_plane(joint, parent, child),
                  moved = fold_plane(motion * joint, motion * parent, motion * child);
  EXPECT_LT((moved.normal - motion.linear() * plane.normal).norm(), 1e-5f);
  EXPECT_LT((moved.inside - motion.linear() * plane.inside).norm(), 1e-5f);
  const Vec3f at(0.05f, 0.15f, 0.02f);
  EXPECT_NEAR(moved.share(motion.linear() * at, kRadius), plane.share(at, kRadius), 1e-5f);
  EXPECT_NEAR(moved.side(motion.linear() * at, kRadius), plane.side(at, kRadius), 1e-5f);
}

TEST(FoldPlane, OddPlacesGiveAFinitePlaneOrNone) {
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  const Vec3f zero = Vec3f::Zero(), x = Vec3f::UnitX(), y = Vec3f::UnitY();
  for (const float bad : {nan, infinity, -infinity}) {
    const Vec3f broken(0, bad, 0);
    expect_none(fold_plane(broken, x, y));
    expect_none(fold_plane(zero, broken, y));
    expect_none(fold_plane(zero, x, broken));
    expect_none(fold_plane(zero, broken, broken));
  }
  expect_none(fold_plane(zero, zero, zero));
  expect_none(fold_plane(x, y, y));
  // A middle at the joint, or far beyond all that floats can square.
  for (const Vec3f& odd : {zero, Vec3f(1e-30f * x), Vec3f(1e30f * y)})
    for (const FoldPlane& plane : {fold_plane(zero, odd, x), fold_plane(zero, x, odd)}) {
      EXPECT_TRUE(plane.normal.allFinite() && plane.inside.allFinite()) << odd.transpose();
      EXPECT_LE(plane.normal.norm(), 1.0001f);
      EXPECT_LE(plane.inside.norm(), 1.0001f);
      EXPECT_TRUE(std::isfinite(plane.share({0.1f, 0.1f, 0}, kRadius)));
    }
  // The least and the largest radius of a joint.
  for (const float radius : {1e-9f, std::numeric_limits<float>::max()}) {
    EXPECT_TRUE(std::isfinite(bent(90).share({0, 0.1f, 0}, radius)));
    EXPECT_TRUE(std::isfinite(bent(90).side({0.1f, 0.1f, 0}, radius)));
  }
}

TEST(FoldPlane, ItsShareIsTheInsideOfTheBendNearTheJoint) {
  for (const double degrees : {70.0, 110.0, 150.0}) {
    const FoldPlane plane = bent(degrees);
    const Vec3f in = plane.inside.normalized();
    const auto share = [&](const Vec3f& radii) { return plane.share(kRadius * radii, kRadius); };
    EXPECT_EQ(share(in), 1) << degrees;
    EXPECT_EQ(share(1.15f * in), 1) << degrees;
    EXPECT_EQ(share(1.1f * in + 3 * plane.normal), 1) << degrees;  // along the plane, not across it
    for (const float length : {0.0f, 0.3f, 1.0f, 4.0f}) {
      EXPECT_EQ(share(-length * in), 0) << degrees;
      EXPECT_EQ(share(length * Vec3f::UnitZ()), 0) << degrees;
    }
    EXPECT_EQ(share(0.09f * in), 0) << degrees;
    EXPECT_EQ(share(2.21f * in), 0) << degrees;
    EXPECT_EQ(share(9 * in), 0) << degrees;
    EXPECT_EQ(share(in + 2 * Vec3f::UnitZ()), 0) << degrees;
    // Half of it halfway.
    EXPECT_NEAR(share(1.7f * in), 0.5f, 1e-5f) << degrees;
    EXPECT_NEAR(share(0.3f / plane.inside.norm() * in), 0.5f, 1e-5f) << degrees;
  }
  // A joint that hardly bends folds nothing.
  EXPECT_EQ(bent(4).share({0, 0.3f, 0}, kRadius), 0);
}

TEST(FoldPlane, ItsShareIsContinuousAndWithinItsBoundsAtAnySize) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> coordinate(-3, 3), way(-1, 1);
  int within = 0;
  constexpr int kSteps = 20000;
  for (int k = 0; k < kSteps; ++k) {
    const FoldPlane plane = bent(175.0 * k / kSteps);
    const Vec3f at(coordinate(random), coordinate(random), coordinate(random) / 2);
    const Vec3f step = 0.01f * Vec3f(way(random), way(random), way(random));
    const float share = plane.share(kRadius * at, kRadius);
    ASSERT_GE(share, 0) << at.transpose();
    ASSERT_LE(share, 1) << at.transpose();
    within += share > 0;
    // The steepest is 1.5 / 0.4 per radius inwards, 1.5 along.
    ASSERT_NEAR(plane.share(kRadius * (at + step), kRadius), share, 5.3f * step.norm()) << at.transpose();
    for (const float size : {1e-3f, 1.0f, 1e4f})
      ASSERT_NEAR(plane.share(size * at, size), share, 1e-4f) << at.transpose();
  }
  EXPECT_GT(within, kSteps / 10);
  EXPECT_LT(within, kSteps / 2);
}

TEST(FoldPlane, ItsSideIsTheChildsAndFollowsItsGradient) {
  for (const double degrees : {0.0, 60.0, 150.0}) {
    const FoldPlane plane = bent(degrees);
    const Vec3f child(std::cos(radians(degrees)), std::sin(radians(degrees)), 0);
    EXPECT_GT(plane.side(child, kRadius), 0);
    EXPECT_LT(plane.side(-Vec3f::UnitX(), kRadius), 0);
    EXPECT_NEAR(plane.side(plane.inside, kRadius), 0, 1e-5f);
    EXPECT_NEAR(plane.side(kRadius * plane.normal, kRadius), FoldPlane::kSlope, 1e-5f);
    EXPECT_NEAR(plane.side(7 * plane.normal, 7), FoldPlane::kSlope, 1e-5f);
    const Vec3f at(0.07f, 0.1f, -0.05f), gradient = plane.side_gradient(kRadius);
    for (int axis = 0; axis < 3; ++axis) {
      const Vec3f ahead = at + 0.1f * Vec3f::Unit(axis), behind = at - 0.1f * Vec3f::Unit(axis);
      EXPECT_NEAR(gradient[axis], (plane.side(ahead, kRadius) - plane.side(behind, kRadius)) / 0.2f, 1e-4f)
          << axis;
    }
  }
}

constexpr double kLength = 0.7;  // of the bones

/// The field of a bone from the origin to `tail`, along x: skin at `thickness`, support of kRadius.
BoneField limb_field(double tail, double thickness) {
  BoneField field;
  const auto support = static_cast<double>(kRadius);
  field.radius = support;
  const double margin = thickness + 1.05 * support;
  const Vec3d low(std::min(tail, 0.0) - margin, -margin, -margin);
  const Vec3d high(std::max(tail, 0.0) + margin, margin, margin);
  const std::array<int, 3> nodes{32, 20, 20};
  const Vec3d cells(nodes[0] - 1, nodes[1] - 1, nodes[2] - 1);
  const Vec3d scale = cells.cwiseQuotient(high - low);
  field.grid = FieldGrid(Affine3d(Eigen::Scaling(scale) * Eigen::Translation3d(-low)), nodes);
  for (int x = 0; x < nodes[0]; ++x)
    for (int y = 0; y < nodes[1]; ++y)
      for (int z = 0; z < nodes[2]; ++z) {
        const Vec3d at = low + Vec3d(x, y, z).cwiseQuotient(scale);
        const Vec3d from = at - std::clamp(at.x(), std::min(tail, 0.0), std::max(tail, 0.0)) * Vec3d::UnitX();
        const double d = from.norm() - thickness;
        const Vec3f g =
            (from.normalized() * compact_support_slope(d, support)).cwiseQuotient(scale).cast<float>();
        field.grid.nodes()[field.grid.index(x, y, z)] = {static_cast<float>(compact_support(d, support)),
                                                         g.x(), g.y(), g.z()};
      }
  field.grid.bound(0);
  return field;
}

/// Two bones that meet at the origin, as bent() has them.
class Limb {
 public:
  Limb(double parent_thickness, double child_thickness) {
    set_.fields = {limb_field(-kLength, parent_thickness), limb_field(kLength, child_thickness)};
    set_.transform = {0, 1};
  }

  void bend(double degrees) {
    const Affine3d turn(Eigen::AngleAxisd(degrees * std::numbers::pi / 180, Vec3d::UnitZ()));
    pose_fields(set_, std::vector<Affine3d>{Affine3d::Identity(), turn}, posed);
    plane = bent(degrees);
    turned = turned_to_contact(plane, Vec3f::Zero(), kRadius, posed[0], posed[1]);
  }

  /// By how much the plane was turned, towards the child.
  float angle() const {
    const Vec3f inwards = plane.inside.normalized();
    return std::atan2(turned.inside.dot(plane.normal), turned.inside.dot(inwards));
  }

  /// Where the plane ends.
  Vec3f end() const { return kReach * kRadius * turned.inside.normalized(); }
  float parent_less_child(const Vec3f& at) const {
    return posed[0].sample(at).value - posed[1].sample(at).value;
  }

  std::vector<PosedField> posed{2};
  FoldPlane plane, turned;

 private:
  FieldSet set_;
};

/// Still a plane through the joint.
void expect_plane(const Limb& limb, double degrees) {
  EXPECT_NEAR(limb.turned.normal.norm(), 1, 1e-5f) << degrees;
  EXPECT_NEAR(limb.turned.inside.norm(), limb.plane.inside.norm(), 1e-5f) << degrees;
  EXPECT_NEAR(limb.turned.normal.dot(limb.turned.inside), 0, 1e-5f) << degrees;
  EXPECT_NEAR(limb.turned.normal.z(), 0, 1e-5f) << degrees;
}

TEST(FoldPlane, EqualBonesLeaveItAsItIs) {
  Limb limb(0.2, 0.2);
  for (const double degrees : {30.0, 90.0, 120.0, 150.0, 170.0}) {
    limb.bend(degrees);
    EXPECT_NEAR(limb.angle(), 0, 0.003f) << degrees;
    expect_plane(limb, degrees);
  }
}

TEST(FoldPlane, AThickParentTurnsItToTheChildWhereTheFieldsAreEqual) {
  for (const double thickness : {0.22, 0.25, 0.28}) {
    Limb limb(thickness, 0.2), other(0.2, thickness);
    for (const double degrees : {120.0, 135.0, 150.0}) {
      limb.bend(degrees), other.bend(degrees);
      ASSERT_GT(limb.parent_less_child(kReach * kRadius * limb.plane.inside.normalized()), 0.05f) << degrees;
      EXPECT_GT(limb.angle(), 0.015f) << degrees;
      EXPECT_NEAR(limb.parent_less_child(limb.end()), 0, 0.01f) << degrees;
      expect_plane(limb, degrees);
      // A thick child turns it the other way.
      EXPECT_NEAR(other.angle(), -limb.angle(), 0.004f) << degrees;
    }
  }
}

TEST(FoldPlane, ItNeverTurnsFar) {
  float most = 0;
  for (const double thickness : {0.1, 0.15, 0.2, 0.3, 0.4, 0.5}) {
    Limb limb(thickness, 0.2);
    for (int degrees = 0; degrees <= 175; degrees += 5) {
      limb.bend(degrees);
      if (limb.plane.inside.norm() < 1e-3f) continue;
      ASSERT_TRUE(limb.turned.normal.allFinite() && limb.turned.inside.allFinite()) << degrees;
      EXPECT_LE(std::abs(limb.angle()), kMostTurn) << thickness << " " << degrees;
      most = std::max(most, std::abs(limb.angle()));
    }
  }
  EXPECT_GT(most, 0.3f * kMostTurn);
}

TEST(FoldPlane, ItDoesNotJumpAsAJointBends) {
  for (const double thickness : {0.2, 0.22, 0.25, 0.3, 0.4}) {
    Limb limb(thickness, 0.2);
    constexpr double kStep = 0.05;
    float before = 0, most = 0;
    for (double degrees = kStep; degrees <= 170; degrees += kStep) {
      limb.bend(degrees);
      // 2.5 times as fast as the joint bends. Bisection alone would jump by 1 / 256 of twice kMostTurn.
      EXPECT_NEAR(limb.angle(), before, 0.0022f) << thickness << " " << degrees;
      before = limb.angle();
      most = std::max(most, std::abs(before));
    }
    EXPECT_GE(most, thickness > 0.2 ? 0.03f : 0.0f) << thickness;
  }
}

TEST(FoldPlane, OpenJointsAndFieldsThatAreNoneLeaveItAlone) {
  Limb limb(0.3, 0.2);
  limb.bend(8);
  EXPECT_EQ(limb.turned.normal, limb.plane.normal);
  EXPECT_EQ(limb.turned.inside, limb.plane.inside);
  limb.bend(140);
  ASSERT_GT(limb.angle(), 0.03f);
  for (const auto& unusable : {std::pair(true, false), std::pair(false, true), std::pair(true, true)}) {
    std::vector<PosedField> posed = limb.posed;
    if (unusable.first) posed[0].usable = false;
    if (unusable.second) posed[1].usable = false;
    const FoldPlane plane = turned_to_contact(limb.plane, Vec3f::Zero(), kRadius, posed[0], posed[1]);
    EXPECT_LT((plane.normal - limb.plane.normal).norm(), 1e-6f);
    EXPECT_LT((plane.inside - limb.plane.inside).norm(), 1e-6f);
  }
  // Fields that do not come so far, and no plane at all.
  const FoldPlane far = turned_to_contact(limb.plane, {0, 9, 0}, kRadius, limb.posed[0], limb.posed[1]);
  EXPECT_EQ(far.normal, limb.plane.normal);
  expect_none(turned_to_contact(FoldPlane(), Vec3f::Zero(), kRadius, limb.posed[0], limb.posed[1]));
}

}  // namespace
}  // namespace sinew
