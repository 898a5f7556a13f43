// Sinew's LBS and DQS on a real character against Blender 3.4's, vertex by vertex.
#include <algorithm>

#include <gtest/gtest.h>

#include <sinew/character/performer.h>
#include <sinew/scene/scene.h>

#include "tests/support/assets.h"

namespace sinew {
namespace {

void compare(const std::string& method, const std::string& expected_file) {
  const auto character_file = test::asset("human.glb"), expected_obj = test::asset(expected_file);
  if (!character_file) GTEST_SKIP() << test::missing_asset("human.glb");
  if (!expected_obj) GTEST_SKIP() << test::missing_asset(expected_file);
  const Scene scene = read_scene(*character_file);
  const auto bend = std::find_if(scene.clips.begin(), scene.clips.end(),
                                 [](const Clip& clip) { return clip.name == "bend"; });
  ASSERT_NE(bend, scene.clips.end());
  const auto character = Character::make(scene, recipe_for_method(method));
  Performer performer(character);
  Pose pose = character->rest_pose();
  sample_clip(*bend, bend->duration(), pose);
  performer.perform(pose);
  const Scene expected = read_scene(*expected_obj);
  const auto& positions = expected.meshes.at(0).surface.positions;
  ASSERT_EQ(positions.size(), performer.positions(0).size());
  float worst = 0;
  for (std::size_t v = 0; v < positions.size(); ++v)
    worst = std::max(worst, (positions[v] - performer.positions(0)[v]).norm());
  ::testing::Test::RecordProperty("worst_metres", std::to_string(worst));
  EXPECT_LT(worst, 1e-5f);
}

TEST(BlenderAgreement, LinearBlend) {
  compare("lbs", "human_bend_last_lbs.obj");
}
TEST(BlenderAgreement, DualQuaternion) {
  compare("dqs", "human_bend_last_dqs.obj");
}

}  // namespace
}  // namespace sinew
