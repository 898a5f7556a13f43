#include <sinew/contact/posed_surface.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <sinew/geometry/mesh.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A mesh with its tree and surface, at rest until it is moved.
struct Posed {
  explicit Posed(Mesh mesh_at_rest)
      : mesh(std::move(mesh_at_rest)), positions(mesh.positions), tree(mesh.view()), surface(tree) {
    surface.refit(positions);
  }
  Posed(const Posed&) = delete;

  void move(const std::vector<Vec3f>& to) {
    positions = to;
    surface.refit(positions);
  }
  std::vector<Crossing> crossings(const Vec3f& origin, const Vec3f& direction, float from = 0,
                                  float to = kInfinity) const {
    std::vector<Crossing> found;
    surface.cross(origin, direction, from, to, [&](const Crossing& c) { found.push_back(c); });
    return found;
  }

  Mesh mesh;
  std::vector<Vec3f> positions;
  TriangleTree tree;
  PosedSurface surface;
};

class Random {
 public:
  explicit Random(std::uint32_t seed) : random_(seed) {}
  float number(float low = -1, float high = 1) {
    return std::uniform_real_distribution<float>(low, high)(random_);
  }
  Vec3f vector() { return {number(), number(), number()}; }
  Vec3f direction() {
    Vec3f v = vector();
    while (!(v.norm() > 0.1f && v.norm() < 1)) v = vector();
    return v.normalized();
  }

 private:
  std::mt19937 random_;
};

/// Bends, shears and ripples.
std::vector<Vec3f> random_pose(const std::vector<Vec3f>& rest, Random& random) {
  Eigen::Matrix3f linear;
  linear << random.vector(), random.vector(), random.vector();
  const Vec3f wave = 3 * random.vector(), along = 0.4f * random.vector(), shift = 2 * random.vector();
  std::vector<Vec3f> posed;
  for (const Vec3f& p : rest) posed.push_back(linear * p + std::sin(wave.dot(p)) * along + shift);
  return posed;
}

/// What a line does with one triangle, in double and plain numbers, by the volumes of its edges with the
/// line.
struct PlainCrossing {
  bool certain = false;   // it crosses it
  bool possible = false;  // it does, or passes its border closely
  double t = 0;
  int winding = 0;
};

double determinant(const Vec3f& a, const Vec3f& b, const Vec3f& c, const Vec3f& from) {
  const double ax = double{a.x()} - from.x(), ay = double{a.y()} - from.y(), az = double{a.z()} - from.z();
  const double bx = double{b.x()} - from.x(), by = double{b.y()} - from.y(), bz = double{b.z()} - from.z();
  const double cx = c.x(), cy = c.y(), cz = c.z();
  return ax * (by * cz - bz * cy) - ay * (bx * cz - bz * cx) + az * (bx * cy - by * cx);
}

PlainCrossing plain_crossing(const Vec3f& origin, const Vec3f& direction, const std::array<Vec3f, 3>& f) {
  constexpr double kMargin = 1e-4;  // share of the triangle
  const double u = determinant(f[1], f[2], direction, origin), v = determinant(f[2], f[0], direction, origin),
               w = determinant(f[0], f[1], direction, origin), sum = u + v + w;
  PlainCrossing result;
  const double least = std::min({u / sum, v / sum, w / sum});
  result.certain = least > kMargin;
  result.possible = !(least < -kMargin);
  if (!result.possible) return result;
  for (int k = 0; k < 3; ++k) {
    const double along = (u * (double{f[0][k]} - origin[k]) + v * (double{f[1][k]} - origin[k]) +
                          w * (double{f[2][k]} - origin[k])) /
                         sum;
    result.t += along * direction[k] / direction.cast<double>().squaredNorm();
  }
  result.winding = sum > 0 ? -1 : 1;
  return result;
}

