#include <sinew/effects/compression.h>

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

using Corners = std::array<Vec3d, 3>;

template <class Map>
Corners mapped(const Corners& corners, const Map& map) {
  return {map(corners[0]), map(corners[1]), map(corners[2])};
}

template <class Map>
std::vector<Vec3f> mapped(const std::vector<Vec3f>& positions, const Map& map) {
  std::vector<Vec3f> result;
  for (const Vec3f& p : positions) result.push_back(map(p.cast<double>()).template cast<float>());
  return result;
}

void expect_parallel(const Vec3d& direction, const Vec3d& expected, double tolerance = 1e-9) {
  EXPECT_NEAR(direction.norm(), 1, 1e-9);
  EXPECT_NEAR(direction.cross(expected.normalized()).norm(), 0, tolerance);
}

const Corners kCorners = {Vec3d(0.1, 0.2, 0), Vec3d(1.3, 0.1, 0), Vec3d(0.4, 0.9, 0)};
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

class RandomFrames {
 public:
  double between(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(generator_);
  }
  Vec3d vector() { return {between(-1, 1), between(-1, 1), between(-1, 1)}; }
  Mat3d rotation() {
    return Quatd(between(-1, 1), between(-1, 1), between(-1, 1), between(-1, 1)).normalized().matrix();
  }

 private:
  std::mt19937 generator_{7};
};

TEST(TriangleCompression, ShorterAlongX) {
  const Compression compression = triangle_compression(
      kCorners, mapped(kCorners, [](const Vec3d& p) { return Vec3d(0.7 * p.x(), p.y(), p.z()); }));
  EXPECT_NEAR(compression.amount, 0.3, 1e-12);
  expect_parallel(compression.direction, Vec3d::UnitX());
}

TEST(TriangleCompression, TakesTheStrongerOfTwo) {
  const Compression compression = triangle_compression(
      kCorners, mapped(kCorners, [](const Vec3d& p) { return Vec3d(0.9 * p.x(), 0.4 * p.y(), p.z()); }));
  EXPECT_NEAR(compression.amount, 0.6, 1e-12);
  expect_parallel(compression.direction, Vec3d::UnitY());
}

TEST(TriangleCompression, DirectionIsThatAtRestInAnyFrame) {
  RandomFrames random;
  for (int i = 0; i < 50; ++i) {
    // Pressed along `way`, stretched across it, then turned and moved.
    const double angle = random.between(0, 3), small = random.between(0.05, 0.95),
                 large = random.between(0.96, 2);
    const Vec3d way(std::cos(angle), std::sin(angle), 0), other(-std::sin(angle), std::cos(angle), 0);
    const Mat3d stretch = small * way * way.transpose() + large * other * other.transpose();
    const Mat3d before = random.rotation(), after = random.rotation();
    const Vec3d shift_before = random.vector(), shift_after = random.vector();
    const Corners rest = mapped(kCorners, [&](const Vec3d& p) { return Vec3d(before * p + shift_before); });
    const Corners now =
        mapped(kCorners, [&](const Vec3d& p) { return Vec3d(after * stretch * p + shift_after); });
    const Compression compression = triangle_compression(rest, now);
    EXPECT_NEAR(compression.amount, 1 - small, 1e-9);
    expect_parallel(compression.direction, before * way, 1e-7);
  }
}

TEST(TriangleCompression, Shear) {
  // Singular values of [1 k; 0 1] are t and 1/t with t − 1/t = k; for k = 1.5 these are 2 and 1/2.
  const Compression compression = triangle_compression(
      kCorners, mapped(kCorners, [](const Vec3d& p) { return Vec3d(p.x() + 1.5 * p.y(), p.y(), p.z()); }));
  EXPECT_NEAR(compression.amount, 0.5, 1e-12);
  expect_parallel(compression.direction, Vec3d(2, -1, 0));
}

TEST(TriangleCompression, NoneWhereStretched) {
  for (const double factor : {1.0, 1.2, 3.0}) {
    const Compression compression = triangle_compression(kCorners, mapped(kCorners, [&](const Vec3d& p) {
                                                           return Vec3d(1.5 * p.x(), factor * p.y(), p.z());
                                                         }));
    EXPECT_NEAR(compression.amount, 0, 1e-12) << factor;
    EXPECT_GE(compression.amount, 0) << factor;
    if (factor > 1) {
      EXPECT_EQ(compression.direction, Vec3d::Zero()) << factor;
    }
  }
}

