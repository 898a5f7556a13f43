// Every figure against surfaces whose answer is known in closed form.
#include <sinew/measure/surface_ruler.h>

#include <cmath>
#include <limits>
#include <map>
#include <numbers>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/geometry/closed_surface.h>
#include <sinew/geometry/intersections.h>
#include <sinew/geometry/volume.h>

#include "tests/support/meshes.h"
#include "tests/support/sanitized.h"

namespace sinew {
namespace {

constexpr double kPi = std::numbers::pi;

Affine3d some_motion() {
  Affine3d motion = Affine3d::Identity();
  motion.rotate(Eigen::AngleAxisd(1.1, Vec3d(1, 2, -0.5).normalized()));
  motion.pretranslate(Vec3d(0.3, -2, 5));
  return motion;
}

std::vector<Vec3f> transformed(std::span<const Vec3f> positions, const Affine3d& transform) {
  std::vector<Vec3f> result;
  for (const Vec3f& p : positions) result.push_back((transform * p.cast<double>()).cast<float>());
  return result;
}

/// Two meshes in one, the second one far away at rest. frame() brings it to where it is wanted.
class Two {
 public:
  Two(const Mesh& a, const Mesh& b)
      : first_count_(a.positions.size()), rest_(test::join(a, test::moved(b, {0, 0, 50}))) {}

  const Mesh& rest() const { return rest_; }
  std::vector<Vec3f> frame(const Vec3f& shift) const {
    std::vector<Vec3f> positions = rest_.positions;
    for (std::size_t v = first_count_; v < positions.size(); ++v) positions[v] += shift - Vec3f(0, 0, 50);
    return positions;
  }
  /// Joins both into one part by two triangles that lie on each other and so enclose nothing.
  void bridge() {
    const auto a = std::uint32_t{0}, b = std::uint32_t{1}, c = static_cast<std::uint32_t>(first_count_);
    std::vector<Triangle> triangles = rest_.triangles;
    triangles.push_back({a, b, c});
    triangles.push_back({a, c, b});
    rest_ = make_mesh(rest_.positions, triangles);
  }

 private:
  std::size_t first_count_;
  Mesh rest_;
};

void expect_all_finite(const SurfaceMeasurements& m) {
  for (const double value :
       {m.depth.largest, m.depth.mean, m.depth.largest_share_of_limb, m.depth.mean_share_of_limb,
        m.overlap.within_parts, m.overlap.between_parts, m.new_overlap_volume, m.volume, m.volume_ratio,
        m.area_stretch.largest, m.area_stretch.smallest, m.area_stretch.rms, m.edge_stretch.largest,
        m.edge_stretch.smallest, m.edge_stretch.rms})
    EXPECT_TRUE(std::isfinite(value));
}

void expect_nothing_happened(const SurfaceMeasurements& m, double rounding = 1e-5) {
  EXPECT_EQ(m.new_intersecting_pairs, 0u);
  EXPECT_EQ(m.new_buried_vertices, 0u);
  EXPECT_EQ(m.depth.largest, 0);
  EXPECT_EQ(m.depth.mean_share_of_limb, 0);
  EXPECT_NEAR(m.new_overlap_volume, 0, rounding);
  EXPECT_NEAR(m.volume_ratio, 1, rounding);
  for (const Stretch& stretch : {m.area_stretch, m.edge_stretch}) {
    EXPECT_NEAR(stretch.largest, 0, 10 * rounding);
    EXPECT_NEAR(stretch.smallest, 0, 10 * rounding);
    EXPECT_NEAR(stretch.rms, 0, rounding);
  }
  EXPECT_EQ(m.flipped_triangles, 0u);
  EXPECT_EQ(m.degenerate_triangles, 0u);
}

SkinWeights all_on_bone_zero(std::size_t vertices) {
  SkinWeights weights;
  for (std::size_t v = 0; v < vertices; ++v) {
    weights.joints.push_back(0);
    weights.values.push_back(1);
    weights.starts.push_back(static_cast<std::uint32_t>(v + 1));
  }
  return weights;
}

// Overlap ------------------------------------------------------------------------------------------------

double lens_volume(double r, double d) {
  return kPi * (4 * r + d) * (2 * r - d) * (2 * r - d) / 12;
}

TEST(SurfaceRuler, OverlappingSpheresHaveTheLensesVolume) {
  if (test::kSanitized) GTEST_SKIP() << "too slow here";
  const Mesh sphere = test::make_icosphere(4);
  // The mesh lies inside the sphere it stands for: one of the same volume is the fair comparison.
  const double r = std::cbrt(enclosed_volume(sphere.view()) * 3 / (4 * kPi));
  const Two two(sphere, sphere);
  const SurfaceRuler ruler(two.rest().view());
  for (const double d : {0.3, 1.0, 1.5, 1.8}) {
    const Vec3f shift = static_cast<float>(d) * Vec3f(0.36f, 0.48f, 0.8f);
    const SurfaceMeasurements frame = ruler.measure(two.frame(shift));
    const double expected = lens_volume(r, d);
    EXPECT_NEAR(frame.overlap.total() / expected, 1, d < 1.6 ? 0.003 : 0.02) << d;
    EXPECT_EQ(frame.overlap.within_parts, 0) << d;
    EXPECT_NEAR(frame.new_overlap_volume, frame.overlap.total(), 1e-12) << d;
    EXPECT_GT(frame.new_intersecting_pairs, 50u) << d;
  }
  const SurfaceMeasurements apart = ruler.measure(two.frame({2.01f, 0, 0}));
  EXPECT_EQ(apart.overlap.total(), 0);
  EXPECT_EQ(apart.buried_vertices, 0u);
}

/// A box on a grid of n × n quads per face, each vertex once.
Mesh gridded_box(const Vec3f& low, const Vec3f& high, int n) {
  std::vector<Vec3f> positions;
  std::map<std::array<int, 3>, std::uint32_t> numbers;
  const auto vertex = [&](const std::array<int, 3>& at) {
    const auto [entry, fresh] = numbers.try_emplace(at, static_cast<std::uint32_t>(positions.size()));
    if (fresh) {
      const Vec3f share(static_cast<float>(at[0]), static_cast<float>(at[1]), static_cast<float>(at[2]));
      positions.push_back(low + (high - low).cwiseProduct(share / static_cast<float>(n)));
    }
    return entry->second;
  };
  Polygons polygons;
  for (int axis = 0; axis < 3; ++axis)
    for (const int side : {0, n})
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
          const auto corner = [&](int di, int dj) {
            std::array<int, 3> at{};
            at[to_size(axis)] = side;
            at[to_size((axis + 1) % 3)] = i + di;
            at[to_size((axis + 2) % 3)] = j + dj;
            return vertex(at);
          };
          std::array<std::uint32_t, 4> quad{corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)};
          if (side == 0) std::reverse(quad.begin(), quad.end());
          polygons.add(quad);
        }
  return make_mesh(std::move(positions), std::move(polygons));
}

