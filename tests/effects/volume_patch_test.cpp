#include <sinew/effects/volume_patch.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include <sinew/geometry/closed_surface.h>
#include "tests/reference/volume.h"
#include "tests/support/meshes.h"
#include "tests/support/sanitized.h"

namespace sinew {
namespace {

/// A closed surface with all that a patch asks for.
struct Surface {
  std::vector<Vec3d> points;
  std::vector<Triangle> triangles;
  Incidence incidence;
  std::vector<double> rest_area;

  Surface(std::vector<Vec3d> positions, std::vector<Triangle> faces)
      : points(std::move(positions)),
        triangles(std::move(faces)),
        incidence(vertex_incidence(points.size(), triangles)),
        rest_area(reference::vertex_areas(points, triangles)) {}
  explicit Surface(const Mesh& mesh) : Surface(positions_of(mesh), mesh.triangles) {}

  VolumePatch patch(std::span<const VolumePatch::Vertex> vertices) const {
    return {triangles, incidence, rest_area, vertices};
  }
  double volume(std::span<const Vec3d> at) const { return reference::signed_volume(at, triangles); }

  static std::vector<Vec3d> positions_of(const Mesh& mesh) {
    std::vector<Vec3d> positions;
    for (const Vec3f& p : mesh.positions) positions.push_back(p.cast<double>());
    return positions;
  }
};

/// Two tetrahedra with vertex 0 in common, or the edge 0, 3.
Surface joined_tetrahedra(bool along_an_edge) {
  std::vector<Triangle> triangles{{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};
  const std::vector<Triangle> second =
      along_an_edge ? std::vector<Triangle>{{0, 4, 3}, {0, 3, 5}, {0, 5, 4}, {3, 4, 5}}
                    : std::vector<Triangle>{{0, 4, 5}, {0, 6, 4}, {0, 5, 6}, {4, 6, 5}};
  triangles.insert(triangles.end(), second.begin(), second.end());
  std::vector<Vec3d> points{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {-1, 0, 0}, {0, -1, 0}};
  if (!along_an_edge) points.emplace_back(0, 0, -1);
  return {points, triangles};
}

/// A torus with holes, closed by fans.
Surface torn_torus() {
  const Mesh torus = test::make_torus(10, 7, 1, 0.4f);
  std::vector<Triangle> triangles = torus.triangles;
  triangles.erase(triangles.begin() + 40, triangles.begin() + 43);
  triangles.erase(triangles.begin() + 3);
  const ClosedSurface closed = close_surface(torus.positions.size(), triangles);
  std::vector<Vec3d> points;
  for (const Vec3f& p : closed.place(torus.positions)) points.push_back(p.cast<double>());
  return {points, closed.triangles};
}

std::vector<Surface> surfaces() {
  return {Surface(test::make_icosphere(2)),
          Surface(test::make_torus(10, 7, 1, 0.4f)),
          Surface(test::make_cube()),
          Surface(test::make_tube(8, 10, 0.3f, 2, true)),
          Surface(test::join(test::make_torus(10, 7), test::make_icosphere(1, 0.5f))),
          joined_tetrahedra(false),
          joined_tetrahedra(true),
          torn_torus()};
}

/// What a patch is asked for, at random.
struct Request {
  std::vector<VolumePatch::Vertex> vertices;
  std::vector<Vec3d> deformed;
  std::vector<float> free_motion;
  VolumeFrame frame;
  VolumeShares shares{};
  double loss = 0;

  Request(const Surface& surface, std::uint32_t seed) : deformed(surface.points) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> unit(-1, 1);
    const auto anywhere = [&](double size) {
      return Vec3d(size * unit(random), size * unit(random), size * unit(random));
    };
    for (Vec3d& p : deformed) p += anywhere(0.08);
    const std::uint32_t share_of_vertices = 1 + random() % 3;
    for (std::uint32_t v = 0; v < deformed.size(); ++v)
      if (random() % 3 < share_of_vertices) vertices.push_back({v, 0.05 + 0.95 * std::abs(unit(random))});
    if (vertices.empty()) vertices.push_back({0, 0.5});
    if (seed % 3 == 1)
      for (std::size_t v = 0; v < deformed.size(); ++v)
        free_motion.push_back(static_cast<float>(0.1 + 0.9 * std::abs(unit(random))));
    frame.origin = anywhere(0.5);
    frame.axes =
        Quatd(unit(random), unit(random), unit(random), unit(random)).normalized().toRotationMatrix();
    for (double& share : shares) share = std::abs(unit(random));
    if (seed % 4 == 0) shares[seed / 4 % 3] = 0;
    const double sum = shares[0] + shares[1] + shares[2];
    for (double& share : shares) share /= sum;
    loss = 0.1 * unit(random) * std::abs(surface.volume(surface.points));
  }
};

bool restore(const VolumePatch& patch, const Request& request, std::vector<Vec3d>& positions) {
  std::vector<double> scratch(patch.scratch_size(), std::nan(""));
  return patch.restore(request.loss, request.frame, request.shares, request.free_motion, scratch, positions);
}

const std::uint32_t kSeeds = test::kSanitized ? 12 : 36;

TEST(VolumePatch, ChangesTheVolumeByExactlyTheLoss) {
  for (const Surface& surface : surfaces())
    for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
      const Request request(surface, seed);
      const double before = surface.volume(request.deformed);
      std::vector<Vec3d> positions = request.deformed;
      ASSERT_TRUE(restore(surface.patch(request.vertices), request, positions)) << seed;
      EXPECT_NEAR(surface.volume(positions), before - request.loss, 1e-12 * std::abs(before))
          << surface.points.size() << " vertices, seed " << seed;
    }
}

TEST(VolumePatch, AgreesWithTheFormula) {
  for (const Surface& surface : surfaces())
    for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
      const Request request(surface, seed);
      std::vector<Vec3d> positions = request.deformed, expected = request.deformed;
      ASSERT_TRUE(restore(surface.patch(request.vertices), request, positions));
      reference::restore_volume(surface.triangles, surface.rest_area, request.vertices, request.loss,
                                request.frame, request.shares, request.free_motion, expected);
      for (std::size_t v = 0; v < positions.size(); ++v)
        ASSERT_LT((positions[v] - expected[v]).norm(), 1e-11 * (1 + expected[v].norm()))
            << surface.points.size() << " vertices, seed " << seed << ", vertex " << v;
    }
}

