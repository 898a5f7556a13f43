#include <sinew/geometry/mesh.h>

#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

std::string error_of(std::vector<Vec3f> positions, Polygons polygons) {
  try {
    make_mesh(std::move(positions), std::move(polygons));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

Polygons one_polygon(std::vector<std::uint32_t> corners) {
  Polygons polygons;
  polygons.add(corners);
  return polygons;
}

Polygons whole_polygon(std::size_t n) {
  std::vector<std::uint32_t> corners(n);
  for (std::size_t i = 0; i < n; ++i) corners[i] = static_cast<std::uint32_t>(i);
  return one_polygon(corners);
}

double area_of(const Mesh& mesh, std::size_t t) {
  const Triangle& f = mesh.triangles[t];
  const Vec3d a = mesh.positions[f[0]].cast<double>(), b = mesh.positions[f[1]].cast<double>(),
              c = mesh.positions[f[2]].cast<double>();
  return 0.5 * (b - a).cross(c - a).z();
}

// Every triangle runs as its polygon does, and the areas add up, so the triangles tile a flat polygon.
void expect_tiling(const Mesh& mesh, double area) {
  double sum = 0;
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
    EXPECT_GT(area_of(mesh, t) * area, 0) << "triangle " << t;
    sum += area_of(mesh, t);
  }
  EXPECT_NEAR(sum, area, 1e-6 * std::abs(area));
}

// The border of the triangles is the polygon's: each directed edge that has no opposite is one of it.
void expect_same_border(const Mesh& mesh, std::size_t polygon) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> edges;
  for (const Triangle& f : mesh.triangles)
    for (int k = 0; k < 3; ++k) {
      ++edges[{f[k], f[(k + 1) % 3]}];
      --edges[{f[(k + 1) % 3], f[k]}];
    }
  const auto corners = mesh.polygons[polygon];
  for (std::size_t i = 0; i < corners.size(); ++i) {
    const std::uint32_t a = corners[i], b = corners[(i + 1) % corners.size()];
    --edges[{a, b}];
    ++edges[{b, a}];
  }
  for (const auto& [edge, count] : edges)
    EXPECT_EQ(count, 0) << "edge " << edge.first << " to " << edge.second;
}

TEST(MakeMesh, EmptyMeshIsFine) {
  const Mesh mesh = make_mesh({}, Polygons{});
  EXPECT_TRUE(mesh.triangles.empty());
}

TEST(MakeMesh, NamesTheMissingVertex) {
  Polygons polygons;
  for (int p = 0; p < 12; ++p) polygons.add(std::vector<std::uint32_t>{0, 1, 2});
  polygons.add(std::vector<std::uint32_t>{0, 1, 2, 99});
  EXPECT_EQ(error_of(std::vector<Vec3f>(8, Vec3f::Zero()), polygons),
            "polygon 12: vertex 99 does not exist (8 vertices)");
}

TEST(MakeMesh, RejectsMissingVerticesOfPolygonsWithoutTriangles) {
  EXPECT_EQ(error_of({Vec3f::Zero()}, one_polygon({1})), "polygon 0: vertex 1 does not exist (1 vertices)");
}

TEST(MakeMesh, RejectsPositionsThatAreNotFinite) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<Vec3f> positions(3, Vec3f::Zero());
    positions[2].y() = bad;
    EXPECT_NE(error_of(positions, Polygons{}).find("vertex 2: position (0, "), std::string::npos);
  }
}

TEST(MakeMesh, PointsAndLinesGiveNoTriangle) {
  Polygons polygons = one_polygon({0, 1});
  polygons.add(std::vector<std::uint32_t>{});
  polygons.add(std::vector<std::uint32_t>{2});
  const Mesh mesh = make_mesh(std::vector<Vec3f>(3, Vec3f::Zero()), polygons);
  EXPECT_TRUE(mesh.triangles.empty());
  EXPECT_EQ(mesh.polygons.size(), 3u);
}

