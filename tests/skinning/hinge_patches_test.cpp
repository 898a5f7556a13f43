#include <sinew/skinning/hinge_patches.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include <sinew/geometry/closed_surface.h>
#include <sinew/geometry/volume.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

constexpr float kRadius = 0.1f;
constexpr int kAround = 24;

/// A closed tube along y with a joint in its middle, bone 0 below it and bone 1 above.
struct Tube {
  Mesh mesh = test::make_tube(kAround, 60, kRadius, 2, true);
  SkinWeights weights;
  std::vector<Hinge> hinges{{"elbow", 1, 0, Vec3d(0, 1, 0)}};

  Tube() {
    for (const Vec3f& p : mesh.positions)
      bind({{0, std::clamp(1.5f - p.y(), 0.0f, 1.0f)}, {1, std::clamp(p.y() - 0.5f, 0.0f, 1.0f)}});
  }

  void bind(std::vector<Influence> row) {
    WeightRepairs repairs;
    append_row(weights, row, 0, repairs);
  }

  /// Another surface, of which all follows one bone.
  void add(const Mesh& other, std::uint32_t bone) {
    mesh = test::join(mesh, other);
    for (std::size_t v = 0; v < other.positions.size(); ++v) bind({{bone, 1}});
  }

  std::vector<HingePatch> patches(double radius = static_cast<double>(kRadius)) const {
    return hinge_patches(mesh.view(), weights, hinges, std::vector<double>(hinges.size(), radius));
  }
};

/// The patch's corners, as vertices of the surface.
std::vector<Triangle> on_surface(const HingePatch& patch) {
  std::vector<Triangle> result;
  for (const Triangle& t : patch.triangles)
    result.push_back({patch.vertices[t[0]], patch.vertices[t[1]], patch.vertices[t[2]]});
  return result;
}

/// Each triangle's corners in ascending order, all of them sorted.
std::vector<Triangle> sorted(std::vector<Triangle> triangles) {
  for (Triangle& t : triangles) std::sort(t.begin(), t.end());
  std::sort(triangles.begin(), triangles.end());
  return triangles;
}

/// The triangles within a distance of a place.
std::vector<Triangle> within(const Mesh& mesh, const Vec3d& place, double reach) {
  std::vector<Triangle> result;
  for (const Triangle& t : mesh.triangles)
    if (std::all_of(t.begin(), t.end(), [&](std::uint32_t v) {
          return (mesh.positions[v].cast<double>() - place).norm() <= reach;
        }))
      result.push_back(t);
  return result;
}

double capped_volume(const Mesh& mesh, const HingePatch& patch) {
  std::vector<Vec3f> positions;
  for (const std::uint32_t v : patch.vertices) positions.push_back(mesh.positions[v]);
  const ClosedSurface closed = close_surface(positions.size(), patch.triangles);
  return enclosed_volume({closed.place(positions), closed.triangles});
}

TEST(HingePatches, ATubesIsWhatLiesWithinOneAndAHalfRadii) {
  const Tube tube;
  const std::vector<HingePatch> patches = tube.patches();
  ASSERT_EQ(patches.size(), 1u);
  const HingePatch& patch = patches[0];
  EXPECT_NEAR(patch.reach, 0.15, 1e-6);
  EXPECT_TRUE(std::is_sorted(patch.vertices.begin(), patch.vertices.end()));
  EXPECT_EQ(std::adjacent_find(patch.vertices.begin(), patch.vertices.end()), patch.vertices.end());
  // Rings are 1/30 apart: those up to √(1.5² - 1) = 1.118 radii count, three each side.
  EXPECT_EQ(patch.vertices.size(), 7u * kAround);
  EXPECT_EQ(patch.triangles.size(), 6u * 2 * kAround);
  EXPECT_EQ(sorted(on_surface(patch)), sorted(within(tube.mesh, Vec3d(0, 1, 0), 0.15)));
  std::vector<std::uint8_t> used(patch.vertices.size(), 0);
  for (const Triangle& t : patch.triangles)
    for (const std::uint32_t v : t) used.at(v) = 1;
  EXPECT_EQ(std::count(used.begin(), used.end(), 1), static_cast<std::ptrdiff_t>(used.size()));
  for (const Triangle& t : on_surface(patch)) {
    const Vec3f &a = tube.mesh.positions[t[0]], &b = tube.mesh.positions[t[1]],
                &c = tube.mesh.positions[t[2]];
    const Vec3f middle = (a + b + c) / 3;
    EXPECT_GT((b - a).cross(c - a).dot(Vec3f(middle.x(), 0, middle.z())), 0);
  }
  // The cylinder's, less what a ring of 24 corners does not have.
  EXPECT_NEAR(capped_volume(tube.mesh, patch), 0.2 * 12 * std::sin(2 * std::acos(-1.0) / 24) * 0.01, 1e-5);
}