TEST(VolumePatch, MovesNothingElse) {
  for (const Surface& surface : surfaces()) {
    Request request(surface, 0);
    std::erase_if(request.vertices, [](const VolumePatch::Vertex& v) { return v.vertex % 2 == 1; });
    const VolumePatch patch = surface.patch(request.vertices);
    std::set<std::uint32_t> moving, round;
    for (const VolumePatch::Vertex& v : request.vertices) moving.insert(v.vertex);
    for (const Triangle& f : surface.triangles)
      if (moving.contains(f[0]) || moving.contains(f[1]) || moving.contains(f[2]))
        round.insert(f.begin(), f.end());
    for (const std::uint32_t v : moving) round.erase(v);
    EXPECT_TRUE(std::ranges::is_permutation(patch.vertices(), moving));
    EXPECT_TRUE(std::ranges::is_permutation(patch.halo(), round));
    std::vector<Vec3d> positions = request.deformed;
    ASSERT_TRUE(restore(patch, request, positions));
    for (std::uint32_t v = 0; v < positions.size(); ++v)
      EXPECT_EQ(positions[v] == request.deformed[v], !moving.contains(v)) << v;
  }
}

/// A flat box from the origin to (3, 2, 0.2): `columns` of the given widths, rows of 0.25. Vertex (i, j) of
/// the top is number j · (columns + 1) + i.
struct FlatBox {
  std::size_t columns, rows = 8;
  std::vector<Vec3d> points;
  std::vector<Triangle> triangles;

