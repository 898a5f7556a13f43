#include <sinew/geometry/butterfly.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include <sinew/core/error.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

using Edge = std::array<std::uint32_t, 2>;
using Levels = std::vector<std::uint8_t>;
using Weights = std::map<std::uint32_t, double>;
using Group = std::set<std::uint32_t>;

bool has_equal_corners(const Triangle& f) {
  return f[0] == f[1] || f[1] == f[2] || f[2] == f[0];
}

Edge sorted(std::uint32_t a, std::uint32_t b) {
  return {std::min(a, b), std::max(a, b)};
}

Levels random_levels(std::size_t count, std::mt19937& random, std::uint32_t largest, std::uint32_t rarity) {
  Levels levels(count, 0);
  for (std::uint8_t& level : levels)
    if (random() % rarity == 0) level = static_cast<std::uint8_t>(random() % (largest + 1));
  return levels;
}

std::vector<Triangle> random_soup(std::uint32_t vertices, std::size_t count, std::mt19937& random) {
  std::vector<Triangle> soup(count);
  for (Triangle& f : soup)
    for (std::uint32_t& v : f) v = static_cast<std::uint32_t>(random() % vertices);
  return soup;
}

Weights weights_of(const RefinedSurface& surface, std::uint32_t a, std::uint32_t b) {
  Weights weights;
  for (std::size_t i = 0; i < surface.parents.size(); ++i)
    if (surface.parents[i] == sorted(a, b))
      for (std::uint32_t s = surface.starts[i]; s < surface.starts[i + 1]; ++s)
        weights[surface.sources[s]] = surface.weights[s];
  return weights;
}

void expect_weights(const Weights& actual, const Weights& expected) {
  EXPECT_EQ(actual.size(), expected.size());
  for (const auto& [source, weight] : expected) {
    ASSERT_TRUE(actual.contains(source)) << "vertex " << source;
    EXPECT_NEAR(actual.at(source), weight, 1e-14) << "vertex " << source;
  }
}

// A grid's vertices in doubles, (i, j).
std::vector<Vec3d> grid_points(int columns, int rows) {
  std::vector<Vec3d> points;
  for (int j = 0; j <= rows; ++j)
    for (int i = 0; i <= columns; ++i) points.emplace_back(i, j, 0);
  return points;
}

// The four corners of a grid, for `creases`.
std::vector<Edge> grid_corners(std::uint32_t columns, std::uint32_t rows) {
  std::vector<Edge> corners;
  for (const std::uint32_t v : {0u, columns, rows * (columns + 1), rows * (columns + 1) + columns})
    corners.push_back({v, v});
  return corners;
}

// The smallest levels that are graded, by going round until nothing changes.
Levels graded_by_definition(std::span<const Triangle> triangles, Levels levels) {
  for (std::size_t t = 0; t < triangles.size(); ++t)
    if (has_equal_corners(triangles[t])) levels[t] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    std::map<std::uint32_t, std::uint8_t> largest;
    for (std::size_t t = 0; t < triangles.size(); ++t)
      for (const std::uint32_t v : triangles[t]) largest[v] = std::max(largest[v], levels[t]);
    for (std::size_t t = 0; t < triangles.size(); ++t) {
      if (has_equal_corners(triangles[t])) continue;
      for (const std::uint32_t v : triangles[t])
        if (levels[t] + 1 < largest[v]) {
          ++levels[t];
          changed = true;
          break;
        }
    }
  }
  return levels;
}

