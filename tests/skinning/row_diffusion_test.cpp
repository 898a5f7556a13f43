#include <sinew/skinning/row_diffusion.h>

#include <random>

#include <gtest/gtest.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

double weight_of(const SkinWeights& weights, std::size_t v, std::uint32_t joint) {
  double sum = 0;
  for (std::size_t i = 0; i < weights.row_size(v); ++i)
    if (weights.row_joints(v)[i] == joint) sum += weights.row_values(v)[i];
  return sum;
}

TEST(FillRows, HarmonicBetweenKnownRows) {
  // On a regular strip between two ends, weights run straight from one to the other.
  const Mesh strip = test::make_grid(10, 2, 5.0f, 1.0f);
  SkinWeights weights;
  WeightRepairs repairs;
  std::vector<std::uint8_t> known;
  for (const Vec3f& p : strip.positions) {
    const bool end = p.x() == 0 || p.x() == 5;
    known.push_back(end || p.x() == 2);  // that row is known to be empty, and lets others pass
    std::vector<Influence> row;
    if (end) row.push_back({p.x() == 0 ? 4u : 7u, 1.0f});
    append_row(weights, row, 0, repairs);
  }
  const SkinWeights result = fill_rows(strip.view(), weights, known);
  for (std::size_t v = 0; v < result.rows(); ++v) {
    if (strip.positions[v].x() == 2) {
      EXPECT_EQ(result.row_size(v), 0u);
      continue;
    }
    EXPECT_NEAR(weight_of(result, v, 7), strip.positions[v].x() / 5, 2e-3);
    EXPECT_NEAR(weight_of(result, v, 4), 1 - strip.positions[v].x() / 5, 2e-3);
  }
}

TEST(FillRows, ObtuseTrianglesStayInRange) {
  // Needles make cotangent weights negative by far; a weight must still not leave the range of those round
  // it.
  std::mt19937 random(13);
  std::uniform_real_distribution<float> number(-1, 1);
  for (int round = 0; round < 20; ++round) {
    Mesh mesh = test::make_grid(12, 12);
    for (Vec3f& p : mesh.positions)
      p = Vec3f(30 * p.x(), p.y(), 0) + 0.08f * Vec3f(number(random), number(random), 0);
    SkinWeights weights;
    WeightRepairs repairs;
    std::vector<std::uint8_t> known;
    for (std::size_t v = 0; v < mesh.positions.size(); ++v) {
      known.push_back(random() % 10 == 0 || v == 0);
      Influence row[] = {{0, 0.4f}, {1 + static_cast<std::uint32_t>(random() % 2), 0.6f}};
      append_row(weights, known.back() ? std::span<Influence>(row) : std::span<Influence>(), 0, repairs);
    }
    const SkinWeights result = fill_rows(mesh.view(), weights, known);
    for (std::size_t v = 0; v < result.rows(); ++v) {
      EXPECT_NEAR(weight_of(result, v, 0), 0.4, 1e-5);
      EXPECT_NEAR(weight_of(result, v, 1) + weight_of(result, v, 2), 0.6, 1e-5);
    }
  }
}

TEST(FillRows, PartsWithoutAKnownRowStayEmpty) {
  const Mesh mesh = test::join(test::make_cube(1), test::moved(test::make_cube(1), Vec3f(3, 0, 0)));
  SkinWeights weights;
  weights.starts.assign(17, 1);
  weights.starts[0] = 0;
  weights.joints = {5};
  weights.values = {1};
  std::vector<std::uint8_t> known(16, 0);
  known[0] = 1;
  known[9] = 1;  // known to be empty
  const SkinWeights result = fill_rows(mesh.view(), weights, known);
  for (std::size_t v = 0; v < 8; ++v) EXPECT_NEAR(weight_of(result, v, 5), 1, 1e-6);
  for (std::size_t v = 8; v < 16; ++v) EXPECT_EQ(result.row_size(v), 0u);
}

}  // namespace
}  // namespace sinew
