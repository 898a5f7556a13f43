#include <sinew/effects/volume_freedom.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <random>

#include <gtest/gtest.h>

#include <sinew/core/error.h>

namespace sinew {
namespace {

using Points = std::vector<SwellProfile::Point>;

TEST(SwellProfile, StraightPiecesPassThroughTheirPoints) {
  const SwellProfile profile({{-0.5, 0.2}, {0, 1}, {0.25, 0.5}, {1, 0}}, false);
  EXPECT_FALSE(profile.empty());
  EXPECT_DOUBLE_EQ(profile(-0.5), 0.2);
  EXPECT_DOUBLE_EQ(profile(-0.25), 0.6);
  EXPECT_DOUBLE_EQ(profile(0), 1);
  EXPECT_DOUBLE_EQ(profile(0.1), 0.8);
  EXPECT_DOUBLE_EQ(profile(0.25), 0.5);
  EXPECT_DOUBLE_EQ(profile(0.625), 0.25);
  EXPECT_DOUBLE_EQ(profile(1), 0);
}

TEST(SwellProfile, IsZeroOutside) {
  for (const bool smooth : {false, true}) {
    const SwellProfile profile({{-0.5, 0.2}, {0, 1}, {0.25, 0.5}}, smooth);
    for (const double outside :
         {-0.5001, -1.0, -1e9, 0.2501, 1.0, 1e9, std::nan(""), std::numeric_limits<double>::infinity()})
      EXPECT_EQ(profile(outside), 0) << outside;
    EXPECT_NEAR(profile(-0.5), 0.2, 1e-15);
    EXPECT_NEAR(profile(0.25), 0.5, 1e-15);
  }
  EXPECT_TRUE(SwellProfile().empty());
  EXPECT_EQ(SwellProfile()(0), 0);
}

TEST(SwellProfile, SmoothPiecesPassThroughTheirPointsAndNeverBeyond) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int trial = 0; trial < 100; ++trial) {
    Points points;
    for (double along = -1 + 0.1 * unit(random); along < 1; along += 0.02 + 0.5 * unit(random))
      points.push_back({along, unit(random) < 0.2 ? 0 : unit(random)});
    if (points.size() < 2) continue;
    const SwellProfile profile(points, true);
    for (std::size_t i = 0; i + 1 < points.size(); ++i) {
      const SwellProfile::Point &a = points[i], &b = points[i + 1];
      EXPECT_NEAR(profile(a.along), a.value, 1e-14);
      EXPECT_NEAR(profile(b.along), b.value, 1e-14);
      // Monotone between two points.
      double before = a.value;
      for (int k = 1; k <= 50; ++k) {
        const double now = profile(a.along + (b.along - a.along) * k / 50.001);
        EXPECT_GE((now - before) * (b.value >= a.value ? 1 : -1), -1e-14);
        before = now;
      }
    }
  }
}

TEST(SwellProfile, SmoothPiecesHaveNoCorners) {
  const Points points{{-0.8, 0}, {-0.3, 0.2}, {-0.2, 0.7}, {0.1, 1}, {0.5, 0.3}, {0.9, 0.1}};
  const SwellProfile smooth(points, true), straight(points, false);
  const auto kink = [](const SwellProfile& profile, double at) {
    const double h = 1e-6;
    return std::abs((profile(at + h) - profile(at)) / h - (profile(at) - profile(at - h)) / h);
  };
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    EXPECT_LT(kink(smooth, points[i].along), 1e-3);
    EXPECT_GT(kink(straight, points[i].along), 0.1);
  }
  // Level at its ends and its peak; at a point between, the harmonic mean of the rises on both sides.
  const double h = 1e-6;
  EXPECT_LT((smooth(-0.8 + h) - smooth(-0.8)) / h, 1e-3);
  EXPECT_LT((smooth(0.9 - h) - smooth(0.9)) / h, 1e-3);
  EXPECT_LT(smooth(0.1 + h) - 1, 1e-12);
  EXPECT_NEAR((smooth(-0.3 + h) - smooth(-0.3 - h)) / (2 * h), 2 * 0.4 * 5 / (0.4 + 5), 1e-4);
}

TEST(SwellProfile, TwoSmoothPointsAreAnEase) {
  const SwellProfile profile({{0, 0}, {1, 1}}, true);
  for (const double t : {0.1, 0.25, 0.5, 0.9}) EXPECT_NEAR(profile(t), t * t * (3 - 2 * t), 1e-14);
}

