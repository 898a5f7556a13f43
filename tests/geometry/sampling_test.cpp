#include <sinew/geometry/sampling.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

std::vector<std::uint32_t> all_of(const Mesh& mesh) {
  std::vector<std::uint32_t> part(mesh.triangles.size());
  std::iota(part.begin(), part.end(), 0u);
  return part;
}

double nearest_pair(const SurfaceSamples& samples) {
  double nearest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < samples.samples.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      nearest = std::min(
          nearest,
          (samples.samples[i].position.cast<double>() - samples.samples[j].position.cast<double>()).norm());
  return nearest;
}

// Each sample is where its triangle and weights say it is.
void expect_on_surface(const Mesh& mesh, const SurfaceSamples& samples, float size) {
  for (const SurfaceSample& sample : samples.samples) {
    const Triangle& f = mesh.triangles[sample.triangle];
    const Vec3f &a = mesh.positions[f[0]], &b = mesh.positions[f[1]], &c = mesh.positions[f[2]];
    EXPECT_GE(sample.barycentric.minCoeff(), 0);
    EXPECT_NEAR(sample.barycentric.sum(), 1, 1e-6);
    const Vec3f at = sample.barycentric[0] * a + sample.barycentric[1] * b + sample.barycentric[2] * c;
    EXPECT_LT(((at - sample.position) / size).norm(), 1e-6);
    EXPECT_NEAR(sample.normal.norm(), 1, 1e-6);
    EXPECT_NEAR(sample.normal.dot((b - a) / size), 0, 1e-6);
    EXPECT_NEAR(sample.normal.dot((c - a) / size), 0, 1e-6);
  }
}

TEST(PoissonDisk, KeepsItsDistanceAndItsCount) {
  const Mesh sphere = test::make_icosphere(3);
  for (const std::size_t count : {20, 75, 400}) {
    const SurfaceSamples samples = poisson_disk_samples(sphere.view(), all_of(sphere), count);
    EXPECT_NEAR(static_cast<double>(samples.samples.size()), static_cast<double>(count), 0.03 * count + 1);
    EXPECT_GE(nearest_pair(samples), samples.distance * (1 - 1e-6));
    // Dart throwing reaches about 0.7 of the distance of the densest packing; random points would be far
    // below.
    const double densest = std::sqrt(2 * 4 * 3.14159 / (std::sqrt(3.0) * count));
    EXPECT_GT(samples.distance, 0.62 * densest);
    expect_on_surface(sphere, samples, 1);
  }
}

TEST(PoissonDisk, LeavesNoHoles) {
  const Mesh grid = test::make_grid(5, 5);
  const SurfaceSamples samples = poisson_disk_samples(grid.view(), all_of(grid), 100);
  for (int i = 0; i <= 20; ++i)
    for (int j = 0; j <= 20; ++j) {
      const Vec3f p(i / 20.0f, j / 20.0f, 0);
      double nearest = 9;
      for (const SurfaceSample& sample : samples.samples)
        nearest = std::min<double>(nearest, (sample.position - p).norm());
      EXPECT_LT(nearest, 1.3 * samples.distance);
    }
}

TEST(PoissonDisk, NormalsFaceOutwards) {
  const Mesh sphere = test::make_icosphere(2);
  for (const SurfaceSample& sample : poisson_disk_samples(sphere.view(), all_of(sphere), 50).samples)
    EXPECT_GT(sample.normal.dot(sample.position.normalized()), 0.95f);
}

TEST(PoissonDisk, StaysInItsPart) {
  const Mesh torus = test::make_torus(20, 10);
  const std::vector<std::uint32_t> part = {5, 6, 7, 100, 101, 6};
  const SurfaceSamples samples = poisson_disk_samples(torus.view(), part, 30);
  EXPECT_GT(samples.samples.size(), 25u);
  for (const SurfaceSample& sample : samples.samples)
    EXPECT_NE(std::find(part.begin(), part.end(), sample.triangle), part.end());
}

TEST(PoissonDisk, TriangleSizesDoNotMatter) {
  // One square of 2 triangles, one of 800: about as many samples in each.
  const Mesh both = test::join(test::make_grid(1, 1), test::moved(test::make_grid(20, 20), {3, 0, 0}));
  const SurfaceSamples samples = poisson_disk_samples(both.view(), all_of(both), 200);
  const auto coarse = std::count_if(samples.samples.begin(), samples.samples.end(),
                                    [](const SurfaceSample& sample) { return sample.triangle < 2; });
  EXPECT_NEAR(static_cast<double>(coarse), 100, 12);
}

TEST(PoissonDisk, TheSeedDecides) {
  const Mesh sphere = test::make_icosphere(2);
  const auto positions = [&](std::uint64_t seed) {
    std::vector<Vec3f> result;
    for (const SurfaceSample& sample : poisson_disk_samples(sphere.view(), all_of(sphere), 40, seed).samples)
      result.push_back(sample.position);
    return result;
  };
  EXPECT_EQ(positions(5), positions(5));
  EXPECT_NE(positions(5), positions(6));
}

TEST(PoissonDisk, OneTriangle) {
  const Mesh mesh = make_mesh({{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, std::vector<Triangle>{{0, 1, 2}});
  for (const std::size_t count : {1, 2, 3, 50}) {
    const SurfaceSamples samples = poisson_disk_samples(mesh.view(), all_of(mesh), count);
    EXPECT_NEAR(static_cast<double>(samples.samples.size()), static_cast<double>(count), 1.5);
    EXPECT_GE(samples.samples.size(), 1u);
    EXPECT_GE(nearest_pair(samples), samples.distance * (1 - 1e-6));
  }
}

TEST(PoissonDisk, ThinNeedle) {
  const Mesh mesh = make_mesh({{0, 0, 0}, {1, 0, 0}, {0, 1e-7f, 0}}, std::vector<Triangle>{{0, 1, 2}});
  const SurfaceSamples samples = poisson_disk_samples(mesh.view(), all_of(mesh), 50);
  EXPECT_NEAR(static_cast<double>(samples.samples.size()), 50, 3);
  EXPECT_GT(samples.distance, 0.005);
}

TEST(PoissonDisk, NothingToSample) {
  const Mesh flat =
      make_mesh({{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {0, 0, 0}}, std::vector<Triangle>{{0, 1, 2}, {0, 3, 0}});
  EXPECT_TRUE(poisson_disk_samples(flat.view(), all_of(flat), 10).samples.empty());
  EXPECT_TRUE(poisson_disk_samples(flat.view(), {}, 10).samples.empty());
  const Mesh cube = test::make_cube();
  EXPECT_TRUE(poisson_disk_samples(cube.view(), all_of(cube), 0).samples.empty());
  EXPECT_TRUE(poisson_disk_samples(MeshView{}, {}, 5).samples.empty());
}

TEST(PoissonDisk, AnySizeOfMesh) {
  const Mesh sphere = test::make_icosphere(2);
  const std::size_t expected = poisson_disk_samples(sphere.view(), all_of(sphere), 60).samples.size();
  for (const float scale : {1e-20f, 1e18f}) {
    const Mesh scaled = test::moved(sphere, Vec3f::Zero(), scale);
    const SurfaceSamples samples = poisson_disk_samples(scaled.view(), all_of(scaled), 60);
    EXPECT_NEAR(static_cast<double>(samples.samples.size()), static_cast<double>(expected), 2);
    expect_on_surface(scaled, samples, scale);
    EXPECT_GE(nearest_pair(samples), samples.distance * (1 - 1e-6));
  }
}

}  // namespace
}  // namespace sinew