/// One vertex where several lie at the same place.
Mesh welded(const Mesh& mesh) {
  std::map<std::array<float, 3>, std::uint32_t> numbers;
  std::vector<Vec3f> positions;
  std::vector<Triangle> triangles;
  for (const Triangle& f : mesh.triangles) {
    triangles.emplace_back();
    for (std::size_t k = 0; k < 3; ++k) {
      const Vec3f& p = mesh.positions[f[k]];
      const auto [entry, fresh] =
          numbers.try_emplace({p.x(), p.y(), p.z()}, static_cast<std::uint32_t>(positions.size()));
      if (fresh) positions.push_back(p);
      triangles.back()[k] = entry->second;
    }
  }
  return make_mesh(positions, triangles);
}

// Boxes on one grid cross along edges of both: no two triangles intersect in the strict sense.

TEST(SurfaceRuler, BoxesThatCrossExactlyAlongEdges) {
  for (const int n : {2, 4}) {
    const Two two(gridded_box({0, 0, 0}, {2, 2, 2}, n), gridded_box({0, 0, 0}, {2, 2, 2}, n));
    const SurfaceRuler ruler(two.rest().view());
    const SurfaceMeasurements frame = ruler.measure(two.frame({1, 1, 1}));
    EXPECT_EQ(frame.intersecting_pairs, 0u) << n;
    EXPECT_NEAR(frame.overlap.total(), 1, 0.01) << n;
    // Of each box the corner, and with four cells all on the three faces with coordinates beyond the middle.
    EXPECT_EQ(frame.new_buried_vertices, n == 2 ? 2u : 14u) << n;
    EXPECT_NEAR(frame.depth.largest, 1, 1e-5) << n;
    // Beside each other they only touch: the other lies over what is inside the common part of two faces.
    const SurfaceMeasurements beside = ruler.measure(two.frame({2, 1, 1}));
    EXPECT_NEAR(beside.overlap.total(), 0, 1e-12) << n;
    EXPECT_EQ(beside.buried_vertices, n == 2 ? 0u : 2u) << n;
  }
}

TEST(SurfaceRuler, WeldedBoxesThatCrossExactlyAlongEdges) {
  for (const int n : {2, 4}) {
    const Mesh boxes = test::join(gridded_box({0, 0, 0}, {2, 2, 2}, n), gridded_box({1, 1, 1}, {3, 3, 3}, n));
    const SurfaceRuler apart(boxes.view()), together(welded(boxes).view());
    EXPECT_LT(together.used_vertices().size(), boxes.positions.size());
    EXPECT_EQ(together.rest().parts, 1u);
    EXPECT_NEAR(apart.rest().overlap.between_parts, 1, 0.01) << n;
    EXPECT_NEAR(together.rest().overlap.within_parts, 1, 0.01) << n;
    EXPECT_EQ(together.rest().buried_vertices, n == 2 ? 2u : 14u) << n;
  }
}

TEST(SurfaceRuler, BoxesThatCrossAlongEdgesInPart) {
  // Lines of contact along edges with no vertices in common, others through triangles.
  for (const float shift : {0.3f, 0.75f}) {
    const Two two(gridded_box({0, 0, 0}, {2, 2, 2}, 8), gridded_box({0, 0, 0}, {2, 2, 2}, 4));
    const SurfaceRuler ruler(two.rest().view());
    const std::vector<Vec3f> positions = two.frame({1, shift, 1});
    const SurfaceMeasurements frame = ruler.measure(positions);
    EXPECT_NEAR(frame.overlap.total() / (2 - shift), 1, 0.01) << shift;
    std::size_t expected = 0;
    const std::size_t first_count = gridded_box({0, 0, 0}, {2, 2, 2}, 8).positions.size();
    const Vec3f low(1, shift, 1);
    for (std::size_t v = 0; v < positions.size(); ++v) {
      const Vec3f from = positions[v] - (v < first_count ? low : Vec3f(0, 0, 0));
      expected += (from.array() > 1e-4f).all() && (from.array() < 2 - 1e-4f).all();
    }
    EXPECT_GT(expected, 30u);
    EXPECT_EQ(frame.new_buried_vertices, expected) << shift;
  }
}