  explicit FlatBox(const std::vector<double>& widths) : columns(widths.size()) {
    for (const double z : {0.2, 0.0})
      for (std::size_t j = 0; j <= rows; ++j) {
        double x = 0;
        for (std::size_t i = 0; i <= columns; ++i) {
          points.emplace_back(x, 0.25 * static_cast<double>(j), z);
          if (i < columns) x += widths[i];
        }
      }
    const auto quad = [&](std::size_t a, std::size_t b, std::size_t c, std::size_t d) {
      const auto n = [](std::size_t v) { return static_cast<std::uint32_t>(v); };
      triangles.push_back({n(a), n(b), n(c)});
      triangles.push_back({n(a), n(c), n(d)});
    };
    const std::size_t low = (columns + 1) * (rows + 1);
    for (std::size_t j = 0; j < rows; ++j)
      for (std::size_t i = 0; i < columns; ++i) {
        const std::size_t a = top(i, j), b = top(i + 1, j), c = top(i + 1, j + 1), d = top(i, j + 1);
        quad(a, b, c, d);
        quad(low + a, low + d, low + c, low + b);
      }
    for (std::size_t i = 0; i < columns; ++i) {
      quad(low + top(i, 0), low + top(i + 1, 0), top(i + 1, 0), top(i, 0));
      quad(low + top(i + 1, rows), low + top(i, rows), top(i, rows), top(i + 1, rows));
    }
    for (std::size_t j = 0; j < rows; ++j) {
      quad(low + top(0, j + 1), low + top(0, j), top(0, j), top(0, j + 1));
      quad(low + top(columns, j), low + top(columns, j + 1), top(columns, j + 1), top(columns, j));
    }
  }
  std::size_t top(std::size_t i, std::size_t j) const { return j * (columns + 1) + i; }
  std::vector<VolumePatch::Vertex> inner_top() const {
    std::vector<VolumePatch::Vertex> vertices;
    for (std::size_t j = 1; j < rows; ++j)
      for (std::size_t i = 1; i < columns; ++i)
        vertices.push_back({static_cast<std::uint32_t>(top(i, j)), 0.7});
    return vertices;
  }
};

TEST(VolumePatch, AbilityIsWhatTheDerivativesAddUpTo) {
  for (const Surface& surface : surfaces())
    for (const std::uint32_t seed : {0u, 1u}) {
      const Request request(surface, seed);
      ASSERT_EQ(request.free_motion.empty(), seed == 0);
      double mean = 0, strength = 0, farthest = 0;
      for (const VolumePatch::Vertex& v : request.vertices)
        mean += surface.rest_area[v.vertex] / static_cast<double>(request.vertices.size());
      const std::vector<Vec3d> derivative = reference::volume_derivative(request.deformed, surface.triangles);
      for (const VolumePatch::Vertex& v : request.vertices) {
        const double free_motion = seed == 0 ? 1.0 : static_cast<double>(request.free_motion[v.vertex]);
        const double s = v.freedom * v.freedom * mean / surface.rest_area[v.vertex];
        strength += s * free_motion * free_motion * derivative[v.vertex].squaredNorm();
        farthest = std::max(farthest, s * free_motion * derivative[v.vertex].norm());
      }
      const VolumePatch::Ability ability =
          surface.patch(request.vertices).ability(request.deformed, request.free_motion);
      EXPECT_NEAR(ability.strength, strength, 1e-12 * strength);
      EXPECT_NEAR(ability.farthest, farthest, 1e-12 * farthest);
      EXPECT_EQ(surface.patch({}).ability(request.deformed, {}).strength, 0);
      EXPECT_EQ(VolumePatch().ability(request.deformed, {}).capacity(1), 0);
    }
}

TEST(VolumePatch, CapacityIsWhatItRestoresOnTheWay) {
  // Flat along z, so that restoring it goes along the normals.
  const FlatBox box(std::vector<double>(12, 0.25));
  const Surface surface(box.points, box.triangles);
  std::vector<VolumePatch::Vertex> vertices = box.inner_top();
  for (std::size_t i = 0; i < vertices.size(); ++i)
    vertices[i].freedom = 0.2 + 0.1 * static_cast<double>(i % 7);
  const VolumePatch patch = surface.patch(vertices);
  const double capacity = patch.ability(box.points, {}).capacity(0.03);
  std::vector<Vec3d> positions = box.points;
  std::vector<double> scratch(patch.scratch_size());
  ASSERT_TRUE(patch.restore(-capacity, {}, {0, 0, 1}, {}, scratch, positions));
  double farthest = 0;
  for (std::size_t v = 0; v < positions.size(); ++v)
    farthest = std::max(farthest, (positions[v] - box.points[v]).norm());
  EXPECT_NEAR(farthest, 0.03, 1e-12);
}

