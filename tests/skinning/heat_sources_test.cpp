#include <sinew/skinning/heat_sources.h>

#include <gtest/gtest.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

HeatSources sources_of(const Mesh& mesh, std::span<const Bone> bones) {
  const OrientedSurface oriented(mesh.view());
  Eigen::AlignedBox3f box;
  for (const Vec3f& p : mesh.positions) box.extend(p);
  const std::vector<double> smallest(mesh.positions.size(), 1e-3 * box.diagonal().norm());
  return find_heat_sources(mesh.positions, outward_normals(mesh.view(), oriented.orientation()), smallest,
                           oriented, bones);
}

Bone bone(int joint, const Vec3d& head, const Vec3d& tail) {
  return {joint, -1, head, tail};
}

// A tube from y = 0 to 1 of radius 0.1, and a bone in each of its halves.
const std::vector<Bone> kHalves{bone(3, {0, 0, 0}, {0, 0.5, 0}), bone(7, {0, 0.5, 0}, {0, 1, 0})};

TEST(HeatSources, NearestBoneAndItsDistance) {
  const Mesh tube = test::make_tube(12, 8, 0.1f, 1.0f, true);
  const HeatSources sources = sources_of(tube, kHalves);
  for (std::size_t v = 0; v < 12 * 9; ++v) {
    const HeatSources::Vertex& source = sources.vertices[v];
    const float y = tube.positions[v].y();
    EXPECT_TRUE(source.sees_bone);
    EXPECT_NEAR(source.distance, 0.1, 1e-6);
    if (y == 0.5f) {
      ASSERT_EQ(source.count, 2);  // equally near
      EXPECT_EQ(source.joints[0] + source.joints[1], 10u);
    } else {
      ASSERT_EQ(source.count, 1);
      EXPECT_EQ(source.joints[0], y < 0.5f ? 3u : 7u);
    }
  }
  EXPECT_EQ(sources.bone_is_outside, (std::vector<std::uint8_t>{0, 0}));
}

TEST(HeatSources, BonesOfOneJointAreNotEquallyNearTwice) {
  const Mesh tube = test::make_tube(12, 8, 0.1f, 1.0f, true);
  const std::vector<Bone> bones{bone(4, {0, 0, 0}, {0, 0.5, 0}), bone(4, {0, 0.5, 0}, {0, 1, 0})};
  for (const HeatSources::Vertex& source : sources_of(tube, bones).vertices) EXPECT_EQ(source.count, 1);
}

TEST(HeatSources, ABoneInTheFleshBeatsANearerOneOutside) {
  const Mesh tube = test::make_tube(12, 8, 0.1f, 1.0f, true);
  const std::vector<Bone> bones{bone(0, {0, 0, 0}, {0, 1, 0}), bone(1, {0.15, 0, 0}, {0.15, 1, 0})};
  const HeatSources sources = sources_of(tube, bones);
  EXPECT_EQ(sources.bone_is_outside, (std::vector<std::uint8_t>{0, 1}));
  for (std::size_t v = 0; v < 12 * 9; ++v) EXPECT_EQ(sources.vertices[v].joints[0], 0u) << v;
}

TEST(HeatSources, ABoneAheadOfALimbDoesNotTakeItsTip) {
  const Mesh tube = test::make_tube(12, 20, 0.1f, 1.0f, true);
  const std::vector<Bone> bones{bone(0, {0, 0, 0}, {0, 0.5, 0}), bone(1, {0, 1.02, 0}, {0, 1.5, 0})};
  const HeatSources sources = sources_of(tube, bones);
  std::size_t nearer_outside = 0;
  for (std::size_t v = 0; v < 12 * 19; ++v) {  // up to 0.9
    EXPECT_EQ(sources.vertices[v].joints[0], 0u) << tube.positions[v].transpose();
    if (tube.positions[v].y() > 0.8f) ++nearer_outside;
  }
  EXPECT_GT(nearer_outside, 20u);
}