TEST(HingePatches, WithoutALimbThereIsNone) {
  Tube tube;
  for (const double radius : {0.0, -1.0, std::nan("")}) {
    const std::vector<HingePatch> patches = tube.patches(radius);
    ASSERT_EQ(patches.size(), 1u);
    EXPECT_TRUE(patches[0].vertices.empty() && patches[0].triangles.empty()) << radius;
  }
  EXPECT_TRUE(tube.patches(0.01)[0].vertices.empty());  // reaches no skin
  tube.hinges[0].position = Vec3d(5, 0, 0);
  EXPECT_TRUE(tube.patches()[0].vertices.empty());
  tube.hinges.clear();
  EXPECT_TRUE(tube.patches().empty());
  // Each hinge has its own limb.
  tube.hinges = {{"none", 1, 0, Vec3d(0, 1, 0)}, {"elbow", 1, 0, Vec3d(0, 1, 0)}};
  const std::vector<HingePatch> two =
      hinge_patches(tube.mesh.view(), tube.weights, tube.hinges, std::array{0.0, 0.1});
  EXPECT_TRUE(two[0].vertices.empty());
  EXPECT_FALSE(two[1].vertices.empty());
}

TEST(HingePatches, SkinThatFollowsAnotherChainIsNotOfIt) {
  Tube tube;
  // A quarter of the tube follows bone 2: by less than half, then by more.
  for (const float weight : {0.45f, 0.55f}) {
    Tube shared = tube;
    shared.weights = {};
    for (const Vec3f& p : shared.mesh.positions)
      shared.bind({{0, p.x() > 0.05f ? 1 - weight : 1.0f}, {2, p.x() > 0.05f ? weight : 0.0f}});
    // It hangs on bone 0, beside bone 1.
    shared.hinges.push_back({"other", 2, 0, Vec3d(0, 5, 0)});
    const std::vector<Triangle> all = within(shared.mesh, Vec3d(0, 1, 0), 0.15);
    std::vector<Triangle> own = all;
    std::erase_if(own, [&](const Triangle& t) {
      return std::any_of(t.begin(), t.end(),
                         [&](std::uint32_t v) { return shared.mesh.positions[v].x() > 0.05f; });
    });
    ASSERT_LT(own.size(), all.size());
    EXPECT_EQ(sorted(on_surface(shared.patches()[0])), sorted(weight > 0.5f ? own : all)) << weight;
    // Below bone 1, or above bone 0, it is the same limb.
    shared.hinges[1].parent = 1;
    EXPECT_EQ(sorted(on_surface(shared.patches()[0])), sorted(all)) << weight;
    shared.hinges[1] = {"root", 0, 2, Vec3d(0, 5, 0)};
    EXPECT_EQ(sorted(on_surface(shared.patches()[0])), sorted(all)) << weight;
  }
}

