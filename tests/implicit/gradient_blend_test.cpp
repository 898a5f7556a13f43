#include <sinew/implicit/gradient_blend.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include <gtest/gtest.h>

#include "tests/reference/implicit_operators.h"

namespace sinew {
namespace {

constexpr double kUnion = std::numbers::pi / 4;

TEST(GradientBlend, AgreesWithTheFormula) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> number(0, 1);
  int blends = 0;
  constexpr int kRounds = 2000;
  for (int i = 0; i < kRounds; ++i) {
    const double f1 = 0.8 * number(random), f2 = 0.8 * number(random), theta = kUnion * number(random);
    const BlendValue blend = gradient_blend(f1, f2, theta);
    const reference::Blend expected = reference::gradient_blend(f1, f2, theta);
    ASSERT_NEAR(blend.value, expected.value, 1e-12) << f1 << ' ' << f2 << ' ' << theta;
    if (expected.roots == 0) continue;
    ++blends;
    EXPECT_EQ(expected.roots, 1);
  }
  EXPECT_GT(blends, kRounds / 5);
  EXPECT_LT(blends, 4 * kRounds / 5);
}

TEST(GradientBlend, KnownValues) {
  // k = 0: a circle's arc.
  EXPECT_NEAR(gradient_blend(0.3, 0.3, 0).value, std::sqrt(0.18), 1e-14);
  EXPECT_NEAR(gradient_blend(0.3, 0.4, 0).value, 0.5, 1e-14);
  EXPECT_NEAR(gradient_blend(0.3, 0.3, 0).d1, std::sqrt(0.5), 1e-14);
  EXPECT_EQ(gradient_blend(0.3, 0.3, kUnion).value, 0.3);
  EXPECT_EQ(gradient_blend(0.71, 0.69, 0).value, 0.71);
  EXPECT_EQ(gradient_blend(0.4, 0.1, std::atan(0.5)).value, 0.4);  // 0.1 <= 0.5 · 0.4
}

TEST(GradientBlend, IsContinuousAcrossItsBorders) {
  // Along lines that cross ½, 0.7 and the border of the union, g moves no farther than its arguments.
  constexpr double kStep = 1e-4;
  for (const double theta : {0.0, 0.1, 0.3, 0.5, 0.7})
    for (const double ratio : {0.1, 0.5, 0.8, 0.99, 1.0}) {
      double before = 0;
      for (double f = 0; f <= 0.9; f += kStep) {
        const double value = gradient_blend(f, ratio * f, theta).value;
        ASSERT_LE(std::abs(value - before), 2 * kStep) << theta << ' ' << ratio << ' ' << f;
        before = value;
      }
    }
}

TEST(GradientBlend, DerivativesAreThoseOfTheValue) {
  std::mt19937 random(6);
  std::uniform_real_distribution<double> number(0, 1);
  constexpr double kStep = 1e-6;
  for (int i = 0; i < 2000; ++i) {
    const double f1 = 0.75 * number(random), f2 = 0.75 * number(random), theta = kUnion * number(random);
    const BlendValue blend = gradient_blend(f1, f2, theta);
    EXPECT_GE(std::min(blend.d1, blend.d2), 0);
    EXPECT_LE(std::max(blend.d1, blend.d2), 1);
    // Not at the kinks of k and max.
    if (std::abs(f1 - f2) < 1e-3 || std::abs(blend.value - 0.5) < 1e-3 || blend.value > 0.695) continue;
    const double d1 =
        (gradient_blend(f1 + kStep, f2, theta).value - gradient_blend(f1 - kStep, f2, theta).value) /
        (2 * kStep);
    const double d2 =
        (gradient_blend(f1, f2 + kStep, theta).value - gradient_blend(f1, f2 - kStep, theta).value) /
        (2 * kStep);
    ASSERT_NEAR(blend.d1, d1, 2e-3) << f1 << ' ' << f2 << ' ' << theta;
    ASSERT_NEAR(blend.d2, d2, 2e-3) << f1 << ' ' << f2 << ' ' << theta;
  }
}

TEST(GradientBlend, IsSymmetricAndAboveTheUnion) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> number(0, 1);
  for (int i = 0; i < 1000; ++i) {
    const double f1 = number(random), f2 = number(random), theta = kUnion * number(random);
    const BlendValue blend = gradient_blend(f1, f2, theta), exchanged = gradient_blend(f2, f1, theta);
    EXPECT_EQ(blend.value, exchanged.value);
    EXPECT_EQ(blend.d1, exchanged.d2);
    EXPECT_EQ(blend.d2, exchanged.d1);
    EXPECT_GE(blend.value, std::max(f1, f2));
    EXPECT_EQ(gradient_blend(f1, 0, theta).value, f1);
    EXPECT_EQ(gradient_blend(0, f2, theta).d2, 1);
  }
}

TEST(GradientBlend, TakesAnyNumber) {
  constexpr double kBad[] = {std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity(),
                             -1,
                             0,
                             0.5,
                             0.7,
                             1,
                             2,
                             1e-300};
  for (const double f1 : kBad)
    for (const double f2 : kBad)
      for (const double theta : kBad) {
        const BlendValue blend = gradient_blend(f1, f2, theta);
        EXPECT_TRUE(blend.value >= 0 && blend.value <= 1) << f1 << ' ' << f2 << ' ' << theta;
        EXPECT_TRUE(blend.d1 >= 0 && blend.d1 <= 1 && blend.d2 >= 0 && blend.d2 <= 1);
      }
}

}  // namespace
}  // namespace sinew
