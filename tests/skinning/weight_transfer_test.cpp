#include <sinew/skinning/weight_transfer.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/scene/scene.h>
#include <sinew/skinning/row_sampling.h>
#include "tests/support/assets.h"
#include "tests/support/grid_tube.h"
#include "tests/support/meshes.h"
#include "tests/support/sanitized.h"

namespace sinew {
namespace {

double distance(const SkinWeights& a, std::size_t v, const SkinWeights& b, std::size_t u) {
  std::map<std::uint32_t, double> difference;
  for (std::size_t i = 0; i < a.row_size(v); ++i) difference[a.row_joints(v)[i]] += a.row_values(v)[i];
  for (std::size_t i = 0; i < b.row_size(u); ++i) difference[b.row_joints(u)[i]] -= b.row_values(u)[i];
  double sum = 0;
  for (const auto& entry : difference) sum += std::abs(entry.second);
  return sum / 2;
}

double largest_distance(const SkinWeights& a, const SkinWeights& b) {
  double largest = 0;
  for (std::size_t v = 0; v < a.rows(); ++v) largest = std::max(largest, distance(a, v, b, v));
  return largest;
}

double weight_of(const SkinWeights& weights, std::size_t v, std::uint32_t joint) {
  double sum = 0;
  for (std::size_t i = 0; i < weights.row_size(v); ++i)
    if (weights.row_joints(v)[i] == joint) sum += weights.row_values(v)[i];
  return sum;
}

void expect_valid(const SkinWeights& weights, std::size_t rows) {
  ASSERT_EQ(weights.rows(), rows);
  for (std::size_t v = 0; v < rows; ++v) {
    double sum = 0;
    float last = 2;
    ASSERT_GT(weights.row_size(v), 0u) << "vertex " << v;
    for (const float weight : weights.row_values(v)) {
      EXPECT_GT(weight, 0);
      EXPECT_LE(weight, last);
      last = weight;
      sum += weight;
    }
    EXPECT_NEAR(sum, 1, 1e-5);
  }
}

SkinWeights all_of(std::size_t rows, std::uint32_t joint) {
  SkinWeights weights;
  for (std::size_t v = 0; v < rows; ++v) {
    weights.joints.push_back(joint);
    weights.values.push_back(1);
    weights.starts.push_back(static_cast<std::uint32_t>(v + 1));
  }
  return weights;
}

SkinWeights joined(const SkinWeights& a, const SkinWeights& b) {
  SkinWeights result = a;
  result.joints.insert(result.joints.end(), b.joints.begin(), b.joints.end());
  result.values.insert(result.values.end(), b.values.begin(), b.values.end());
  for (std::size_t v = 0; v < b.rows(); ++v)
    result.starts.push_back(result.starts.back() + static_cast<std::uint32_t>(b.row_size(v)));
  return result;
}

Mesh turned_inside_out(Mesh mesh) {
  for (Triangle& f : mesh.triangles) std::swap(f[1], f[2]);
  return mesh;
}

// Weights along y from joint 0 to joint 1, from y = 0 to y = 1.
SkinWeights along_y(std::span<const Vec3f> positions) {
  SkinWeights weights;
  WeightRepairs repairs;
  for (const Vec3f& p : positions) {
    const float upper = std::clamp(p.y(), 0.0f, 1.0f);
    Influence row[] = {{0, 1 - upper}, {1, upper}};
    append_row(weights, row, 0, repairs);
  }
  return weights;
}

// An arm of 5 cm radius and 1 m length along y.
struct Arm {
  Mesh mesh = test::make_tube(24, 40, 0.05f, 1.0f, true);
  SkinWeights weights = along_y(mesh.positions);
};

TEST(WeightTransfer, OntoItself) {
  const Scene tube = test::make_grid_tube({.rings = 24, .segments = 16});
  const SceneMesh& mesh = tube.meshes[0];
  TransferReport report;
  const SkinWeights result =
      transfer_weights(mesh.surface.view(), mesh.weights, mesh.surface.view(), {}, &report);
  EXPECT_LT(largest_distance(result, mesh.weights), 1e-6);
  EXPECT_EQ(report.vertices, mesh.surface.positions.size());
  EXPECT_EQ(report.transferred_vertices, report.vertices);
}

TEST(WeightTransfer, OntoFinerAndCoarserTubes) {
  const Scene tube = test::make_grid_tube({.rings = 48, .segments = 24});
  const SceneMesh& from = tube.meshes[0];
  for (const test::GridTubeOptions& options : {test::GridTubeOptions{.rings = 101, .segments = 37},
                                               test::GridTubeOptions{.rings = 31, .segments = 15}}) {
    const Scene other = test::make_grid_tube(options);
    const SceneMesh& to = other.meshes[0];
    TransferReport report;
    const SkinWeights result =
        transfer_weights(from.surface.view(), from.weights, to.surface.view(), {}, &report);
    EXPECT_LT(largest_distance(result, to.weights), 0.01);
    // Normals at the rims of the caps are those of neither.
    EXPECT_GT(report.transferred_vertices, report.vertices * 9 / 10);
  }
}

TEST(WeightTransfer, SleeveRoundAnArm) {
  const Arm arm;
  const Mesh sleeve = test::moved(test::make_tube(17, 23, 0.06f, 0.6f), Vec3f(0, 0.2f, 0));
  for (const Mesh& mesh : {sleeve, turned_inside_out(sleeve)}) {
    TransferReport report;
    const SkinWeights result = transfer_weights(arm.mesh.view(), arm.weights, mesh.view(), {}, &report);
    expect_valid(result, mesh.positions.size());
    EXPECT_LT(largest_distance(result, along_y(mesh.positions)), 0.01);
    EXPECT_EQ(report.transferred_vertices, mesh.positions.size());
    EXPECT_EQ(report.facing_vertices, 0u);
    EXPECT_EQ(report.turned_components, mesh.triangles == sleeve.triangles ? 0u : 1u);
  }
}

TEST(WeightTransfer, LiningFacesTheBody) {
  const Arm arm;
  constexpr int kAround = 17, kAlong = 23;
  const Vec3f up(0, 0.2f, 0);
  const Mesh outside = test::moved(test::make_tube(kAround, kAlong, 0.065f, 0.6f), up);
  const Mesh inside = turned_inside_out(test::moved(test::make_tube(kAround, kAlong, 0.058f, 0.6f), up));
  // Sewn together at both hems, so that it is one piece.
  std::vector<Vec3f> positions = outside.positions;
  positions.insert(positions.end(), inside.positions.begin(), inside.positions.end());
  std::vector<Triangle> triangles = outside.triangles;
  const auto count = static_cast<std::uint32_t>(outside.positions.size());
  for (const Triangle& f : inside.triangles) triangles.push_back({f[0] + count, f[1] + count, f[2] + count});
  for (const std::uint32_t hem : {0u, static_cast<std::uint32_t>(kAround * kAlong)})
    for (std::uint32_t i = 0; i < kAround; ++i) {
      const std::uint32_t a = hem + i, b = hem + (i + 1) % kAround;
      triangles.push_back(hem == 0 ? Triangle{a, b, b + count} : Triangle{b, a, a + count});
      triangles.push_back(hem == 0 ? Triangle{a, b + count, a + count} : Triangle{b, a + count, b + count});
    }
  const MeshView garment{positions, triangles};
  TransferReport report;
  const SkinWeights result = transfer_weights(arm.mesh.view(), arm.weights, garment, {}, &report);
  EXPECT_LT(largest_distance(result, along_y(positions)), 0.03);
  EXPECT_GT(report.facing_vertices, count * 8 / 10);
  EXPECT_EQ(report.turned_components, 0u);

  // Told that nothing is lined, the lining is filled in from the hems.
  const SkinWeights filled =
      transfer_weights(arm.mesh.view(), arm.weights, garment, {.either_side = false}, &report);
  expect_valid(filled, positions.size());
  EXPECT_EQ(report.facing_vertices, 0u);
  EXPECT_GE(report.filled_vertices, count * 8 / 10);
}

TEST(WeightTransfer, FingersCloseTogether) {
  // Two fingers of 8 mm radius, 3 mm apart, and a glove finger round the first one that is 2 mm away from it:
  // nearer to the second finger where they are closest.
  const Mesh finger = test::make_tube(32, 30, 0.008f, 0.08f, true);
  const Mesh second = test::moved(finger, Vec3f(0.019f, 0, 0));
  const Mesh hand = test::join(finger, second);
  const SkinWeights weights = joined(all_of(finger.positions.size(), 0), all_of(second.positions.size(), 1));
  const Mesh glove = test::moved(test::make_tube(32, 30, 0.010f, 0.06f), Vec3f(0, 0.01f, 0));
  for (const Mesh& mesh : {glove, turned_inside_out(glove)}) {
    TransferReport report;
    const SkinWeights result =
        transfer_weights(hand.view(), weights, mesh.view(), {.max_distance = 0.2}, &report);
    for (std::size_t v = 0; v < result.rows(); ++v) EXPECT_NEAR(weight_of(result, v, 0), 1, 1e-5);
    EXPECT_GT(report.wrong_side_vertices, 20u);
    EXPECT_EQ(report.filled_vertices, report.wrong_side_vertices);
  }
  // By distance alone some go to the neighbour.
  const std::vector<Vec3f> loose = glove.positions;
  const SkinWeights nearest = transfer_weights(hand.view(), weights, {loose, {}});
  int stolen = 0;
  for (std::size_t v = 0; v < nearest.rows(); ++v) stolen += weight_of(nearest, v, 1) > 0.5;
  EXPECT_GT(stolen, 20);
}

TEST(WeightTransfer, LinedGloveBetweenFingers) {
  // A lined glove finger, not sewn together but one piece by a strip: what faces the second finger with the
  // first one behind its back is no lining.
  const Mesh finger = test::make_tube(32, 30, 0.008f, 0.08f, true);
  const Mesh hand = test::join(finger, test::moved(finger, Vec3f(0.019f, 0, 0)));
  const SkinWeights weights = joined(all_of(finger.positions.size(), 0), all_of(finger.positions.size(), 1));
  const Mesh outside = test::moved(test::make_tube(32, 30, 0.010f, 0.06f), Vec3f(0, 0.01f, 0));
  const Mesh inside =
      turned_inside_out(test::moved(test::make_tube(32, 30, 0.009f, 0.06f), Vec3f(0, 0.01f, 0)));
  const Mesh glove = test::join(outside, inside);
  std::vector<Triangle> triangles = outside.triangles;
  const auto count = static_cast<std::uint32_t>(outside.positions.size());
  for (const Triangle& f : inside.triangles) triangles.push_back({f[0] + count, f[1] + count, f[2] + count});
  triangles.push_back({16, 17, 17 + count});
  TransferReport report;
  const SkinWeights result =
      transfer_weights(hand.view(), weights, {glove.positions, triangles}, {.max_distance = 0.2}, &report);
  for (std::size_t v = 0; v < result.rows(); ++v) EXPECT_NEAR(weight_of(result, v, 0), 1, 1e-5) << v;
  EXPECT_GT(report.facing_vertices, count / 2);
  EXPECT_GT(report.wrong_side_vertices, 20u);
}

TEST(WeightTransfer, ClothWithoutLiningIsNotTakenOverByWhatItFaces) {
  // A cloth on a table that hangs over its edge, under a shelf that is nearer there and bound to joint 1.
  const Mesh table = test::make_grid(20, 10);
  const Mesh shelf = turned_inside_out(test::moved(test::make_grid(4, 10, 0.2f, 1), Vec3f(0.95f, 0, 0.06f)));
  std::vector<Vec3f> positions = table.positions;
  positions.insert(positions.end(), shelf.positions.begin(), shelf.positions.end());
  std::vector<Triangle> triangles = table.triangles;
  const auto count = static_cast<std::uint32_t>(table.positions.size());
  for (const Triangle& f : shelf.triangles) triangles.push_back({f[0] + count, f[1] + count, f[2] + count});
  const SkinWeights weights = joined(all_of(count, 0), all_of(shelf.positions.size(), 1));
  const Mesh cloth = test::moved(test::make_grid(22, 10, 1.1f, 1), Vec3f(0, 0, 0.04f));
  TransferReport report;
  const SkinWeights result = transfer_weights({positions, triangles}, weights, cloth.view(), {}, &report);
  for (std::size_t v = 0; v < result.rows(); ++v) EXPECT_NEAR(weight_of(result, v, 0), 1, 1e-5);
  EXPECT_GE(report.wrong_side_vertices, 22u);
}

TEST(WeightTransfer, ThinPartsHaveTwoSides) {
  // A fin 4 cm thick, its sides bound to different joints; cloth on its upper side that has sunk beyond the
  // middle.
  const Mesh top = test::moved(test::make_grid(10, 10), Vec3f(0, 0, 0.02f));
  const Mesh bottom = turned_inside_out(test::moved(test::make_grid(10, 10), Vec3f(0, 0, -0.02f)));
  std::vector<Vec3f> positions = top.positions;
  positions.insert(positions.end(), bottom.positions.begin(), bottom.positions.end());
  std::vector<Triangle> triangles = top.triangles;
  const auto count = static_cast<std::uint32_t>(top.positions.size());
  for (const Triangle& f : bottom.triangles) triangles.push_back({f[0] + count, f[1] + count, f[2] + count});
  const SkinWeights weights = joined(all_of(count, 0), all_of(count, 1));
  Mesh cloth = test::make_grid(10, 10);
  for (std::size_t v = 0; v < cloth.positions.size(); ++v)
    cloth.positions[v].z() = cloth.positions[v].x() < 0.45f ? -0.01f : 0.01f;
  TransferReport report;
  const SkinWeights result =
      transfer_weights({positions, triangles}, weights, cloth.view(), {.max_distance = 0.05}, &report);
  for (std::size_t v = 0; v < result.rows(); ++v) EXPECT_NEAR(weight_of(result, v, 0), 1, 1e-5);
  EXPECT_GE(report.wrong_side_vertices, 50u);
}

TEST(WeightTransfer, CapeHangsFromItsCollar) {
  // A sheet that touches a board along its upper edge and leads away from it: what is too far takes over the
  // weights of the border, column by column as they mix.
  const Mesh board = test::make_grid(20, 4, 1.0f, 0.2f);
  SkinWeights weights;
  WeightRepairs repairs;
  for (const Vec3f& p : board.positions) {
    Influence row[] = {{3, 1 - p.x()}, {8, p.x()}};
    append_row(weights, row, 0, repairs);
  }
  Mesh cape = test::make_grid(20, 40, 1.0f, 1.0f);
  for (Vec3f& p : cape.positions) p.z() = 0.01f;
  TransferReport report;
  const SkinWeights result = transfer_weights(board.view(), weights, cape.view(), {}, &report);
  expect_valid(result, cape.positions.size());
  EXPECT_GT(report.too_far_vertices, 500u);
  EXPECT_EQ(report.filled_vertices, report.too_far_vertices);
  EXPECT_EQ(report.fallback_vertices, 0u);
  double left = 0, right = 1;
  for (std::size_t i = 0; i <= 20; ++i) {
    const double upper = weight_of(result, 40 * 21 + i, 8);
    left = i == 0 ? upper : left;
    right = upper;
    // No more extreme than where it comes from, and smoother.
    EXPECT_GE(upper, -1e-6);
    EXPECT_LE(upper, 1 + 1e-6);
  }
  EXPECT_LT(left, 0.5);
  EXPECT_GT(right, 0.5);
  EXPECT_LT(right - left, 0.9);
}

TEST(WeightTransfer, IslandsBeyondReachFollowTheNearestPoint) {
  const Arm arm;
  const Mesh sleeve = test::moved(test::make_tube(12, 10, 0.06f, 0.6f), Vec3f(0, 0.2f, 0));
  const Mesh balloon = test::moved(test::make_icosphere(1, 0.05f), Vec3f(0, 3, 0));
  const Mesh lantern = test::moved(test::make_icosphere(1, 0.05f), Vec3f(0, -2, 0));
  Mesh target = test::join(test::join(sleeve, balloon), lantern);
  target.positions.push_back({0, 0.5f, 0.055f});  // strays
  target.positions.push_back({7, 0.25f, 0});
  TransferReport report;
  const SkinWeights result = transfer_weights(arm.mesh.view(), arm.weights, target.view(), {}, &report);
  expect_valid(result, target.positions.size());
  EXPECT_EQ(report.fallback_components, 3u);
  EXPECT_EQ(report.fallback_vertices, 2 * balloon.positions.size() + 1);
  EXPECT_EQ(report.stray_vertices, 2u);
  EXPECT_EQ(report.transferred_vertices, sleeve.positions.size() + 1);
  for (std::size_t i = 0; i < balloon.positions.size(); ++i) {
    EXPECT_NEAR(weight_of(result, sleeve.positions.size() + i, 1), 1, 1e-5);
    EXPECT_NEAR(weight_of(result, sleeve.positions.size() + balloon.positions.size() + i, 0), 1, 1e-5);
  }
  EXPECT_NEAR(weight_of(result, target.positions.size() - 2, 1), 0.5, 0.01);
  EXPECT_NEAR(weight_of(result, target.positions.size() - 1, 1), 0.25, 0.01);
}

TEST(WeightTransfer, VerticesWithoutWeightsAreNoSources) {
  Arm arm;
  // The middle of the arm was never bound.
  SkinWeights holes;
  WeightRepairs repairs;
  for (std::size_t v = 0; v < arm.mesh.positions.size(); ++v) {
    const float y = arm.mesh.positions[v].y();
    Influence row[] = {{y < 0.5f ? 0u : 1u, y > 0.4f && y < 0.6f ? 0.0f : 1.0f}};
    append_row(holes, row, 0, repairs);
  }
  ASSERT_GT(repairs.unweighted_vertices, 100u);
  const Mesh sleeve = test::moved(test::make_tube(12, 30, 0.055f, 0.6f), Vec3f(0, 0.2f, 0));
  const SkinWeights result = transfer_weights(arm.mesh.view(), holes, sleeve.view());
  expect_valid(result, sleeve.positions.size());
  for (std::size_t v = 0; v < result.rows(); ++v)
    if (sleeve.positions[v].y() < 0.39f) {
      EXPECT_NEAR(weight_of(result, v, 0), 1, 1e-5);
    }
}

TEST(WeightTransfer, NothingToBind) {
  const Arm arm;
  TransferReport report;
  EXPECT_EQ(transfer_weights(arm.mesh.view(), arm.weights, {}, {}, &report).rows(), 0u);
  EXPECT_EQ(report.vertices, 0u);
}

TEST(WeightTransfer, BadInput) {
  const Arm arm;
  const MeshView source = arm.mesh.view();
  EXPECT_THROW(transfer_weights({}, {}, source), Error);
  EXPECT_THROW(transfer_weights({source.positions, {}}, arm.weights, source), Error);
  EXPECT_THROW(transfer_weights(source, {}, source), Error);
  SkinWeights empty;
  empty.starts.assign(source.positions.size() + 1, 0);
  EXPECT_THROW(transfer_weights(source, empty, source), Error);
  SkinWeights broken = arm.weights;
  broken.values[3] = -0.5f;
  EXPECT_THROW(transfer_weights(source, broken, source), Error);
  Mesh bent = arm.mesh;
  bent.positions[5].z() = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(transfer_weights(source, arm.weights, bent.view()), Error);
  EXPECT_THROW(transfer_weights(bent.view(), arm.weights, source), Error);
  for (const double distance : {-0.1, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW(transfer_weights(source, arm.weights, source, {.max_distance = distance}), Error);
  for (const double angle : {0.0, 91.0, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW(transfer_weights(source, arm.weights, source, {.max_angle = angle}), Error);
}

TEST(WeightTransfer, RandomTriangles) {
  std::mt19937 random(11);
  std::uniform_real_distribution<float> number(-1, 1);
  TransferReport sum;
  for (int round = 0; round < (test::kSanitized ? 30 : 150); ++round) {
    const float scale = std::pow(10.0f, 6 * number(random));
    const auto soup = [&](int vertices, int triangle_count) {
      std::pair<std::vector<Vec3f>, std::vector<Triangle>> mesh;
      for (int v = 0; v < vertices; ++v)
        mesh.first.push_back(random() % 8 == 0 && v > 0
                                 ? mesh.first.back()
                                 : Vec3f(scale * Vec3f(number(random), number(random), number(random))));
      const auto corner = [&] { return static_cast<std::uint32_t>(random() % mesh.first.size()); };
      for (int t = 0; t < triangle_count; ++t) mesh.second.push_back({corner(), corner(), corner()});
      return mesh;
    };
    const auto [from, from_triangles] = soup(20, 30);
    const auto [to, to_triangles] = soup(40, static_cast<int>(random() % 40));
    SkinWeights weights;
    WeightRepairs repairs;
    for (std::size_t v = 0; v < from.size(); ++v) {
      std::vector<Influence> row;
      for (std::size_t i = random() % 8 == 0 ? 0 : 1 + random() % 4; i > 0; --i)
        row.push_back({static_cast<std::uint32_t>(random() % 9), 0.5f + 0.4f * number(random)});
      append_row(weights, row, 0, repairs);
    }
    TransferReport report;
    const SkinWeights result =
        transfer_weights({from, from_triangles}, weights, {to, to_triangles}, {.max_distance = 0.1}, &report);
    expect_valid(result, to.size());
    EXPECT_EQ(report.transferred_vertices + report.filled_vertices + report.fallback_vertices, to.size());
    sum.transferred_vertices += report.transferred_vertices;
    sum.filled_vertices += report.filled_vertices;
    sum.fallback_vertices += report.fallback_vertices;
  }
  EXPECT_GT(sum.transferred_vertices, 100u);
  EXPECT_GT(sum.filled_vertices, 100u);
  EXPECT_GT(sum.fallback_vertices, 100u);
}

TEST(WeightTransfer, SizeAndPlaceDoNotMatter) {
  const Arm arm;
  const Mesh sleeve = test::moved(test::make_tube(17, 23, 0.08f, 0.9f), Vec3f(0.05f, 0.2f, 0));
  TransferReport report;
  const SkinWeights expected = transfer_weights(arm.mesh.view(), arm.weights, sleeve.view(), {}, &report);
  EXPECT_GT(report.filled_vertices, 10u);
  for (const float scale : {1e-3f, 1e3f}) {
    const Mesh from = test::moved(arm.mesh, Vec3f::Zero(), scale),
               to = test::moved(sleeve, Vec3f::Zero(), scale);
    TransferReport scaled;
    const SkinWeights result = transfer_weights(from.view(), arm.weights, to.view(), {}, &scaled);
    EXPECT_LT(largest_distance(result, expected), 1e-4);
    EXPECT_EQ(scaled.filled_vertices, report.filled_vertices);
  }
}

TEST(WeightTransfer, SameBitsOnAnyNumberOfThreads) {
  const Arm arm;
  const Mesh sleeve = test::moved(test::make_tube(31, 50, 0.08f, 0.9f), Vec3f(0.05f, 0.2f, 0));
  SkinWeights one, four;
  tbb::task_arena(1).execute([&] { one = transfer_weights(arm.mesh.view(), arm.weights, sleeve.view()); });
  tbb::task_arena(4).execute([&] { four = transfer_weights(arm.mesh.view(), arm.weights, sleeve.view()); });
  EXPECT_EQ(one, four);
}

TEST(WeightTransfer, TightClothesOnARealCharacter) {
  const auto path = test::asset("human.glb");
  if (!path) GTEST_SKIP() << test::missing_asset("human.glb");
  const Scene scene = read_scene(*path);
  const SceneMesh& body = scene.meshes.at(0);
  const Skin& skin = scene.skins.at(to_size(body.skin));
  const MeshView surface = body.surface.view();
  EXPECT_LT(largest_distance(transfer_weights(surface, body.weights, surface), body.weights), 1e-6);

  // A shirt, a centimetre off the skin.
  const std::vector<Vec3d> normals = smooth_normals(surface);
  std::vector<int> shirt_vertex(surface.positions.size(), -1);
  std::vector<Vec3f> positions;
  std::vector<std::size_t> origin;
  for (std::size_t v = 0; v < surface.positions.size(); ++v) {
    const auto strongest = to_size(skin.joints[body.weights.row_joints(v)[0]]);
    const std::string& name = scene.skeleton.joints[strongest].name;
    if (!name.starts_with("spine") && !name.starts_with("upperarm") && !name.starts_with("lowerarm") &&
        !name.starts_with("clavicle") && name != "pelvis")
      continue;
    shirt_vertex[v] = static_cast<int>(positions.size());
    positions.push_back((surface.positions[v].cast<double>() + 0.01 * normals[v]).cast<float>());
    origin.push_back(v);
  }
  std::vector<Triangle> triangles;
  for (const Triangle& f : surface.triangles)
    if (shirt_vertex[f[0]] >= 0 && shirt_vertex[f[1]] >= 0 && shirt_vertex[f[2]] >= 0)
      triangles.push_back({static_cast<std::uint32_t>(shirt_vertex[f[0]]),
                           static_cast<std::uint32_t>(shirt_vertex[f[1]]),
                           static_cast<std::uint32_t>(shirt_vertex[f[2]])});
  TransferReport report;
  const SkinWeights result = transfer_weights(surface, body.weights, {positions, triangles}, {}, &report);
  expect_valid(result, positions.size());
  double sum = 0;
  for (std::size_t v = 0; v < positions.size(); ++v) sum += distance(result, v, body.weights, origin[v]);
  EXPECT_LT(sum / static_cast<double>(positions.size()), 0.01);
  EXPECT_LT(report.wrong_side_vertices, positions.size() / 50);
  EXPECT_EQ(report.fallback_vertices, 0u);
}

}  // namespace
}  // namespace sinew
