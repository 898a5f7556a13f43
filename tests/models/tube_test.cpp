#include <sinew/models/tube.h>

#include <cmath>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/geometry/topology.h>
#include <sinew/geometry/volume.h>

namespace sinew {
namespace {

TEST(Tube, IsClosedAndFacesOutwards) {
  const Scene scene = make_tube();
  const MeshView mesh = scene.meshes[0].surface.view();
  EXPECT_TRUE(inspect_topology(mesh).watertight());
  EXPECT_NEAR(enclosed_volume(mesh), M_PI * 0.04 * 2, 0.005);
}

TEST(Tube, ClipsReachTheirEnd) {
  const Scene scene = make_tube();
  ASSERT_EQ(scene.clips.size(), 2u);
  for (const Clip& clip : scene.clips) {
    EXPECT_EQ(frame_count(clip, 30), 151);
    Pose pose = rest_pose(scene);
    sample_clip(clip, 150 / 30.0, pose);
    EXPECT_NEAR(pose.joints[1].rotation.angularDistance(Quatf::Identity()), 150 * M_PI / 180, 1e-4);
  }
}

TEST(Tube, RefusesOptionsOutOfRange) {
  EXPECT_THROW(make_tube({2, 32}), Error);
  EXPECT_THROW(make_tube({64, 2}), Error);
  EXPECT_THROW(make_tube({64, 32, -1}), Error);
  EXPECT_THROW(make_tube({64, 32, 2, 0}), Error);
}

}  // namespace
}  // namespace sinew