TEST(SwellProfile, RejectsWhatIsNoCurve) {
  for (const bool smooth : {false, true}) {
    EXPECT_THROW(SwellProfile({}, smooth), Error);
    EXPECT_THROW(SwellProfile({{0, 1}}, smooth), Error);
    EXPECT_THROW(SwellProfile({{0, 1}, {0, 0}}, smooth), Error);
    EXPECT_THROW(SwellProfile({{0, 1}, {1, 1}, {0.5, 0}}, smooth), Error);
    EXPECT_THROW(SwellProfile({{0, 1}, {std::nan(""), 1}, {1, 0}}, smooth), Error);
    EXPECT_THROW(SwellProfile({{std::nan(""), 1}, {1, 0}}, smooth), Error);
  }
  try {
    SwellProfile({{-0.5, 1}, {0.25, 1}, {0.125, 0}}, true);
    FAIL();
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("point 2"), std::string::npos) << what;
    EXPECT_NE(what.find("0.125"), std::string::npos) << what;
    EXPECT_NE(what.find("0.25"), std::string::npos) << what;
  }
}

/// Two bones of length 1 along x with the joint 1 between them; skin on rings of 16 about them, every tenth
/// of a bone, near (0.1) and far (0.3) by turns. A long limb of radius 0.1 in the median.
struct Arm {
  std::vector<LimbBone> bones{{0, 1, {0, 0, 0}, {1, 0, 0}}, {1, -1, {1, 0, 0}, {2, 0, 0}}};
  std::vector<LimbPlace> places;
  std::vector<Vec3f> rest;

  explicit Arm(double far = 0.3) {
    for (std::uint32_t b = 0; b < 2; ++b)
      for (int ring = 0; ring < 10; ++ring)
        for (int i = 0; i < 16; ++i) {
          const double along = (ring + 0.5) / 10, angle = i * std::numbers::pi / 8;
          const double distance = ring % 2 == 0 ? 0.1 : far;
          const Vec3d outwards = distance * Vec3d(0, std::cos(angle), std::sin(angle));
          places.push_back({b, along, outwards});
          rest.push_back((Vec3d(b + along, 0, 0) + outwards).cast<float>());
        }
  }
  LimbChart chart() const { return {2, bones, places}; }
  /// Before a tenth of the largest was taken off.
  std::map<std::uint32_t, double> freedom(const FreedomRule& rule) const {
    const std::vector<VolumePatch::Vertex> free = find_freedom(chart(), rest, 1, rule);
    double most = 0;
    for (const VolumePatch::Vertex& v : free) most = std::max(most, v.freedom);
    std::map<std::uint32_t, double> found;
    std::uint32_t next = 0;
    for (const VolumePatch::Vertex& v : free) {
      EXPECT_GE(v.vertex, next) << "not ascending";
      EXPECT_GT(v.freedom, 0);
      next = v.vertex + 1;
      found[v.vertex] = 0.9 * v.freedom + 0.1 * most;
    }
    return found;
  }
  /// From -1 to 1.
  double along(std::uint32_t v) const { return rest[v].x() - 1; }
};

double window(double along) {
  const double t = 1 - std::abs(along);
  return t * t * (3 - 2 * t);
}

TEST(VolumeFreedom, FadesOutAlongTheBones) {
  const Arm arm;
  FreedomRule rule;
  rule.softness = 0;
  const std::map<std::uint32_t, double> found = arm.freedom(rule);
  for (std::uint32_t v = 0; v < arm.rest.size(); ++v) {
    const double expected = window(arm.along(v));
    const auto place = found.find(v);
    if (expected < 0.1 * window(0.05)) {
      EXPECT_EQ(place, found.end()) << "less than a tenth of the largest";
    } else {
      ASSERT_NE(place, found.end()) << v;
      EXPECT_NEAR(place->second, expected, 1e-6);
    }
  }
  EXPECT_LT(found.size(), arm.rest.size());
}

TEST(VolumeFreedom, FollowsTheProfile) {
  const Arm arm;
  FreedomRule rule;
  rule.softness = 0;
  rule.profile = SwellProfile({{-0.5, 0}, {0.2, 1}, {0.6, 0}}, false);
  const std::map<std::uint32_t, double> found = arm.freedom(rule);
  EXPECT_EQ(found.size(), 16u * 10);
  for (const auto& [v, sigma] : found) {
    EXPECT_GT(arm.along(v), -0.5);
    EXPECT_LT(arm.along(v), 0.6);
    EXPECT_NEAR(sigma, rule.profile(arm.along(v)), 1e-6);
  }
  rule.profile = SwellProfile({{0.96, 0}, {0.98, 1}}, true);
  EXPECT_TRUE(arm.freedom(rule).empty()) << "no vertex there";
}

