#include <sinew/skinning/smooth_rows.h>

#include <cmath>

#include <gtest/gtest.h>

#include <sinew/skinning/envelope_weights.h>

#include "tests/support/binding_checks.h"
#include "tests/support/meshes.h"

namespace sinew {
namespace {

using test::weight_of;

SkinWeights halves(const Mesh& tube) {
  SkinWeights weights;
  WeightRepairs repairs;
  for (const Vec3f& p : tube.positions) {
    Influence row[] = {{p.y() < 0.5f ? 0u : 1u, 1.0f}};
    append_row(weights, row, 0, repairs);
  }
  return weights;
}

TEST(SmoothRows, SpreadWithEveryPassAndKeepTheirSum) {
  const Mesh tube = test::make_tube(12, 20, 0.1f, 1.0f, true);
  const SkinWeights rigid = halves(tube);
  EXPECT_EQ(smooth_rows(tube.view(), rigid, 0), rigid);
  std::size_t last = 0;
  for (const int passes : {1, 4, 16}) {
    const SkinWeights smooth = smooth_rows(tube.view(), rigid, passes);
    std::size_t blended = 0;
    for (std::size_t v = 0; v < tube.positions.size(); ++v) {
      EXPECT_NEAR(weight_of(smooth, v, 0) + weight_of(smooth, v, 1), 1, 1e-5);
      if (smooth.row_size(v) > 1) ++blended;
    }
    EXPECT_GT(blended, last);
    last = blended;
  }
}

TEST(SmoothRows, OnePassTakesHalfFromTheNeighbours) {
  // On a grid of quads a along and b round the tube, neighbours count b / a along and a / b round it.
  const Mesh tube = test::make_tube(12, 20, 0.1f, 1.0f, true);
  const SkinWeights smooth = smooth_rows(tube.view(), halves(tube), 1);
  const double a = 0.05, b = 0.2 * std::sin(M_PI / 12), above = (b / a) / (2 * (b / a + a / b));
  for (std::size_t v = 12 * 9; v < 12 * 10; ++v)  // the last ring below the border
    EXPECT_NEAR(weight_of(smooth, v, 1), 0.5 * above, 1e-4);
}

TEST(SmoothRows, LonelyVerticesKeepTheirRows) {
  std::vector<Vec3f> points{{0, 0, 0}, {0, 1, 0}};
  const SkinWeights weights{{0, 1, 2}, {4, 2}, {1, 1}};
  EXPECT_EQ(smooth_rows({points, {}}, weights, 5), weights);
}

TEST(EnvelopeWeights, FallOffWithRelativeDistance) {
  const std::vector<Bone> bones{{0, -1, {0, 0, 0}, {0, 1, 0}}, {1, -1, {3, 0, 0}, {3, 1, 0}}};
  // At 1 m and 2 m: half a reach left for the farther one with reach 2.
  const std::vector<Vec3f> points{{1, 0.5f, 0}, {0.5f, 0.5f, 0}, {1.5f, 0.2f, 0}, {0, 0.5f, 0}};
  const SkinWeights weights = envelope_weights(points, bones, {.reach = 2});
  EXPECT_NEAR(weight_of(weights, 0, 0), 1 / 1.25, 1e-6);
  EXPECT_NEAR(weight_of(weights, 0, 1), 0.25 / 1.25, 1e-6);
  EXPECT_EQ(weight_of(weights, 1, 0), 1.0f);
  EXPECT_EQ(weight_of(weights, 2, 0), 0.5f);
  EXPECT_EQ(weight_of(weights, 3, 0), 1.0f);  // on the bone
}

TEST(EnvelopeWeights, OfAJointsBonesTheNearestCounts) {
  const std::vector<Bone> bones{
      {0, -1, {1, 0, 0}, {1, 1, 0}}, {0, -1, {-1, 0, 0}, {-1, 1, 0}}, {1, -1, {0, 0, 1}, {0, 1, 1}}};
  const std::vector<Vec3f> points{{0, 0.5f, 0}};
  EXPECT_EQ(weight_of(envelope_weights(points, bones), 0, 0), 0.5f);
}

}  // namespace
}  // namespace sinew
