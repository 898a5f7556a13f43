#include <sinew/effects/wrinkle_region.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <set>

#include <gtest/gtest.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A square metre of 20 × 20 quads with the segment along x, at y = ½, from x = 0.2 to 0.8.
constexpr int kQuads = 20;

std::uint32_t grid_vertex(int i, int j) {
  return static_cast<std::uint32_t>(j * (kQuads + 1) + i);
}

WrinkleSegment grid_segment(double width = 0.5) {
  WrinkleSegment segment;
  segment.from = grid_vertex(4, 10);
  segment.to = grid_vertex(16, 10);
  segment.width = width;
  return segment;
}

template <class Height>
Mesh height_field(const Height& height) {
  Mesh mesh = test::make_grid(kQuads, kQuads);
  for (Vec3f& p : mesh.positions) p.z() = static_cast<float>(height(double{p.x()}, double{p.y()}));
  return mesh;
}

Mesh without_triangles(Mesh mesh, const std::set<std::uint32_t>& gone) {
  std::vector<Triangle> kept;
  for (std::uint32_t t = 0; t < mesh.triangles.size(); ++t)
    if (!gone.contains(t)) kept.push_back(mesh.triangles[t]);
  return make_mesh(mesh.positions, kept);
}

Mesh reversed(Mesh mesh) {
  for (Triangle& triangle : mesh.triangles) std::swap(triangle[1], triangle[2]);
  return mesh;
}

double weight_sum(const SurfacePoint& point) {
  return point.weights[0] + point.weights[1] + point.weights[2];
}

TEST(WrinkleAttenuation, Values) {
  using enum WrinkleAttenuation;
  for (int i = -20; i <= 20; ++i) {
    const double z = i / 20.0;
    const double inside = std::abs(i) < 20 ? 1 : 0;
    EXPECT_NEAR(wrinkle_attenuation(bell, z),
                1 + (-4 * std::pow(z, 6) + 17 * std::pow(z, 4) - 22 * std::pow(z, 2)) / 9, 1e-12);
    EXPECT_NEAR(wrinkle_attenuation(linear, z), 1 - std::abs(z), 1e-12);
    EXPECT_EQ(wrinkle_attenuation(none, z), inside);
  }
  EXPECT_EQ(wrinkle_attenuation(bell, 0), 1);
  EXPECT_NEAR(wrinkle_attenuation(bell, 0.5), 0.5, 1e-12);  // Wyvill's halves at ½
  for (const WrinkleAttenuation kind : {bell, linear, none})
    for (const double z : {1.0, -1.0, 1.5, -7.0, kInfinity, std::numeric_limits<double>::quiet_NaN()})
      EXPECT_EQ(wrinkle_attenuation(kind, z), 0) << z;
}

TEST(WrinkleRegion, FlatGrid) {
  const Mesh grid = test::make_grid(kQuads, kQuads);
  for (const WrinkleAttenuation attenuation :
       {WrinkleAttenuation::bell, WrinkleAttenuation::linear, WrinkleAttenuation::none}) {
    WrinkleSegment segment = grid_segment();
    segment.attenuation = attenuation;
    const WrinkleRegion region = find_wrinkle_region(grid.view(), segment, 9);
    EXPECT_NEAR((region.normal - Vec3d::UnitZ()).norm(), 0, 1e-6);
    EXPECT_NEAR(region.chord, 0.6, 1e-6);
    std::map<std::uint32_t, WrinkleVertex> found;
    for (const WrinkleVertex& vertex : region.vertices) found[vertex.vertex] = vertex;
    EXPECT_EQ(found.size(), region.vertices.size());
    EXPECT_TRUE(
        std::is_sorted(region.vertices.begin(), region.vertices.end(),
                       [](const WrinkleVertex& a, const WrinkleVertex& b) { return a.vertex < b.vertex; }));
    for (int j = 0; j <= kQuads; ++j)
      for (int i = 0; i <= kQuads; ++i) {
        const double along = (i - 4) / 12.0, z = (j - 10) / 5.0;
        const bool is_at_end = i == 4 || i == 16;  // rounding decides; nothing is lifted there
        const bool is_inside = i > 4 && i < 16 && std::abs(z) < 0.99;
        const auto place = found.find(grid_vertex(i, j));
        if (is_inside) {
          ASSERT_NE(place, found.end()) << i << ' ' << j;
          EXPECT_NEAR(place->second.along, along, 1e-6);
          EXPECT_NEAR(place->second.share, wrinkle_attenuation(attenuation, z), 1e-5);
        } else if (std::abs(std::abs(z) - 1) > 0.01 && !is_at_end) {
          EXPECT_EQ(place, found.end()) << i << ' ' << j;
        } else if (place != found.end() && is_at_end) {
          EXPECT_NEAR(place->second.along, i == 4 ? 0 : 1, 1e-6);
        }
      }
  }
}

