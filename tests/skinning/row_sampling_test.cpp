#include <sinew/skinning/row_sampling.h>

#include <limits>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include "tests/support/meshes.h"

namespace sinew {
namespace {

TEST(SmoothNormals, OfABallPointOutwards) {
  for (const float scale : {1e-15f, 1.0f, 1e15f}) {
    const Mesh ball = test::make_icosphere(2, scale);
    const std::vector<Vec3d> normals = smooth_normals(ball.view());
    for (std::size_t v = 0; v < normals.size(); ++v)
      EXPECT_GT(normals[v].dot(ball.positions[v].cast<double>().normalized()), 0.99);
  }
}

TEST(SmoothNormals, NoneWhereNothingFacesAnywhere) {
  // A sheet with both sides, a triangle without area, a vertex in no triangle.
  const std::vector<Vec3f> positions{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {5, 0, 0},
                                     {6, 0, 0}, {7, 0, 0}, {9, 9, 9}};
  const std::vector<Triangle> triangles{{0, 1, 2}, {0, 2, 1}, {3, 4, 5}};
  for (const Vec3d& normal : smooth_normals({positions, triangles})) EXPECT_EQ(normal, Vec3d::Zero());
  const std::vector<Vec3d> opposite{Vec3d::UnitX(), -Vec3d::UnitX(), Vec3d::UnitY()};
  EXPECT_EQ(interpolated_normal(opposite, {0, 1, 2}, {0.5f, 0.5f, 0}), Vec3d::Zero());
  EXPECT_NEAR(interpolated_normal(opposite, {0, 1, 2}, {0.5f, 0.25f, 0.25f}).dot(Vec3d(1, 1, 0)),
              std::sqrt(2), 1e-6);
}

TEST(CheckRows, NamesWhatIsWrong) {
  SkinWeights weights;
  weights.starts = {0, 1, 1};
  weights.joints = {4};
  weights.values = {1};
  EXPECT_NO_THROW(check_rows(weights, 2, "hat"));
  try {
    check_rows(weights, 3, "hat");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "hat: 2 rows of weights for 3 vertices");
  }
  for (const float bad :
       {-1.0f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    weights.values[0] = bad;
    EXPECT_THROW(check_rows(weights, 2, "hat"), Error);
  }
}

}  // namespace
}  // namespace sinew
