#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/geometry/topology.h>
#include <sinew/skinning/bind.h>

#include "tests/support/binding_checks.h"
#include "tests/support/damage.h"
#include "tests/support/meshes.h"
#include "tests/support/random_soup.h"
#include "tests/support/sanitized.h"

namespace sinew {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A closed tube along y of length 1 with three bones of joints 0, 1, 2.
const Mesh& tube() {
  static const Mesh kTube = test::make_tube(12, 30, 0.1f, 1, true);
  return kTube;
}

std::vector<Bone> tube_bones() {
  return {{0, 1, {0, 0.02, 0}, {0, 0.3, 0}},
          {1, 2, {0, 0.3, 0}, {0, 0.6, 0}},
          {2, -1, {0, 0.6, 0}, {0, 0.98, 0}}};
}

BindOptions everything_kept() {
  BindOptions options;
  options.influences = 0;
  options.prune = 0;
  return options;
}

// --- Any surface ---

BindOptions random_options(std::uint32_t seed) {
  std::mt19937 random(seed ^ 0x5eed);
  BindOptions options;
  options.method =
      std::array{BindMethod::heat, BindMethod::heat, BindMethod::rigid, BindMethod::envelope}[random() % 4];
  options.influences = std::array<std::size_t, 4>{1, 4, 8, 0}[random() % 4];
  options.prune = std::array{0.0, 0.01, 0.1, 0.5}[random() % 4];
  options.smooth = std::array{0, 0, 0, 1, 20}[random() % 5];
  options.sharpness = std::array{1.0, 2.0, 8.0}[random() % 3];
  return options;
}

struct SoupCounts {
  std::size_t cases = 0, looked = 0, non_manifold = 0, borders = 0, blind = 0, linked = 0, degenerate = 0,
              strays = 0;
};

void bind_soups(std::uint32_t first, std::uint32_t count, SoupCounts& counts) {
  for (std::uint32_t seed = first; seed < first + count; ++seed) {
    const test::RandomSoup soup = test::make_random_soup(seed);
    SCOPED_TRACE(testing::Message() << "seed " << seed << ": " << soup.what << ", " << soup.positions.size()
                                    << " vertices");
    const BindOptions options = random_options(seed);
    BindReport report;
    SkinWeights weights;
    ASSERT_NO_THROW(weights = bind_surface(soup.view(), soup.bones, options, &report));
    ASSERT_EQ(test::weights_fault(weights, soup.positions.size(), soup.bones, options), "");
    ASSERT_EQ(test::report_fault(report, soup.view(), weights, soup.bones, options), "");
    if (seed % 4 == 0) {
      tbb::task_arena arena(1);
      arena.execute([&] { ASSERT_EQ(bind_surface(soup.view(), soup.bones, options), weights); });
    }
    const TopologyReport topology = inspect_topology(soup.view());
    ++counts.cases;
    counts.non_manifold += topology.non_manifold_edges > 0;
    counts.borders += topology.boundary_edges > 0;
    counts.degenerate += topology.zero_area_triangles > 0;
    counts.strays += topology.isolated_vertices > 0;
    if (options.method == BindMethod::envelope) continue;
    ++counts.looked;
    counts.blind += report.heat.blind_vertices > 0;
    counts.linked += report.heat.linked_components > 0;
  }
}

TEST(BindInvariants, RandomSoupsAreBound) {
  SoupCounts counts;
  bind_soups(1, test::kSanitized ? 80 : 2000, counts);
  const double cases = static_cast<double>(counts.cases), looked = static_cast<double>(counts.looked);
  EXPECT_GT(static_cast<double>(counts.non_manifold) / cases, 0.3);
  EXPECT_GT(static_cast<double>(counts.borders) / cases, 0.3);
  EXPECT_GT(static_cast<double>(counts.degenerate) / cases, 0.3);
  EXPECT_GT(static_cast<double>(counts.strays) / cases, 0.15);
  EXPECT_GT(static_cast<double>(counts.blind) / looked, 0.3);
  EXPECT_GT(static_cast<double>(counts.linked) / looked, 0.3);
}

TEST(BindInvariants, EveryMethodKeepsEveryLimit) {
  const Mesh mesh = test::kSanitized ? test::make_tube(6, 10, 0.1f, 1, true) : tube();
  const std::vector<Bone> few = tube_bones();
  std::vector<Bone> many;
  for (int b = 0; b < 12; ++b)
    many.push_back({b, -1, {0.02 * b - 0.1, 0.08 * b, 0}, {0, 0.08 * b + 0.08, 0.01}});
  for (const std::vector<Bone>& bones : {few, many})
    for (const BindMethod method : {BindMethod::heat, BindMethod::rigid, BindMethod::envelope})
      for (const std::size_t influences : {1u, 4u, 8u, 0u})
        for (const double prune : {0.0, 0.01, 0.2, 0.5})
          for (const int smooth : {0, 5}) {
            BindOptions options;
            options.method = method;
            options.influences = influences;
            options.prune = prune;
            options.smooth = smooth;
            BindReport report;
            const SkinWeights weights = bind_surface(mesh.view(), bones, options, &report);
            ASSERT_EQ(test::weights_fault(weights, mesh.positions.size(), bones, options), "");
            ASSERT_EQ(test::report_fault(report, mesh.view(), weights, bones, options), "");
          }
}

TEST(BindInvariants, FewerInfluencesAreTheHeaviest) {
  for (const BindMethod method : {BindMethod::heat, BindMethod::envelope}) {
    BindOptions options = everything_kept();
    options.method = method;
    const SkinWeights all = bind_surface(tube().view(), tube_bones(), options);
    options.influences = 2;
    const SkinWeights two = bind_surface(tube().view(), tube_bones(), options);
    const SkinWeights cut = limit_influences(all, 2);
    for (std::size_t v = 0; v < all.rows(); ++v) EXPECT_LT(test::total_variation(two, v, cut, v), 1e-5) << v;
  }
}

TEST(BindInvariants, RigidFollowsTheStrongest) {
  const SkinWeights heat = bind_surface(tube().view(), tube_bones(), everything_kept());
  BindOptions options;
  options.method = BindMethod::rigid;
  const SkinWeights rigid = bind_surface(tube().view(), tube_bones(), options);
  std::size_t clear = 0;
  for (std::size_t v = 0; v < heat.rows(); ++v) {
    ASSERT_EQ(rigid.row_size(v), 1u);
    EXPECT_EQ(rigid.row_values(v)[0], 1.0f);
    if (heat.row_size(v) > 1 && heat.row_values(v)[0] - heat.row_values(v)[1] < 1e-4f) continue;
    ++clear;
    EXPECT_EQ(rigid.row_joints(v)[0], heat.row_joints(v)[0]) << v;
  }
  EXPECT_GT(clear, heat.rows() * 9 / 10);
}

TEST(BindInvariants, WeightsPassSmoothlyAlongTheTube) {
  const SkinWeights weights = bind_surface(tube().view(), tube_bones(), everything_kept());
  for (int j = 0; j + 1 <= 30; ++j) {
    const auto lower = to_size(j * 12), upper = lower + 12;
    EXPECT_GE(test::weight_of(weights, lower, 0), test::weight_of(weights, upper, 0) - 1e-4f) << j;
    EXPECT_LE(test::weight_of(weights, lower, 2), test::weight_of(weights, upper, 2) + 1e-4f) << j;
    EXPECT_LT(test::total_variation(weights, lower, weights, upper), 0.4) << j;
    // The same all round.
    for (std::size_t i = 1; i < 12; ++i)
      EXPECT_LT(test::total_variation(weights, lower, weights, lower + i), 0.05) << j;
  }
  for (const std::size_t at_bone : {2u, 14u, 27u}) {
    const int joint = at_bone < 9 ? 0 : at_bone < 18 ? 1 : 2;
    EXPECT_GT(test::weight_of(weights, 12 * at_bone, joint), 0.7f) << at_bone;
  }
}

TEST(BindInvariants, OrderOfBonesIsNoMatter) {
  std::vector<Bone> bones = tube_bones();
  const SkinWeights before = bind_surface(tube().view(), bones, everything_kept());
  std::reverse(bones.begin(), bones.end());
  // One bone in two pieces is the same bone.
  bones.push_back({1, -1, {0, 0.4, 0}, {0, 0.6, 0}});
  bones[1].tail.y() = 0.4;
  for (Bone& bone : bones) std::swap(bone.head, bone.tail);
  const SkinWeights after = bind_surface(tube().view(), bones, everything_kept());
  for (std::size_t v = 0; v < before.rows(); ++v)
    EXPECT_LT(test::total_variation(before, v, after, v), 1e-3) << v;
}

TEST(BindInvariants, NothingToBindIsFine) {
  BindReport report;
  const SkinWeights weights = bind_surface({}, tube_bones(), {}, &report);
  EXPECT_EQ(weights.rows(), 0u);
  EXPECT_EQ(report.vertices, 0u);
  EXPECT_EQ(report.unused_joints, (std::vector<int>{0, 1, 2}));
}

TEST(BindInvariants, RefusesWhatMakesNoSense) {
  EXPECT_THROW(bind_surface(tube().view(), {}), Error);
  for (const double bad : {kNaN, kInfinity, -kInfinity})
    for (int k = 0; k < 3; ++k) {
      Mesh mesh = tube();
      mesh.positions[17][k] = static_cast<float>(bad);
      EXPECT_THROW(bind_surface(mesh.view(), tube_bones()), Error) << bad << k;
      std::vector<Bone> bones = tube_bones();
      bones[1].head[k] = bad;
      EXPECT_THROW(bind_surface(tube().view(), bones), Error) << bad << k;
      bones = tube_bones();
      bones[2].tail[k] = bad;
      EXPECT_THROW(bind_surface(tube().view(), bones), Error) << bad << k;
    }
  // A stray vertex counts, too.
  Mesh mesh = tube();
  mesh.positions.emplace_back(0, static_cast<float>(kNaN), 0);
  EXPECT_THROW(bind_surface(mesh.view(), tube_bones()), Error);
  mesh = tube();
  mesh.triangles[5][1] = static_cast<std::uint32_t>(mesh.positions.size());
  EXPECT_THROW(bind_surface(mesh.view(), tube_bones()), Error);

  for (const double prune : {-0.01, 0.51, kNaN}) {
    BindOptions options;
    options.prune = prune;
    EXPECT_THROW(bind_surface(tube().view(), tube_bones(), options), Error) << prune;
  }
  for (const double sharpness : {0.5, 9.0, kNaN}) {
    BindOptions options;
    options.sharpness = sharpness;
    EXPECT_THROW(bind_surface(tube().view(), tube_bones(), options), Error) << sharpness;
  }
  for (const int smooth : {-1, 1001}) {
    BindOptions options;
    options.smooth = smooth;
    EXPECT_THROW(bind_surface(tube().view(), tube_bones(), options), Error) << smooth;
  }
}

// --- Both sides the same ---

struct MirroredMesh {
  std::vector<Vec3f> positions;
  std::vector<Triangle> triangles;
  std::vector<std::uint32_t> twin;  ///< per vertex, the one on the other side of x = 0