// Across the grid, so that triangles reach out of the rectangle on all of its sides.
TEST(WrinkleRegion, ObliqueSegment) {
  const Mesh grid = test::make_grid(kQuads, kQuads);
  WrinkleSegment segment;
  segment.from = grid_vertex(4, 6);
  segment.to = grid_vertex(15, 13);
  segment.width = 0.3;
  const WrinkleRegion region = find_wrinkle_region(grid.view(), segment, 4);
  const Vec3d start(0.2, 0.3, 0), chord(0.55, 0.35, 0);
  const Vec3d across = Vec3d(-0.35, 0.55, 0).normalized();
  std::vector<std::uint32_t> expected, found;
  for (std::uint32_t v = 0; v < grid.positions.size(); ++v) {
    const Vec3d from_start = grid.positions[v].cast<double>() - start;
    const double x = from_start.dot(chord) / chord.squaredNorm(), z = from_start.dot(across) / 0.15;
    if (x > 1e-6 && x < 1 - 1e-6 && std::abs(z) < 1) expected.push_back(v);
  }
  for (const WrinkleVertex& vertex : region.vertices)
    if (vertex.vertex != segment.from && vertex.vertex != segment.to) found.push_back(vertex.vertex);
  EXPECT_EQ(found, expected);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_NEAR((region.path[i].at(grid.positions) - start - static_cast<double>(i) / 3 * chord).norm(), 0,
                1e-6);
}

TEST(WrinkleRegion, TrianglesAreThoseUnderTheRectangle) {
  const Mesh grid = test::make_grid(kQuads, kQuads);
  // A width that ends within quads: rows 7 to 12 of 8 and columns 4 to 15.
  const WrinkleRegion region = find_wrinkle_region(grid.view(), grid_segment(0.26), 2);
  std::vector<std::uint32_t> expected;
  for (std::uint32_t t = 0; t < grid.triangles.size(); ++t) {
    Vec3f low = Vec3f::Constant(9), high = Vec3f::Constant(-9);
    for (const std::uint32_t v : grid.triangles[t]) {
      low = low.cwiseMin(grid.positions[v]);
      high = high.cwiseMax(grid.positions[v]);
    }
    if (low.x() > 0.18f && high.x() < 0.82f && high.y() > 0.38f && low.y() < 0.62f) expected.push_back(t);
  }
  // Quads that only touch the ends of the rectangle may come in through rounding.
  std::vector<std::uint32_t> inner;
  for (const std::uint32_t t : region.triangles) {
    const Vec3f middle = (grid.positions[grid.triangles[t][0]] + grid.positions[grid.triangles[t][1]] +
                          grid.positions[grid.triangles[t][2]]) /
                         3;
    if (middle.x() > 0.2f && middle.x() < 0.8f) inner.push_back(t);
  }
  EXPECT_EQ(inner, expected);
}

TEST(WrinkleRegion, PlacesOfTheRectangle) {
  const Mesh grid = test::make_grid(kQuads, kQuads);
  const WrinkleRegion region = find_wrinkle_region(grid.view(), grid_segment(), 2);
  const auto expect_place = [&](const Vec3d& point, double x, double z) {
    EXPECT_NEAR(region.place(point).x, x, 1e-6);
    EXPECT_NEAR(std::abs(region.place(point).z), z, 1e-6);
  };
  expect_place({0.2, 0.5, 0}, 0, 0);
  expect_place({0.8, 0.5, 3}, 1, 0);
  expect_place({0.5, 0.75, 0}, 0.5, 1);
  expect_place({0.5, 0.25, -1}, 0.5, 1);
  EXPECT_LT(region.place({0.5, 0.3, 0}).z * region.place({0.5, 0.7, 0}).z, 0);
}