TEST(VolumePatch, TakesTheShortestWayAlongAnAxis) {
  const Surface surface(test::make_icosphere(2));
  Request request(surface, 7);
  request.shares = {1, 0, 0};
  request.frame = VolumeFrame();
  request.free_motion.clear();
  std::vector<Vec3d> positions = request.deformed;
  ASSERT_TRUE(restore(surface.patch(request.vertices), request, positions));
  const std::vector<Vec3d> derivative = reference::volume_derivative(request.deformed, surface.triangles);
  double mean = 0;
  for (const VolumePatch::Vertex& v : request.vertices)
    mean += surface.rest_area[v.vertex] / static_cast<double>(request.vertices.size());
  std::vector<double> way, slope, s;
  for (const VolumePatch::Vertex& v : request.vertices) {
    const Vec3d moved = positions[v.vertex] - request.deformed[v.vertex];
    EXPECT_LT(moved.tail<2>().norm(), 1e-15);
    way.push_back(moved.x());
    slope.push_back(derivative[v.vertex].x());
    s.push_back(v.freedom * v.freedom * mean / surface.rest_area[v.vertex]);
  }
  // Other ways that change the volume as much: what is added leads along the surface's slopes not at all.
  const auto length = [&](const std::vector<double>& steps) {
    double sum = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) sum += steps[i] * steps[i] / s[i];
    return sum;
  };
  std::mt19937 random(1);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (const double size : {1e-4, 1e-2, 1.0})
    for (int trial = 0; trial < 50; ++trial) {
      std::vector<double> other(way.size());
      double along = 0, squares = 0;
      for (std::size_t i = 0; i < other.size(); ++i) {
        other[i] = size * unit(random);
        along += other[i] * slope[i], squares += slope[i] * slope[i];
      }
      for (std::size_t i = 0; i < other.size(); ++i) other[i] += way[i] - along / squares * slope[i];
      EXPECT_GT(length(other), length(way)) << size;
    }
}

TEST(VolumePatch, MovesDenseAndCoarseMeshesAlike) {
  // Columns of 0.5 on the left, of 0.05 on the right.
  std::vector<double> widths(3, 0.5);
  widths.insert(widths.end(), 30, 0.05);
  const FlatBox box(widths);
  const Surface surface(box.points, box.triangles);
  ASSERT_NEAR(surface.volume(box.points), 3 * 2 * 0.2, 1e-12);
  for (const VolumeShares& shares : {VolumeShares{0, 0, 1}, VolumeShares{0.3, 0.3, 0.4}}) {
    std::vector<Vec3d> positions = box.points;
    const VolumePatch patch = surface.patch(box.inner_top());
    std::vector<double> scratch(patch.scratch_size());
    ASSERT_TRUE(patch.restore(-0.1, {}, shares, {}, scratch, positions));
    EXPECT_NEAR(surface.volume(positions), 1.3, 1e-12);
    const double way = positions[box.top(1, 1)].z() - 0.2;
    EXPECT_GT(way, 0.01);
    for (const std::uint32_t v : patch.vertices()) {
      EXPECT_NEAR(positions[v].z() - 0.2, way, 1e-12);
      // What has no area along x and y takes no part there: the way is up, whatever the shares.
      EXPECT_LT((positions[v] - box.points[v]).head<2>().norm(), 1e-12);
    }
  }
}

TEST(VolumePatch, TiltedAwayFromAnAxisItsWayNeverGetsLong) {
  const FlatBox box(std::vector<double>(12, 0.25));
  const Surface surface(box.points, box.triangles);
  const VolumePatch patch = surface.patch(box.inner_top());
  std::vector<double> scratch(patch.scratch_size());
  double before = 0;
  for (double tilt = 0; tilt < 1.5; tilt += tilt < 1e-3 ? 1e-4 : 1e-3) {
    VolumeFrame frame;
    frame.axes = Eigen::AngleAxisd(tilt, Vec3d::UnitY()).toRotationMatrix();
    std::vector<Vec3d> positions = box.points;
    ASSERT_TRUE(patch.restore(-0.01, frame, {1, 0, 0}, {}, scratch, positions));
    EXPECT_NEAR(surface.volume(positions), 1.21, 1e-12) << tilt;
    const double way = (positions[box.top(5, 4)] - box.points[box.top(5, 4)]).norm();
    EXPECT_LT(way, 8 * 0.01 / 5) << tilt;  // straight up it is about 0.01 / 5
    if (tilt > 0) {
      EXPECT_LT(std::abs(way - before), 0.12 * 0.01 / 5) << tilt;
    }
    before = way;
  }
}

