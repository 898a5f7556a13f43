#include <sinew/implicit/hermite_rbf.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <sinew/core/error.h>

#include "tests/reference/implicit_fields.h"
#include "tests/support/sanitized.h"
#include "tests/support/simd_targets.h"

namespace sinew {
namespace {

using Points = std::vector<HermitePoint>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Evenly spread directions.
Vec3d spiral(int i, int count) {
  const double z = 1 - (2 * i + 1) / static_cast<double>(count);
  const double turn = i * std::numbers::pi * (3 - std::sqrt(5.0)), r = std::sqrt(1 - z * z);
  return {r * std::cos(turn), r * std::sin(turn), z};
}

// A bone along z and the skin round it; `depth` is the true signed distance, or any function of its sign.
struct Shape {
  std::string name;
  Points points;
  std::function<double(const Vec3d&)> depth;
};

double capsule_distance(const Vec3d& x, double half, double radius) {
  return (x - Vec3d(0, 0, std::clamp(x.z(), -half, half))).norm() - radius;
}

Shape capsule(int count) {
  Shape shape{
      "capsule " + std::to_string(count), {}, [](const Vec3d& x) { return capsule_distance(x, 0.3, 0.1); }};
  for (int i = 0; i < count; ++i) {
    const Vec3d direction = spiral(i, count);
    // Spread along the whole capsule by height.
    const double z = direction.z() * 0.4, middle = std::clamp(z, -0.3, 0.3);
    const double across = std::sqrt(std::max(0.0, 0.01 - (z - middle) * (z - middle)));
    const Vec3d flat = Vec3d(direction.x(), direction.y(), 0).normalized();
    const Vec3d position = flat * across + Vec3d(0, 0, z);
    shape.points.push_back({position, (position - Vec3d(0, 0, middle)).normalized()});
  }
  return shape;
}

Shape ellipsoid(int count) {
  const Vec3d radii(0.2, 0.12, 0.35);
  Shape shape{"ellipsoid " + std::to_string(count), {}, [radii](const Vec3d& x) {
                return x.cwiseQuotient(radii).norm() - 1;
              }};
  for (int i = 0; i < count; ++i) {
    const Vec3d direction = spiral(i, count);
    shape.points.push_back({direction.cwiseProduct(radii), direction.cwiseQuotient(radii).normalized()});
  }
  return shape;
}

// An open cylinder, or `share` of its circumference, and the two points that close its ends.
Shape cylinder(int count, double half, double share) {
  Shape shape{"cylinder " + std::to_string(count) + ", half length " + std::to_string(half) + ", share " +
                  std::to_string(share),
              {},
              [half](const Vec3d& x) { return capsule_distance(x, half, 0.1); }};
  const int round = std::max(3, static_cast<int>(std::sqrt(count)));
  for (int i = 0; i < count; ++i) {
    const double angle = share * 2 * std::numbers::pi * (i % round + 0.5 * (i / round % 2)) / round;
    const int rows = (count + round - 1) / round;
    const double z = half * (2 * (i / round + 0.5) / rows - 1);
    const Vec3d normal(std::cos(angle), std::sin(angle), 0);
    shape.points.push_back({0.1 * normal + Vec3d(0, 0, z), normal});
  }
  for (const double end : {-1.0, 1.0})
    shape.points.push_back({Vec3d(0, 0, end * (half + 0.1)), Vec3d(0, 0, end)});
  return shape;
}

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const int count : {6, 15, 40, 80}) {
    all.push_back(capsule(count));
    all.push_back(ellipsoid(count));
    all.push_back(cylinder(count, 0.3, 1));
    all.push_back(cylinder(count, 0.05, 1));
    all.push_back(cylinder(count, 0.3, 1 / 3.0));
  }
  return all;
}

Points moved(const Points& points, const Affine3d& transform) {
  Points result;
  for (const HermitePoint& p : points)
    result.push_back({transform * p.position, (transform.linear() * p.normal).normalized()});
  return result;
}

Affine3d similarity(double scale, const Vec3d& shift) {
  return Affine3d(Eigen::Translation3d(shift) * Eigen::AngleAxisd(1.1, Vec3d(1, 2, 3).normalized()) *
                  Eigen::Scaling(scale));
}

