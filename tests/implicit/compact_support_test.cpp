#include <sinew/implicit/compact_support.h>

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/reference/implicit_fields.h"

namespace sinew {
namespace {

TEST(CompactSupport, IsThePrintedPolynomial) {
  for (const double r : {1.0, 0.003, 250.0})
    for (int i = -150; i <= 150; ++i) {
      const double x = r * i / 100.0;
      EXPECT_NEAR(compact_support(x, r), reference::compact_support(x, r), 1e-15) << x << ' ' << r;
      EXPECT_NEAR(compact_support(static_cast<float>(x), static_cast<float>(r)),
                  reference::compact_support(x, r), 2e-7);
    }
}

TEST(CompactSupport, HasItsValuesByDefinition) {
  for (const double r : {1.0, 0.02, 30.0}) {
    EXPECT_EQ(compact_support(0.0, r), 0.5);
    for (const double x : {1.0, 1.5, 1e30, std::numeric_limits<double>::infinity()}) {
      EXPECT_EQ(compact_support(x * r, r), 0);
      EXPECT_EQ(compact_support(-x * r, r), 1);
      EXPECT_EQ(compact_support_slope(x * r, r), 0);
      EXPECT_EQ(compact_support_slope(-x * r, r), 0);
    }
    EXPECT_DOUBLE_EQ(compact_support_slope(0.0, r), -15 / (16 * r));
  }
}

TEST(CompactSupport, FallsAndIsOddAboutTheSurface) {
  const double r = 0.3;
  double before = 1;
  for (int i = -999; i <= 999; ++i) {
    const double x = r * i / 1000.0, value = compact_support(x, r);
    EXPECT_LE(value, before);
    EXPECT_LE(compact_support_slope(x, r), 0);
    EXPECT_NEAR(value + compact_support(-x, r), 1, 1e-15);
    before = value;
  }
}

TEST(CompactSupport, SlopeIsTheDerivative) {
  for (const double r : {1.0, 0.003, 250.0})
    for (int i = -120; i <= 120; ++i) {
      const double x = r * i / 100.0, h = 1e-6 * r;
      const double difference = (compact_support(x + h, r) - compact_support(x - h, r)) / (2 * h);
      EXPECT_NEAR(compact_support_slope(x, r) * r, difference * r, 1e-8) << x << ' ' << r;
    }
}

TEST(CompactSupport, IsTwiceDifferentiableAtItsEnds) {
  const double r = 2;
  for (const double end : {-r, r})
    for (const double step : {1e-2, 1e-3, 1e-4}) {
      // Value, slope and curvature go to the constant's, as the third, second and first power of the step.
      const double inside = end - std::copysign(step, end), constant = end < 0 ? 1 : 0;
      EXPECT_NEAR(compact_support(inside, r), constant, std::pow(step, 3));
      EXPECT_NEAR(compact_support_slope(inside, r), 0, std::pow(step, 2));
      const double h = step / 100;
      const double curvature =
          (compact_support_slope(inside + h, r) - compact_support_slope(inside - h, r)) / (2 * h);
      EXPECT_NEAR(curvature, 0, 2 * step);
    }
}

}  // namespace
}  // namespace sinew