// Everything the header promises that does not depend on the kind of surface.
void check(std::size_t vertex_count, std::span<const Triangle> triangles, const Levels& levels,
           const RefinedSurface& surface) {
  ASSERT_EQ(surface.original_vertices, vertex_count);
  const std::size_t count = surface.parents.size();
  ASSERT_EQ(surface.starts.size(), count + 1);
  ASSERT_EQ(surface.sources.size(), surface.starts.back());
  ASSERT_EQ(surface.weights.size(), surface.sources.size());
  std::vector<Group> supports;  // per vertex, the original ones whose hull it belongs to
  for (std::uint32_t v = 0; v < vertex_count; ++v) supports.push_back({v});
  std::set<Edge> halved;
  for (std::size_t i = 0; i < count; ++i) {
    const auto [a, b] = surface.parents[i];
    ASSERT_LT(a, b);
    ASSERT_LT(b, vertex_count + i);
    ASSERT_TRUE(halved.insert({a, b}).second) << "an edge is halved once";
    supports.push_back(supports[a]);
    supports.back().insert(supports[b].begin(), supports[b].end());
    double sum = 0;
    ASSERT_LT(surface.starts[i], surface.starts[i + 1]);
    for (std::uint32_t s = surface.starts[i]; s < surface.starts[i + 1]; ++s) {
      ASSERT_LT(surface.sources[s], vertex_count + i);
      if (s > surface.starts[i]) {
        ASSERT_LT(surface.sources[s - 1], surface.sources[s]);
      }
      EXPECT_NE(surface.weights[s], 0);
      sum += surface.weights[s];
    }
    EXPECT_NEAR(sum, 1, 1e-13);
  }

  // No cracks: an edge is used as often as the one it is a part of; inside a triangle, twice.
  std::map<Group, std::size_t> uses;  // of edges and, twice, of triangles
  for (const Triangle& f : triangles) {
    if (has_equal_corners(f)) continue;
    uses[{f[0], f[1], f[2]}] += 2;
    for (std::size_t k = 0; k < 3; ++k) ++uses[{f[k], f[(k + 1) % 3]}];
  }
  ASSERT_EQ(surface.triangles.size(), surface.triangle_sources.size());
  EXPECT_TRUE(std::is_sorted(surface.triangle_sources.begin(), surface.triangle_sources.end()));
  std::map<Edge, std::size_t> refined_uses;
  std::vector<std::size_t> pieces(triangles.size(), 0);
  for (std::size_t t = 0; t < surface.triangles.size(); ++t) {
    const Triangle& f = surface.triangles[t];
    const std::uint32_t source = surface.triangle_sources[t];
    ++pieces[source];
    if (has_equal_corners(triangles[source])) {
      EXPECT_EQ(f, triangles[source]);
      continue;
    }
    ASSERT_FALSE(has_equal_corners(f));
    const Group around(triangles[source].begin(), triangles[source].end());
    for (std::size_t k = 0; k < 3; ++k) {
      const Group& support = supports[f[k]];
      EXPECT_TRUE(std::includes(around.begin(), around.end(), support.begin(), support.end()));
      ++refined_uses[sorted(f[k], f[(k + 1) % 3])];
    }
  }
  for (const auto& [edge, used] : refined_uses) {
    EXPECT_FALSE(halved.contains(edge)) << "a halved edge is left: " << edge[0] << " " << edge[1];
    Group support = supports[edge[0]];
    support.insert(supports[edge[1]].begin(), supports[edge[1]].end());
    ASSERT_TRUE(uses.contains(support));
    EXPECT_EQ(used, uses[support]) << edge[0] << " " << edge[1];
  }

  // As many pieces as its level asks for and, along each edge with a finer neighbour, one more for each piece
  // there. Finer ones of the same three vertices count like three neighbours for every piece.
  const Levels graded = graded_by_definition(triangles, levels);
  std::map<Edge, std::uint8_t> finest;
  std::map<Group, std::uint8_t> finest_twin;
  for (std::size_t t = 0; t < triangles.size(); ++t) {
    if (has_equal_corners(triangles[t])) continue;
    for (std::size_t k = 0; k < 3; ++k) {
      std::uint8_t& level = finest[sorted(triangles[t][k], triangles[t][(k + 1) % 3])];
      level = std::max(level, graded[t]);
    }
    std::uint8_t& level = finest_twin[{triangles[t][0], triangles[t][1], triangles[t][2]}];
    level = std::max(level, graded[t]);
  }
  for (std::size_t t = 0; t < triangles.size(); ++t) {
    std::size_t expected = std::size_t{1} << 2 * graded[t];
    if (finest_twin[{triangles[t][0], triangles[t][1], triangles[t][2]}] > graded[t])
      expected *= 4;
    else if (!has_equal_corners(triangles[t]))
      for (std::size_t k = 0; k < 3; ++k)
        if (finest[sorted(triangles[t][k], triangles[t][(k + 1) % 3])] > graded[t])
          expected += std::size_t{1} << graded[t];
    EXPECT_EQ(pieces[t], expected) << "triangle " << t;
  }
}