TEST(HingePatches, OfSeveralPiecesItIsTheLargest) {
  Tube tube;
  const std::vector<Triangle> before = on_surface(tube.patches()[0]);
  // Of more triangles, but smaller.
  tube.add(test::moved(test::make_icosphere(3, 0.03f), {0, 1, 0}), 1);
  EXPECT_EQ(sorted(on_surface(tube.patches()[0])), sorted(before));
  // A larger one, of fewer, and before or behind it.
  const std::size_t first = tube.mesh.positions.size();
  tube.add(test::moved(test::make_icosphere(2, 0.14f), {0, 1, 0}), 0);
  const HingePatch patch = tube.patches()[0];
  EXPECT_EQ(patch.triangles.size(), 320u);
  ASSERT_EQ(patch.vertices.size(), 162u);
  EXPECT_EQ(patch.vertices.front(), first);
  EXPECT_EQ(patch.vertices.back(), first + 161);
  EXPECT_NEAR(capped_volume(tube.mesh, patch), 4.0 / 3 * std::acos(-1.0) * std::pow(0.14, 3), 5e-4);
}

TEST(HingePatches, SurfacesThatFaceInwardsAreTurned) {
  Tube tube;
  const double outwards = capped_volume(tube.mesh, tube.patches()[0]);
  ASSERT_GT(outwards, 0);
  std::vector<Triangle> triangles = tube.mesh.triangles;
  for (Triangle& t : triangles) std::swap(t[1], t[2]);
  tube.mesh = make_mesh(tube.mesh.positions, triangles);
  EXPECT_NEAR(capped_volume(tube.mesh, tube.patches()[0]), outwards, 1e-6 * outwards);
}

TEST(VerticesNearestTo, AreTheTwentyFourNearestThatBothBonesMove) {
  Tube tube;
  // Skin of bone 2 that is nearer, but not the hinge's.
  tube.add(test::moved(test::make_icosphere(1, 0.02f), {0, 1, 0}), 2);
  tube.hinges[0].position = Vec3d(0.03, 1.01, 0.002);
  const auto distance = [&](std::uint32_t v) {
    return (tube.mesh.positions[v].cast<double>() - tube.hinges[0].position).norm();
  };
  const auto nearest = [&](std::span<const double> known) {
    std::vector<std::uint32_t> result;
    for (std::uint32_t v = 0; v < tube.mesh.positions.size(); ++v)
      if (tube.weights.row_joints(v)[0] != 2 && (known.empty() || known[v] > 0)) result.push_back(v);
    std::stable_sort(result.begin(), result.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return distance(a) < distance(b); });
    result.resize(std::min<std::size_t>(result.size(), 24));
    return result;
  };
  const auto found = [&](std::span<const double> known) {
    const auto all = vertices_nearest_to(tube.mesh.view(), tube.weights, tube.hinges, known);
    EXPECT_EQ(all.size(), 1u);
    return all[0];
  };
  EXPECT_EQ(found({}).size(), 24u);
  EXPECT_EQ(found({}), nearest({}));
  // Without those that are not known.
  std::vector<double> known(tube.mesh.positions.size(), 0.1);
  for (const std::uint32_t v : found({}))
    if (v % 2 == 0) known[v] = 0;
  EXPECT_NE(found(known), found({}));
  EXPECT_EQ(found(known), nearest(known));
  std::fill(known.begin(), known.end(), 0);
  EXPECT_TRUE(found(known).empty());
  for (const std::uint32_t v : {700u, 3u, 500u}) known[v] = 1;
  EXPECT_EQ(found(known), nearest(known));
  EXPECT_EQ(found(known).size(), 3u);
}

TEST(VerticesNearestTo, ThereMayBeNone) {
  Tube tube;
  tube.hinges = {{"nothing", 7, 8, Vec3d(0, 1, 0)}, {"half", 1, 9, Vec3d(0, 1, 0)}};
  const auto near = vertices_nearest_to(tube.mesh.view(), tube.weights, tube.hinges, {});
  ASSERT_EQ(near.size(), 2u);
  EXPECT_TRUE(near[0].empty());
  EXPECT_EQ(near[1].size(), 24u);
  EXPECT_TRUE(vertices_nearest_to(tube.mesh.view(), tube.weights, {}, {}).empty());
  EXPECT_TRUE(vertices_nearest_to({}, {}, tube.hinges, {})[1].empty());
}

}  // namespace
}  // namespace sinew
