#include <sinew/core/index.h>
#include <sinew/fitting/bone_rolls.h>

#include <cmath>
#include <numbers>
#include <random>

#include <gtest/gtest.h>

namespace sinew {
namespace {

constexpr double kDegree = std::numbers::pi / 180;

RigBone bone(const std::string& name, int parent, const Vec3d& head, const Vec3d& tail, double roll = 0) {
  RigBone result;
  result.name = name;
  result.parent = parent;
  result.head = head;
  result.tail = tail;
  result.roll = roll;
  return result;
}

/// Bones one after the other through `joints`.
ControlRig chain(const std::vector<Vec3d>& joints, const std::vector<double>& rolls) {
  ControlRig rig;
  for (std::size_t b = 0; b + 1 < joints.size(); ++b)
    rig.bones.push_back(bone("b" + std::to_string(b), static_cast<int>(b) - 1, joints[b], joints[b + 1],
                             rolls[b % rolls.size()]));
  return rig;
}

ControlRig fit(const ControlRig& rig, ControlRig fitted) {
  const PerBone<char> placed(rig.bones.size(), 1);
  transfer_rolls(rig, placed, fitted);
  return fitted;
}

Mat3d frame(const RigBone& b) {
  return bone_frame(b.tail - b.head, b.roll);
}

Vec3d way(const RigBone& b) {
  return (b.tail - b.head).normalized();
}

/// From the normal of the plane of bones a and b to the x axis of bone b (or a), about that bone.
double angle_to_plane(const RigBone& a, const RigBone& b, bool of_a = false) {
  const Vec3d normal = way(a).cross(way(b)).normalized();
  const Mat3d axes = frame(of_a ? a : b);
  return std::atan2(axes.col(1).dot(normal.cross(axes.col(0))), normal.dot(axes.col(0)));
}

double angle_difference(double a, double b) {
  return std::abs(std::remainder(a - b, 2 * std::numbers::pi));
}

double turn_angle(const Mat3d& a, const Mat3d& b) {
  return Eigen::AngleAxisd(Mat3d(a.transpose() * b)).angle();
}

Vec3d in_plane(double degrees, const Vec3d& u, const Vec3d& v) {
  return std::cos(degrees * kDegree) * u + std::sin(degrees * kDegree) * v;
}

TEST(BoneRolls, KeepsFortyFiveDegreesToTheFlexionPlane) {
  // Figure 3.15: axes at 45° to the plane before, 45° to the new plane after.
  const Vec3d knee(0, 1, 0);
  ControlRig rig = chain({Vec3d(0, 2, 0), knee, knee + in_plane(30, Vec3d(0, -1, 0), Vec3d(0, 0, -1))}, {0});
  for (RigBone& b : rig.bones) b.roll = 0;
  for (std::size_t b = 0; b < 2; ++b)
    rig.bones[b].roll += 45 * kDegree - angle_to_plane(rig.bones[0], rig.bones[1], b == 0);
  ASSERT_NEAR(angle_difference(angle_to_plane(rig.bones[0], rig.bones[1]), 45 * kDegree), 0, 1e-9);
  ControlRig fitted = rig;
  // The leg turned outwards by 40°, bent further, and leaning.
  const Quatd out(Eigen::AngleAxisd(40 * kDegree, Vec3d::UnitY()));
  const Quatd lean(Eigen::AngleAxisd(10 * kDegree, Vec3d::UnitX()));
  fitted.bones[0].head = Vec3d(0, 3, 0);
  fitted.bones[0].tail = Vec3d(0, 3, 0) + lean * Vec3d(0, -1.5, 0);
  fitted.bones[1].head = fitted.bones[0].tail;
  fitted.bones[1].tail = fitted.bones[1].head + lean * (out * in_plane(50, Vec3d(0, -1, 0), Vec3d(0, 0, -1)));
  fitted = fit(rig, fitted);
  EXPECT_LT(angle_difference(angle_to_plane(fitted.bones[0], fitted.bones[1]), 45 * kDegree), 1e-9);
  EXPECT_LT(angle_difference(angle_to_plane(fitted.bones[0], fitted.bones[1], true), 45 * kDegree), 1e-9);
}

TEST(BoneRolls, RollsStayWithTheFlexionPlane) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> angle(-180, 180), bend(10, 80), turn(-50, 50);
  for (int round = 0; round < 100; ++round) {
    const Vec3d down = -Vec3d::UnitY();
    const auto joints = [&](double degrees, double about) {
      const Quatd q(Eigen::AngleAxisd(about * kDegree, Vec3d::UnitY()));
      return std::vector<Vec3d>{Vec3d(0, 1, 0), Vec3d::Zero(), q * in_plane(degrees, down, Vec3d::UnitZ())};
    };
    const ControlRig rig = chain(joints(bend(random), 0), {angle(random) * kDegree, angle(random) * kDegree});
    const ControlRig fitted = fit(rig, chain(joints(bend(random), turn(random)), {0}));
    for (const bool upper : {false, true})
      EXPECT_LT(angle_difference(angle_to_plane(rig.bones[0], rig.bones[1], upper),
                                 angle_to_plane(fitted.bones[0], fitted.bones[1], upper)),
                1 * kDegree)
          << round;
  }
}

/// Chest, then arms with clavicles, on both sides. `down` is how far the arm hangs, in degrees; `bend` how
/// far the forearm comes to the front.
ControlRig arms(double down, double bend, double roll) {
  ControlRig rig;
  rig.bones.push_back(bone("chest", -1, Vec3d(0, 1, 0), Vec3d(0, 1.3, 0)));
  for (const double side : {1.0, -1.0}) {
    const auto at = [&](double x, double y, double z) { return Vec3d(side * x, y, z); };
    const auto arm = [&](double front) -> Vec3d {
      const Vec3d out = in_plane(down, Vec3d(side, 0, 0), Vec3d(0, -1, 0));
      return in_plane(front, out, Vec3d::UnitZ());
    };
    const int first = static_cast<int>(rig.bones.size());
    const Vec3d shoulder = at(0.2, 1.32, -0.05), elbow = shoulder + 0.3 * arm(0),
                wrist = elbow + 0.3 * arm(bend);
    rig.bones.push_back(bone(side > 0 ? "clavicle.L" : "clavicle.R", 0, at(0.02, 1.25, 0), shoulder));
    rig.bones.push_back(bone(side > 0 ? "upper.L" : "upper.R", first, shoulder, elbow));
    rig.bones.push_back(bone(side > 0 ? "fore.L" : "fore.R", first + 1, elbow, wrist));
    rig.bones.push_back(bone(side > 0 ? "hand.L" : "hand.R", first + 2, wrist, wrist + 0.1 * arm(bend)));
    for (std::size_t b = to_size(first); b < rig.bones.size(); ++b) rig.bones[b].roll = side * roll;
  }
  return rig;
}

TEST(BoneRolls, ATPoseOnAnAPoseTurnsTheWholeArm) {
  for (const double roll : {0.0, 0.3, -1.2})
    for (const double bend : {0.0, 15.0}) {
      const ControlRig rig = arms(0, bend, roll);
      ControlRig fitted = arms(50, bend, 0);
      fitted = fit(rig, fitted);
      for (const std::size_t upper : {2u, 6u}) {
        const std::size_t fore = upper + 1, hand = upper + 2;
        EXPECT_LT(turn_angle(frame(rig.bones[upper]).transpose() * frame(rig.bones[fore]),
                             frame(fitted.bones[upper]).transpose() * frame(fitted.bones[fore])),
                  1 * kDegree);
        EXPECT_LT(turn_angle(frame(rig.bones[fore]).transpose() * frame(rig.bones[hand]),
                             frame(fitted.bones[fore]).transpose() * frame(fitted.bones[hand])),
                  1 * kDegree);
        // The elbow still bends to the front.
        EXPECT_LT(turn_angle(frame(rig.bones[fore]), frame(fitted.bones[fore])), 51 * kDegree);
      }
    }
}

TEST(BoneRolls, StraightInTheMeshKeepsNeighboursConsistent) {
  // Bent by 30° in the rig, straight and hanging in the mesh: both bones turn about the same axis only.
  const ControlRig rig = arms(0, 30, 0.4);
  const ControlRig fitted = fit(rig, arms(50, 0, 0));
  for (const std::size_t upper : {2u, 6u}) {
    const Mat3d was = frame(rig.bones[upper]).transpose() * frame(rig.bones[upper + 1]);
    const Mat3d is = frame(fitted.bones[upper]).transpose() * frame(fitted.bones[upper + 1]);
    EXPECT_NEAR(turn_angle(was, is), 30 * kDegree, 1e-6);  // the bend itself and no twist
  }
}

TEST(BoneRolls, MirroredSidesGiveMirroredRolls) {
  for (const double bend : {0.0, 3.0, 25.0}) {
    const ControlRig fitted = fit(arms(5, 20, 0.7), arms(48, bend, 0));
    for (const std::size_t left : {1u, 2u, 3u, 4u})
      EXPECT_LT(angle_difference(fitted.bones[left].roll, -fitted.bones[left + 4].roll), 1e-9) << bend;
  }
}

TEST(BoneRolls, TheSameRigStaysAsItIs) {
  ControlRig rig = arms(20, 10, 0.5);
  rig.bones[3].roll = 5;  // beyond ±π
  const ControlRig fitted = fit(rig, rig);
  for (std::size_t b = 0; b < rig.bones.size(); ++b)
    EXPECT_NEAR(fitted.bones[b].roll, rig.bones[b].roll, 1e-9);
}

TEST(BoneRolls, OnlyPlacedBonesAreTouched) {
  const ControlRig rig = arms(0, 10, 0.5);
  ControlRig fitted = arms(40, 20, 0.1);
  PerBone<char> placed(rig.bones.size(), 1);
  placed[BoneId(3)] = 0;
  transfer_rolls(rig, placed, fitted);
  EXPECT_EQ(fitted.bones[3].roll, 0.1);
  EXPECT_NE(fitted.bones[2].roll, 0.1);
}

TEST(BoneRolls, TurningTheWholeCharacterTurnsAllAxesAlike) {
  std::mt19937 random(9);
  std::normal_distribution<double> normal;
  const ControlRig rig = arms(5, 12, 0.7), mesh = arms(40, 25, 0);
  const ControlRig straight = fit(rig, mesh);
  for (int round = 0; round < 50; ++round) {
    const Quatd q = Quatd(normal(random), normal(random), normal(random), normal(random)).normalized();
    ControlRig turned = mesh;
    for (RigBone& b : turned.bones) {
      b.head = q * b.head + Vec3d(1, 2, 3);
      b.tail = q * b.tail + Vec3d(1, 2, 3);
    }
    turned = fit(rig, turned);
    for (std::size_t b = 0; b < rig.bones.size(); ++b)
      EXPECT_LT(turn_angle(q.toRotationMatrix() * frame(straight.bones[b]), frame(turned.bones[b])), 1e-5);
  }
}

TEST(BoneRolls, AStraightChainTurnsTheShortestWay) {
  const ControlRig rig = chain({Vec3d(0, 0, 0), Vec3d(1, 0, 0), Vec3d(2, 0, 0)}, {0.2, 0.9});
  const ControlRig fitted = fit(rig, chain({Vec3d(0, 0, 0), Vec3d(0, 1, 0), Vec3d(0, 2, 0)}, {0}));
  const Quatd turn = Quatd::FromTwoVectors(Vec3d::UnitX(), Vec3d::UnitY());
  for (std::size_t b = 0; b < 2; ++b)
    EXPECT_LT(turn_angle(turn.toRotationMatrix() * frame(rig.bones[b]), frame(fitted.bones[b])), 1e-6);
}

TEST(BoneRolls, AKneeBentTheOtherWayKeepsItsAxes) {
  const auto leg = [](double bend) {
    return chain({Vec3d(0, 1, 0), Vec3d::Zero(), in_plane(bend, Vec3d(0, -1, 0), Vec3d(0, 0, -1))}, {0.3});
  };
  const ControlRig rig = leg(10), fitted = fit(rig, leg(-12));
  EXPECT_LT(turn_angle(frame(rig.bones[1]), frame(fitted.bones[1])), 23 * kDegree);
  EXPECT_LT(turn_angle(frame(rig.bones[0]), frame(fitted.bones[0])), 12 * kDegree);
}

TEST(BoneRolls, EitherNormalOfAPlaneWillDo) {
  // Bent the other way and turned out by 30°: the axes turn by those 30°, not by 210°.
  const auto leg = [](double bend, double about) {
    const Quatd q(Eigen::AngleAxisd(about * kDegree, Vec3d::UnitY()));
    return chain({Vec3d(0, 1, 0), Vec3d::Zero(), q * in_plane(bend, Vec3d(0, -1, 0), Vec3d(0, 0, -1))},
                 {0.3});
  };
  const ControlRig rig = leg(10, 0), fitted = fit(rig, leg(-12, 30));
  EXPECT_NEAR(turn_angle(frame(rig.bones[0]), frame(fitted.bones[0])), 30 * kDegree, 1e-6);
}

TEST(BoneRolls, ALimbInPiecesObeysTheNextBentJoint) {
  // Thigh in two pieces; the mesh's leg is turned out by 30°.
  const auto leg = [](double about) {
    const Quatd q(Eigen::AngleAxisd(about * kDegree, Vec3d::UnitY()));
    return chain(
        {Vec3d(0, 2, 0), Vec3d(0, 1, 0), Vec3d(0, 0, 0), q * in_plane(20, Vec3d(0, -1, 0), Vec3d(0, 0, -1))},
        {0});
  };
  const ControlRig rig = leg(0), fitted = fit(rig, leg(30));
  for (std::size_t b = 0; b < 2; ++b)
    EXPECT_NEAR(turn_angle(frame(rig.bones[b]), frame(fitted.bones[b])), 30 * kDegree, 1e-6);
}

TEST(BoneRolls, NothingJumps) {
  // The mesh's knee goes through straight, and its plane all the way round. A leg alone is too thin to tell
  // that it is turned as a whole.
  const auto leg = [](double bend, double about) {
    const Quatd q(Eigen::AngleAxisd(about * kDegree, Vec3d::UnitY()));
    return chain({Vec3d(0, 1, 0), Vec3d::Zero(), q * in_plane(bend, Vec3d(0, -1, 0), Vec3d(0, 0, -1))},
                 {0.3});
  };
  const ControlRig rig = leg(20, 0);
  double greatest = 0, largest = 0;
  for (int path = 0; path < 2; ++path) {
    ControlRig before;
    for (int k = 0; k <= 1200; ++k) {
      const double s = k / 1200.0;
      const ControlRig now = fit(rig, path == 0 ? leg(10 - 20 * s, 35) : leg(15, 360 * s));
      for (std::size_t b = 0; k > 0 && b < 2; ++b)
        greatest = std::max(greatest, turn_angle(frame(before.bones[b]), frame(now.bones[b])));
      largest = std::max(largest, turn_angle(frame(rig.bones[0]), frame(now.bones[0])));
      before = now;
    }
  }
  EXPECT_LT(greatest, 8 * kDegree);  // steep where a plane stops to count, but no jump
  EXPECT_GT(largest, 30 * kDegree);  // it does follow the plane
}

TEST(BoneRolls, DegenerateBonesStayFinite) {
  ControlRig rig = chain({Vec3d(0, 0, 0), Vec3d(1, 0, 0), Vec3d(1, 0, 0), Vec3d(2, 0, 0)}, {0.2});
  ControlRig fitted = chain({Vec3d(0, 0, 0), Vec3d(0, 0, 0), Vec3d(0, 1, 0), Vec3d(-1, 1, 0)}, {0});
  fitted = fit(rig, fitted);
  for (const RigBone& b : fitted.bones) EXPECT_TRUE(std::isfinite(b.roll));
  // The opposite direction, for all.
  fitted = fit(rig, chain({Vec3d(0, 0, 0), Vec3d(-1, 0, 0), Vec3d(-2, 0, 0), Vec3d(-3, 0, 0)}, {0}));
  for (const RigBone& b : fitted.bones) EXPECT_TRUE(std::isfinite(b.roll));
  fitted = fit(ControlRig{}, ControlRig{});
  EXPECT_TRUE(fitted.bones.empty());
}

}  // namespace
}  // namespace sinew
