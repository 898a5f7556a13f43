#include <sinew/effects/joint_filling.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <sinew/core/error.h>
#include <sinew/geometry/closed_surface.h>

#include "tests/reference/skinning.h"
#include "tests/support/allocations.h"
#include "tests/support/oval_limb.h"

namespace sinew {
namespace {

constexpr float kRadius = 0.2f;
constexpr float kMost = 0.4f;  // limb radii that a vertex may go
constexpr int kRings = 56;     // none of them near a patch's end, so that rounding cannot move it
constexpr int kSegments = 24;

using Turn = Eigen::AngleAxisd;

Turn bend(double degrees) {
  return Turn(degrees * std::numbers::pi / 180, Vec3d::UnitZ());
}

/// A round limb, bent by linear blending, which makes joints thin.
struct Limb {
  test::OvalLimb limb;
  std::vector<Hinge> hinges;

  explicit Limb(int bones = 2, float blend = 0.3f) : limb(options(bones, blend)) {
    for (std::uint32_t k = 0; k < limb.joints.size(); ++k)
      hinges.push_back({"joint", k + 1, k, limb.joints[k]});
  }

  static test::OvalLimbOptions options(int bones, float blend) {
    test::OvalLimbOptions result;
    result.bones = bones, result.blend = blend;
    result.rings = kRings, result.segments = kSegments;
    result.height = result.depth = kRadius;
    return result;
  }

  MeshView rest() const { return limb.scene.meshes[0].surface.view(); }
  const SkinWeights& weights() const { return limb.scene.meshes[0].weights; }
  std::size_t size() const { return rest().positions.size(); }

  JointFilling filling(double share = 1) const { return {rest(), weights(), hinges, share}; }

  std::vector<Affine3d> bent(double degrees) const { return limb.posed(std::array{bend(degrees)}); }

  std::vector<Vec3f> lbs(std::span<const Affine3d> posed, std::span<const Vec3f> from) const {
    std::vector<Vec3f> result(from.size());
    reference::linear_blend<double>(from, weights(), posed, result);
    return result;
  }
  std::vector<Vec3f> lbs(std::span<const Affine3d> posed) const { return lbs(posed, rest().positions); }

  /// All vertices free.
  std::vector<float> room() const { return std::vector<float>(size(), 1); }
  /// Those of the side that bends inwards are not.
  std::vector<float> room_outside() const {
    std::vector<float> result;
    for (const Vec3f& p : rest().positions) result.push_back(p.y() > 0.3f * kRadius ? 0.0f : 1.0f);
    return result;
  }

  /// The capped volume within 1.5 limb radii of a joint.
  double volume(std::span<const Vec3f> positions, std::size_t hinge = 0) const {
    const auto is_near = [&](std::uint32_t v) {
      return (rest().positions[v].cast<double>() - limb.joints[hinge]).norm() <=
             1.5 * static_cast<double>(kRadius);
    };
    std::vector<Triangle> near;
    for (const Triangle& t : rest().triangles)
      if (is_near(t[0]) && is_near(t[1]) && is_near(t[2])) near.push_back(t);
    const ClosedSurface closed = close_surface(positions.size(), near);
    std::vector<Vec3d> places;
    for (const Vec3f& p : positions) places.push_back(p.cast<double>());
    for (const std::vector<std::uint32_t>& border : closed.borders) {
      Vec3d sum = Vec3d::Zero();
      for (const std::uint32_t v : border) sum += positions[v].cast<double>();
      places.push_back(sum / static_cast<double>(border.size()));
    }
    const Vec3d origin = places[near[0][0]];
    double sum = 0;
    for (const Triangle& t : closed.triangles)
      sum += (places[t[0]] - origin).dot((places[t[1]] - origin).cross(places[t[2]] - origin));
    return sum / 6;
  }

