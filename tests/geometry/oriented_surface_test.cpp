#include <sinew/geometry/oriented_surface.h>

#include <gtest/gtest.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

// The same solid in several states of health: a tube of radius 0.1 along y from 0 to 1.
std::vector<Mesh> tubes() {
  const Mesh whole = test::make_tube(16, 8, 0.1f, 1.0f, true);
  Mesh inside_out = whole, walled = whole, mixed = whole;
  for (Triangle& f : inside_out.triangles) std::swap(f[1], f[2]);
  for (std::uint32_t ring : {2u, 4u, 6u})
    for (std::uint32_t i = 1; i + 1 < 16; ++i)
      walled.triangles.push_back({16 * ring, 16 * ring + i, 16 * ring + i + 1});
  for (std::size_t t = 0; t < mixed.triangles.size(); t += 2)
    std::swap(mixed.triangles[t][1], mixed.triangles[t][2]);
  return {whole, inside_out, walled, mixed, test::join(whole, whole), test::make_tube(16, 8, 0.1f, 1.0f)};
}

TEST(OrientedSurface, ContainsWhatIsInside) {
  for (const Mesh& mesh : tubes()) {
    const OrientedSurface surface(mesh.view());
    for (const double y : {0.2, 0.51, 0.8})
      for (const double x : {0.0, 0.05, 0.09}) EXPECT_TRUE(surface.contains({x, y, 0.01}));
    for (const double x : {0.12, 0.5, -3.0}) EXPECT_FALSE(surface.contains({x, 0.4, 0.01}));
    EXPECT_FALSE(surface.contains({0, 1.5, 0}));
  }
}

TEST(OrientedSurface, ReachesToTheSkinAndThroughWalls) {
  const std::vector<Mesh> meshes = tubes();
  for (const Mesh& mesh : std::span(meshes).first(5)) {
    const OrientedSurface surface(mesh.view());
    EXPECT_NEAR(surface.reach({0.01, 0.2, 0.01}, Vec3d::UnitY()), 0.8, 1e-5);
    EXPECT_NEAR(surface.reach({0, 0.52, 0.001}, Vec3d::UnitX()), 0.1, 2e-3);
    EXPECT_EQ(surface.reach({0.2, 0.5, 0}, -Vec3d::UnitX()), 0);  // from outside
  }
}

TEST(OrientedSurface, WhatPartOfAWayIsOutside) {
  // Two tubes, 0.2 apart between their walls; from the far wall of one to the middle of the other.
  const Mesh whole = test::make_tube(32, 8, 0.1f, 1.0f, true);
  const Mesh mesh = test::join(whole, test::moved(whole, {0.4f, 0, 0}));
  const OrientedSurface surface(mesh.view());
  const Ray ray{
      .origin = {-0.1f, 0.53f, 0.001f}, .direction = {0.5f, 0, 0}, .t_near = 1e-3f, .t_far = 0.999f};
  EXPECT_NEAR(surface.outside_share(ray, true), 0.2 / 0.5, 5e-3);
  // One piece, by the sides of its triangles: from its wall to a point outside behind the other wall.
  const OrientedSurface one(whole.view());
  EXPECT_NEAR(one.outside_share(ray, true), 0.3 / 0.5, 5e-3);
}

TEST(OrientedSurface, EmptyContainsNothing) {
  const OrientedSurface surface(MeshView{});
  EXPECT_FALSE(surface.contains({0, 0, 0}));
  EXPECT_EQ(surface.reach({0, 0, 0}, Vec3d::UnitX()), 0);
}

}  // namespace
}  // namespace sinew