TEST(VolumeFreedom, SoftSkinIsFarFromTheBone) {
  const Arm arm;
  for (const double softness : {0.0, 0.5, 1.0}) {
    FreedomRule rule;
    rule.softness = softness;
    // Far skin, above the ninth decile, is altogether free; the near one has a third of that distance.
    for (const auto& [v, sigma] : arm.freedom(rule)) {
      const double held = arm.places[v].outwards.norm() < 0.2 ? 1 - softness + softness / 3 : 1;
      EXPECT_NEAR(sigma, held * window(arm.along(v)), 1e-6);
    }
  }
  // A few vertices far out do not hold all others.
  Arm spiked;
  for (const std::size_t v : {3u, 100u, 160u, 170u}) spiked.places[v].outwards *= 50;
  FreedomRule rule;
  rule.softness = 1;
  const std::map<std::uint32_t, double> found = spiked.freedom(rule);
  EXPECT_NEAR(found.at(161), window(spiked.along(161)) / 3, 1e-6);
  for (const auto& [v, sigma] : found) EXPECT_LE(sigma, 1) << v;
}

TEST(VolumeFreedom, SwellsOnItsSide) {
  const Arm arm(0.1);
  FreedomRule rule;
  rule.softness = 0;
  rule.side = Vec3d(5, 2, 0);  // what points along the bone does not count
  rule.spread = 0.6;
  const std::map<std::uint32_t, double> found = arm.freedom(rule);
  std::size_t beside = 0;
  for (const auto& [v, sigma] : found) {
    const std::uint32_t turn = v % 16;
    const double angle = std::min(turn, 16 - turn) * std::numbers::pi / 8;
    EXPECT_NEAR(sigma, window(arm.along(v)) * std::exp(-angle * angle / (2 * 0.36)), 1e-6) << v;
    beside += turn != 0;
  }
  EXPECT_GT(beside, 50u);
  EXPECT_FALSE(found.contains(160 + 8)) << "the other side stays";
  EXPECT_TRUE(found.contains(160));
  // Nor does how far a vertex lies along the bone, as beyond a limb's end.
  Arm slanted = arm;
  for (LimbPlace& place : slanted.places) place.outwards.x() = 0.3;
  const std::map<std::uint32_t, double> same = slanted.freedom(rule);
  ASSERT_EQ(same.size(), found.size());
  for (const auto& [v, sigma] : found) EXPECT_NEAR(same.at(v), sigma, 1e-12);
  // Along the bone there is no side.
  rule.side = Vec3d(3, 0, 0);
  EXPECT_TRUE(arm.freedom(rule).empty());
  // On the bone itself neither.
  rule.side = Vec3d(0, 0, 2);
  Arm thin = arm;
  thin.places[164].outwards.setZero();
  EXPECT_FALSE(thin.freedom(rule).contains(164));
  EXPECT_TRUE(arm.freedom(rule).contains(164));
}

TEST(VolumeFreedom, StaysWithinItsRegion) {
  const Arm arm;
  FreedomRule rule;
  rule.softness = 0;
  rule.region = {
      {Vec3d(1.2, 0.1, 0), 0.5}, {Vec3d(0.6, 0, 0), 0.4}, {Vec3d(1, 0, 0), 0.0}, {Vec3d(1, 0, 0), -1.0}};
  const auto inside = [](const Vec3d& p, const FreedomRule::Ball& ball) {
    const double t = std::max(0.0, 1 - (p - ball.centre).norm() / ball.radius);
    return t * t * (3 - 2 * t);
  };
  const std::map<std::uint32_t, double> found = arm.freedom(rule);
  EXPECT_GT(found.size(), 50u);
  EXPECT_LT(found.size(), 250u);
  double most = 0;
  for (const auto& place : found) most = std::max(most, place.second);
  for (std::uint32_t v = 0; v < arm.rest.size(); ++v) {
    const Vec3d p = arm.rest[v].cast<double>();
    const double expected =
        window(arm.along(v)) * std::max(inside(p, rule.region[0]), inside(p, rule.region[1]));
    EXPECT_EQ(found.contains(v), expected > 0.1 * most) << v;
    if (found.contains(v)) {
      EXPECT_NEAR(found.at(v), expected, 1e-6);
    }
  }
  rule.region = {{Vec3d(50, 0, 0), 1}};
  EXPECT_TRUE(arm.freedom(rule).empty());
}

TEST(VolumeFreedom, OfAJointWithoutSkinIsNone) {
  Arm arm;
  arm.places.assign(arm.places.size(), LimbPlace());
  EXPECT_TRUE(arm.freedom({}).empty());
}

TEST(VolumeFreedom, OfSkinOnTheBoneIsNotHeldByIt) {
  // Where all skin lies on the bone, none is softer than the other.
  Arm arm;
  for (LimbPlace& place : arm.places) place.outwards.setZero();
  FreedomRule rule;
  rule.softness = 1;
  const std::map<std::uint32_t, double> found = arm.freedom(rule);
  EXPECT_FALSE(found.empty());
  for (const auto& [v, sigma] : found) EXPECT_NEAR(sigma, window(arm.along(v)), 1e-6);
}

}  // namespace
}  // namespace sinew
