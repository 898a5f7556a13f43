#include <sinew/skinning/bind.h>

#include <limits>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/geometry/weld.h>
#include <sinew/scene/scene.h>
#include <sinew/skeleton/flesh_bones.h>

#include "tests/support/assets.h"
#include "tests/support/binding_checks.h"
#include "tests/support/meshes.h"

namespace sinew {
namespace {

using test::weight_of;

// A chain of five bones in a tube from y = 0 to 1.
std::vector<Bone> chain() {
  std::vector<Bone> bones;
  for (int j = 0; j < 5; ++j) bones.push_back({j, -1, {0, 0.2 * j, 0}, {0, 0.2 * (j + 1), 0}});
  return bones;
}

Mesh body() {
  return test::make_tube(12, 30, 0.2f, 1.0f, true);
}

TEST(Bind, RowsObeyInfluencesAndPrune) {
  const Mesh tube = body();
  const std::vector<Bone> bones = chain();
  std::size_t longest = 0;
  for (const std::size_t influences : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{4}})
    for (const double prune : {0.0, 0.01, 0.2}) {
      BindOptions options;
      options.influences = influences;
      options.prune = prune;
      const SkinWeights weights = bind_surface(tube.view(), bones, options);
      EXPECT_EQ(test::weights_fault(weights, tube.positions.size(), bones, options), "");
      if (influences == 0 && prune == 0)
        for (std::size_t v = 0; v < weights.rows(); ++v) longest = std::max(longest, weights.row_size(v));
    }
  EXPECT_GT(longest, 2u);  // else the limits were not tried
}

TEST(Bind, RigidFollowsTheStrongestJoint) {
  const Mesh tube = body();
  BindOptions options;
  options.method = BindMethod::rigid;
  const SkinWeights rigid = bind_surface(tube.view(), chain(), options);
  const SkinWeights heat = bind_surface(tube.view(), chain());
  for (std::size_t v = 0; v < tube.positions.size(); ++v) {
    ASSERT_EQ(rigid.row_size(v), 1u);
    EXPECT_EQ(rigid.row_values(v)[0], 1.0f);
    EXPECT_EQ(rigid.row_joints(v)[0], heat.row_joints(v)[0]);
  }
}

TEST(Bind, SmoothSpreads) {
  const Mesh tube = body();
  BindOptions options;
  options.method = BindMethod::rigid;
  options.smooth = 5;
  const SkinWeights smooth = bind_surface(tube.view(), chain(), options);
  std::size_t blended = 0;
  for (std::size_t v = 0; v < tube.positions.size(); ++v)
    if (smooth.row_size(v) > 1) ++blended;
  EXPECT_GT(blended, tube.positions.size() / 3);
}

TEST(Bind, LockedWeightsStay) {
  const Mesh tube = body();
  std::vector<Bone> bones = chain();
  bones.erase(bones.begin() + 2);
  BindOptions options;
  // Joint 2 holds 0.25 of every other vertex and all of each seventh.
  for (std::size_t v = 0; v < tube.positions.size(); ++v) {
    options.locked.starts.push_back(options.locked.starts.back());
    if (v % 7 == 0 || v % 2 == 0) {
      options.locked.joints.push_back(2);
      options.locked.values.push_back(v % 7 == 0 ? 1.0f : 0.25f);
      ++options.locked.starts.back();
    }
  }
  const SkinWeights weights = bind_surface(tube.view(), bones, options);
  const SkinWeights free = bind_surface(tube.view(), bones);
  for (std::size_t v = 0; v < tube.positions.size(); ++v) {
    const float locked = v % 7 == 0 ? 1.0f : v % 2 == 0 ? 0.25f : 0.0f;
    EXPECT_NEAR(weight_of(weights, v, 2), locked, 1e-6);
    double sum = 0;
    for (const float w : weights.row_values(v)) sum += w;
    EXPECT_NEAR(sum, 1, 1e-6);
    if (free.row_size(v) < 4) {
      EXPECT_NEAR(weight_of(weights, v, 0), (1 - locked) * weight_of(free, v, 0), 1e-5);
    }
  }
}

TEST(Bind, LockedWeightsNeverGrow) {
  // Four light locked weights and four places: one gives way, so that the rest has a joint to go to.
  const Mesh tube = body();
  BindOptions options;
  for (std::size_t v = 0; v < tube.positions.size(); ++v) {
    for (std::uint32_t joint = 10; joint < 14; ++joint) {
      options.locked.joints.push_back(joint);
      options.locked.values.push_back(0.02f + 0.001f * static_cast<float>(joint));
    }
    options.locked.starts.push_back(static_cast<std::uint32_t>(options.locked.joints.size()));
  }
  const SkinWeights weights = bind_surface(tube.view(), chain(), options);
  for (std::size_t v = 0; v < tube.positions.size(); ++v) {
    EXPECT_EQ(weights.row_size(v), 4u);
    for (int joint = 11; joint < 14; ++joint)
      EXPECT_NEAR(weight_of(weights, v, joint), 0.02 + 0.001 * joint, 1e-6);
    EXPECT_EQ(weight_of(weights, v, 10), 0);
  }
}

TEST(Bind, CuttingInfluencesKeepsSidesEqual) {
  // A tube along the mirror plane with three bones in it and a pair beside it, whose weights are equal there.
  const Mesh tube = test::make_tube(16, 12, 0.2f, 1.0f, true);
  const std::vector<Bone> bones{{0, -1, {0, 0, 0}, {0, 0.35, 0}},
                                {1, -1, {0, 0.35, 0}, {0, 0.65, 0}},
                                {2, -1, {0, 0.65, 0}, {0, 1, 0}},
                                {3, -1, {0.1, 0.3, 0}, {0.1, 0.7, 0}},
                                {4, -1, {-0.1, 0.3, 0}, {-0.1, 0.7, 0}}};
  BindOptions options;
  options.symmetry = BindSymmetry{{}, {0, 1, 2, 4, 3}};
  std::size_t both = 0;
  for (const BindMethod method : {BindMethod::heat, BindMethod::envelope, BindMethod::rigid}) {
    options.method = method;
    const SkinWeights weights = bind_surface(tube.view(), bones, options);
    for (std::size_t v = 0; v < tube.positions.size(); ++v)
      if (std::abs(tube.positions[v].x()) < 1e-6f && method != BindMethod::rigid) {
        EXPECT_EQ(weight_of(weights, v, 3), weight_of(weights, v, 4)) << v;
        if (weight_of(weights, v, 3) > 0) ++both;
      }
  }
  EXPECT_GT(both, 5u);
}

TEST(Bind, ReportsUnusedJoints) {
  const Mesh tube = body();
  std::vector<Bone> bones = chain();
  bones.push_back({9, -1, {50, 0, 0}, {51, 0, 0}});
  BindReport report;
  bind_surface(tube.view(), bones, {}, &report);
  EXPECT_EQ(report.unused_joints, std::vector<int>{9});
  EXPECT_EQ(report.vertices, tube.positions.size());
  EXPECT_EQ(report.unbound_vertices, 0u);
}

TEST(Bind, RefusesWhatCannotBe) {
  const Mesh tube = body();
  const std::vector<Bone> bones = chain();
  EXPECT_THROW(bind_surface(tube.view(), {}), Error);
  const auto refuses = [&](const auto& change) {
    BindOptions options;
    change(options);
    EXPECT_THROW(bind_surface(tube.view(), bones, options), Error);
  };
  refuses([](BindOptions& o) { o.prune = -0.1; });
  refuses([](BindOptions& o) { o.prune = std::numeric_limits<double>::quiet_NaN(); });
  refuses([](BindOptions& o) { o.prune = 0.6; });
  refuses([](BindOptions& o) { o.smooth = -1; });
  refuses([](BindOptions& o) { o.sharpness = 0.5; });
  refuses([](BindOptions& o) { o.locked.starts = {0, 0}; });
  refuses([&](BindOptions& o) {  // joint 1 has a bone
    o.locked.starts.assign(tube.positions.size() + 1, 1);
    o.locked.starts[0] = 0;
    o.locked.joints = {1};
    o.locked.values = {0.5f};
  });
  std::vector<Bone> far = bones;
  far[2].tail.x() = 1e300;
  EXPECT_THROW(bind_surface(tube.view(), far), Error);
  far[2].tail.x() = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(bind_surface(tube.view(), far), Error);
  Mesh broken = tube;
  broken.positions[3].y() = std::numeric_limits<float>::infinity();
  EXPECT_THROW(bind_surface(broken.view(), bones), Error);
  broken = tube;
  broken.triangles[3][1] = 100'000;
  EXPECT_THROW(bind_surface(broken.view(), bones), Error);
}

TEST(Bind, NearerToAnArtistsWeightsThanBlender) {
  const auto path = test::asset("human.glb");
  if (!path) GTEST_SKIP() << test::missing_asset("human.glb");
  const Scene scene = read_scene(*path);
  const SceneMesh& mesh = scene.meshes.at(0);
  const Skin& skin = scene.skins.at(0);
  std::vector<Affine3d> world(scene.skeleton.size(), Affine3d::Identity());
  for (std::size_t i = 0; i < skin.joints.size(); ++i)
    world[to_size(skin.joints[i])] = Affine3d(skin.joint_from_mesh[i].cast<double>()).inverse();
  const Weld weld = weld_vertices(mesh.surface.positions);
  const std::vector<Vec3f> positions = welded_positions(weld, mesh.surface.positions);
  const WeldedTriangles welded = weld_triangles(weld, mesh.surface.triangles);
  const MeshView surface{positions, welded.triangles};
  const OrientedSurface oriented(surface);
  const SkinWeights weights =
      bind_surface(surface, bones_in_flesh(scene.skeleton, world, oriented), {}, nullptr, &oriented);

  SkinWeights artists = mesh.weights;
  for (std::uint32_t& joint : artists.joints) joint = static_cast<std::uint32_t>(skin.joints[joint]);
  double distance = 0;
  std::size_t other_strongest = 0;
  for (std::size_t v = 0; v < mesh.surface.positions.size(); ++v) {
    const std::uint32_t w = weld.welded_of_vertex[v];
    distance += test::total_variation(weights, w, artists, v);
    if (weights.row_joints(w)[0] != artists.row_joints(v)[0]) ++other_strongest;
  }
  distance /= static_cast<double>(mesh.surface.positions.size());
  // Blender 3.4's bone heat: 0.242 and 2 611.
  EXPECT_LT(distance, 0.165);
  EXPECT_LT(other_strongest, 1700u);
}

}  // namespace
}  // namespace sinew