TEST(SurfaceRuler, ManySmallRegions) {
  // Pairs of small tetrahedra that overlap, each pair a region of its own.
  const Mesh tetrahedron = make_mesh({{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
                                     std::vector<Triangle>{{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {0, 3, 2}});
  std::vector<Vec3f> positions;
  std::vector<Triangle> triangles;
  const int count = test::kSanitized ? 200 : 4000;
  for (int i = 0; i < count; ++i)
    for (const Vec3f& shift : {Vec3f(0, 0, 0), Vec3f(0.21f, 0.23f, 0.17f)}) {
      const auto first = static_cast<std::uint32_t>(positions.size());
      const Vec3f place(static_cast<float>(i % 20) * 3, static_cast<float>(i / 20) * 3, 0);
      for (const Vec3f& p : tetrahedron.positions) positions.push_back(p + place + shift);
      for (const Triangle& f : tetrahedron.triangles)
        triangles.push_back({f[0] + first, f[1] + first, f[2] + first});
    }
  const double side = 1 - 0.21 - 0.23 - 0.17;
  const SurfaceRuler ruler({positions, triangles});
  EXPECT_NEAR(ruler.rest().overlap.total() / (count * side * side * side / 6), 1, 0.01);
}

TEST(SurfaceRuler, OverlappingCubes) {
  const Two two(test::make_cube(), test::make_cube());
  const SurfaceRuler ruler(two.rest().view());
  const Vec3f shift(1.1f, 0.6f, -0.3f);
  const double expected = (2 - 1.1) * (2 - 0.6) * (2 - 0.3);
  const std::vector<Vec3f> frame = two.frame(shift);
  EXPECT_NEAR(ruler.measure(frame).overlap.total() / expected, 1, 0.01);
  EXPECT_NEAR(ruler.measure(transformed(frame, some_motion())).overlap.total() / expected, 1, 0.01);
}

TEST(SurfaceRuler, APartThatFoldsIntoItselfOverlapsWithin) {
  Two two(test::make_cube(), test::make_cube());
  two.bridge();
  const SurfaceRuler ruler(two.rest().view());
  EXPECT_EQ(ruler.rest().parts, 1u);
  const SurfaceMeasurements frame = ruler.measure(two.frame({1.1f, 0.6f, -0.3f}));
  EXPECT_NEAR(frame.overlap.within_parts / (0.9 * 1.4 * 1.7), 1, 0.01);
  EXPECT_EQ(frame.overlap.between_parts, 0);
}

TEST(SurfaceRuler, RegionsBehindEachOtherCountOnce) {
  if (test::kSanitized) GTEST_SKIP() << "too slow here";
  // Seen along x, where each lens is thinnest, both small spheres stand in one line.
  const Mesh small = test::moved(test::make_icosphere(3), {0, 0, 0}, 0.3f);
  const Mesh ends = test::join(test::moved(small, {1.1f, 0, 0}), test::moved(small, {-1.1f, 0.05f, 0}));
  const Two two(test::make_icosphere(5), ends);
  const SurfaceRuler ruler(two.rest().view());
  // Two caps make a lens: of the small sphere inside the big one, and of the big one inside the small.
  const double big_r = 1, small_r = 0.3, d = 1.1;
  const auto lens = [&](double away) {
    const double sum = big_r + small_r - away;
    return kPi * sum * sum *
           (away * away + 2 * away * (big_r + small_r) - 3 * (big_r - small_r) * (big_r - small_r)) /
           (12 * away);
  };
  const double expected = lens(d) + lens(std::hypot(1.1, 0.05));
  EXPECT_NEAR(ruler.measure(two.frame({0, 0, 0})).overlap.total() / expected, 1, 0.03);
}

TEST(SurfaceRuler, PairsOfTheRestAreNotNew) {
  const Mesh cubes = test::join(test::make_cube(), test::moved(test::make_cube(), {1.1f, 0.6f, -0.3f}));
  const Two two(cubes, test::make_cube());
  const SurfaceRuler ruler(two.rest().view());
  const std::size_t at_rest = ruler.rest().intersecting_pairs;
  EXPECT_GT(at_rest, 5u);
  EXPECT_EQ(ruler.measure(two.rest().positions).intersecting_pairs, at_rest);
  expect_nothing_happened(ruler.measure(two.rest().positions));
  const SurfaceMeasurements frame = ruler.measure(two.frame({-1.3f, 0.7f, 0.2f}));
  EXPECT_GT(frame.new_intersecting_pairs, 5u);
  EXPECT_EQ(frame.intersecting_pairs, at_rest + frame.new_intersecting_pairs);
}

TEST(SurfaceRuler, FansAreNoPartOfPairs) {
  // An open tube shaken so that its triangles cut each other and the fans over its ends.
  const Mesh tube = test::make_tube(12, 6, 0.1f, 0.3f);
  const SurfaceRuler ruler(tube.view());
  std::vector<Vec3f> positions = tube.positions;
  for (std::size_t v = 0; v < positions.size(); ++v)
    positions[v] +=
        0.08f * Vec3f(std::sin(7.1f * static_cast<float>(v)), std::cos(5.3f * static_cast<float>(v)),
                      std::sin(3.7f * static_cast<float>(v)));
  const std::size_t expected = self_intersections({positions, tube.triangles}).size();
  const ClosedSurface closed = close_surface(positions.size(), tube.triangles);
  EXPECT_GT(expected, 10u);
  EXPECT_GT(self_intersections({closed.place(positions), closed.triangles}).size(), expected + 5);
  EXPECT_EQ(ruler.measure(positions).intersecting_pairs, expected);
}

TEST(SurfaceRuler, ThreefoldOverlapCountsTwice) {
  const Mesh cube = test::make_cube();
  const Mesh three =
      test::join(test::join(cube, test::moved(cube, {0, 0, 50})), test::moved(cube, {0, 50, 0}));
  const SurfaceRuler ruler(three.view());
  std::vector<Vec3f> positions = three.positions;
  for (std::size_t v = 8; v < 16; ++v) positions[v] += Vec3f(0.2f, 0.1f, -50);
  for (std::size_t v = 16; v < 24; ++v) positions[v] += Vec3f(0.4f, -50, 0.3f);
  // ∫ max(w - 1, 0): all pairs' overlaps less that of all three.
  const auto box = [](double x, double y, double z) { return (2 - x) * (2 - y) * (2 - z); };
  const double expected = box(0.2, 0.1, 0) + box(0.4, 0, 0.3) + box(0.2, 0.1, 0.3) - box(0.4, 0.1, 0.3);
  EXPECT_NEAR(ruler.measure(positions).overlap.total() / expected, 1, 0.01);
}

TEST(SurfaceRuler, OverlapOfAPartInsideAnotherIsTheRestsNotNew) {
  const Mesh head_with_eyes =
      test::join(test::make_icosphere(4), test::moved(test::make_icosphere(3), {0, 0.1f, 0.5f}, 0.2f));
  const SurfaceRuler ruler(head_with_eyes.view());
  const double eye = enclosed_volume(test::make_icosphere(3, 0.2f).view());
  EXPECT_EQ(ruler.rest().parts, 2u);
  EXPECT_EQ(ruler.rest().buried_vertices, 642u);
  EXPECT_NEAR(ruler.rest().overlap.between_parts / eye, 1, 0.003);
  const SurfaceMeasurements turned = ruler.measure(transformed(head_with_eyes.positions, some_motion()));
  EXPECT_EQ(turned.buried_vertices, 642u);
  EXPECT_EQ(turned.new_buried_vertices, 0u);
  EXPECT_LT(turned.new_overlap_volume, 0.003 * eye);
}

// A slab of two wavy sheets, 1 × 1, `height` thick.
Mesh make_slab(int cells, float height, float wave) {
  const Mesh top = test::make_grid(cells, cells);
  std::vector<Vec3f> positions;
  std::vector<Triangle> triangles;
  const auto lower = static_cast<std::uint32_t>(top.positions.size());
  const auto ripple = [&](const Vec3f& p) {
    return wave * std::sin(40 * p.x() + 0.3f) * std::sin(37 * p.y());
  };
  for (const Vec3f& p : top.positions) positions.push_back(p + Vec3f(0, 0, height + ripple(p)));
  for (const Vec3f& p : top.positions) positions.push_back(p + Vec3f(0, 0, ripple(p)));
  for (const Triangle& f : top.triangles) {
    triangles.push_back(f);
    triangles.push_back({f[0] + lower, f[2] + lower, f[1] + lower});
  }
  const auto side = [&](std::uint32_t a, std::uint32_t b) {
    triangles.push_back({a, a + lower, b + lower});
    triangles.push_back({a, b + lower, b});
  };
  const auto n = static_cast<std::uint32_t>(cells), row = n + 1;
  for (std::uint32_t i = 0; i < n; ++i) {
    side(i, i + 1);
    side(n * row + i + 1, n * row + i);
    side((i + 1) * row, i * row);
    side(i * row + n, (i + 1) * row + n);
  }
  return make_mesh(positions, triangles);
}

TEST(SurfaceRuler, SheetsThatTouchHaveMorePairsAndLessOverlapThanSheetsThatPierce) {
  if (test::kSanitized) GTEST_SKIP() << "too slow here";
  const Mesh slab = make_slab(40, 0.3f, 0.002f);
  // Turned a little, so that the ripples of both do not fit into each other.
  std::vector<Vec3f> other;
  for (const Vec3f& p : slab.positions) other.push_back(Vec3f(1.05f - p.y(), p.x() + 0.03f, p.z()));
  const Two two(slab, make_mesh(other, slab.triangles));
  const SurfaceRuler ruler(two.rest().view());
  EXPECT_EQ(ruler.rest().open_borders, 0u);
  const SurfaceMeasurements touching = ruler.measure(two.frame({0, 0, 0.299f}));
  const SurfaceMeasurements piercing = ruler.measure(two.frame({0, 0, 0.28f}));
  EXPECT_GT(touching.new_intersecting_pairs, 3 * piercing.new_intersecting_pairs);
  EXPECT_GT(piercing.new_overlap_volume, 5 * touching.new_overlap_volume);
  EXPECT_NEAR(piercing.new_overlap_volume, 0.02 * 0.95 * 0.97, 0.0005);
  EXPECT_GT(touching.new_overlap_volume, 0);
}

// Burial and depth ---------------------------------------------------------------------------------------

TEST(SurfaceRuler, BuriedAreTheVerticesInsideTheOtherBody) {
  const Mesh sphere = test::make_icosphere(4);
  const Two two(sphere, sphere);
  const SurfaceRuler ruler(two.rest().view());
  const std::vector<Vec3f> frame = two.frame({1.2f, 0, 0});
  std::size_t expected = 0;
  for (std::size_t v = 0; v < frame.size(); ++v) {
    const Vec3f centre = v < sphere.positions.size() ? Vec3f(1.2f, 0, 0) : Vec3f(0, 0, 0);
    expected += (frame[v] - centre).norm() < 0.999f;
  }
  const SurfaceMeasurements measured = ruler.measure(frame);
  EXPECT_GT(expected, 500u);
  EXPECT_NEAR(static_cast<double>(measured.new_buried_vertices), static_cast<double>(expected),
              0.01 * static_cast<double>(expected));
}

TEST(SurfaceRuler, BuriedTwiceIsNewWhereOnceIsRest) {
  // The eye in the head stands in a box at rest; then a second box comes over it.
  const Mesh nested = test::join(test::make_cube(2), test::make_icosphere(2, 0.3f));
  const Two two(nested, test::make_cube(1.5f));
  const SurfaceRuler ruler(two.rest().view());
  EXPECT_EQ(ruler.rest().buried_vertices, 162u);
  const SurfaceMeasurements frame = ruler.measure(two.frame({0, 0, 0}));
  EXPECT_EQ(frame.buried_vertices, 162u + 8u);
  EXPECT_EQ(frame.new_buried_vertices, 162u + 8u);
}

TEST(SurfaceRuler, DepthOfASphereSunkIntoAnother) {
  if (test::kSanitized) GTEST_SKIP() << "too slow here";
  const double big = 1, small = 0.2;
  const Two two(test::make_icosphere(5), test::make_icosphere(3, 0.2f));
  const SurfaceRuler ruler(two.rest().view());
  // Wholly inside: depths run from big - |shift| - small to big - |shift| + small.
  const SurfaceMeasurements sunk = ruler.measure(two.frame({0.3f, 0, 0}));
  EXPECT_EQ(sunk.new_buried_vertices, 642u);
  EXPECT_NEAR(sunk.depth.largest, big - 0.3 + small, 0.01);
  // Mean over a sphere of |c + s u|: c + s²/(3c), outside of it.
  EXPECT_NEAR(sunk.depth.mean, big - (0.3 + small * small / (3 * 0.3)), 0.01);
  // Limb radius of the small sphere is about 0.9 of its own.
  EXPECT_NEAR(sunk.depth.largest_share_of_limb, sunk.depth.largest / (0.91 * small), 0.5);
}

TEST(SurfaceRuler, DepthOfEqualSpheresReachesTheRim) {
  if (test::kSanitized) GTEST_SKIP() << "too slow here";
  const Mesh sphere = test::make_icosphere(4);
  const Two two(sphere, sphere);
  const SurfaceRuler ruler(two.rest().view());
  for (const double d : {1.2, 1.6, 1.9}) {
    // The caps bury each other: from a pole it is as far to the rim, where they cut.
    const double half = d / 2, rim = std::sqrt(1 - half * half), pole = 1 - half;
    const SurfaceMeasurements frame = ruler.measure(two.frame({static_cast<float>(d), 0, 0}));
    EXPECT_NEAR(frame.depth.largest / std::hypot(rim, pole), 1, 0.03) << d;
    EXPECT_LT(frame.depth.mean, 0.6 * frame.depth.largest) << d;
    EXPECT_GT(frame.depth.mean, 0.2 * frame.depth.largest) << d;
  }
}

TEST(SurfaceRuler, MeanDepthOfEqualSpheres) {
  const Mesh sphere = test::make_icosphere(3);
  const Two two(sphere, sphere);
  const SurfaceRuler ruler(two.rest().view());
  const double d = 1.6;
  // A cap's point at the angle a from its pole is 2 sin((rim - a) / 2) from the rim; mean over the cap's
  // area.
  const double rim = std::acos(d / 2);
  const int steps = 1000;
  double sum = 0, area = 0;
  for (int i = 0; i < steps; ++i) {
    const double a = (i + 0.5) / steps * rim;
    sum += std::sin(a) * 2 * std::sin((rim - a) / 2);
    area += std::sin(a);
  }
  double measured = 0;
  const int turns = 8;
  for (int i = 0; i < turns; ++i) {
    const double turn = 0.37 * i;
    const Vec3d towards(std::cos(turn), std::sin(turn) * 0.8, std::sin(turn) * 0.6);
    measured += ruler.measure(two.frame((d * towards).cast<float>())).depth.mean / turns;
  }
  EXPECT_NEAR(measured / (sum / area), 1, 0.04);
}

TEST(SurfaceRuler, ShallowDepthDoesNotGrowWithTheTriangles) {
  // A corner of a cube 0.05 deep in a face of another: its triangles are two long.
  std::vector<Vec3f> tip = {{0, 0, 0}, {1, 0, 2}, {-0.5f, 0.9f, 2}, {-0.5f, -0.9f, 2}};
  const Mesh spike = make_mesh(tip, std::vector<Triangle>{{0, 2, 1}, {0, 3, 2}, {0, 1, 3}, {1, 2, 3}});
  ASSERT_GT(enclosed_volume(spike.view()), 0);
  const Two two(test::make_cube(4), spike);
  const SurfaceRuler ruler(two.rest().view());
  const SurfaceMeasurements frame = ruler.measure(two.frame({0.1f, 0.2f, 1.95f}));
  EXPECT_EQ(frame.new_buried_vertices, 1u);
  EXPECT_LT(frame.depth.largest, 0.0501);
  EXPECT_GT(frame.depth.largest, 0.02);
}

TEST(SurfaceRuler, ShortcutOverCleanPatchesAgreesWithAskingEveryVertex) {
  const Mesh torus = test::make_torus(40, 16, 1.0f, 0.3f);
  const Two two(torus, torus);
  const SurfaceRuler ruler(two.rest().view());
  const std::vector<Vec3f> frame = two.frame({0.9f, 0.2f, 0.15f});
  const std::vector<double> outside = ruler.winding_outside(frame);
  // Inside the other torus, by its equation; meshes are a little smaller than what they stand for.
  std::size_t checked = 0, buried = 0;
  for (std::size_t v = 0; v < frame.size(); ++v) {
    const Vec3f p = v < torus.positions.size() ? Vec3f(frame[v] - Vec3f(0.9f, 0.2f, 0.15f)) : frame[v];
    const double away = std::hypot(std::hypot(p.x(), p.y()) - 1.0, p.z());
    if (std::abs(away - 0.29) < 0.015) continue;
    ++checked;
    buried += away < 0.29;
    EXPECT_NEAR(outside[v], away < 0.29 ? 1 : 0, 0.05) << v;
  }
  EXPECT_GT(buried, 50u);
  EXPECT_GT(checked - buried, 500u);
}

// Volume, stretch, orientation ---------------------------------------------------------------------------

TEST(SurfaceRuler, RigidMotionChangesNothing) {
  const Mesh torus = test::make_torus(30, 12);
  const std::vector<Affine3d> bones = {some_motion()};
  const SurfaceRuler ruler(torus.view(), all_on_bone_zero(torus.positions.size()));
  expect_nothing_happened(ruler.measure(transformed(torus.positions, bones[0]), bones));
  expect_nothing_happened(ruler.measure(torus.positions));
}

TEST(SurfaceRuler, MirroringIsNoFlip) {
  const Mesh torus = test::make_torus(30, 12);
  std::vector<Affine3d> bones = {some_motion()};
  bones[0].scale(Vec3d(-1, 1, 1));
  const SurfaceRuler ruler(torus.view(), all_on_bone_zero(torus.positions.size()));
  const SurfaceMeasurements frame = ruler.measure(transformed(torus.positions, bones[0]), bones);
  EXPECT_EQ(frame.flipped_triangles, 0u);
  EXPECT_NEAR(frame.volume_ratio, -1, 1e-5);
  expect_all_finite(frame);
}

TEST(SurfaceRuler, ScalingStretchesAsItShould) {
  const Mesh torus = test::make_torus(30, 12);
  const SurfaceRuler ruler(torus.view());
  const SurfaceMeasurements frame = ruler.measure(test::moved(torus, {1, 2, 3}, 1.5f).positions);
  EXPECT_NEAR(frame.volume_ratio, 3.375, 1e-4);
  EXPECT_NEAR(frame.area_stretch.largest, 1.25, 1e-4);
  EXPECT_NEAR(frame.area_stretch.rms, 1.25, 1e-4);
  EXPECT_EQ(frame.area_stretch.smallest, 0);
  EXPECT_NEAR(frame.edge_stretch.largest, 0.5, 1e-4);
  EXPECT_NEAR(frame.edge_stretch.rms, 0.5, 1e-4);
  const SurfaceMeasurements half = ruler.measure(test::moved(torus, {1, 2, 3}, 0.5f).positions);
  EXPECT_NEAR(half.area_stretch.smallest, -0.75, 1e-4);
  EXPECT_NEAR(half.edge_stretch.smallest, -0.5, 1e-4);
  EXPECT_EQ(half.edge_stretch.largest, 0);
}

TEST(SurfaceRuler, StretchIsWeightedByTheRestsSize) {
  // Two separate triangles, of areas ½ and 2; the large one is stretched to twice its length along x.
  const Mesh mesh = make_mesh({{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {5, 0, 0}, {7, 0, 0}, {5, 2, 0}},
                              std::vector<Triangle>{{0, 1, 2}, {3, 4, 5}});
  std::vector<Vec3f> positions = mesh.positions;
  positions[4].x() = 9;
  const SurfaceMeasurements frame = SurfaceRuler(mesh.view()).measure(positions);
  EXPECT_NEAR(frame.area_stretch.largest, 1, 1e-6);
  EXPECT_NEAR(frame.area_stretch.rms, std::sqrt(2 / 2.5), 1e-6);
  const double long_edge = std::sqrt(20.0) / std::sqrt(8.0) - 1;
  EXPECT_NEAR(frame.edge_stretch.rms,
              std::sqrt((2 + std::sqrt(8.0) * long_edge * long_edge) / (6 + 3 * std::sqrt(2.0))), 1e-6);
}

TEST(SurfaceRuler, CountsFlippedTriangles) {
  const Mesh grid = test::make_grid(10, 10);
  const SurfaceRuler ruler(grid.view());
  // A vertex pulled across its right neighbour turns over the two triangles that lie between them and beyond.
  std::vector<Vec3f> positions = grid.positions;
  positions[60] += Vec3f(0.15f, 0, 0);
  std::size_t expected = 0;
  for (const Triangle& f : grid.triangles) {
    const Vec3f normal = (positions[f[1]] - positions[f[0]]).cross(positions[f[2]] - positions[f[0]]);
    expected += normal.z() < 0;
  }
  ASSERT_GT(expected, 0u);
  EXPECT_EQ(ruler.measure(positions).flipped_triangles, expected);
}

TEST(SurfaceRuler, FlipsAreJudgedInTheBonesFrame) {
  const Mesh grid = test::make_grid(10, 10);
  std::vector<Affine3d> bones = {Affine3d::Identity()};
  bones[0].rotate(Eigen::AngleAxisd(kPi, Vec3d::UnitX()));
  const SurfaceRuler ruler(grid.view(), all_on_bone_zero(grid.positions.size()));
  const std::vector<Vec3f> turned = transformed(grid.positions, bones[0]);
  EXPECT_EQ(ruler.measure(turned, bones).flipped_triangles, 0u);
  EXPECT_EQ(ruler.measure(turned).flipped_triangles, grid.triangles.size());
  EXPECT_EQ(ruler.measure(grid.positions, bones).flipped_triangles, grid.triangles.size());
}

TEST(SurfaceRuler, FlipsUseTheBlendOfBones) {
  // Half on a bone turned by 120°, half on one that stands: carried by 60°.
  const Mesh grid = test::make_grid(4, 4);
  std::vector<Affine3d> bones(2, Affine3d::Identity());
  bones[1].rotate(Eigen::AngleAxisd(2 * kPi / 3, Vec3d::UnitX()));
  SkinWeights weights;
  for (std::size_t v = 0; v < grid.positions.size(); ++v) {
    weights.joints.insert(weights.joints.end(), {0, 1});
    weights.values.insert(weights.values.end(), {0.5f, 0.5f});
    weights.starts.push_back(static_cast<std::uint32_t>(weights.joints.size()));
  }
  const SurfaceRuler ruler(grid.view(), weights);
  const auto turned = [&](double degrees) {
    Affine3d turn = Affine3d::Identity();
    turn.rotate(Eigen::AngleAxisd(degrees * kPi / 180, Vec3d::UnitX()));
    return transformed(grid.positions, turn);
  };
  EXPECT_EQ(ruler.measure(turned(148), bones).flipped_triangles, 0u);
  EXPECT_EQ(ruler.measure(turned(152), bones).flipped_triangles, grid.triangles.size());
  EXPECT_EQ(ruler.measure(turned(-28), bones).flipped_triangles, 0u);
  EXPECT_EQ(ruler.measure(turned(-32), bones).flipped_triangles, grid.triangles.size());
}

TEST(SurfaceRuler, CountsDegenerateTriangles) {
  const Mesh grid = test::make_grid(10, 10);
  const SurfaceRuler ruler(grid.view());
  std::vector<Vec3f> positions = grid.positions;
  positions[61] = positions[60];  // an edge shrinks to a point: its two triangles are gone
  EXPECT_EQ(ruler.measure(positions).degenerate_triangles, 2u);
  EXPECT_EQ(ruler.measure(positions).flipped_triangles, 0u);
  // Heights are 0.07 of an edge of 0.1: flattened to 0.5 % all are, to 2 % none yet.
  for (std::size_t v = 0; v < positions.size(); ++v)
    positions[v] = grid.positions[v].cwiseProduct(Vec3f(1, 0.005f, 1));
  EXPECT_EQ(ruler.measure(positions).degenerate_triangles, 200u);
  for (std::size_t v = 0; v < positions.size(); ++v)
    positions[v] = grid.positions[v].cwiseProduct(Vec3f(1, 0.02f, 1));
  EXPECT_EQ(ruler.measure(positions).degenerate_triangles, 0u);
}

TEST(SurfaceRuler, RelativeFiguresDoNotDependOnPlaceAndSize) {
  const Mesh sphere = test::make_icosphere(3);
  const Two two(sphere, sphere);
  const SurfaceRuler ruler(two.rest().view());
  const std::vector<Vec3f> frame = two.frame({1.3f, 0.1f, 0.2f});
  const SurfaceMeasurements here = ruler.measure(frame);

  const SurfaceRuler small(test::moved(two.rest(), {0, 0, 0}, 0.01f).view());
  std::vector<Vec3f> small_frame;
  for (const Vec3f& p : transformed(frame, some_motion())) small_frame.push_back(0.01f * p);
  const SurfaceMeasurements there = small.measure(small_frame);

  EXPECT_NEAR(there.overlap.total() * 1e6 / here.overlap.total(), 1, 0.003);
  EXPECT_NEAR(there.depth.largest_share_of_limb / here.depth.largest_share_of_limb, 1, 0.01);
  EXPECT_NEAR(there.depth.mean * 100 / here.depth.mean, 1, 0.01);
  EXPECT_EQ(there.new_buried_vertices, here.new_buried_vertices);
  EXPECT_EQ(there.new_intersecting_pairs, here.new_intersecting_pairs);
  EXPECT_NEAR(there.volume_ratio, here.volume_ratio, 1e-3);
}

// Surfaces that are not as they should be ----------------------------------------------------------------

TEST(SurfaceRuler, EmptySurface) {
  const SurfaceRuler ruler(MeshView{});
  expect_nothing_happened(ruler.measure({}));
  EXPECT_FALSE(ruler.rest().volume_known);
  EXPECT_EQ(ruler.rest().caveats.size(), 1u);
}

TEST(SurfaceRuler, OpenTubeIsClosedByFans) {
  const Mesh tube = test::make_tube(32, 20, 0.1f, 1.0f, false);
  const SurfaceRuler ruler(tube.view());
  EXPECT_EQ(ruler.rest().open_borders, 2u);
  EXPECT_EQ(ruler.rest().caveats.size(), 1u);
  EXPECT_NEAR(ruler.rest().volume, enclosed_volume(test::make_tube(32, 20, 0.1f, 1.0f, true).view()), 1e-6);
  expect_nothing_happened(ruler.measure(tube.positions));
  EXPECT_NEAR(ruler.measure(test::moved(tube, {0, 3, 0}, 2).positions).volume_ratio, 8, 1e-4);
  // Two open tubes across each other overlap nearly as closed ones do.
  const Mesh closed = test::make_tube(32, 20, 0.1f, 1.0f, true);
  std::vector<Vec3f> lying, lying_closed;
  for (const Vec3f& p : tube.positions) lying.push_back({p.y() - 0.5f, p.z() + 0.5f, p.x() + 0.02f});
  for (const Vec3f& p : closed.positions) lying_closed.push_back({p.y() - 0.5f, p.z() + 0.5f, p.x() + 0.02f});
  const Two open_pair(tube, make_mesh(lying, tube.triangles));
  const Two closed_pair(closed, make_mesh(lying_closed, closed.triangles));
  const SurfaceMeasurements open = SurfaceRuler(open_pair.rest().view()).measure(open_pair.frame({0, 0, 0}));
  const SurfaceMeasurements shut =
      SurfaceRuler(closed_pair.rest().view()).measure(closed_pair.frame({0, 0, 0}));
  EXPECT_GT(shut.new_overlap_volume, 1e-3);
  EXPECT_NEAR(open.new_overlap_volume / shut.new_overlap_volume, 1, 0.003);
  EXPECT_EQ(open.new_buried_vertices, shut.new_buried_vertices);
}

TEST(SurfaceRuler, FansInsideTheBodyAreNoWayOut) {
  // Open tubes wholly inside a box: the wall of the thin one pierces the fan in the wide one's end.
  const Mesh tubes = test::join(test::make_tube(16, 6, 0.3f, 1.0f, false),
                                test::moved(test::make_tube(16, 12, 0.1f, 1.0f, false), {0, 0.48f, 0}));
  const Two two(gridded_box({-2, -2, -2}, {2, 2, 2}, 8), tubes);
  const SurfaceRuler ruler(two.rest().view());
  const std::vector<Vec3f> positions = two.frame({0, 0, 0});
  const SurfaceMeasurements frame = ruler.measure(positions);
  const std::size_t box_count = positions.size() - tubes.positions.size();
  EXPECT_EQ(frame.new_buried_vertices, tubes.positions.size());
  double expected = 0;
  for (std::size_t v = box_count; v < positions.size(); ++v)
    expected = std::max(expected, 2.0 - positions[v].cwiseAbs().maxCoeff());
  EXPECT_GT(expected, 1.5);
  EXPECT_NEAR(frame.depth.largest, expected, 1e-4);
}

TEST(SurfaceRuler, TooManyPairsAreUnknownNotNone) {
  const Mesh cubes = test::join(test::make_cube(), test::moved(test::make_cube(), {1.1f, 0.6f, -0.3f}));
  const SurfaceRuler all(cubes.view());
  const std::size_t pairs = all.rest().intersecting_pairs;
  ASSERT_GT(pairs, 5u);
  EXPECT_TRUE(all.rest().pairs_known);
  EXPECT_TRUE(all.measure(cubes.positions).new_pairs_known);
  SurfaceRulerOptions options;
  options.most_pairs = pairs;
  EXPECT_TRUE(SurfaceRuler(cubes.view(), {}, options).rest().pairs_known);
  options.most_pairs = pairs - 1;
  const SurfaceRuler ruler(cubes.view(), {}, options);
  EXPECT_FALSE(ruler.rest().pairs_known);
  EXPECT_EQ(ruler.rest().caveats.size(), 1u);
  EXPECT_EQ(ruler.rest().buried_vertices, all.rest().buried_vertices);
  EXPECT_FALSE(ruler.measure(cubes.positions).pairs_known);
  // A frame that could be counted by itself still has nothing to be compared with.
  std::vector<Vec3f> apart = cubes.positions;
  for (std::size_t v = 8; v < 16; ++v) apart[v] += Vec3f(5, 0, 0);
  const SurfaceMeasurements frame = ruler.measure(apart);
  EXPECT_TRUE(frame.pairs_known);
  EXPECT_FALSE(frame.new_pairs_known);
  EXPECT_EQ(frame.intersecting_pairs, 0u);
  expect_all_finite(frame);
}

TEST(SurfaceRuler, StrayAndRepeatedCornersAreIgnored) {
  Mesh torus = test::make_torus(20, 10);
  std::vector<Vec3f> positions = torus.positions;
  const auto stray = static_cast<std::uint32_t>(positions.size());
  positions.push_back(Vec3f::Constant(std::numeric_limits<float>::quiet_NaN()));
  std::vector<Triangle> triangles = torus.triangles;
  triangles.push_back({3, 3, 4});
  triangles.push_back({stray, stray, stray});
  const SurfaceRuler ruler({positions, triangles});
  EXPECT_EQ(ruler.rest().unused_vertices, 1u);
  EXPECT_EQ(ruler.rest().unusable_triangles, 2u);
  const SurfaceMeasurements frame = ruler.measure(positions);
  expect_nothing_happened(frame);
  expect_all_finite(frame);
}

TEST(SurfaceRuler, BrokenSurfacesGiveFiniteAnswers) {
  const Mesh cube = test::make_cube();
  std::vector<std::vector<Triangle>> broken;
  std::vector<Triangle> one_flipped = cube.triangles;
  std::swap(one_flipped[3][1], one_flipped[3][2]);
  broken.push_back(one_flipped);
  std::vector<Triangle> fin = cube.triangles;
  fin.push_back({0, 1, 7});
  broken.push_back(fin);
  std::vector<Triangle> doubled = cube.triangles;
  doubled.insert(doubled.end(), cube.triangles.begin(), cube.triangles.end());
  broken.push_back(doubled);
  broken.push_back({cube.triangles[0]});
  for (const std::vector<Triangle>& triangles : broken) {
    const SurfaceRuler ruler({cube.positions, triangles});
    expect_all_finite(ruler.measure(cube.positions));
    expect_all_finite(ruler.measure(std::vector<Vec3f>(8, Vec3f(1, 2, 3))));
    std::vector<Vec3f> flat = cube.positions;
    for (Vec3f& p : flat) p.x() = 0;
    expect_all_finite(ruler.measure(flat));
    std::vector<Vec3f> huge = cube.positions;
    for (Vec3f& p : huge) p *= 1e15f;
    expect_all_finite(ruler.measure(huge));
  }
  // A rest without any size.
  const std::vector<Vec3f> point(8, Vec3f(1, 2, 3));
  const SurfaceRuler ruler({point, cube.triangles});
  EXPECT_FALSE(ruler.rest().volume_known);
  EXPECT_EQ(ruler.rest().slivers, 12u);
  expect_all_finite(ruler.measure(cube.positions));
}

TEST(SurfaceRuler, RejectsWhatItCannotMeasure) {
  const Mesh cube = test::make_cube();
  EXPECT_THROW(SurfaceRuler({cube.positions, std::vector<Triangle>{{0, 1, 8}}}), Error);
  EXPECT_THROW(SurfaceRuler(cube.view(), all_on_bone_zero(7)), Error);
  SurfaceRulerOptions options;
  options.hinges = {{"elbow", 1, 0, Vec3d::Zero()}};
  EXPECT_THROW(SurfaceRuler(cube.view(), {}, options), Error);
  EXPECT_NO_THROW(SurfaceRuler(cube.view(), all_on_bone_zero(8), options));
  options.hinges[0].position.x() = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(SurfaceRuler(cube.view(), all_on_bone_zero(8), options), Error);
  const SurfaceRuler ruler(cube.view());
  EXPECT_THROW(ruler.measure(std::vector<Vec3f>(7, Vec3f::Zero())), Error);
  std::vector<Vec3f> positions = cube.positions;
  positions[5].y() = std::numeric_limits<float>::infinity();
  EXPECT_THROW(ruler.measure(positions), Error);
  EXPECT_THROW(SurfaceRuler({positions, cube.triangles}), Error);
}

}  // namespace
}  // namespace sinew