double extent(const Points& points) {
  Vec3d low = points[0].position, high = low;
  for (const HermitePoint& p : points) low = low.cwiseMin(p.position), high = high.cwiseMax(p.position);
  return (high - low).norm();
}

void expect_interpolates(const Points& points, double tolerance, const std::string& name) {
  const HermiteRbf rbf(points);
  ASSERT_EQ(rbf.points().size(), points.size()) << name;
  const double size = std::max(extent(points), 1e-300);
  double value = 0, gradient = 0;
  for (const HermitePoint& p : points) {
    const HermiteRbf::Value at = rbf.evaluate(p.position);
    value = std::max(value, std::abs(at.distance) / size);
    gradient = std::max(gradient, (at.gradient - p.normal).norm());
  }
  EXPECT_LT(value, tolerance) << name;
  EXPECT_LT(gradient, tolerance) << name;
}

TEST(HermiteRbf, GoesThroughItsPoints) {
  for (const Shape& shape : shapes()) expect_interpolates(shape.points, 1e-9, shape.name);
}

TEST(HermiteRbf, GoesThroughItsPointsAtAnySizeAndPlace) {
  for (const Shape& shape : {capsule(15), ellipsoid(6), cylinder(40, 0.3, 1 / 3.0)}) {
    for (const double scale : {1e-12, 1e-3, 1.0, 1e3, 1e12})
      expect_interpolates(moved(shape.points, similarity(scale, 3 * scale * Vec3d(1, -2, 0.5))), 1e-9,
                          shape.name + " times " + std::to_string(scale));
    // A finger of a character that stands a kilometre from the origin: what is lost are the points' digits.
    expect_interpolates(moved(shape.points, similarity(0.1, Vec3d(1000, 2, -700))), 1e-9, shape.name);
  }
}

TEST(HermiteRbf, GoesThroughRandomPoints) {
  std::mt19937 random(5);
  std::normal_distribution<double> number;
  for (const int count : {2, 3, 4, 5, 12})
    for (int trial = 0; trial < 20; ++trial) {
      Points points;
      for (int i = 0; i < count; ++i)
        points.push_back({Vec3d(number(random), number(random), number(random)),
                          Vec3d(number(random), number(random), number(random)).normalized()});
      expect_interpolates(points, 1e-9, std::to_string(count) + " random points");
    }
}

TEST(HermiteRbf, GoesThroughPointsInAPlaneAndOnALine) {
  Points plane, line;
  for (int i = 0; i < 12; ++i) {
    plane.push_back({Vec3d(i % 4, i / 4, 0), Vec3d::UnitZ()});
    line.push_back({Vec3d(i, 0, 0), Vec3d(0, 0.6, 0.8)});
  }
  expect_interpolates(plane, 1e-9, "plane");
  expect_interpolates(line, 1e-9, "line");
  EXPECT_GT(HermiteRbf(plane).distance({1.5, 1, 0.3}), 0);
  EXPECT_LT(HermiteRbf(plane).distance({1.5, 1, -0.3}), 0);
}

TEST(HermiteRbf, IsTheTwin) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> number(-1, 1);
  for (const Shape& shape : {capsule(12), ellipsoid(6), cylinder(9, 0.05, 1), cylinder(12, 0.3, 1 / 3.0)})
    for (const double scale : {0.01, 1.0, 20.0}) {
      const Points points = moved(shape.points, similarity(scale, scale * Vec3d(1, 0, 2)));
      const HermiteRbf rbf(points);
      const reference::HermiteRbf twin(points);
      for (int i = 0; i < 50; ++i) {
        const Vec3d x =
            similarity(scale, scale * Vec3d(1, 0, 2)) * Vec3d(number(random), number(random), number(random));
        EXPECT_NEAR(rbf.distance(x) / scale, twin.distance(x) / scale, 1e-9) << shape.name << ' ' << scale;
      }
    }
}