TEST(WrinkleRegion, ReversedWindingWithSideIsTheSame) {
  const Mesh grid = height_field([](double x, double y) { return 0.05 * std::sin(7 * x) * std::cos(5 * y); });
  WrinkleSegment segment = grid_segment();
  const WrinkleRegion outwards = find_wrinkle_region(grid.view(), segment, 7);
  segment.side = -1;
  const Mesh inside_out = reversed(grid);
  const WrinkleRegion inwards = find_wrinkle_region(inside_out.view(), segment, 7);
  EXPECT_NEAR((inwards.normal - outwards.normal).norm(), 0, 1e-9);
  EXPECT_EQ(inwards.triangles, outwards.triangles);
  ASSERT_EQ(inwards.vertices.size(), outwards.vertices.size());
  EXPECT_GT(outwards.vertices.size(), 50u);
  for (std::size_t i = 0; i < inwards.vertices.size(); ++i) {
    EXPECT_EQ(inwards.vertices[i].vertex, outwards.vertices[i].vertex);
    EXPECT_NEAR(inwards.vertices[i].along, outwards.vertices[i].along, 1e-9);
    EXPECT_NEAR(inwards.vertices[i].share, outwards.vertices[i].share, 1e-9);
  }
  for (std::size_t i = 0; i < 7; ++i)
    EXPECT_NEAR((inwards.path[i].at(grid.positions) - outwards.path[i].at(grid.positions)).norm(), 0, 1e-9);
}

// The segment runs along a limb of radius 0.1; the rectangle is wider than the limb.
class WrinkleRegionOnTube : public testing::Test {
 protected:
  static constexpr int kAround = 64, kAlong = 20;
  const Mesh tube_ = test::make_tube(kAround, kAlong, 0.1f, 1.0f);

  WrinkleRegion find() const {
    WrinkleSegment segment;
    segment.from = 4 * kAround;
    segment.to = 16 * kAround;
    segment.width = 0.5;
    segment.attenuation = WrinkleAttenuation::none;
    return find_wrinkle_region(tube_.view(), segment, 5);
  }
};

TEST_F(WrinkleRegionOnTube, OnlyTheHalfThatFaces) {
  const WrinkleRegion region = find();
  EXPECT_NEAR((region.normal - Vec3d::UnitX()).norm(), 0, 1e-5);
  for (const std::uint32_t t : region.triangles) {
    Vec3f middle = Vec3f::Zero();
    for (const std::uint32_t v : tube_.triangles[t]) middle += tube_.positions[v] / 3;
    EXPECT_GT(middle.x(), 0);
  }
  for (const WrinkleVertex& vertex : region.vertices) EXPECT_GT(tube_.positions[vertex.vertex].x(), 0);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_GT(region.path[i].at(tube_.positions).x(), 0.099);
}

TEST_F(WrinkleRegionOnTube, ShareFallsSmoothlyTowardsTheSilhouette) {
  const WrinkleRegion region = find();
  std::map<int, double> share_of_place;  // of the ring in the middle, by place on its circle
  for (const WrinkleVertex& vertex : region.vertices) {
    if (static_cast<int>(vertex.vertex) / kAround != 10) continue;
    EXPECT_NEAR(vertex.along, 0.5, 1e-5);
    share_of_place[static_cast<int>(vertex.vertex) % kAround] = vertex.share;
  }
  EXPECT_NEAR(share_of_place[0], 1, 1e-6);
  for (int i = 0; i < kAround / 4; ++i) {
    const double here = share_of_place[i], next = share_of_place[i + 1];
    EXPECT_LE(next, here + 1e-6);
    EXPECT_LT(here - next, 0.5);  // a step would be 1
    EXPECT_NEAR(here, share_of_place[(kAround - i) % kAround], 1e-5);
    // Full where the skin faces the rectangle.
    if (i * 360 < 60 * kAround) {
      EXPECT_NEAR(here, 1, 1e-6) << i;
    }
  }
  EXPECT_LT(share_of_place[kAround / 4 - 1], 0.1);
  EXPECT_EQ(share_of_place[kAround / 4], 0);
  for (int i = kAround / 4 + 1; i < 3 * kAround / 4; ++i) EXPECT_EQ(share_of_place[i], 0);
}

