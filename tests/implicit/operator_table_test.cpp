#include <sinew/implicit/operator_table.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numbers>
#include <random>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <sinew/core/error.h>
#include <sinew/implicit/gradient_blend.h>

#include "tests/reference/implicit_operators.h"
#include "tests/support/sanitized.h"

namespace sinew {
namespace {

// Other builds take 20 times as long.
const bool kFast = test::is_optimized() && !test::kSanitized;

OperatorTableSpec sized(OperatorTableSpec spec, int nodes, int slices) {
  spec.nodes = nodes;
  spec.slices = slices;
  return spec;
}

/// Tables the tests share.
const OperatorTable& table_of(OperatorKind kind) {
  static const auto make = [](OperatorKind k) {
    return kFast ? OperatorTable(table_spec(k)) : OperatorTable(sized(table_spec(k), 33, 9));
  };
  static const OperatorTable contact = make(OperatorKind::contact);
  static const OperatorTable bulge = make(OperatorKind::bulge);
  static const OperatorTable blend = make(OperatorKind::blend);
  return kind == OperatorKind::contact ? contact : kind == OperatorKind::bulge ? bulge : blend;
}
constexpr OperatorKind kSolved[] = {OperatorKind::contact, OperatorKind::bulge};
constexpr OperatorKind kAll[] = {OperatorKind::contact, OperatorKind::bulge, OperatorKind::blend};

Eigen::MatrixXd slice_of(const OperatorTable& table, int slice) {
  const int nodes = table.spec().nodes;
  Eigen::MatrixXd g(nodes, nodes);
  for (int i = 0; i < nodes; ++i)
    for (int j = 0; j < nodes; ++j) g(i, j) = table.node(i, j, slice).value;
  return g;
}

/// Whether the bi-Laplacian at a node sees a value that ended at 1, off the edges.
bool near_clamped(const Eigen::MatrixXd& g, int i, int j) {
  const int last = static_cast<int>(g.rows()) - 1;
  for (int a = std::max(1, i - 2); a <= std::min(last - 1, i + 2); ++a)
    for (int b = std::max(1, j - 2); b <= std::min(last - 1, j + 2); ++b)
      if (g(a, b) >= 1) return true;
  return false;
}

bool same_bits(const OperatorTable& a, const OperatorTable& b) {
  return a.spec() == b.spec() && a.nodes().size() == b.nodes().size() &&
         std::memcmp(a.nodes().data(), b.nodes().data(), a.nodes().size() * sizeof(OperatorTable::Node)) == 0;
}

TEST(OperatorTable, AgreesWithADenseSolution) {
  for (const OperatorTableSpec& spec :
       {table_spec(OperatorKind::contact), table_spec(OperatorKind::bulge),
        table_spec(OperatorProfile{{{0, 0.5}, {0.2, 0.7}, {0.4, 0.45}, {0.5, 0.5}}, false})}) {
    const OperatorTable table(sized(spec, 17, 5));
    for (int slice = 1; slice < 5; ++slice) {
      const Eigen::MatrixXd expected = reference::operator_slice(spec.profile, slice / 4.0, 17);
      EXPECT_LT((slice_of(table, slice) - expected.cwiseMin(1).cwiseMax(0)).cwiseAbs().maxCoeff(), 2e-6)
          << name_of(spec.kind) << ' ' << slice;
    }
  }
}

TEST(OperatorTable, MeetsItsBoundaryConditions) {
  for (const OperatorKind kind : kAll) {
    const OperatorTable& table = table_of(kind);
    const int last = table.spec().nodes - 1;
    for (int slice = 0; slice < table.spec().slices; ++slice)
      for (int k = 0; k <= last; ++k) {
        const float f = static_cast<float>(k) / static_cast<float>(last);
        const OperatorValue axis = table.node(k, 0, slice), edge = table.node(last, k, slice);
        EXPECT_EQ(axis.value, f);
        EXPECT_EQ(axis.d1, 1);
        EXPECT_EQ(axis.d2, 0);
        EXPECT_EQ(edge.value, 1);
        if (kind != OperatorKind::blend && k > 0) {
          EXPECT_EQ(edge.d1, 0);
          EXPECT_EQ(edge.d2, 0);
          // One-sided differences of a clamped solution are small beside the edges, of second order.
          if (k > 1 && k < last / 2) {
            EXPECT_LT(std::abs(table.node(k, 1, slice).value - f), k == 2 ? 0.02f : 0.01f);
          }
        }
      }
  }
}

TEST(OperatorTable, IsBiHarmonicOffTheProfile) {
  for (const OperatorKind kind : kSolved) {
    const OperatorTable& table = table_of(kind);
    const int last = table.spec().nodes - 1, layers = table.spec().slices - 1;
    for (int slice = 1; slice <= layers; ++slice) {
      const Eigen::MatrixXd g = slice_of(table, slice);
      const double end = (0.5 + 0.5 * slice / layers) * last;
      const auto curve = half_curve(table.spec().profile, slice / static_cast<double>(layers), 256);
      int checked = 0;
      for (int i = 1; i < last; ++i)
        for (int j = 1; j <= i; ++j) {
          if (i == j && i >= last / 2 && i <= end + 1e-6) continue;
          const Eigen::Vector2d node(j, i);
          if (std::any_of(curve.begin(), curve.end(),
                          [&](const Eigen::Vector2d& p) { return (p * last - node).norm() < 1.2; }))
            continue;
          if (near_clamped(g, i, j)) continue;
          // Floats: 64 roundings of up to 6e-8.
          ASSERT_LT(std::abs(reference::bi_laplacian(g, i, j)), 2e-6) << slice << ' ' << i << ' ' << j;
          ++checked;
        }
      EXPECT_GT(checked, last * last / 3);
    }
  }
}

TEST(OperatorTable, CleanUnionIsBoundedByTheUnion) {
  const OperatorTable& table = table_of(OperatorKind::contact);
  const Eigen::MatrixXd g = slice_of(table, 0);
  const int last = table.spec().nodes - 1;
  int touching = 0;
  for (int i = 1; i < last; ++i)
    for (int j = 1; j <= i; ++j) {
      const double bound = i / static_cast<double>(last);
      EXPECT_GE(g(i, j), bound - 1e-7);
      EXPECT_GE(std::min(table.node(i, j, 0).d1, table.node(i, j, 0).d2), -0.015f);
      if (i == last / 2 || near_clamped(g, i, j)) continue;
      // The least energy above a bound: bi-harmonic where free, pushed upwards where it touches.
      const double force = reference::bi_laplacian(g, i, j);
      if (g(i, j) < bound + 1e-7) {
        ++touching;
        EXPECT_GE(force, -2e-6) << i << ' ' << j;
      } else {
        EXPECT_LT(std::abs(force), 2e-6) << i << ' ' << j;
      }
    }
  EXPECT_GT(touching, 5);
  // All solved operators start from it.
  EXPECT_EQ(g, slice_of(table_of(OperatorKind::bulge), 0));
}

TEST(OperatorTable, IsAHalfOnTheProfile) {
  for (const OperatorKind kind : kSolved) {
    const OperatorTable& table = table_of(kind);
    for (const float depth : {0.0f, 0.25f, 0.5f, 0.75f}) {
      const bool straight = kind == OperatorKind::contact || depth == 0;
      for (const Eigen::Vector2d& point : half_curve(table.spec().profile, depth, 200)) {
        const auto f1 = static_cast<float>(point.x()), f2 = static_cast<float>(point.y());
        const double tolerance = straight ? 1e-6 : kFast ? 1e-3 : 4e-3;
        ASSERT_NEAR(table.evaluate(f1, f2, depth).value, 0.5, tolerance) << depth << ' ' << f1;
        ASSERT_NEAR(table.evaluate(f2, f1, depth).value, 0.5, tolerance);
      }
      // Contact, also between nodes.
      for (float f = 0.5f; f <= 0.5f + 0.5f * depth; f += 0.003f)
        ASSERT_NEAR(table.evaluate(f, f, depth).value, 0.5, 1e-6) << depth << ' ' << f;
      EXPECT_GT(table.evaluate(0.56f + 0.5f * depth, 0.56f + 0.5f * depth, depth).value, 0.52f);
      // It parts two insides.
      if (depth > 0) {
        EXPECT_GT(table.evaluate(0.5f + 0.5f * depth, 0.5f, depth).value, 0.52f);
      }
      EXPECT_LT(table.evaluate(0.3f, 0.3f, depth).value, 0.5f);
    }
  }
  const OperatorTable apart(sized(table_spec(OperatorProfile{contact_profile().points, false}), 17, 3));
  for (int slice = 1; slice < 3; ++slice) EXPECT_GT(apart.node(10, 10, slice).value, 0.55f);
}

TEST(OperatorTable, AgreesWithFinerTables) {
  for (const OperatorKind kind : kSolved) {
    const int coarse = !kFast ? 17 : kind == OperatorKind::bulge ? 65 : 33, slices = 5;
    const OperatorTable table(sized(table_spec(kind), coarse, slices));
    const OperatorTable fine(sized(table_spec(kind), 2 * coarse - 1, slices));
    double most = 0, most_slope = 0;
    for (float d : {0.0f, 0.25f, 0.5f})
      for (float f1 = 0.0f; f1 <= 0.9f; f1 += 0.01f)
        for (float f2 = 0.0f; f2 <= f1; f2 += 0.01f) {
          const OperatorValue a = table.evaluate(f1, f2, d), b = fine.evaluate(f1, f2, d);
          most = std::max<double>(most, std::abs(a.value - b.value));
          most_slope = std::max<double>({most_slope, std::abs(a.d1 - b.d1), std::abs(a.d2 - b.d2)});
        }
    EXPECT_LT(most, 0.4 / coarse) << name_of(kind);
    EXPECT_LT(most_slope, coarse == 65 ? 0.3 : 0.6) << name_of(kind);
  }
}

TEST(OperatorTable, SlicesAreClose) {
  for (const OperatorKind kind : kSolved) {
    const OperatorTable& table = table_of(kind);
    const OperatorTable denser(sized(table.spec(), 33, 17)), base(sized(table.spec(), 33, 9));
    double most = 0;
    for (float d : {3.0f / 16, 5.0f / 16, 9.0f / 16})
      for (float f1 = 0.0f; f1 <= 0.9f; f1 += 0.02f)
        for (float f2 = 0.0f; f2 <= f1; f2 += 0.02f)
          most = std::max<double>(
              most, std::abs(denser.evaluate(f1, f2, d).value - base.evaluate(f1, f2, d).value));
    EXPECT_LT(most, 0.06) << name_of(kind);
  }
}

TEST(OperatorTable, BlendAgreesWithTheFormula) {
  const OperatorTable& table = table_of(OperatorKind::blend);
  std::mt19937 random(8);
  std::uniform_real_distribution<float> number(0, 1);
  double sum = 0, slope_sum = 0;
  constexpr int kRounds = 20000;
  for (int i = 0; i < kRounds; ++i) {
    const float f1 = number(random), f2 = number(random), d = number(random);
    const OperatorValue found = table.evaluate(f1, f2, d);
    const BlendValue exact = gradient_blend(f1, f2, d * std::numbers::pi / 4);
    ASSERT_NEAR(found.value, exact.value, kFast ? 0.003 : 0.012) << f1 << ' ' << f2 << ' ' << d;
    sum += std::abs(found.value - exact.value);
    slope_sum += std::abs(found.d1 - exact.d1) + std::abs(found.d2 - exact.d2);
  }
  EXPECT_LT(sum / kRounds, kFast ? 1e-4 : 1e-3);
  EXPECT_LT(slope_sum / kRounds, kFast ? 0.01 : 0.04);
}

TEST(OperatorTable, BlendEndsInASharpUnion) {
  const OperatorTable& table = table_of(OperatorKind::blend);
  std::mt19937 random(9);
  std::uniform_real_distribution<float> number(0.001f, 1);
  for (int i = 0; i < 1000; ++i) {
    const float f1 = number(random), f2 = i % 2 ? number(random) : f1 * (1 - 1e-3f * number(random));
    const OperatorValue found = table.evaluate(f1, f2, 1);
    EXPECT_NEAR(found.value, std::max(f1, f2), 2e-7);
    EXPECT_NEAR(found.d1, f1 >= f2 ? 1 : 0, 1e-6);
    EXPECT_NEAR(found.d2, f1 >= f2 ? 0 : 1, 1e-6);
  }
}

TEST(OperatorTable, DerivativesAreThoseOfTheTable) {
  // Nodes hold differences over two cells; interpolation keeps that between them.
  std::mt19937 random(10);
  std::uniform_real_distribution<float> number(0, 1);
  for (const OperatorKind kind : kSolved) {
    const OperatorTable& table = table_of(kind);
    const float cell = 1.0f / static_cast<float>(table.spec().nodes - 1);
    int checked = 0;
    for (int i = 0; i < 20000; ++i) {
      const float f1 = number(random), f2 = number(random), d = number(random);
      if (std::min(f1, f2) < 2 * cell || std::max(f1, f2) > 1 - 2 * cell || std::abs(f1 - f2) < 3 * cell)
        continue;
      ++checked;
      const OperatorValue g = table.evaluate(f1, f2, d);
      const auto value = [&](float a, float b) { return table.evaluate(a, b, d).value; };
      ASSERT_NEAR(g.d1, (value(f1 + cell, f2) - value(f1 - cell, f2)) / (2 * cell), 5e-4);
      ASSERT_NEAR(g.d2, (value(f1, f2 + cell) - value(f1, f2 - cell)) / (2 * cell), 5e-4);
    }
    EXPECT_GT(checked, 10000);
  }
}

TEST(OperatorTable, IsContinuous) {
  // Across cells, slices and the diagonal, of fields that end before 0.9.
  constexpr float kStep = 1e-4f;
  for (const OperatorKind kind : kSolved) {
    const OperatorTable& table = table_of(kind);
    const Eigen::Vector3f lines[][2] = {{{0.1f, 0.5f, 0.5f}, {0.8f, 0.1f, 0.1f}},
                                        {{0.05f, 0.83f, 0.3f}, {0.8f, -0.8f, 0.0f}},
                                        {{0.1f, 0.1f, 0.0f}, {0.7f, 0.5f, 0.7f}},
                                        {{0.6f, 0.55f, 0.0f}, {0.0f, 0.1f, 0.8f}}};
    for (const auto& line : lines) {
      OperatorValue before = table.evaluate(line[0].x(), line[0].y(), line[0].z());
      for (float t = 0; t <= 1; t += kStep) {
        const Eigen::Vector3f at = line[0] + t * line[1];
        const OperatorValue now = table.evaluate(at.x(), at.y(), at.z());
        ASSERT_LT(std::abs(now.value - before.value), 10 * kStep);
        ASSERT_LT(std::abs(now.d1 - before.d1), 200 * kStep) << at.transpose();
        ASSERT_LT(std::abs(now.d2 - before.d2), 200 * kStep) << at.transpose();
        before = now;
      }
    }
  }
}

TEST(OperatorTable, IsExactlySymmetric) {
  std::mt19937 random(11);
  std::uniform_real_distribution<float> number(0, 1);
  for (const OperatorKind kind : kAll)
    for (int i = 0; i < 20000; ++i) {
      const float f1 = number(random), f2 = i % 4 ? number(random) : f1 + 0.001f * number(random);
      const float d = number(random);
      const OperatorValue g = table_of(kind).evaluate(f1, f2, d), h = table_of(kind).evaluate(f2, f1, d);
      ASSERT_EQ(g.value, h.value);
      if (f1 == f2) continue;
      ASSERT_EQ(g.d1, h.d2);
      ASSERT_EQ(g.d2, h.d1);
    }
}

TEST(OperatorTable, IsTheOtherFieldWhereOneIsZero) {
  // Also where cells are no power of two, so that interpolation rounds.
  const OperatorTable uneven(sized(table_spec(OperatorKind::bulge), 11, 4));
  for (const OperatorTable* table : {&table_of(OperatorKind::contact), &table_of(OperatorKind::bulge),
                                     &table_of(OperatorKind::blend), &uneven})
    for (float f = 0.0137f; f <= 1; f += 0.0137f)
      for (float d = 0; d <= 1; d += 0.1f) {
        const OperatorValue first = table->evaluate(f, 0, d), second = table->evaluate(0, f, d);
        EXPECT_EQ(first.value, f);
        EXPECT_EQ(first.d1, 1);
        EXPECT_EQ(first.d2, 0);
        EXPECT_EQ(second.value, f);
        EXPECT_EQ(second.d1, 0);
        EXPECT_EQ(second.d2, 1);
        // And close to it beside.
        EXPECT_NEAR(table->evaluate(f, 1e-6f, d).value, f, 2e-6);
      }
}

TEST(OperatorTable, TakesAnyNumber) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kNumbers[] = {kNan, kInfinity, -kInfinity, -1, -1e-30f, 0, 1e-38f, 0.5f, 1, 1.0001f, 1e30f};
  const auto clamped = [](float x) { return x > 0 ? std::min(x, 1.0f) : 0.0f; };
  for (const OperatorKind kind : kAll)
    for (const float f1 : kNumbers)
      for (const float f2 : kNumbers)
        for (const float d : kNumbers) {
          const OperatorValue g = table_of(kind).evaluate(f1, f2, d);
          const OperatorValue expected = table_of(kind).evaluate(clamped(f1), clamped(f2), clamped(d));
          EXPECT_EQ(g.value, expected.value);
          EXPECT_EQ(g.d1, expected.d1);
          EXPECT_TRUE(std::isfinite(g.value) && std::isfinite(g.d1) && std::isfinite(g.d2));
        }
}

TEST(OperatorTable, WildProfilesStayInRange) {
  const OperatorProfile profiles[] = {
      {{{0, 0.5}, {0.01, 1}, {0.02, 0.02}, {0.03, 1}, {0.2, 0.2}, {0.2, 1}, {0.5, 0.5}}, true},
      {{{0, 0.5}, {1e-9, 1e-9}, {1e-8, 1}, {0.5, 0.5}, {0.5, 1}, {0.5, 0.5}, {0.5, 0.5}}, true},
      {{{0, 0.5}, {0.5, 1}, {0.5, 1}, {0.5, 1}, {0.5, 0.5}}, false},
      {{{0, 0.5}, {1e-300, 1e-300}, {1e-300, 1e-300}, {1e-300, 1e-300}, {0.5, 0.5}}, true}};
  for (const OperatorProfile& profile : profiles) {
    const OperatorTable table(sized(table_spec(profile), 33, 3));
    for (const OperatorTable::Node& node : table.nodes()) {
      ASSERT_TRUE(node.lanes[0] >= -1 && node.lanes[0] <= 2);
      ASSERT_TRUE(std::abs(node.lanes[1]) < 50 && std::abs(node.lanes[2]) < 50);
    }
    for (int i = 0; i < 33; ++i)
      for (int j = 0; j < 33; ++j)
        ASSERT_TRUE(table.node(i, j, 2).value >= 0 && table.node(i, j, 2).value <= 1);
  }
}

TEST(OperatorTable, SameBitsForAnyNumberOfThreads) {
  const OperatorTableSpec spec = sized(table_spec(OperatorKind::bulge), 17, 5);
  std::unique_ptr<OperatorTable> one, many;
  tbb::task_arena(1).execute([&] { one = std::make_unique<OperatorTable>(spec); });
  tbb::task_arena(4).execute([&] { many = std::make_unique<OperatorTable>(spec); });
  EXPECT_TRUE(same_bits(*one, *many));
}

TEST(OperatorTable, RejectsBadSpecs) {
  const auto rejects = [](OperatorTableSpec spec) {
    EXPECT_THROW(validate(spec), Error);
    EXPECT_THROW(OperatorTable{spec}, Error);
    EXPECT_THROW(OperatorTable(spec, std::vector<OperatorTable::Node>(100)), Error);
  };
  const OperatorTableSpec contact = table_spec(OperatorKind::contact);
  for (const int nodes : {-1, 0, 7, 10, 64, 259, std::numeric_limits<int>::max()})
    rejects(sized(contact, nodes, 3));
  for (const int slices : {-1, 0, 1, 258, std::numeric_limits<int>::max()})
    rejects(sized(contact, 9, slices));
  EXPECT_NO_THROW(OperatorTable(sized(contact, 9, 2)));
  OperatorTableSpec wrong = sized(contact, 9, 2);
  wrong.kind = OperatorKind::union_;
  rejects(wrong);
  wrong.kind = OperatorKind::bulge;  // with another's profile
  rejects(wrong);
  wrong.kind = OperatorKind::blend;
  rejects(wrong);
  rejects(sized(table_spec(OperatorProfile{}), 9, 2));
  EXPECT_THROW(table_spec(OperatorKind::union_), Error);
  EXPECT_THROW(table_spec(OperatorKind::profile), Error);
  EXPECT_THROW(OperatorTable(sized(contact, 9, 2), std::vector<OperatorTable::Node>(3)), Error);
  const OperatorTable small(sized(contact, 9, 2));
  EXPECT_TRUE(same_bits(OperatorTable(small.spec(), small.nodes()), small));
}

}  // namespace
}  // namespace sinew
