#include <sinew/geometry/laplacian.h>

#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <Eigen/Eigenvalues>

#include <sinew/geometry/volume.h>

#include "tests/support/meshes.h"

namespace sinew {
namespace {

using Sparse = Eigen::SparseMatrix<double>;

// Finite, symmetric to the bit, rows sum to zero, well-formed storage.
void expect_laplacian(const Sparse& laplacian) {
  ASSERT_TRUE(laplacian.isCompressed());
  double largest = 0;
  for (int column = 0; column < laplacian.outerSize(); ++column) {
    double sum = 0, size = 0;
    int last_row = -1;
    for (Sparse::InnerIterator entry(laplacian, column); entry; ++entry) {
      EXPECT_TRUE(std::isfinite(entry.value()));
      EXPECT_GT(entry.row(), last_row);
      last_row = static_cast<int>(entry.row());
      EXPECT_EQ(entry.value(), laplacian.coeff(column, entry.row()));
      sum += entry.value();
      size += std::abs(entry.value());
    }
    EXPECT_LE(std::abs(sum), 1e-14 * size) << "column " << column;
    largest = std::max(largest, size);
  }
}

double smallest_eigenvalue(const Sparse& laplacian) {
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(Eigen::MatrixXd(laplacian), Eigen::EigenvaluesOnly)
      .eigenvalues()
      .minCoeff();
}

TEST(Laplacian, RightAngledGridHasTheFivePointStencil) {
  // Diagonals stand opposite two right angles and drop out; axis edges opposite two angles of 45°.
  const Mesh grid = test::make_grid(4, 4, 4, 4);
  const Sparse laplacian = cotangent_laplacian(grid.view());
  expect_laplacian(laplacian);
  const int centre = 12;
  EXPECT_NEAR(laplacian.coeff(centre, centre), 4, 1e-14);
  for (const int neighbour : {centre - 1, centre + 1, centre - 5, centre + 5})
    EXPECT_NEAR(laplacian.coeff(centre, neighbour), -1, 1e-14);
  EXPECT_NEAR(laplacian.coeff(centre, centre + 6), 0, 1e-14);
  EXPECT_NEAR(laplacian.coeff(0, 1), -0.5, 1e-14);  // on the border: one triangle
}

TEST(Laplacian, EquilateralTriangle) {
  const Mesh mesh =
      make_mesh({{0, 0, 0}, {1, 0, 0}, {0.5f, std::sqrt(0.75f), 0}}, std::vector<Triangle>{{0, 1, 2}});
  const Sparse laplacian = cotangent_laplacian(mesh.view());
  EXPECT_NEAR(laplacian.coeff(0, 1), -0.5 / std::sqrt(3.0), 1e-7);
  EXPECT_NEAR(laplacian.coeff(0, 0), 1 / std::sqrt(3.0), 1e-7);
}

TEST(Laplacian, LinearFunctionsAreHarmonicInsideAnIrregularPlane) {
  Mesh grid = test::make_grid(8, 8);
  for (int j = 1; j < 8; ++j)
    for (int i = 1; i < 8; ++i) {
      Vec3f& p = grid.positions[j * 9 + i];
      p.x() += 0.03f * std::sin(12.9898f * i + 78.233f * j);
      p.y() += 0.03f * std::sin(39.346f * i + 11.135f * j);
    }
  const Sparse laplacian = cotangent_laplacian(grid.view());
  expect_laplacian(laplacian);
  Eigen::VectorXd linear(81), square(81);
  for (int v = 0; v < 81; ++v) {
    const Vec3d p = grid.positions[v].cast<double>();
    linear[v] = 2 * p.x() - 3 * p.y() + 5;
    square[v] = p.squaredNorm();
  }
  const Eigen::VectorXd result = laplacian * linear, bent = laplacian * square;
  const Eigen::VectorXd mass = lumped_mass(grid.view());
  for (int j = 1; j < 8; ++j)
    for (int i = 1; i < 8; ++i) EXPECT_NEAR(result[j * 9 + i], 0, 1e-12);
  // -Δ(x² + y²) = -4, on average over the inside.
  double sum = 0, area = 0;
  for (int j = 1; j < 8; ++j)
    for (int i = 1; i < 8; ++i) {
      sum += bent[j * 9 + i];
      area += mass[j * 9 + i];
    }
  EXPECT_NEAR(sum / area, -4, 0.15);
}

TEST(Laplacian, EnergyOfALinearFunctionIsAreaTimesSlopeSquared) {
  const Mesh torus = test::make_torus(24, 16);
  const Sparse laplacian = cotangent_laplacian(torus.view());
  // Σ over x, y, z of the Dirichlet energy of the coordinate functions is twice the area, exactly.
  double energy = 0;
  for (int k = 0; k < 3; ++k) {
    Eigen::VectorXd x(torus.positions.size());
    for (Eigen::Index v = 0; v < x.size(); ++v) x[v] = torus.positions[v][k];
    energy += x.dot(laplacian * x);
  }
  EXPECT_NEAR(energy, 2 * surface_area(torus.view()), 1e-10);
}

TEST(Laplacian, IsPositiveSemiDefinite) {
  for (const Mesh& mesh : {test::make_cube(), test::make_icosphere(1), test::make_tube(7, 5)}) {
    const Sparse laplacian = cotangent_laplacian(mesh.view());
    expect_laplacian(laplacian);
    EXPECT_GT(smallest_eigenvalue(laplacian), -1e-12);
  }
}

TEST(Laplacian, DoesNotDependOnSize) {
  const Mesh sphere = test::make_icosphere(1);
  const Eigen::MatrixXd expected = cotangent_laplacian(sphere.view()).toDense();
  for (const float scale : {0x1p-100f, 0x1p-60f, 0x1p60f, 0x1p120f}) {
    const Mesh scaled = test::moved(sphere, Vec3f::Zero(), scale);
    EXPECT_LT((cotangent_laplacian(scaled.view()).toDense() - expected).cwiseAbs().maxCoeff(), 1e-12)
        << scale;
  }
}

TEST(Laplacian, SurvivesDegenerateTriangles) {
  const std::vector<Vec3f> positions = {{0, 0, 0}, {1, 0, 0},      {0.5f, 0, 0}, {0, 1, 0},
                                        {1, 0, 0}, {1, 1e-30f, 0}, {7, 7, 7},    {7, 7, 7}};
  const std::vector<std::vector<Triangle>> cases = {
      {{0, 1, 2}},             // collinear, obtuse
      {{0, 1, 4}},             // two corners at one point
      {{0, 1, 5}},             // needle
      {{6, 7, 6}},             // repeated corner
      {{6, 7, 6}, {6, 6, 6}},  // one point
      {{0, 1, 2}, {0, 2, 3}, {2, 1, 3}, {0, 1, 5}, {1, 4, 3}},
  };
  for (const auto& triangles : cases) {
    const Mesh mesh = make_mesh(positions, triangles);
    const Sparse laplacian = cotangent_laplacian(mesh.view());
    expect_laplacian(laplacian);
    EXPECT_GT(smallest_eigenvalue(laplacian), -1e-8);
    for (int k = 0; k < laplacian.nonZeros(); ++k)
      EXPECT_LE(std::abs(laplacian.valuePtr()[k]), 4 * double(triangles.size()) / kSmallestHeight);
  }
}

TEST(Laplacian, NonManifoldAndDuplicateTrianglesAddUp) {
  const std::vector<Vec3f> positions = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0, -1, 0}};
  const std::vector<Triangle> pages = {{0, 1, 2}, {1, 0, 3}, {0, 1, 4}, {0, 1, 4}};
  const Sparse whole = cotangent_laplacian(MeshView{positions, pages});
  expect_laplacian(whole);
  Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(5, 5);
  for (const Triangle& page : pages)
    sum += cotangent_laplacian(MeshView{positions, std::span(&page, 1)}).toDense();
  EXPECT_LT((whole.toDense() - sum).cwiseAbs().maxCoeff(), 1e-13);
}