TEST(Butterfly, LevelZeroGivesTheInputBack) {
  Mesh mesh = test::make_icosphere(1);
  mesh.triangles.push_back({3, 3, 5});
  const auto n = mesh.positions.size();
  const std::vector<Edge> creases = {{0, 1}, {7, 7}, {9999, 3}};
  const RefinedSurface surface =
      refine_butterfly(n + 2, mesh.triangles, Levels(mesh.triangles.size(), 0), creases);
  EXPECT_EQ(surface.triangles, mesh.triangles);
  EXPECT_EQ(surface.size(), n + 2);
  EXPECT_TRUE(surface.sources.empty());
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) EXPECT_EQ(surface.triangle_sources[t], t);
  EXPECT_EQ(refine_butterfly(0, {}, {}).size(), 0u);
}

TEST(Butterfly, ReproducesCubicsOnARegularGrid) {
  const Mesh grid = test::make_grid(16, 16);
  const std::vector<Vec3d> points = grid_points(16, 16);
  Levels levels(grid.triangles.size(), 0);
  for (std::size_t t = 0; t < levels.size(); ++t) {
    bool inside = true;
    for (const std::uint32_t v : grid.triangles[t])
      inside = inside && std::max(std::abs(points[v].x() - 8), std::abs(points[v].y() - 8)) <= 3;
    if (inside) levels[t] = 2;
  }
  const RefinedSurface surface = refine_butterfly(points.size(), grid.triangles, levels);
  check(points.size(), grid.triangles, levels, surface);
  const std::vector<Vec3d> refined = surface.extended(points);
  const auto largest_error = [&](const auto& field) {
    std::vector<double> values;
    for (const Vec3d& p : points) values.push_back(field(p));
    values = surface.extended(values);
    double error = 0;
    for (std::size_t v = 0; v < values.size(); ++v)
      error = std::max(error, std::abs(values[v] - field(refined[v])));
    return error;
  };
  for (int power_x = 0; power_x <= 3; ++power_x)
    for (int power_y = 0; power_x + power_y <= 3; ++power_y)
      EXPECT_LT(largest_error([&](const Vec3d& p) {
                  return std::pow((p.x() - 8) / 3, power_x) * std::pow((p.y() - 8) / 3, power_y);
                }),
                1e-13);
  EXPECT_GT(largest_error([](const Vec3d& p) { return std::pow(p.x(), 4); }), 1e-2);
  // Two levels in the middle: quarters there.
  EXPECT_TRUE(std::any_of(refined.begin(), refined.end(),
                          [](const Vec3d& p) { return (p - Vec3d(8.25, 8, 0)).norm() < 1e-12; }));
}

TEST(Butterfly, RegularWeights) {
  const Mesh grid = test::make_grid(6, 6);
  const RefinedSurface surface = refine_butterfly(49, grid.triangles, Levels(72, 1));
  const auto at = [](std::uint32_t i, std::uint32_t j) { return 7 * j + i; };
  expect_weights(weights_of(surface, at(3, 3), at(4, 3)), {{at(3, 3), 1.0 / 2},
                                                           {at(4, 3), 1.0 / 2},
                                                           {at(4, 4), 1.0 / 8},
                                                           {at(3, 2), 1.0 / 8},
                                                           {at(3, 4), -1.0 / 16},
                                                           {at(5, 4), -1.0 / 16},
                                                           {at(2, 2), -1.0 / 16},
                                                           {at(4, 2), -1.0 / 16}});
  // At the border: the wing that would be (2, -1) is (2, 0) + (3, 0) - (3, 1).
  expect_weights(weights_of(surface, at(3, 0), at(3, 1)), {{at(3, 0), 7.0 / 16},
                                                           {at(3, 1), 9.0 / 16},
                                                           {at(4, 1), 1.0 / 8},
                                                           {at(2, 0), 1.0 / 16},
                                                           {at(4, 2), -1.0 / 16},
                                                           {at(2, 1), -1.0 / 16},
                                                           {at(4, 0), -1.0 / 16}});
  expect_weights(weights_of(surface, at(3, 0), at(4, 0)),
                 {{at(2, 0), -1.0 / 16}, {at(3, 0), 9.0 / 16}, {at(4, 0), 9.0 / 16}, {at(5, 0), -1.0 / 16}});
}