TEST(WrinkleRegion, SheetBehindIsLeftOut) {
  const Mesh grid = test::make_grid(kQuads, kQuads);
  const WrinkleRegion alone = find_wrinkle_region(grid.view(), grid_segment(), 5);
  for (const float depth : {-0.02f, 0.02f}) {
    const Mesh both = test::join(grid, test::moved(grid, {0, 0, depth}));
    const WrinkleRegion region = find_wrinkle_region(both.view(), grid_segment(), 5);
    EXPECT_EQ(region.triangles, alone.triangles);
    ASSERT_EQ(region.vertices.size(), alone.vertices.size());
    for (const WrinkleVertex& vertex : region.vertices) EXPECT_LT(vertex.vertex, grid.positions.size());
    for (const SurfacePoint& point : region.path) EXPECT_EQ(point.at(both.positions).z(), 0);
  }
}

TEST(WrinkleRegion, PathKeepsToTheLayerOfItsEnds) {
  const Mesh grid = test::make_grid(kQuads, kQuads);
  for (const float depth : {-0.1f, 0.1f}) {
    Mesh both = test::join(grid, test::moved(grid, {0, 0, depth}));
    // A triangle that joins the two and faces the same way.
    const auto second = static_cast<std::uint32_t>(grid.positions.size());
    both.triangles.push_back({grid_vertex(10, 11), grid_vertex(11, 11), second + grid_vertex(10, 13)});
    const WrinkleRegion region = find_wrinkle_region(both.view(), grid_segment(), 8);
    EXPECT_GT(region.triangles.back(), 2 * grid.triangles.size() - 1);  // they do hang together
    for (const SurfacePoint& point : region.path) EXPECT_EQ(point.at(both.positions).z(), 0);
  }
}

TEST(WrinkleRegion, PathLiesOnTheSurfaceAndIsEven) {
  const Mesh field = height_field([](double x, double y) { return 0.04 * std::sin(9 * x + 4 * y); });
  const WrinkleSegment segment = grid_segment();
  constexpr std::size_t kPoints = 14;
  const WrinkleRegion region = find_wrinkle_region(field.view(), segment, kPoints);
  ASSERT_EQ(region.path.size(), kPoints);
  EXPECT_EQ(region.path.front().at(field.positions), field.positions[segment.from].cast<double>());
  EXPECT_EQ(region.path.back().at(field.positions), field.positions[segment.to].cast<double>());
  for (std::size_t i = 0; i < kPoints; ++i) {
    const SurfacePoint& point = region.path[i];
    EXPECT_NEAR(weight_sum(point), 1, 1e-9);
    for (const double weight : point.weights) EXPECT_GE(weight, -1e-6);
    if (i > 0 && i + 1 < kPoints) {
      Triangle corners = point.corners;
      EXPECT_TRUE(std::any_of(region.triangles.begin(), region.triangles.end(),
                              [&](std::uint32_t t) { return field.triangles[t] == corners; }));
    }
    const WrinkleRegion::Place place = region.place(point.at(field.positions));
    EXPECT_NEAR(place.x, static_cast<double>(i) / (kPoints - 1), 1e-9);
    EXPECT_NEAR(place.z, 0, 1e-9);
  }
  // It follows the bumps: far from straight.
  double farthest = 0;
  for (const SurfacePoint& point : region.path) {
    const Vec3d from_start = point.at(field.positions) - region.start;
    farthest = std::max(farthest, std::abs(from_start.dot(region.normal)));
  }
  EXPECT_GT(farthest, 0.02);
}

TEST(WrinkleRegion, PathOfTwoPointsIsTheEnds) {
  const Mesh grid = test::make_grid(kQuads, kQuads);
  const WrinkleRegion region = find_wrinkle_region(grid.view(), grid_segment(), 2);
  ASSERT_EQ(region.path.size(), 2u);
  EXPECT_NEAR(region.path[1].at(grid.positions).x(), 0.8, 1e-6);
}

