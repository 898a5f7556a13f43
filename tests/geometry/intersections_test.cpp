#include <sinew/geometry/intersections.h>

#include <algorithm>
#include <cmath>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <tbb/task_arena.h>

#include <sinew/core/error.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

using Corners = std::array<Vec3f, 3>;

bool both_ways(const Corners& a, const Corners& b) {
  const bool result = triangles_intersect(a, b);
  // The answer must not depend on the order of triangles and corners.
  const Corners turned = {b[1], b[2], b[0]}, flipped = {a[1], a[0], a[2]};
  EXPECT_EQ(triangles_intersect(b, a), result);
  EXPECT_EQ(triangles_intersect(a, turned), result);
  EXPECT_EQ(triangles_intersect(flipped, b), result);
  return result;
}

const Corners kFlat = {Vec3f(0, 0, 0), Vec3f(4, 0, 0), Vec3f(0, 4, 0)};

TEST(TrianglesIntersect, PiercedThroughTheInside) {
  EXPECT_TRUE(both_ways(kFlat, {Vec3f(1, 1, -1), Vec3f(1, 1, 1), Vec3f(9, 9, 0)}));
  EXPECT_FALSE(both_ways(kFlat, {Vec3f(3, 3, -1), Vec3f(3, 3, 1), Vec3f(9, 9, 0)}));
}

TEST(TrianglesIntersect, Apart) {
  EXPECT_FALSE(both_ways(kFlat, {Vec3f(0, 0, 1), Vec3f(4, 0, 1), Vec3f(0, 4, 1)}));
  EXPECT_FALSE(both_ways(kFlat, {Vec3f(9, 0, -1), Vec3f(9, 0, 1), Vec3f(9, 4, 0)}));
}

TEST(TrianglesIntersect, ASharedEdgeDoesNotCount) {
  EXPECT_FALSE(both_ways(kFlat, {kFlat[0], kFlat[1], Vec3f(0, -4, 0)}));  // flat
  EXPECT_FALSE(both_ways(kFlat, {kFlat[0], kFlat[1], Vec3f(0, 1, 4)}));   // bent
}

TEST(TrianglesIntersect, FoldedOverASharedEdgeCounts) {
  EXPECT_TRUE(both_ways(kFlat, {kFlat[0], kFlat[1], Vec3f(1, 1, 0)}));
  EXPECT_TRUE(both_ways(kFlat, {kFlat[0], kFlat[1], Vec3f(9, 9, 0)}));
}

TEST(TrianglesIntersect, ASharedVertexDoesNotCountButPiercingDoes) {
  EXPECT_FALSE(both_ways(kFlat, {kFlat[0], Vec3f(-1, 0, 0), Vec3f(0, -1, 0)}));
  EXPECT_FALSE(both_ways(kFlat, {kFlat[0], Vec3f(-1, 0, 1), Vec3f(0, -1, 1)}));
  EXPECT_TRUE(both_ways(kFlat, {kFlat[0], Vec3f(1, 1, -1), Vec3f(1, 1, 1)}));
  EXPECT_TRUE(both_ways(kFlat, {kFlat[0], Vec3f(1, 2, 0), Vec3f(2, 1, 0)}));  // inside, flat
  // Two corners' edges run along each other, the insides do not meet.
  EXPECT_FALSE(both_ways(kFlat, {kFlat[0], Vec3f(2, 0, 0), Vec3f(0, 0, 2)}));
}

TEST(TrianglesIntersect, TJunctionsDoNotCount) {
  EXPECT_FALSE(both_ways(kFlat, {Vec3f(1, 0, 0), Vec3f(2, 0, 0), Vec3f(1, -2, 0)}));
  EXPECT_FALSE(both_ways(kFlat, {Vec3f(1, 0, 0), Vec3f(2, -3, 1), Vec3f(1, -2, 0)}));
  EXPECT_FALSE(both_ways(kFlat, {Vec3f(2, 2, 0), Vec3f(5, 5, 1), Vec3f(5, 5, -1)}));
  // Edges that cross in one point.
  EXPECT_FALSE(both_ways(kFlat, {Vec3f(1, 0, 1), Vec3f(1, 0, -1), Vec3f(1, -3, 0)}));
}

TEST(TrianglesIntersect, ACornerOnTheInsideCounts) {
  EXPECT_TRUE(both_ways(kFlat, {Vec3f(1, 1, 0), Vec3f(1, 2, 3), Vec3f(2, 1, 3)}));
}