TEST(Butterfly, ExtraordinaryWeights) {
  const std::map<std::uint32_t, std::vector<double>> expected = {
      {3, {5.0 / 12, -1.0 / 12, -1.0 / 12}},
      {4, {3.0 / 8, 0, -1.0 / 8, 0}},
      // (1/4 + cos(2πj/5) + cos(4πj/5) / 2) / 5 by the golden ratio.
      {5, {0.35, 0.0309016994374947, -0.0809016994374947, -0.0809016994374947, 0.0309016994374947}},
      {7,
       {0.25, 0.108889904982939, -0.060429338272503, -0.048460566710436, -0.048460566710436,
        -0.060429338272503, 0.108889904982939}}};
  for (const auto& [valence, ring] : expected) {
    // The vertex 0 amid a fan, whose rim is the border.
    std::vector<Triangle> fan;
    for (std::uint32_t i = 0; i < valence; ++i) fan.push_back({0, 1 + i, 1 + (i + 1) % valence});
    const RefinedSurface surface = refine_butterfly(valence + 1, fan, Levels(valence, 1));
    check(valence + 1, fan, Levels(valence, 1), surface);
    for (std::uint32_t i = 0; i < valence; ++i) {
      Weights weights = {{0, 0.75}};
      for (std::uint32_t j = 0; j < valence; ++j)
        if (ring[j] != 0) weights[1 + (i + j) % valence] = ring[j];
      const Weights actual = weights_of(surface, 0, 1 + i);
      EXPECT_EQ(actual.size(), weights.size());
      for (const auto& [source, weight] : weights) {
        EXPECT_NEAR(actual.at(source), weight, 1e-12);
        // The other way round, to the last bit.
        const std::uint32_t mirrored = source == 0 ? 0 : 1 + (2 * i + valence + 1 - source) % valence;
        EXPECT_EQ(actual.at(source), actual.at(mirrored));
      }
    }
  }
}

TEST(Butterfly, TwoExtraordinaryEndsTakeTheMean) {
  const std::vector<Triangle> tetrahedron = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {2, 0, 3}};
  expect_weights(weights_of(refine_butterfly(4, tetrahedron, Levels(4, 1)), 1, 3),
                 {{1, 7.0 / 12}, {3, 7.0 / 12}, {0, -1.0 / 12}, {2, -1.0 / 12}});
  const std::vector<Triangle> octahedron = {{0, 2, 4}, {2, 1, 4}, {1, 3, 4}, {3, 0, 4},
                                            {2, 0, 5}, {1, 2, 5}, {3, 1, 5}, {0, 3, 5}};
  expect_weights(weights_of(refine_butterfly(6, octahedron, Levels(8, 1)), 0, 4),
                 {{0, 9.0 / 16}, {4, 9.0 / 16}, {1, -1.0 / 16}, {5, -1.0 / 16}});
}

TEST(Butterfly, TheExtraordinaryEndDecides) {
  const Mesh mesh = test::make_icosphere(2);
  const RefinedSurface surface =
      refine_butterfly(mesh.positions.size(), mesh.triangles, Levels(mesh.triangles.size(), 1));
  std::vector<std::size_t> valences(mesh.positions.size(), 0);
  for (const Triangle& f : mesh.triangles)
    for (const std::uint32_t v : f) ++valences[v];
  std::size_t found = 0;
  for (const auto& [a, b] : surface.parents) {
    if (valences[a] + valences[b] != 11) continue;
    ++found;
    const Weights weights = weights_of(surface, a, b);
    EXPECT_EQ(weights.size(), 6u);
    EXPECT_EQ(weights.at(valences[a] == 5 ? a : b), 0.75);
    EXPECT_NEAR(weights.at(valences[a] == 5 ? b : a), 0.35, 1e-14);
  }
  EXPECT_EQ(found, 60u);
}

TEST(Butterfly, ASphereStaysRound) {
  const Mesh mesh = test::make_icosphere(2);
  std::mt19937 random(5);
  for (const Levels& levels : {Levels(320, 2), random_levels(320, random, 3, 5)}) {
    const RefinedSurface surface = refine_butterfly(mesh.positions.size(), mesh.triangles, levels);
    ASSERT_GT(surface.parents.size(), 300u);
    const std::vector<Vec3f> refined = surface.extended(mesh.positions);
    double worst = 0, worst_middle = 0;
    for (std::size_t v = mesh.positions.size(); v < refined.size(); ++v) {
      const auto [a, b] = surface.parents[v - mesh.positions.size()];
      worst = std::max(worst, std::abs(double{refined[v].norm()} - 1));
      worst_middle = std::max(worst_middle, std::abs(double{(refined[a] + refined[b]).norm()} / 2 - 1));
    }
    EXPECT_LT(worst, 4e-3);
    EXPECT_GT(worst_middle, 12e-3);  // without stencils
  }
}

