#include <sinew/geometry/ray_query.h>

#include <cmath>
#include <string>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <sinew/core/error.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

// A reproducible spread of numbers in [-1, 1].
class Spread {
 public:
  float next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<float>(static_cast<double>(state_ >> 11) * 0x1p-52 - 1);
  }
  Vec3f vector() { return {next(), next(), next()}; }

 private:
  std::uint64_t state_ = 42;
};

Vec3f at(const Mesh& mesh, std::uint32_t triangle, const Vec3f& weights) {
  const Triangle& f = mesh.triangles[triangle];
  return weights[0] * mesh.positions[f[0]] + weights[1] * mesh.positions[f[1]] +
         weights[2] * mesh.positions[f[2]];
}

TEST(RayQuery, HitsTheSphereWhereGeometrySays) {
  const Mesh sphere = test::make_icosphere(5);
  const SurfaceQuery query(sphere.view());
  Spread spread;
  int hits = 0;
  for (int i = 0; i < 500; ++i) {
    const Vec3f origin = 3 * spread.vector();
    const Ray ray{origin, 1.5f * spread.vector() - origin};
    // |o + t d|² = 1
    const double a = ray.direction.squaredNorm(), b = ray.origin.dot(ray.direction),
                 c = ray.origin.squaredNorm() - 1;
    const double root = b * b - a * c;
    if (std::abs(root) < 0.05 * a || std::abs(c) < 0.05)
      continue;  // grazing rays and starts near the surface
    const auto hit = query.first_hit(ray);
    const double t1 = root < 0 ? -1 : (-b - std::sqrt(root)) / a,
                 t2 = root < 0 ? -1 : (-b + std::sqrt(root)) / a;
    const double expected = t1 > 0 ? t1 : t2;
    ASSERT_EQ(hit.has_value(), expected > 0) << i;
    EXPECT_EQ(query.occluded(ray), hit.has_value());
    if (!hit) continue;
    ++hits;
    EXPECT_NEAR(hit->t * std::sqrt(a), expected * std::sqrt(a), 0.01);
    EXPECT_NEAR(hit->position.norm(), 1, 1e-3);
    EXPECT_LT((ray.origin + hit->t * ray.direction - hit->position).norm(), 1e-5);
    EXPECT_LT((at(sphere, hit->triangle, hit->barycentric) - hit->position).norm(), 1e-5);
    EXPECT_EQ(hit->from_front, c > 0);
    const auto all = query.all_hits(ray);
    EXPECT_GE(all.size(), c > 0 ? 2u : 1u);
    EXPECT_EQ(all.front().triangle, hit->triangle);
    EXPECT_NEAR(all.back().t, t2, 0.01 / std::sqrt(a));
  }
  EXPECT_GT(hits, 100);
  EXPECT_LT(hits, 400);
}

TEST(RayQuery, RespectsItsRange) {
  const Mesh cube = test::make_cube(2);
  const SurfaceQuery query(cube.view());
  Ray ray{{-5, 0.25f, 0.5f}, {2, 0, 0}, 0, 10};
  EXPECT_FLOAT_EQ(query.first_hit(ray)->t, 2);
  EXPECT_TRUE(query.first_hit(ray)->from_front);
  EXPECT_EQ(query.all_hits(ray).size(), 2u);
  ray.t_far = 1.9f;
  EXPECT_FALSE(query.first_hit(ray));
  EXPECT_FALSE(query.occluded(ray));
  ray.t_far = 2.001f;
  EXPECT_TRUE(query.occluded(ray));
  ray.t_near = 2.5f;
  ray.t_far = 10;
  EXPECT_FLOAT_EQ(query.first_hit(ray)->t, 3);
  EXPECT_FALSE(query.first_hit(ray)->from_front);
  ray.t_near = 3.5f;
  EXPECT_FALSE(query.first_hit(ray));
  ray.t_near = 4;
  ray.t_far = 2;
  EXPECT_FALSE(query.first_hit(ray));
}

