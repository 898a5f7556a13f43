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
