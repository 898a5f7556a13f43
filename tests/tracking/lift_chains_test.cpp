#include <sinew/tracking/lift_chains.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <gtest/gtest.h>

#include <sinew/geometry/segment.h>
#include <sinew/implicit/compact_support.h>

namespace sinew {
namespace {

/// A bone with round flesh about it. It leaves its parent where that has a tail at its head.
struct Bone {
  Vec3d head;
  std::vector<Vec3d> tails;
  double radius = 0.1;
  int parent = -1;
};

/// f = t_r(distance to the bone − r), known without any mesh.
BoneField round_field(const Bone& bone) {
  BoneField field;
  field.radius = bone.radius;
  Vec3d low = bone.head, high = bone.head;
  for (const Vec3d& tail : bone.tails) {
    field.segments.push_back({bone.head, tail});
    low = low.cwiseMin(tail), high = high.cwiseMax(tail);
  }
  low.array() -= 2.1 * bone.radius, high.array() += 2.1 * bone.radius;
  constexpr int kNodes = 20;
  const Vec3d per_metre = (kNodes - 1) * (high - low).cwiseInverse();
  Affine3d grid_from_rest = Affine3d::Identity();
  grid_from_rest.linear() = per_metre.asDiagonal();
  grid_from_rest.translation() = -per_metre.cwiseProduct(low);
  field.grid = FieldGrid(grid_from_rest, {kNodes, kNodes, kNodes});
  for (int x = 0; x < kNodes; ++x)
    for (int y = 0; y < kNodes; ++y)
      for (int z = 0; z < kNodes; ++z) {
        const Vec3d at = low + Vec3d(x, y, z).cwiseQuotient(per_metre);
        double distance = std::numeric_limits<double>::infinity();
        for (const BoneSegment& segment : field.segments)
          distance = std::min(distance, (at - nearest_on_segment(segment.head, segment.tail, at)).norm());
        field.grid.nodes()[field.grid.index(x, y, z)].value =
            static_cast<float>(compact_support(distance - bone.radius, bone.radius));
      }
  field.grid.bound(0);
  return field;
}

FieldSet field_set(const std::vector<Bone>& bones) {
  FieldSet set;
  for (std::uint32_t f = 0; f < bones.size(); ++f) {
    set.fields.push_back(round_field(bones[f]));
    set.transform.push_back(f);
    if (bones[f].parent >= 0)
      set.joints.push_back({static_cast<std::uint32_t>(bones[f].parent), f, bones[f].head});
  }
  return set;
}

LiftChains chains_of(const std::vector<Bone>& bones) {
  return make_lift_chains({}, {}, field_set(bones), bones.size());
}

/// `count` bones in a row along x, each 1 m.
std::vector<Bone> row(int count) {
  std::vector<Bone> bones;
  for (int k = 0; k < count; ++k) bones.push_back({Vec3d(k, 0, 0), {Vec3d(k + 1, 0, 0)}, 0.1, k - 1});
  return bones;
}

std::size_t group_of(const LiftChains& chains, std::uint32_t field) {
  for (std::size_t g = 0; g < chains.groups.size(); ++g)
    if (std::count(chains.groups[g].begin(), chains.groups[g].end(), field) > 0) return g;
  return chains.groups.size();
}

bool meets(const LiftChains& chains, std::size_t a, std::size_t b) {
  return chains.meets[a * chains.size.size() + b] != 0;
}

TEST(LiftChains, ParentsComeFirst) {
  // Numbered from the tips on.
  std::vector<Bone> bones = row(4);
  std::reverse(bones.begin(), bones.end());
  for (int k = 0; k < 4; ++k) bones[static_cast<std::size_t>(k)].parent = k < 3 ? k + 1 : -1;
  const LiftChains chains = chains_of(bones);
  EXPECT_EQ(chains.order, (std::vector<std::uint32_t>{3, 2, 1, 0}));
  ASSERT_EQ(chains.groups.size(), 4u);
  for (std::uint32_t g = 0; g < 4; ++g) EXPECT_EQ(chains.groups[g], std::vector<std::uint32_t>{3 - g});
}

TEST(LiftChains, JointsInACircleEnd) {
  std::vector<Bone> bones = row(3);
  bones[0].parent = 2;
  EXPECT_TRUE(chains_of(bones).order.empty());
  // What is not part of it has its place.
  bones.push_back({Vec3d(0, 5, 0), {Vec3d(1, 5, 0)}});
  EXPECT_EQ(chains_of(bones).order, std::vector<std::uint32_t>{3});
}

TEST(LiftChains, TailsThatAreHeadsShareTheirNodes) {
  const LiftChains chains = chains_of(row(3));
  // Three heads, and the last bone's tail.
  ASSERT_EQ(chains.rest_nodes.size(), 4u);
  for (int n = 0; n < 4; ++n) EXPECT_TRUE(chains.rest_nodes[static_cast<std::size_t>(n)] == Vec3d(n, 0, 0));
  EXPECT_EQ(chains.node_field, (std::vector<std::uint16_t>{0, 1, 2, 2}));
  EXPECT_EQ(chains.tails, (std::vector<std::uint32_t>{1, 2, 3}));
  // Bones carry all that hangs on them.
  EXPECT_EQ(chains.carried[0], (std::vector<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(chains.carried[1], (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(chains.carried[2], (std::vector<std::uint32_t>{2, 3}));
}

TEST(LiftChains, ATailIsAHeadUpToATwentiethOfItsBone) {
  for (const double gap : {0.04, 0.06}) {
    std::vector<Bone> bones = row(2);
    bones[1].head.y() = gap;
    const LiftChains chains = chains_of(bones);
    EXPECT_EQ(chains.tails[0] == 1, gap < 0.05) << gap;
    EXPECT_EQ(chains.rest_nodes.size(), gap < 0.05 ? 3u : 4u) << gap;
  }
}

TEST(LiftChains, ATailIsTheNearestOfSeveralHeads) {
  // Two legs so close together that each would do for either tail.
  const std::vector<Bone> bones{{Vec3d(0, 0, 0), {Vec3d(1, 0.01, 0), Vec3d(1, -0.01, 0)}, 0.2},
                                {Vec3d(1, 0.01, 0), {Vec3d(2, 1, 0)}, 0.1, 0},
                                {Vec3d(1, -0.01, 0), {Vec3d(2, -1, 0)}, 0.1, 0}};
  const LiftChains chains = chains_of(bones);
  EXPECT_EQ(chains.tails_of(0)[0], 1u);
  EXPECT_EQ(chains.tails_of(0)[1], 2u);
}

TEST(LiftChains, EveryTailOfABoneHasItsNode) {
  // Hips: two legs hang on them, and a third tail at which nothing begins.
  const std::vector<Bone> bones{{Vec3d(0, 0, 0), {Vec3d(-1, 0, 0), Vec3d(0, 1, 0), Vec3d(1, 0, 0)}, 0.2},
                                {Vec3d(1, 0, 0), {Vec3d(1, -2, 0)}, 0.1, 0},
                                {Vec3d(-1, 0, 0), {Vec3d(-1, -2, 0)}, 0.1, 0}};
  const LiftChains chains = chains_of(bones);
  ASSERT_EQ(chains.tails_of(0).size(), 3u);
  EXPECT_EQ(chains.tails_of(0)[0], 2u);
  EXPECT_EQ(chains.tails_of(0)[2], 1u);
  const std::uint32_t free = chains.tails_of(0)[1];
  EXPECT_TRUE(chains.rest_nodes[free] == Vec3d(0, 1, 0));
  EXPECT_EQ(chains.node_field[free], 0u);
  // Legs that lie apart move on their own.
  EXPECT_EQ(chains.groups.size(), 3u);
}

TEST(LiftChains, SamplesAreHalfARadiusApart) {
  std::vector<Bone> bones{{Vec3d(0, 0, 0), {Vec3d(1, 0, 0), Vec3d(0, 0.3, 0)}, 0.4}};
  LiftChains chains = chains_of(bones);
  std::vector<double> along[2];
  for (const LiftChains::Sample& sample : chains.samples_of(0)) {
    EXPECT_EQ(sample.field, 0u);
    along[sample.segment].push_back(static_cast<double>(sample.along));
  }
  ASSERT_EQ(along[0].size(), 6u);
  for (std::size_t k = 0; k < 6; ++k) EXPECT_NEAR(along[0][k], static_cast<double>(k) / 5, 1e-6);
  EXPECT_EQ(along[1].size(), 3u);
  // Very long ones have 33, very short ones both ends.
  bones[0].tails = {Vec3d(100, 0, 0), Vec3d(0, 1e-3, 0)};
  chains = chains_of(bones);
  EXPECT_EQ(chains.samples_of(0).size(), 33u + 2u);
}

TEST(LiftChains, KnownIsWhatASampleLiesInAtRest) {
  // The second bone leaves the first one's flesh, 0.4 wide in all, at its middle.
  const std::vector<Bone> bones{{Vec3d(0, 0, 0), {Vec3d(1, 0, 0)}, 0.2},
                                {Vec3d(0.5, 0, 0), {Vec3d(0.5, 0.8, 0)}, 0.2},
                                {Vec3d(0, 5, 0), {Vec3d(1, 5, 0)}, 0.2}};
  const LiftChains chains = chains_of(bones);
  for (const LiftChains::Sample& sample : chains.samples_of(1)) {
    EXPECT_EQ(chains.is_known(sample, 0), sample.along < 0.4f) << sample.along;
    EXPECT_TRUE(chains.is_known(sample, 1));
    EXPECT_FALSE(chains.is_known(sample, 2));
  }
}

TEST(LiftChains, APalmIsOneGroupAndLegsAreNot) {
  // Four bones leave the wrist side by side, in each other's flesh, and each has a finger.
  std::vector<Bone> hand{{Vec3d(-1, 0, 0), {Vec3d(0, 0, 0)}, 0.2}};
  for (int k = 0; k < 4; ++k) hand.push_back({Vec3d(0, 0.05 * k, 0), {Vec3d(1, 0.1 * k, 0)}, 0.1, 0});
  for (int k = 0; k < 4; ++k) hand.push_back({Vec3d(1, 0.1 * k, 0), {Vec3d(2, 0.4 * k, 0)}, 0.1, k + 1});
  const LiftChains chains = chains_of(hand);
  EXPECT_EQ(chains.groups[group_of(chains, 1)], (std::vector<std::uint32_t>{1, 2, 3, 4}));
  for (std::uint32_t finger = 5; finger < 9; ++finger)
    EXPECT_EQ(chains.groups[group_of(chains, finger)], std::vector<std::uint32_t>{finger});
  EXPECT_EQ(chains.groups[group_of(chains, 0)], std::vector<std::uint32_t>{0});
  // It carries its fingers.
  EXPECT_EQ(chains.carried[group_of(chains, 1)].size(), 12u);

  // Side by side, but only their upper thirds in each other's flesh.
  const std::vector<Bone> legs{{Vec3d(0, 0, 0), {Vec3d(0, -0.1, 0)}, 0.1},
                               {Vec3d(0.05, -0.1, 0), {Vec3d(0.5, -2, 0)}, 0.1, 0},
                               {Vec3d(-0.05, -0.1, 0), {Vec3d(-0.5, -2, 0)}, 0.1, 0}};
  const LiftChains apart = chains_of(legs);
  EXPECT_NE(group_of(apart, 1), group_of(apart, 2));
  EXPECT_EQ(apart.groups.size(), 3u);
}

TEST(LiftChains, BonesOfDifferentParentsAreNoGroup) {
  std::vector<Bone> bones = row(2);
  bones.push_back(bones[1]);
  bones[2].parent = -1;
  EXPECT_EQ(chains_of(bones).groups.size(), 3u);
  bones[2].parent = 0;
  EXPECT_EQ(chains_of(bones).groups.size(), 2u);
}

TEST(LiftChains, GroupsLieSideBySideInsideOfEachOthersSkin) {
  // Skin is at 0.2. A thumb of the same wrist is as near, but points elsewhere.
  for (const double apart : {0.18, 0.22}) {
    std::vector<Bone> bones = row(2);
    bones[1].radius = 0.2;
    bones.push_back({Vec3d(1, apart, 0), {Vec3d(2, apart, 0)}, 0.2, 0});
    EXPECT_EQ(chains_of(bones).groups.size(), apart < 0.2 ? 2u : 3u) << apart;
  }
  for (const double degrees : {30.0, 45.0}) {  // cosine of the widest is 0.8
    const double angle = degrees * std::numbers::pi / 180;
    std::vector<Bone> bones = row(2);
    bones[1].radius = 2;
    bones.push_back({Vec3d(1, 0, 0), {Vec3d(1 + std::cos(angle), std::sin(angle), 0)}, 0.2, 0});
    EXPECT_EQ(chains_of(bones).groups.size(), degrees < 37 ? 2u : 3u) << degrees;
  }
}

TEST(LiftChains, AStumpMovesWithWhatLeavesIt) {
  for (const double length : {0.03, 0.04}) {  // a stump is shorter than 0.035
    const std::vector<Bone> bones{{Vec3d(-1, 0, 0), {Vec3d(0, 0, 0)}, 0.1},
                                  {Vec3d(0, 0, 0), {Vec3d(length, 0, 0)}, 0.1, 0},
                                  {Vec3d(length, 0, 0), {Vec3d(1, 0, 0)}, 0.1, 1}};
    const LiftChains chains = chains_of(bones);
    if (length < 0.035) {
      EXPECT_EQ(chains.groups, (std::vector<std::vector<std::uint32_t>>{{0}, {1, 2}}));
    } else {
      EXPECT_EQ(chains.groups, (std::vector<std::vector<std::uint32_t>>{{0}, {1}, {2}}));
    }
  }
}

/// A wrist with bones that leave it side by side, in each other's flesh.
std::vector<Bone> palm(int bones, double wrist_length) {
  std::vector<Bone> hand{{Vec3d(-wrist_length, 0, 0), {Vec3d(0, 0, 0)}, 0.2}};
  for (int k = 0; k < bones; ++k) hand.push_back({Vec3d(0, 0.05 * k, 0), {Vec3d(1, 0.1 * k, 0)}, 0.1, 0});
  return hand;
}

TEST(LiftChains, APalmHasThreeBonesAtLeast) {
  for (const int bones : {2, 3, 4}) {
    std::vector<Bone> hand = palm(bones, 1);
    hand.push_back({Vec3d(1, 0, 0), {Vec3d(2, 0, 0)}, 0.1, 1});  // a finger
    const LiftChains chains = chains_of(hand);
    for (int k = 1; k <= bones; ++k)
      EXPECT_EQ(chains.palm_of[static_cast<std::size_t>(k)], bones < 3 ? -1 : 1) << bones;
    EXPECT_EQ(chains.palm_of[0], -1);
    EXPECT_EQ(chains.palm_of.back(), -1);
    EXPECT_EQ(chains.share_palm(1, 2), bones >= 3);
    EXPECT_FALSE(chains.share_palm(0, 1));
    EXPECT_FALSE(chains.share_palm(0, hand.size() - 1));
  }
  // Bones in a row are none, nor are two pairs of legs, each side by side.
  EXPECT_EQ(chains_of(row(5)).palm_of, std::vector<std::int32_t>(5, -1));
  std::vector<Bone> animal = palm(2, 1);
  for (int k = 0; k < 2; ++k)
    animal.push_back({Vec3d(0, 0.05 * k - 3, 0), {Vec3d(1, 0.1 * k - 3, 0)}, 0.1, 0});
  EXPECT_EQ(chains_of(animal).palm_of, std::vector<std::int32_t>(5, -1));
}

TEST(LiftChains, AStumpIsOfThePalmThatLeavesIt) {
  EXPECT_EQ(chains_of(palm(3, 0.06)).palm_of, (std::vector<std::int32_t>{1, 1, 1, 1}));
  EXPECT_EQ(chains_of(palm(3, 0.08)).palm_of, (std::vector<std::int32_t>{-1, 1, 1, 1}));
}

TEST(LiftChains, TheBallOfAThumbIsOfItsPalm) {
  for (const double length : {0.09, 0.11}) {  // of the thumb's first bone; up to 0.1 it is short
    std::vector<Bone> hand = palm(3, 1);
    hand.push_back({Vec3d(0, -0.05, 0), {Vec3d(length, -0.05, 0)}, 0.1, 0});
    hand.push_back({Vec3d(length, -0.05, 0), {Vec3d(0.6, -0.3, 0)}, 0.1, 4});
    hand.push_back({Vec3d(0.6, -0.3, 0), {Vec3d(1, -0.5, 0)}, 0.1, 5});
    const LiftChains chains = chains_of(hand);
    EXPECT_EQ(chains.palm_of[4], 1);
    EXPECT_EQ(chains.palm_of[5], length < 0.1 ? 1 : -1) << length;
    EXPECT_EQ(chains.palm_of[6], -1);
    // Yet it moves by itself.
    EXPECT_NE(chains.group_of[5], chains.group_of[4]);
  }
  // Only the next one, however short.
  std::vector<Bone> hand = palm(3, 1);
  for (int k = 0; k < 3; ++k)
    hand.push_back({Vec3d(0.09 * k, -0.05, 0), {Vec3d(0.09 * (k + 1), -0.05, 0)}, 0.1, k == 0 ? 0 : 3 + k});
  EXPECT_EQ(chains_of(hand).palm_of, (std::vector<std::int32_t>{-1, 1, 1, 1, 1, 1, -1}));
}

TEST(LiftChains, SizesAreOfAllThatHangsOnABone) {
  std::vector<Bone> bones = row(3);
  bones[1].radius = 0.2;
  const LiftChains chains = chains_of(bones);
  const double last = 0.1 * 0.1 * 1.1, middle = last + 0.2 * 0.2 * 1.2, first = middle + last;
  EXPECT_NEAR(chains.size[2], std::cbrt(last), 1e-6);
  EXPECT_NEAR(chains.size[1], std::cbrt(middle), 1e-6);
  EXPECT_NEAR(chains.size[0], std::cbrt(first), 1e-6);
}

TEST(LiftChains, SeveralTailsCountWithTheirMeanLength) {
  const LiftChains chains = chains_of({{Vec3d(0, 0, 0), {Vec3d(1, 0, 0), Vec3d(0, 2, 0)}, 0.3}});
  EXPECT_NEAR(chains.size[0], std::cbrt(0.3 * 0.3 * (1.5 + 0.3)), 1e-6);
}

TEST(LiftChains, BonesMeetAllButTheirNeighboursAndWhatHangsOnThem) {
  // 0 - 1 - 2 - 3 in a row, 4 leaves 1 like 2, and 5 is free. Most flesh is at the tips: there is no trunk.
  std::vector<Bone> bones = row(4);
  bones[3].radius = 0.3;
  bones.push_back({Vec3d(2, 0, 0), {Vec3d(2, 1, 0)}, 0.3, 1});
  bones.push_back({Vec3d(0, 5, 0), {Vec3d(1, 5, 0)}});
  const LiftChains chains = chains_of(bones);
  using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;
  for (std::size_t f = 0; f < 6; ++f) EXPECT_FALSE(meets(chains, f, f)) << f;
  for (const auto& [parent, child] : Pairs{{0, 1}, {1, 2}, {2, 3}, {1, 4}}) {
    EXPECT_FALSE(meets(chains, parent, child)) << parent << child;
    EXPECT_FALSE(meets(chains, child, parent)) << parent << child;
  }
  // Not what hangs on it, but what it hangs on.
  for (const auto& [above, below] : Pairs{{0, 2}, {0, 3}, {1, 3}, {0, 4}}) {
    EXPECT_FALSE(meets(chains, above, below)) << above << below;
    EXPECT_TRUE(meets(chains, below, above)) << above << below;
  }
  for (const auto& [a, b] : Pairs{{2, 4}, {3, 4}, {0, 5}, {3, 5}}) {
    EXPECT_TRUE(meets(chains, a, b)) << a << b;
    EXPECT_TRUE(meets(chains, b, a)) << a << b;
  }
}

TEST(LiftChains, LimbsSlideInTheTrunkTheyHangOn) {
  // 2 leaves the same bone as 1 and is larger, 1.33 times or 3.7 times.
  for (const double radius : {0.15, 0.6}) {
    std::vector<Bone> bones = row(2);
    bones.push_back({Vec3d(1, 0, 0), {Vec3d(1, 1, 0)}, radius, 0});
    const LiftChains chains = chains_of(bones);
    EXPECT_EQ(meets(chains, 1, 2), radius < 0.2) << radius;
    EXPECT_TRUE(meets(chains, 2, 1)) << radius;
  }
  // Collar bones: 2 hangs on 0 by 1, and begins in its flesh, which ends 0.2 behind it, or beyond. What
  // hangs on 2 is no limb's root any more.
  for (const double length : {0.12, 0.5}) {
    const LiftChains chains = chains_of({{Vec3d(-1, 0, 0), {Vec3d(0, 0, 0)}, 0.1},
                                         {Vec3d(0, 0, 0), {Vec3d(length, 0, 0)}, 0.1, 0},
                                         {Vec3d(length, 0, 0), {Vec3d(1, 0, 0)}, 0.1, 1},
                                         {Vec3d(1, 0, 0), {Vec3d(2, 0, 0)}, 0.1, 2}});
    EXPECT_EQ(meets(chains, 2, 0), length > 0.2) << length;
    EXPECT_TRUE(meets(chains, 3, 0)) << length;
  }
}

bool meets_as_one(const LiftChains& chains, std::size_t a, std::size_t b) {
  return chains.meets_as_one[a * chains.size.size() + b] != 0;
}

std::int32_t extremity_of(const LiftChains& chains, std::uint32_t field) {
  return chains.extremity_of[chains.group_of[field]];
}

bool is_end(const LiftChains& chains, std::uint32_t field) {
  return chains.is_end[chains.group_of[field]] != 0;
}

bool is_pinned(const LiftChains& chains, std::uint32_t field) {
  return chains.is_pinned[chains.group_of[field]] != 0;
}

/// An arm (0, 1), a palm of four bones (2 to 5), fingers of two bones each, first all of the upper ones (from
/// 6 on), and at last a free bone. The palm's length and radius are 1.1.
std::vector<Bone> arm(int fingers, double finger_length) {
  std::vector<Bone> bones{{Vec3d(-2, 0, 0), {Vec3d(-1, 0, 0)}, 0.2}, {Vec3d(-1, 0, 0), {}, 0.2, 0}};
  for (int k = 0; k < 4; ++k) {
    bones[1].tails.push_back(Vec3d(0, 0.08 * k, 0));
    bones.push_back({Vec3d(0, 0.08 * k, 0), {Vec3d(1, 0.08 * k, 0)}, 0.1, 1});
  }
  const double half = finger_length / 2;
  for (const int bone : {0, 1})
    for (int k = 0; k < fingers; ++k)
      bones.push_back({Vec3d(1 + bone * half, 0.08 * k, 0),
                       {Vec3d(1 + (bone + 1) * half, 0.08 * k, 0)},
                       0.1,
                       bone == 0 ? 2 + k : 6 + k});
  bones.push_back({Vec3d(0, 9, 0), {Vec3d(1, 9, 0)}});
  return bones;
}

TEST(LiftChains, AFingerOnTwoHandsIsNoExtremity) {
  // Joints that name a child twice come from no skeleton, but must not lead anywhere.
  std::vector<Bone> bones = arm(4, 0.5);
  FieldSet set = field_set(bones);
  const auto last = static_cast<std::uint32_t>(bones.size() - 2);  // a fingertip
  set.joints.push_back({0, last, bones[last].head});
  EXPECT_NO_THROW(make_lift_chains({}, {}, set, bones.size()));
  set.joints.push_back({last, 1, bones[1].head});
  EXPECT_NO_THROW(make_lift_chains({}, {}, set, bones.size()));
}

TEST(LiftChains, FingersAreExtremitiesOfTheirPalm) {
  const LiftChains chains = chains_of(arm(4, 1));
  const std::uint32_t palm = chains.group_of[2];
  EXPECT_EQ(chains.groups[palm], (std::vector<std::uint32_t>{2, 3, 4, 5}));
  EXPECT_EQ(chains.extremities[palm], (std::vector<std::uint32_t>{6, 7, 8, 9, 10, 11, 12, 13}));
  for (std::uint32_t f = 0; f < 15; ++f)
    EXPECT_EQ(extremity_of(chains, f), f >= 6 && f < 14 ? static_cast<std::int32_t>(palm) : -1) << f;
  for (std::uint32_t g = 0; g < chains.groups.size(); ++g)
    EXPECT_EQ(chains.extremities[g].empty(), g != palm) << g;
}

TEST(LiftChains, ExtremitiesAreThreeAtLeastAndAtMostHalfAsLongAgainAsTheirPalm) {
  for (const int fingers : {2, 3}) {
    const LiftChains chains = chains_of(arm(fingers, 1));
    EXPECT_EQ(chains.extremities[chains.group_of[2]].empty(), fingers < 3) << fingers;
  }
  // The longest are 1.5 times 1.1, both bones together.
  for (const double length : {1.6, 1.7}) {
    const LiftChains chains = chains_of(arm(4, length));
    EXPECT_EQ(chains.extremities[chains.group_of[2]].empty(), length > 1.65) << length;
  }
}

TEST(LiftChains, LimbsAreNoExtremitiesOfTheirTrunk) {
  // A chest with two arms and a neck. One arm that is long is enough.
  for (const double length : {0.8, 3.0}) {
    const LiftChains chains =
        chains_of({{Vec3d(0, 0, 0), {Vec3d(-0.5, 1, 0), Vec3d(0, 1, 0), Vec3d(0.5, 1, 0)}, 0.3},
                   {Vec3d(-0.5, 1, 0), {Vec3d(-0.5 - length, 1, 0)}, 0.1, 0},
                   {Vec3d(0, 1, 0), {Vec3d(0, 1.4, 0)}, 0.1, 0},
                   {Vec3d(0.5, 1, 0), {Vec3d(1.3, 1, 0)}, 0.1, 0}});
    EXPECT_EQ(chains.extremities[chains.group_of[0]].empty(), length > 2) << length;
    for (std::uint32_t limb = 1; limb < 4; ++limb)
      EXPECT_EQ(extremity_of(chains, limb), length > 2 ? -1 : 0) << length;
  }
}

TEST(LiftChains, ExtremitiesMeetAsOneWhatIsNotPartOfTheirHand) {
  const LiftChains chains = chains_of(arm(4, 1));
  for (std::uint32_t f = 0; f < 15; ++f)
    for (std::uint32_t b = 0; b < 15; ++b) {
      const bool finger = f >= 6 && f < 14, hand = b >= 2 && b < 14;
      EXPECT_EQ(meets_as_one(chains, f, b), finger && !hand) << f << ' ' << b;
    }
  // On its own each meets other fingers and the palm, but not the bone that it hangs on.
  for (const std::size_t other : {9u, 12u, 5u}) EXPECT_TRUE(meets(chains, 10, other)) << other;
  EXPECT_FALSE(meets(chains, 6, 2));
  // What they do not meet they do not meet as one either: here a forearm so thick that the palm is a trunk's.
  std::vector<Bone> thick = arm(4, 1);
  thick[1].radius = 2;
  EXPECT_FALSE(meets_as_one(chains_of(thick), 6, 1));
}

TEST(LiftChains, AGroupDoesNotMeetWhatItCarries) {
  const LiftChains chains = chains_of(arm(4, 1));
  for (std::uint32_t palm = 2; palm < 6; ++palm) {
    for (std::uint32_t part = 2; part < 14; ++part)
      EXPECT_FALSE(meets(chains, palm, part)) << palm << ' ' << part;
    for (const std::uint32_t other : {0u, 14u}) EXPECT_TRUE(meets(chains, palm, other)) << palm;
    EXPECT_TRUE(meets(chains, 14, palm)) << palm;
  }
}

TEST(LiftChains, BonesOfATrunkDoNotMeetThoseCloseBefore) {
  // Between 3 and 0 are two bones, together shorter than 0.8 times the radii of 3 and 0, or longer. How thick
  // those between are does not matter.
  for (const double length : {0.15, 0.17})
    for (const double between : {0.1, 0.4}) {
      std::vector<Bone> bones = row(5);
      for (std::size_t k = 0; k < bones.size(); ++k) {
        const double x = length * static_cast<double>(k);
        bones[k].head = Vec3d(x, 0, 0);
        bones[k].tails = {Vec3d(x + length, 0, 0)};
        bones[k].radius = k == 1 || k == 2 ? between : 0.2;
      }
      const LiftChains chains = chains_of(bones);
      EXPECT_EQ(meets(chains, 3, 0), length > 0.16) << length << ' ' << between;
      EXPECT_FALSE(meets(chains, 2, 0)) << length << ' ' << between;
      EXPECT_TRUE(meets(chains, 4, 0)) << length << ' ' << between;
      EXPECT_FALSE(meets(chains, 0, 3)) << length << ' ' << between;
    }
}

TEST(LiftChains, AnEndIsTheLastBoneOfALimbAndTheOneBefore) {
  EXPECT_EQ(chains_of(row(4)).is_end, (std::vector<std::uint8_t>{0, 0, 1, 1}));
  // Fingers belong to their palm, which is the last of its limb.
  const LiftChains hand = chains_of(arm(4, 1));
  for (std::uint32_t f = 0; f < 15; ++f) EXPECT_EQ(is_end(hand, f), f != 0) << f;
  // Two are no extremities: they follow it.
  const LiftChains two = chains_of(arm(2, 1));
  for (std::uint32_t f = 0; f < 11; ++f) EXPECT_EQ(is_end(two, f), f >= 6) << f;
}

TEST(LiftChains, PinnedIsOneOfSeveralThatHangOnTheSame) {
  for (const std::uint8_t pinned : chains_of(row(4)).is_pinned) EXPECT_EQ(pinned, 0);
  // Fingers, but not what follows them, and not a palm, whose bones are one group.
  const LiftChains hand = chains_of(arm(4, 1));
  for (std::uint32_t f = 0; f < 15; ++f) EXPECT_EQ(is_pinned(hand, f), f >= 6 && f < 10) << f;
  // Legs, but not what hangs on nothing.
  const LiftChains legs = chains_of({{Vec3d(0, 0, 0), {Vec3d(-1, 0, 0), Vec3d(1, 0, 0)}, 0.2},
                                     {Vec3d(-1, 0, 0), {Vec3d(-1, -2, 0)}, 0.1, 0},
                                     {Vec3d(1, 0, 0), {Vec3d(1, -2, 0)}, 0.1, 0},
                                     {Vec3d(1, -2, 0), {Vec3d(1, -4, 0)}, 0.1, 2},
                                     {Vec3d(0, 9, 0), {Vec3d(1, 9, 0)}}});
  for (std::uint32_t f = 0; f < 5; ++f) EXPECT_EQ(is_pinned(legs, f), f == 1 || f == 2) << f;
}

TEST(LiftChains, BelowIsWhatHangsOnAHead) {
  const std::vector<Bone> bones = arm(4, 1);
  const LiftChains chains = chains_of(bones);
  EXPECT_EQ(chains.parent, (std::vector<std::int32_t>{-1, 0, 1, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, -1}));
  for (std::uint32_t f = 0; f < bones.size(); ++f) {
    // Of fields, those that have it above them.
    std::vector<std::uint32_t> heads, expected;
    for (const std::uint32_t n : chains.below[f])
      if (n < bones.size()) heads.push_back(n);
    for (std::uint32_t other = 0; other < bones.size(); ++other)
      for (int above = bones[other].parent; above >= 0; above = bones[static_cast<std::size_t>(above)].parent)
        if (above == static_cast<int>(f)) expected.push_back(other);
    std::sort(heads.begin(), heads.end());
    EXPECT_EQ(heads, expected) << f;
    // And the free tails: its own or those at the tips of fingers.
    EXPECT_EQ(chains.below[f].size() - heads.size(), f < 2 ? 4u : 1u) << f;
  }
}

TEST(LiftChains, BonesOfNoLengthHaveTheirPlace) {
  std::vector<Bone> bones = arm(4, 1);
  for (Bone& bone : bones)
    for (Vec3d& tail : bone.tails) tail = bone.head;
  const LiftChains chains = chains_of(bones);
  EXPECT_EQ(chains.order.size(), bones.size());
  for (const float size : chains.size) EXPECT_TRUE(std::isfinite(size) && size > 0);
  for (const Vec3d& node : chains.rest_nodes) EXPECT_TRUE(node.allFinite());
  for (const LiftChains::Sample& sample : chains.samples) EXPECT_TRUE(std::isfinite(sample.along));
}

TEST(LiftChains, EdgesAreTheMeanOfTheSkin) {
  // A right triangle of field 0, a larger one of field 1, and one without a field.
  std::vector<Vec3f> positions;
  std::vector<Triangle> triangles;
  std::vector<std::int32_t> own;
  for (const auto& [size, field] : {std::pair(1.0f, 0), std::pair(2.0f, 1), std::pair(9.0f, -1)}) {
    const auto first = static_cast<std::uint32_t>(positions.size());
    for (const Vec3f& at : {Vec3f(0, 0, 0), Vec3f(3, 0, 0), Vec3f(0, 4, 0)}) positions.push_back(size * at);
    triangles.push_back({first, first + 1, first + 2});
    own.insert(own.end(), 3, field);
  }
  const FieldSet fields = field_set(row(3));
  const LiftChains chains = make_lift_chains({positions, triangles}, own, fields, 3);
  EXPECT_NEAR(chains.edge[0], 4, 1e-6);
  EXPECT_NEAR(chains.edge[1], 8, 1e-6);
  EXPECT_EQ(chains.edge[2], 0);  // no skin
}

}  // namespace
}  // namespace sinew
