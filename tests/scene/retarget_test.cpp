#include <sinew/scene/retarget.h>

#include <numbers>
#include <random>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/scene/bvh.h>

namespace sinew {
namespace {

Quatf random_rotation(std::mt19937& random, float largest = 3) {
  std::uniform_real_distribution<float> number(-1, 1);
  const Vec3f axis = Vec3f(number(random), number(random), number(random) + 2).normalized();
  return Quatf(Eigen::AngleAxisf(largest * number(random), axis));
}

/// A simple body, 1.7 high when `size` is 1. With `turned`, every joint has a frame of its own.
Skeleton body(const std::vector<std::string>& names, float size, unsigned turned) {
  const std::vector<int> parents{-1, 0, 1, 2, 0, 4, 5, 0, 7, 8, 1, 10, 11};
  const std::vector<Vec3f> places{{0, 0.9f, 0},      {0, 1.2f, 0},      {0, 1.5f, 0},     {0, 1.7f, 0},
                                  {0.1f, 0.85f, 0},  {0.1f, 0.45f, 0},  {0.1f, 0.05f, 0}, {-0.1f, 0.85f, 0},
                                  {-0.1f, 0.45f, 0}, {-0.1f, 0.05f, 0}, {0.2f, 1.4f, 0},  {0.5f, 1.4f, 0},
                                  {0.75f, 1.4f, 0}};
  std::mt19937 random(turned);
  std::vector<Affine3d> world(places.size());
  Skeleton skeleton;
  for (std::size_t j = 0; j < places.size(); ++j) {
    world[j] = Eigen::Translation3d((places[j] * size).cast<double>()) *
               (turned > 0 ? random_rotation(random).cast<double>() : Quatd::Identity());
    Joint joint;
    joint.name = names[j];
    joint.parent = parents[j];
    joint.rest = decompose(parents[j] < 0 ? world[j] : world[to_size(parents[j])].inverse() * world[j]);
    skeleton.joints.push_back(joint);
  }
  return skeleton;
}

const std::vector<std::string> kMixamo{"mixamorig:Hips",      "mixamorig:Spine",      "mixamorig:Neck",
                                       "mixamorig:Head",      "mixamorig:LeftUpLeg",  "mixamorig:LeftLeg",
                                       "mixamorig:LeftFoot",  "mixamorig:RightUpLeg", "mixamorig:RightLeg",
                                       "mixamorig:RightFoot", "mixamorig:LeftArm",    "mixamorig:LeftForeArm",
                                       "mixamorig:LeftHand"};
const std::vector<std::string> kBlender{"hips",        "spine",     "neck",    "head",   "thigh.L",
                                        "shin.L",      "foot.L",    "thigh.R", "shin.R", "foot.R",
                                        "upper_arm.L", "forearm.L", "hand.L"};
const std::vector<std::string> kUnreal{"pelvis",     "spine",      "neck_01", "head",   "thigh_l",
                                       "calf_l",     "foot_l",     "thigh_r", "calf_r", "foot_r",
                                       "upperarm_l", "lowerarm_l", "hand_l"};
const std::vector<std::string> kBiovision{"Hip",      "Abdomen",   "Neck",     "Head",      "LeftHip",
                                          "LeftKnee", "LeftAnkle", "RightHip", "RightKnee", "RightAnkle",
                                          "LeftArm",  "LeftElbow", "LeftWrist"};

Clip random_clip(const Skeleton& skeleton, unsigned seed, bool everything) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> number(-1, 1);
  Clip clip;
  clip.name = "dance";
  for (std::size_t j = 0; j < skeleton.size(); ++j) {
    const auto channel = [&](ChannelPath path, int width) -> Channel& {
      Channel made;
      made.target = static_cast<int>(j);
      made.path = path;
      made.width = width;
      made.times = {0, 0.25f, 0.5f, 0.75f};
      clip.channels.push_back(made);
      return clip.channels.back();
    };
    Channel& rotation = channel(ChannelPath::rotation, 4);
    for (int k = 0; k < 4; ++k) {
      const Quatf key = (skeleton.joints[j].rest.rotation * random_rotation(random, 1)).normalized();
      rotation.values.insert(rotation.values.end(), key.coeffs().data(), key.coeffs().data() + 4);
    }
    if (j == 0 || everything) {
      Channel& translation = channel(ChannelPath::translation, 3);
      for (int k = 0; k < 4; ++k)
        for (int c = 0; c < 3; ++c)
          translation.values.push_back(skeleton.joints[j].rest.translation[c] + 0.3f * number(random));
    }
    if (everything) {
      Channel& scale = channel(ChannelPath::scale, 3);
      for (int k = 0; k < 12; ++k) scale.values.push_back(1 + 0.4f * number(random));
    }
  }
  return clip;
}

std::vector<Affine3d> world_at(const Skeleton& skeleton, const Clip& clip, double time) {
  Pose pose = rest_pose(skeleton);
  sample_clip(clip, time, pose);
  std::vector<Affine3d> world(skeleton.size());
  forward_kinematics(skeleton, pose.joints, world);
  return world;
}

TEST(Retarget, ToItselfGivesTheSameWorldTransforms) {
  for (const bool everything : {false, true}) {
    const Skeleton skeleton = body(kMixamo, 1, 5);
    const Clip clip = random_clip(skeleton, 11, everything);
    RetargetReport report;
    const Clip result = retarget_clip(skeleton, clip, skeleton, &report);
    check_clip(result, skeleton.size(), 0, "test");
    EXPECT_EQ(report.partners.size(), skeleton.size());
    EXPECT_NEAR(report.scale, 1, 1e-9);
    for (const double time : {0.0, 0.25, 0.5, 0.75}) {
      const auto was = world_at(skeleton, clip, time), is = world_at(skeleton, result, time);
      for (std::size_t j = 0; j < skeleton.size(); ++j)
        EXPECT_LT((was[j].matrix() - is[j].matrix()).cwiseAbs().maxCoeff(),
                  1e-4 * was[j].matrix().cwiseAbs().maxCoeff())
            << skeleton.joints[j].name << " at " << time;
    }
  }
}

TEST(Retarget, BonesPointTheSameWayWhateverTheFrames) {
  // Both bodies stand alike, but one has other names, another size and other joint frames.
  const Skeleton from = body(kMixamo, 1, 5), to = body(kBlender, 1.5f, 9);
  const Clip clip = random_clip(from, 3, false);
  RetargetReport report;
  const Clip result = retarget_clip(from, clip, to, &report);
  EXPECT_TRUE(report.targets_without_partner.empty());
  EXPECT_NEAR(report.scale, 1.5, 1e-5);
  for (const double time : {0.0, 0.25, 0.75}) {
    const auto was = world_at(from, clip, time), is = world_at(to, result, time);
    for (std::size_t j = 0; j < from.size(); ++j)
      EXPECT_LT((1.5 * was[j].translation() - is[j].translation()).norm(), 1e-4) << to.joints[j].name;
  }
}

TEST(Retarget, SpellingsOfTheSameBody) {
  for (const auto& names : {kMixamo, kBlender, kUnreal, kBiovision})
    for (const auto& others : {kMixamo, kBlender, kUnreal, kBiovision}) {
      const std::vector<int> partner = match_joints(body(names, 1, 0), body(others, 1, 0));
      for (std::size_t j = 0; j < partner.size(); ++j)
        EXPECT_EQ(partner[j], static_cast<int>(j))
            << others[j] << " took " << (partner[j] < 0 ? "nothing" : names[to_size(partner[j])]);
    }
}

int partner_of(const std::string& target, const std::vector<std::string>& sources) {
  Skeleton from, to;
  for (const std::string& name : sources) from.joints.push_back({name, -1, {}, false});
  to.joints.push_back({target, -1, {}, false});
  return match_joints(from, to)[0];
}

TEST(Retarget, NamesOneByOne) {
  EXPECT_EQ(partner_of("Hand.L", {"hand.R", "Hand.L"}), 1);
  EXPECT_EQ(partner_of("LeftHand", {"R_Hand", "L_Hand"}), 1);
  EXPECT_EQ(partner_of("DEF-hand.R", {"hand.L", "rig:RightHand"}), 1);
  EXPECT_EQ(partner_of("Armature|spine.001", {"Spine", "Spine1"}), 1);
  EXPECT_EQ(partner_of("lForeArm", {"RightForeArm", "LeftForeArm"}), 1);
  EXPECT_EQ(partner_of("mixamorig:LeftHandThumb1", {"thumb_02_l", "thumb_01_l"}), 1);
  EXPECT_EQ(partner_of("f_index.02.L", {"LeftHandIndex1", "LeftHandIndex2"}), 1);
  EXPECT_EQ(partner_of("pelvis", {"Hips"}), 0);
  EXPECT_EQ(partner_of("pelvis", {"root"}), 0);
  EXPECT_EQ(partner_of("pelvis", {"root", "hip"}), 1);
  EXPECT_EQ(partner_of("clavicle_l", {"LeftShoulder", "LeftArm"}), 0);
  EXPECT_EQ(partner_of("upperarm_l", {"LeftCollar", "LeftShoulder"}), 1);
  EXPECT_EQ(partner_of("head", {"Neck", "HeadTop_End"}), -1);
  EXPECT_EQ(partner_of("l", {"r"}), -1);
  EXPECT_EQ(partner_of("", {""}), -1);
  EXPECT_EQ(partner_of("leftover", {"rightover"}), -1);
}

TEST(Retarget, JointsWithoutPartnerKeepTheirRestAndAreNamed) {
  const Skeleton from = body(kMixamo, 1, 5);
  std::vector<std::string> names = kBlender;
  names[1] = "belly";
  const Skeleton to = body(names, 1, 9);
  RetargetReport report;
  const Clip result = retarget_clip(from, random_clip(from, 3, false), to, &report);
  EXPECT_EQ(report.targets_without_partner, std::vector<std::string>{"belly"});
  EXPECT_EQ(report.sources_without_partner, std::vector<std::string>{"mixamorig:Spine"});
  for (const Channel& channel : result.channels) EXPECT_NE(channel.target, 1);
  // What hangs below still turns in the world as its partner does.
  const auto was_rest = world_at(from, {}, 0), was = world_at(from, random_clip(from, 3, false), 0.25);
  const auto is_rest = world_at(to, {}, 0), is = world_at(to, result, 0.25);
  const Mat3d turned = was[3].linear() * was_rest[3].linear().transpose();
  EXPECT_LT((turned - is[3].linear() * is_rest[3].linear().transpose()).norm(), 1e-4);
}

TEST(Retarget, NothingInCommonIsAnError) {
  Skeleton from, to;
  from.joints.push_back({"Wheel", -1, {}, false});
  to.joints.push_back({"Hips", -1, {}, false});
  try {
    retarget_clip(from, Clip{"spin", {}}, to);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("clip 'spin': none of its 1 joints ('Wheel', …)"), 0u)
        << error.what();
  }
}

