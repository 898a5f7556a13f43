#include "tests/support/shared_models.h"

#include <gtest/gtest.h>

namespace sinew::test {
namespace {

TEST(SharedModels, AreTheModels) {
  ModelOptions options;
  options.vertices = 160;
  const BuiltModel model = make_model("tube", options);
  const Scene& made = model.scene;
  for (int time = 0; time < 2; ++time) {  // the second is from memory
    const Rig& rig = shared_model("tube", options).rig;
    const Scene& shared = shared_model("tube", options).scene;
    EXPECT_EQ(shared.source, made.source);
    EXPECT_EQ(shared.skeleton, made.skeleton);
    EXPECT_EQ(shared.skins, made.skins);
    EXPECT_EQ(shared.meshes, made.meshes);
    EXPECT_EQ(shared.clips, made.clips);
    EXPECT_EQ(shared.joint_nodes, made.joint_nodes);
    EXPECT_EQ(shared.mesh_nodes, made.mesh_nodes);
    ASSERT_EQ(rig.size(), model.rig.size());
    for (int j = 0; j < static_cast<int>(rig.size()); ++j) {
      EXPECT_EQ(rig[j].name, model.rig[j].name);
      EXPECT_EQ(rig[j].tail, model.rig[j].tail);
      EXPECT_EQ(rig[j].along, model.rig[j].along);
      EXPECT_EQ(rig[j].limits.twist.most, model.rig[j].limits.twist.most);
    }
  }
  EXPECT_EQ(&shared_model("tube", options), &shared_model("tube", options));
}

}  // namespace
}  // namespace sinew::test
