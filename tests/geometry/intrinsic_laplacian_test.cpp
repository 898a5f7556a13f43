#include <sinew/core/index.h>
#include <sinew/geometry/intrinsic_laplacian.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <random>
#include <utility>

#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <Eigen/Dense>

#include <sinew/geometry/laplacian.h>
#include <sinew/geometry/topology.h>
#include <sinew/geometry/volume.h>
#include <sinew/geometry/weld.h>
#include <sinew/scene/scene.h>

#include "tests/support/assets.h"
#include "tests/support/meshes.h"
#include "tests/support/sanitized.h"

namespace sinew {
namespace {

using Sparse = Eigen::SparseMatrix<double>;
using Random = std::mt19937;

// Own functions: the standard's distributions differ between libraries.
std::uint32_t pick(Random& random, std::uint32_t count) {
  return static_cast<std::uint32_t>(random() % count);
}
float uniform(Random& random, float low, float high) {
  return low + (high - low) * static_cast<float>(random() >> 8) / static_cast<float>(1 << 24);
}

// What the header promises for any mesh.
void expect_valid(const IntrinsicLaplacian& result, std::size_t vertex_count) {
  const Sparse& laplacian = result.laplacian;
  ASSERT_EQ(laplacian.rows(), static_cast<Eigen::Index>(vertex_count));
  ASSERT_EQ(laplacian.cols(), laplacian.rows());
  ASSERT_EQ(result.mass.size(), laplacian.rows());
  ASSERT_TRUE(laplacian.isCompressed());
  const Sparse transposed = laplacian.transpose();
  ASSERT_EQ(transposed.nonZeros(), laplacian.nonZeros());
  for (int k = 0; k < laplacian.nonZeros(); ++k) {
    ASSERT_EQ(laplacian.valuePtr()[k], transposed.valuePtr()[k]);
    ASSERT_EQ(laplacian.innerIndexPtr()[k], transposed.innerIndexPtr()[k]);
  }
  for (int column = 0; column < laplacian.outerSize(); ++column) {
    double sum = 0, size = 0;
    int last_row = -1;
    bool diagonal = false;
    for (Sparse::InnerIterator entry(laplacian, column); entry; ++entry) {
      ASSERT_TRUE(std::isfinite(entry.value()));
      ASSERT_GT(entry.row(), last_row);
      last_row = static_cast<int>(entry.row());
      if (entry.row() == column)
        diagonal = true;
      else
        ASSERT_LE(entry.value(), 0) << entry.row() << ", " << column;
      sum += entry.value();
      size += std::abs(entry.value());
    }
    ASSERT_TRUE(diagonal);
    ASSERT_LE(std::abs(sum), 1e-14 * size) << "column " << column;
  }
  for (const double mass : result.mass) {
    ASSERT_TRUE(std::isfinite(mass));
    ASSERT_GT(mass, 0);
  }
}

double largest(const Sparse& matrix) {
  return matrix.nonZeros() > 0 ? matrix.coeffs().cwiseAbs().maxCoeff() : 0;
}
double distance(const Sparse& a, const Sparse& b) {
  return largest(Sparse(a - b));
}

void expect_same_bits(const IntrinsicLaplacian& a, const IntrinsicLaplacian& b) {
  ASSERT_EQ(a.laplacian.nonZeros(), b.laplacian.nonZeros());
  const auto entries = to_size(a.laplacian.nonZeros());
  EXPECT_EQ(std::memcmp(a.laplacian.valuePtr(), b.laplacian.valuePtr(), entries * sizeof(double)), 0);
  EXPECT_EQ(std::memcmp(a.laplacian.innerIndexPtr(), b.laplacian.innerIndexPtr(), entries * sizeof(int)), 0);
  EXPECT_EQ(a.mass, b.mass);
}

int wrong_signs(const Sparse& laplacian) {
  int count = 0;
  for (int column = 0; column < laplacian.outerSize(); ++column)
    for (Sparse::InnerIterator entry(laplacian, column); entry; ++entry)
      count += entry.row() != column && entry.value() > 1e-9;
  return count;
}

constexpr IntrinsicLaplacianOptions kDoubled{.always_double = true};

// A torus, bumpy and compressed along z, so that many triangles are needles.
Mesh make_bumpy_torus(int around, int across, std::uint32_t seed = 1) {
  Mesh torus = test::make_torus(around, across);
  Random random(seed);
  for (Vec3f& p : torus.positions) {
    for (float& x : p) x += uniform(random, -0.03f, 0.03f);
    p.z() *= 0.15f;
  }
  return torus;
}

// A square of side n in the plane z = 0 with jittered vertices. All angles opposite the border stay acute,
// also in its Delaunay triangulation.
Mesh make_jittered_square(int n, std::uint32_t seed) {
  Mesh square = test::make_grid(n, n, static_cast<float>(n), static_cast<float>(n));
  Random random(seed);
  for (Vec3f& p : square.positions) {
    const float dx = uniform(random, -0.15f, 0.15f), dy = uniform(random, -0.15f, 0.15f);
    if (p.x() > 0.5f && p.x() < static_cast<float>(n) - 0.5f) p.x() += dx;
    if (p.y() > 0.5f && p.y() < static_cast<float>(n) - 0.5f) p.y() += dy;
  }
  return square;
}

double twice_signed_area(const Mesh& mesh, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const Vec3d p = mesh.positions[a].cast<double>(), q = mesh.positions[b].cast<double>(),
              r = mesh.positions[c].cast<double>();
  return (q - p).cross(r - p).z();
}

// Flips random edges of a flat mesh that is counter-clockwise, wherever the result is one too.
void scramble(Mesh& mesh, int attempts, Random& random) {
  for (int i = 0; i < attempts; ++i) {
    Triangle& f = mesh.triangles[pick(random, static_cast<std::uint32_t>(mesh.triangles.size()))];
    const std::uint32_t k = pick(random, 3), a = f[k], b = f[(k + 1) % 3], c = f[(k + 2) % 3];
    for (Triangle& g : mesh.triangles)
      for (std::uint32_t m = 0; m < 3; ++m) {
        if (g[m] != b || g[(m + 1) % 3] != a) continue;
        const std::uint32_t d = g[(m + 2) % 3];
        if (twice_signed_area(mesh, a, d, c) < 0.1 || twice_signed_area(mesh, d, b, c) < 0.1) continue;
        f = {a, d, c};
        g = {d, b, c};
        goto flipped;
      }
  flipped:;
  }
}

// All triangles of the plane's points whose circumcircle is empty.
std::vector<Triangle> delaunay_by_definition(const Mesh& mesh) {
  std::vector<Triangle> found;
  const auto n = static_cast<std::uint32_t>(mesh.positions.size());
  for (std::uint32_t a = 0; a < n; ++a)
    for (std::uint32_t b = a + 1; b < n; ++b)
      for (std::uint32_t c = b + 1; c < n; ++c) {
        const double orientation = twice_signed_area(mesh, a, b, c);
        if (std::abs(orientation) < 1e-9) continue;
        bool empty = true;
        for (std::uint32_t d = 0; d < n && empty; ++d) {
          if (d == a || d == b || d == c) continue;
          Eigen::Matrix3d lifted;
          int row = 0;
          for (const std::uint32_t v : {a, b, c}) {
            const Vec3d p = (mesh.positions[v] - mesh.positions[d]).cast<double>();
            lifted.row(row++) << p.x(), p.y(), p.x() * p.x() + p.y() * p.y();
          }
          empty = lifted.determinant() * orientation < 0;
        }
        if (empty) found.push_back({a, b, c});
      }
  return found;
}

void turn_some(std::vector<Triangle>& triangles, Random& random) {
  for (Triangle& f : triangles)
    if (pick(random, 2) == 0) std::swap(f[1], f[2]);
}

TEST(IntrinsicLaplacian, EqualsTheCotangentLaplacianOfDelaunayMeshes) {
  const Mesh open_sphere = [] {
    Mesh sphere = test::make_icosphere(3);
    sphere.triangles.resize(sphere.triangles.size() - 7);
    return sphere;
  }();
  for (const Mesh& mesh :
       {test::make_icosphere(3), test::make_grid(5, 4, 5, 4), test::make_cube(), open_sphere})
    for (const IntrinsicLaplacianOptions& options : {IntrinsicLaplacianOptions{}, kDoubled}) {
      const IntrinsicLaplacian result = intrinsic_laplacian(mesh.view(), options);
      expect_valid(result, mesh.positions.size());
      EXPECT_LT(distance(result.laplacian, cotangent_laplacian(mesh.view())), 1e-13);
      EXPECT_LT((result.mass - lumped_mass(mesh.view())).cwiseAbs().maxCoeff(), 1e-13);
      EXPECT_EQ(result.flips, 0u);
      EXPECT_EQ(result.mollified_components, 0u);
      EXPECT_EQ(result.doubled_components, options.always_double ? 1u : 0u);
      EXPECT_EQ(result.components, 1u);
    }
}

TEST(IntrinsicLaplacian, FindsTheDelaunayTriangulationOfThePlane) {
  Random random(5);
  for (std::uint32_t seed = 0; seed < 3; ++seed) {
    Mesh square = make_jittered_square(5, seed);
    const std::vector<Triangle> delaunay = delaunay_by_definition(square);
    ASSERT_EQ(delaunay.size(), square.triangles.size());
    const Sparse expected = cotangent_laplacian(MeshView{square.positions, delaunay});
    scramble(square, 1000, random);
    EXPECT_GT(wrong_signs(cotangent_laplacian(square.view())), 20);
    for (const IntrinsicLaplacianOptions& options : {IntrinsicLaplacianOptions{}, kDoubled}) {
      const IntrinsicLaplacian result = intrinsic_laplacian(square.view(), options);
      expect_valid(result, square.positions.size());
      EXPECT_LT(distance(result.laplacian, expected), 1e-9);
      EXPECT_EQ(result.non_delaunay_edges, 0u);
      EXPECT_GT(result.flips, 10u);
      EXPECT_NEAR(result.mass.sum(), 25, 1e-9);
    }
    turn_some(square.triangles, random);
    EXPECT_LT(distance(intrinsic_laplacian(square.view()).laplacian, expected), 1e-9);
  }
}

TEST(IntrinsicLaplacian, LinearFunctionsAreHarmonicInsideAPlane) {
  const int n = 20;
  Mesh square = make_jittered_square(n, 7);
  Random random(8);
  scramble(square, 4000, random);
  // Squeezed: now many angles opposite the border are obtuse, too.
  for (Vec3f& p : square.positions) p.y() *= 0.25f;
  const IntrinsicLaplacian result = intrinsic_laplacian(square.view());
  expect_valid(result, square.positions.size());
  EXPECT_EQ(result.mollified_components, 0u);
  EXPECT_EQ(result.doubled_components, 1u);
  EXPECT_EQ(result.non_delaunay_edges, 0u);
  Eigen::VectorXd linear(result.mass.size());
  for (std::size_t v = 0; v < square.positions.size(); ++v)
    linear[static_cast<Eigen::Index>(v)] = 2.0 * square.positions[v].x() - 3.0 * square.positions[v].y() + 5;
  const Eigen::VectorXd residual = result.laplacian * linear;
  // Edges of vertices next to the border may lead across it to the back.
  int inside = 0;
  for (std::size_t v = 0; v < square.positions.size(); ++v) {
    const Vec3f p = square.positions[v];
    if (p.x() < 4 || p.x() > n - 4 || p.y() < 1.5f || p.y() > 3.5f) continue;
    EXPECT_NEAR(residual[static_cast<Eigen::Index>(v)], 0, 1e-9);
    ++inside;
  }
  EXPECT_GT(inside, 80);
}

TEST(IntrinsicLaplacian, NeedlesObeyTheMaximumPrinciple) {
  const Mesh torus = make_bumpy_torus(40, 30);
  EXPECT_GT(wrong_signs(cotangent_laplacian(torus.view())), 500);
  const IntrinsicLaplacian result = intrinsic_laplacian(torus.view());
  expect_valid(result, torus.positions.size());
  EXPECT_GT(result.flips, 500u);
  EXPECT_EQ(result.non_delaunay_edges, 0u);
  EXPECT_EQ(result.doubled_components, 0u);
  EXPECT_NEAR(result.mass.sum(), surface_area(torus.view()), 1e-5);
  // Nothing was cut off: the rows of a geometric Laplacian are not just any, its energy of a function is the
  // smallest among the cotangent Laplacians of all triangulations (Rippa 1990).
  const Sparse cotangents = cotangent_laplacian(torus.view());
  Random random(2);
  for (int i = 0; i < 20; ++i) {
    Eigen::VectorXd f(result.mass.size());
    for (double& x : f) x = uniform(random, -1, 1);
    EXPECT_LT(f.dot(result.laplacian * f), f.dot(cotangents * f));
  }

  const IntrinsicLaplacian doubled = intrinsic_laplacian(torus.view(), kDoubled);
  EXPECT_EQ(doubled.doubled_components, 1u);
  EXPECT_LT(distance(result.laplacian, doubled.laplacian), 1e-9);
  EXPECT_LT((result.mass - doubled.mass).cwiseAbs().maxCoeff(), 1e-12);
}

TEST(IntrinsicLaplacian, ObtuseTriangleLeadsHeatOverItsBack) {
  // Angles at 1 and 2 below 45°: on the cover the edge 12 becomes a loop at 0. What is left are two triangles
  // of both sides, with the angles π/2 - α opposite the edge from 0 to the corner of angle α.
  const std::vector<Vec3f> positions = {{0, 1, 0}, {-2, 0, 0}, {3, 0, 0}};
  for (const Triangle& triangle : {Triangle{0, 1, 2}, Triangle{1, 0, 2}}) {
    const IntrinsicLaplacian result = intrinsic_laplacian(MeshView{positions, std::span(&triangle, 1)});
    expect_valid(result, 3);
    EXPECT_EQ(result.boundary_edges, 3u);
    EXPECT_EQ(result.doubled_components, 1u);
    EXPECT_EQ(result.flips, 1u);
    EXPECT_NEAR(result.laplacian.coeff(0, 1), -0.5 / 2, 1e-12);
    EXPECT_NEAR(result.laplacian.coeff(0, 2), -0.5 / 3, 1e-12);
    EXPECT_EQ(result.laplacian.coeff(1, 2), 0);
    EXPECT_NEAR(result.mass.sum(), 2.5, 1e-12);
    EXPECT_NEAR(result.mass[0], 2.5 * 2 / 3, 1e-12);  // two of three corners
  }
}

TEST(IntrinsicLaplacian, PagesOfABookAreGluedToTheirNeighbours) {
  // Obtuse pages round the edge 01. Each two neighbours form a kite on the cover, and 01 is flipped to
  // lead from page to page.
  const double angle0 = std::atan(1.0 / 2), angle1 = std::atan(1.0 / 3);
  for (const int pages : {3, 4, 7}) {
    std::vector<Vec3f> positions = {{0, 0, -2}, {0, 0, 3}};
    std::vector<Triangle> triangles;
    // Page p stands in the direction order[p]: neither vertices nor triangles are sorted round the edge.
    std::vector<int> order(to_size(pages));
    for (int p = 0; p < pages; ++p) order[to_size(p)] = p * 3 % pages;
    if (pages == 3) order = {0, 2, 1};
    for (int p = 0; p < pages; ++p) {
      const double turn = 0.3 + 2 * std::numbers::pi * order[to_size(p)] / pages;
      positions.emplace_back(static_cast<float>(std::cos(turn)), static_cast<float>(std::sin(turn)), 0.0f);
      const auto apex = static_cast<std::uint32_t>(p + 2);
      triangles.push_back(p % 3 == 1 ? Triangle{0, apex, 1} : Triangle{apex, 0, 1});
    }
    const IntrinsicLaplacian result = intrinsic_laplacian(MeshView{positions, triangles});
    expect_valid(result, positions.size());
    EXPECT_EQ(result.non_manifold_edges, 1u);
    EXPECT_EQ(result.boundary_edges, 2u * triangles.size());
    EXPECT_EQ(result.flips, triangles.size());
    EXPECT_EQ(result.laplacian.coeff(0, 1), 0);
    const double between = 0.25 * (1 / std::tan(2 * angle0) + 1 / std::tan(2 * angle1));
    for (int p = 0; p < pages; ++p) {
      EXPECT_NEAR(result.laplacian.coeff(0, p + 2), -0.5 * std::tan(angle0), 1e-6);
      EXPECT_NEAR(result.laplacian.coeff(1, p + 2), -0.5 * std::tan(angle1), 1e-6);
      for (int q = 0; q < p; ++q) {
        const int apart = std::abs(order[to_size(p)] - order[to_size(q)]);
        const bool neighbours = apart == 1 || apart == pages - 1;
        EXPECT_NEAR(result.laplacian.coeff(p + 2, q + 2), neighbours ? -between : 0, 1e-6);
      }
    }
  }
}

TEST(IntrinsicLaplacian, WindingDoesNotMatter) {
  Random random(11);
  Mesh torus = make_bumpy_torus(20, 15);
  const IntrinsicLaplacian expected = intrinsic_laplacian(torus.view());
  turn_some(torus.triangles, random);
  const IntrinsicLaplacian turned = intrinsic_laplacian(torus.view());
  expect_valid(turned, torus.positions.size());
  EXPECT_GT(turned.flipped_edges, 100u);
  EXPECT_EQ(turned.doubled_components, 1u);
  EXPECT_LT(distance(expected.laplacian, turned.laplacian), 1e-9);
  EXPECT_LT((expected.mass - turned.mass).cwiseAbs().maxCoeff(), 1e-12);
}

TEST(IntrinsicLaplacian, AnObtuseAngleNeedsNoCoverWhereItsNeighbourMakesUpForIt) {
  const std::vector<Vec3f> positions = {{0, 0, 0}, {2, 0, 0}, {1, 0.9f, 0}, {1, -2, 0}};
  const std::vector<Triangle> triangles = {{0, 1, 2}, {0, 1, 3}};
  const IntrinsicLaplacian result = intrinsic_laplacian(MeshView{positions, triangles});
  expect_valid(result, 4);
  EXPECT_EQ(result.flipped_edges, 1u);
  EXPECT_EQ(result.doubled_components, 0u);
  EXPECT_LT(distance(result.laplacian, cotangent_laplacian(MeshView{positions, triangles})), 1e-13);
}

TEST(IntrinsicLaplacian, SizeAndPlaceDoNotMatter) {
  const Mesh torus = make_bumpy_torus(20, 15);
  const IntrinsicLaplacian expected = intrinsic_laplacian(torus.view());
  // Powers of two change no rounding, others that of the positions.
  for (const float scale : {0x1p-60f, 0x1p-10f, 0x1p10f, 0x1p60f, 1e-6f, 1e-3f, 1e3f, 1e6f}) {
    const IntrinsicLaplacian scaled = intrinsic_laplacian(test::moved(torus, Vec3f::Zero(), scale).view());
    expect_valid(scaled, torus.positions.size());
    int exponent;
    const bool power_of_two = std::frexp(scale, &exponent) == 0.5f;
    EXPECT_LE(distance(expected.laplacian, scaled.laplacian), power_of_two ? 0 : 1e-3) << scale;
    const double area_scale = static_cast<double>(scale) * static_cast<double>(scale);
    EXPECT_LT((expected.mass - scaled.mass / area_scale).cwiseAbs().maxCoeff(), 1e-6) << scale;
  }
  Mesh turned = torus;
  for (Vec3f& p : turned.positions) p = Vec3f(p.y(), p.z(), p.x());
  EXPECT_LT(distance(expected.laplacian, intrinsic_laplacian(turned.view()).laplacian), 1e-12);
  const Mesh far = test::moved(torus, Vec3f(64, -128, 32));
  EXPECT_LT(distance(expected.laplacian, intrinsic_laplacian(far.view()).laplacian), 0.05);
}

TEST(IntrinsicLaplacian, DegenerateTrianglesAreMollified) {
  const std::vector<Vec3f> positions = {{0, 0, 0}, {1, 0, 0},      {0.5f, 0, 0}, {0, 1, 0},
                                        {1, 0, 0}, {1, 1e-30f, 0}, {7, 7, 7},    {7, 7, 7}};
  const std::vector<std::vector<Triangle>> cases = {
      {{0, 1, 2}},  // collinear, obtuse
      {{0, 1, 4}},  // two corners at one point
      {{0, 1, 5}},  // needle
      {{0, 1, 2}, {0, 2, 3}, {2, 1, 3}, {0, 1, 5}, {1, 4, 3}},
  };
  for (const auto& triangles : cases)
    for (const float scale : {1e-6f, 1.0f, 1e6f})
      for (const double mollification : {1e-3, 1e-5, 0.0}) {
        std::vector<Vec3f> scaled = positions;
        for (Vec3f& p : scaled) p *= scale;
        const IntrinsicLaplacian result =
            intrinsic_laplacian(MeshView{scaled, triangles}, {.mollification = mollification});
        expect_valid(result, positions.size());
        EXPECT_EQ(result.mollified_components, mollification > 0 ? 1u : 0u);
        for (const Triangle& f : triangles)
          for (const std::uint32_t v : f) EXPECT_TRUE(mollification == 0 || result.laplacian.coeff(v, v) > 0);
      }
}

TEST(IntrinsicLaplacian, ASinglePointStaysCoupled) {
  const std::vector<Vec3f> positions(3, Vec3f(4, 5, 6));
  const Triangle triangle{0, 1, 2};
  const IntrinsicLaplacian result = intrinsic_laplacian(MeshView{positions, std::span(&triangle, 1)});
  expect_valid(result, 3);
  EXPECT_NEAR(result.laplacian.coeff(0, 1), -0.5 / std::sqrt(3.0), 1e-12);
  EXPECT_EQ(result.mass, Eigen::VectorXd::Ones(3));
}

TEST(IntrinsicLaplacian, LeavesOutRepeatedCornersAndDuplicates) {
  Mesh torus = make_bumpy_torus(8, 6);
  const IntrinsicLaplacian expected = intrinsic_laplacian(torus.view());
  const std::vector<Triangle> once = torus.triangles;
  for (std::size_t t = 0; t < once.size(); t += 3)
    torus.triangles.push_back({once[t][2], once[t][1], once[t][0]});
  torus.triangles.push_back(once[0]);
  torus.triangles.push_back({3, 3, 5});
  torus.triangles.insert(torus.triangles.begin(), {4, 4, 4});
  const IntrinsicLaplacian result = intrinsic_laplacian(torus.view());
  expect_same_bits(result, expected);
  EXPECT_EQ(result.duplicate_triangles, (once.size() + 2) / 3 + 1);
  EXPECT_EQ(result.repeated_corner_triangles, 2u);
  EXPECT_EQ(result.doubled_components, 0u);
}

TEST(IntrinsicLaplacian, ComponentsDoNotInfluenceEachOther) {
  const Mesh big = test::moved(make_bumpy_torus(12, 8), Vec3f(0, 0, 0), 1000);
  Mesh small = test::moved(make_jittered_square(4, 3), Vec3f(1, 2, 3), 0.001f);
  small.positions[6] = small.positions[7];          // something to mollify
  for (Vec3f& p : small.positions) p.y() *= 0.25f;  // obtuse at the border
  std::vector<Vec3f> positions = big.positions;
  positions.insert(positions.end(), small.positions.begin(), small.positions.end());
  std::vector<Triangle> triangles = big.triangles;
  for (Triangle f : small.triangles) {
    for (std::uint32_t& v : f) v += static_cast<std::uint32_t>(big.positions.size());
    triangles.push_back(f);
  }
  const IntrinsicLaplacian result = intrinsic_laplacian(MeshView{positions, triangles});
  expect_valid(result, positions.size());
  EXPECT_EQ(result.components, 2u);
  EXPECT_EQ(result.mollified_components, 1u);
  EXPECT_EQ(result.doubled_components, 1u);
  const auto n = static_cast<Eigen::Index>(big.positions.size());
  const auto m = static_cast<Eigen::Index>(small.positions.size());
  const Sparse first = result.laplacian.block(0, 0, n, n), second = result.laplacian.block(n, n, m, m);
  EXPECT_EQ(distance(first, intrinsic_laplacian(big.view()).laplacian), 0);
  EXPECT_EQ(distance(second, intrinsic_laplacian(small.view()).laplacian), 0);
  EXPECT_EQ(first.nonZeros() + second.nonZeros(), result.laplacian.nonZeros());
}

TEST(IntrinsicLaplacian, VerticesWithoutTriangles) {
  Mesh mesh = test::make_cube();
  mesh.positions.insert(mesh.positions.begin(), {9, 9, 9});
  for (Triangle& f : mesh.triangles)
    for (std::uint32_t& v : f) ++v;
  mesh.positions.push_back({9, 9, 9});
  const IntrinsicLaplacian result = intrinsic_laplacian(mesh.view());
  expect_valid(result, 10);
  EXPECT_EQ(result.components, 1u);
  for (const int v : {0, 9}) {
    EXPECT_EQ(result.laplacian.col(v).nonZeros(), 1);
    EXPECT_EQ(result.laplacian.coeff(v, v), 0);
    EXPECT_NEAR(result.mass[v], 1e-6 * 24 / 10, 1e-12);
  }
}

TEST(IntrinsicLaplacian, EmptyMesh) {
  expect_valid(intrinsic_laplacian(MeshView{}), 0);
  const std::vector<Vec3f> positions(4, Vec3f::Zero());
  const IntrinsicLaplacian points = intrinsic_laplacian(MeshView{positions, {}});
  expect_valid(points, 4);
  EXPECT_EQ(points.mass, Eigen::VectorXd::Ones(4));
  const std::vector<Triangle> improper = {{0, 0, 1}, {2, 2, 2}};
  const IntrinsicLaplacian result = intrinsic_laplacian(MeshView{positions, improper}, kDoubled);
  expect_valid(result, 4);
  EXPECT_EQ(result.repeated_corner_triangles, 2u);
  EXPECT_EQ(result.components, 0u);
}

TEST(IntrinsicLaplacian, StaysValidWhenFlipsRunOut) {
  Mesh torus = make_bumpy_torus(20, 15);
  torus.triangles.resize(500);
  for (const double flips : {0.0, 0.05, 0.3}) {
    const IntrinsicLaplacian result = intrinsic_laplacian(torus.view(), {.flips_per_edge = flips});
    expect_valid(result, torus.positions.size());
    EXPECT_LE(static_cast<double>(result.flips), flips * 1500);
    EXPECT_GT(result.non_delaunay_edges, 0u);
  }
  EXPECT_EQ(intrinsic_laplacian(torus.view()).non_delaunay_edges, 0u);
}

TEST(IntrinsicLaplacian, ThreadsDoNotMatter) {
  Mesh torus = make_bumpy_torus(100, 60);
  torus.triangles.resize(11000);
  const auto with_threads = [&](std::size_t threads) {
    const tbb::global_control control(tbb::global_control::max_allowed_parallelism, threads);
    return intrinsic_laplacian(torus.view());
  };
  expect_same_bits(with_threads(1), with_threads(4));
}

struct Soup {
  std::vector<Vec3f> positions;
  std::vector<Triangle> triangles;
  MeshView view() const { return {positions, triangles}; }
};

// Few vertices, many triangles: most edges have several. On a lattice many triangles are flat or overlap, and
// some vertices coincide.
Soup make_soup(Random& random) {
  Soup soup;
  const std::uint32_t vertices = 3 + pick(random, 12), kind = pick(random, 4);
  const float scale = std::array{1e-6f, 1.0f, 1e6f}[pick(random, 3)];
  for (std::uint32_t v = 0; v < vertices; ++v) {
    Vec3f p;
    for (float& x : p) x = kind < 2 ? static_cast<float>(pick(random, 3)) : uniform(random, -1, 1);
    if (kind == 2) p.x() *= 1e-4f;
    if (kind == 1) p += Vec3f(1000, 1000, 1000);
    soup.positions.push_back(p * scale);
  }
  for (std::uint32_t count = pick(random, 4 * vertices); count > 0; --count)
    soup.triangles.push_back({pick(random, vertices), pick(random, vertices), pick(random, vertices)});
  return soup;
}

TEST(IntrinsicLaplacian, AnySoupObeysTheMaximumPrinciple) {
  Random random(1234);
  const int soups = test::kSanitized ? 300 : 3000;
  int non_manifold = 0, flipped = 0, duplicates = 0, repeated = 0, mollified = 0, doubled = 0, compared = 0;
  for (int i = 0; i < soups; ++i) {
    SCOPED_TRACE(i);
    const Soup soup = make_soup(random);
    const IntrinsicLaplacian result = intrinsic_laplacian(soup.view());
    expect_valid(result, soup.positions.size());
    if (HasFatalFailure()) return;
    EXPECT_EQ(result.non_delaunay_edges, 0u);
    non_manifold += result.non_manifold_edges > 0;
    flipped += result.flipped_edges > 0;
    duplicates += result.duplicate_triangles > 0;
    repeated += result.repeated_corner_triangles > 0;
    mollified += result.mollified_components > 0;
    doubled += result.doubled_components > 0;

    Soup proper = soup;
    std::erase_if(proper.triangles,
                  [](const Triangle& f) { return f[0] == f[1] || f[1] == f[2] || f[2] == f[0]; });
    EXPECT_EQ(result.repeated_corner_triangles, soup.triangles.size() - proper.triangles.size());
    const TopologyReport topology = inspect_topology(proper.view());
    EXPECT_EQ(result.duplicate_triangles, topology.duplicate_triangles);
    EXPECT_EQ(result.components, topology.components);
    if (topology.duplicate_triangles == 0) {
      EXPECT_EQ(result.boundary_edges, topology.boundary_edges);
      EXPECT_EQ(result.non_manifold_edges, topology.non_manifold_edges);
      EXPECT_EQ(result.flipped_edges, topology.flipped_edges);
      ++compared;
    }

    // The cover from the start instead of where it is needed; other windings.
    const double tolerance = 1e-6 * (1 + largest(result.laplacian));
    Soup turned = soup;
    turn_some(turned.triangles, random);
    EXPECT_LT(distance(result.laplacian, intrinsic_laplacian(soup.view(), kDoubled).laplacian), tolerance);
    EXPECT_LT(distance(result.laplacian, intrinsic_laplacian(turned.view()).laplacian), tolerance);

    // Heat flows from sources of 0 and 1, none too weak: no value leaves that range.
    const auto n = static_cast<Eigen::Index>(soup.positions.size());
    Eigen::MatrixXd system(result.laplacian);
    Eigen::VectorXd source(n);
    for (Eigen::Index v = 0; v < n; ++v) {
      const double strength = uniform(random, 0.1f, 1);
      system(v, v) += strength;
      source[v] = pick(random, 2) * strength;
    }
    const Eigen::VectorXd heat = system.ldlt().solve(source);
    EXPECT_GE(heat.minCoeff(), -1e-8);
    EXPECT_LE(heat.maxCoeff(), 1 + 1e-8);

    // What hangs together stays coupled.
    std::vector<Triangle> couplings;
    for (int column = 0; column < result.laplacian.outerSize(); ++column)
      for (Sparse::InnerIterator entry(result.laplacian, column); entry; ++entry)
        if (entry.value() < 0)
          couplings.push_back({static_cast<std::uint32_t>(column), static_cast<std::uint32_t>(entry.row()),
                               static_cast<std::uint32_t>(column)});
    EXPECT_EQ(connected_components(soup.positions.size(), couplings).of_vertex,
              connected_components(soup.positions.size(), proper.triangles).of_vertex);
  }
  for (const int share : {non_manifold, flipped, duplicates, repeated, mollified, doubled, compared})
    EXPECT_GT(share, soups / 20);
}

TEST(IntrinsicLaplacian, Human) {
  const auto path = test::asset("human.glb");
  if (!path) GTEST_SKIP() << test::missing_asset("human.glb");
  const Scene scene = read_scene(*path);
  const Mesh& surface = scene.meshes.at(0).surface;
  const Weld weld = weld_vertices(surface.positions);
  const WeldedTriangles welded = weld_triangles(weld, surface.triangles);
  const std::vector<Vec3f> positions = welded_positions(weld, surface.positions);
  const MeshView mesh{positions, welded.triangles};
  const IntrinsicLaplacian result = intrinsic_laplacian(mesh);
  expect_valid(result, positions.size());
  EXPECT_GT(wrong_signs(cotangent_laplacian(mesh)), 100);
  EXPECT_GT(result.flips, 100u);
  EXPECT_LT(result.flips, positions.size());
  EXPECT_EQ(result.non_delaunay_edges, 0u);
}

}  // namespace
}  // namespace sinew