TEST(PosedSurface, CrossesWhatEveryTriangleByItselfSays) {
  Posed posed(
      test::join(test::make_torus(16, 8), test::moved(test::make_icosphere(2), {0.6f, 0.2f, 0.1f}, 0.7f)));
  Random random(1);
  int crossed = 0;
  for (int pose = 0; pose < 4; ++pose) {
    posed.move(random_pose(posed.mesh.positions, random));
    for (int ray = 0; ray < 80; ++ray) {
      const auto some_point = [&] {
        return posed.positions[static_cast<std::size_t>(
            random.number(0, static_cast<float>(posed.positions.size() - 1)))];
      };
      const Vec3f origin = some_point() + random.number(0, 1) * random.vector();
      const Vec3f direction = random.number(0.2f, 4) * (some_point() - origin + 0.2f * random.vector());
      const float from = random.number(-1, 0.2f), to = random.number(0.3f, 2);
      std::map<std::uint32_t, Crossing> found;
      for (const Crossing& c : posed.crossings(origin, direction, from, to))
        EXPECT_TRUE(found.emplace(c.triangle, c).second) << "twice";
      for (std::uint32_t t = 0; t < posed.mesh.triangles.size(); ++t) {
        const Triangle& f = posed.mesh.triangles[t];
        const PlainCrossing plain = plain_crossing(
            origin, direction, {posed.positions[f[0]], posed.positions[f[1]], posed.positions[f[2]]});
        const auto place = found.find(t);
        constexpr double kNear = 1e-4;
        if (place == found.end()) {
          EXPECT_FALSE(plain.certain && plain.t > from + kNear && plain.t < to - kNear)
              << pose << ' ' << ray << ' ' << t;
          continue;
        }
        ASSERT_TRUE(plain.possible) << pose << ' ' << ray << ' ' << t;
        EXPECT_GT(place->second.t, from);
        EXPECT_LT(place->second.t, to);
        if (!plain.certain) continue;
        ++crossed;
        EXPECT_NEAR(place->second.t, plain.t, kNear * (1 + std::abs(plain.t)));
        EXPECT_EQ(place->second.winding, plain.winding);
      }
    }
  }
  EXPECT_GT(crossed, 300);
}

TEST(PosedSurface, TellsTheWayInFromTheWayOutAndRespectsItsRange) {
  const Posed cube(test::make_cube(2));
  const Vec3f origin(-5, 0.25f, 0.5f), direction(2, 0, 0);
  std::vector<Crossing> both = cube.crossings(origin, direction);
  ASSERT_EQ(both.size(), 2u);
  std::sort(both.begin(), both.end(), [](const Crossing& a, const Crossing& b) { return a.t < b.t; });
  EXPECT_FLOAT_EQ(both[0].t, 2);
  EXPECT_EQ(both[0].winding, 1);
  EXPECT_FLOAT_EQ(both[1].t, 3);
  EXPECT_EQ(both[1].winding, -1);
  // The triangles' numbers are the mesh's.
  for (const Crossing& c : both)
    for (const std::uint32_t v : cube.mesh.triangles[c.triangle])
      EXPECT_EQ(cube.positions[v].x(), c.winding > 0 ? -1 : 1);
  EXPECT_TRUE(cube.crossings(origin, direction, 0, 1.9f).empty());
  EXPECT_EQ(cube.crossings(origin, direction, 0, 2.1f).size(), 1u);
  EXPECT_EQ(cube.crossings(origin, direction, 2.1f, 9).size(), 1u);
  EXPECT_TRUE(cube.crossings(origin, direction, 3.1f, 9).empty());
  EXPECT_TRUE(cube.crossings(origin, direction, 2, 3).empty());  // the range is open
  EXPECT_TRUE(cube.crossings(origin, direction, 9, 1).empty());
  EXPECT_EQ(cube.crossings(origin, -direction, -9, 0).size(), 2u);
}

