#include <sinew/character/performer.h>
#include <sinew/core/index.h>

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <sinew/core/parallel.h>

#include "tests/reference/skinning.h"

#include "tests/support/grid_tube.h"

namespace sinew {
namespace {

Pose bent(const Character& character, float radians) {
  Pose pose = character.rest_pose();
  pose.joints[1].rotation = Quatf(Eigen::AngleAxisf(radians, Vec3f::UnitZ()));
  return pose;
}

std::vector<Vec3f> copy(std::span<const Vec3f> values) {
  return {values.begin(), values.end()};
}

TEST(Performer, LayersDeformAsTheirFormulasSay) {
  const Scene scene = test::make_grid_tube();
  for (const char* method : {"lbs", "dqs"}) {
    const auto character = Character::make(scene, recipe_for_method(method));
    Performer performer(character);
    const Pose pose = bent(*character, 1.5f);
    performer.perform(pose);
    std::vector<Affine3d> world(scene.skeleton.size()), posed;
    forward_kinematics(scene.skeleton, pose.joints, world);
    for (const Binding& binding : character->bindings())
      posed.push_back(world[to_size(binding.joint)] * binding.joint_from_rest);
    std::vector<Vec3f> expected(character->rest().size());
    if (std::string(method) == "lbs")
      reference::linear_blend<double>(character->rest(), character->skin_weights(), posed, expected);
    else
      reference::dual_quaternion<double>(character->rest(), character->skin_weights(), posed, expected);
    for (std::size_t v = 0; v < expected.size(); ++v)
      ASSERT_LT((performer.welded_positions()[v] - expected[v]).norm(), 2e-6f) << method;
  }
}

TEST(Performer, RestPoseGivesTheRestMesh) {
  const Scene scene = test::make_grid_tube();
  Performer performer(Character::make(scene, Recipe()));
  performer.perform(performer.character().rest_pose());
  for (std::size_t v = 0; v < performer.positions(0).size(); ++v)
    ASSERT_LT((performer.positions(0)[v] - scene.meshes[0].surface.positions[v]).norm(), 1e-6f);
}

TEST(Performer, BadTransformsGiveWayToRest) {
  const auto character = Character::make(test::make_grid_tube(), Recipe());
  Performer performer(character);
  const std::vector<Vec3f> rest = copy(performer.positions(0));
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  const auto broken = [&](auto change) {
    performer.perform(bent(*character, 1));
    EXPECT_FALSE(copy(performer.positions(0)) == rest);
    EXPECT_EQ(performer.rejected_joints(), 0u);
    Pose pose = bent(*character, 1);
    change(pose.joints[1]);
    performer.perform(pose);
    EXPECT_EQ(performer.rejected_joints(), 1u);
    EXPECT_TRUE(copy(performer.positions(0)) == rest);
  };
  broken([&](Transform& t) { t.translation.x() = nan; });
  broken([&](Transform& t) { t.scale.y() = inf; });
  broken([&](Transform& t) { t.rotation.coeffs().setZero(); });
  broken([&](Transform& t) { t.rotation.w() = nan; });
  broken([&](Transform& t) { t.translation.z() = 1e30f; });
  performer.perform(bent(*character, 1));
  performer.perform(Pose());  // no joints at all
  EXPECT_TRUE(copy(performer.positions(0)) == rest);
}

TEST(Performer, MirroredCharactersFaceOutwards) {
  const auto character = Character::make(test::make_grid_tube(), Recipe());
  Performer performer(character);
  Pose pose = character->rest_pose();
  pose.joints[0].scale = {1, -1, 1};
  performer.perform(pose);
  for (std::size_t v = 0; v < 32; ++v) {
    const Vec3f p = performer.positions(0)[v + 320], n = performer.normals(0)[v + 320];
    EXPECT_GT(n.dot(Vec3f(0, p.y(), p.z())), 0) << v;
  }
}

TEST(Performer, HugePosesStayFinite) {
  const auto character = Character::make(test::make_grid_tube(), Recipe());
  Performer performer(character);
  Pose pose = bent(*character, 2);
  pose.joints[0].scale = pose.joints[1].scale = Vec3f::Constant(1e7f);
  pose.joints[0].translation = {1e14f, -1e14f, 1e14f};
  performer.perform(pose);
  for (const Vec3f& p : performer.positions(0)) ASSERT_TRUE(p.allFinite());
  for (const Vec3f& n : performer.normals(0)) ASSERT_TRUE(n.allFinite());
}

TEST(Performer, RotationsNeedNotBeUnit) {
  const auto character = Character::make(test::make_grid_tube(), Recipe());
  Performer performer(character);
  Pose pose = bent(*character, 1);
  performer.perform(pose);
  const std::vector<Vec3f> expected = copy(performer.positions(0));
  pose.joints[1].rotation.coeffs() *= 3;
  performer.perform(pose);
  for (std::size_t v = 0; v < expected.size(); ++v)
    ASSERT_LT((performer.positions(0)[v] - expected[v]).norm(), 1e-5f);
}

TEST(Performer, ManyPerformersShareOneCharacter) {
  const auto character = Character::make(test::make_grid_tube(), Recipe());
  constexpr std::size_t kPerformers = 8;
  std::vector<std::vector<Vec3f>> alone(kPerformers), together(kPerformers);
  for (std::size_t i = 0; i < kPerformers; ++i) {
    Performer performer(character);
    performer.perform(bent(*character, 0.3f * i));
    alone[i] = copy(performer.positions(0));
  }
  std::vector<Performer> performers;
  for (std::size_t i = 0; i < kPerformers; ++i) performers.emplace_back(character);
  parallel_blocks(kPerformers, 1, [&](std::size_t i, std::size_t) {
    for (int frame = 0; frame < 5; ++frame) performers[i].perform(bent(*character, 0.3f * i));
    together[i] = copy(performers[i].positions(0));
  });
  for (std::size_t i = 0; i < kPerformers; ++i) EXPECT_TRUE(alone[i] == together[i]) << i;
}

}  // namespace
}  // namespace sinew