TEST(TriangleCompression, RigidMotion) {
  RandomFrames random;
  for (int i = 0; i < 50; ++i) {
    const Mat3d turn = random.rotation();
    const Vec3d shift = random.vector();
    const Compression compression = triangle_compression(
        kCorners, mapped(kCorners, [&](const Vec3d& p) { return Vec3d(turn * p + shift); }));
    EXPECT_NEAR(compression.amount, 0, 1e-9);
    EXPECT_GE(compression.amount, 0);
  }
}

TEST(TriangleCompression, CollapsedNow) {
  const Compression line =
      triangle_compression(kCorners, mapped(kCorners, [](const Vec3d& p) { return Vec3d(p.x(), 0, 0); }));
  EXPECT_NEAR(line.amount, 1, 1e-7);
  expect_parallel(line.direction, Vec3d::UnitY(), 1e-7);
  const Compression point =
      triangle_compression(kCorners, mapped(kCorners, [](const Vec3d&) { return Vec3d(1, 2, 3); }));
  EXPECT_NEAR(point.amount, 1, 1e-12);
  EXPECT_NEAR(point.direction.norm(), 1, 1e-9);
}

TEST(TriangleCompression, NoneWithoutAreaAtRest) {
  const Vec3d a(0.1, 0.2, 0.3), b(1, 0, 0);
  for (const Corners& rest :
       {Corners{a, a, a}, Corners{a, a, b}, Corners{a, b, a}, Corners{b, a, a}, Corners{a, (a + b) / 2, b}}) {
    const Compression compression = triangle_compression(rest, kCorners);
    EXPECT_EQ(compression.amount, 0);
    EXPECT_EQ(compression.direction, Vec3d::Zero());
  }
}

TEST(TriangleCompression, NumbersThatAreNone) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double bad : {kNaN, kInfinity, -kInfinity})
    for (std::size_t c = 0; c < 3; ++c)
      for (int axis = 0; axis < 3; ++axis) {
        Corners broken = kCorners;
        broken[c][axis] = bad;
        for (const Compression& compression :
             {triangle_compression(kCorners, broken), triangle_compression(broken, kCorners),
              triangle_compression(broken, broken)}) {
          EXPECT_EQ(compression.amount, 0);
          EXPECT_EQ(compression.direction, Vec3d::Zero());
        }
      }
}

TEST(SurfaceCompression, EvenlyPressedPlane) {
  const Mesh grid = test::make_grid(5, 4, 1.0f, 2.0f);
  RandomFrames random;
  const Mat3d turn = random.rotation();
  const auto compressions =
      surface_compression(grid.view(), mapped(grid.positions, [&](const Vec3d& p) {
                            return Vec3d(turn * Vec3d(0.7 * p.x(), 1.1 * p.y(), p.z()) + Vec3d(1, 2, 3));
                          }));
  ASSERT_EQ(compressions.size(), grid.positions.size());
  for (const Compression& compression : compressions) {
    EXPECT_NEAR(compression.amount, 0.3, 1e-5);
    expect_parallel(compression.direction, Vec3d::UnitX(), 1e-4);
  }
}

TEST(SurfaceCompression, NothingAtRestAndInRigidMotion) {
  const Mesh sphere = test::make_icosphere(2);
  RandomFrames random;
  const Mat3d turn = random.rotation();
  for (const Compression& compression : surface_compression(sphere.view(), sphere.positions))
    EXPECT_NEAR(compression.amount, 0, 1e-6);
  for (const Compression& compression : surface_compression(
           sphere.view(), mapped(sphere.positions,
                                 [&](const Vec3d& p) { return Vec3d(turn * p + Vec3d(0.5, 0.25, -0.5)); })))
    EXPECT_NEAR(compression.amount, 0, 2e-6);  // floats' own rounding
}