TEST(TrianglesIntersect, AnEdgeLyingInTheInsideCounts) {
  EXPECT_TRUE(both_ways(kFlat, {Vec3f(1, 1, 0), Vec3f(2, 1, 0), Vec3f(2, 1, 3)}));
  EXPECT_TRUE(both_ways(kFlat, {Vec3f(-1, 1, 0), Vec3f(9, 1, 0), Vec3f(2, 1, 3)}));
}

TEST(TrianglesIntersect, CrossingWithTheSameIntersectionSegmentCounts) {
  // Both cut the other from border to border along the segment from (0, 1, 0) to (3, 1, 0); no edge passes
  // through an inside.
  EXPECT_TRUE(both_ways(kFlat, {Vec3f(-1, 1, -1), Vec3f(1, 1, 1), Vec3f(5, 1, -1)}));
  EXPECT_TRUE(both_ways(kFlat, {Vec3f(0, 1, 0), Vec3f(3, 1, 0), Vec3f(1, 3, 0)}));
}

TEST(TrianglesIntersect, InOnePlane) {
  EXPECT_TRUE(both_ways(kFlat, kFlat));
  EXPECT_TRUE(both_ways(kFlat, {kFlat[1], kFlat[0], kFlat[2]}));
  EXPECT_TRUE(both_ways(kFlat, {Vec3f(1, 1, 0), Vec3f(1.5f, 1, 0), Vec3f(1, 1.5f, 0)}));
  EXPECT_TRUE(both_ways(kFlat, {Vec3f(3, 3, 0), Vec3f(-1, 3, 0), Vec3f(3, -1, 0)}));
  EXPECT_FALSE(both_ways(kFlat, {Vec3f(4, 4, 0), Vec3f(0, 4, 0), Vec3f(4, 0, 0)}));
  EXPECT_FALSE(both_ways(kFlat, {Vec3f(5, 5, 0), Vec3f(9, 5, 0), Vec3f(5, 9, 0)}));
}

TEST(TrianglesIntersect, TrianglesWithoutArea) {
  const Corners needle = {Vec3f(1, 1, -1), Vec3f(1, 1, 1), Vec3f(1, 1, 0.5f)};
  EXPECT_TRUE(both_ways(kFlat, needle));
  EXPECT_FALSE(both_ways(needle, needle));
  EXPECT_FALSE(both_ways(kFlat, {Vec3f(3, 3, -1), Vec3f(3, 3, 1), Vec3f(3, 3, 0)}));
  EXPECT_TRUE(both_ways(kFlat, {Vec3f(1, 1, 0), Vec3f(1, 1, 0), Vec3f(1, 1, 0)}));   // a point inside
  EXPECT_FALSE(both_ways(kFlat, {Vec3f(1, 0, 0), Vec3f(1, 0, 0), Vec3f(1, 0, 0)}));  // on the border
  EXPECT_TRUE(both_ways(kFlat, {Vec3f(-1, 1, 0), Vec3f(9, 1, 0), Vec3f(2, 1, 0)}));  // a segment across
  EXPECT_FALSE(both_ways(kFlat, {Vec3f(-1, 0, 0), Vec3f(9, 0, 0), Vec3f(2, 0, 0)}));
  EXPECT_FALSE(both_ways(kFlat, {kFlat[0], kFlat[0], kFlat[1]}));
}

// The same definition by another route: the common part of two triangles by clipping, in fractions. With a
// and b convex, a meets the inside of b exactly when the middle of their common part lies inside b.
__extension__ typedef __int128 Wide;

struct Fraction {
  Wide top = 0, bottom = 1;
  Fraction(Wide t = 0, Wide b = 1) {
    Wide x = t < 0 ? -t : t, y = b < 0 ? -b : b;
    while (y != 0) {
      const Wide rest = x % y;
      x = y;
      y = rest;
    }
    if (b < 0) x = -x;
    top = t / x;
    bottom = b / x;
  }
  Fraction operator+(const Fraction& o) const { return {top * o.bottom + o.top * bottom, bottom * o.bottom}; }
  Fraction operator-(const Fraction& o) const { return {top * o.bottom - o.top * bottom, bottom * o.bottom}; }
  Fraction operator*(const Fraction& o) const { return {top * o.top, bottom * o.bottom}; }
  Fraction operator/(const Fraction& o) const { return {top * o.bottom, bottom * o.top}; }
  int sign() const { return (top > 0) - (top < 0); }
};

using Point = std::array<Fraction, 3>;
using Polygon = std::vector<Point>;

