#include <sinew/character/rest_joints.h>

#include <algorithm>
#include <array>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/grid_tube.h"

namespace sinew {
namespace {

TEST(RestJoints, AreMadeOncePerCharacter) {
  const auto character = Character::make(test::make_grid_tube(), Recipe());
  std::array<const RestJoints*, 4> seen{};
  std::vector<std::thread> threads;
  for (const RestJoints*& joints : seen)
    threads.emplace_back([&joints, &character] { joints = &character->rest_joints(); });
  for (std::thread& thread : threads) thread.join();
  for (const RestJoints* joints : seen) EXPECT_EQ(joints, &character->rest_joints());
  const auto other = Character::make(test::make_grid_tube(), Recipe());
  EXPECT_NE(&other->rest_joints(), &character->rest_joints());
}

TEST(RestJoints, LieWhereTheBindMatricesPutThem) {
  const Scene scene = test::make_grid_tube();
  const auto character = Character::make(scene, Recipe());
  const RestJoints& joints = character->rest_joints();
  ASSERT_EQ(character->bindings().size(), 2u);
  EXPECT_TRUE(joints.is_usable(0) && joints.is_usable(1));
  EXPECT_FALSE(joints.is_solid(0));
  EXPECT_LT((joints.place(1) - Vec3d::Zero()).norm(), 1e-6) << "the joint in the tube's middle";
  EXPECT_EQ(joints.binding_beside(0, character->bindings()[1].joint), 1);
  ASSERT_EQ(joints.bones_of(character->bindings()[0].joint).size(), 1u);
  EXPECT_EQ(joints.bones_of(character->bindings()[0].joint)[0].child, character->bindings()[1].joint);
}

}  // namespace
}  // namespace sinew
