#include <sinew/projection/elastic_relaxation.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/geometry/intrinsic_laplacian.h>

#include "tests/reference/elastic_relaxation.h"
#include "tests/support/allocations.h"
#include "tests/support/meshes.h"

namespace sinew {
namespace {

std::vector<Vec3d> wide(std::span<const Vec3f> points) {
  std::vector<Vec3d> result;
  for (const Vec3f& p : points) result.push_back(p.cast<double>());
  return result;
}

Vec4f with_zero(const Vec3f& v) {
  return {v.x(), v.y(), v.z(), 0};
}

Vec3f random_vector(std::mt19937& random, float size) {
  std::normal_distribution<float> normal(0, size);
  return {normal(random), normal(random), normal(random)};
}

/// A ball whose vertices are turned, pushed about and have slid at random, some of them fixed.
struct Case {
  explicit Case(unsigned seed, float reach = 0.3f) : ball(test::make_icosphere(2)) {
    std::mt19937 random(seed);
    const std::size_t count = ball.positions.size();
    for (std::size_t v = 0; v < count; ++v) anchor.push_back(random() % 5 == 0 ? 0 : reach);
    relaxation.emplace(ball.view(), anchor);
    scratch = relaxation->make_scratch();
    for (std::size_t v = 0; v < count; ++v) {
      const Vec3f axis = random_vector(random, 0.2f);
      scratch.turns[v] = 1.1f * Eigen::AngleAxisf(axis.norm(), axis.normalized()).toRotationMatrix();
      scratch.normals[v] = with_zero(v % 7 == 0 ? Vec3f(0, 0, 0) : Vec3f(ball.positions[v].normalized()));
      scratch.slid[v] = with_zero(random_vector(random, 0.05f));
      positions.push_back(ball.positions[v] + random_vector(random, 0.05f));
      if (relaxation->is_free(static_cast<std::uint32_t>(v))) free.push_back(static_cast<std::uint32_t>(v));
    }
    find_pulls();

    const IntrinsicLaplacian found = intrinsic_laplacian(ball.view());
    laplacian = found.laplacian;
    for (std::size_t v = 0; v < count; ++v) {
      const auto length = static_cast<double>(anchor[v]);
      hold.push_back(length > 0 ? found.mass[static_cast<Eigen::Index>(v)] / (length * length) : 0);
      turns.push_back(scratch.turns[v].cast<double>());
      normals.push_back(scratch.normals[v].head<3>().cast<double>());
      slid.push_back(scratch.slid[v].head<3>().cast<double>());
    }
    rest = wide(ball.positions);
  }

  void find_pulls() {
    for (const std::uint32_t v : free)
      scratch.pulls[v] = relaxation->pull(v, ball.positions, positions, scratch);
  }
  reference::ElasticEnergy energy() const { return {rest, laplacian, hold, turns}; }
  double energy_after(std::span<const Vec3d> moves) const {
    std::vector<Vec3d> at = wide(positions), away = slid;
    for (std::size_t v = 0; v < at.size(); ++v) at[v] += moves[v], away[v] += moves[v];
    return reference::elastic_energy(energy(), at, away);
  }
  std::vector<Vec3d> moves() const {
    std::vector<Vec3d> result;
    for (const Vec4f& move : scratch.moves) result.push_back(move.head<3>().cast<double>());
    return result;
  }