TEST(WrinkleRegion, HoleUnderTheSegment) {
  const Mesh grid = test::make_grid(kQuads, kQuads);
  std::set<std::uint32_t> hole;
  for (std::uint32_t t = 0; t < grid.triangles.size(); ++t) {
    Vec3f middle = Vec3f::Zero();
    for (const std::uint32_t v : grid.triangles[t]) middle += grid.positions[v] / 3;
    if ((middle - Vec3f(0.5f, 0.5f, 0)).norm() < 0.12f) hole.insert(t);
  }
  ASSERT_GT(hole.size(), 20u);
  const Mesh open = without_triangles(grid, hole);
  const WrinkleRegion region = find_wrinkle_region(open.view(), grid_segment(), 13);
  ASSERT_EQ(region.path.size(), 13u);
  std::set<std::uint32_t> used;
  for (const std::uint32_t t : region.triangles)
    used.insert(open.triangles[t].begin(), open.triangles[t].end());
  for (const SurfacePoint& point : region.path) {
    EXPECT_NEAR(weight_sum(point), 1, 1e-9);
    for (std::size_t c = 0; c < 3; ++c) EXPECT_TRUE(point.weights[c] == 0 || used.contains(point.corners[c]));
    EXPECT_LT((point.at(open.positions) - Vec3d(0.5, 0.5, 0)).norm(), 0.301);
  }
  // At the hole's rim, not somewhere else.
  EXPECT_NEAR((region.path[6].at(open.positions) - Vec3d(0.5, 0.5, 0)).norm(), 0.14, 0.05);
}

// Two patches that only the rectangle joins: both ends' parts belong to it.
TEST(WrinkleRegion, BothEndsFlood) {
  const Mesh grid = test::make_grid(kQuads, kQuads);
  std::set<std::uint32_t> slit;
  for (std::uint32_t t = 0; t < grid.triangles.size(); ++t) {
    Vec3f middle = Vec3f::Zero();
    for (const std::uint32_t v : grid.triangles[t]) middle += grid.positions[v] / 3;
    if (std::abs(middle.x() - 0.5f) < 0.1f) slit.insert(t);
  }
  const Mesh halves = without_triangles(grid, slit);
  const WrinkleRegion region = find_wrinkle_region(halves.view(), grid_segment(), 5);
  bool left = false, right = false;
  for (const WrinkleVertex& vertex : region.vertices) (vertex.along < 0.5 ? left : right) = true;
  EXPECT_TRUE(left);
  EXPECT_TRUE(right);
}

void expect_empty(const WrinkleRegion& region) {
  EXPECT_EQ(region.normal, Vec3d::Zero());
  EXPECT_TRUE(region.triangles.empty());
  EXPECT_TRUE(region.vertices.empty());
  EXPECT_TRUE(region.path.empty());
}

TEST(WrinkleRegion, EndsThatFaceOppositeWays) {
  const Mesh grid = test::make_grid(4, 4);
  for (const float tilt : {0.0f, 1e-4f}) {  // almost opposite is no direction either
    std::vector<Vec3f> positions = grid.positions;
    for (const Vec3f& p : grid.positions) positions.emplace_back(p.x() + 2, p.y(), tilt * (p.y() - 0.5f));
    std::vector<Triangle> triangles = grid.triangles;
    for (const auto& [a, b, c] : grid.triangles) triangles.push_back({a + 25, c + 25, b + 25});
    WrinkleSegment segment;
    segment.from = 12;
    segment.to = 37;
    segment.width = 0.5;
    expect_empty(find_wrinkle_region({positions, triangles}, segment, 5));
  }
}

TEST(WrinkleRegion, NothingToLieOn) {
  const Mesh grid = test::make_grid(kQuads, kQuads);
  expect_empty(find_wrinkle_region(grid.view(), grid_segment(0), 5));
  expect_empty(find_wrinkle_region(grid.view(), grid_segment(-1), 5));
  expect_empty(find_wrinkle_region(grid.view(), grid_segment(std::numeric_limits<double>::quiet_NaN()), 5));
  // The segment stands upright on the surface: its normals say nothing about where to face.
  const Mesh both = test::join(grid, test::moved(grid, {0, 0, 1}));
  WrinkleSegment upright = grid_segment();
  upright.to = upright.from + static_cast<std::uint32_t>(grid.positions.size());
  expect_empty(find_wrinkle_region(both.view(), upright, 5));
  // The ends are vertices at one place.
  const Mesh twice = test::join(grid, grid);
  expect_empty(find_wrinkle_region(twice.view(), upright, 5));
  // The ends are in no triangle.
  const std::vector<Vec3f> points{{0, 0, 0}, {1, 0, 0}};
  WrinkleSegment lone;
  lone.to = 1;
  lone.width = 1;
  expect_empty(find_wrinkle_region({points, {}}, lone, 5));
}

