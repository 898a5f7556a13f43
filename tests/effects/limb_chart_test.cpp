#include <sinew/effects/limb_chart.h>

#include <algorithm>
#include <map>
#include <utility>

#include <gtest/gtest.h>

namespace sinew {
namespace {

/// A chart made by hand.
struct Limbs {
  std::vector<LimbBone> bones;
  std::vector<LimbPlace> places;

  void bone(std::uint32_t head, int tail, const Vec3d& from, const Vec3d& to) {
    bones.push_back({head, tail, from, to});
  }
  /// Returns the vertex's number.
  std::uint32_t vertex(std::uint32_t of_bone, double along, double distance) {
    places.push_back({of_bone, along, Vec3d(0, 0, distance)});
    return static_cast<std::uint32_t>(places.size() - 1);
  }
  LimbChart chart(std::size_t anchors) const { return {anchors, bones, places}; }
};

std::map<std::uint32_t, double> around(const LimbChart& chart, std::uint32_t anchor) {
  std::map<std::uint32_t, double> found;
  std::uint32_t next = 0;
  for (const JointPlace& place : chart.around(anchor)) {
    EXPECT_GE(place.vertex, next) << "not ascending";
    next = place.vertex + 1;
    EXPECT_GT(place.along, -1);
    EXPECT_LT(place.along, 1);
    found[place.vertex] = place.along;
  }
  return found;
}

void expect_places(const LimbChart& chart, std::uint32_t anchor,
                   const std::map<std::uint32_t, double>& expected) {
  const std::map<std::uint32_t, double> found = around(chart, anchor);
  EXPECT_EQ(found.size(), expected.size()) << "joint " << anchor;
  for (const auto& [vertex, along] : expected) {
    ASSERT_TRUE(found.contains(vertex)) << "joint " << anchor << ", vertex " << vertex;
    EXPECT_NEAR(found.at(vertex), along, 1e-12) << "joint " << anchor << ", vertex " << vertex;
  }
}

/// Three bones along x, of the lengths 2, 1 and 3; the last ends the limb. Eleven vertices on each, from its
/// head to its tail, the bone's number · 11 onwards; a limb of radius 0.1.
Limbs chain() {
  Limbs limbs;
  limbs.bone(0, 1, {0, 0, 0}, {2, 0, 0});
  limbs.bone(1, 2, {2, 0, 0}, {3, 0, 0});
  limbs.bone(2, -1, {3, 0, 0}, {6, 0, 0});
  for (std::uint32_t b = 0; b < 3; ++b)
    for (int i = 0; i <= 10; ++i) limbs.vertex(b, i / 10.0, 0.1);
  return limbs;
}

TEST(LimbChart, CountsAlongTheBonesOnBothSidesOfAJoint) {
  const LimbChart chart = chain().chart(3);
  std::map<std::uint32_t, double> expected;
  for (std::uint32_t i = 0; i < 10; ++i) expected[i] = i / 10.0;
  expect_places(chart, 0, expected);
  expected.clear();
  for (std::uint32_t i = 0; i < 10; ++i) {
    expected[i + 1] = -(9 - static_cast<double>(i)) / 10;
    expected[11 + i] = i / 10.0;
  }
  expect_places(chart, 1, expected);
  expected.clear();
  for (std::uint32_t i = 0; i < 10; ++i) {
    expected[11 + i + 1] = -(9 - static_cast<double>(i)) / 10;
    expected[22 + i] = i / 10.0;
  }
  expect_places(chart, 2, expected);
}

TEST(LimbChart, KeepsWhatItIsMadeOf) {
  const LimbChart chart = chain().chart(3);
  ASSERT_EQ(chart.bones().size(), 3u);
  EXPECT_EQ(chart.bones()[1].tail, Vec3d(3, 0, 0));
  ASSERT_EQ(chart.places().size(), 33u);
  EXPECT_EQ(chart.places()[12].bone, 1u);
}

TEST(LimbChart, HangsVerticesOnTheNearerEnd) {
  Limbs limbs = chain();
  const std::uint32_t loose = limbs.vertex(LimbPlace::kNoBone, 0, 0);
  const LimbChart chart = limbs.chart(3);
  EXPECT_EQ(chart.nearer_anchor(0, 9), 0u);
  EXPECT_EQ(chart.nearer_anchor(4, 9), 0u);
  EXPECT_EQ(chart.nearer_anchor(6, 9), 1u);
  EXPECT_EQ(chart.nearer_anchor(11, 9), 1u);
  EXPECT_EQ(chart.nearer_anchor(21, 9), 2u);
  EXPECT_EQ(chart.nearer_anchor(32, 9), 2u) << "a limb's end has no anchor of its own";
  EXPECT_EQ(chart.nearer_anchor(loose, 9), 9u);
}

TEST(LimbChart, VerticesWithoutABoneAreNowhere) {
  Limbs limbs = chain();
  const std::size_t before = around(limbs.chart(3), 1).size();
  limbs.vertex(LimbPlace::kNoBone, 0.1, 5);
  const LimbChart chart = limbs.chart(3);
  EXPECT_EQ(around(chart, 1).size(), before);
  EXPECT_NEAR(chart.radius(1), 0.1, 1e-12);
}

TEST(LimbChart, RadiusIsTheMedianOfTheNearHalves) {
  Limbs limbs;
  limbs.bone(0, 1, {0, 0, 0}, {1, 0, 0});
  limbs.bone(1, -1, {1, 0, 0}, {2, 0, 0});
  for (const double distance : {0.5, 0.1, 0.2}) limbs.vertex(0, 0.9, distance);
  for (const double distance : {0.3, 7.0}) limbs.vertex(1, 0.2, distance);
  for (int i = 0; i < 20; ++i) limbs.vertex(0, 0.1, 9), limbs.vertex(1, 0.8, 11);
  const LimbChart chart = limbs.chart(3);
  EXPECT_EQ(chart.radius(1), 0.3);
  EXPECT_EQ(chart.radius(0), 9);
  EXPECT_EQ(chart.radius(2), 0) << "no bone";
  EXPECT_TRUE(chart.around(2).empty());
}

TEST(LimbChart, GoesIntoAllBranches) {
  // A trunk from 0 to 1, from where two branches go, to 2 and 3, of the lengths 1 and 4.
  Limbs limbs;
  limbs.bone(0, 1, {0, 0, 0}, {0, 2, 0});
  limbs.bone(1, 2, {0, 2, 0}, {1, 2, 0});
  limbs.bone(1, 3, {0, 2, 0}, {-4, 2, 0});
  limbs.bone(2, -1, {1, 2, 0}, {2, 2, 0});
  const std::uint32_t trunk = limbs.vertex(0, 0.75, 0.1), right = limbs.vertex(1, 0.25, 0.1),
                      left = limbs.vertex(2, 0.25, 0.1), tip = limbs.vertex(3, 0.5, 0.1);
  const LimbChart chart = limbs.chart(4);
  expect_places(chart, 0, {{trunk, 0.75}});
  expect_places(chart, 1, {{trunk, -0.25}, {right, 0.25}, {left, 0.25}});
  expect_places(chart, 2, {{right, -0.75}, {tip, 0.5}});
  expect_places(chart, 3, {{left, -0.75}});
}

TEST(LimbChart, ReachesBeyondShortBones) {
  // A short bone in a thick limb: 1.5 radii are 1.5.
  Limbs limbs;
  limbs.bone(0, 1, {0, 0, 0}, {4, 0, 0});
  limbs.bone(1, 2, {4, 0, 0}, {5, 0, 0});
  limbs.bone(2, -1, {5, 0, 0}, {9, 0, 0});
  const std::uint32_t before = limbs.vertex(0, 0.5, 1), far_before = limbs.vertex(0, 0.9, 1),
                      on = limbs.vertex(1, 0.5, 1), beyond = limbs.vertex(2, 0.1, 1),
                      too_far = limbs.vertex(2, 0.125, 1), behind = limbs.vertex(2, 0.2, 1);
  const LimbChart chart = limbs.chart(3);
  // From the joint before it: half a metre on it, then 0.4 m of the next bone; 1.5 m is just out of reach.
  expect_places(chart, 1, {{before, -0.5}, {far_before, -0.1}, {on, 0.5 / 1.5}, {beyond, 1.4 / 1.5}});
  EXPECT_FALSE(around(chart, 1).contains(too_far));
  // From the joint behind it, backwards.
  expect_places(chart, 2,
                {{on, -0.5 / 1.5}, {far_before, -1.4 / 1.5}, {beyond, 0.1}, {too_far, 0.125}, {behind, 0.2}});
}

TEST(LimbChart, ReachesBackThroughAShortBoneIntoBranches) {
  // Two long bones end where a short one begins; one more branches off there.
  Limbs limbs;
  limbs.bone(0, 1, {0, 0, 0}, {4, 0, 0});
  limbs.bone(1, 2, {4, 0, 0}, {4.5, 0, 0});
  limbs.bone(1, -1, {4, 0, 0}, {4, 2, 0});
  limbs.bone(2, -1, {4.5, 0, 0}, {7.5, 0, 0});
  const std::uint32_t trunk = limbs.vertex(0, 0.9, 1), shorter = limbs.vertex(1, 0.5, 1),
                      branch = limbs.vertex(2, 0.25, 1), end = limbs.vertex(3, 0.5, 1);
  const LimbChart chart = limbs.chart(3);
  expect_places(chart, 2, {{shorter, -0.25 / 1.5}, {trunk, -0.9 / 1.5}, {branch, -1.0 / 1.5}, {end, 0.5}});
  // The skin of a bone behind the joint never counts as before it, nor twice.
  expect_places(chart, 1, {{trunk, -0.1}, {shorter, 0.25 / 1.5}, {branch, 0.25}});
}

TEST(LimbChart, BonesWithoutLengthAreCrossed) {
  Limbs limbs;
  limbs.bone(0, 1, {0, 0, 0}, {2, 0, 0});
  limbs.bone(1, 2, {2, 0, 0}, {2, 0, 0});
  limbs.bone(2, -1, {2, 0, 0}, {5, 0, 0});
  const std::uint32_t before = limbs.vertex(0, 0.75, 0.4), behind = limbs.vertex(2, 0.1, 0.4);
  const LimbChart chart = limbs.chart(3);
  expect_places(chart, 1, {{before, -0.25}, {behind, 0.3 / 0.6}});
  expect_places(chart, 2, {{before, -0.5 / 0.6}, {behind, 0.1}});
  // Without skin there is no length at all.
  limbs.places.clear();
  EXPECT_TRUE(limbs.chart(3).around(1).empty());
}

}  // namespace
}  // namespace sinew
