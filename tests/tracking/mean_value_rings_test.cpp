#include <sinew/tracking/mean_value_rings.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/reference/implicit_fields.h"
#include "tests/support/meshes.h"

namespace sinew {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A vertex, number 0, and a fan of triangles all the way round it.
struct Fan {
  std::vector<Vec3f> positions;
  OneRings rings;
};

Fan make_fan(std::vector<Vec3f> positions) {
  std::vector<Triangle> triangles;
  const auto n = static_cast<std::uint32_t>(positions.size() - 1);
  for (std::uint32_t i = 0; i < n; ++i) triangles.push_back({0, 1 + i, 1 + (i + 1) % n});
  Fan fan{std::move(positions), {}};
  fan.rings = one_rings(fan.positions.size(), triangles);
  return fan;
}

MeanValueRings coordinates(const Fan& fan, const Vec3f& across) {
  return mean_value_rings(fan.positions, fan.rings, std::vector<Vec3f>(fan.positions.size(), across));
}

Vec3f in_circle(double degrees, double radius, double height = 0) {
  const double angle = degrees * std::numbers::pi / 180;
  return Vec3d(radius * std::cos(angle), radius * std::sin(angle), height).cast<float>();
}

// What the header promises of vertex v.
void check(const std::vector<Vec3f>& positions, const OneRings& rings, const MeanValueRings& result,
           std::size_t v, const Vec3f& across) {
  const auto ring = rings[v];
  const Vec3d normal = across.cast<double>().normalized();
  Vec3d mean = Vec3d::Zero();
  double sum = 0, longest = 0;
  std::vector<Vec3d> spokes;
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const float value = result.values[rings.starts[v] + i];
    EXPECT_GT(value, 0);
    EXPECT_LT(value, 1);
    spokes.push_back((positions[ring[i]] - positions[v]).cast<double>());
    const Vec3d projected = spokes.back() - spokes.back().dot(normal) * normal;
    mean += static_cast<double>(value) * projected;
    sum += static_cast<double>(value);
    longest = std::max(longest, spokes.back().norm());
  }
  EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_LT(mean.norm(), 1e-6 * longest);
  const std::vector<double> twin = reference::mean_value_coordinates(spokes, normal);
  for (std::size_t i = 0; i < ring.size(); ++i)
    EXPECT_NEAR(result.values[rings.starts[v] + i], twin[i], 1e-6);
}

TEST(MeanValueRings, RegularRingsShareAlike) {
  for (int n = 3; n <= 12; ++n) {
    std::vector<Vec3f> positions{Vec3f(0, 0, 0)};
    for (int i = 0; i < n; ++i) positions.push_back(in_circle(360.0 * i / n, 0.2));
    const Fan fan = make_fan(positions);
    const MeanValueRings result = coordinates(fan, Vec3f(0, 0, 2));
    ASSERT_EQ(result.valid[0], 1);
    for (int i = 0; i < n; ++i)
      EXPECT_NEAR(result.values[fan.rings.starts[0] + static_cast<std::size_t>(i)], 1.0 / n, 1e-6);
  }
}

TEST(MeanValueRings, ReproduceTheVertexInItsPlane) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> number(-1, 1);
  int valid = 0;
  for (int trial = 0; trial < 500; ++trial) {
    const int n = 3 + trial % 8;
    const float size = std::pow(10.0f, static_cast<float>(trial % 7 - 3));
    std::vector<Vec3f> positions{size * Vec3f(number(random), number(random), number(random))};
    for (int i = 0; i < n; ++i)
      positions.push_back(positions[0] + size * in_circle((i + 0.4 * number(random)) * 360.0 / n,
                                                          1.0 + 0.8 * number(random), 0.5 * number(random)));
    const Fan fan = make_fan(positions);
    // Any length, and either side, of the direction.
    const Vec3f across = std::pow(10.0f, static_cast<float>(trial % 11 - 5)) * (trial % 2 ? 1.0f : -1.0f) *
                         Vec3f(0.3f * number(random), 0.3f * number(random), 1);
    const MeanValueRings result = coordinates(fan, across);
    if (!result.valid[0]) continue;
    ++valid;
    check(fan.positions, fan.rings, result, 0, across);
  }
  EXPECT_GT(valid, 350);
}

TEST(MeanValueRings, WholeSurfaces) {
  for (const Mesh& mesh : {test::make_icosphere(2), test::make_torus(16, 9)}) {
    const OneRings rings = one_rings(mesh.positions.size(), mesh.triangles);
    std::vector<Vec3f> across(mesh.positions.size(), Vec3f::Zero());
    for (const Triangle& t : mesh.triangles)
      for (const std::uint32_t v : t)
        across[v] +=
            (mesh.positions[t[1]] - mesh.positions[t[0]]).cross(mesh.positions[t[2]] - mesh.positions[t[0]]);
    const MeanValueRings result = mean_value_rings(mesh.positions, rings, across);
    ASSERT_EQ(result.values.size(), rings.neighbours.size());
    for (std::size_t v = 0; v < rings.size(); ++v) {
      ASSERT_EQ(result.valid[v], 1);
      check(mesh.positions, rings, result, v, across[v]);
    }
  }
}

