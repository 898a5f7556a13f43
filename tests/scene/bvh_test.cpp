#include <sinew/scene/bvh.h>

#include <numbers>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <tests/support/temporary_directory.h>

namespace sinew {
namespace {

const std::string kHierarchy = R"(HIERARCHY
ROOT Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Left Leg {
    OFFSET 10 -5 0
    CHANNELS 2 Yrotation Xrotation
    End Site
    {
      OFFSET 0 -40 0
    }
  }
}
)";
const std::string kMotion = R"(MOTION
Frames: 3
Frame Time: 0.5
1 90 3   0 0 0     0 0
2 91 3   90 30 10  20 40
3 92 3   0 0 350   0 0
)";

std::string error_of(const std::string& text) {
  try {
    parse_bvh(text, "walk.bvh");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

Mat3d turn(int axis, double degrees) {
  return Eigen::AngleAxisd(degrees * std::numbers::pi / 180, Vec3d::Unit(axis)).toRotationMatrix();
}

TEST(Bvh, SkeletonHasTheOffsets) {
  const Scene scene = parse_bvh(kHierarchy + kMotion, "clips/walk.bvh");
  ASSERT_EQ(scene.skeleton.size(), 3u);
  EXPECT_EQ(scene.skeleton.joints[0].name, "Hips");
  EXPECT_EQ(scene.skeleton.joints[0].parent, -1);
  EXPECT_EQ(scene.skeleton.joints[1].name, "Left Leg");
  EXPECT_EQ(scene.skeleton.joints[1].parent, 0);
  EXPECT_EQ(scene.skeleton.joints[1].rest.translation, Vec3f(10, -5, 0));
  EXPECT_EQ(scene.skeleton.joints[2].name, "Left Leg_end");
  EXPECT_EQ(scene.skeleton.joints[2].parent, 1);
  EXPECT_EQ(scene.skeleton.joints[2].rest.translation, Vec3f(0, -40, 0));
  EXPECT_TRUE(scene.meshes.empty());
}

TEST(Bvh, MotionFollowsTheDeclaredOrder) {
  const Scene scene = parse_bvh(kHierarchy + kMotion, "clips/walk.bvh");
  ASSERT_EQ(scene.clips.size(), 1u);
  EXPECT_EQ(scene.clips[0].name, "walk");
  EXPECT_DOUBLE_EQ(scene.clips[0].duration(), 1.0);
  Pose pose = rest_pose(scene.skeleton);
  sample_clip(scene.clips[0], 0.5, pose);
  EXPECT_EQ(pose.joints[0].translation, Vec3f(2, 91, 3));
  // Known answers: the product of elementary rotations, left to right as declared.
  const Mat3d hips = turn(2, 90) * turn(0, 30) * turn(1, 10);
  EXPECT_LT((pose.joints[0].rotation.cast<double>().toRotationMatrix() - hips).norm(), 1e-6);
  const Mat3d leg = turn(1, 20) * turn(0, 40);
  EXPECT_LT((pose.joints[1].rotation.cast<double>().toRotationMatrix() - leg).norm(), 1e-6);
  EXPECT_EQ(pose.joints[1].translation, Vec3f(10, -5, 0));  // no position channels: the offset
}

TEST(Bvh, QuaternionsAreContinuous) {
  std::string motion = "MOTION\nFrames: 40\nFrame Time: 0.1\n";
  for (int k = 0; k < 40; ++k) motion += "0 0 0 " + std::to_string(25 * k % 360) + " 0 0 0 0\n";
  const Scene scene = parse_bvh(kHierarchy + motion, "walk.bvh");
  for (const Channel& channel : scene.clips[0].channels) {
    if (channel.path != ChannelPath::rotation) continue;
    for (std::size_t k = 1; k < channel.times.size(); ++k) {
      const Eigen::Map<const Vec4f> a(&channel.values[4 * (k - 1)]), b(&channel.values[4 * k]);
      EXPECT_GT(a.dot(b), 0.0f);
    }
  }
}

TEST(Bvh, PartOfThePositionAndOtherSpellings) {
  const std::string text =
      "hierarchy\r\nroot a {\r\noffset 1 2 3\r\nchannels 1 yPosition\r\n}\r\nROOT b { OFFSET 0 0 0 CHANNELS "
      "0 }\r\n"
      "MOTION\r\nFrames : 1\r\nFrame Time : 0.04\r\n7";
  const Scene scene = parse_bvh(text, "walk.bvh");
  ASSERT_EQ(scene.skeleton.size(), 2u);
  EXPECT_EQ(scene.skeleton.joints[1].parent, -1);
  Pose pose = rest_pose(scene.skeleton);
  sample_clip(scene.clips[0], 0, pose);
  EXPECT_EQ(pose.joints[0].translation, Vec3f(1, 7, 3));
}

TEST(Bvh, WithoutFramesThereIsNoClip) {
  const Scene scene = parse_bvh(kHierarchy + "MOTION\nFrames: 0\nFrame Time: 0\n", "walk.bvh");
  EXPECT_TRUE(scene.clips.empty());
  EXPECT_EQ(scene.warnings, std::vector<std::string>{"walk.bvh: holds no motion"});
}

TEST(Bvh, ReadsThroughReadScene) {
  test::TemporaryDirectory directory;
  write_file(directory / "run.bvh", kHierarchy + kMotion);
  EXPECT_EQ(read_scene(directory / "run.bvh").clips.at(0).name, "run");
}

std::string nested(int depth) {
  std::string text = "HIERARCHY\nROOT j0 { OFFSET 0 0 0 CHANNELS 0\n";
  for (int d = 1; d < depth; ++d) text += "JOINT j" + std::to_string(d) + " { OFFSET 0 1 0 CHANNELS 0\n";
  for (int d = 0; d < depth; ++d) text += "} ";
  return text;
}

TEST(Bvh, BrokenFilesAreNamed) {
  const auto replaced = [](std::string text, const std::string& from, const std::string& to) {
    const std::size_t place = text.find(from);
    EXPECT_NE(place, std::string::npos) << from;
    return text.replace(place, from.size(), to);
  };
  const std::string good = kHierarchy + kMotion;
  const std::pair<std::string, std::string> cases[] = {
      {"", "walk.bvh: line 1: a BVH file starts with HIERARCHY"},
      {"v 0 0 0\n", "a BVH file starts with HIERARCHY"},
      {"HIERARCHY\n", "the file ends where MOTION should stand"},
      {"HIERARCHY\nMOTION\n", "line 2: the hierarchy has no joints"},
      {kHierarchy, "the file ends where MOTION should stand"},
      {replaced(good, "ROOT", "JOINT"), "line 2: 'JOINT' stands where ROOT or MOTION should"},
      {replaced(good, "ROOT Hips", "ROOT"), "line 2: a joint has no name"},
      {replaced(good, "Left Leg", "Hips"), "line 6: joint 'Hips' stands on line 2 already"},
      {replaced(good, "OFFSET 10 -5 0", "OFFSET 10 -5"),
       "line 8: an offset is 'CHANNELS', which is not a number"},
      {replaced(good, "OFFSET 10 -5 0", "OFFSET 10 nan 0"),
       "line 7: an offset is 'nan', which is not finite"},
      {replaced(good, "CHANNELS 6", "CHANNELS 7"), "line 5: the number of channels is '7'"},
      {replaced(good, "CHANNELS 6", "CHANNELS -1"), "line 5: the number of channels is '-1'"},
      {replaced(good, "CHANNELS 6", "CHANNELS 5"),
       "line 5: 'Yrotation' stands where JOINT, End Site or '}' should"},
      {replaced(good, "Zposition", "Wposition"), "channel 'Wposition' is not one of"},
      {replaced(good, "Zposition", "Xposition"), "line 5: channel 'Xposition' stands twice in joint 'Hips'"},
      {replaced(good, "End Site", "End Sight"), "'Sight' stands where Site should"},
      {replaced(good, "Frames: 3", "Frames: 4"), "the file ends in frame 4 of 4"},
      {replaced(good, "Frames: 3", "Frames: 2"), "line 20: more numbers than 2 frames of 8 channels"},
      {replaced(good, "Frames: 3", "Frames: 999999999"),
       "999999999 frames of 8 channels are announced, but only"},
      {replaced(good, "Frames: 3", "Frames: -3"), "line 16: the number of frames is '-3'"},
      {replaced(good, "Frames: 3", "Frames: 1e3"), "line 16: the number of frames is '1e3'"},
      {replaced(good, "Frame Time: 0.5", "Frame Time: 0"),
       "line 17: the frame time is 0; it must be above 0"},
      {replaced(good, "Frame Time: 0.5", "Frame Time: -1"), "the frame time is -1"},
      {replaced(good, "Frame Time: 0.5", "Frame Time: inf"), "line 17: the frame time is 'inf'"},
      {replaced(good, "Frame Time: 0.5", "Frame Time: 2e38"), "cannot be told apart in time"},
      {replaced(good, "Frame Time: 0.5", ""), "stands where Frame should"},
      {replaced(good, "91", "nan"), "line 19: a channel is 'nan', which is not finite"},
      {replaced(good, "91", "9l"), "line 19: a channel is '9l', which is not a number"},
      {replaced(good, "}\nMOTION", "}\n}\nMOTION"), "line 15: '}' without '{'"},
      {nested(300), "joints nest more than 256 deep"},
  };
  for (const auto& [text, message] : cases)
    EXPECT_NE(error_of(text).find(message), std::string::npos) << message << "\n" << error_of(text);
  EXPECT_EQ(error_of(good), "no error");
  EXPECT_EQ(error_of(nested(256) + "MOTION\nFrames: 0\nFrame Time: 1"), "no error");
}

}  // namespace
}  // namespace sinew