TEST(PosedSurface, WindsAsOftenAsItIsNested) {
  const Mesh ball = test::make_icosphere(2);
  Mesh inside_out = test::moved(ball, Vec3f::Zero(), 0.5f);
  for (Triangle& f : inside_out.triangles) std::swap(f[1], f[2]);
  const Posed nested(test::join(ball, test::moved(ball, {0.3f, 0, 0}, 0.5f)));
  Mesh hollow_mesh = ball;
  const auto first = static_cast<std::uint32_t>(ball.positions.size());
  for (const Vec3f& p : inside_out.positions) hollow_mesh.positions.push_back(p);
  for (const Triangle& f : inside_out.triangles)
    hollow_mesh.triangles.push_back({f[0] + first, f[1] + first, f[2] + first});
  const Posed hollow(hollow_mesh), turned(inside_out);
  Random random(2);
  for (int i = 0; i < 100; ++i) {
    const Vec3f d = random.number(0.1f, 3) * random.direction();
    EXPECT_EQ(nested.surface.winding({0.31f, 0.02f, 0.03f}, d), 2);
    EXPECT_EQ(nested.surface.winding({-0.5f, 0.02f, 0.03f}, d), 1);
    EXPECT_EQ(nested.surface.winding({1.5f, 0.02f, 0.03f}, d), 0);
    EXPECT_EQ(hollow.surface.winding({0.1f, 0.02f, 0.03f}, d), 0);
    EXPECT_EQ(hollow.surface.winding({0.7f, 0.02f, 0.03f}, d), 1);
    EXPECT_EQ(turned.surface.winding({0.1f, 0.02f, 0.03f}, d), -1);
  }
}

/// How many of these rays wind otherwise than they should.
int cracks(const Posed& posed, const Vec3f& origin, const std::vector<Vec3f>& targets, int winding) {
  int wrong = 0;
  for (const Vec3f& target : targets) wrong += posed.surface.winding(origin, target - origin) != winding;
  return wrong;
}

std::vector<Vec3f> points_of_edges(const Posed& posed, Random& random) {
  std::vector<Vec3f> points;
  for (const Triangle& f : posed.mesh.triangles)
    for (std::size_t k = 0; k < 3; ++k) {
      const Vec3f &a = posed.positions[f[k]], &b = posed.positions[f[(k + 1) % 3]];
      points.push_back((a + b) / 2);
      points.push_back(a + random.number(0.01f, 0.99f) * (b - a));
    }
  return points;
}

/// A cube of side 2 whose faces are grids, so that rays along axes run through edges and corners exactly.
Mesh grid_cube(int cells) {
  Mesh mesh;
  std::map<std::array<int, 3>, std::uint32_t> numbers;
  const auto number = [&](const std::array<int, 3>& at) {
    const auto [place, is_new] = numbers.try_emplace(at, static_cast<std::uint32_t>(mesh.positions.size()));
    if (is_new)
      mesh.positions.push_back(
          Vec3f(static_cast<float>(at[0]), static_cast<float>(at[1]), static_cast<float>(at[2])) *
              (2.0f / static_cast<float>(cells)) -
          Vec3f::Ones());
    return place->second;
  };
  std::vector<Triangle> triangles;
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (const int level : {0, cells})
      for (int i = 0; i < cells; ++i)
        for (int j = 0; j < cells; ++j) {
          const auto corner = [&](int di, int dj) {
            std::array<int, 3> at{};
            at[axis] = level, at[(axis + 1) % 3] = i + di, at[(axis + 2) % 3] = j + dj;
            return number(at);
          };
          Triangle a{corner(0, 0), corner(1, 0), corner(1, 1)}, b{corner(0, 0), corner(1, 1), corner(0, 1)};
          if (level == 0) std::swap(a[1], a[2]), std::swap(b[1], b[2]);
          triangles.push_back(a), triangles.push_back(b);
        }
  return make_mesh(std::move(mesh.positions), triangles);
}

/// The same surface with its vertices numbered in any order.
Mesh renumbered(const Mesh& mesh, std::uint32_t seed) {
  std::vector<std::uint32_t> to(mesh.positions.size());
  for (std::uint32_t v = 0; v < to.size(); ++v) to[v] = v;
  std::shuffle(to.begin(), to.end(), std::mt19937(seed));
  std::vector<Vec3f> positions(to.size());
  for (std::size_t v = 0; v < to.size(); ++v) positions[to[v]] = mesh.positions[v];
  std::vector<Triangle> triangles;
  for (const Triangle& f : mesh.triangles) triangles.push_back({to[f[0]], to[f[1]], to[f[2]]});
  return make_mesh(std::move(positions), triangles);
}