TEST(Laplacian, AnyTrianglesGiveAFinitePositiveMatrix) {
  EXPECT_TRUE(rc::check("random triangles on a small lattice", [] {
    const auto numbers =
        *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, 27));
    std::vector<Vec3f> positions;
    for (int v = 0; v < 27; ++v)
      positions.push_back(
          {static_cast<float>(v % 3), static_cast<float>(v / 3 % 3), static_cast<float>(v / 9)});
    std::vector<Triangle> triangles;
    for (std::size_t i = 0; i + 2 < numbers.size(); i += 3)
      triangles.push_back({numbers[i], numbers[i + 1], numbers[i + 2]});
    const Sparse laplacian = cotangent_laplacian(MeshView{positions, triangles});
    RC_ASSERT(Eigen::MatrixXd(laplacian).allFinite());
    RC_ASSERT(laplacian.toDense() == laplacian.toDense().transpose());
    RC_ASSERT(smallest_eigenvalue(laplacian) > -1e-7);
  }));
}

TEST(LumpedMass, AddsUpToTheArea) {
  const Mesh torus = test::make_torus(20, 10);
  const Eigen::VectorXd mass = lumped_mass(torus.view());
  EXPECT_NEAR(mass.sum(), surface_area(torus.view()), 1e-10);
  const Mesh grid = test::make_grid(2, 2, 2, 2);
  EXPECT_NEAR(lumped_mass(grid.view())[4], 1, 1e-12);        // six triangles of ½
  EXPECT_NEAR(lumped_mass(grid.view())[0], 1.0 / 3, 1e-12);  // two
}

TEST(LumpedMass, IsStrictlyPositive) {
  Mesh mesh = test::make_cube();
  mesh.positions.push_back({9, 9, 9});
  EXPECT_GT(lumped_mass(mesh.view())[8], 0);
  EXPECT_LT(lumped_mass(mesh.view())[8], 1e-5);
  const Mesh flat = make_mesh({{0, 0, 0}, {1, 0, 0}, {2, 0, 0}}, std::vector<Triangle>{{0, 1, 2}});
  EXPECT_EQ(lumped_mass(flat.view()), Eigen::VectorXd::Ones(3));
  for (const float scale : {1e-20f, 1e18f}) {
    const Mesh scaled = test::moved(test::make_cube(), Vec3f::Zero(), scale);
    EXPECT_NEAR(lumped_mass(scaled.view()).sum() / (24.0 * scale * scale), 1, 1e-6);
  }
}

TEST(Laplacian, EmptyMesh) {
  EXPECT_EQ(cotangent_laplacian(MeshView{}).rows(), 0);
  EXPECT_EQ(lumped_mass(MeshView{}).size(), 0);
}

}  // namespace
}  // namespace sinew