TEST(Butterfly, LinearFunctionsUpToTheBorder) {
  const Mesh grid = test::make_grid(7, 5);
  const std::vector<Vec3d> points = grid_points(7, 5);
  const std::vector<Edge> corners = grid_corners(7, 5);
  std::mt19937 random(1);
  for (int round = 0; round < 10; ++round) {
    const Levels levels = round == 0 ? Levels(70, 2) : random_levels(70, random, 3, 6);
    const RefinedSurface surface = refine_butterfly(points.size(), grid.triangles, levels, corners);
    check(points.size(), grid.triangles, levels, surface);
    const std::vector<Vec3d> refined = surface.extended(points);
    for (std::size_t v = points.size(); v < refined.size(); ++v) {
      const auto [a, b] = surface.parents[v - points.size()];
      EXPECT_LT((refined[v] - (refined[a] + refined[b]) / 2).norm(), 1e-13);
    }
    // The pieces tile the triangle they lie in, and none is turned over.
    std::vector<double> areas(70, 0);
    for (std::size_t t = 0; t < surface.triangles.size(); ++t) {
      const Triangle& f = surface.triangles[t];
      const double area = (refined[f[1]] - refined[f[0]]).cross(refined[f[2]] - refined[f[0]]).z() / 2;
      EXPECT_GT(area, 1e-3);
      areas[surface.triangle_sources[t]] += area;
    }
    for (const double area : areas) EXPECT_NEAR(area, 0.5, 1e-12);
  }
}

TEST(Butterfly, BordersFollowTheFourPointRule) {
  const Mesh grid = test::make_grid(8, 3);
  const std::vector<Vec3d> points = grid_points(8, 3);
  const auto n = static_cast<std::uint32_t>(points.size());
  const Levels levels(grid.triangles.size(), 2);
  const RefinedSurface surface = refine_butterfly(n, grid.triangles, levels, grid_corners(8, 3));
  const std::vector<Vec3d> refined = surface.extended(points);
  // Parabolas along the border are kept up to its corners, whatever the inside does.
  std::vector<double> values;
  for (const Vec3d& p : points) values.push_back(p.y() == 0 ? p.x() * p.x() : 100 * std::sin(p.x() + p.y()));
  values = surface.extended(values);
  std::size_t on_border = 0;
  for (std::size_t v = n; v < refined.size(); ++v) {
    if (std::abs(refined[v].y()) > 1e-12) continue;
    ++on_border;
    EXPECT_NEAR(values[v], refined[v].x() * refined[v].x(), 1e-11);
  }
  EXPECT_EQ(on_border, 24u);
  expect_weights(weights_of(surface, 0, 1), {{0, 3.0 / 8}, {1, 3.0 / 4}, {2, -1.0 / 8}});
  expect_weights(weights_of(surface, 3, 4), {{2, -1.0 / 16}, {3, 9.0 / 16}, {4, 9.0 / 16}, {5, -1.0 / 16}});
  // A corner that nobody has marked is rounded: 9 lies above 0.
  const RefinedSurface round = refine_butterfly(n, grid.triangles, levels);
  expect_weights(weights_of(round, 0, 1), {{9, -1.0 / 16}, {0, 9.0 / 16}, {1, 9.0 / 16}, {2, -1.0 / 16}});
  // Corners on both sides leave the middle.
  const std::vector<Triangle> alone = {{0, 1, 2}};
  const std::vector<Edge> two = {{0, 0}, {1, 1}};
  expect_weights(weights_of(refine_butterfly(3, alone, Levels{1}, two), 0, 1), {{0, 0.5}, {1, 0.5}});
  expect_weights(weights_of(refine_butterfly(3, alone, Levels{1}), 0, 1),
                 {{0, 9.0 / 16}, {1, 9.0 / 16}, {2, -1.0 / 8}});
}

TEST(Butterfly, AnEdgeBetweenBordersIsHalvedInTheMiddle) {
  const std::vector<Triangle> square = {{0, 1, 2}, {2, 3, 0}};
  expect_weights(weights_of(refine_butterfly(4, square, Levels{1, 1}), 0, 2), {{0, 0.5}, {2, 0.5}});
}