TEST(PosedSurface, EdgesHaveNoCracks) {
  const Posed ball(renumbered(test::make_icosphere(2), 1));
  Random random(3);
  const std::vector<Vec3f> points = points_of_edges(ball, random);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(cracks(ball, 0.7f * random.number(0, 1) * random.direction(), points, 1), 0) << i;
    EXPECT_EQ(cracks(ball, random.number(1.1f, 50) * random.direction(), points, 0), 0) << i;
  }
  EXPECT_EQ(cracks(ball, Vec3f::Zero(), points, 1), 0);
}

TEST(PosedSurface, EdgesHaveNoCracksAlongAxes) {
  constexpr int kCells = 8;
  const Posed cube(renumbered(grid_cube(kCells), 2));
  Random random(4);
  for (int axis = 0; axis < 3; ++axis)
    for (const float way : {-1.0f, 1.0f}) {
      const Vec3f direction = way * Vec3f::Unit(axis);
      for (int i = 1; i < kCells; ++i) {
        // In the plane of edges, but at no corner.
        Vec3f at = Vec3f::Zero();
        at[(axis + 1) % 3] = 2 * static_cast<float>(i) / kCells - 1;
        at[(axis + 2) % 3] = random.number(-0.99f, 0.99f);
        if (i % 2 != 0) std::swap(at[(axis + 1) % 3], at[(axis + 2) % 3]);
        EXPECT_EQ(cube.surface.winding(at, direction), 1) << axis << ' ' << way << ' ' << i;
        EXPECT_EQ(cube.surface.winding(at - 3 * direction, direction), 0) << axis << ' ' << way << ' ' << i;
        EXPECT_EQ(cube.surface.winding(at + 3 * direction, direction), 0) << axis << ' ' << way << ' ' << i;
        EXPECT_EQ(cube.crossings(at - 3 * direction, direction).size(), 2u);
        // On diagonals.
        at[(axis + 1) % 3] = at[(axis + 2) % 3] = random.number(-0.99f, 0.99f);
        EXPECT_EQ(cube.surface.winding(at, direction), 1) << axis << ' ' << way << ' ' << i;
      }
    }
}

// Disabled, as the next one: where a ray meets a corner, ties told by numbers agree at each edge, but not
// round the corner; the fan counts it as often as numbers fall on the way round, which may be never or twice.
TEST(PosedSurface, CornersHaveNoCracks) {
  const Posed ball(renumbered(test::make_icosphere(2), 3));
  Random random(5);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(cracks(ball, 0.7f * random.number(0, 1) * random.direction(), ball.positions, 1), 0) << i;
    EXPECT_EQ(cracks(ball, random.number(1.1f, 50) * random.direction(), ball.positions, 0), 0) << i;
  }
  EXPECT_EQ(cracks(ball, Vec3f::Zero(), ball.positions, 1), 0);
}

TEST(PosedSurface, CornersHaveNoCracksAlongAxes) {
  constexpr int kCells = 8;
  const Posed cube(renumbered(grid_cube(kCells), 4));
  int wrong = 0;
  for (int axis = 0; axis < 3; ++axis)
    for (const float way : {-1.0f, 1.0f})
      for (int i = 1; i < kCells; ++i)
        for (int j = 1; j < kCells; ++j) {
          Vec3f at = Vec3f::Zero();
          at[(axis + 1) % 3] = 2 * static_cast<float>(i) / kCells - 1;
          at[(axis + 2) % 3] = 2 * static_cast<float>(j) / kCells - 1;
          const Vec3f direction = way * Vec3f::Unit(axis);
          wrong += cube.surface.winding(at, direction) != 1;
          wrong += cube.surface.winding(at - 3 * direction, direction) != 0;
        }
  EXPECT_EQ(wrong, 0);
}

