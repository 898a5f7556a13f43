#include <sinew/core/index.h>
#include <sinew/measure/curvature.h>

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

std::vector<std::uint8_t> nothing_left_out(const Mesh& mesh) {
  return std::vector<std::uint8_t>(mesh.positions.size(), 0);
}

TEST(MeanCurvature, OfSpheresAndTubes) {
  for (const float radius : {0.02f, 1.0f, 30.0f})
    for (const double curvature : mean_curvature(test::make_icosphere(3, radius).view()))
      EXPECT_NEAR(curvature * radius, 1, 0.005);
  const int around = 48, along = 30;
  const Mesh tube = test::make_tube(around, along, 0.1f, 0.5f);
  const std::vector<double> curvature = mean_curvature(tube.view());
  for (std::size_t v = around; v < std::size_t{around} * along; ++v)  // without both ends
    EXPECT_NEAR(curvature[v] * 0.1, 0.5, 0.002);
}

TEST(MeanCurvature, OfASheetIsNone) {
  const Mesh sheet = test::make_grid(10, 7, 2, 1);
  const std::vector<double> curvature = mean_curvature(sheet.view());
  for (int j = 1; j < 7; ++j)
    for (int i = 1; i < 10; ++i) EXPECT_LT(curvature[to_size(11 * j + i)], 1e-4);
}

TEST(CurvatureMeter, ScalingChangesItByTheFactorItDividesBy) {
  const Mesh sphere = test::make_icosphere(3);
  const CurvatureMeter meter(sphere.view());
  for (const float scale : {0.5f, 1.0f, 1.25f, 4.0f}) {
    const auto change =
        meter.change(test::moved(sphere, {1, 2, 3}, scale).positions, nothing_left_out(sphere));
    ASSERT_TRUE(change.has_value());
    EXPECT_NEAR(change->rms, std::abs(1 / scale - 1), 1e-4) << scale;
    EXPECT_NEAR(change->mean, 1 / scale - 1, 1e-4) << scale;
  }
}

TEST(CurvatureMeter, WrinklesThatAreIronedOutAreGone) {
  // A sphere with bumps, over a sphere without: all that is left of its curvature is the sphere's.
  Mesh bumpy = test::make_icosphere(4);
  const std::vector<Vec3f> smooth = bumpy.positions;
  for (Vec3f& p : bumpy.positions) p *= 1 + 0.02f * std::sin(15 * p.x()) * std::sin(15 * p.y() + 1);
  const std::vector<double> at_rest = mean_curvature(bumpy.view());
  const std::vector<double> now = mean_curvature({smooth, bumpy.triangles});
  // As many vertices as here weigh nearly the same.
  double before = 0, change = 0;
  for (std::size_t v = 0; v < now.size(); ++v) {
    before += at_rest[v] * at_rest[v];
    change += (now[v] - at_rest[v]) * (now[v] - at_rest[v]);
  }
  const auto measured = CurvatureMeter(bumpy.view()).change(smooth, nothing_left_out(bumpy));
  ASSERT_TRUE(measured.has_value());
  EXPECT_NEAR(measured->rms, std::sqrt(change / before), 0.03);
  EXPECT_GT(measured->rms, 0.5);
  EXPECT_LT(measured->mean, -0.2);
}

TEST(CurvatureMeter, WeighsByAreaAndLeavesOut) {
  // Two spheres far apart, radii 1 and 3: both have the same ∫ H² dA. The second one is blown up to 6.
  const Mesh two = test::join(test::make_icosphere(3), test::moved(test::make_icosphere(3), {20, 0, 0}, 3));
  const CurvatureMeter meter(two.view());
  std::vector<Vec3f> positions = two.positions;
  std::vector<std::uint8_t> left_out = nothing_left_out(two);
  for (std::size_t v = two.positions.size() / 2; v < positions.size(); ++v)
    positions[v] = Vec3f(20, 0, 0) + 2 * (positions[v] - Vec3f(20, 0, 0));
  EXPECT_NEAR(meter.change(positions, left_out)->rms, 0.5 / std::sqrt(2.0), 1e-3);
  for (std::size_t v = 0; v < positions.size() / 2; ++v) left_out[v] = 1;
  EXPECT_NEAR(meter.change(positions, left_out)->rms, 0.5, 1e-4);
  for (std::uint8_t& out : left_out) out = !out;
  EXPECT_NEAR(meter.change(positions, left_out)->rms, 0, 1e-6);
  left_out.assign(left_out.size(), 1);
  EXPECT_FALSE(meter.change(positions, left_out).has_value());
}

TEST(CurvatureMeter, SaysNothingOfWhatHasNone) {
  Mesh sheet = test::make_grid(10, 7, 2, 1);
  const Quatf tilt(Eigen::AngleAxisf(0.7f, Vec3f(1, 2, 3).normalized()));
  for (Vec3f& p : sheet.positions) p = tilt * p;  // no longer flat to the bit
  EXPECT_FALSE(CurvatureMeter(sheet.view()).change(sheet.positions, nothing_left_out(sheet)).has_value());
  EXPECT_FALSE(CurvatureMeter(MeshView{}).change({}, {}).has_value());
  // A tube's ends are borders: whatever happens there does not count.
  const Mesh tube = test::make_tube(12, 8);
  std::vector<Vec3f> flared = tube.positions;
  const CurvatureMeter meter(tube.view());
  std::vector<std::uint8_t> left_out = nothing_left_out(tube);
  for (std::size_t v = 12; v < 36; ++v) left_out[v] = 1;  // the border's neighbours do bend
  for (std::size_t v = 0; v < 12; ++v) flared[v] += Vec3f(flared[v].x(), 0, flared[v].z());
  EXPECT_NEAR(meter.change(flared, left_out)->rms, 0, 1e-6);
}

TEST(CurvatureMeter, CollapsedTrianglesStayFinite) {
  const Mesh sphere = test::make_icosphere(3);
  const CurvatureMeter meter(sphere.view());
  std::vector<Vec3f> positions = sphere.positions;
  positions[7] = Vec3f(0.1f, 0.2f, 0.3f);
  // One spike among 642 vertices.
  EXPECT_LT(meter.change(positions, nothing_left_out(sphere))->rms, 2);
  EXPECT_GT(meter.change(positions, nothing_left_out(sphere))->rms, 0.2);
  // All round one vertex drawn together: as a curvature, thousands.
  positions = sphere.positions;
  for (const Triangle& f : sphere.triangles)
    if (f[0] == 7 || f[1] == 7 || f[2] == 7)
      for (const std::uint32_t v : f)
        positions[v] = sphere.positions[7] + 1e-4f * (sphere.positions[v] - sphere.positions[7]);
  EXPECT_LT(meter.change(positions, nothing_left_out(sphere))->rms, 3);
  for (Vec3f& p : positions) p.setZero();
  EXPECT_TRUE(std::isfinite(meter.change(positions, nothing_left_out(sphere))->rms));
  EXPECT_GT(meter.change(positions, nothing_left_out(sphere))->rms, 1);
  for (std::size_t v = 0; v < positions.size(); ++v) positions[v].setConstant(v % 2 == 0 ? 1e38f : -1e38f);
  EXPECT_TRUE(std::isfinite(meter.change(positions, nothing_left_out(sphere))->rms));
}

}  // namespace
}  // namespace sinew