Point minus(const Point& a, const Point& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}
Point cross(const Point& a, const Point& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
Fraction dot(const Point& a, const Point& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// What of the polygon has normal · (x - origin) ≥ 0.
Polygon clip(const Polygon& polygon, const Point& origin, const Point& normal) {
  Polygon result;
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const Point &p = polygon[i], &q = polygon[(i + 1) % polygon.size()];
    const Fraction at_p = dot(normal, minus(p, origin)), at_q = dot(normal, minus(q, origin));
    if (at_p.sign() >= 0) result.push_back(p);
    if (at_p.sign() * at_q.sign() < 0) {
      const Fraction share = at_p / (at_p - at_q);
      Point cut;
      for (int k = 0; k < 3; ++k) cut[k] = p[k] + share * (q[k] - p[k]);
      result.push_back(cut);
    }
  }
  return result;
}

bool meets_inside(const Polygon& a, const Polygon& b) {
  const Point normal = cross(minus(b[1], b[0]), minus(b[2], b[0]));
  if (dot(normal, normal).sign() == 0) return false;
  const Point opposite = minus(Point{}, normal);
  Polygon common = clip(clip(a, b[0], normal), b[0], opposite);
  for (int k = 0; k < 3; ++k) common = clip(common, b[k], cross(normal, minus(b[(k + 1) % 3], b[k])));
  // No edge function is negative on the common part; the middle has all of them positive when each is
  // positive at one of the corners.
  for (int k = 0; k < 3; ++k) {
    const Point inwards = cross(normal, minus(b[(k + 1) % 3], b[k]));
    if (std::none_of(common.begin(), common.end(),
                     [&](const Point& p) { return dot(inwards, minus(p, b[k])).sign() > 0; }))
      return false;
  }
  return true;
}

bool exact_intersect(const Corners& a, const Corners& b) {
  const auto to_polygon = [](const Corners& t) {
    Polygon polygon;
    for (const Vec3f& p : t)
      polygon.push_back({Fraction(static_cast<Wide>(p.x())), Fraction(static_cast<Wide>(p.y())),
                         Fraction(static_cast<Wide>(p.z()))});
    return polygon;
  };
  return meets_inside(to_polygon(a), to_polygon(b)) || meets_inside(to_polygon(b), to_polygon(a));
}

TEST(TrianglesIntersect, AgreesWithClippingInFractions) {
  // Lattices from tiny (nearly all cases degenerate) to wide (nearly all general).
  std::uint64_t state = 7;
  const auto next = [&](int range) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<float>(static_cast<int>((state >> 33) % static_cast<std::uint64_t>(2 * range + 1)) -
                              range);
  };
  for (const int range : {1, 2, 3, 10, 40}) {
    int hits = 0;
    const int rounds = 4000;
    for (int round = 0; round < rounds; ++round) {
      Corners a, b;
      for (Vec3f& p : a) p = {next(range), next(range), next(range)};
      for (Vec3f& p : b) p = {next(range), next(range), next(range)};
      if (round % 4 == 1) b[0] = a[2];
      if (round % 4 == 2) b[0] = a[2], b[1] = a[0];
      if (round % 4 == 3)
        for (Vec3f& p : b) p.z() = a[0].z(), a[1].z() = a[2].z() = a[0].z();
      const bool expected = exact_intersect(a, b);
      hits += expected;
      ASSERT_EQ(triangles_intersect(a, b), expected) << "range " << range << ", round " << round;
      ASSERT_EQ(triangles_intersect(b, a), expected);
    }
    EXPECT_GT(hits, rounds / 20) << range;
    EXPECT_LT(hits, rounds * 19 / 20) << range;
  }
}

TEST(SelfIntersections, GoodMeshesHaveNone) {
  for (const Mesh& mesh :
       {test::make_cube(), test::make_icosphere(3), test::make_torus(40, 20), test::make_tube(30, 20),
        test::make_grid(20, 20), test::split_all(test::make_cube())})
    EXPECT_TRUE(self_intersections(mesh.view()).empty());
  EXPECT_TRUE(self_intersections(MeshView{}).empty());
}

TEST(SelfIntersections, TiltedFlatGridsHaveNone) {
  // Floats cannot hold a tilted plane, so neighbours are bent by rounding, but never fold.
  Mesh grid = test::make_grid(30, 30);
  const Eigen::Matrix3f turn = Eigen::AngleAxisf(0.7f, Vec3f(1, 2, 3).normalized()).toRotationMatrix();
  for (Vec3f& p : grid.positions) p = turn * p;
  EXPECT_TRUE(self_intersections(grid.view()).empty());
}

