#include <sinew/skeleton/clip.h>

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <sinew/core/error.h>

namespace sinew {
namespace {

Pose two_joints() {
  Pose pose;
  pose.joints.resize(2);
  pose.morph_weights = {0, 0, 0};
  return pose;
}

Channel translation(Interpolation interpolation, std::vector<float> times, std::vector<float> values) {
  return {1, ChannelPath::translation, interpolation, 3, std::move(times), std::move(values)};
}

TEST(Clip, StepHoldsUntilTheNextKey) {
  const Clip clip{"c", {translation(Interpolation::step, {0, 1}, {1, 2, 3, 4, 5, 6})}};
  Pose pose = two_joints();
  sample_clip(clip, 0.999, pose);
  EXPECT_EQ(pose.joints[1].translation, Vec3f(1, 2, 3));
  sample_clip(clip, 1, pose);
  EXPECT_EQ(pose.joints[1].translation, Vec3f(4, 5, 6));
}

TEST(Clip, StepShowsKeyKAtFrameK) {
  for (const double rate : {24.0, 25.0, 30.0, 60.0}) {
    Channel channel = translation(Interpolation::step, {}, {});
    for (int k = 0; k < 500; ++k) {
      channel.times.push_back(static_cast<float>(k / rate));
      for (int c = 0; c < 3; ++c) channel.values.push_back(static_cast<float>(k));
    }
    Pose pose = two_joints();
    for (int k = 0; k < 500; ++k) {
      sample_clip({"c", {channel}}, k / rate, pose);
      ASSERT_EQ(pose.joints[1].translation.x(), static_cast<float>(k)) << rate;
    }
  }
}

TEST(Clip, LinearInterpolatesAndClamps) {
  const Clip clip{"c", {translation(Interpolation::linear, {1, 3}, {0, 0, 0, 2, 4, 6})}};
  Pose pose = two_joints();
  sample_clip(clip, 1.5, pose);
  EXPECT_LT((pose.joints[1].translation - Vec3f(0.5f, 1, 1.5f)).norm(), 1e-6f);
  sample_clip(clip, -7, pose);
  EXPECT_EQ(pose.joints[1].translation, Vec3f(0, 0, 0));
  sample_clip(clip, 99, pose);
  EXPECT_EQ(pose.joints[1].translation, Vec3f(2, 4, 6));
  sample_clip(clip, std::numeric_limits<double>::quiet_NaN(), pose);
  EXPECT_EQ(pose.joints[1].translation, Vec3f(0, 0, 0));
}

TEST(Clip, RotationsTakeTheShortWayAtConstantSpeed) {
  Channel channel{0, ChannelPath::rotation, Interpolation::linear, 4, {0, 1}, {}};
  const Quatf end(Eigen::AngleAxisf(1.2f, Vec3f::UnitX()));
  channel.values = {0, 0, 0, 1, -end.x(), -end.y(), -end.z(), -end.w()};  // the same rotation, other sign
  Pose pose = two_joints();
  sample_clip({"c", {channel}}, 0.25, pose);
  EXPECT_NEAR(pose.joints[0].rotation.angularDistance(Quatf(Eigen::AngleAxisf(0.3f, Vec3f::UnitX()))), 0,
              1e-5);
}

TEST(Clip, CubicSplineReproducesACubic) {
  // x(t) = t³ with its own tangents, keys at 0, 1 and 3.
  const auto x = [](double t) { return t * t * t; };
  const auto slope = [](double t) { return 3 * t * t; };
  Channel channel = translation(Interpolation::cubic_spline, {0, 1, 3}, {});
  for (double t : {0.0, 1.0, 3.0})
    for (double value : {slope(t), x(t), slope(t)})
      for (int c = 0; c < 3; ++c) channel.values.push_back(static_cast<float>(value));
  Pose pose = two_joints();
  for (double t = 0; t <= 3; t += 0.1) {
    sample_clip({"c", {channel}}, t, pose);
    EXPECT_NEAR(pose.joints[1].translation.x(), x(t), 1e-4) << t;
  }
}

TEST(Clip, CubicRotationsAreNormalised) {
  Channel channel{0, ChannelPath::rotation, Interpolation::cubic_spline, 4, {0, 1}, {}};
  channel.values = {0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0};
  Pose pose = two_joints();
  sample_clip({"c", {channel}}, 0.5, pose);
  EXPECT_NEAR(pose.joints[0].rotation.norm(), 1, 1e-6);
  EXPECT_NEAR(
      pose.joints[0].rotation.angularDistance(Quatf(Eigen::AngleAxisf(float(M_PI / 2), Vec3f::UnitX()))), 0,
      1e-5);
}

TEST(Clip, MorphWeightsAreWrittenFromTheirFirst) {
  const Clip clip{"c", {{1, ChannelPath::morph_weights, Interpolation::linear, 2, {0, 1}, {0, 1, 1, 0}}}};
  Pose pose = two_joints();
  sample_clip(clip, 0.25, pose);
  EXPECT_EQ(pose.morph_weights, (std::vector<float>{0, 0.25f, 0.75f}));
}

TEST(Clip, ChecksEveryField) {
  const Clip good{"c", {translation(Interpolation::linear, {0, 1}, {0, 0, 0, 1, 1, 1})}};
  EXPECT_NO_THROW(check_clip(good, 2, 0, "f"));
  const auto broken = [&](auto change) {
    Clip clip = good;
    change(clip.channels[0]);
    EXPECT_THROW(check_clip(clip, 2, 0, "f"), Error);
  };
  broken([](Channel& c) { c.target = 2; });
  broken([](Channel& c) { c.target = -1; });
  broken([](Channel& c) { c.width = 4; });
  broken([](Channel& c) { c.times.clear(), c.values.clear(); });
  broken([](Channel& c) { c.times[1] = 0; });
  broken([](Channel& c) { c.times[1] = std::numeric_limits<float>::infinity(); });
  broken([](Channel& c) { c.values.pop_back(); });
  broken([](Channel& c) { c.values[2] = std::nanf(""); });
  broken([](Channel& c) { c.path = ChannelPath::morph_weights; });
  broken([](Channel& c) { c.interpolation = Interpolation::cubic_spline; });
}

TEST(Clip, CountsFrames) {
  Channel channel = translation(Interpolation::linear, {}, {});
  for (int k = 0; k < 60; ++k) channel.times.push_back(static_cast<float>(k / 30.0));
  const Clip clip{"c", {channel}};
  EXPECT_EQ(frame_count(clip, 30), 60);
  EXPECT_EQ(frame_count(clip, 24), 48);  // 1.9667 s · 24 = 47.2
  EXPECT_EQ(guess_frame_rate(clip), 30);
  EXPECT_EQ(frame_count({"empty", {}}, 30), 1);
  EXPECT_EQ(guess_frame_rate({"empty", {}}), 30);
}

TEST(Clip, GuessesOddRates) {
  Channel channel = translation(Interpolation::linear, {}, {});
  for (int k = 0; k < 25; ++k) channel.times.push_back(static_cast<float>(k / 24.0));
  EXPECT_EQ(guess_frame_rate({"c", {channel}}), 24);
  channel.times[3] += 0.01f;
  EXPECT_EQ(guess_frame_rate({"c", {channel}}), 30);
}

}  // namespace
}  // namespace sinew