TEST(Butterfly, CreasesKeepTheirFold) {
  const Mesh grid = test::make_grid(8, 8);
  const std::vector<Vec3d> points = grid_points(8, 8);
  std::vector<Edge> creases = grid_corners(8, 8);
  const std::vector<Edge> corners = creases;
  for (std::uint32_t j = 0; j < 8; ++j) {
    const Edge crease = {9 * j + 4, 9 * (j + 1) + 4};
    creases.push_back(j % 2 == 0 ? crease : Edge{crease[1], crease[0]});
    creases.push_back(crease);  // naming one twice does no harm
  }
  const Levels levels(grid.triangles.size(), 3);
  const auto worst = [&](std::span<const Edge> marked) {
    const RefinedSurface surface = refine_butterfly(points.size(), grid.triangles, levels, marked);
    check(points.size(), grid.triangles, levels, surface);
    std::vector<Vec3d> folded = points;
    for (Vec3d& p : folded) p.z() = std::abs(p.x() - 4);
    double error = 0;
    for (const Vec3d& p : surface.extended(folded))
      error = std::max(error, std::abs(p.z() - std::abs(p.x() - 4)));
    return error;
  };
  EXPECT_LT(worst(creases), 1e-12);
  EXPECT_GT(worst(corners), 0.05);
}

TEST(Butterfly, NoStencilReachesAcrossACrease) {
  const Mesh mesh = test::make_torus(12, 10);
  std::vector<Edge> creases;
  for (const std::uint32_t column : {0u, 5u})
    for (std::uint32_t j = 0; j < 10; ++j) creases.push_back({10 * column + j, 10 * column + (j + 1) % 10});
  const RefinedSurface surface =
      refine_butterfly(120, mesh.triangles, Levels(mesh.triangles.size(), 2), creases);
  // 1 between the creases, -1 beyond, 0 on them.
  std::vector<double> side(120, 0);
  for (std::size_t v = 0; v < 120; ++v) side[v] = v / 10 % 5 == 0 && v < 60 ? 0 : v < 50 ? 1 : -1;
  std::size_t on_creases = 0;
  for (std::size_t i = 0; i < surface.parents.size(); ++i) {
    double low = 0, high = 0;
    for (std::uint32_t s = surface.starts[i]; s < surface.starts[i + 1]; ++s) {
      low = std::min(low, side[surface.sources[s]]);
      high = std::max(high, side[surface.sources[s]]);
    }
    EXPECT_EQ(low * high, 0);
    side.push_back(low + high);
    if (low == 0 && high == 0) ++on_creases;
  }
  EXPECT_EQ(on_creases, 2u * 30);
}

TEST(Butterfly, WatertightStaysWatertight) {
  std::mt19937 random(2);
  for (const Mesh& mesh : {test::make_icosphere(2), test::make_torus(9, 6), test::make_cube()}) {
    const std::size_t n = mesh.positions.size();
    for (int round = 0; round < 6; ++round) {
      const Levels levels = random_levels(mesh.triangles.size(), random, 3, round < 3 ? 1 : 20);
      const RefinedSurface surface = refine_butterfly(n, mesh.triangles, levels);
      check(n, mesh.triangles, levels, surface);
      std::set<Edge> directed;
      for (const Triangle& f : surface.triangles)
        for (std::size_t k = 0; k < 3; ++k) EXPECT_TRUE(directed.insert({f[k], f[(k + 1) % 3]}).second);
      for (const auto& [a, b] : directed) EXPECT_TRUE(directed.contains({b, a}));
      // V - E + F, doubled.
      EXPECT_EQ(2 * surface.size() + 2 * surface.triangles.size() - directed.size(),
                2 * n - mesh.triangles.size());
    }
  }
}

TEST(Butterfly, LevelsAreGraded) {
  const Mesh mesh = test::make_icosphere(3);
  Levels levels(mesh.triangles.size(), 0);
  levels[100] = 5;
  const RefinedSurface surface = refine_butterfly(mesh.positions.size(), mesh.triangles, levels);
  check(mesh.positions.size(), mesh.triangles, levels, surface);
  const Levels graded = graded_by_definition(mesh.triangles, levels);
  EXPECT_EQ(std::count(graded.begin(), graded.end(), 5), 1);
  EXPECT_EQ(std::count(graded.begin(), graded.end(), 4), 12);
  EXPECT_GT(std::count(graded.begin(), graded.end(), 0), 800);
}

