#include <sinew/geometry/weld.h>

#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <sinew/core/error.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

using Numbers = std::vector<std::uint32_t>;

TEST(Weld, NothingToWeld) {
  const Weld weld = weld_vertices({});
  EXPECT_EQ(weld.size(), 0u);
  EXPECT_TRUE(weld.welded_of_vertex.empty());
}

TEST(Weld, NumbersGroupsByTheirFirstVertex) {
  const std::vector<Vec3f> positions = {{1, 2, 3}, {0, 0, 0}, {1, 2, 3}, {5, 5, 5}, {0, 0, 0}, {1, 2, 3}};
  const Weld weld = weld_vertices(positions);
  EXPECT_EQ(weld.welded_of_vertex, (Numbers{0, 1, 0, 2, 1, 0}));
  EXPECT_EQ(weld.first_vertex, (Numbers{0, 1, 3}));
  EXPECT_EQ(welded_positions(weld, positions), (std::vector<Vec3f>{{1, 2, 3}, {0, 0, 0}, {5, 5, 5}}));
}

TEST(Weld, NegativeZeroIsZeroButNeighbouringFloatsStayApart) {
  const float next = std::nextafter(1.0f, 2.0f);
  const Weld weld = weld_vertices(std::vector<Vec3f>{{0, -0.0f, 1}, {-0.0f, 0, 1}, {0, 0, next}});
  EXPECT_EQ(weld.welded_of_vertex, (Numbers{0, 0, 1}));
}

TEST(Weld, DifferentKeysStayApart) {
  const std::vector<Vec3f> positions(4, Vec3f(1, 1, 1));
  EXPECT_EQ(weld_vertices(positions, Numbers{7, 8, 7, 8}).welded_of_vertex, (Numbers{0, 1, 0, 1}));
  EXPECT_EQ(weld_vertices(positions, Numbers{7, 8, 7, 8}, 10.0f).welded_of_vertex, (Numbers{0, 1, 0, 1}));
}

TEST(Weld, SplitCubeComesTogether) {
  const Mesh cube = test::make_cube();
  const Mesh split = test::split_all(cube);
  ASSERT_EQ(split.positions.size(), 24u);
  const Weld weld = weld_vertices(split.positions);
  EXPECT_EQ(weld.size(), 8u);
  const WeldedTriangles welded = weld_triangles(weld, split.triangles);
  EXPECT_EQ(welded.triangles.size(), 12u);
  for (std::size_t t = 0; t < 12; ++t)
    for (int k = 0; k < 3; ++k)
      EXPECT_EQ(welded_positions(weld, split.positions)[welded.triangles[t][k]],
                split.positions[split.triangles[t][k]]);
}

TEST(Weld, ToleranceReachesExactlyAsFarAsItSays) {
  const std::vector<Vec3f> positions = {{0, 0, 0}, {0.25f, 0, 0}, {0, -0.25f, 0}, {0, 0, 0.2501f}};
  EXPECT_EQ(weld_vertices(positions, {}, 0.25f).welded_of_vertex, (Numbers{0, 0, 0, 1}));
}

TEST(Weld, ChainsDoNotMelt) {
  // Each is within the tolerance of the next; only distances to the first of a group count.
  std::vector<Vec3f> positions;
  for (int i = 0; i < 6; ++i) positions.push_back({static_cast<float>(i), 0, 0});
  EXPECT_EQ(weld_vertices(positions, {}, 1.0f).welded_of_vertex, (Numbers{0, 0, 1, 1, 2, 2}));
}

TEST(Weld, JoinsTheNearestGroup) {
  const std::vector<Vec3f> positions = {{0, 0, 0}, {10, 0, 0}, {6, 0, 0}, {5, 0, 0}};
  EXPECT_EQ(weld_vertices(positions, {}, 6.0f).welded_of_vertex, (Numbers{0, 1, 1, 0}));
}