TEST(HermiteRbf, OnePointIsAPlane) {
  const HermitePoint point{{1, 2, 3}, Vec3d(1, 2, 2) / 3};
  const HermiteRbf rbf(std::span(&point, 1));
  const HermiteRbf::Value at = rbf.evaluate(Vec3d(4, 2, 3));
  EXPECT_NEAR(at.distance, 1, 1e-12);
  EXPECT_NEAR((at.gradient - point.normal).norm(), 0, 1e-12);
  const std::vector<Vec3f> many{{1, 2, 3}, {4, 2, 3}, {1, 2, 0}};
  std::vector<Vec4f> out(3);
  rbf.evaluate(many, out);
  EXPECT_NEAR(out[0][0], 0, 1e-6);
  EXPECT_NEAR(out[1][0], 1, 1e-6);
  EXPECT_NEAR(out[2][0], -2, 1e-6);
  EXPECT_NEAR((out[2].tail<3>() - point.normal.cast<float>()).norm(), 0, 1e-6);
}

TEST(HermiteRbf, IsNegativeInsideOnly) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> number(-1, 1);
  for (const Shape& shape : shapes()) {
    const bool partial = shape.name.find("0.333") != std::string::npos;
    // Few samples make a coarse surface, which may stray from the shape; beyond that the sign is sure.
    const double unsure = shape.points.size() < 12 ? 0.06 : shape.points.size() < 20 ? 0.03 : 0.012;
    const HermiteRbf rbf(shape.points);
    int inside = 0, outside = 0;
    for (int i = 0; i < (test::kSanitized ? 200 : 2000); ++i) {
      const Vec3d x = 0.5 * Vec3d(0.6 * number(random), 0.6 * number(random), number(random));
      // A part that covers a third of the circumference says nothing of the other side.
      if (partial && std::cos(std::atan2(x.y(), x.x()) - std::numbers::pi / 3) < 0.6) continue;
      const double depth = shape.depth(x) * (shape.name[0] == 'e' ? 0.12 : 1.0);
      if (std::abs(depth) < unsure) continue;
      (depth < 0 ? inside : outside)++;
      EXPECT_EQ(rbf.distance(x) < 0, depth < 0) << shape.name << " at " << x.transpose() << ' ' << depth;
    }
    if (!test::kSanitized) {
      EXPECT_GT(inside, 1) << shape.name;
      EXPECT_GT(outside, 100) << shape.name;
    }
  }
}

TEST(HermiteRbf, IsADistanceNearItsSurface) {
  const Shape shape = capsule(80);
  const HermiteRbf rbf(shape.points);
  for (int i = 0; i < 200; ++i) {
    const double turn = 2.4 * i, z = 0.3 * std::sin(0.7 * i), r = 0.1 + 0.02 * std::cos(1.3 * i);
    const Vec3d x(r * std::cos(turn), r * std::sin(turn), z);
    EXPECT_NEAR(rbf.distance(x), shape.depth(x), 0.006) << x.transpose();
  }
}

TEST(HermiteRbf, GradientIsTheDerivative) {
  std::mt19937 random(9);
  std::uniform_real_distribution<double> number(-1, 1);
  for (const Shape& shape : {capsule(40), ellipsoid(6), cylinder(15, 0.3, 1 / 3.0)})
    for (const double scale : {1e-3, 1.0, 1e3}) {
      const Affine3d place = similarity(scale, scale * Vec3d(0.3, 0.4, 0.5));
      const HermiteRbf rbf(moved(shape.points, place));
      for (int i = 0; i < 100; ++i) {
        const Vec3d x = place * Vec3d(0.5 * Vec3d(number(random), number(random), number(random)));
        const double h = 1e-5 * scale;
        Vec3d difference;
        for (int axis = 0; axis < 3; ++axis)
          difference[axis] =
              (rbf.distance(x + h * Vec3d::Unit(axis)) - rbf.distance(x - h * Vec3d::Unit(axis))) / (2 * h);
        EXPECT_NEAR((rbf.evaluate(x).gradient - difference).norm(), 0, 1e-6) << shape.name << ' ' << scale;
      }
    }
}

TEST(HermiteRbf, FollowsSimilarities) {
  const Shape shape = cylinder(15, 0.3, 1);
  const HermiteRbf plain(shape.points);
  for (const double scale : {1e-6, 1e-3, 1e3, 1e6}) {
    const Affine3d place = similarity(scale, scale * Vec3d(5, -3, 1));
    const HermiteRbf rbf(moved(shape.points, place));
    for (int i = 0; i < 50; ++i) {
      const Vec3d x = 0.4 * spiral(i, 50);
      const HermiteRbf::Value a = plain.evaluate(x), b = rbf.evaluate(place * x);
      EXPECT_NEAR(a.distance, b.distance / scale, 1e-9);
      EXPECT_NEAR((place.linear() * a.gradient / scale - b.gradient).norm(), 0, 1e-9);
    }
  }
}