TEST(Butterfly, SurvivesAnyTriangles) {
  std::mt19937 random(3);
  for (std::uint32_t round = 0; round < 300; ++round) {
    const auto vertices = static_cast<std::uint32_t>(3 + random() % 12);
    std::vector<Triangle> soup = random_soup(vertices, random() % 25, random);
    if (round % 3 == 0 && !soup.empty()) soup.push_back({soup[0][1], soup[0][2], soup[0][0]});
    if (round % 5 == 0 && !soup.empty()) soup.push_back({soup[0][1], soup[0][0], soup[0][2]});
    const Levels levels = random_levels(soup.size(), random, 3, 1 + round % 8);
    std::vector<Edge> creases(random() % 10);
    for (Edge& crease : creases)
      for (std::uint32_t& v : crease) v = static_cast<std::uint32_t>(random() % (vertices + 3));
    check(vertices, soup, levels, refine_butterfly(vertices, soup, levels, creases));
    if (HasFailure()) FAIL() << "round " << round;
  }
}

TEST(Butterfly, TrianglesWithEqualCornersArePassedThrough) {
  // Such a one between two others does not hand on the level of the first, nor does its own count.
  const std::vector<Triangle> joined = {{0, 1, 2}, {2, 2, 3}, {3, 4, 5}};
  for (const Levels& levels : {Levels{4, 0, 0}, Levels{0, 5, 0}}) {
    const RefinedSurface surface = refine_butterfly(6, joined, levels);
    check(6, joined, levels, surface);
    EXPECT_EQ(surface.triangles.size(), levels[0] == 4 ? 258u : 3u);
  }
  // Where an edge of it is halved it stays whole.
  const std::vector<Triangle> along = {{0, 0, 1}, {0, 1, 2}};
  EXPECT_EQ(refine_butterfly(3, along, Levels{0, 1}).triangles[0], along[0]);
}

TEST(Butterfly, NonManifoldEdgesAreCreases) {
  // Three pages, each of two squares, meet in the spine 0 1 2.
  std::vector<Triangle> book;
  for (std::uint32_t page = 0; page < 3; ++page) {
    const std::uint32_t v = 3 + 3 * page;
    book.insert(book.end(), {{0, v, v + 1}, {0, v + 1, 1}, {1, v + 1, v + 2}, {1, v + 2, 2}});
  }
  const Levels levels(12, 1);
  const RefinedSurface surface = refine_butterfly(12, book, levels);
  check(12, book, levels, surface);
  // The spine goes on at 1 and ends at 0, where it meets three borders.
  expect_weights(weights_of(surface, 0, 1), {{0, 3.0 / 8}, {1, 3.0 / 4}, {2, -1.0 / 8}});
  for (const auto& [source, weight] : weights_of(surface, 1, 4)) EXPECT_TRUE(source <= 5) << weight;
}

TEST(Butterfly, SurfacesThatTouchInAVertexAreNotOneRing) {
  // Two octahedra with the vertex 0 in common: its eight neighbours are two rings of four.
  std::vector<Triangle> both;
  for (const std::uint32_t first : {1u, 6u})
    for (std::uint32_t k = 0; k < 4; ++k) {
      both.push_back({0, first + k, first + (k + 1) % 4});
      both.push_back({first + 4, first + (k + 1) % 4, first + k});
    }
  const RefinedSurface surface = refine_butterfly(11, both, Levels(16, 1));
  check(11, both, Levels(16, 1), surface);
  // The other end's: 3/4 and 3/8, and -1/8 for the opposite one in its ring.
  expect_weights(weights_of(surface, 0, 1), {{0, 3.0 / 8}, {1, 3.0 / 4}, {5, -1.0 / 8}});
}

TEST(Butterfly, HubsHaveSmallStencils) {
  const std::uint32_t n = 1000;
  const Mesh tube = test::make_tube(n, 2, 1, 1, true);
  const Levels levels(tube.triangles.size(), 1);
  const RefinedSurface surface = refine_butterfly(tube.positions.size(), tube.triangles, levels);
  EXPECT_LT(surface.sources.size(), 14 * surface.parents.size());
  EXPECT_EQ(surface.triangles.size(), 4 * tube.triangles.size());
  // From the hub 3 n to a vertex of the rim, which has five neighbours: the latter's stencil.
  const Weights spoke = weights_of(surface, 3 * n, 5);
  EXPECT_EQ(spoke.size(), 6u);
  EXPECT_EQ(spoke.at(5), 0.75);
}