  Mesh ball;
  std::vector<float> anchor;
  std::optional<ElasticRelaxation> relaxation;
  RelaxationScratch scratch;
  std::vector<Vec3f> positions;
  std::vector<std::uint32_t> free;
  Eigen::SparseMatrix<double> laplacian;
  std::vector<double> hold;
  std::vector<Mat3d> turns;
  std::vector<Vec3d> normals, slid, rest;
};

TEST(ElasticRelaxationTwin, PullsAreTheEnergysGradient) {
  const Case c(1);
  const auto gradient = reference::elastic_gradient(c.energy(), wide(c.positions), c.slid);
  for (const std::uint32_t v : c.free) {
    EXPECT_LT((c.scratch.pulls[v].head<3>().cast<double>() + gradient[v]).norm(), 1e-5) << v;
    EXPECT_EQ(c.scratch.pulls[v][3], 0);
  }
  // And that is the energy's own slope.
  constexpr double kStep = 1e-6;
  for (const std::uint32_t v : {c.free[3], c.free[40]})
    for (Eigen::Index axis = 0; axis < 3; ++axis) {
      std::vector<Vec3d> there(c.positions.size(), Vec3d::Zero()), back = there;
      there[v][axis] = kStep, back[v][axis] = -kStep;
      const double slope = (c.energy_after(there) - c.energy_after(back)) / (2 * kStep);
      EXPECT_NEAR(slope / 4, gradient[v][axis], 1e-5);
    }
}

TEST(ElasticRelaxationTwin, MovesLeadToTheLeastEnergy) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    Case c(seed);
    const std::vector<Vec3d> none(c.positions.size(), Vec3d::Zero());
    const std::vector<Vec3d> wanted =
        reference::elastic_moves(c.energy(), wide(c.positions), c.slid, c.normals);
    c.relaxation->find_moves(c.free, 200, c.scratch);
    const std::vector<Vec3d> moves = c.moves();
    double largest = 0;
    for (const Vec3d& move : wanted) largest = std::max(largest, move.norm());
    for (std::size_t v = 0; v < moves.size(); ++v)
      EXPECT_LT((moves[v] - wanted[v]).norm(), 1e-3 * largest) << seed << " " << v;
    EXPECT_LT(c.energy_after(wanted), c.energy_after(none));
    // A dozen sweeps come near.
    c.find_pulls();
    c.relaxation->find_moves(c.free, 12, c.scratch);
    EXPECT_LT(c.energy_after(c.moves()) - c.energy_after(wanted),
              0.01 * (c.energy_after(none) - c.energy_after(wanted)))
        << seed;
  }
}

TEST(ElasticRelaxation, MovesAreTangential) {
  Case c(4);
  c.relaxation->find_moves(c.free, 12, c.scratch);
  for (std::size_t v = 0; v < c.positions.size(); ++v)
    EXPECT_NEAR(c.scratch.moves[v].dot(c.scratch.normals[v]), 0, 1e-6);
}

TEST(ElasticRelaxation, ASlideFadesOverItsAnchor) {
  // Skin that is held one way at one end of a strip goes there by exp(-x / anchor).
  constexpr int kColumns = 80, kRows = 6;
  constexpr float kWidth = 2, kAnchor = 0.2f, kSlide = 0.01f;
  const Mesh strip = test::make_grid(kColumns, kRows, kWidth, 0.15f);
  std::vector<float> anchor(strip.positions.size(), kAnchor);
  std::vector<std::uint32_t> free;
  std::vector<Vec3f> positions = strip.positions;
  for (std::uint32_t v = 0; v < anchor.size(); ++v)
    if (v % (kColumns + 1) == 0) {
      anchor[v] = 0;
      positions[v].x() += kSlide;
    } else {
      free.push_back(v);
    }
  const ElasticRelaxation relaxation(strip.view(), anchor);
  RelaxationScratch scratch = relaxation.make_scratch();
  for (const std::uint32_t v : free)
    scratch.pulls[v] = relaxation.pull(v, strip.positions, positions, scratch);
  relaxation.find_moves(free, 400, scratch);
  for (const std::uint32_t v : free) {
    const float x = strip.positions[v].x();
    EXPECT_NEAR(scratch.moves[v].x(), kSlide * std::exp(-x / kAnchor), 0.01f * kSlide) << x;
  }
}