TEST(HeatSources, BonesOutsideServeWhereThereIsNoOther) {
  const Mesh tube = test::make_tube(12, 8, 0.1f, 1.0f, true);
  const std::vector<Bone> bones{bone(0, {0.3, 0, 0}, {0.3, 0.5, 0}), bone(1, {0.3, 0.5, 0}, {0.3, 1, 0})};
  const HeatSources sources = sources_of(tube, bones);
  for (std::size_t v = 12; v < 12 * 8; ++v)  // without the rims, which face away from everything
    if (tube.positions[v].y() != 0.5f) {
      EXPECT_EQ(sources.vertices[v].joints[0], tube.positions[v].y() < 0.5f ? 0u : 1u)
          << tube.positions[v].transpose();
    }
}

TEST(HeatSources, AGapCountsForMoreThanFlesh) {
  // Two tubes side by side; the second has its bone at its far side. Its near wall is closer to the first
  // tube's bone, but across the gap.
  const Mesh tubes = test::join(test::make_tube(16, 8, 0.1f, 1.0f, true),
                                test::moved(test::make_tube(16, 8, 0.1f, 1.0f, true), {0.25f, 0, 0}));
  const std::vector<Bone> bones{bone(0, {0.08, 0, 0}, {0.08, 1, 0}), bone(1, {0.33, 0, 0}, {0.33, 1, 0})};
  const HeatSources sources = sources_of(tubes, bones);
  const std::size_t half = tubes.positions.size() / 2;
  std::size_t nearer_to_other = 0;
  for (std::size_t v = half; v < half + 16 * 9; ++v) {
    EXPECT_EQ(sources.vertices[v].joints[0], 1u) << v;
    if (tubes.positions[v].x() < 0.2f) ++nearer_to_other;
  }
  EXPECT_GT(nearer_to_other, 16u);
}

TEST(HeatSources, ASlitDoesNotHideABone) {
  // A sphere in a sphere: a hole in the flesh, such as a mouth. The outer skin sees the bone only through it.
  const Mesh inner = test::make_icosphere(2, 0.3f), outer = test::make_icosphere(2, 1.0f);
  Mesh mesh = test::join(outer, inner);
  const std::vector<Bone> bones{bone(0, {0, -0.05, 0}, {0, 0.05, 0}), bone(1, {0, 4, 0}, {0, 5, 0})};
  const HeatSources sources = sources_of(mesh, bones);
  for (std::size_t v = 0; v < outer.positions.size(); ++v) {
    EXPECT_EQ(sources.vertices[v].joints[0], 0u);
    EXPECT_FALSE(sources.vertices[v].sees_bone);
  }
}

TEST(HeatSources, BonesOnTheSurfaceHaveADistance) {
  const Mesh tube = test::make_tube(12, 8, 0.1f, 1.0f, true);
  const std::vector<Bone> bones{{0, -1, tube.positions[5].cast<double>(), tube.positions[5].cast<double>()}};
  for (const HeatSources::Vertex& source : sources_of(tube, bones).vertices) {
    EXPECT_GE(source.distance, 1e-3);
    EXPECT_EQ(source.count, 1);
  }
}

TEST(HeatSources, TheSameAtAnyScale) {
  const Mesh tube = test::make_tube(12, 8, 0.1f, 1.0f, true);
  const HeatSources expected = sources_of(tube, kHalves);
  for (const float scale : {1.0f / 1024, 1024.0f}) {
    std::vector<Bone> bones = kHalves;
    for (Bone& b : bones) {
      b.head *= scale;
      b.tail *= scale;
    }
    const HeatSources scaled = sources_of(test::moved(tube, {0, 0, 0}, scale), bones);
    for (std::size_t v = 0; v < scaled.vertices.size(); ++v) {
      EXPECT_EQ(scaled.vertices[v].count, expected.vertices[v].count);
      EXPECT_EQ(scaled.vertices[v].joints, expected.vertices[v].joints);
      EXPECT_NEAR(scaled.vertices[v].distance / scale, expected.vertices[v].distance, 1e-9);
    }
  }
}

}  // namespace
}  // namespace sinew
