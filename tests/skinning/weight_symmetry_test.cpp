#include <sinew/skinning/weight_symmetry.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/scene/scene.h>
#include "tests/support/assets.h"
#include "tests/support/meshes.h"
#include "tests/support/sanitized.h"

namespace sinew {
namespace {

using Row = std::map<std::uint32_t, float>;

Row row_of(const SkinWeights& weights, std::size_t v) {
  Row row;
  for (std::size_t i = 0; i < weights.row_size(v); ++i)
    row[weights.row_joints(v)[i]] += weights.row_values(v)[i];
  return row;
}

Row mirrored(const Row& row, std::span<const int> partner) {
  Row result;
  for (const auto& [joint, weight] : row) result[static_cast<std::uint32_t>(partner[joint])] = weight;
  return result;
}

double distance(const Row& a, const Row& b) {
  double sum = 0;
  for (const auto& [joint, weight] : a) sum += std::abs(weight - (b.contains(joint) ? b.at(joint) : 0.0f));
  for (const auto& [joint, weight] : b)
    if (!a.contains(joint)) sum += weight;
  return sum / 2;
}

double largest_distance(const SkinWeights& a, const SkinWeights& b) {
  double largest = 0;
  for (std::size_t v = 0; v < a.rows(); ++v)
    largest = std::max(largest, distance(row_of(a, v), row_of(b, v)));
  return largest;
}

SkinWeights random_weights(std::size_t rows, std::uint32_t joints, std::mt19937& random) {
  SkinWeights weights;
  WeightRepairs repairs;
  std::uniform_real_distribution<float> number(0.01f, 1);
  for (std::size_t v = 0; v < rows; ++v) {
    std::vector<Influence> row;
    for (std::size_t i = 1 + random() % 4; i > 0; --i)
      row.push_back({static_cast<std::uint32_t>(random() % joints), number(random)});
    append_row(weights, row, 0, repairs);
  }
  return weights;
}

// Joints 0 and 1 are the left and the right hand, 2 is the spine.
const BindSymmetry kHands{{}, {1, 0, 2}};

// Left in proportion to x, right to -x, smooth everywhere.
SkinWeights smooth_weights(std::span<const Vec3f> positions, float error) {
  SkinWeights weights;
  WeightRepairs repairs;
  for (const Vec3f& p : positions) {
    const float left = 0.5f + 0.4f * std::tanh(3 * p.x()) + error * (1 + p.y());
    Influence row[] = {{0, 0.8f * left}, {1, 0.8f * (1 - left)}, {2, 0.2f}};
    append_row(weights, row, 0, repairs);
  }
  return weights;
}

TEST(Symmetrize, PairsAreTheSameNumbers) {
  // The pairs of a grid from -1 to 1: column i and 8 - i; column 4 is its own.
  const Mesh mesh = test::moved(test::make_grid(8, 5, 2, 1), Vec3f(-1, 0, 0));
  std::mt19937 random(1);
  const BindSymmetry symmetry{{}, {1, 0, 2, 4, 3}};
  for (int round = 0; round < 20; ++round) {
    const SkinWeights weights = random_weights(mesh.positions.size(), 5, random);
    SymmetryReport report;
    const SkinWeights result = symmetrize(mesh.view(), weights, symmetry, &report);
    EXPECT_EQ(report.paired_vertices, mesh.positions.size());
    EXPECT_EQ(report.interpolated_vertices + report.unmirrored_vertices, 0u);
    for (std::size_t j = 0; j <= 5; ++j)
      for (std::size_t i = 0; i <= 8; ++i) {
        const std::size_t v = j * 9 + i, u = j * 9 + (8 - i);
        EXPECT_EQ(row_of(result, v), mirrored(row_of(result, u), symmetry.partner));
        // The mean of both.
        Row mean = row_of(weights, v);
        for (auto& entry : mean) entry.second /= 2;
        for (const auto& [joint, weight] : mirrored(row_of(weights, u), symmetry.partner))
          mean[joint] += weight / 2;
        EXPECT_LT(distance(row_of(result, v), mean), 1e-6);
      }
    EXPECT_LT(largest_distance(symmetrize(mesh.view(), result, symmetry), result), 1e-6);
  }
}

TEST(Symmetrize, AnyPlane) {
  const Mesh grid = test::moved(test::make_grid(8, 5, 2, 1), Vec3f(-1, 0, 0));
  const Eigen::Affine3f turn =
      Eigen::Translation3f(3, -2, 5) * Eigen::AngleAxisf(1.1f, Vec3f(1, 2, 3).normalized());
  Mesh mesh = grid;
  for (Vec3f& p : mesh.positions) p = turn * p;
  const BindSymmetry symmetry{
      {turn.translation().cast<double>(), (turn.linear() * Vec3f::UnitX()).cast<double>().normalized()},
      {1, 0, 2}};
  const SkinWeights weights = smooth_weights(grid.positions, 0.03f);
  SymmetryReport report;
  const SkinWeights result = symmetrize(mesh.view(), weights, symmetry, &report);
  EXPECT_EQ(report.paired_vertices, mesh.positions.size());
  EXPECT_EQ(result, symmetrize(grid.view(), weights, kHands));
}

TEST(Symmetrize, OtherTessellationOnTheOtherSide) {
  // A ball whose vertices are no mirror images of each other.
  Mesh mesh = test::make_icosphere(test::kSanitized ? 3 : 4);
  const Eigen::AngleAxisf turn(0.7f, Vec3f(1, 2, 3).normalized());
  for (Vec3f& p : mesh.positions) p = turn * p;
  const SkinWeights crooked = smooth_weights(mesh.positions, 0.04f),
                    straight = smooth_weights(mesh.positions, 0);
  SymmetryReport report;
  const SkinWeights result = symmetrize(mesh.view(), crooked, kHands, &report);
  EXPECT_GT(report.interpolated_vertices, mesh.positions.size() * 9 / 10);
  EXPECT_EQ(report.unmirrored_vertices, 0u);
  EXPECT_GT(largest_distance(crooked, straight), 0.05);
  EXPECT_LT(largest_distance(result, straight), 0.01);
  EXPECT_LT(largest_distance(symmetrize(mesh.view(), result, kHands), result), 0.005);
}

TEST(Symmetrize, WhatHasNoCounterpartStays) {
  const Mesh both = test::moved(test::make_grid(8, 5, 2, 1), Vec3f(-1, 0, 0));
  const Mesh bag = test::moved(test::make_cube(0.2f), Vec3f(0.5f, 0.5f, 1));
  const Mesh mesh = test::join(both, bag);
  std::mt19937 random(2);
  const SkinWeights weights = random_weights(mesh.positions.size(), 3, random);
  SymmetryReport report;
  const SkinWeights result = symmetrize(mesh.view(), weights, kHands, &report);
  EXPECT_EQ(report.unmirrored_vertices, bag.positions.size());
  EXPECT_EQ(report.paired_vertices, both.positions.size());
  for (std::size_t v = both.positions.size(); v < mesh.positions.size(); ++v)
    EXPECT_LT(distance(row_of(result, v), row_of(weights, v)), 1e-7);
}

TEST(Symmetrize, CoarseMeshesDifferByPartsOfTheirEdges) {
  Mesh mesh = test::make_icosphere(1);
  const Eigen::AngleAxisf turn(0.7f, Vec3f(1, 2, 3).normalized());
  for (Vec3f& p : mesh.positions) p = turn * p;
  SymmetryReport report;
  symmetrize(mesh.view(), smooth_weights(mesh.positions, 0), kHands, &report);
  EXPECT_EQ(report.unmirrored_vertices, 0u);
}

TEST(Symmetrize, NoCounterpartTooFarAwayOrFacingElsewhere) {
  const std::vector<Triangle> outwards{{0, 1, 2}, {3, 5, 4}}, opposed{{0, 1, 2}, {3, 4, 5}};
  std::mt19937 random(6);
  const SkinWeights weights = random_weights(6, 3, random);
  const auto unmirrored = [&](float shift, const std::vector<Triangle>& triangles) {
    const std::vector<Vec3f> positions{{0.1f, 0, 0},      {1.1f, 0, 0},      {0.1f, 1, 0},
                                       {-0.1f, 0, shift}, {-1.1f, 0, shift}, {-0.1f, 1, shift}};
    SymmetryReport report;
    symmetrize({positions, triangles}, weights, kHands, &report);
    return report.unmirrored_vertices;
  };
  EXPECT_EQ(unmirrored(0, outwards), 0u);
  EXPECT_EQ(unmirrored(0.04f, outwards), 0u);
  EXPECT_EQ(unmirrored(0.2f, outwards), 6u);
  EXPECT_EQ(unmirrored(0, opposed), 6u);
  EXPECT_EQ(unmirrored(0.04f, opposed), 6u);
}

TEST(Symmetrize, SurfacesThatTouchStayApart) {
  // Closed lips: two sheets at one place that face away from each other, with different joints.
  const Mesh upper = test::moved(test::make_grid(4, 2, 2, 1), Vec3f(-1, 0, 0));
  Mesh lower = upper;
  for (Triangle& f : lower.triangles) std::swap(f[0], f[1]);
  std::vector<Triangle> triangles = upper.triangles;
  const auto count = static_cast<std::uint32_t>(upper.positions.size());
  for (const Triangle& f : lower.triangles) triangles.push_back({f[0] + count, f[1] + count, f[2] + count});
  std::vector<Vec3f> positions = upper.positions;
  positions.insert(positions.end(), lower.positions.begin(), lower.positions.end());
  SkinWeights weights;
  WeightRepairs repairs;
  for (std::uint32_t v = 0; v < 2 * count; ++v) {
    Influence row[] = {{v < count ? 0u : 1u, 1.0f}};
    append_row(weights, row, 0, repairs);
  }
  const SkinWeights result = symmetrize({positions, triangles}, weights, {{}, {0, 1}});
  EXPECT_EQ(result, weights);
}

TEST(Symmetrize, JointsWithoutPartnerKeepTheirWeights) {
  const std::vector<Vec3f> positions{{-1, 0, 0}, {1, 0, 0}, {0, 1, 0}};
  const std::vector<Triangle> triangles{{0, 1, 2}};
  SkinWeights weights;
  WeightRepairs repairs;
  // Joint 3 is a pouch on the left.
  Influence right[] = {{1, 0.5f}, {2, 0.5f}}, left[] = {{0, 0.3f}, {2, 0.1f}, {3, 0.6f}},
            middle[] = {{3, 1.0f}};
  append_row(weights, right, 0, repairs);
  append_row(weights, left, 0, repairs);
  append_row(weights, middle, 0, repairs);
  const BindSymmetry symmetry{{}, {1, 0, 2, -1}};
  const SkinWeights result = symmetrize({positions, triangles}, weights, symmetry);
  // Sums of both: hand 0.8, spine 0.6.
  EXPECT_LT(distance(row_of(result, 0), {{1, 0.8f / 1.4f}, {2, 0.6f / 1.4f}}), 1e-6);
  EXPECT_LT(distance(row_of(result, 1), {{0, 0.4f * 0.8f / 1.4f}, {2, 0.4f * 0.6f / 1.4f}, {3, 0.6f}}), 1e-6);
  EXPECT_EQ(row_of(result, 2), (Row{{3, 1.0f}}));
  EXPECT_LT(largest_distance(symmetrize({positions, triangles}, result, symmetry), result), 1e-6);
}

TEST(Symmetrize, EmptyRowsTakeTheirCounterparts) {
  const std::vector<Vec3f> positions{{-1, 0, 0}, {1, 0, 0}, {0, 1, 0}, {9, 9, 9}};
  const std::vector<Triangle> triangles{{0, 1, 2}};
  SkinWeights weights;
  weights.starts = {0, 1, 1, 1, 1};
  weights.joints = {1};
  weights.values = {1};
  SymmetryReport report;
  const SkinWeights result = symmetrize({positions, triangles}, weights, kHands, &report);
  EXPECT_EQ(row_of(result, 0), (Row{{1, 1.0f}}));
  EXPECT_EQ(row_of(result, 1), (Row{{0, 1.0f}}));
  EXPECT_EQ(result.row_size(2), 0u);
  EXPECT_EQ(result.row_size(3), 0u);
  EXPECT_EQ(report.unmirrored_vertices, 1u);
}

TEST(Symmetrize, NothingToDo) {
  EXPECT_EQ(symmetrize({}, {}, kHands).rows(), 0u);
  const std::vector<Vec3f> points{{1, 0, 0}, {-1, 0, 0}};
  std::mt19937 random(3);
  const SkinWeights weights = random_weights(2, 3, random);
  SymmetryReport report;
  EXPECT_LT(largest_distance(symmetrize({points, {}}, weights, kHands, &report), weights), 1e-7);
  EXPECT_EQ(report.unmirrored_vertices, 2u);
}

TEST(Symmetrize, BadInput) {
  std::vector<Vec3f> positions{{-1, 0, 0}, {1, 0, 0}, {0, 1, 0}};
  const std::vector<Triangle> triangles{{0, 1, 2}};
  std::mt19937 random(4);
  const SkinWeights weights = random_weights(3, 3, random);
  EXPECT_NO_THROW(symmetrize({positions, triangles}, weights, kHands));
  EXPECT_THROW(symmetrize({positions, triangles}, random_weights(2, 3, random), kHands), Error);
  EXPECT_THROW(symmetrize({positions, triangles}, weights, {{}, {}}), Error);
  EXPECT_THROW(symmetrize({positions, triangles}, weights, {{}, {1, 2, 0}}), Error);
  EXPECT_THROW(symmetrize({positions, triangles}, weights, {{}, {0, 1, 3}}), Error);
  EXPECT_THROW(symmetrize({positions, triangles}, weights, {{}, {0, 1, -2}}), Error);
  EXPECT_THROW(symmetrize({positions, triangles}, weights, {{Vec3d::Zero(), Vec3d::Zero()}, {0, 1, 2}}),
               Error);
  SkinWeights broken = weights;
  broken.values[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(symmetrize({positions, triangles}, broken, kHands), Error);
  positions[1].y() = std::numeric_limits<float>::infinity();
  EXPECT_THROW(symmetrize({positions, triangles}, weights, kHands), Error);
}

TEST(Symmetrize, RandomTriangles) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> number(-1, 1);
  std::size_t paired = 0, interpolated = 0, unmirrored = 0;
  for (int round = 0; round < (test::kSanitized ? 20 : 100); ++round) {
    const float scale = std::pow(10.0f, 6 * number(random));
    std::vector<Vec3f> positions;
    for (int v = 0; v < 30; ++v) {
      positions.push_back(scale * Vec3f(number(random), number(random), number(random)));
      if (random() % 2) positions.push_back(Vec3f(-1, 1, 1).cwiseProduct(positions.back()));
    }
    std::vector<Triangle> triangles;
    const auto corner = [&] { return static_cast<std::uint32_t>(random() % positions.size()); };
    for (int t = 0; t < 40; ++t) triangles.push_back({corner(), corner(), corner()});
    const SkinWeights weights = random_weights(positions.size(), 6, random);
    SymmetryReport report;
    const SkinWeights result =
        symmetrize({positions, triangles}, weights, {{}, {1, 0, 2, 4, 3, -1}}, &report);
    ASSERT_EQ(result.rows(), positions.size());
    for (std::size_t v = 0; v < result.rows(); ++v) {
      double sum = 0;
      for (const float weight : result.row_values(v)) {
        EXPECT_GT(weight, 0);
        sum += weight;
      }
      EXPECT_NEAR(sum, 1, 1e-5);
    }
    EXPECT_EQ(report.paired_vertices + report.interpolated_vertices + report.unmirrored_vertices,
              positions.size());
    paired += report.paired_vertices;
    interpolated += report.interpolated_vertices;
    unmirrored += report.unmirrored_vertices;
  }
  EXPECT_GT(paired, 100u);
  EXPECT_GT(interpolated, 20u);
  EXPECT_GT(unmirrored, 100u);
}

TEST(Symmetrize, ARealCharacter) {
  const auto path = test::asset("human.glb");
  if (!path) GTEST_SKIP() << test::missing_asset("human.glb");
  const Scene scene = read_scene(*path);
  const SceneMesh& mesh = scene.meshes.at(0);
  const Skin& skin = scene.skins.at(to_size(mesh.skin));
  const std::vector<int> partner = mirror_joints(scene.skeleton);
  BindSymmetry symmetry;
  for (const int joint : skin.joints) {
    const auto place = std::find(skin.joints.begin(), skin.joints.end(), partner[to_size(joint)]);
    ASSERT_NE(place, skin.joints.end());
    symmetry.partner.push_back(static_cast<int>(place - skin.joints.begin()));
  }
  SymmetryReport report;
  SkinWeights once;
  tbb::task_arena(1).execute(
      [&] { once = symmetrize(mesh.surface.view(), mesh.weights, symmetry, &report); });
  EXPECT_EQ(report.paired_vertices, mesh.surface.positions.size()) << "it was modelled with a mirror";
  EXPECT_EQ(once, symmetrize(mesh.surface.view(), mesh.weights, symmetry));
  EXPECT_LT(largest_distance(once, symmetrize(mesh.surface.view(), once, symmetry)), 1e-6);
}

}  // namespace
}  // namespace sinew
