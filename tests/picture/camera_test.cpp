#include <sinew/picture/camera.h>

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include <sinew/core/error.h>

namespace sinew {
namespace {

std::vector<Vec3f> scattered(float scale, const Vec3f& middle) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> place(-1, 1);
  std::vector<Vec3f> points;
  for (int i = 0; i < 200; ++i)
    points.push_back(middle + scale * Vec3f(0.4f * place(random), place(random), 0.3f * place(random)));
  return points;
}

TEST(View, PresetsLookFromWhereTheySay) {
  const auto back = [](const char* name) { return CameraFit(parse_view(name), 1); };
  const auto from = [&](const char* name) {
    CameraFit fit = back(name);
    fit.add(Vec3d::Zero(), 1);
    return Vec3d(fit.camera().position.normalized());
  };
  EXPECT_GT(from("front").z(), 0.9);
  EXPECT_LT(from("back").z(), -0.9);
  EXPECT_GT(from("left").x(), 0.9);  // of a character that faces +z
  EXPECT_LT(from("right").x(), -0.9);
  EXPECT_GT(from("top").y(), 0.999);
  EXPECT_GT(from("three-quarter").x(), 0.3);
  EXPECT_GT(from("three-quarter").z(), 0.3);
  EXPECT_NEAR(from("30,-20").y(), -std::sin(20 * M_PI / 180), 1e-9);
}

TEST(View, MistakesAreNamed) {
  for (const char* text : {"", "frnt", "30", "30,", "30,20,10", "a,b", "nan,0", "0,91", "1e9,0"})
    EXPECT_THROW(parse_view(text), Error) << text;
}

TEST(CameraFit, SeesAllPointsWithTheMarginAndNoMore) {
  for (const char* view : {"front", "back", "left", "right", "top", "three-quarter", "77,-33"})
    for (const double aspect : {0.5, 1.0, 16.0 / 9}) {
      constexpr double kMargin = 0.08;
      const std::vector<Vec3f> points = scattered(3, {10, -4, 2});
      CameraFit fit(parse_view(view), aspect, kMargin);
      fit.add(points);
      const Camera camera = fit.camera();
      double low_x = 1, high_x = 0, low_y = 1, high_y = 0;
      for (const Vec3f& point : points) {
        const Vec3d seen = camera.project(point.cast<double>());
        EXPECT_GT(seen.z(), 0);
        low_x = std::min(low_x, seen.x());
        high_x = std::max(high_x, seen.x());
        low_y = std::min(low_y, seen.y());
        high_y = std::max(high_y, seen.y());
      }
      EXPECT_GE(low_x, kMargin - 1e-6);
      EXPECT_LE(high_x, 1 - kMargin + 1e-6);
      EXPECT_GE(low_y, kMargin - 1e-6);
      EXPECT_LE(high_y, 1 - kMargin + 1e-6);
      // One of the two directions is filled, and the character stands in the middle of it.
      const bool wide = std::abs(low_x - kMargin) < 1e-6 && std::abs(high_x - (1 - kMargin)) < 1e-6;
      const bool tall = std::abs(low_y - kMargin) < 1e-6 && std::abs(high_y - (1 - kMargin)) < 1e-6;
      EXPECT_TRUE(wide || tall) << view << " " << aspect;
    }
}

TEST(CameraFit, ABallIsItsPoints) {
  CameraFit ball(parse_view("three-quarter"), 1.3), points(parse_view("three-quarter"), 1.3);
  const Vec3d middle(1, 2, 3);
  ball.add(middle, 0.5);
  for (int i = 0; i < 200; ++i)
    for (int j = 0; j <= 100; ++j) {
      const double a = 2 * M_PI * i / 200, b = M_PI * j / 100;
      points.add(
          Vec3d(middle + 0.5 * Vec3d(std::sin(b) * std::cos(a), std::cos(b), std::sin(b) * std::sin(a))));
    }
  EXPECT_LT((ball.camera().position - points.camera().position).norm(), 1e-2);
}

TEST(CameraFit, ProjectionUndoesDirection) {
  CameraFit fit({20, 10}, 1.5);
  fit.add(Vec3d(0, 1, 0), 2);
  const Camera camera = fit.camera(1.7);
  const Vec3d seen = camera.project(camera.position + 3.5 * camera.direction(0.2, 0.9));
  EXPECT_NEAR(seen.x(), 0.2, 1e-12);
  EXPECT_NEAR(seen.y(), 0.9, 1e-12);
}

TEST(CameraFit, OddInput) {
  CameraFit nothing({}, 1);
  EXPECT_THROW(nothing.camera(), Error);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Vec3f> bad{Vec3f(nan, 0, 0), Vec3f(0, INFINITY, 0)};
  nothing.add(bad);
  EXPECT_THROW(nothing.camera(), Error);
  CameraFit point({}, 1);
  point.add(Vec3d(5, 5, 5));
  EXPECT_TRUE(point.camera().position.allFinite());
  EXPECT_NEAR(point.camera().project(Vec3d(5, 5, 5)).x(), 0.5, 1e-9);
}

}  // namespace
}  // namespace sinew