TEST(RayQuery, NoCracksAlongEdgesAndCornersAndTiesGoToTheSmallestTriangle) {
  const Mesh grid = test::make_grid(10, 10, 10, 10);
  const SurfaceQuery query(grid.view());
  for (int j = 1; j < 20; ++j)
    for (int i = 1; i < 20; ++i) {
      const Ray ray{{0.5f * i, 0.5f * j, 3}, {0, 0, -1}};
      const auto hit = query.first_hit(ray);
      ASSERT_TRUE(hit);
      EXPECT_EQ(hit->triangle, query.all_hits(ray).front().triangle);
    }
}

TEST(RayQuery, AxisParallelRaysInTheBorderOfTheBox) {
  const Mesh cube = test::make_cube(2);
  const SurfaceQuery query(cube.view());
  EXPECT_TRUE(query.first_hit({{0, 0, -7}, {0, 0, 1}}));
  EXPECT_FALSE(query.first_hit({{1.01f, 0, -7}, {0, 0, 1}}));
  EXPECT_FALSE(query.first_hit({{0, 0, -7}, {0, 0, -1}}));
}

TEST(RayQuery, OriginsFarAwayCostNoDigits) {
  const Mesh sphere = test::make_icosphere(4);
  const SurfaceQuery query(sphere.view());
  const auto hit = query.first_hit({{-1e12f, 0.25f, 0.125f}, {1, 0, 0}});
  ASSERT_TRUE(hit);
  EXPECT_NEAR(hit->position.y(), 0.25, 1e-5);
  EXPECT_NEAR(hit->position.z(), 0.125, 1e-5);
  EXPECT_LT(hit->position.x(), -0.9f);
}

TEST(RayQuery, AnySizeOfMesh) {
  const Mesh sphere = test::make_icosphere(3);
  const SurfaceQuery unit(sphere.view());
  Spread spread;
  for (const float scale : {1e-30f, 1e-20f, 1e-3f, 1e18f, 1e36f}) {
    const SurfaceQuery query(test::moved(sphere, Vec3f::Zero(), scale).view());
    for (int i = 0; i < 30; ++i) {
      const Vec3f origin = 2 * spread.vector().normalized(), direction = 0.3f * spread.vector() - origin;
      const auto expected = unit.first_hit({origin, direction}),
                 hit = query.first_hit({scale * origin, direction});
      ASSERT_EQ(hit.has_value(), expected.has_value()) << scale;
      if (hit) {
        EXPECT_LT((hit->position / scale - expected->position).norm(), 1e-4) << scale;
      }
      const auto near = query.nearest(scale * origin), near_expected = unit.nearest(origin);
      ASSERT_TRUE(near && near_expected);
      EXPECT_NEAR(near->distance / scale, near_expected->distance, 1e-5) << scale;
    }
  }
}

TEST(RayQuery, BadRaysAndPointsHitNothing) {
  const SurfaceQuery query(test::make_cube().view());
  const float nan = std::nanf(""), infinite = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(query.first_hit({{nan, 0, 0}, {1, 0, 0}}));
  EXPECT_FALSE(query.first_hit({{0, 0, 0}, {nan, 0, 0}}));
  EXPECT_FALSE(query.first_hit({{0, 0, 0}, {infinite, 0, 0}}));
  EXPECT_FALSE(query.first_hit({{0, 0, 0}, {0, 0, 0}}));
  EXPECT_FALSE(query.first_hit({{0, 0, 0}, {1, 0, 0}, nan, 1}));
  EXPECT_FALSE(query.occluded(Ray{{0, 0, infinite}, {1, 0, 0}}));
  EXPECT_FALSE(query.nearest({nan, 0, 0}));
  EXPECT_FALSE(query.nearest({0, 0, 0}, nan));
  EXPECT_TRUE(query.first_hit({{0, 0.1f, 0.2f}, {1e-40f, 0, 0}}));  // tiny, but a direction
}