TEST(WrinkleRegion, DegenerateTrianglesDoNotMatter) {
  Mesh grid = test::make_grid(kQuads, kQuads);
  const WrinkleRegion clean = find_wrinkle_region(grid.view(), grid_segment(), 5);
  const std::uint32_t a = grid_vertex(4, 10), b = grid_vertex(10, 10), c = grid_vertex(16, 10);
  grid.triangles.push_back({a, a, b});
  grid.triangles.push_back({a, b, c});  // on a line
  grid.triangles.push_back({b, b, b});
  const WrinkleRegion region = find_wrinkle_region(grid.view(), grid_segment(), 5);
  ASSERT_EQ(region.vertices.size(), clean.vertices.size());
  for (std::size_t i = 0; i < clean.vertices.size(); ++i)
    EXPECT_NEAR(region.vertices[i].share, clean.vertices[i].share, 1e-9);
  for (std::size_t i = 0; i < 5; ++i)
    EXPECT_NEAR((region.path[i].at(grid.positions) - clean.path[i].at(grid.positions)).norm(), 0, 1e-9);
}

TEST(WrinkleRefinement, HalvesUntilEdgesAreShortEnough) {
  const Mesh grid = test::make_grid(kQuads, kQuads);
  const WrinkleRegion region = find_wrinkle_region(grid.view(), grid_segment(), 2);
  const std::uint32_t t = region.triangles[region.triangles.size() / 2];
  // A quad is 1/12 of the segment long and 1/5 of half the width wide.
  const auto levels = [&](double along, double across, int most = 9) {
    return wrinkle_refinement(grid.view(), region, t, along / 12, across / 5, most);
  };
  EXPECT_EQ(levels(1, 1), 0);
  EXPECT_EQ(levels(1.01, 100), 0);
  EXPECT_EQ(levels(0.8, 100), 0);  // a little too long is tolerated
  EXPECT_EQ(levels(0.5, 100), 1);
  EXPECT_EQ(levels(0.25, 100), 2);
  EXPECT_EQ(levels(100, 0.5), 1);
  EXPECT_EQ(levels(100, 0.125), 3);
  EXPECT_EQ(levels(0.25, 0.125), 3);
  EXPECT_EQ(levels(0.125, 0.25), 3);
  EXPECT_EQ(levels(0.01, 0.01, 4), 4);
  EXPECT_EQ(levels(0.01, 0.01, 0), 0);
}

std::vector<double> fold_tightness(const std::vector<Vec3d>& points, const std::vector<Vec3d>& normals) {
  std::vector<double> lengths(points.size()), turns(points.size()), tightness(points.size(), -1);
  for (std::size_t i = 1; i < points.size(); ++i)
    lengths[i] = lengths[i - 1] + (points[i] - points[i - 1]).norm();
  // Paths along x, seen from above y: y × x.
  find_inward_turns(normals, -Vec3d::UnitZ(), turns);
  find_fold_tightness(lengths, turns, tightness);
  return tightness;
}

/// A path of two straight flanks from x < 0 to x > 0 that meet in the origin, each turned upwards (y) by
/// `slope`, with `count` points on each.
struct Valley {
  std::vector<Vec3d> points, normals;
  Valley(double slope, int count, double length = 1) {
    for (const double side : {-1.0, 1.0})
      for (int i = 1; i <= count; ++i) {
        const double s = length * (side < 0 ? count + 1 - i : i) / count;
        points.emplace_back(side * s * std::cos(slope), s * std::sin(slope), 0);
        normals.emplace_back(-side * std::sin(slope), std::cos(slope), 0);
      }
  }
};