TEST(HermiteRbf, LeavesOutNearDuplicates) {
  const Shape shape = capsule(15);
  const double size = extent(shape.points);
  Points points = shape.points;
  points.push_back({points[3].position, -points[3].normal});
  points.push_back({points[4].position + Vec3d(0.0005 * size, 0, 0), Vec3d::UnitX()});
  std::rotate(points.begin() + 9, points.begin() + 15, points.end());
  const HermiteRbf rbf(points), plain(shape.points);
  ASSERT_EQ(rbf.points().size(), 15u);
  for (int i = 0; i < 50; ++i) {
    const Vec3d x = 0.4 * spiral(i, 50);
    EXPECT_NEAR(rbf.distance(x), plain.distance(x), 1e-9);
  }
  // All in one place is one point, the first.
  const Points same(5, {{1, 2, 3}, Vec3d::UnitX()});
  EXPECT_EQ(HermiteRbf(same).points().size(), 1u);
  EXPECT_NEAR(HermiteRbf(same).distance({2, 2, 3}), 1, 1e-12);
  // Those just beyond the limit stay, and are met.
  Points near = shape.points;
  near.push_back({near[4].position + 0.002 * size * near[4].normal.unitOrthogonal(), near[4].normal});
  expect_interpolates(near, 1e-8, "neighbours");
}

TEST(HermiteRbf, ForgivesNormalsOfNearlyUnitLength) {
  Points points = capsule(6).points;
  for (HermitePoint& p : points) p.normal *= 1.005;
  const HermiteRbf rbf(points);
  for (const HermitePoint& p : rbf.points()) {
    EXPECT_NEAR(p.normal.norm(), 1, 1e-12);
    EXPECT_NEAR((rbf.evaluate(p.position).gradient - p.normal).norm(), 0, 1e-9);
  }
}

TEST(HermiteRbf, RejectsWhatIsNoSurface) {
  const Points good = capsule(6).points;
  EXPECT_THROW(HermiteRbf(Points{}), Error);
  EXPECT_THROW(HermiteRbf(Points(HermiteRbf::kMostPoints + 1, good[0])), Error);
  for (const double bad : {kNan, kInfinity, -kInfinity}) {
    Points points = good;
    points[2].position.y() = bad;
    EXPECT_THROW(HermiteRbf{points}, Error);
    points = good;
    points[2].normal.y() = bad;
    EXPECT_THROW(HermiteRbf{points}, Error);
  }
  for (const double length : {0.0, 0.98, 1.02, 1e200}) {
    Points points = good;
    points[5].normal *= length;
    EXPECT_THROW(HermiteRbf{points}, Error);
  }
  // Distances that no double holds, or whose squares it does not.
  for (const double far : {1e308, 1e200}) {
    const Points points{{{far, 0, 0}, Vec3d::UnitX()}, {{-far, 0, 0}, -Vec3d::UnitX()}};
    EXPECT_THROW(HermiteRbf{points}, Error);
  }
  const Points close{{{1e-310, 0, 0}, Vec3d::UnitX()}, {{-1e-310, 0, 0}, -Vec3d::UnitX()}};
  const HermiteRbf rbf(close);  // the same place, as good as
  EXPECT_TRUE(std::isfinite(rbf.distance({1, 0, 0})));
}

TEST(HermiteRbf, AnEmptyOneIsZero) {
  const HermiteRbf rbf;
  EXPECT_TRUE(rbf.points().empty());
  EXPECT_EQ(rbf.distance({1, 2, 3}), 0);
  const std::vector<Vec3f> at(3, Vec3f(1, 2, 3));
  std::vector<Vec4f> out(3, Vec4f::Constant(7));
  rbf.evaluate(at, out);
  EXPECT_EQ(out[2], Vec4f::Zero());
}