TEST(Weld, ToleranceWorksAtAnyDistanceFromTheOrigin) {
  for (const float at : {0.0f, 1e6f, -3e18f, 1e38f}) {
    const std::vector<Vec3f> positions = {{at, at, at}, {at, at, at}, {-at, at, 1}, {-at, at, 1}};
    EXPECT_EQ(weld_vertices(positions, {}, 1e-20f).welded_of_vertex, (Numbers{0, 0, 1, 1})) << at;
  }
}

TEST(Weld, RejectsBadTolerances) {
  for (const float bad : {-1.0f, std::numeric_limits<float>::infinity(), std::nanf("")})
    EXPECT_THROW(weld_vertices(std::vector<Vec3f>{Vec3f::Zero()}, {}, bad), Error) << bad;
}

TEST(Weld, CollapsedTrianglesAreDroppedAndTheOthersKnowTheirOrigin) {
  const std::vector<Vec3f> positions = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 0}};
  const std::vector<Triangle> triangles = {{0, 1, 3}, {3, 1, 2}, {0, 3, 3}, {0, 1, 2}};
  const WeldedTriangles welded = weld_triangles(weld_vertices(positions), triangles);
  EXPECT_EQ(welded.triangles, (std::vector<Triangle>{{0, 1, 2}, {0, 1, 2}}));
  EXPECT_EQ(welded.sources, (Numbers{1, 3}));
}

TEST(Weld, AgreesWithAMap) {
  EXPECT_TRUE(rc::check("exact weld of few distinct points", [] {
    const auto numbers = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-2, 3));
    std::vector<Vec3f> positions;
    Numbers keys;
    for (std::size_t i = 0; i + 3 < numbers.size(); i += 4) {
      positions.push_back({static_cast<float>(numbers[i]), static_cast<float>(numbers[i + 1]),
                           static_cast<float>(numbers[i + 2])});
      keys.push_back(static_cast<std::uint32_t>(std::abs(numbers[i + 3])));
    }
    std::map<std::tuple<float, float, float, std::uint32_t>, std::uint32_t> groups;
    const Weld weld = weld_vertices(positions, keys);
    for (std::size_t v = 0; v < positions.size(); ++v) {
      const auto entry = groups.try_emplace({positions[v].x(), positions[v].y(), positions[v].z(), keys[v]},
                                            static_cast<std::uint32_t>(groups.size()));
      RC_ASSERT(weld.welded_of_vertex[v] == entry.first->second);
    }
    RC_ASSERT(weld.size() == groups.size());
  }));
}

TEST(Weld, ToleranceAgreesWithBruteForce) {
  EXPECT_TRUE(rc::check("near weld", [] {
    const auto numbers = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-12, 13));
    std::vector<Vec3f> positions;
    for (std::size_t i = 0; i + 2 < numbers.size(); i += 3)
      positions.push_back(0.1f * Vec3f(static_cast<float>(numbers[i]), static_cast<float>(numbers[i + 1]),
                                       static_cast<float>(numbers[i + 2])));
    const float tolerance = 0.45f;
    const Weld weld = weld_vertices(positions, {}, tolerance);
    Numbers first;
    for (std::size_t v = 0; v < positions.size(); ++v) {
      double best = double{tolerance} * tolerance;
      std::uint32_t nearest = static_cast<std::uint32_t>(first.size());
      for (std::uint32_t w = 0; w < first.size(); ++w) {
        const double squared =
            (positions[first[w]].cast<double>() - positions[v].cast<double>()).squaredNorm();
        if (squared < best || (squared == best && nearest == first.size())) {
          best = squared;
          nearest = w;
        }
      }
      if (nearest == first.size()) first.push_back(static_cast<std::uint32_t>(v));
      // Of two that are equally near up to rounding, either.
      const std::uint32_t is = weld.welded_of_vertex[v];
      RC_ASSERT(is < first.size());
      const double squared =
          (positions[first[is]].cast<double>() - positions[v].cast<double>()).squaredNorm();
      RC_ASSERT(is == nearest || std::abs(squared - best) < 1e-6);
    }
    RC_ASSERT(weld.first_vertex == first);
  }));
}

}  // namespace
}  // namespace sinew
