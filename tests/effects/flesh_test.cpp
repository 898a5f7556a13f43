#include <sinew/effects/flesh.h>

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace sinew {
namespace {

/// Rings of four vertices round a bone along y from 0 to 2, at distance 1, and at 2 in front (+z).
struct Limb {
  std::vector<Vec3f> rest;
  std::vector<FleshVertex> all;
  FleshBone bone{Vec3d(0, 0, 0), Vec3d(0, 2, 0), 0, FleshAttenuation::bell};

  Limb() {
    for (int i = -2; i <= 12; ++i) {
      const float y = 0.2f * static_cast<float>(i);
      for (const Vec3f& out : {Vec3f(1, 0, 0), Vec3f(-1, 0, 0), Vec3f(0, 0, 2), Vec3f(0, 0, -1)}) {
        all.push_back({static_cast<std::uint32_t>(rest.size()), 1});
        rest.push_back(out + Vec3f(0, y, 0));
      }
    }
  }
};

TEST(Flesh, AttenuationsFadeOut) {
  for (const FleshAttenuation kind : {FleshAttenuation::bell, FleshAttenuation::parabola}) {
    EXPECT_EQ(flesh_attenuation(kind, 0), 1);
    EXPECT_NEAR(flesh_attenuation(kind, 0.999999), 0, 1e-5);
    for (const double y : {1.0, -1.0, 1.5, -7.0, std::nan("")}) EXPECT_EQ(flesh_attenuation(kind, y), 0);
    for (double y = 0; y < 1; y += 0.05) {
      EXPECT_EQ(flesh_attenuation(kind, y), flesh_attenuation(kind, -y));
      EXPECT_LT(flesh_attenuation(kind, y + 0.05), flesh_attenuation(kind, y));
    }
  }
  // Wyvill's bell is one half at one half, and level at the ends.
  EXPECT_NEAR(flesh_attenuation(FleshAttenuation::bell, 0.5), 0.5, 1e-12);
  EXPECT_LT(flesh_attenuation(FleshAttenuation::bell, 0.99), 0.001);
  EXPECT_GT(flesh_attenuation(FleshAttenuation::parabola, 0.99), 0.01);
  EXPECT_EQ(flesh_attenuation(FleshAttenuation::none, 0.9), 1);
}

TEST(Flesh, WeightsGrowWithTheDistanceAndFadeOutAtTheEnds) {
  const Limb limb;
  const FleshWeights flesh = find_flesh(limb.rest, limb.all, limb.bone);
  EXPECT_NEAR(flesh.thickness, 2, 1e-6) << "in front, in the middle";
  double most = 0;
  for (const FleshVertex& v : flesh.vertices) {
    const Vec3f& p = limb.rest[v.vertex];
    const double y = static_cast<double>(p.y()) - 1;
    const double distance = std::hypot(p.x(), p.z());
    EXPECT_NEAR(v.share, distance * flesh_attenuation(FleshAttenuation::bell, y) / 2, 1e-6);
    EXPECT_LE(v.share * flesh.thickness, distance) << "no vertex crosses the bone";
    most = std::max(most, v.share);
  }
  EXPECT_EQ(most, 1);
  EXPECT_EQ(flesh.vertices.size(), 9u * 4) << "none beyond the bone's ends";
}

TEST(Flesh, BonesHaveAThickness) {
  Limb limb;
  limb.bone.thickness = 1.5;
  const FleshWeights flesh = find_flesh(limb.rest, limb.all, limb.bone);
  EXPECT_NEAR(flesh.thickness, 0.5, 1e-6);
  for (const FleshVertex& v : flesh.vertices) EXPECT_GT(limb.rest[v.vertex].z(), 1);
  limb.bone.thickness = 3;
  EXPECT_TRUE(find_flesh(limb.rest, limb.all, limb.bone).vertices.empty());
  EXPECT_EQ(find_flesh(limb.rest, limb.all, limb.bone).thickness, 0);
}

TEST(Flesh, SharesMultiply) {
  Limb limb;
  for (FleshVertex& v : limb.all) v.share = limb.rest[v.vertex].x() > 0 ? 0.5 : 0;
  const FleshWeights flesh = find_flesh(limb.rest, limb.all, limb.bone);
  EXPECT_NEAR(flesh.thickness, 0.5, 1e-6);
  for (const FleshVertex& v : flesh.vertices) EXPECT_GT(limb.rest[v.vertex].x(), 0);
  EXPECT_TRUE(find_flesh(limb.rest, {}, limb.bone).vertices.empty());
  // A bone without length is a ball.
  limb.bone.tail = limb.bone.head;
  for (FleshVertex& v : limb.all) v.share = 1;
  EXPECT_EQ(find_flesh(limb.rest, limb.all, limb.bone).vertices.size(), limb.rest.size());
}

TEST(Flesh, MovesAndTurnsByShares) {
  const std::vector<FleshVertex> vertices{{0, 1}, {2, 0.5}};
  std::vector<Vec3f> positions{Vec3f(1, 0, 0), Vec3f(5, 5, 5), Vec3f(0, 2, 0)};
  move_flesh(vertices, Vec3d(0.2, 0, 0), Vec3d::Zero(), Vec3d::Zero(), positions);
  EXPECT_EQ(positions[0], Vec3f(1.2f, 0, 0));
  EXPECT_EQ(positions[1], Vec3f(5, 5, 5));
  EXPECT_EQ(positions[2], Vec3f(0.1f, 2, 0));
  positions = {Vec3f(1, 0, 0), Vec3f(5, 5, 5), Vec3f(0, 2, 0)};
  move_flesh(vertices, Vec3d::Zero(), Vec3d(0, 0, 0.1), Vec3d::Zero(), positions);
  EXPECT_LT((positions[0] - Vec3f(std::cos(0.1f), std::sin(0.1f), 0)).norm(), 2e-4f);
  EXPECT_LT((positions[2] - Vec3f(-2 * std::sin(0.05f), 2 * std::cos(0.05f), 0)).norm(), 1e-4f);
}

}  // namespace
}  // namespace sinew
