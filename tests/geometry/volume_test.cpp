#include <sinew/geometry/volume.h>

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

constexpr double kPi = std::numbers::pi;

TEST(Volume, Cube) {
  EXPECT_NEAR(enclosed_volume(test::make_cube(2).view()), 8, 1e-12);
  EXPECT_NEAR(surface_area(test::make_cube(2).view()), 24, 1e-12);
}

TEST(Volume, TurnedInsideOutIsNegative) {
  Mesh cube = test::make_cube(2);
  for (Triangle& f : cube.triangles) std::swap(f[0], f[1]);
  EXPECT_NEAR(enclosed_volume(cube.view()), -8, 1e-12);
}

TEST(Volume, SphereConverges) {
  double last_volume_error = 10, last_area_error = 10;
  for (int levels = 1; levels <= 4; ++levels) {
    const Mesh sphere = test::make_icosphere(levels);
    const double volume_error = 4 * kPi / 3 - enclosed_volume(sphere.view());
    const double area_error = 4 * kPi - surface_area(sphere.view());
    EXPECT_GT(volume_error, 0);                        // inscribed
    EXPECT_LT(volume_error, last_volume_error / 3.5);  // second order
    EXPECT_LT(area_error, last_area_error / 3.5);
    last_volume_error = volume_error;
    last_area_error = area_error;
  }
}

TEST(Volume, TorusAndTube) {
  // Prisms and frusta with regular n-gons: the tube is exact, the torus near Pappus' formula.
  const int n = 32;
  const Mesh tube = test::make_tube(n, 5, 0.5f, 3, true);
  EXPECT_NEAR(enclosed_volume(tube.view()), 3 * 0.5 * 0.5 * 0.5 * n * std::sin(2 * kPi / n), 1e-6);
  const Mesh torus = test::make_torus(400, 200, 1, 0.25f);
  EXPECT_NEAR(enclosed_volume(torus.view()), 2 * kPi * kPi * 0.0625, 1e-3);
  EXPECT_NEAR(surface_area(torus.view()), 4 * kPi * kPi * 0.25, 1e-3);
}

TEST(Volume, DoesNotLoseDigitsFarFromTheOrigin) {
  const Vec3f shift(37, -53, 71);
  const Mesh far = test::moved(test::make_icosphere(3), shift);
  const Mesh near = test::moved(far, -shift);  // exact: the rounding was done on the way out
  const double volume = enclosed_volume(near.view()), area = surface_area(near.view());
  EXPECT_NEAR(enclosed_volume(far.view()), volume, 2e-15 * volume);
  EXPECT_NEAR(surface_area(far.view()), area, 2e-15 * area);
  EXPECT_LT((surface_centroid(far.view()) - shift.cast<double>() - surface_centroid(near.view())).norm(),
            1e-9);
}

TEST(Volume, OpenSurfacesMayMoveToo) {
  const Mesh tube = test::make_tube(8, 2, 0.5f, 4);
  const double volume = enclosed_volume(tube.view());
  EXPECT_GT(volume, 1);
  EXPECT_NEAR(enclosed_volume(test::moved(tube, {8, -16, 4}).view()), volume, 1e-5);
}

TEST(Volume, ExtremeSizes) {
  for (const float scale : {1e-20f, 1e18f}) {
    const Mesh cube = test::moved(test::make_cube(1), Vec3f::Zero(), scale);
    EXPECT_NEAR(enclosed_volume(cube.view()) / std::pow(double{scale}, 3), 1, 1e-6);
    EXPECT_NEAR(surface_area(cube.view()) / std::pow(double{scale}, 2), 6, 1e-6);
  }
}

TEST(Volume, CentroidIsWeightedByAreaNotByVertices) {
  // A fine and a coarse square of the same size side by side.
  const Mesh both = test::join(test::make_grid(10, 10), test::moved(test::make_grid(1, 1), {2, 0, 0}));
  EXPECT_LT((surface_centroid(both.view()) - Vec3d(1.5, 0.5, 0)).norm(), 1e-7);
}

TEST(Volume, NothingAndDegenerate) {
  EXPECT_EQ(enclosed_volume(MeshView{}), 0);
  EXPECT_EQ(surface_area(MeshView{}), 0);
  EXPECT_EQ(surface_centroid(MeshView{}), Vec3d::Zero());
  const Mesh flat = make_mesh({{0, 0, 0}, {1, 0, 0}, {2, 0, 0}}, std::vector<Triangle>{{0, 1, 2}});
  EXPECT_EQ(surface_area(flat.view()), 0);
  EXPECT_LT((surface_centroid(flat.view()) - Vec3d(1, 0, 0)).norm(), 1e-12);
}

}  // namespace
}  // namespace sinew