TEST(ElasticRelaxation, TurnedAndGrownSkinIsAtRest) {
  Case c(5);
  const Eigen::Matrix3f turn = 1.7f * Eigen::AngleAxisf(2, Vec3f(1, 2, 3).normalized()).toRotationMatrix();
  for (std::size_t v = 0; v < c.positions.size(); ++v) {
    c.scratch.turns[v] = turn;
    c.scratch.slid[v].setZero();
    c.positions[v] = turn * c.ball.positions[v] + Vec3f(1, 2, 3);
  }
  for (const std::uint32_t v : c.free)
    EXPECT_LT(c.relaxation->way(v, c.relaxation->pull(v, c.ball.positions, c.positions, c.scratch)), 1e-6f);
}

TEST(ElasticRelaxation, AVertexAloneGoesItsWay) {
  Case c(6);
  const std::vector<std::uint32_t> one{c.free[10]};
  c.scratch.normals[one[0]].setZero();
  const float way = c.relaxation->way(one[0], c.scratch.pulls[one[0]]);
  c.relaxation->find_moves(one, 50, c.scratch);
  EXPECT_NEAR(c.scratch.moves[one[0]].norm(), way, 1e-5f * way);
  for (std::size_t v = 0; v < c.positions.size(); ++v)
    if (v != one[0]) ASSERT_EQ(c.scratch.moves[v].norm(), 0) << v;
}

TEST(ElasticRelaxation, WhatIsFarIsNotFelt) {
  Case c(7);
  c.relaxation->find_moves(c.free, 2, c.scratch);
  const std::vector<Vec3d> before = c.moves();
  const std::uint32_t pulled = c.free[20];
  c.find_pulls();
  c.scratch.pulls[pulled] *= 3;
  c.relaxation->find_moves(c.free, 2, c.scratch);
  const std::vector<Vec3d> after = c.moves();
  std::size_t felt = 0;
  for (std::size_t v = 0; v < before.size(); ++v) {
    felt += before[v] != after[v];
    if ((c.ball.positions[v] - c.ball.positions[pulled]).norm() > 1) EXPECT_EQ(before[v], after[v]);
  }
  EXPECT_GT(felt, 5u);
}

TEST(ElasticRelaxation, SameBitsOnAnyNumberOfThreadsWithoutAllocating) {
  std::vector<std::vector<Vec4f>> results;
  for (const int threads : {1, 4}) {
    Case c(8);
    tbb::task_arena(threads).execute([&] {
      c.relaxation->find_moves(c.free, 12, c.scratch);
      c.find_pulls();
      const std::size_t before = test::allocations();
      c.relaxation->find_moves(c.free, 12, c.scratch);
      if (test::counts_allocations() && threads == 1) EXPECT_EQ(test::allocations(), before);
    });
    results.push_back(c.scratch.moves);
  }
  EXPECT_TRUE(results[0] == results[1]);
}

TEST(ElasticRelaxation, LooseAndFlatSkinStaysFinite) {
  // A triangle, one without area, and a vertex in none.
  const std::vector<Vec3f> rest{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {2, 0, 0}, {3, 0, 0}, {4, 0, 0}, {5, 5, 5}};
  const std::vector<Triangle> triangles{{0, 1, 2}, {3, 4, 5}};
  const std::vector<float> anchor(rest.size(), 0.5f);
  const ElasticRelaxation relaxation(MeshView{rest, triangles}, anchor);
  EXPECT_FALSE(relaxation.is_free(6));
  RelaxationScratch scratch = relaxation.make_scratch();
  std::vector<Vec3f> positions = rest;
  positions[0].x() -= 0.1f, positions[4].y() += 0.1f;
  const std::vector<std::uint32_t> free{0, 1, 2, 3, 4, 5};
  for (const std::uint32_t v : free) scratch.pulls[v] = relaxation.pull(v, rest, positions, scratch);
  relaxation.find_moves(free, 12, scratch);
  for (const Vec4f& move : scratch.moves) EXPECT_TRUE(move.allFinite());
}

TEST(ElasticRelaxation, WhatDoesNotFitIsRefused) {
  const Mesh ball = test::make_icosphere(1);
  const std::vector<float> anchor(ball.positions.size() - 1, 1);
  EXPECT_THROW(ElasticRelaxation(ball.view(), anchor), Error);
}

}  // namespace
}  // namespace sinew
