#include <sinew/skinning/heat_weights.h>

#include <gtest/gtest.h>

#include "tests/reference/heat_weights.h"
#include "tests/support/binding_checks.h"
#include "tests/support/meshes.h"

namespace sinew {
namespace {

using test::weight_of;

// A tube from y = 0 to 1 of radius 0.1, and a bone in each of its halves.
const std::vector<Bone> kHalves{{0, 1, {0, 0, 0}, {0, 0.5, 0}}, {1, -1, {0, 0.5, 0}, {0, 1, 0}}};

Mesh body() {
  return test::make_tube(16, 20, 0.1f, 1.0f, true);
}

TEST(HeatWeights, AreThePapersWhereItApplies) {
  const Mesh tube = body();
  // The caps' middles are not on a bone: the paper divides by the distance.
  std::vector<Bone> bones = kHalves;
  bones[0].head.y() = 0.05;
  bones[1].tail.y() = 0.95;
  const SkinWeights weights = heat_weights(tube.view(), bones, {.sharpness = 1});
  const Eigen::MatrixXd expected = reference::heat_weights(tube.view(), bones);
  for (std::size_t v = 0; v < tube.positions.size(); ++v)
    for (int j = 0; j < 2; ++j) {
      const double heat = expected(static_cast<Eigen::Index>(v), j);
      // Where one weight is dropped for being too light, the other is 1.
      const bool both = weights.row_size(v) == 2;
      EXPECT_NEAR(weight_of(weights, v, j), heat > 1e-3 ? heat : 0, both ? 1e-5 : 2e-3) << v;
    }
}

TEST(HeatWeights, SharpnessShortensTheTails) {
  const Mesh tube = body();
  const SkinWeights plain = heat_weights(tube.view(), kHalves, {.sharpness = 1});
  const SkinWeights sharp = heat_weights(tube.view(), kHalves, {.sharpness = 2});
  std::size_t blended = 0;
  for (std::size_t v = 0; v < tube.positions.size(); ++v) {
    const double w = weight_of(plain, v, 0), u = weight_of(plain, v, 1);
    EXPECT_NEAR(weight_of(sharp, v, 0), w * w / (w * w + u * u), 1e-5);
    if (w > 0.1 && w < 0.9) ++blended;
  }
  EXPECT_GT(blended, 32u);
}

TEST(HeatWeights, InsideOutIsTheSame) {
  const Mesh tube = body();
  Mesh inside_out = tube;
  for (Triangle& f : inside_out.triangles) std::swap(f[1], f[2]);
  const SkinWeights weights = heat_weights(tube.view(), kHalves);
  const SkinWeights other = heat_weights(inside_out.view(), kHalves);
  for (std::size_t v = 0; v < tube.positions.size(); ++v)
    EXPECT_LT(test::total_variation(weights, v, other, v), 1e-4);
}

TEST(HeatWeights, PiecesThatSeeNoBoneFollowWhatTheySitOn) {
  const Mesh tube = body();
  // A button on the skin at a quarter, one at half height, and a stray vertex near the top.
  Mesh mesh = test::join(tube, test::moved(test::make_cube(0.02f), {0.115f, 0.25f, 0}));
  mesh = test::join(mesh, test::moved(test::make_cube(0.02f), {0, 0.5f, 0.115f}));
  mesh.positions.push_back({0.2f, 0.9f, 0});
  HeatReport report;
  const SkinWeights weights = heat_weights(mesh.view(), kHalves, {}, &report);
  EXPECT_EQ(report.components, 4u);
  EXPECT_EQ(report.linked_components, 3u);
  EXPECT_EQ(report.linked_vertices, 17u);
  EXPECT_EQ(report.stray_vertices, 1u);
  const SkinWeights alone = heat_weights(tube.view(), kHalves);
  const std::size_t first = tube.positions.size();
  for (std::size_t v = 0; v < first; ++v)  // the body does not care
    EXPECT_LT(test::total_variation(weights, v, alone, v), 1e-5);
  for (std::size_t v = first; v < first + 8; ++v) EXPECT_GT(weight_of(weights, v, 0), 0.95f);
  for (std::size_t v = first + 8; v < first + 16; ++v) EXPECT_NEAR(weight_of(weights, v, 0), 0.5, 0.15);
  EXPECT_GT(weight_of(weights, first + 16, 1), 0.95f);
}

TEST(HeatWeights, PiecesNearerToABoneThanToAnySurfaceFollowTheBone) {
  // A rod whose bone lies past its end, hidden from its walls by the end's cap, and a body far away.
  const Mesh mesh = test::join(test::moved(body(), {20, 0, 0}), body());
  const std::vector<Bone> bones{{0, -1, {20, 0, 0}, {20, 1, 0}}, {5, -1, {0, 1.2, 0}, {0, 1.5, 0}}};
  HeatReport report;
  const SkinWeights weights = heat_weights(mesh.view(), bones, {}, &report);
  EXPECT_GT(report.blind_vertices, 200u);
  EXPECT_EQ(report.linked_vertices, 0u);
  for (std::size_t v = 0; v < mesh.positions.size(); ++v)
    EXPECT_EQ(weight_of(weights, v, v < mesh.positions.size() / 2 ? 0 : 5), 1.0f);
}

TEST(HeatWeights, ClothesFollowTheBodyUnderThem) {
  const Mesh tube = body();
  const Mesh sleeve = test::moved(test::make_tube(16, 20, 0.12f, 1.0f), {0, 0, 0});  // open, 2 cm outside
  const Mesh mesh = test::join(tube, sleeve);
  HeatReport report;
  const SkinWeights weights = heat_weights(mesh.view(), kHalves, {}, &report);
  EXPECT_EQ(report.linked_vertices, sleeve.positions.size());
  double difference = 0;
  for (std::size_t v = 0; v < sleeve.positions.size(); ++v)
    difference += test::total_variation(weights, v, weights, tube.positions.size() + v);
  EXPECT_LT(difference / static_cast<double>(sleeve.positions.size()), 0.02);
  // Without the body the sleeve sees the bones itself.
  heat_weights(sleeve.view(), kHalves, {}, &report);
  EXPECT_EQ(report.linked_vertices, 0u);
  EXPECT_EQ(report.blind_vertices, 0u);
}

TEST(HeatWeights, PartsBesideEachOtherDoNotMix) {
  const Mesh other = test::moved(body(), {0.2002f, 0, 0});  // 0.2 mm apart
  const Mesh mesh = test::join(body(), other);
  const std::vector<Bone> bones{{0, -1, {0, 0, 0}, {0, 1, 0}}, {1, -1, {0.2002, 0, 0}, {0.2002, 1, 0}}};
  const SkinWeights weights = heat_weights(mesh.view(), bones);
  for (std::size_t v = 0; v < mesh.positions.size(); ++v)
    EXPECT_EQ(weight_of(weights, v, v < mesh.positions.size() / 2 ? 0 : 1), 1.0f);
}

TEST(HeatWeights, ABoneTooShortDoesNotLoseItsTip) {
  // The upper half of the left tube is nearer to the right tube's bone than to its own.
  const Mesh mesh = test::join(body(), test::moved(body(), {0.22f, 0, 0}));
  const std::vector<Bone> bones{{0, -1, {0, 0, 0}, {0, 0.4, 0}}, {1, -1, {0.22, 0.05, 0}, {0.22, 0.95, 0}}};
  const SkinWeights weights = heat_weights(mesh.view(), bones);
  for (std::size_t v = 0; v < mesh.positions.size() / 2; ++v) EXPECT_EQ(weight_of(weights, v, 0), 1.0f);
}

TEST(HeatWeights, WallsInTheFleshLeadNoHeat) {
  const Mesh tube = body();
  Mesh walled = tube;
  for (const std::uint32_t ring : {3u, 8u, 10u, 15u})
    for (std::uint32_t i = 1; i + 1 < 16; ++i)
      walled.triangles.push_back({16 * ring, 16 * ring + i, 16 * ring + i + 1});
  const SkinWeights expected = heat_weights(tube.view(), kHalves),
                    weights = heat_weights(walled.view(), kHalves);
  for (std::size_t v = 0; v < tube.positions.size(); ++v)
    EXPECT_LT(test::total_variation(weights, v, expected, v), 1e-3);
}

TEST(HeatWeights, OutliersAndFloorsDoNotMatter) {
  const Mesh tube = body();
  const SkinWeights expected = heat_weights(tube.view(), kHalves);
  Mesh stray = tube;
  stray.positions.push_back({0, 1e12f, 0});
  Mesh floor = tube;
  for (const Vec3f& p : {Vec3f(-200, -5, -200), Vec3f(200, -5, -200), Vec3f(0, -5, 300)})
    floor.positions.push_back(p);
  const auto first = static_cast<std::uint32_t>(tube.positions.size());
  floor.triangles.push_back({first, first + 1, first + 2});
  for (const Mesh* mesh : {&stray, &floor}) {
    const SkinWeights weights = heat_weights(mesh->view(), kHalves);
    for (std::size_t v = 0; v < tube.positions.size(); ++v)
      EXPECT_LT(test::total_variation(weights, v, expected, v), 1e-3);
  }
}

TEST(HeatWeights, ARigFarAwayStillBinds) {
  const Mesh tube = body();
  for (const double away : {1e4, 1e8, 1e14}) {
    std::vector<Bone> bones = kHalves;
    for (Bone& bone : bones) {
      bone.head.x() += away;
      bone.tail.x() += away;
    }
    const SkinWeights weights = heat_weights(tube.view(), bones);
    for (std::size_t v = 0; v < weights.rows(); ++v)
      EXPECT_NEAR(weight_of(weights, v, 0) + weight_of(weights, v, 1), 1, 1e-4);
  }
  // Bones shorter than any number's square.
  const std::vector<Bone> dots{{0, -1, {0, 0, 0}, {1e-160, 0, 0}}, {1, -1, {0, 1, 0}, {0, 1, 1e-160}}};
  for (const float w : heat_weights(tube.view(), dots).values) EXPECT_GT(w, 0);
}

TEST(HeatWeights, NothingButPoints) {
  const std::vector<Vec3f> points{{0, 0.1f, 0}, {0, 0.9f, 0.1f}, {0, 0.9f, 0.1f}};
  const SkinWeights weights = heat_weights({points, {}}, kHalves);
  EXPECT_EQ(weight_of(weights, 0, 0), 1.0f);
  EXPECT_EQ(weight_of(weights, 1, 1), 1.0f);
  EXPECT_EQ(weight_of(weights, 2, 1), 1.0f);
  EXPECT_EQ(heat_weights({{}, {}}, kHalves).rows(), 0u);
}

TEST(HeatWeights, TellsWhatItMet) {
  Mesh mesh = test::make_tube(16, 20);  // open: two rims
  mesh.triangles.push_back(mesh.triangles[0]);
  mesh.triangles.push_back({0, 0, 1});
  std::swap(mesh.triangles[100][0], mesh.triangles[100][1]);
  HeatReport report;
  heat_weights(mesh.view(), kHalves, {}, &report);
  EXPECT_EQ(report.repaired_triangles, 2u);
  EXPECT_EQ(report.boundary_edges, 32u);
  EXPECT_EQ(report.flipped_edges, 3u);
  EXPECT_EQ(report.components, 1u);
}

}  // namespace
}  // namespace sinew