TEST(MakeMesh, KeepsTrianglesAsTheyAreEvenDegenerateOnes) {
  const std::vector<Triangle> triangles = {{2, 0, 1}, {1, 1, 0}};
  const Mesh mesh = make_mesh({{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, triangles);
  EXPECT_EQ(mesh.triangles, triangles);
  EXPECT_EQ(mesh.triangle_corners, (std::vector<Triangle>{{0, 1, 2}, {3, 4, 5}}));
}

TEST(MakeMesh, ConvexPolygonsBecomeFansFromTheirFirstCorner) {
  const Mesh quad = make_mesh({{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}}, whole_polygon(4));
  EXPECT_EQ(quad.triangles, (std::vector<Triangle>{{0, 1, 2}, {0, 2, 3}}));
  std::vector<Vec3f> circle;
  for (int i = 0; i < 9; ++i)
    circle.push_back({static_cast<float>(std::cos(0.7 * i)), static_cast<float>(std::sin(0.7 * i)), 1});
  const Mesh disk = make_mesh(circle, whole_polygon(9));
  ASSERT_EQ(disk.triangles.size(), 7u);
  for (std::uint32_t i = 0; i < 7; ++i) EXPECT_EQ(disk.triangles[i], (Triangle{0, i + 1, i + 2}));
}

TEST(MakeMesh, CutsTheDartAlongItsInnerDiagonal) {
  // The reflex corner is 3: the diagonal 0-2 lies outside.
  const Mesh mesh = make_mesh({{0, 0, 0}, {1, 3, 0}, {2, 0, 0}, {1, 1, 0}}, whole_polygon(4));
  EXPECT_EQ(mesh.triangles.size(), 2u);
  expect_tiling(mesh, -2.0);
  expect_same_border(mesh, 0);
}

TEST(MakeMesh, TilesCombsInEveryPlane) {
  std::vector<Vec3f> flat;
  for (int i = 0; i < 8; ++i) {
    flat.push_back({static_cast<float>(2 * i), 0, 0});
    flat.push_back({static_cast<float>(2 * i + 1), 9, 0});
  }
  flat.push_back({15, 10, 0});
  flat.push_back({0, 10, 0});
  const Mesh mesh = make_mesh(flat, whole_polygon(flat.size()));
  EXPECT_EQ(mesh.triangles.size(), flat.size() - 2);
  double area = 0;
  for (std::size_t i = 0; i < flat.size(); ++i) {
    const Vec3f &a = flat[i], &b = flat[(i + 1) % flat.size()];
    area += 0.5 * (double{a.x()} * b.y() - double{a.y()} * b.x());
  }
  expect_tiling(mesh, area);
  expect_same_border(mesh, 0);
  // In another plane and at another size the cut is the same.
  for (const float scale : {1.0f, 0x1p-50f, 0x1p50f}) {
    std::vector<Vec3f> turned;
    for (const Vec3f& p : flat) turned.push_back(scale * Vec3f(p.y(), 0, p.x()));
    EXPECT_EQ(make_mesh(turned, whole_polygon(flat.size())).triangles, mesh.triangles) << scale;
  }
}

TEST(MakeMesh, TilesSpirals) {
  // A band of three turns: most corners are blocked until others are cut off.
  for (const int steps : {20, 60, 200}) {
    std::vector<Vec3f> spiral;
    const auto add = [&](int i, double width) {
      const double angle = 6 * std::numbers::pi * i / steps, radius = 1 + angle + width;
      spiral.push_back(
          {static_cast<float>(radius * std::cos(angle)), static_cast<float>(radius * std::sin(angle)), 0});
    };
    for (int i = 0; i <= steps; ++i) add(i, 4.0);
    for (int i = steps; i >= 0; --i) add(i, 0.0);
    const Mesh mesh = make_mesh(spiral, whole_polygon(spiral.size()));
    double area = 0;
    for (std::size_t i = 0; i < spiral.size(); ++i)
      area += 0.5 * spiral[i].cast<double>().cross(spiral[(i + 1) % spiral.size()].cast<double>()).z();
    EXPECT_EQ(mesh.triangles.size(), spiral.size() - 2);
    expect_tiling(mesh, area);
    expect_same_border(mesh, 0);
  }
}

TEST(MakeMesh, BridgedHolesStayOpen) {
  // An outer square and an inner square joined by a bridge that is walked twice.
  const std::vector<Vec3f> positions = {{0, 0, 0}, {3, 0, 0}, {3, 3, 0}, {0, 3, 0},
                                        {1, 1, 0}, {1, 2, 0}, {2, 2, 0}, {2, 1, 0}};
  const Mesh mesh = make_mesh(positions, one_polygon({0, 1, 2, 3, 0, 4, 5, 6, 7, 4}));
  EXPECT_EQ(mesh.triangles.size(), 8u);
  expect_tiling(mesh, 8.0);
}

TEST(MakeMesh, CollinearCornersGiveNoFlatTriangles) {
  const Mesh start = make_mesh({{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {2, 2, 0}, {0, 2, 0}}, whole_polygon(5));
  EXPECT_EQ(start.triangles.size(), 3u);
  expect_tiling(start, 4.0);
  const Mesh triangle = make_mesh({{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {1, 2, 0}}, whole_polygon(4));
  EXPECT_EQ(triangle.triangles.size(), 2u);
  expect_tiling(triangle, 2.0);
}

TEST(MakeMesh, DropsRepeatedCornersAndSpikes) {
  const std::vector<Vec3f> square = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {5, 5, 0}};
  const auto corners = [&](std::vector<std::uint32_t> polygon) {
    const Mesh mesh = make_mesh(square, one_polygon(std::move(polygon)));
    for (std::size_t t = 0; t < mesh.triangles.size(); ++t)
      for (int k = 0; k < 3; ++k)
        EXPECT_EQ(mesh.triangles[t][k], mesh.polygons.corners[mesh.triangle_corners[t][k]]);
    return mesh.triangles;
  };
  const std::vector<Triangle> two = {{0, 1, 2}, {0, 2, 3}};
  EXPECT_EQ(corners({0, 0, 1, 2, 3}), two);
  EXPECT_EQ(corners({0, 1, 1, 1, 2, 3, 3, 0}), two);
  EXPECT_EQ(corners({0, 1, 4, 1, 2, 3}), two);
  EXPECT_EQ(corners({0, 1, 2, 3, 0, 4}), two);  // spike at the seam
  EXPECT_EQ(corners({0, 1, 2, 3, 4, 3}), two);
  EXPECT_TRUE(corners({0, 1, 0, 1}).empty());
  EXPECT_TRUE(corners({0, 0, 0, 0, 0}).empty());
  EXPECT_TRUE(corners({0, 1, 2, 1}).empty());
}

TEST(MakeMesh, DegeneratePolygonsKeepTheirBorder) {
  // All on one line, all at one point, a bow tie, a warped quad, a pentagram: no crash, no hole.
  const std::vector<std::vector<Vec3f>> shapes = {
      {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {3, 0, 0}},
      {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
      {{0, 0, 0}, {1, 1, 0}, {1, 0, 0}, {0, 1, 0}},
      {{0, 0, 0}, {1, 0, 1}, {1, 1, 0}, {0, 1, 1}},
      {{0, 10, 0}, {6, -8, 0}, {-10, 3, 0}, {10, 3, 0}, {-6, -8, 0}},
  };
  for (const std::vector<Vec3f>& shape : shapes) {
    const Mesh mesh = make_mesh(shape, whole_polygon(shape.size()));
    EXPECT_EQ(mesh.triangles.size(), shape.size() - 2);
    expect_same_border(mesh, 0);
  }
}

TEST(MakeMesh, StarShapedPolygonsAreTiled) {
  EXPECT_TRUE(rc::check("random star-shaped polygons", [] {
    const int n = *rc::gen::inRange(4, 40);
    std::vector<Vec3f> positions;
    for (int i = 0; i < n; ++i) {
      const double radius = *rc::gen::inRange(1, 100), angle = 2 * std::numbers::pi * i / n;
      positions.push_back(
          {static_cast<float>(radius * std::cos(angle)), static_cast<float>(radius * std::sin(angle)), 0});
    }
    const Mesh mesh = make_mesh(positions, whole_polygon(positions.size()));
    double area = 0, sum = 0;
    for (int i = 0; i < n; ++i) {
      const Vec3d a = positions[i].cast<double>(), b = positions[(i + 1) % n].cast<double>();
      area += 0.5 * a.cross(b).z();
    }
    RC_ASSERT(mesh.triangles.size() == to_size(n - 2));
    for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
      RC_ASSERT(area_of(mesh, t) > -1e-9 * area);
      sum += area_of(mesh, t);
    }
    RC_ASSERT(std::abs(sum - area) < 1e-6 * area);
  }));
}

TEST(MakeMesh, RaggedBandsAreTiled) {
  // Two ragged borders, one above the other, each tooth reaching into a gap of the other side. Integer
  // coordinates: areas are exact.
  std::uint64_t state = 3;
  const auto next = [&](int range) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<float>((state >> 33) % static_cast<std::uint64_t>(range));
  };
  for (int round = 0; round < 300; ++round) {
    const int n = 4 + round % 40;
    std::vector<Vec3f> lower, band;
    for (int i = 0; i < n; ++i) lower.push_back({static_cast<float>(3 * i), next(1000), 0});
    band = lower;
    for (int i = n - 1; i >= 0; --i) band.push_back(lower[i] + Vec3f(0, 1 + next(20), 0));
    const Mesh mesh = make_mesh(band, whole_polygon(band.size()));
    double area = 0, sum = 0;
    for (std::size_t i = 0; i < band.size(); ++i)
      area += 0.5 * band[i].cast<double>().cross(band[(i + 1) % band.size()].cast<double>()).z();
    ASSERT_EQ(mesh.triangles.size(), band.size() - 2);
    for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
      ASSERT_GT(area_of(mesh, t), 0) << "round " << round;
      sum += area_of(mesh, t);
    }
    ASSERT_EQ(sum, area);
  }
}

TEST(MakeMesh, RejectsHugeConcavePolygonsOnly) {
  std::vector<Vec3f> positions;
  for (int i = 0; i < 20000; ++i) {
    const double angle = 2 * std::numbers::pi * i / 20000;
    positions.push_back({static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle)), 0});
  }
  positions[1] = {0, 0, 0};
  EXPECT_EQ(error_of(positions, whole_polygon(positions.size())),
            "polygon 0: 20000 corners and not convex; cut it into polygons of at most 16384 corners");
}

TEST(TestMeshes, HaveTheExpectedCounts) {
  EXPECT_EQ(test::make_grid(3, 2).triangles.size(), 12u);
  EXPECT_EQ(test::make_cube().triangles.size(), 12u);
  EXPECT_EQ(test::make_icosphere(2).triangles.size(), 320u);
  EXPECT_EQ(test::make_icosphere(2).positions.size(), 162u);
  EXPECT_EQ(test::make_torus(8, 5).triangles.size(), 80u);
  EXPECT_EQ(test::make_tube(6, 4, 1, 1, true).triangles.size(), 60u);
}

}  // namespace
}  // namespace sinew