TEST(VolumePatch, WithoutAreaDoesNothing) {
  const Surface surface(test::make_icosphere(1));
  Request request(surface, 2);
  const VolumePatch patch = surface.patch(request.vertices);
  std::vector<Vec3d> positions(surface.points.size(), Vec3d(0.1, 0.2, 0.3));
  const std::vector<Vec3d> point = positions;
  request.frame.origin = point[0];
  EXPECT_FALSE(restore(patch, request, positions));
  EXPECT_EQ(positions, point);

  positions = request.deformed;
  EXPECT_FALSE(restore(surface.patch({}), request, positions));
  EXPECT_FALSE(restore(VolumePatch(), request, positions));
  request.free_motion.assign(positions.size(), 0.0f);
  EXPECT_FALSE(restore(patch, request, positions));
  EXPECT_EQ(positions, request.deformed);

  // Without area at rest.
  const std::vector<double> none(surface.points.size(), 0.0);
  request.free_motion.clear();
  EXPECT_FALSE(restore({surface.triangles, surface.incidence, none, request.vertices}, request, positions));
  EXPECT_EQ(positions, request.deformed);
}

TEST(VolumePatch, LeavesPositionsThatAreNoNumbersAlone) {
  const Surface surface(test::make_icosphere(1));
  Request request(surface, 3);
  request.vertices = {{3, 1.0}, {9, 0.5}, {30, 1.0}};
  const VolumePatch patch = surface.patch(request.vertices);
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()})
    for (const std::uint32_t v : {patch.vertices()[1], patch.halo()[2]}) {
      std::vector<Vec3d> positions = request.deformed;
      positions[v].y() = bad;
      EXPECT_FALSE(restore(patch, request, positions)) << bad << " at vertex " << v;
      for (std::uint32_t other = 0; other < positions.size(); ++other)
        if (other != v) {
          EXPECT_EQ(positions[other], request.deformed[other]);
        }
    }
}

TEST(VolumePatch, LeavesPositionsAloneThatAreTooFarForNumbers) {
  const Surface surface(test::make_icosphere(1));
  const Request request(surface, 3);
  std::vector<Vec3d> huge = request.deformed;
  for (Vec3d& p : huge) p *= 1e100;
  std::vector<Vec3d> positions = huge;
  EXPECT_FALSE(restore(surface.patch(request.vertices), request, positions));
  EXPECT_EQ(positions, huge);
}

TEST(VolumePatch, RoomMultipliesFreedom) {
  const Surface surface(test::make_torus(10, 7, 1, 0.4f));
  Request request(surface, 1);
  ASSERT_FALSE(request.free_motion.empty());
  std::vector<Vec3d> with_room = request.deformed, less_free = request.deformed;
  ASSERT_TRUE(restore(surface.patch(request.vertices), request, with_room));
  std::vector<VolumePatch::Vertex> vertices = request.vertices;
  for (VolumePatch::Vertex& v : vertices) v.freedom *= static_cast<double>(request.free_motion[v.vertex]);
  Request roomless = request;
  roomless.free_motion.clear();
  ASSERT_TRUE(restore(surface.patch(vertices), roomless, less_free));
  for (std::size_t v = 0; v < with_room.size(); ++v)
    EXPECT_LT((with_room[v] - less_free[v]).norm(), 1e-13) << v;

  // Without any a vertex stays, and the others make up for it.
  for (std::size_t v = 0; v < request.free_motion.size(); v += 2) request.free_motion[v] = 0;
  std::vector<Vec3d> positions = request.deformed;
  ASSERT_TRUE(restore(surface.patch(request.vertices), request, positions));
  for (std::size_t v = 0; v < positions.size(); v += 2)
    EXPECT_LT((positions[v] - request.deformed[v]).norm(), 1e-15) << v;
  EXPECT_NEAR(surface.volume(positions), surface.volume(request.deformed) - request.loss, 1e-13);
}

TEST(VolumePatch, MovesWithTheWorld) {
  for (const Surface& surface : surfaces()) {
    const Request request(surface, 11);
    const VolumePatch patch = surface.patch(request.vertices);
    std::vector<Vec3d> here = request.deformed;
    ASSERT_TRUE(restore(patch, request, here));
    const Mat3d turn = Eigen::AngleAxisd(1.1, Vec3d(3, -1, 1).normalized()).toRotationMatrix();
    const Vec3d shift(3, -1, 2);
    Request moved = request;
    moved.frame.origin = turn * request.frame.origin + shift;
    moved.frame.axes = turn * request.frame.axes;
    for (Vec3d& p : moved.deformed) p = turn * p + shift;
    std::vector<Vec3d> there = moved.deformed;
    ASSERT_TRUE(restore(patch, moved, there));
    for (std::size_t v = 0; v < here.size(); ++v)
      EXPECT_LT((there[v] - (turn * here[v] + shift)).norm(), 1e-12) << v;
  }
}