  double lost(std::span<const Vec3f> positions, std::size_t hinge = 0) const {
    return 1 - volume(positions, hinge) / volume(rest().positions, hinge);
  }
};

std::vector<Vec3f> fill(const JointFilling& filling, std::span<const Affine3d> posed,
                        std::span<const float> room, std::vector<Vec3f> positions,
                        std::span<const Vec3f> morphed = {}) {
  JointFillingScratch scratch = filling.make_scratch();
  filling.fill(posed, morphed, room, scratch, positions);
  return positions;
}

float largest_difference(std::span<const Vec3f> a, std::span<const Vec3f> b) {
  float largest = 0;
  for (std::size_t v = 0; v < a.size(); ++v)
    if (!((a[v] - b[v]).norm() <= largest)) largest = (a[v] - b[v]).norm();
  return largest;
}

bool same_bits(const Vec3f& a, const Vec3f& b) {
  return std::equal(a.data(), a.data() + 3, b.data(),
                    [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

TEST(JointFilling, RestAndRigidMotionsStay) {
  const Limb limb;
  const JointFilling filling = limb.filling();
  const std::vector<Vec3f> rest(limb.rest().positions.begin(), limb.rest().positions.end());
  const std::vector<Affine3d> still(2, Affine3d::Identity());
  EXPECT_TRUE(fill(filling, still, limb.room(), rest) == rest);
  const Affine3d motion = Eigen::Translation3d(30, -2, 5) * Turn(2, Vec3d(1, 2, -3).normalized());
  const std::vector<Affine3d> moved(2, motion);
  EXPECT_TRUE(fill(filling, moved, limb.room(), limb.lbs(moved)) == limb.lbs(moved));
  // Skin that a layer before has made thin is not the joint's business while it is straight.
  std::vector<Vec3f> thin = rest;
  for (Vec3f& p : thin) p.y() *= 0.8f, p.z() *= 0.8f;
  EXPECT_TRUE(fill(filling, still, limb.room(), thin) == thin);
  const std::vector<Affine3d> little = limb.bent(4.9);
  EXPECT_TRUE(fill(filling, little, limb.room(), limb.lbs(little, thin)) == limb.lbs(little, thin));
  const std::vector<Affine3d> more = limb.bent(10);
  EXPECT_FALSE(fill(filling, more, limb.room(), limb.lbs(more, thin)) == limb.lbs(more, thin));
}

TEST(JointFilling, WhatABendLosesComesBack) {
  const Limb limb(2, 0.2f);
  const JointFilling filling = limb.filling();
  for (const double degrees : {-75.0, 60.0, 90.0, 120.0, 140.0}) {
    const std::vector<Affine3d> posed = limb.bent(degrees);
    const std::vector<Vec3f> before = limb.lbs(posed);
    EXPECT_GT(limb.lost(before), 0.04) << degrees;
    EXPECT_NEAR(limb.lost(fill(filling, posed, limb.room(), before)), 0, 0.0055) << degrees;
    EXPECT_NEAR(limb.lost(fill(filling, posed, limb.room_outside(), before)), 0, 0.0055) << degrees;
  }
}

TEST(JointFilling, AShareOfItComesBack) {
  const Limb limb;
  const std::vector<Affine3d> posed = limb.bent(60);
  const std::vector<Vec3f> before = limb.lbs(posed);
  const double lost = limb.lost(before);
  ASSERT_GT(lost, 0.1);
  for (const double share : {0.25, 0.5, 0.75}) {
    const std::vector<Vec3f> after = fill(limb.filling(share), posed, limb.room(), before);
    EXPECT_NEAR(limb.lost(after), (1 - share) * lost, 0.05 * lost) << share;
  }
  EXPECT_TRUE(fill(limb.filling(0), posed, limb.room(), before) == before);
}

TEST(JointFilling, SkinWithoutRoomStaysAndTheOtherMakesUpForIt) {
  const Limb limb;
  const std::vector<Affine3d> posed = limb.bent(60);
  const std::vector<Vec3f> before = limb.lbs(posed);
  const JointFilling filling = limb.filling();
  const std::vector<float> room = limb.room_outside();
  const std::vector<Vec3f> all = fill(filling, posed, limb.room(), before),
                           some = fill(filling, posed, room, before);
  std::size_t held = 0, farther = 0;
  for (std::size_t v = 0; v < limb.size(); ++v) {
    if (room[v] == 0) {
      EXPECT_EQ(some[v], before[v]) << v;
      held += all[v] != before[v];
    } else {
      farther += (some[v] - before[v]).norm() > (all[v] - before[v]).norm() + 0.01f * kRadius;
    }
  }
  EXPECT_GT(held, 20u);
  EXPECT_GT(farther, 20u);
  // Half of the room counts for half: of all vertices, that is none of it.
  EXPECT_LT(largest_difference(fill(filling, posed, std::vector<float>(limb.size(), 0.5f), before), all),
            1e-5f * kRadius);
  EXPECT_TRUE(fill(filling, posed, std::vector<float>(limb.size(), 0.0f), before) == before);
}

TEST(JointFilling, ItEndsGraduallyWhereThereIsNoRoom) {
  const Limb limb;
  const std::vector<Affine3d> posed = limb.bent(60);
  const std::vector<Vec3f> before = limb.lbs(posed);
  const std::vector<Vec3f> after = fill(limb.filling(), posed, limb.room_outside(), before);
  const auto moved = [&](std::uint32_t v) { return (after[v] - before[v]).norm(); };
  float step = 0, most = 0;
  for (const Triangle& t : limb.rest().triangles)
    for (int k = 0; k < 3; ++k) {
      most = std::max(most, moved(t[k]));
      step = std::max(step, std::abs(moved(t[k]) - moved(t[(k + 1) % 3])));
    }
  EXPECT_GT(most, 0.05f * kRadius);
  EXPECT_LT(step, 0.6f * most);
}

TEST(JointFilling, WhatHasGainedStays) {
  const Limb limb;
  const std::vector<Affine3d> posed = limb.bent(60);
  std::vector<Vec3f> thick(limb.rest().positions.begin(), limb.rest().positions.end());
  for (Vec3f& p : thick) p.y() *= 1.2f, p.z() *= 1.2f;
  const std::vector<Vec3f> before = limb.lbs(posed, thick);
  ASSERT_LT(limb.lost(before), -0.1);
  EXPECT_TRUE(fill(limb.filling(), posed, limb.room(), before) == before);
}

TEST(JointFilling, BordersStayAndNothingGoesFar) {
  const Limb limb;
  const JointFilling filling = limb.filling();
  float farthest = 0;
  for (const double degrees : {90.0, 120.0, 140.0, 170.0}) {
    const std::vector<Affine3d> posed = limb.bent(degrees);
    const std::vector<Vec3f> before = limb.lbs(posed);
    for (const std::vector<float>& room : {limb.room(), limb.room_outside()}) {
      const std::vector<Vec3f> after = fill(filling, posed, room, before);
      for (std::size_t v = 0; v < limb.size(); ++v) {
        // The patch's last ring is 1 radius from the joint.
        if (std::abs(limb.rest().positions[v].x()) > 0.99f * kRadius)
          ASSERT_EQ(after[v], before[v]) << limb.rest().positions[v].transpose();
        farthest = std::max(farthest, (after[v] - before[v]).norm());
      }
    }
  }
  EXPECT_LT(farthest, 1.001f * kMost * kRadius);
  EXPECT_GT(farthest, 0.95f * kMost * kRadius);
}

TEST(JointFilling, SkinGoesOutwards) {
  const Limb limb;
  const std::vector<Affine3d> posed = limb.bent(60);
  const std::vector<Vec3f> before = limb.lbs(posed);
  const std::vector<Vec3f> after = fill(limb.filling(), posed, limb.room(), before);
  // The turn half way, of the ring at the joint.
  const Eigen::AngleAxisf half(bend(30).cast<float>());
  for (std::uint32_t s = 0; s < kSegments; ++s)
    for (const std::uint32_t ring : {kRings / 2 - 1, kRings / 2}) {
      const std::uint32_t v = ring * kSegments + s;
      const Vec3f out = half * Vec3f(0, limb.rest().positions[v].y(), limb.rest().positions[v].z());
      const Vec3f way = after[v] - before[v];
      EXPECT_GT(way.norm(), 0.05f * kRadius) << s;
      EXPECT_GT(way.dot(out), 0.9f * way.norm() * out.norm()) << s;
    }
}

TEST(JointFilling, SizesDoNotMatter) {
  const Limb limb;
  const JointFilling filling = limb.filling();
  std::vector<Affine3d> posed = limb.bent(60);
  const std::vector<Vec3f> plain = fill(filling, posed, limb.room(), limb.lbs(posed));
  const std::vector<Vec3f> far = fill(filling, limb.bent(140), limb.room(), limb.lbs(limb.bent(140)));
  for (const double scale : {0.01, 2.0, 100.0}) {
    const Affine3d larger(Eigen::Scaling(scale));
    const auto scaled = [&](double degrees) {
      posed = limb.bent(degrees);
      for (Affine3d& bone : posed) bone = larger * bone;
      std::vector<Vec3f> result = fill(filling, posed, limb.room(), limb.lbs(posed));
      for (Vec3f& p : result) p /= static_cast<float>(scale);
      return result;
    };
    EXPECT_LT(largest_difference(scaled(60), plain), 1e-4f * kRadius) << scale;
    // There vertices go as far as they may.
    EXPECT_LT(largest_difference(scaled(140), far), 1e-4f * kRadius) << scale;
  }
}

TEST(JointFilling, MorphedJointsGetTheVolumeThatTheyHaveThen) {
  const Limb limb;
  const std::vector<Affine3d> posed = limb.bent(60);
  const JointFilling filling = limb.filling();
  for (const float thickness : {0.8f, 1.1f, 1.3f}) {
    std::vector<Vec3f> morphed(limb.rest().positions.begin(), limb.rest().positions.end());
    for (Vec3f& p : morphed) p.y() *= thickness, p.z() *= thickness;
    const double whole = limb.volume(morphed);
    const std::vector<Vec3f> before = limb.lbs(posed, morphed);
    ASSERT_LT(limb.volume(before), 0.92 * whole);
    EXPECT_NEAR(limb.volume(fill(filling, posed, limb.room(), before, morphed)) / whole, 1, 0.015)
        << thickness;
  }
}

TEST(JointFilling, WhatIsNotFiniteHurtsNobody) {
  const Limb limb(3, 0.2f);  // two patches, which do not meet
  const JointFilling filling = limb.filling();
  const std::vector<Affine3d> posed = limb.limb.posed(std::array{bend(60), bend(60)});
  const std::vector<Vec3f> before = limb.lbs(posed), plain = fill(filling, posed, limb.room(), before);
  const auto x = [&](std::size_t v) { return limb.rest().positions[v].x(); };
  std::size_t first = 0, between = 0;  // vertices in the first patch, and in none
  for (std::size_t v = 0; v < limb.size(); ++v) {
    if (std::abs(x(v) + 0.3f) < 0.02f) first = v;
    if (std::abs(x(v)) < 0.02f) between = v;
  }
  ASSERT_NE(plain[first], before[first]);
  for (const float value : {std::nanf(""), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::max()}) {
    std::vector<Vec3f> spoilt = before;
    spoilt[between].y() = value;
    std::vector<Vec3f> after = fill(filling, posed, limb.room(), spoilt);
    for (std::size_t v = 0; v < limb.size(); ++v)
      ASSERT_TRUE(same_bits(after[v], v == between ? spoilt[v] : plain[v])) << value << " " << v;
    spoilt = before;
    spoilt[first].z() = value;
    after = fill(filling, posed, limb.room(), spoilt);
    for (std::size_t v = 0; v < limb.size(); ++v)
      ASSERT_TRUE(same_bits(after[v], x(v) < 0 ? spoilt[v] : plain[v])) << value << " " << v;
    std::vector<float> room = limb.room();
    room[first] = value;
    for (const Vec3f& p : fill(filling, posed, room, before)) ASSERT_TRUE(p.allFinite()) << value;
    std::vector<Vec3f> morphed(limb.rest().positions.begin(), limb.rest().positions.end());
    morphed[first].x() = value;
    for (const Vec3f& p : fill(filling, posed, limb.room(), before, morphed))
      ASSERT_TRUE(p.allFinite()) << value;
  }
}

TEST(JointFilling, TransformsThatAreNoneMoveNothing) {
  const Limb limb;
  const JointFilling filling = limb.filling();
  const std::vector<Affine3d> posed = limb.bent(60);
  const std::vector<Vec3f> before = limb.lbs(posed);
  for (const double value : {std::nan(""), std::numeric_limits<double>::infinity(), 1e300})
    for (std::size_t bone = 0; bone < 2; ++bone) {
      std::vector<Affine3d> spoilt = posed;
      spoilt[bone].linear()(0, 1) = value;
      EXPECT_TRUE(fill(filling, spoilt, limb.room(), before) == before) << value << " " << bone;
      spoilt[bone].linear().setConstant(value);
      EXPECT_TRUE(fill(filling, spoilt, limb.room(), before) == before) << value << " " << bone;
    }
  for (const Vec3d& scale : {Vec3d(0, 0, 0), Vec3d(1, 0, 1), Vec3d(1, -1, 1), Vec3d(-1, -1, -1)}) {
    std::vector<Affine3d> odd = posed;
    odd[1].linear() = odd[1].linear() * scale.asDiagonal();
    for (const Vec3f& p : fill(filling, odd, limb.room(), limb.lbs(odd))) ASSERT_TRUE(p.allFinite());
    odd[0].linear() = scale.asDiagonal();
    for (const Vec3f& p : fill(filling, odd, limb.room(), limb.lbs(odd))) ASSERT_TRUE(p.allFinite());
  }
}

/// Bones so short that their joints' patches overlap.
struct Spine : Limb {
  Spine() : Limb(5, 0.15f) {}

  std::vector<Affine3d> bent(std::array<double, 4> degrees) const {
    return limb.posed(std::array{bend(degrees[0]), bend(degrees[1]), bend(degrees[2]), bend(degrees[3])});
  }
};

TEST(JointFilling, PatchesThatOverlapAreEachFilled) {
  const Spine spine;
  const JointFilling filling = spine.filling();
  for (const std::array<double, 4>& degrees :
       {std::array{0.0, 60.0, 50.0, 0.0}, std::array{40.0, -50.0, 40.0, -50.0}}) {
    const std::vector<Affine3d> posed = spine.bent(degrees);
    const std::vector<Vec3f> before = spine.lbs(posed);
    const std::vector<Vec3f> after = fill(filling, posed, spine.room(), before);
    for (std::size_t h = 0; h < 4; ++h) {
      if (degrees[h] == 0) continue;
      EXPECT_GT(spine.lost(before, h), 0.02) << h;
      EXPECT_LT(spine.lost(after, h), 0.005) << h;
      // They fill each other, so that some may get a little too much.
      EXPECT_GT(spine.lost(after, h), -0.005) << h;
    }
  }
}

TEST(JointFilling, TheOrderOfPatchesDoesNotMatter) {
  Spine spine;
  const std::vector<Affine3d> posed = spine.bent({30, 90, 40, -60});
  const std::vector<Vec3f> before = spine.lbs(posed),
                           plain = fill(spine.filling(), posed, spine.room(), before);
  std::reverse(spine.hinges.begin(), spine.hinges.end());
  EXPECT_LT(largest_difference(fill(spine.filling(), posed, spine.room(), before), plain), 1e-5f * kRadius);
}

TEST(JointFilling, SameBitsForAnyNumberOfThreadsAndAfterAnyFrame) {
  const Spine spine;
  const JointFilling filling = spine.filling();
  const std::vector<Affine3d> posed = spine.bent({40, 70, -50, 60});
  const std::vector<Vec3f> before = spine.lbs(posed);
  std::vector<Vec3f> one, two;
  tbb::task_arena(1).execute([&] { one = fill(filling, posed, spine.room(), before); });
  tbb::task_arena(2).execute([&] { two = fill(filling, posed, spine.room(), before); });
  EXPECT_FALSE(one == before);
  EXPECT_TRUE(one == two);
  JointFillingScratch scratch = filling.make_scratch();
  for (const double degrees : {80.0, 0.0, 30.0}) {
    const std::vector<Affine3d> other = spine.bent({degrees, 0, -degrees, degrees});
    std::vector<Vec3f> positions = spine.lbs(other);
    filling.fill(other, {}, spine.room(), scratch, positions);
  }
  std::vector<Vec3f> again = before;
  filling.fill(posed, {}, spine.room(), scratch, again);
  EXPECT_TRUE(again == one);
}

TEST(JointFilling, FramesAllocateNothing) {
  if (!test::counts_allocations()) GTEST_SKIP() << "sanitizers do the allocating";
  const Spine spine;
  const JointFilling filling = spine.filling();
  JointFillingScratch scratch = filling.make_scratch();
  const std::vector<Affine3d> posed = spine.bent({40, 70, -50, 60});
  const std::vector<float> room = spine.room();
  std::vector<Vec3f> positions = spine.lbs(posed);
  std::size_t in_frame = 0;
  tbb::task_arena(1).execute([&] {
    const std::size_t before = test::allocations();
    filling.fill(posed, spine.rest().positions, room, scratch, positions);
    in_frame = test::allocations() - before;
  });
  EXPECT_EQ(in_frame, 0u);
  EXPECT_GT(test::allocations(), 0u);
}

TEST(JointFilling, NothingJumpsAsAJointBends) {
  const Limb limb;
  const JointFilling filling = limb.filling();
  JointFillingScratch scratch = filling.make_scratch();
  for (const float thickness : {1.0f, 0.9f})
    for (const std::vector<float>& room : {limb.room(), limb.room_outside()}) {
      std::vector<Vec3f> skin(limb.rest().positions.begin(), limb.rest().positions.end());
      for (Vec3f& p : skin) p.y() *= thickness, p.z() *= thickness;
      std::vector<Vec3f> last(limb.size(), Vec3f::Zero());
      for (double degrees = 0; degrees < 150; degrees += 0.25) {
        const std::vector<Affine3d> posed = limb.bent(degrees);
        const std::vector<Vec3f> before = limb.lbs(posed, skin);
        std::vector<Vec3f> way = before;
        filling.fill(posed, {}, room, scratch, way);
        for (std::size_t v = 0; v < limb.size(); ++v) way[v] -= before[v];
        EXPECT_LT(largest_difference(way, last), 0.016f * kRadius) << degrees << " " << thickness;
        last = way;
      }
    }
}

TEST(JointFilling, SkinThatHasRolledOverIsNotPushed) {
  const Limb limb;
  const JointFilling filling = limb.filling();
  const std::vector<Affine3d> posed = limb.bent(60);
  const std::vector<Vec3f> before = limb.lbs(posed);
  const std::vector<Vec3f> plain = fill(filling, posed, limb.room(), before);
  // Two rings change places outside of the bend: the skin between them faces inwards.
  constexpr std::uint32_t kRing = (kRings / 2 - 1) * kSegments;
  std::vector<Vec3f> rolled = before;
  for (std::uint32_t s = kSegments / 2 - 2; s <= kSegments / 2 + 2; ++s)
    std::swap(rolled[kRing + s], rolled[kRing + kSegments + s]);
  const std::vector<Vec3f> after = fill(filling, posed, limb.room(), rolled);
  for (std::uint32_t s = kSegments / 2 - 2; s <= kSegments / 2 + 2; ++s)
    for (const std::uint32_t v : {kRing + s, kRing + kSegments + s}) {
      EXPECT_GT((plain[v] - before[v]).norm(), 0.05f * kRadius) << s;
      EXPECT_EQ(after[v], rolled[v]) << s;
    }
  EXPECT_GT((after[kRing] - rolled[kRing]).norm(), 0.05f * kRadius);
}

TEST(JointFilling, OpenLimbsAreFilledAndHolesStay) {
  // Without its ends, and with a hole at the elbow.
  const Limb limb;
  constexpr std::uint32_t kHole = kRings / 2 * kSegments + kSegments / 2;
  std::vector<Triangle> triangles;
  for (const Triangle& t : limb.rest().triangles)
    if (std::none_of(t.begin(), t.end(), [&](std::uint32_t v) { return v + 2 >= limb.size() || v == kHole; }))
      triangles.push_back(t);
  const JointFilling filling({limb.rest().positions, triangles}, limb.weights(), limb.hinges, 1);
  const std::vector<Affine3d> posed = limb.bent(60);
  const std::vector<Vec3f> before = limb.lbs(posed);
  const std::vector<Vec3f> after = fill(filling, posed, limb.room(), before);
  EXPECT_LT(limb.lost(after), 0.2 * limb.lost(before));
  EXPECT_GT(limb.lost(after), -0.02);
  std::size_t round_it = 0;
  for (const Triangle& t : limb.rest().triangles) {
    if (std::find(t.begin(), t.end(), kHole) == t.end()) continue;
    for (const std::uint32_t v : t) EXPECT_EQ(after[v], before[v]);
    ++round_it;
  }
  EXPECT_GE(round_it, 4u);
}

TEST(JointFilling, JointsThatAreNotInALimbAreLeftAlone) {
  Limb limb;
  const std::vector<Affine3d> posed = limb.bent(60);
  const std::vector<Vec3f> before = limb.lbs(posed);
  // Under one side of it, so that the patch is a lid; and nowhere.
  for (const double height : {1.3, 20.0}) {
    limb.hinges[0].position = Vec3d(0, height * static_cast<double>(kRadius), 0);
    EXPECT_TRUE(fill(limb.filling(), posed, limb.room(), before) == before) << height;
  }
  limb.hinges[0] = {"moves nothing", 8, 7, Vec3d::Zero()};
  const std::vector<Affine3d> many(9, Affine3d::Identity());
  EXPECT_TRUE(fill(limb.filling(), many, limb.room(), before) == before);
  limb.hinges.clear();
  EXPECT_TRUE(fill(limb.filling(), posed, limb.room(), before) == before);
}

TEST(JointFilling, RefusesWeightsOfAnotherMesh) {
  const Limb limb;
  SkinWeights weights = limb.weights();
  WeightRepairs repairs;
  Influence row[1] = {{0, 1}};
  append_row(weights, row, 0, repairs);
  EXPECT_THROW(JointFilling(limb.rest(), weights, limb.hinges, 1), Error);
  EXPECT_THROW(JointFilling(limb.rest(), {}, limb.hinges, 1), Error);
  EXPECT_NO_THROW(JointFilling({}, {}, {}, 1));
}

}  // namespace
}  // namespace sinew
