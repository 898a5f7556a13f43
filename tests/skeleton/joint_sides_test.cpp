#include <sinew/skeleton/joint_sides.h>

#include <random>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/scene/scene.h>
#include "tests/support/assets.h"

namespace sinew {
namespace {

Skeleton named(const std::vector<std::string>& names) {
  Skeleton skeleton;
  for (const std::string& name : names) skeleton.joints.push_back({name, -1, {}, true});
  return skeleton;
}

std::vector<Affine3d> placed(const std::vector<Vec3d>& positions) {
  std::vector<Affine3d> world;
  for (const Vec3d& p : positions) {
    Affine3d matrix = Affine3d::Identity();
    matrix.translation() = p;
    world.push_back(matrix);
  }
  return world;
}

TEST(JointSides, EverySpellingAndItsOtherSide) {
  const std::pair<const char*, const char*> pairs[] = {
      {"hand.L", "hand.R"},
      {"hand.l", "hand.r"},
      {"hand_L", "hand_R"},
      {"hand_l", "hand_r"},
      {"hand-L", "hand-R"},
      {"hand L", "hand R"},
      {"L_hand", "R_hand"},
      {"l_hand", "r_hand"},
      {"L.hand", "R.hand"},
      {"hand.L.001", "hand.R.001"},
      {"lip.T.L.002", "lip.T.R.002"},
      {"DEF-thigh.L.001", "DEF-thigh.R.001"},
      {"ORG-f_index.01.L", "ORG-f_index.01.R"},
      {"MCH-thumb.L", "MCH-thumb.R"},
      {"LeftHand", "RightHand"},
      {"hand_left", "hand_right"},
      {"left_hip", "right_hip"},
      {"LEFT_ARM", "RIGHT_ARM"},
      {"mixamorig:LeftArm", "mixamorig:RightArm"},
      {"mixamorigLeftArm", "mixamorigRightArm"},
      {"mixamorig:LeftHandThumb1", "mixamorig:RightHandThumb1"},
      {"HandLeft", "HandRight"},
      {"UpLeftArm", "UpRightArm"},
      {"IKLeftFoot", "IKRightFoot"},
      {"b_LeftLeg01_015", "b_RightLeg01_015"},
      {"Finger2Left", "Finger2Right"},
      {"Left", "Right"},
      {"leg_joint_L_1", "leg_joint_R_1"},
      {"Bip01 L Hand", "Bip01 R Hand"},
      {"J_Bip_L_UpperArm", "J_Bip_R_UpperArm"},
      {"lThigh", "rThigh"},
      {"LArm", "RArm"},
      {"rig_LArm", "rig_RArm"},
      {"footL", "footR"},
      {"footL_end", "footR_end"},
      {"index_03_l", "index_03_r"},
      {"Armature|hand.L", "Armature|hand.R"},
      {"rig.R:hand.L", "rig.R:hand.R"},
      {"L_R_hand", "L_L_hand"},
      {"LeftHand.R", "RightHand.R"},
      {"\xc3\xa9paule_l", "\xc3\xa9paule_r"},
  };
  for (const auto& [first, second] : pairs) {
    EXPECT_EQ(other_side(first), second);
    EXPECT_EQ(other_side(second), first);
    EXPECT_NE(parse_side(first).side, parse_side(second).side);
    EXPECT_NE(parse_side(first).side, Side::none) << first;
    EXPECT_NE(parse_side(second).side, Side::none) << second;
  }
  EXPECT_EQ(parse_side("hand.L").side, Side::left);
  EXPECT_EQ(parse_side("RightHand").side, Side::right);
  EXPECT_EQ(parse_side("rig.R:hand.L").side, Side::left);
  EXPECT_EQ(parse_side("LeftHand.R").side, Side::left) << "words come before letters";
}

TEST(JointSides, NamesWithoutSide) {
  for (const char* name : {"",
                           "L",
                           "R",
                           "r",
                           "L_1",
                           "Leftover",
                           "leftover_bone",
                           "collar",
                           "tail_r1",
                           "tail_L1",
                           "spine.001",
                           "upright",
                           "UPRIGHT",
                           "Root",
                           "root",
                           "lowerarm",
                           "Larm",
                           "ring_01",
                           "rig",
                           "RPM",
                           "LOD0",
                           "ball",
                           "rig.R:spine",
                           "Left:spine",
                           "left|spine",
                           "XL",
                           "_",
                           "...",
                           "\xe5\xb7\xa6",
                           "l\xc3\xa9",
                           "wall"}) {
    EXPECT_EQ(parse_side(name).side, Side::none) << name;
    EXPECT_EQ(other_side(name), name);
  }
}

TEST(JointSides, AnyBytesAreNames) {
  std::mt19937 random(3);
  const std::string alphabet = "lLrRaA01_.: -|\xc3\xff";
  int sided = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string name;
    for (std::size_t k = random() % 9; k > 0; --k) {
      const auto pick = random() % (alphabet.size() + 2);
      name += pick < alphabet.size()    ? std::string(1, alphabet[pick])
              : pick == alphabet.size() ? "Left"
                                        : "right";
    }
    const NamedSide found = parse_side(name);
    const NamedSide back = parse_side(other_side(name));
    EXPECT_EQ(found.begin, back.begin) << name;
    EXPECT_EQ(found.side == Side::none, back.side == Side::none) << name;
    if (found.side == Side::none) continue;
    ++sided;
    EXPECT_NE(found.side, back.side) << name;
    EXPECT_EQ(other_side(other_side(name)), name);
  }
  EXPECT_GT(sided, 4'000);
  EXPECT_LT(sided, 16'000);
}

TEST(MirrorJoints, ByName) {
  const Skeleton skeleton = named({"hips", "hand.L", "foot_r", "hand.R", "foot_l", "ear.L", "Leftover"});
  EXPECT_EQ(mirror_joints(skeleton), (std::vector<int>{0, 3, 4, 1, 2, -1, 6}));
  EXPECT_TRUE(mirror_joints({}).empty());
}

TEST(MirrorJoints, NumbersOfExportersAreNoPartOfTheName) {
  EXPECT_EQ(mirror_joints(named({"b_LeftArm_09", "b_RightArm_06", "b_LeftForeArm_010", "b_RightForeArm_07"})),
            (std::vector<int>{1, 0, 3, 2}));
  EXPECT_EQ(mirror_joints(named({"leg_L_1", "leg_L_2", "leg_R_1", "leg_R_3"})),
            (std::vector<int>{2, -1, 0, -1}));
  // Chains that are nothing but their numbers.
  EXPECT_EQ(mirror_joints(named({"leg_L_1", "leg_L_2", "leg_R_3", "leg_R_4"})),
            (std::vector<int>{-1, -1, -1, -1}));
}

TEST(MirrorJoints, DuplicatesPairInOrder) {
  EXPECT_EQ(mirror_joints(named({"hand.L", "hand.L", "hand.R", "hand.L", "hand.R"})),
            (std::vector<int>{2, 4, 0, -1, 1}));
}

TEST(MirrorPlane, MirrorsPointsAndDirections) {
  const MirrorPlane plane{Vec3d(0, 2, 0), Vec3d(0, 0.6, 0.8)};
  const Vec3d x(1, 5, -3), image = plane.mirrored(x);
  EXPECT_NEAR(plane.height(x), -plane.height(image), 1e-15);
  EXPECT_LT((x - image).cross(plane.normal).norm(), 1e-14);
  EXPECT_LT((plane.mirrored(image) - x).norm(), 1e-14);
  EXPECT_LT((plane.mirrored_direction(plane.normal) + plane.normal).norm(), 1e-15);
}

TEST(MirrorPlane, FoundInAnyPlaceAtAnySize) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> number(-1, 1);
  const Skeleton skeleton = named({"hips", "hand.L", "hand.R", "neck", "foot.L", "foot.R", "ear.L"});
  const std::vector<int> partner = mirror_joints(skeleton);
  for (int round = 0; round < 200; ++round) {
    const double size = std::pow(10.0, 4 * number(random));
    MirrorPlane truth{Vec3d(number(random), number(random), number(random)) * 3 * size,
                      Vec3d(number(random), number(random), number(random)).normalized()};
    const Vec3d along = truth.normal.unitOrthogonal(), up = truth.normal.cross(along);
    const auto place = [&](double n, double a, double u) {
      return Vec3d(truth.point + size * (n * truth.normal + a * along + u * up));
    };
    // Joints differ most along the plane, not across it.
    const std::vector<Vec3d> positions{place(0, 0, 0),      place(0.7, 0.1, 0.5), place(-0.7, 0.1, 0.5),
                                       place(0, 0.1, 1),    place(0.2, 0.3, -4),  place(-0.2, 0.3, -4),
                                       place(0.1, 0.1, 1.2)};
    MirrorFit fit;
    const auto plane = find_mirror_plane(skeleton, placed(positions), partner, &fit);
    ASSERT_TRUE(plane.has_value());
    EXPECT_GT(plane->normal.dot(truth.normal), 1 - 1e-9) << "towards the left";
    EXPECT_NEAR(plane->height(positions[0]), 0, 1e-6 * size);
    EXPECT_LT(fit.pair_residual, 1e-9 * size);
    EXPECT_EQ(fit.pairs, 2u);
    EXPECT_EQ(fit.axial_joints, 2u);
  }
}

TEST(MirrorPlane, NoOtherFitsBetter) {
  std::mt19937 random(9);
  std::uniform_real_distribution<double> number(-1, 1);
  const auto vector = [&] { return Vec3d(number(random), number(random), number(random)); };
  const Skeleton skeleton = named({"a.L", "a.R", "b.L", "b.R", "c.L", "c.R"});
  const std::vector<int> partner = mirror_joints(skeleton);
  int found = 0;
  for (int round = 0; round < 50; ++round) {
    std::vector<Vec3d> positions;
    for (int pair = 0; pair < 3; ++pair) {
      const Vec3d place = vector();
      positions.push_back(Vec3d(5 + std::abs(place.x()), 3 * place.y(), place.z()) + 0.1 * vector());
      positions.push_back(Vec3d(5 - std::abs(place.x()), 3 * place.y(), place.z()) + 0.1 * vector());
    }
    MirrorFit fit;
    const auto plane = find_mirror_plane(skeleton, placed(positions), partner, &fit);
    if (!plane) continue;
    ++found;
    for (int other = 0; other < 50; ++other) {
      const MirrorPlane near{plane->point + 0.03 * vector(), (plane->normal + 0.03 * vector()).normalized()};
      double squares = 0;
      for (std::size_t j = 0; j < 6; j += 2)
        squares += (near.mirrored(positions[j]) - positions[j + 1]).squaredNorm();
      EXPECT_GE(std::sqrt(squares / 3), fit.pair_residual);
    }
  }
  EXPECT_GT(found, 20);
}

TEST(MirrorPlane, SnapsToTheOneMeshesAreModelledAbout) {
  const Skeleton skeleton = named({"hips", "hand.L", "hand.R", "foot.L", "foot.R"});
  const std::vector<int> partner = mirror_joints(skeleton);
  std::vector<Vec3d> positions{
      {0, 1, 0}, {0.6, 1.401, 0}, {-0.6, 1.4, 0.001}, {0.1, 0, 0.002}, {-0.101, 0, 0}};
  auto plane = find_mirror_plane(skeleton, placed(positions), partner);
  ASSERT_TRUE(plane.has_value());
  EXPECT_EQ(plane->normal, Vec3d(1, 0, 0));
  EXPECT_EQ(plane->point.x(), 0);
  for (Vec3d& p : positions) p.x() += 0.02;
  plane = find_mirror_plane(skeleton, placed(positions), partner);
  ASSERT_TRUE(plane.has_value());
  EXPECT_NEAR(plane->height({0.02, 0, 0}), 0, 0.003);
}

TEST(MirrorPlane, NoneWithoutSymmetry) {
  const Skeleton skeleton = named({"hips", "hand.L", "hand.R", "foot.L", "foot.R"});
  const std::vector<int> partner = mirror_joints(skeleton);
  const std::vector<Vec3d> standing{{0, 1, 0}, {0.6, 1.4, 0}, {-0.6, 1.4, 0}, {0.1, 0, 0}, {-0.1, 0, 0}};
  ASSERT_TRUE(find_mirror_plane(skeleton, placed(standing), partner).has_value());

  std::vector<Vec3d> waving = standing;
  waving[1] = {0.3, 1.9, 0.2};
  MirrorFit fit;
  EXPECT_FALSE(find_mirror_plane(skeleton, placed(waving), partner, &fit).has_value());
  EXPECT_GT(fit.pair_residual, kMirrorTolerance * fit.size);

  // The pairs mirror, but the axis of the body is elsewhere.
  std::vector<Vec3d> beside = standing;
  beside[0] = {0.5, 1, 0};
  EXPECT_FALSE(find_mirror_plane(skeleton, placed(beside), partner, &fit).has_value());
  EXPECT_NEAR(fit.axial_residual, 0.5, 1e-9);

  const std::vector<Vec3d> point(5, Vec3d(1, 2, 3));
  EXPECT_FALSE(find_mirror_plane(skeleton, placed(point), partner).has_value());
  std::vector<Vec3d> together = standing;
  together[1] = together[2] = {0, 1.4, 0};
  together[3] = together[4] = {0, 0, 0};
  EXPECT_FALSE(find_mirror_plane(skeleton, placed(together), partner).has_value());

  const Skeleton lonely = named({"hips", "hand.L", "ear.R"});
  EXPECT_FALSE(
      find_mirror_plane(lonely, placed({{0, 0, 0}, {1, 0, 0}, {-1, 0, 0}}), mirror_joints(lonely), &fit));
  EXPECT_EQ(fit.pairs, 0u);
  EXPECT_FALSE(find_mirror_plane({}, {}, {}).has_value());

  std::vector<Vec3d> broken = standing;
  broken[3].y() = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(find_mirror_plane(skeleton, placed(broken), partner), Error);
}

TEST(MirrorPlane, OfRealCharacters) {
  for (const auto& [file, pairs] :
       {std::pair("human.glb", 23u), std::pair("fox.glb", 7u), std::pair("rigged_figure.glb", 7u)}) {
    const auto path = test::asset(file);
    if (!path) GTEST_SKIP() << test::missing_asset(file);
    const Scene scene = read_scene(*path);
    std::vector<Affine3d> world(scene.skeleton.size());
    forward_kinematics(scene.skeleton, rest_pose(scene.skeleton).joints, world);
    MirrorFit fit;
    const auto plane = find_mirror_plane(scene.skeleton, world, mirror_joints(scene.skeleton), &fit);
    EXPECT_EQ(fit.pairs, pairs) << file;
    EXPECT_TRUE(plane.has_value()) << file << ": " << fit.pair_residual << ' ' << fit.axial_residual << " of "
                                   << fit.size;
    if (plane) {
      EXPECT_EQ(plane->normal, Vec3d(1, 0, 0)) << file;
    }
  }
}

}  // namespace
}  // namespace sinew