TEST(RayQuery, EmptyAndDegenerateMeshes) {
  const SurfaceQuery empty(MeshView{});
  EXPECT_FALSE(empty.first_hit({}));
  EXPECT_FALSE(empty.nearest({0, 0, 0}));
  const Mesh flat =
      make_mesh({{1, 0, 0}, {3, 0, 0}, {2, 0, 0}, {9, 9, 9}}, std::vector<Triangle>{{0, 1, 2}, {3, 3, 3}});
  const SurfaceQuery query(flat.view());
  EXPECT_FALSE(query.first_hit({{2, 0, 5}, {0, 0, -1}}));
  EXPECT_FLOAT_EQ(query.nearest({2.5f, 1, 0})->distance, 1);
  EXPECT_LT((query.nearest({2.5f, 1, 0})->position - Vec3f(2.5f, 0, 0)).norm(), 1e-6);
  EXPECT_EQ(query.nearest({9, 9, 10})->triangle, 1u);
  const Mesh origin = make_mesh({{0, 0, 0}}, std::vector<Triangle>{{0, 0, 0}});
  EXPECT_FLOAT_EQ(SurfaceQuery(origin.view()).nearest({0, 3, 4})->distance, 5);
}

TEST(RayQuery, RejectsPositionsThatAreNotFinite) {
  Mesh cube = test::make_cube();
  cube.positions.push_back({std::nanf(""), 0, 0});
  EXPECT_NO_THROW(SurfaceQuery(cube.view()));  // in no triangle
  cube.positions[3].y() = std::nanf("");
  try {
    const SurfaceQuery query(cube.view());
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("vertex 3: position (1, nan"), std::string::npos);
  }
}

// Another route to the nearest point of a triangle: by its Voronoi regions (Ericson, "Real-Time Collision
// Detection", §5.1.5).
Vec3d nearest_by_regions(const Vec3d& p, const Vec3d& a, const Vec3d& b, const Vec3d& c) {
  const Vec3d ab = b - a, ac = c - a;
  const double d1 = ab.dot(p - a), d2 = ac.dot(p - a), d3 = ab.dot(p - b), d4 = ac.dot(p - b),
               d5 = ab.dot(p - c), d6 = ac.dot(p - c);
  if (d1 <= 0 && d2 <= 0) return a;
  if (d3 >= 0 && d4 <= d3) return b;
  if (d6 >= 0 && d5 <= d6) return c;
  const double va = d3 * d6 - d5 * d4, vb = d5 * d2 - d1 * d6, vc = d1 * d4 - d3 * d2;
  if (vc <= 0 && d1 >= 0 && d3 <= 0) return a + d1 / (d1 - d3) * ab;
  if (vb <= 0 && d2 >= 0 && d6 <= 0) return a + d2 / (d2 - d6) * ac;
  if (va <= 0 && d4 - d3 >= 0 && d5 - d6 >= 0) return b + (d4 - d3) / ((d4 - d3) + (d5 - d6)) * (c - b);
  return a + vb / (va + vb + vc) * ab + vc / (va + vb + vc) * ac;
}

TEST(NearestPoint, AgreesWithBruteForce) {
  const Mesh torus = test::make_torus(30, 15);
  const SurfaceQuery query(torus.view());
  Spread spread;
  for (int i = 0; i < 300; ++i) {
    const Vec3f p = 1.5f * spread.vector();
    const auto hit = query.nearest(p);
    ASSERT_TRUE(hit);
    double best = std::numeric_limits<double>::infinity();
    for (const Triangle& f : torus.triangles) {
      const Vec3d nearest =
          nearest_by_regions(p.cast<double>(), torus.positions[f[0]].cast<double>(),
                             torus.positions[f[1]].cast<double>(), torus.positions[f[2]].cast<double>());
      best = std::min(best, (nearest - p.cast<double>()).norm());
    }
    EXPECT_NEAR(hit->distance, best, 1e-7);
    EXPECT_NEAR((hit->position - p).norm(), hit->distance, 1e-6);
    EXPECT_LT((at(torus, hit->triangle, hit->barycentric) - hit->position).norm(), 1e-6);
  }
}