// Single precision is off by less than this share of the part's extent.
constexpr double kFloatDistance = 5e-5;
constexpr double kFloatGradient = 2e-4;

TEST(HermiteRbf, ManyAtOnceAreAsOneByOne) {
  std::mt19937 random(4);
  std::uniform_real_distribution<double> number(-1, 1);
  for (const Shape& shape : shapes())
    for (const double scale : {1e-3, 1.0, 1e3}) {
      if (scale != 1 && shape.points.size() > 20) continue;
      const Affine3d place = similarity(scale, scale * Vec3d(0.3, -0.4, 0.5));
      const HermiteRbf rbf(moved(shape.points, place));
      const double size = scale * extent(shape.points);
      // A count that no vector's width divides; among the points the centres themselves, where r is 0.
      std::vector<Vec3f> at;
      for (const HermitePoint& p : rbf.points()) at.push_back(p.position.cast<float>());
      while (at.size() < 203)
        at.push_back(
            (place * Vec3d(0.5 * Vec3d(number(random), number(random), number(random)))).cast<float>());
      test::for_each_simd_target([&](const std::string& target) {
        std::vector<Vec4f> out(at.size() + 1, Vec4f::Constant(7));
        rbf.evaluate(at, std::span(out).first(at.size()));
        EXPECT_EQ(out.back(), Vec4f::Constant(7)) << target;
        double distance = 0, gradient = 0;
        for (std::size_t i = 0; i < at.size(); ++i) {
          const HermiteRbf::Value one = rbf.evaluate(Vec3d(at[i].cast<double>()));
          ASSERT_TRUE(out[i].allFinite());
          distance = std::max(distance, std::abs(static_cast<double>(out[i][0]) - one.distance) / size);
          gradient = std::max(gradient, (out[i].tail<3>().cast<double>() - one.gradient).norm());
        }
        EXPECT_LT(distance, kFloatDistance) << shape.name << ' ' << scale << ' ' << target;
        EXPECT_LT(gradient, kFloatGradient) << shape.name << ' ' << scale << ' ' << target;
      });
    }
}

TEST(HermiteRbf, ManyAtOnceSurvivePointsThatDisagree) {
  // Two points that nearly meet, with normals a radian apart: the coefficients are a million times larger.
  Points points = cylinder(60, 0.3, 1).points;
  const HermitePoint& one = points[30];
  for (const double apart : {0.02, 0.003, 0.001}) {
    Points close = points;
    close.push_back({one.position + Vec3d(0, 0, apart), (one.normal + 1.5 * Vec3d::UnitZ()).normalized()});
    const HermiteRbf rbf(close);
    ASSERT_EQ(rbf.points().size(), close.size());
    std::vector<Vec3f> at;
    for (int i = 0; i < 100; ++i) at.push_back(0.2f * spiral(i, 100).cast<float>());
    std::vector<Vec4f> out(at.size());
    rbf.evaluate(at, out);
    for (std::size_t i = 0; i < at.size(); ++i) {
      const HermiteRbf::Value value = rbf.evaluate(Vec3d(at[i].cast<double>()));
      EXPECT_NEAR(out[i][0], value.distance, 1e-4 * extent(close)) << apart;
      EXPECT_NEAR((out[i].tail<3>().cast<double>() - value.gradient).norm(), 0, 1e-3) << apart;
    }
  }
}

TEST(HermiteRbf, AnyNumberOfPointsAtOnce) {
  const HermiteRbf rbf(capsule(15).points);
  std::vector<Vec3f> at;
  for (int i = 0; i < 300; ++i) at.push_back(0.3f * spiral(i, 300).cast<float>());
  std::vector<Vec4f> all(300);
  rbf.evaluate(at, all);
  test::for_each_simd_target([&](const std::string& target) {
    rbf.evaluate(at, all);
    for (const std::size_t count : {0u, 1u, 3u, 63u, 64u, 65u, 129u}) {
      std::vector<Vec4f> some(count + 1, Vec4f::Constant(7));
      rbf.evaluate(std::span(at).first(count), std::span(some).first(count));
      for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(some[i], all[i]) << target << ' ' << count;
      EXPECT_EQ(some.back(), Vec4f::Constant(7));
    }
  });
}

}  // namespace
}  // namespace sinew