TEST(SelfIntersections, DuplicateTrianglesAreFound) {
  Mesh cube = test::make_cube();
  cube.triangles.push_back(cube.triangles[4]);
  EXPECT_EQ(self_intersections(cube.view()), (std::vector<TrianglePair>{{4, 12}}));
}

std::vector<TrianglePair> brute_force(const Mesh& mesh) {
  std::vector<TrianglePair> pairs;
  const auto corners = [&](std::uint32_t t) -> Corners {
    const Triangle& f = mesh.triangles[t];
    return {mesh.positions[f[0]], mesh.positions[f[1]], mesh.positions[f[2]]};
  };
  for (std::uint32_t i = 0; i < mesh.triangles.size(); ++i)
    for (std::uint32_t j = i + 1; j < mesh.triangles.size(); ++j)
      if (triangles_intersect(corners(i), corners(j))) pairs.push_back({i, j});
  return pairs;
}

TEST(SelfIntersections, TwoSpheresThatCross) {
  const Mesh sphere = test::make_icosphere(2);
  const Mesh both = test::join(sphere, test::moved(sphere, {0.9f, 0.3f, 0.1f}));
  const auto pairs = self_intersections(both.view());
  EXPECT_GT(pairs.size(), 30u);
  for (const TrianglePair& pair : pairs) {
    EXPECT_LT(pair[0], 320u);
    EXPECT_GE(pair[1], 320u);
  }
  EXPECT_EQ(pairs, brute_force(both));
  // Far away and at extreme sizes, exactly the same pairs (powers of two change no digits).
  for (const float scale : {0x1p-70f, 0x1p60f}) {
    const Mesh scaled = test::moved(both, Vec3f::Zero(), scale);
    EXPECT_EQ(self_intersections(scaled.view()), pairs) << scale;
  }
}

TEST(SelfIntersections, FollowTheSurfaceWhenItMoves) {
  const Mesh torus = test::make_torus(24, 12);
  const SelfIntersections finder(torus.view());
  EXPECT_TRUE(finder.find(torus.positions).empty());
  // Squash the torus through itself.
  Mesh squashed = torus;
  for (Vec3f& p : squashed.positions) p = Vec3f(p.x() * (0.2f + p.z()), p.y(), p.z() * p.y());
  const auto pairs = finder.find(squashed.positions);
  EXPECT_GT(pairs.size(), 50u);
  EXPECT_EQ(pairs, brute_force(squashed));
  EXPECT_EQ(pairs, self_intersections(squashed.view()));
}

TEST(SelfIntersections, AgreesWithBruteForceOnTriangleSoup) {
  EXPECT_TRUE(rc::check("soup on a lattice", [] {
    const auto numbers = *rc::gen::container<std::vector<int>>(200, rc::gen::inRange(-4, 5));
    Mesh soup;
    for (std::size_t i = 0; i + 2 < numbers.size(); i += 3)
      soup.positions.push_back({static_cast<float>(numbers[i]), static_cast<float>(numbers[i + 1]),
                                static_cast<float>(numbers[i + 2])});
    for (std::uint32_t v = 0; v + 2 < soup.positions.size(); ++v) soup.triangles.push_back({v, v + 1, v + 2});
    RC_ASSERT(self_intersections(soup.view()) == brute_force(soup));
  }));
}

TEST(SelfIntersections, SameOnAnyNumberOfThreads) {
  const Mesh sphere = test::make_icosphere(3);
  const Mesh both = test::join(sphere, test::moved(sphere, {0.5f, 0.2f, 0.1f}));
  std::vector<TrianglePair> one, many;
  tbb::task_arena(1).execute([&] { one = self_intersections(both.view()); });
  tbb::task_arena(4).execute([&] { many = self_intersections(both.view()); });
  EXPECT_EQ(one, many);
}

TEST(SelfIntersections, RefusesToFillTheMemory) {
  Mesh pile;
  pile.positions = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
  pile.triangles.assign(200, Triangle{0, 1, 2});
  const SelfIntersections finder(pile.view());
  EXPECT_EQ(finder.find(pile.positions).size(), 200u * 199 / 2);
  EXPECT_EQ(finder.find(pile.positions, 19900).size(), 19900u);
  try {
    finder.find(pile.positions, 19899);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "more than 19899 pairs of triangles intersect each other; the mesh has 200 triangles");
  }
}

}  // namespace
}  // namespace sinew