TEST(Butterfly, DoesNotDependOnTheOrderOfTriangles) {
  std::mt19937 random(4);
  const auto turned_to_smallest = [](const Triangle& f) {
    return std::min({f, Triangle{f[1], f[2], f[0]}, Triangle{f[2], f[0], f[1]}});
  };
  for (int round = 0; round < 40; ++round) {
    Mesh mesh = round % 2 == 0 ? test::make_icosphere(1) : test::make_grid(5, 5);
    if (round % 4 == 3) mesh.triangles = random_soup(10, 30, random);
    const std::size_t n = mesh.positions.size();
    const Levels levels = random_levels(mesh.triangles.size(), random, 3, 8);
    std::vector<Edge> creases = {{4, 5}, {11, 5}, {7, 7}};
    const RefinedSurface before = refine_butterfly(n, mesh.triangles, levels, creases);

    std::vector<std::size_t> order(mesh.triangles.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    std::vector<Triangle> shuffled;
    Levels shuffled_levels;
    for (const std::size_t t : order) {
      shuffled.push_back(mesh.triangles[t]);
      std::rotate(shuffled.back().begin(), shuffled.back().begin() + static_cast<int>(random() % 3),
                  shuffled.back().end());
      shuffled_levels.push_back(levels[t]);
    }
    std::reverse(creases.begin(), creases.end());
    const RefinedSurface after = refine_butterfly(n, shuffled, shuffled_levels, creases);
    EXPECT_EQ(after.parents, before.parents);
    EXPECT_EQ(after.starts, before.starts);
    EXPECT_EQ(after.sources, before.sources);
    EXPECT_EQ(after.weights, before.weights);
    const auto canonical = [&](const RefinedSurface& surface) {
      std::vector<Triangle> triangles = surface.triangles;
      for (Triangle& f : triangles) f = turned_to_smallest(f);
      std::sort(triangles.begin(), triangles.end());
      return triangles;
    };
    EXPECT_EQ(canonical(after), canonical(before));

    // Nor do stencils depend on winding.
    for (Triangle& f : shuffled)
      if (random() % 2 == 0) std::swap(f[0], f[1]);
    const RefinedSurface wound = refine_butterfly(n, shuffled, shuffled_levels, creases);
    EXPECT_EQ(wound.sources, before.sources);
    EXPECT_EQ(wound.weights, before.weights);
  }
}

TEST(Butterfly, BothSidesOfASheetCountOnce) {
  const Mesh grid = test::make_grid(5, 5);
  std::vector<Triangle> both = grid.triangles;
  for (const Triangle& f : grid.triangles) both.push_back({f[1], f[0], f[2]});
  const RefinedSurface one = refine_butterfly(36, grid.triangles, Levels(50, 2));
  const RefinedSurface two = refine_butterfly(36, both, Levels(100, 2));
  EXPECT_EQ(two.sources, one.sources);
  EXPECT_EQ(two.weights, one.weights);
  EXPECT_EQ(two.triangles.size(), 2 * one.triangles.size());
}

TEST(Butterfly, FieldsOfAnyType) {
  const Mesh mesh = test::make_icosphere(1);
  const std::size_t n = mesh.positions.size();
  const RefinedSurface surface = refine_butterfly(n, mesh.triangles, Levels(80, 1));
  const std::vector<Vec3f> refined = surface.extended(mesh.positions);
  for (std::size_t v = 0; v < n; ++v) EXPECT_EQ(refined[v], mesh.positions[v]);
  std::vector<float> x(surface.size());
  for (std::size_t v = 0; v < n; ++v) x[v] = mesh.positions[v].x();
  surface.interpolate(std::span(x));
  std::vector<Vec3d> precise(surface.size());
  for (std::size_t v = 0; v < n; ++v) precise[v] = mesh.positions[v].cast<double>();
  surface.interpolate(precise);
  for (std::size_t v = 0; v < surface.size(); ++v) {
    EXPECT_NEAR(x[v], precise[v].x(), 1e-6);
    EXPECT_LT((refined[v].cast<double>() - precise[v]).norm(), 1e-6);
  }
}

TEST(Butterfly, RefusesTooMuch) {
  EXPECT_THROW(refine_butterfly(3, std::vector<Triangle>{{0, 1, 2}}, Levels{7}), Error);
  EXPECT_THROW(refine_butterfly(3, std::vector<Triangle>(70000, {0, 1, 2}), Levels(70000, 6)), Error);
  EXPECT_EQ(refine_butterfly(3, std::vector<Triangle>{{0, 1, 2}}, Levels{6}).triangles.size(), 4096u);
}

}  // namespace
}  // namespace sinew