TEST(NearestPoint, ToOneTriangleInAllItsRegions) {
  const Mesh mesh = make_mesh({{0, 0, 0}, {4, 0, 0}, {0, 4, 0}}, std::vector<Triangle>{{0, 1, 2}});
  const SurfaceQuery query(mesh.view());
  const auto nearest = [&](const Vec3f& p) { return query.nearest(p)->position; };
  EXPECT_LT((nearest({1, 1, 3}) - Vec3f(1, 1, 0)).norm(), 1e-6);    // inside
  EXPECT_LT((nearest({-1, -2, 1}) - Vec3f(0, 0, 0)).norm(), 1e-6);  // corners
  EXPECT_LT((nearest({6, -1, 0}) - Vec3f(4, 0, 0)).norm(), 1e-6);
  EXPECT_LT((nearest({-1, 9, 2}) - Vec3f(0, 4, 0)).norm(), 1e-6);
  EXPECT_LT((nearest({2, -1, 1}) - Vec3f(2, 0, 0)).norm(), 1e-6);  // sides
  EXPECT_LT((nearest({-3, 1, -1}) - Vec3f(0, 1, 0)).norm(), 1e-6);
  EXPECT_LT((nearest({3, 3, 5}) - Vec3f(2, 2, 0)).norm(), 1e-6);
}

TEST(NearestPoint, RespectsTheDistanceAsked) {
  const SurfaceQuery query(test::make_cube(2).view());
  EXPECT_TRUE(query.nearest({3, 0, 0}, 2.0f));
  EXPECT_FALSE(query.nearest({3, 0, 0}, 1.9f));
  EXPECT_TRUE(query.nearest({1, 0, 0}, 0));
}

TEST(NearestPoint, TiesGoToTheSmallestTriangle) {
  const SurfaceQuery query(test::make_cube(2).view());
  EXPECT_EQ(query.nearest({0, 0, 0})->triangle, 0u);  // six faces equally near
  Mesh pile = test::make_grid(1, 1);
  for (int i = 0; i < 100; ++i) pile.triangles.push_back(pile.triangles[i % 2]);
  EXPECT_LT(SurfaceQuery(pile.view()).nearest({0.3f, 0.6f, 1})->triangle, 2u);
}

TEST(NearestPoint, FromVeryFarAway) {
  const SurfaceQuery query(test::make_cube(2).view());
  for (const float far : {1e5f, 1e8f}) EXPECT_EQ(query.nearest({far, 0.5f, 0.5f})->position.x(), 1) << far;
  for (const float far : {1e5f, 1e8f, 1e25f, 1e38f}) {
    EXPECT_FLOAT_EQ(query.nearest({0, -far, 0})->distance, far - 1) << far;
  }
}

TEST(RayQuery, BatchesGiveTheSameAnswersOnAnyNumberOfThreads) {
  const Mesh torus = test::make_torus(60, 30);
  Spread spread;
  std::vector<Ray> rays;
  std::vector<Vec3f> points;
  for (int i = 0; i < 1000; ++i) {
    rays.push_back({2 * spread.vector(), spread.vector()});
    points.push_back(spread.vector());
  }
  struct Answers {
    std::vector<std::uint32_t> triangles;
    std::vector<Vec3f> positions;
    std::vector<std::uint8_t> occluded;
  };
  const auto ask = [&](int threads) {
    Answers answers;
    tbb::task_arena(threads).execute([&] {
      const SurfaceQuery query(torus.view());
      std::vector<std::optional<RayHit>> hits(rays.size());
      std::vector<std::optional<NearestHit>> near(points.size());
      answers.occluded.resize(rays.size());
      query.first_hits(rays, hits);
      query.occluded(rays, answers.occluded);
      query.nearest(points, near);
      for (std::size_t i = 0; i < rays.size(); ++i) {
        EXPECT_EQ(hits[i].has_value(), answers.occluded[i] != 0);
        answers.triangles.push_back(hits[i] ? hits[i]->triangle : 0xffffffff);
        answers.positions.push_back(hits[i] ? hits[i]->position : Vec3f(Vec3f::Zero()));
        answers.triangles.push_back(near[i]->triangle);
        answers.positions.push_back(near[i]->position);
      }
    });
    return answers;
  };
  const Answers one = ask(1), many = ask(4);
  EXPECT_EQ(one.triangles, many.triangles);
  EXPECT_EQ(one.positions, many.positions);
  EXPECT_EQ(one.occluded, many.occluded);
}

}  // namespace
}  // namespace sinew
