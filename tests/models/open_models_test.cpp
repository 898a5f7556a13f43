#include <sinew/models/open_models.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/geometry/topology.h>

#include "tests/support/solids.h"

namespace sinew {
namespace {

/// Made once: meshing the trousers takes a while under sanitizers.
const Scene& trousers() {
  static const Scene scene = make_open_model("trousers");
  return scene;
}

const Scene& forehead() {
  static const Scene scene = make_open_model("forehead");
  return scene;
}

std::vector<Affine3d> world_at(const Scene& scene, double time) {
  Pose pose = rest_pose(scene);
  sample_clip(scene.clips[0], time, pose);
  std::vector<Affine3d> world(scene.skeleton.size());
  forward_kinematics(scene.skeleton, pose.joints, world);
  return world;
}

/// Linear blend skinning of the only mesh by the only clip.
std::vector<Vec3d> skinned(const Scene& scene, double time) {
  const std::vector<Affine3d> world = world_at(scene, time);
  const SceneMesh& mesh = scene.meshes[0];
  const Skin& skin = scene.skins[0];
  std::vector<Vec3d> posed;
  for (std::size_t v = 0; v < mesh.surface.positions.size(); ++v) {
    Vec3d sum = Vec3d::Zero();
    for (std::size_t k = 0; k < mesh.weights.row_size(v); ++k) {
      const std::uint32_t joint = mesh.weights.row_joints(v)[k];
      const Affine3d bind(skin.joint_from_mesh[joint].cast<double>());
      sum += static_cast<double>(mesh.weights.row_values(v)[k]) *
             (world[to_size(skin.joints[joint])] * bind * mesh.surface.positions[v].cast<double>());
    }
    posed.push_back(sum);
  }
  return posed;
}

Vec3f area_normal(const Mesh& mesh, const Triangle& t) {
  return (mesh.positions[t[1]] - mesh.positions[t[0]]).cross(mesh.positions[t[2]] - mesh.positions[t[0]]);
}

float weight_of(const SceneMesh& mesh, std::size_t vertex, int joint) {
  for (std::size_t k = 0; k < mesh.weights.row_size(vertex); ++k)
    if (mesh.weights.row_joints(vertex)[k] == static_cast<std::uint32_t>(joint))
      return mesh.weights.row_values(vertex)[k];
  return 0;
}

std::string message_of(const std::string& name, const ModelOptions& options) {
  try {
    make_built_in_scene(name, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// What all of them promise.
void expect_sound(const Scene& scene, std::size_t loops, double least_angle) {
  ASSERT_EQ(scene.meshes.size(), 1u);
  const SceneMesh& mesh = scene.meshes[0];
  const TopologyReport report = inspect_topology(mesh.surface.view());
  EXPECT_EQ(report.components, 1u);
  EXPECT_EQ(report.isolated_vertices, 0u);
  EXPECT_EQ(report.non_manifold_vertices, 0u);
  EXPECT_EQ(report.non_manifold_edges, 0u);
  EXPECT_EQ(report.flipped_edges, 0u);
  EXPECT_EQ(report.boundary_loops, loops);
  // A sphere with so many holes.
  EXPECT_EQ(test::euler_number(mesh.surface.view()), 2 - static_cast<long>(loops));
  EXPECT_GT(test::smallest_angle(mesh.surface.view()), least_angle);

  ASSERT_EQ(mesh.weights.rows(), mesh.surface.positions.size());
  std::vector<double> pull(scene.skeleton.size(), 0);
  for (std::size_t v = 0; v < mesh.weights.rows(); ++v) {
    float sum = 0;
    for (std::size_t k = 0; k < mesh.weights.row_size(v); ++k) {
      sum += mesh.weights.row_values(v)[k];
      pull[mesh.weights.row_joints(v)[k]] += static_cast<double>(mesh.weights.row_values(v)[k]);
    }
    ASSERT_NEAR(sum, 1, 1e-5) << v;
  }
  for (std::size_t j = 0; j < pull.size(); ++j)
    EXPECT_GT(pull[j], 10) << scene.skeleton.joints[j].name << " moves nothing";

  ASSERT_EQ(scene.clips.size(), 1u);
  EXPECT_EQ(guess_frame_rate(scene.clips[0]), 30);
  EXPECT_EQ(frame_count(scene.clips[0], 30), 61);
  const std::vector<Vec3d> first = skinned(scene, 0), last = skinned(scene, 2),
                           next = skinned(scene, 1 / 30.0);
  for (std::size_t v = 0; v < first.size(); ++v) {
    ASSERT_LT((first[v] - mesh.surface.positions[v].cast<double>()).norm(), 1e-6) << "rest moves " << v;
    ASSERT_LT((first[v] - last[v]).norm(), 1e-6) << v;
    ASSERT_LT((first[v] - next[v]).norm(), 0.004) << "starts with a jerk at " << v;
  }
}

TEST(OpenModels, AreListedAndMadeByName) {
  EXPECT_EQ(open_model_names(), "forehead, trousers");
  ASSERT_EQ(open_models().size(), 2u);
  for (const OpenModel& model : open_models()) {
    EXPECT_FALSE(model.summary.empty());
    for (const Model& closed : models()) EXPECT_NE(model.name, closed.name);
  }
  EXPECT_EQ(forehead().source, "model:forehead");
  EXPECT_EQ(trousers().source, "model:trousers");
  EXPECT_EQ(make_built_in_scene("forehead").meshes, forehead().meshes);
  EXPECT_EQ(make_built_in_scene("tube", {200, {}}).meshes, make_model("tube", {200, {}}).scene.meshes);
  EXPECT_THROW(make_open_model("tube"), Error);
  EXPECT_THROW(make_open_model("trousers", [](double) { return false; }), Cancelled);
}

TEST(OpenModels, RefuseWhatMakesNoSense) {
  const std::string unknown = message_of("dog", {});
  for (const char* name : {"dog", "there are: tube, arm, hand, mannequin, cat, insect", "forehead, trousers"})
    EXPECT_NE(unknown.find(name), std::string::npos) << unknown;
  EXPECT_NE(message_of("forehead", {500, {}}).find("500 vertices"), std::string::npos);
  EXPECT_NE(message_of("trousers", {0, {1, 1.5, 1, 1}}).find("leg is 1.5"), std::string::npos);
  for (const Proportions& p : {Proportions{2, 1, 1, 1}, {1, 2, 1, 1}, {1, 1, 2, 1}, {1, 1, 1, 2}})
    EXPECT_THROW(make_built_in_scene("forehead", {0, p}), Error);
  EXPECT_NE(message_of("tube", {5, {}}).find("out of range"), std::string::npos);  // still the model's word
}

TEST(OpenModels, ForeheadIsAConvexPatchOfQuads) {
  const Scene& scene = forehead();
  expect_sound(scene, 1, 25);
  const SceneMesh& mesh = scene.meshes[0];
  ASSERT_EQ(mesh.surface.positions.size(), 33u * 21u);
  ASSERT_EQ(mesh.surface.polygons.size(), 32u * 20u);
  Eigen::AlignedBox3f box;
  for (const Vec3f& p : mesh.surface.positions) box.extend(p);
  EXPECT_NEAR(box.sizes().x(), 0.16, 1e-6);
  EXPECT_NEAR(box.sizes().y(), 0.08, 1e-6);
  for (const Triangle& t : mesh.surface.triangles) EXPECT_GT(area_normal(mesh.surface, t).z(), 0);
  // Convex: the surface lies behind the plane of any of its triangles.
  for (std::size_t i = 0; i < mesh.surface.triangles.size(); i += 37) {
    const Triangle& t = mesh.surface.triangles[i];
    const Vec3f normal = area_normal(mesh.surface, t).normalized();
    for (const Vec3f& p : mesh.surface.positions)
      ASSERT_LT(normal.dot(p - mesh.surface.positions[t[0]]), 1e-4) << i;
  }
  // UVs: u to the left of the face (+x), v downwards, one per vertex.
  ASSERT_EQ(mesh.texcoords.corners.size(), mesh.surface.polygons.corners.size());
  for (std::size_t c = 0; c < mesh.texcoords.corners.size(); ++c) {
    const Vec2f uv = mesh.texcoords.values[mesh.texcoords.corners[c]];
    const Vec3f p = mesh.surface.positions[mesh.surface.polygons.corners[c]];
    ASSERT_NEAR(uv.x(), p.x() / 0.16f + 0.5f, 0.05);
    ASSERT_NEAR(uv.y(), 0.5f - p.y() / 0.08f, 0.15);
  }
}

TEST(OpenModels, ForeheadFollowsTheBrowBelowAndTheScalpAbove) {
  const Scene& scene = forehead();
  const int scalp = scene.skeleton.find("scalp"), brow = scene.skeleton.find("brow");
  ASSERT_EQ(scene.skeleton.size(), 2u);
  EXPECT_EQ(scene.skeleton.joints[to_size(brow)].parent, scalp);
  const std::vector<Affine3d> rest = world_at(scene, 0);
  EXPECT_GT(rest[to_size(scalp)].translation().y(), 0.02);
  EXPECT_LT(rest[to_size(brow)].translation().y(), -0.02);
  for (std::size_t v = 0; v < 33 * 21; ++v) {
    const std::size_t row = v / 33;
    const float follows = weight_of(scene.meshes[0], v, brow);
    if (row <= 4)
      ASSERT_EQ(follows, 1) << v;
    else if (row >= 16)
      ASSERT_EQ(follows, 0) << v;
    else
      ASSERT_LT(follows, weight_of(scene.meshes[0], v - 33, brow)) << v;
  }
}

TEST(OpenModels, ForeheadSlidesAlongItselfWithoutFolding) {
  const Scene& scene = forehead();
  const SceneMesh& mesh = scene.meshes[0];
  EXPECT_EQ(scene.clips[0].name, "raise");
  const std::vector<Vec3d> raised = skinned(scene, 1);
  // The middle of the lower border rises by 2 cm of arc on the ellipsoid's circle of 10 cm.
  const Vec3d before = mesh.surface.positions[16].cast<double>();
  EXPECT_NEAR((raised[16] - before).norm(), 2 * 0.1 * std::sin(0.1), 1e-5);
  EXPECT_GT(raised[16].y(), before.y() + 0.018);
  const auto implicit = [](const Vec3d& p) {
    return std::pow(p.x() / 0.12, 2) + std::pow(p.y() / 0.1, 2) + std::pow(p.z() / 0.1, 2);
  };
  for (std::size_t v = 0; v < raised.size(); ++v) {
    const Vec3d rest = mesh.surface.positions[v].cast<double>();
    ASSERT_NEAR(implicit(rest), 1, 1e-5);
    // Blending takes the chord: at most R (1 - cos 0.1) inwards.
    ASSERT_NEAR(implicit(raised[v]), 1, v < 5 * 33 || v >= 16 * 33 ? 1e-5 : 0.011) << v;
    if (v >= 16 * 33) {
      ASSERT_LT((raised[v] - rest).norm(), 1e-7) << v;
    }
    // Rows come nearer to each other, to no less than a third of their distance.
    if (v >= 33) {
      ASSERT_GT(raised[v].y() - raised[v - 33].y(),
                0.33 * (rest.y() - static_cast<double>(mesh.surface.positions[v - 33].y())));
    }
  }
}

TEST(OpenModels, TrousersAreOpenAtWaistAndAnkles) {
  const Scene& scene = trousers();
  expect_sound(scene, 3, 15);
  const Mesh& surface = scene.meshes[0].surface;
  EXPECT_NEAR(static_cast<double>(surface.positions.size()), 4000, 200);
  int waists = 0, left = 0, right = 0;
  for (const BoundaryLoop& loop : boundary_loops(surface.triangles)) {
    EXPECT_TRUE(loop.closed);
    Eigen::AlignedBox3f box;
    for (const std::uint32_t v : loop.vertices) box.extend(surface.positions[v]);
    const Vec3f middle = box.center();
    const bool waist = middle.y() > 0.5f;
    ++(waist ? waists : middle.x() > 0 ? left : right);
    double length = 0;
    for (std::size_t k = 0; k < loop.vertices.size(); ++k) {
      const Vec3f& p = surface.positions[loop.vertices[k]];
      ASSERT_EQ(p.y(), waist ? 1.05f : 0.12f);  // straight
      length +=
          static_cast<double>((p - surface.positions[loop.vertices[(k + 1) % loop.vertices.size()]]).norm());
      if (!waist) {
        ASSERT_NEAR((p - middle).norm(), 0.07, 0.004);
      }
    }
    if (waist) {
      EXPECT_NEAR(length, 0.92, 0.06);
    }
  }
  EXPECT_EQ(waists, 1);
  EXPECT_EQ(left, 1);
  EXPECT_EQ(right, 1);
  for (const Vec3f& p : surface.positions) {
    ASSERT_LE(p.y(), 1.05f);
    ASSERT_GE(p.y(), 0.12f);
  }
}

TEST(OpenModels, TrousersAreLooseRoundTheLegsAndFaceOutwards) {
  const Scene& scene = trousers();
  const Mesh& surface = scene.meshes[0].surface;
  const std::vector<Affine3d> rest = world_at(scene, 0);
  int near_thigh = 0, near_knee = 0;
  for (const char* side : {".L", ".R"}) {
    const std::size_t thigh = to_size(scene.skeleton.find("thigh" + std::string(side))),
                      shin = to_size(scene.skeleton.find("shin" + std::string(side)));
    const Vec3f hip = rest[thigh].translation().cast<float>(), knee = rest[shin].translation().cast<float>();
    EXPECT_EQ(hip.x() > 0, side == std::string(".L"));  // left is +x
    // Radius round the line through hip and knee at a height.
    const auto axis_at = [&](float y) {
      return Vec3f(hip + (y - hip.y()) / (knee.y() - hip.y()) * (knee - hip));
    };
    for (const Vec3f& p : surface.positions) {
      if ((p.x() > 0) != (hip.x() > 0)) continue;
      const float radius = (p - axis_at(p.y())).norm();
      if (std::abs(p.y() - 0.7f) < 0.02f) {
        ASSERT_NEAR(radius, 0.09, 0.006);
        ++near_thigh;
      }
      if (std::abs(p.y() - 0.5f) < 0.02f) {
        ASSERT_NEAR(radius, 0.075, 0.006);
        ++near_knee;
      }
    }
    for (const Triangle& t : surface.triangles) {
      const Vec3f p = (surface.positions[t[0]] + surface.positions[t[1]] + surface.positions[t[2]]) / 3;
      if (p.y() > 0.75f || p.y() < 0.5f || (p.x() > 0) != (hip.x() > 0)) continue;
      ASSERT_GT(area_normal(surface, t).normalized().dot((p - axis_at(p.y())).normalized()), 0.8f);
    }
  }
  EXPECT_GT(near_thigh, 50);
  EXPECT_GT(near_knee, 50);
}

TEST(OpenModels, TrousersSitDown) {
  const Scene& scene = trousers();
  EXPECT_EQ(scene.clips[0].name, "sit");
  ASSERT_EQ(scene.skeleton.size(), 5u);
  const std::vector<Affine3d> rest = world_at(scene, 0), deepest = world_at(scene, 1);
  const auto at = [&](const std::vector<Affine3d>& world, const std::string& joint) -> const Affine3d& {
    return world[to_size(scene.skeleton.find(joint))];
  };
  EXPECT_EQ(scene.skeleton.find("hips"), 0);
  EXPECT_TRUE(at(deepest, "hips").isApprox(at(rest, "hips"), 1e-6));
  for (const std::string side : {".L", ".R"}) {
    // Knees come forward to the hips' height; shins then hang down, 5° further than upright.
    const Vec3d thigh = at(rest, "shin" + side).translation() - at(rest, "thigh" + side).translation();
    const Vec3d raised = at(deepest, "shin" + side).translation() - at(deepest, "thigh" + side).translation();
    EXPECT_NEAR(raised.z(), -thigh.y(), 1e-3);
    EXPECT_NEAR(raised.y(), 0, 1e-3);
    const Vec3d down = at(deepest, "shin" + side).linear() * -Vec3d::UnitY();
    EXPECT_LT(down.y(), -0.99);
    EXPECT_NEAR(down.z(), -std::sin(5 * M_PI / 180), 5e-3);
  }
  // Also the cloth: finite, not torn out anywhere, and the shape is that of somebody who sits.
  const SceneMesh& mesh = scene.meshes[0];
  const std::vector<Vec3d> posed = skinned(scene, 1);
  Eigen::AlignedBox3d box;
  for (const Vec3d& p : posed) {
    ASSERT_TRUE(p.allFinite());
    box.extend(p);
  }
  EXPECT_GT(box.max().z(), 0.4);
  EXPECT_GT(box.min().y(), 0.45);
  // The waistband stays.
  for (std::size_t v = 0; v < posed.size(); ++v)
    if (mesh.surface.positions[v].y() > 1.03f) {
      ASSERT_LT((posed[v] - mesh.surface.positions[v].cast<double>()).norm(), 1e-6) << v;
    }
  for (const Triangle& t : mesh.surface.triangles) {
    const double area = (posed[t[1]] - posed[t[0]]).cross(posed[t[2]] - posed[t[0]]).norm();
    ASSERT_LT(area, 3 * static_cast<double>(area_normal(mesh.surface, t).norm()));
  }
}

}  // namespace
}  // namespace sinew