TEST(MeanValueRings, OpenIrregularAndLonelyVerticesHaveNone) {
  const Mesh grid = test::make_grid(4, 4);
  const OneRings rings = one_rings(grid.positions.size() + 1, grid.triangles);  // and one without triangles
  std::vector<Vec3f> positions = grid.positions;
  positions.emplace_back(3, 3, 3);
  const MeanValueRings result =
      mean_value_rings(positions, rings, std::vector<Vec3f>(positions.size(), Vec3f::UnitZ()));
  ASSERT_EQ(result.valid.size(), positions.size());
  int inner = 0;
  for (std::size_t v = 0; v < rings.size(); ++v) {
    EXPECT_EQ(result.valid[v] != 0, rings.kinds[v] == RingKind::closed) << v;
    inner += result.valid[v];
    for (std::size_t i = rings.starts[v]; i < rings.starts[v + 1]; ++i)
      EXPECT_EQ(result.values[i] > 0, result.valid[v] != 0);
  }
  EXPECT_EQ(inner, 9);

  // A fan that lacks one triangle: its polygon still surrounds the vertex.
  std::vector<Vec3f> gapped{Vec3f(0, 0, 0)};
  std::vector<Triangle> all_but_one;
  for (std::uint32_t i = 0; i < 5; ++i) {
    gapped.push_back(in_circle(72.0 * i, 1));
    if (i > 0) all_but_one.push_back({0, i, i + 1});
  }
  const OneRings open = one_rings(gapped.size(), all_but_one);
  ASSERT_EQ(open.kinds[0], RingKind::open);
  EXPECT_EQ(mean_value_rings(gapped, open, std::vector<Vec3f>(gapped.size(), Vec3f::UnitZ())).valid[0], 0);

  // Two fans that share their middle.
  std::vector<Vec3f> two{Vec3f(0, 0, 0)};
  std::vector<Triangle> triangles;
  for (std::uint32_t fan = 0; fan < 2; ++fan)
    for (std::uint32_t i = 0; i < 3; ++i) {
      two.push_back(in_circle(120.0 * i, 1, fan));
      triangles.push_back({0, 1 + 3 * fan + i, 1 + 3 * fan + (i + 1) % 3});
    }
  const OneRings irregular = one_rings(two.size(), triangles);
  ASSERT_EQ(irregular.kinds[0], RingKind::irregular);
  EXPECT_EQ(mean_value_rings(two, irregular, std::vector<Vec3f>(two.size(), Vec3f::UnitZ())).valid[0], 0);
}

TEST(MeanValueRings, FoldedRingsHaveNone) {
  const auto valid = [](const std::vector<double>& degrees) {
    std::vector<Vec3f> positions{Vec3f(0, 0, 0)};
    for (std::size_t i = 0; i < degrees.size(); ++i)
      positions.push_back(in_circle(degrees[i], 1 + 0.1 * static_cast<double>(i % 2)));
    return coordinates(make_fan(positions), Vec3f::UnitZ()).valid[0] != 0;
  };
  EXPECT_TRUE(valid({0, 90, 180, 270}));
  EXPECT_TRUE(valid({270, 180, 90, 0}));       // the other way round
  EXPECT_FALSE(valid({0, 90, 60, 180, 270}));  // a step back
  EXPECT_FALSE(valid({0, 30, 60, 90}));        // all on one side
  EXPECT_FALSE(valid({0, 40, 90, 130, 170}));  // on one side: more than half a turn is open
  EXPECT_TRUE(valid({0, 60, 120, 181, 200, 230}));
  EXPECT_FALSE(valid({0, 179.5, 270}));                         // nearly on its own edge
  EXPECT_FALSE(valid({0, 100, 200, 300, 400, 500, 600, 700}));  // round twice
  EXPECT_FALSE(valid({0, 90, 180}));                            // on its own edge
}

TEST(MeanValueRings, SpokesAlongTheDirectionHaveNone) {
  std::vector<Vec3f> positions{Vec3f(0, 0, 0)};
  for (int i = 0; i < 5; ++i) positions.push_back(in_circle(72.0 * i, 1));
  positions[3] = Vec3f(0, 0, 1);
  EXPECT_EQ(coordinates(make_fan(positions), Vec3f::UnitZ()).valid[0], 0);
  positions[3] = Vec3f(0, 0, 0);
  EXPECT_EQ(coordinates(make_fan(positions), Vec3f::UnitZ()).valid[0], 0);
}

TEST(MeanValueRings, BadNumbersHaveNone) {
  std::vector<Vec3f> positions{Vec3f(0, 0, 0)};
  for (int i = 0; i < 5; ++i) positions.push_back(in_circle(72.0 * i, 1));
  const Fan fan = make_fan(positions);
  ASSERT_EQ(coordinates(fan, Vec3f::UnitZ()).valid[0], 1);
  EXPECT_EQ(coordinates(fan, Vec3f(0, 0, 1e-30f)).valid[0], 1);
  for (const Vec3f& across : {Vec3f(0, 0, 0), Vec3f(0, 0, kNan), Vec3f(kInfinity, 0, 1)}) {
    const MeanValueRings result = coordinates(fan, across);
    EXPECT_EQ(result.valid[0], 0);
    for (const float value : result.values) EXPECT_EQ(value, 0);
  }
  for (const float bad : {kNan, kInfinity, -kInfinity})
    for (const std::size_t v : {0u, 2u}) {
      Fan broken = fan;
      broken.positions[v].x() = bad;
      const MeanValueRings result = coordinates(broken, Vec3f::UnitZ());
      EXPECT_EQ(result.valid[0], 0);
      for (const float value : result.values) EXPECT_EQ(value, 0);
    }
}

TEST(MeanValueRings, NoVertices) {
  const MeanValueRings result = mean_value_rings({}, one_rings(0, {}), {});
  EXPECT_TRUE(result.values.empty());
  EXPECT_TRUE(result.valid.empty());
}

}  // namespace
}  // namespace sinew