// Two triangles on one edge, of areas 2 and 1 (times ½), of which only the first is pressed.
TEST(SurfaceCompression, VerticesTakeTheirTrianglesByArea) {
  const Mesh mesh = make_mesh(std::vector<Vec3f>{{0, 0, 0}, {0, 1, 0}, {-2, 0, 0}, {1, 0, 0}},
                              std::vector<Triangle>{{0, 1, 2}, {0, 3, 1}});
  std::vector<Vec3f> now = mesh.positions;
  now[2].x() = -1;  // half as long
  const auto compressions = surface_compression(mesh.view(), now);
  EXPECT_NEAR(compressions[0].amount, 0.5 * 2 / 3, 1e-6);
  EXPECT_NEAR(compressions[1].amount, 0.5 * 2 / 3, 1e-6);
  EXPECT_NEAR(compressions[2].amount, 0.5, 1e-6);
  EXPECT_EQ(compressions[3].amount, 0);
  EXPECT_EQ(compressions[3].direction, Vec3d::Zero());
  for (std::size_t v = 0; v < 3; ++v) expect_parallel(compressions[v].direction, Vec3d::UnitX(), 1e-6);
}

// One triangle pressed along x, its neighbour of the same area along y: neither way has all of it.
TEST(SurfaceCompression, OpposingDirectionsCancel) {
  const Mesh mesh = make_mesh(std::vector<Vec3f>{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {-1, 0, 0}, {0, -1, 0}},
                              std::vector<Triangle>{{0, 1, 2}, {0, 3, 4}});
  std::vector<Vec3f> now = mesh.positions;
  now[1].x() = 0.6f;
  now[4].y() = -0.8f;
  const auto compressions = surface_compression(mesh.view(), now);
  EXPECT_NEAR(compressions[0].amount, 0.2, 1e-6);
  expect_parallel(compressions[0].direction, Vec3d::UnitX(), 1e-6);
  EXPECT_NEAR(compressions[1].amount, 0.4, 1e-6);
  EXPECT_NEAR(compressions[3].amount, 0.2, 1e-6);
}

TEST(SurfaceCompression, SignsOfDirectionsDoNotCancel) {
  // A fan all of whose triangles are pressed along x, whichever sign each of them reports.
  std::vector<Vec3f> positions{{0, 0, 0}};
  std::vector<Triangle> triangles;
  for (std::uint32_t i = 0; i < 12; ++i) {
    const double angle = 6.283185307179586 * i / 12;
    positions.emplace_back(static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle)), 0.0f);
    triangles.push_back({0, i + 1, (i + 1) % 12 + 1});
  }
  const Mesh mesh = make_mesh(positions, triangles);
  const auto compressions = surface_compression(
      mesh.view(), mapped(positions, [](const Vec3d& p) { return Vec3d(0.6 * p.x(), p.y(), p.z()); }));
  EXPECT_NEAR(compressions[0].amount, 0.4, 1e-6);
}

TEST(SurfaceCompression, BrokenInputConcernsItsTrianglesOnly) {
  Mesh grid = test::make_grid(6, 6);
  grid.triangles.push_back({3, 3, 4});            // no area
  grid.positions.emplace_back(5.0f, 5.0f, 5.0f);  // in no triangle
  auto now = mapped(grid.positions, [](const Vec3d& p) { return Vec3d(0.7 * p.x(), p.y(), p.z()); });
  now[24] = Vec3f::Constant(std::numeric_limits<float>::quiet_NaN());  // (3, 3)
  const auto compressions = surface_compression(grid.view(), now);
  EXPECT_EQ(compressions.back().amount, 0);
  EXPECT_EQ(compressions[24].amount, 0);
  for (std::size_t v = 0; v + 1 < compressions.size(); ++v) {
    EXPECT_TRUE(std::isfinite(compressions[v].amount)) << v;
    EXPECT_TRUE(compressions[v].direction.allFinite()) << v;
    const bool is_far = (grid.positions[v] - grid.positions[24]).norm() > 0.3f;
    if (is_far) {
      EXPECT_NEAR(compressions[v].amount, 0.3, 1e-5) << v;
    }
  }
}

TEST(SurfaceCompression, NothingAtAll) {
  EXPECT_TRUE(surface_compression({}, {}).empty());
}

}  // namespace
}  // namespace sinew