TEST(PosedSurface, AnyDirectionFindsThatAPointIsInside) {
  const Posed ball(test::make_icosphere(3));
  Random random(6);
  for (int i = 0; i < 2000; ++i) {
    Vec3f direction = random.number(1e-3f, 1e3f) * random.direction();
    if (i % 4 == 1) direction[i / 4 % 3] = 0;
    if (i % 4 == 2) direction = (i % 8 == 2 ? 1.0f : -1.0f) * Vec3f::Unit(i / 8 % 3);
    const Vec3f origin = random.direction();
    ASSERT_EQ(ball.surface.winding(random.number(0, 0.95f) * origin, direction), 1) << i;
    ASSERT_EQ(ball.surface.winding(random.number(1.01f, 9) * origin, direction), 0) << i;
  }
}

TEST(PosedSurface, FollowsWhatMoves) {
  Posed ball(test::make_icosphere(2));
  const Vec3f far(50, -20, 7);
  EXPECT_EQ(ball.surface.winding(Vec3f::Zero(), Vec3f(1, 2, 3)), 1);
  EXPECT_EQ(ball.surface.winding(far, Vec3f(1, 2, 3)), 0);
  ball.move(test::moved(ball.mesh, far, 3).positions);
  EXPECT_EQ(ball.surface.positions().data(), ball.positions.data());
  EXPECT_EQ(ball.surface.winding(Vec3f::Zero(), Vec3f(1, 2, 3)), 0);
  EXPECT_EQ(ball.surface.winding(far, Vec3f(1, 2, 3)), 1);
  EXPECT_EQ(ball.crossings(Vec3f::Zero(), far).size(), 2u);
  // Every box holds what is under it, and the first holds all.
  const auto nodes = ball.tree.nodes();
  ASSERT_EQ(ball.surface.boxes().size(), nodes.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    Eigen::AlignedBox3f box;
    for (std::uint32_t t = nodes[n].begin; t < nodes[n].end; ++t)
      for (const std::uint32_t v : ball.tree.triangles()[t]) box.extend(ball.positions[v]);
    EXPECT_EQ(ball.surface.boxes()[n].low.head<3>(), box.min()) << n;
    EXPECT_EQ(ball.surface.boxes()[n].high.head<3>(), box.max()) << n;
  }
  ball.move(ball.mesh.positions);
  EXPECT_EQ(ball.surface.winding(Vec3f::Zero(), Vec3f(1, 2, 3)), 1);
  EXPECT_EQ(ball.surface.winding(far, Vec3f(1, 2, 3)), 0);
}

TEST(PosedSurface, WithoutTrianglesOrDirectionNothingIsCrossed) {
  const Posed nothing{Mesh()};
  EXPECT_TRUE(nothing.surface.boxes().empty());
  EXPECT_TRUE(nothing.crossings(Vec3f::Zero(), Vec3f::UnitX()).empty());
  EXPECT_EQ(nothing.surface.winding(Vec3f::Zero(), Vec3f::UnitX()), 0);
  const Posed cube(test::make_cube(2));
  const float nan = std::nanf("");
  EXPECT_TRUE(cube.crossings(Vec3f::Zero(), Vec3f::Zero()).empty());
  EXPECT_TRUE(cube.crossings({-1, 0, 0}, Vec3f::Zero(), -9, 9).empty());
  EXPECT_TRUE(cube.crossings(Vec3f::Zero(), {nan, 0, 0}).empty());
  EXPECT_TRUE(cube.crossings({nan, 0, 0}, {1, 0, 0}).empty());
}

TEST(PosedSurface, ABallSquashedFlatHoldsNothing) {
  Posed ball(renumbered(test::make_icosphere(2), 5));
  std::vector<Vec3f> flat = ball.mesh.positions;
  for (Vec3f& p : flat) p.z() = 0.25f;
  ball.move(flat);
  Random random(7);
  for (int i = 0; i < 300; ++i) {
    Vec3f origin = random.vector();
    if (i % 3 == 0) origin.z() = 0.25f;  // in its plane, and so are half of the rays
    Vec3f direction = random.direction();
    if (i % 6 == 0) direction.z() = 0;
    if (i % 3 != 0) {
      EXPECT_EQ(ball.surface.winding(origin, direction), 0) << i;
    }
    if (i % 6 == 0) {
      EXPECT_TRUE(ball.crossings(origin, direction).empty()) << i;
    }
  }
}

}  // namespace
}  // namespace sinew
