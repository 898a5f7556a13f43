#include <sinew/core/index.h>
#include <sinew/fitting/extremities.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <sinew/fitting/reeb_graph.h>
#include <sinew/geometry/one_rings.h>

#include "tests/support/meshes.h"
#include "tests/support/solids.h"

namespace sinew {
namespace {

/// A strip whose vertices at step k, two across, have value k of `profile`.
struct Comb {
  explicit Comb(std::vector<double> profile)
      : mesh(test::make_grid(static_cast<int>(profile.size()) - 1, 1)), steps(profile.size()) {
    values = profile;
    values.insert(values.end(), profile.begin(), profile.end());
  }
  std::size_t step(const Extremity& end) const { return end.vertex % steps; }

  Mesh mesh;
  std::size_t steps;
  std::vector<double> values;
};

std::uint32_t nearest_vertex(const Mesh& mesh, const Vec3d& p) {
  std::uint32_t best = 0;
  for (std::uint32_t v = 0; v < mesh.positions.size(); ++v)
    if ((mesh.positions[v].cast<double>() - p).norm() < (mesh.positions[best].cast<double>() - p).norm())
      best = v;
  return best;
}

TEST(EdgeDistances, GoAlongEdges) {
  const Mesh grid = test::make_grid(4, 1, 4, 1);
  const std::vector<std::uint32_t> corner{0};
  const std::vector<double> distances = edge_distances(grid.view(), corner);
  EXPECT_DOUBLE_EQ(distances[4], 4);
  EXPECT_NEAR(distances[9], 3 + std::sqrt(2.0), 1e-6);  // one diagonal, from the lower left
  const std::vector<std::uint32_t> both{0, 4};
  EXPECT_DOUBLE_EQ(edge_distances(grid.view(), both)[3], 1);
}

TEST(EdgeDistances, AreInfiniteElsewhere) {
  const Mesh two = test::join(test::make_cube(), test::moved(test::make_cube(), Vec3f(5, 0, 0)));
  const std::vector<std::uint32_t> first{0};
  const std::vector<double> distances = edge_distances(two.view(), first);
  EXPECT_TRUE(std::isfinite(distances[7]));
  EXPECT_TRUE(std::isinf(distances[8]));
}

TEST(Extremities, StandOutByTheLevelsTheyLiveThrough) {
  const Comb comb({0, 5, 3, 4, 1, 6, 0});
  const std::vector<Extremity> all = find_extremities(comb.mesh.view(), comb.values, 0.5);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(comb.step(all[0]), 5u);
  EXPECT_EQ(all[0].prominence, 6);  // the highest: all of its height
  EXPECT_EQ(comb.step(all[1]), 1u);
  EXPECT_EQ(all[1].prominence, 4);  // down to the pass at 1
  EXPECT_EQ(comb.step(all[2]), 3u);
  EXPECT_EQ(all[2].prominence, 1);  // down to the pass at 3
  EXPECT_EQ(all[2].distance, 4);
  EXPECT_EQ(find_extremities(comb.mesh.view(), comb.values, 1).size(), 3u);
  EXPECT_EQ(find_extremities(comb.mesh.view(), comb.values, 1.5).size(), 2u);
  EXPECT_EQ(find_extremities(comb.mesh.view(), comb.values, 5).size(), 1u);
}

TEST(Extremities, ShareTheirLimbsLength) {
  // The teeth at 5 and 4 part at 3: 2 and 1 of a limb that is 4 long, down to 1, where the other one is 5
  // long. All together reach down to 0, in the same proportions.
  const Comb comb({0, 5, 3, 4, 1, 6, 0});
  const std::vector<Extremity> all = find_extremities(comb.mesh.view(), comb.values, 0.5);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_DOUBLE_EQ(all[0].share, 1);
  EXPECT_DOUBLE_EQ(all[1].share, 4.0 * 2 / 3 / 5);
  EXPECT_DOUBLE_EQ(all[2].share, 4.0 / 3 / 5);
  // A tooth that does not count leaves its limb's length to the other.
  const std::vector<Extremity> two = find_extremities(comb.mesh.view(), comb.values, 1.5);
  EXPECT_DOUBLE_EQ(two[1].share, 0.8);
}

TEST(Extremities, HaveTheSameSharesLeftAndRight) {
  const Comb comb({6, 3, 5, 2, 1, 0, 1, 2, 5, 3, 6});
  const std::vector<Extremity> all = find_extremities(comb.mesh.view(), comb.values, 0.5);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_NEAR(all[0].share, all[1].share, 1e-12);
  EXPECT_NEAR(all[2].share, all[3].share, 1e-12);
  EXPECT_LT(all[2].share, all[0].share);
}

TEST(Extremities, OfAPlateauAreOne) {
  const Comb comb({0, 2, 2, 2, 1, 0});
  EXPECT_EQ(find_extremities(comb.mesh.view(), comb.values, 0.1).size(), 1u);
  const Comb flat({1, 1, 1});
  EXPECT_EQ(find_extremities(flat.mesh.view(), flat.values, 0.1).size(), 1u);
}

TEST(Extremities, DoNotLieWhereNothingLeads) {
  const Comb comb({0, 1, 2});
  std::vector<double> values = comb.values;
  values[2] = values[5] = std::numeric_limits<double>::infinity();
  const std::vector<Extremity> all = find_extremities(comb.mesh.view(), values, 0.1);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(comb.step(all[0]), 1u);
}

TEST(Extremities, OfAStarAreItsTips) {
  const std::vector<Vec3d> tips{{0, 1, 0}, {0.9, -0.3, 0}, {-0.9, -0.3, 0}, {0, -1, 0.2}};
  std::vector<std::pair<Vec3d, Vec3d>> limbs;
  for (const Vec3d& tip : tips) limbs.push_back({Vec3d::Zero(), tip});
  const Mesh star = test::to_mesh(extract_isosurface(test::capsules(limbs, 0.15), Vec3d::Zero(), 0.05));
  const std::uint32_t head = nearest_vertex(star, Vec3d(0, 1.15, 0));
  const std::vector<double> distances = edge_distances(star.view(), std::span(&head, 1));
  const std::vector<Extremity> all = find_extremities(star.view(), distances, 0.1);
  ASSERT_EQ(all.size(), 3u);
  for (std::size_t t = 1; t < tips.size(); ++t) {
    double nearest = 9;
    for (const Extremity& end : all)
      nearest = std::min(nearest, (star.positions[end.vertex].cast<double>() - 1.15 * tips[t]).norm());
    EXPECT_LT(nearest, 0.2);
  }

  // The function that leads there: no other ends, and every vertex but those has some above and some below.
  const std::vector<double> values = harmonic_function(star.view(), head, all);
  EXPECT_EQ(values[head], 0);
  const OneRings rings = one_rings(star.positions.size(), star.triangles);
  std::vector<std::uint32_t> ends;
  for (const Extremity& end : all) ends.push_back(end.vertex);
  for (std::uint32_t v = 0; v < star.positions.size(); ++v) {
    bool above = false, below = false;
    for (const std::uint32_t w : rings[v]) (values[w] > values[v] ? above : below) = true;
    const bool end = std::find(ends.begin(), ends.end(), v) != ends.end();
    EXPECT_EQ(above, !end);
    EXPECT_EQ(below, v != head);
  }
  std::size_t leaves = 0;
  for (const ReebGraph::Node& node : reeb_graph(star.view(), values).nodes)
    leaves += node.lower.size() + node.upper.size() == 1;
  EXPECT_EQ(leaves, 4u);
}

TEST(HarmonicFunction, RisesEvenlyAlongATube) {
  const int around = 12, along = 20;
  const Mesh tube = test::make_tube(around, along, 0.1f, 2.0f, true);
  const auto bottom = static_cast<std::uint32_t>(around * (along + 1)), top = bottom + 1;
  const std::vector<Extremity> end{{top, 2, 2, 1}};
  const std::vector<double> values = harmonic_function(tube.view(), bottom, end);
  // Level along rings, and steps between rings of the same height.
  const double step = values[2 * around] - values[around];
  EXPECT_GT(step, 0);
  for (int j = 0; j < along; ++j)
    for (int i = 0; i < around; ++i) {
      const auto v = to_size(j * around + i);
      EXPECT_NEAR(values[v + around] - values[v], step, 1e-3 * step);
    }
}

TEST(HarmonicFunction, PassesOverExtremitiesAtTheHead) {
  const Mesh sphere = test::make_icosphere(1);
  const std::vector<Extremity> at_head{{5, 1, 1, 1}};
  for (const double value : harmonic_function(sphere.view(), 5, at_head)) EXPECT_EQ(value, 0);
}

}  // namespace
}  // namespace sinew