TEST(FoldTightness, FlanksOfAValleyMeetInTheMiddle) {
  for (const double slope : {0.2, 0.7, 1.2}) {
    // Two points at 0.3 from the corner, along the path: they meet above it at a height of 0.3 · cot(slope).
    std::vector<double> tightness(2);
    find_fold_tightness(std::vector<double>{0, 0.6}, std::vector<double>{0, 2 * slope}, tightness);
    for (const double tight : tightness) EXPECT_NEAR(1 / tight, 0.3 / std::tan(slope), 1e-12) << slope;
  }
}

TEST(FoldTightness, LiftedFlanksDoNotCross) {
  for (const double slope : {0.2, 0.7, 1.2, 1.5}) {
    const Valley valley(slope, 40);
    const std::vector<double> tightness = fold_tightness(valley.points, valley.normals);
    for (std::size_t i = 0; i < valley.points.size(); ++i) {
      ASSERT_GT(tightness[i], 0);
      const Vec3d lifted = valley.points[i] + valley.normals[i] / tightness[i];
      EXPECT_GT(lifted.x() * valley.points[i].x(), 0) << slope << " at " << i;
    }
  }
}

TEST(FoldTightness, RidgesAndFlatsHaveNone) {
  const Valley ridge(-0.7, 20), flat(0, 20);
  for (const double tightness : fold_tightness(ridge.points, ridge.normals)) EXPECT_EQ(tightness, 0);
  for (const double tightness : fold_tightness(flat.points, flat.normals)) EXPECT_EQ(tightness, 0);
}

TEST(FoldTightness, HollowArcsEndAtTheirCentre) {
  constexpr double kRadius = 0.4;
  std::vector<Vec3d> points, normals, outside;
  for (int i = 0; i <= 40; ++i) {
    const double angle = -0.1 + 0.2 * i / 40;
    points.emplace_back(kRadius * std::sin(angle), -kRadius * std::cos(angle), 0);
    normals.push_back(-points.back() / kRadius);
    outside.push_back(points.back() / kRadius);
  }
  for (const double tightness : fold_tightness(points, normals)) EXPECT_NEAR(tightness, 1 / kRadius, 0.02);
  // Upside down it is a ridge: the same turns about the other axis.
  std::vector<Vec3d> turned;
  for (const Vec3d& p : points) turned.emplace_back(p.x(), -p.y(), 0);
  std::vector<Vec3d> upwards;
  for (const Vec3d& p : turned) upwards.push_back(p / kRadius);
  for (const double tightness : fold_tightness(turned, upwards)) EXPECT_EQ(tightness, 0);
}

// Skin that is bent farther and farther goes through itself in the end: folds only get lower on the way.
TEST(FoldTightness, GrowsEvenlyUntilSkinGoesThroughItself) {
  const std::vector<double> lengths{0, 0.1, 0.2, 0.3};
  double last = 0;
  for (int step = 1; step <= 400; ++step) {
    const double bend = step * 0.01;
    std::vector<double> tightness(4);
    find_fold_tightness(lengths, std::vector<double>{0, 0, bend, bend}, tightness);
    EXPECT_GE(tightness[1], last);
    EXPECT_EQ(tightness[1], tightness[2]);
    if (bend > std::numbers::pi) {
      EXPECT_EQ(tightness[1], kTightest);
    }
    last = tightness[1];
  }
}

TEST(FoldTightness, FewPointsAndPointsInOnePlace) {
  find_fold_tightness({}, {}, {});
  EXPECT_EQ(fold_tightness({Vec3d::Zero()}, {Vec3d::UnitY()}), std::vector<double>{0});
  const Vec3d left = Vec3d(1, 1, 0).normalized(), right = Vec3d(-1, 1, 0).normalized();
  EXPECT_EQ(fold_tightness({Vec3d::Zero(), Vec3d::Zero()}, {left, right}),
            (std::vector<double>{kTightest, kTightest}));
  for (const double tightness :
       fold_tightness({Vec3d::Zero(), Vec3d::UnitX()}, {Vec3d::Zero(), Vec3d::UnitY()}))
    EXPECT_TRUE(std::isfinite(tightness));
}

}  // namespace
}  // namespace sinew