  MeshView view() const { return {positions, triangles}; }
};

/// Both halves; vertices with x = 0 belong to both.
MirroredMesh mirrored(const Mesh& half) {
  MirroredMesh mesh{half.positions, half.triangles, std::vector<std::uint32_t>(half.positions.size())};
  for (std::uint32_t v = 0; v < half.positions.size(); ++v) {
    mesh.twin[v] = v;
    const Vec3f p = half.positions[v];
    if (p.x() == 0) continue;
    mesh.twin[v] = static_cast<std::uint32_t>(mesh.positions.size());
    mesh.positions.emplace_back(-p.x(), p.y(), p.z());
    mesh.twin.push_back(v);
  }
  for (const auto& [a, b, c] : half.triangles)
    mesh.triangles.push_back({mesh.twin[a], mesh.twin[c], mesh.twin[b]});
  return mesh;
}

/// A thick ring about the z axis, both halves alike, its surface a little uneven.
MirroredMesh make_mirrored_ring() {
  std::mt19937 random(7);
  const int along = 16, across = 10;
  std::vector<Vec3f> positions;
  Polygons polygons;
  for (int i = 0; i <= along; ++i)
    for (int j = 0; j < across; ++j) {
      const double u = std::numbers::pi * (static_cast<double>(i) / along - 0.5),
                   v = 2 * std::numbers::pi * j / across;
      const double thickness = 0.25 + 0.02 * (random() / 4294967296.0);
      const double r = 1 + thickness * std::cos(v);
      const bool on_plane = i == 0 || i == along;
      positions.push_back(
          Vec3d(on_plane ? 0 : r * std::cos(u), r * std::sin(u), thickness * std::sin(v)).cast<float>());
    }
  for (std::uint32_t i = 0; i < along; ++i)
    for (std::uint32_t j = 0; j < across; ++j) {
      const std::uint32_t k = (j + 1) % across, n = across;
      polygons.add(std::array{i * n + j, (i + 1) * n + j, (i + 1) * n + k, i * n + k});
    }
  return mirrored(make_mesh(std::move(positions), std::move(polygons)));
}

/// Joints 0 and 1 at the bottom and the top of the ring, 2 to 4 on the right (+x), 5 to 7 on the left.
std::vector<Bone> ring_bones() {
  std::vector<Bone> bones{{0, -1, {0, -1, -0.05}, {0, -1, 0.05}}, {1, -1, {0, 1, -0.05}, {0, 1, 0.05}}};
  const auto on_ring = [](double degrees) {
    const double angle = degrees * std::numbers::pi / 180;
    return Vec3d(std::cos(angle), std::sin(angle), 0);
  };
  for (int k = 0; k < 3; ++k) bones.push_back({2 + k, -1, on_ring(50 * k - 75), on_ring(50 * k - 25)});
  for (int k = 0; k < 3; ++k) {
    Bone bone = bones[to_size(2 + k)];
    bone.joint += 3;
    bone.head.x() *= -1;
    bone.tail.x() *= -1;
    bones.push_back(bone);
  }
  return bones;
}

const std::vector<int> kRingPartners{0, 1, 5, 6, 7, 2, 3, 4};

/// Largest difference between a vertex and its twin, with joints exchanged; `on_plane`: also of vertices
/// that are their own twins.
double asymmetry(const SkinWeights& weights, std::span<const std::uint32_t> twin,
                 std::span<const int> partner, bool on_plane = true) {
  double largest = 0;
  for (std::size_t v = 0; v < weights.rows(); ++v) {
    if (twin[v] == v && !on_plane) continue;
    for (std::size_t j = 0; j < partner.size(); ++j)
      largest = std::max(largest, std::abs(double{test::weight_of(weights, v, static_cast<int>(j))} -
                                           test::weight_of(weights, twin[v], partner[j])));
  }
  return largest;
}

TEST(BindSymmetry, SymmetricSurfaceGetsSymmetricWeights) {
  const MirroredMesh ring = make_mirrored_ring();
  ASSERT_TRUE(inspect_topology(ring.view()).watertight());
  for (const BindMethod method : {BindMethod::heat, BindMethod::envelope})
    for (const int smooth : {0, 3}) {
      BindOptions options = everything_kept();
      options.method = method;
      options.smooth = smooth;
      const SkinWeights weights = bind_surface(ring.view(), ring_bones(), options);
      EXPECT_LT(asymmetry(weights, ring.twin, kRingPartners), 1e-4);
      // There is something to compare: every joint is somewhere the strongest, and weights blend.
      for (int joint = 0; joint < 8; ++joint) {
        float most = 0;
        for (std::size_t v = 0; v < weights.rows(); ++v)
          most = std::max(most, test::weight_of(weights, v, joint));
        EXPECT_GT(most, 0.4f) << joint;
      }
    }
  const SkinWeights plain = bind_surface(ring.view(), ring_bones());
  EXPECT_LT(asymmetry(plain, ring.twin, kRingPartners), 1e-4);
}

TEST(BindSymmetry, AskedForSymmetryIsExact) {
  const MirroredMesh ring = make_mirrored_ring();
  // The second is the same surface, but one side has other triangles.
  MirroredMesh uneven = ring;
  for (std::size_t t = uneven.triangles.size() / 2; t + 1 < uneven.triangles.size(); t += 2) {
    Triangle &a = uneven.triangles[t], &b = uneven.triangles[t + 1];
    std::array<std::uint32_t, 4> quad{};
    // a and b share an edge; give them the other diagonal.
    const auto own = [](const Triangle& x, const Triangle& y) {
      for (std::size_t k = 0; k < 3; ++k)
        if (std::find(y.begin(), y.end(), x[k]) == y.end()) return k;
      return std::size_t{3};
    };
    const std::size_t i = own(a, b), j = own(b, a);
    ASSERT_LT(i, 3u);
    ASSERT_LT(j, 3u);
    quad = {a[i], a[(i + 1) % 3], b[j], a[(i + 2) % 3]};
    a = {quad[0], quad[1], quad[2]};
    b = {quad[0], quad[2], quad[3]};
  }
  ASSERT_TRUE(inspect_topology(uneven.view()).watertight());
  EXPECT_GT(asymmetry(bind_surface(uneven.view(), ring_bones(), everything_kept()), ring.twin, kRingPartners),
            1e-4);
  for (const MirroredMesh& mesh : {ring, uneven})
    for (const BindMethod method : {BindMethod::heat, BindMethod::rigid, BindMethod::envelope})
      for (const std::size_t influences : {0u, 1u, 2u, 4u}) {
        SCOPED_TRACE(testing::Message()
                     << "method " << static_cast<int>(method) << ", influences " << influences);
        BindOptions options;
        options.method = method;
        options.influences = influences;
        options.symmetry = BindSymmetry{{Vec3d::Zero(), Vec3d::UnitX()}, kRingPartners};
        BindReport report;
        const SkinWeights weights = bind_surface(mesh.view(), ring_bones(), options, &report);
        ASSERT_EQ(test::weights_fault(weights, mesh.positions.size(), ring_bones(), options), "");
        ASSERT_EQ(test::report_fault(report, mesh.view(), weights, ring_bones(), options), "");
        EXPECT_EQ(report.mirrored_vertices, mesh.positions.size());
        // On the plane, a row cut to some joints may keep one of two that are equal.
        const bool cut = influences > 0 || method == BindMethod::rigid;
        EXPECT_EQ(asymmetry(weights, mesh.twin, kRingPartners, !cut), 0);
      }
}

TEST(BindSymmetry, PlaneMayLieAnywhere) {
  MirroredMesh ring = make_mirrored_ring();
  Affine3d place(Eigen::AngleAxisd(0.7, Vec3d(1, 2, -1).normalized()));
  place.pretranslate(Vec3d(3, -1, 2));
  for (Vec3f& p : ring.positions) p = (place * p.cast<double>()).cast<float>();
  std::vector<Bone> bones = ring_bones();
  for (Bone& bone : bones) {
    bone.head = place * bone.head;
    bone.tail = place * bone.tail;
  }
  BindOptions options = everything_kept();
  options.symmetry = BindSymmetry{{place * Vec3d(0, 0.5, 0), place.linear() * Vec3d::UnitX()}, kRingPartners};
  BindReport report;
  const SkinWeights weights = bind_surface(ring.view(), bones, options, &report);
  EXPECT_EQ(report.mirrored_vertices, ring.positions.size());
  EXPECT_EQ(asymmetry(weights, ring.twin, kRingPartners), 0);
}

TEST(BindSymmetry, WhatHasNoTwinIsBoundAnyway) {
  const MirroredMesh ring = make_mirrored_ring();
  const test::TracedMesh lopsided = test::islands(
      test::cut_open(test::traced(ring.view()), {0, 0.5f, 0}, Vec3f(1, 1, 0).normalized()), 60, 5);
  BindOptions options;
  options.symmetry = BindSymmetry{{Vec3d::Zero(), Vec3d::UnitX()}, {0, 1, 5, 6, -1, 2, 3, -1}};
  BindReport report;
  const SkinWeights weights = bind_surface(lopsided.view(), ring_bones(), options, &report);
  EXPECT_EQ(test::weights_fault(weights, lopsided.positions.size(), ring_bones(), options), "");
  EXPECT_EQ(test::report_fault(report, lopsided.view(), weights, ring_bones(), options), "");
  EXPECT_GT(report.unmirrored_vertices, 20u);
  EXPECT_GT(report.mirrored_vertices, 20u);
}

// --- Locked weights ---

/// Up to three of the joints 10 to 13 per row; every fourth row is empty, every fourth full.
SkinWeights random_locks(std::size_t rows, std::uint32_t seed) {
  std::mt19937 random(seed);
  SkinWeights locked;
  for (std::size_t v = 0; v < rows; ++v) {
    const std::uint32_t first = 10 + random() % 2;
    const std::size_t count = v % 4 == 0 ? 0 : 1 + random() % 3;
    const float total = v % 4 == 1 ? 1.0f : 0.9f * static_cast<float>(random() / 4294967296.0);
    std::vector<float> values(count);
    float sum = 0;
    for (float& value : values) sum += value = 0.1f + static_cast<float>(random() / 4294967296.0);
    for (std::size_t k = 0; k < count; ++k) {
      locked.joints.push_back(first + static_cast<std::uint32_t>(k));
      locked.values.push_back(values[k] / sum * total);
    }
    locked.starts.push_back(static_cast<std::uint32_t>(locked.joints.size()));
  }
  return locked;
}

TEST(BindLocked, WeightsStayAndOthersShareTheRest) {
  const std::size_t vertices = tube().positions.size();
  for (const BindMethod method : {BindMethod::heat, BindMethod::rigid, BindMethod::envelope})
    for (const std::size_t influences : {4u, 8u, 0u})
      for (const int smooth : {0, 4}) {
        BindOptions options;
        options.method = method;
        options.influences = influences;
        options.smooth = smooth;
        options.prune = influences == 0 ? 0 : 0.01;
        const SkinWeights free = bind_surface(tube().view(), tube_bones(), options);
        options.locked = random_locks(vertices, 3);
        BindReport report;
        const SkinWeights weights = bind_surface(tube().view(), tube_bones(), options, &report);
        ASSERT_EQ(test::weights_fault(weights, vertices, tube_bones(), options), "");
        ASSERT_EQ(test::report_fault(report, tube().view(), weights, tube_bones(), options), "");
        for (std::size_t v = 0; v < vertices; ++v) {
          double left = 1;
          for (std::size_t k = 0; k < options.locked.row_size(v); ++k) {
            const int joint = static_cast<int>(options.locked.row_joints(v)[k]);
            EXPECT_NEAR(test::weight_of(weights, v, joint), options.locked.row_values(v)[k], 1e-6) << v;
            left -= options.locked.row_values(v)[k];
          }
          if (options.locked.row_size(v) == 0) {
            EXPECT_LT(test::total_variation(weights, v, free, v), 1e-5) << v;
          }
          if (influences != 0) continue;
          for (int joint = 0; joint < 3; ++joint)
            EXPECT_NEAR(test::weight_of(weights, v, joint), left * test::weight_of(free, v, joint), 1e-4)
                << v;
        }
      }
}

TEST(BindLocked, MoreThanFitAreCutToTheHeaviest) {
  SkinWeights locked;
  for (std::size_t v = 0; v < tube().positions.size(); ++v) {
    for (std::uint32_t k = 0; k < 6; ++k) {
      locked.joints.push_back(10 + k);
      locked.values.push_back(0.1f + 0.01f * static_cast<float>(k));
    }
    locked.starts.push_back(static_cast<std::uint32_t>(locked.joints.size()));
  }
  BindOptions options;
  options.locked = locked;
  const SkinWeights weights = bind_surface(tube().view(), tube_bones(), options);
  ASSERT_EQ(test::weights_fault(weights, tube().positions.size(), tube_bones(), options), "");
}

TEST(BindLocked, RefusesWhatDoesNotFit) {
  const std::size_t vertices = tube().positions.size();
  const auto refused = [&](const SkinWeights& locked) {
    BindOptions options;
    options.locked = locked;
    EXPECT_THROW(bind_surface(tube().view(), tube_bones(), options), Error);
  };
  const SkinWeights good = random_locks(vertices, 4);
  SkinWeights bad = good;
  bad.starts.pop_back();
  bad.joints.resize(bad.starts.back());
  bad.values.resize(bad.starts.back());
  refused(bad);  // a row is missing
  const std::size_t some = good.starts[5];
  ASSERT_GT(good.row_size(5), 0u);
  bad = good;
  bad.joints[some] = 1;  // has a bone
  refused(bad);
  bad = good;
  bad.values[some] = 1.5f;
  refused(bad);
  bad.values[some] = -0.5f;
  refused(bad);
  bad.values[some] = static_cast<float>(kNaN);
  refused(bad);
}

}  // namespace
}  // namespace sinew