TEST(Retarget, BvhRootAtTheOriginStandsOnTheGround) {
  // The rest pose has its hips at the origin; frames put them at 90 cm. A body in metres must stand, not
  // float.
  std::string text = R"(HIERARCHY
ROOT Hips { OFFSET 0 0 0 CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT LeftUpLeg { OFFSET 10 -5 0 CHANNELS 3 Zrotation Xrotation Yrotation
    JOINT LeftLeg { OFFSET 0 -40 0 CHANNELS 3 Zrotation Xrotation Yrotation
      JOINT LeftFoot { OFFSET 0 -40 0 CHANNELS 3 Zrotation Xrotation Yrotation
        End Site { OFFSET 0 -5 0 } } } } }
MOTION
Frames: 2
Frame Time: 0.1
0 90 0  0 0 0  0 0 0  0 0 0  0 0 0
20 90 0  0 90 0  0 0 0  0 0 0  0 0 0
)";
  const Scene bvh = parse_bvh(text, "walk.bvh");
  const Skeleton to = body(kMixamo, 1, 0);
  RetargetReport report;
  const Clip result = retarget_clip(bvh.skeleton, bvh.clips[0], to, &report);
  EXPECT_NEAR(report.scale, 0.01, 1e-6);
  EXPECT_LT((world_at(to, result, 0)[0].translation() - Vec3d(0, 0.9, 0)).norm(), 1e-5);
  const auto second = world_at(to, result, 0.1);
  EXPECT_LT((second[0].translation() - Vec3d(0.2, 0.9, 0)).norm(), 1e-5);
  // A quarter turn about x takes the leg, which hangs down, to the back.
  EXPECT_LT((second[6].translation() - second[0].translation() - Vec3d(0.1, 0, -0.85)).norm(), 1e-5);
}

}  // namespace
}  // namespace sinew