TEST(VolumePatch, TinyTrianglesCountAsAHundredthOfTheMean) {
  // A vertex of nearly no area must not be thrown about.
  std::vector<double> widths(8, 0.3);
  widths[3] = widths[4] = 1e-6;
  const FlatBox box(widths);
  const Surface surface(box.points, box.triangles);
  const std::vector<VolumePatch::Vertex> vertices = box.inner_top();
  const VolumePatch patch = surface.patch(vertices);
  std::vector<double> scratch(patch.scratch_size());
  std::vector<Vec3d> positions = box.points, expected = box.points;
  ASSERT_TRUE(patch.restore(-0.05, {}, {0, 0, 1}, {}, scratch, positions));
  reference::restore_volume(surface.triangles, surface.rest_area, vertices, -0.05, {}, {0, 0, 1}, {},
                            expected);
  for (const std::uint32_t v : patch.vertices()) EXPECT_LT((positions[v] - expected[v]).norm(), 1e-13);
  EXPECT_LT(positions[box.top(4, 4)].z() - 0.2, 0.01 * (positions[box.top(1, 4)].z() - 0.2));
}

TEST(VolumePatch, KnowingItsStrengthChangesNothing) {
  std::size_t spared = 0;
  for (const Surface& surface : surfaces())
    for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
      const Request request(surface, seed);
      const VolumePatch patch = surface.patch(request.vertices);
      std::vector<Vec3d> careful = request.deformed, quick = request.deformed;
      ASSERT_TRUE(restore(patch, request, careful));
      std::vector<double> scratch(patch.scratch_size());
      const double usual = patch.ability(surface.points, {}).strength;
      ASSERT_TRUE(patch.restore(request.loss, request.frame, request.shares, request.free_motion, scratch,
                                quick, usual));
      for (std::size_t v = 0; v < quick.size(); ++v) ASSERT_LT((quick[v] - careful[v]).norm(), 1e-12) << seed;
      // Where no axis is weak nor stronger than all were at rest it did without a look at them.
      if (!request.free_motion.empty()) continue;
      const std::vector<Vec3d> derivative = reference::volume_derivative(request.deformed, surface.triangles);
      double mean = 0;
      for (const VolumePatch::Vertex& v : request.vertices)
        mean += surface.rest_area[v.vertex] / static_cast<double>(request.vertices.size());
      Vec3d strengths = Vec3d::Zero();
      for (const VolumePatch::Vertex& v : request.vertices)
        strengths += v.freedom * v.freedom * mean / surface.rest_area[v.vertex] *
                     (request.frame.axes.transpose() * derivative[v.vertex]).cwiseAbs2();
      spared += strengths.minCoeff() > 0.1 * usual && strengths.maxCoeff() < 0.9 * usual;
    }
  EXPECT_GT(spared, 20u);
}

TEST(VolumePatch, FramesMayBeMirrored) {
  const Surface surface(test::make_icosphere(2));
  Request request(surface, 2);
  request.frame.axes.col(1) *= -1;
  const double before = surface.volume(request.deformed);
  std::vector<Vec3d> positions = request.deformed;
  ASSERT_TRUE(restore(surface.patch(request.vertices), request, positions));
  EXPECT_NEAR(surface.volume(positions), before - request.loss, 1e-12 * before);
}

TEST(VolumePatch, WhatHasAllButVanishedStays) {
  const Surface surface(test::make_icosphere(2));
  Request request(surface, 2);
  const VolumePatch patch = surface.patch(request.vertices);
  for (const double size : {1e-3, 1e-9, 1e-79, 1e-200}) {
    std::vector<Vec3d> tiny = request.deformed;
    for (Vec3d& p : tiny) p *= size;
    std::vector<Vec3d> positions = tiny;
    request.loss = -4;
    EXPECT_FALSE(restore(patch, request, positions)) << size;
    EXPECT_EQ(positions, tiny);
  }
}

TEST(VolumePatch, LossesAndSharesThatAreNoNumbersAreRefused) {
  const Surface surface(test::make_icosphere(1));
  const Request good(surface, 2);
  const VolumePatch patch = surface.patch(good.vertices);
  Request request = good;
  request.loss = std::nan("");
  std::vector<Vec3d> positions = request.deformed;
  EXPECT_FALSE(restore(patch, request, positions));
  request = good;
  request.shares[1] = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(restore(patch, request, positions));
  EXPECT_EQ(positions, good.deformed);
}

}  // namespace
}  // namespace sinew
