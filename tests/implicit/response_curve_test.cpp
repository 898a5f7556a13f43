#include <sinew/implicit/response_curve.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include <gtest/gtest.h>

#include <sinew/core/error.h>

#include "tests/reference/implicit_operators.h"

namespace sinew {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr ResponsePreset kPresets[] = {ResponsePreset::elbow, ResponsePreset::finger,
                                       ResponsePreset::shoulder, ResponsePreset::none};

ResponseCurve random_curve(std::mt19937& random) {
  std::uniform_real_distribution<double> number(0, 1);
  ResponseCurve curve;
  for (double& angle : curve.angles) angle = number(random) * kPi;
  std::sort(curve.angles.begin(), curve.angles.end());
  for (double& value : curve.values) value = number(random);
  for (double& slope : curve.slopes) slope = std::exp(4 * number(random) - 2);
  return curve;
}

TEST(ResponseCurve, AgreesWithTheFormula) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    ResponseCurve curve = random_curve(random);
    // Lower powers show what the printed κ rounds away; the next test is for those.
    for (double& slope : curve.slopes) slope = std::max(slope, 0.7);
    for (int i = 0; i <= 200; ++i) {
      const double alpha = i * kPi / 200;
      ASSERT_NEAR(curve.evaluate(alpha), reference::response(curve, alpha), 1e-11);
    }
  }
}

TEST(ResponseCurve, KeepsTinyValues) {
  // κ(0.03) = 9e-15, where 1 - exp(…) has no digit left.
  const ResponseCurve curve{{0, 1, 2}, {0, 0, 1}, {1, 1}};
  const double u = std::exp(1 - 1 / 0.03);
  EXPECT_NEAR(curve.evaluate(1.03) / u, 1, 1e-9);
  const ResponseCurve steep{{0, 1, 2}, {0, 0, 1}, {1, 0.05}};
  EXPECT_NEAR(steep.evaluate(1.03), std::exp(0.05 * (1 - 1 / 0.03)), 1e-9);
}

TEST(ResponseCurve, MeetsItsPointsAndIsMonotoneBetweenThem) {
  std::mt19937 random(4);
  for (int round = 0; round < 50; ++round) {
    const ResponseCurve curve = random_curve(random);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(curve.evaluate(curve.angles[i]), curve.values[i], 1e-12);
    EXPECT_EQ(curve.evaluate(0), curve.values[0]);
    EXPECT_EQ(curve.evaluate(kPi), curve.values[2]);
    for (std::size_t side = 0; side < 2; ++side) {
      const double direction = curve.values[side + 1] - curve.values[side];
      double before = curve.values[side];
      for (int i = 1; i <= 1000; ++i) {
        const double alpha =
            curve.angles[side] + (curve.angles[side + 1] - curve.angles[side]) * (i / 1000.0);
        const double value = curve.evaluate(alpha);
        ASSERT_GE((value - before) * direction, -1e-15);
        // Continuous: even the steepest slopes here leave no gaps.
        ASSERT_LT(std::abs(value - before), 0.05);
        before = value;
      }
    }
  }
}

TEST(ResponseCurve, TakesAnyAngle) {
  for (const ResponsePreset preset : kPresets) {
    const ResponseCurve curve = depth_response(preset);
    EXPECT_EQ(curve.evaluate(-1), curve.values[0]);
    EXPECT_EQ(curve.evaluate(kNan), curve.values[0]);
    EXPECT_EQ(curve.evaluate(-kInfinity), curve.values[0]);
    EXPECT_EQ(curve.evaluate(kInfinity), curve.values[2]);
  }
}

TEST(ResponseCurve, Presets) {
  for (const ResponsePreset preset : kPresets) {
    EXPECT_NO_THROW(validate(depth_response(preset), ResponseQuantity::depth)) << name_of(preset);
    EXPECT_NO_THROW(validate(angle_response(preset), ResponseQuantity::angle)) << name_of(preset);
    EXPECT_EQ(response_preset(name_of(preset)), preset);
    // At rest nothing happens: clean unions, and unions.
    EXPECT_EQ(depth_response(preset).evaluate(0), 0);
    EXPECT_EQ(angle_response(preset).evaluate(0), kPi / 4);
  }
  EXPECT_EQ(name_of(ResponsePreset::shoulder), "shoulder");
  EXPECT_FALSE(response_preset("Elbow").has_value());
  EXPECT_FALSE(response_preset("").has_value());

  const auto depth = [](ResponsePreset preset, double alpha) {
    return depth_response(preset).evaluate(alpha);
  };
  EXPECT_EQ(depth(ResponsePreset::elbow, kPi / 2), 0);
  EXPECT_EQ(depth(ResponsePreset::elbow, kPi), 1);
  EXPECT_EQ(depth(ResponsePreset::finger, kPi / 2), 1);
  EXPECT_NEAR(depth(ResponsePreset::finger, 0.4748 * kPi), 0.5, 1e-3);
  EXPECT_NEAR(depth(ResponsePreset::finger, 0.3816 * kPi), 0.1, 1e-3);
  EXPECT_EQ(depth(ResponsePreset::none, kPi), 0);
  EXPECT_EQ(depth(ResponsePreset::shoulder, kPi / 2), 0.5);
  EXPECT_NEAR(angle_response(ResponsePreset::elbow).evaluate(kPi / 4), 2 * kPi / 15, 1e-15);
  for (const double alpha : {0.3, 0.8, 1.2, 2.0, 3.0}) {
    EXPECT_EQ(angle_response(ResponsePreset::none).evaluate(alpha), kPi / 4);
    EXPECT_EQ(depth(ResponsePreset::none, alpha), 0);
    EXPECT_LE(angle_response(ResponsePreset::shoulder).evaluate(alpha),
              angle_response(ResponsePreset::finger).evaluate(alpha));
  }
}

TEST(ResponseCurve, RejectsBadNumbers) {
  const ResponseCurve good{{0.5, 1, 2}, {0, 0.5, 0.7}, {1, 2}};
  EXPECT_NO_THROW(validate(good, ResponseQuantity::depth));
  EXPECT_NO_THROW(validate(good, ResponseQuantity::angle));
  EXPECT_NO_THROW(validate({{0, 1, kPi}, {1, 0, 1}, {1, 1}}, ResponseQuantity::depth));
  EXPECT_THROW(validate({{0, 1, kPi}, {1, 0, 1}, {1, 1}}, ResponseQuantity::angle), Error);
  const auto rejects = [&](auto change) {
    ResponseCurve curve = good;
    change(curve);
    EXPECT_THROW(validate(curve, ResponseQuantity::depth), Error);
    EXPECT_THROW(validate(curve, ResponseQuantity::angle), Error);
  };
  for (std::size_t i = 0; i < 3; ++i)
    for (const double bad : {kNan, kInfinity, -kInfinity, -0.1, 3.2}) {
      rejects([&](ResponseCurve& curve) { curve.angles[i] = bad; });
      rejects([&](ResponseCurve& curve) { curve.values[i] = bad; });
    }
  for (std::size_t i = 0; i < 2; ++i) {
    for (const double bad : {kNan, kInfinity, -1.0, 0.0})
      rejects([&](ResponseCurve& curve) { curve.slopes[i] = bad; });
    rejects([&](ResponseCurve& curve) { std::swap(curve.angles[i], curve.angles[i + 1]); });
    rejects([&](ResponseCurve& curve) { curve.angles[i] = curve.angles[i + 1]; });
  }
}

}  // namespace
}  // namespace sinew
