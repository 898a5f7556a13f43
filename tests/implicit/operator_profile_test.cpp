#include <sinew/implicit/operator_profile.h>

#include <limits>

#include <gtest/gtest.h>

#include <sinew/core/error.h>

#include "tests/reference/implicit_operators.h"

namespace sinew {
namespace {

using Point = Eigen::Vector2d;

TEST(OperatorProfile, PresetsAreValid) {
  EXPECT_NO_THROW(validate(contact_profile()));
  EXPECT_NO_THROW(validate(bulge_profile()));
  EXPECT_TRUE(contact_profile().contact);
  EXPECT_TRUE(bulge_profile().contact);
  EXPECT_FALSE(contact_profile() == bulge_profile());
}

TEST(OperatorProfile, CurvesAreTheFormulas) {
  const OperatorProfile profiles[] = {
      contact_profile(),
      bulge_profile(),
      {{{0, 0.5}, {0.2, 0.3}, {0.5, 0.5}}, true},
      {{{0, 0.5}, {0.1, 0.6}, {0.3, 0.4}, {0.5, 0.5}}, false},
      {{{0, 0.5}, {0.1, 0.2}, {0.1, 0.8}, {0.3, 0.4}, {0.4, 0.9}, {0.45, 0.5}, {0.5, 0.5}}, true}};
  for (const OperatorProfile& profile : profiles) {
    EXPECT_NO_THROW(validate(profile));
    for (const double depth : {0.0, 0.3, 1.0}) {
      std::vector<Point> control = profile.points;
      for (Point& point : control) point.y() = (1 - depth) * 0.5 + depth * point.y();
      const std::vector<Point> curve = half_curve(profile, depth, 64);
      ASSERT_EQ(curve.size(), 65u);
      for (std::size_t i = 0; i < curve.size(); ++i) {
        EXPECT_LT((curve[i] - reference::spline_point(control, static_cast<double>(i) / 64)).norm(), 1e-14);
        // On its side of the diagonal, and ahead.
        EXPECT_GE(curve[i].y(), curve[i].x() - 1e-15);
        if (i > 0) {
          EXPECT_GT(curve[i].x(), curve[i - 1].x());
        }
        if (depth == 0) {
          EXPECT_EQ(curve[i].y(), 0.5);
        }
      }
      EXPECT_EQ(curve.front(), Point(0, 0.5));
      EXPECT_EQ(curve.back(), Point(0.5, 0.5));
    }
  }
}

TEST(OperatorProfile, ContactIsStraightAndBulgeBulges) {
  for (const Point& point : half_curve(contact_profile(), 1, 100)) EXPECT_EQ(point.y(), 0.5);
  const auto lowest = [](double depth) {
    double least = 1;
    for (const Point& point : half_curve(bulge_profile(), depth, 100)) least = std::min(least, point.y());
    return least;
  };
  EXPECT_NEAR(lowest(1), 0.426, 0.005);
  EXPECT_NEAR(lowest(0.5), 0.463, 0.005);
}

TEST(OperatorProfile, ContactEndsInsideTheSquare) {
  EXPECT_EQ(contact_end(contact_profile(), 0), 0.5);
  EXPECT_EQ(contact_end(contact_profile(), 0.5), 0.75);
  EXPECT_EQ(contact_end(contact_profile(), 1), 1);
  EXPECT_EQ(contact_end({contact_profile().points, false}, 1), 0.5);
}

TEST(OperatorProfile, RejectsBadPoints) {
  const auto rejects = [](std::vector<Point> points) {
    EXPECT_THROW(validate(OperatorProfile{std::move(points), true}), Error);
  };
  rejects({});
  rejects({{0, 0.5}});
  rejects({{0.5, 0.5}});
  rejects({{0, 0.5}, {0.5, 0.51}});
  rejects({{0, 0.5}, {0.4, 0.5}});
  rejects({{0.01, 0.5}, {0.5, 0.5}});
  rejects({{0, 0.4}, {0.5, 0.5}});
  rejects({{0, 0.5}, {0.3, 0.29}, {0.5, 0.5}});             // beyond the diagonal
  rejects({{0, 0.5}, {0.3, 0.4}, {0.2, 0.4}, {0.5, 0.5}});  // turns back
  rejects({{0, 0.5}, {0, 0.4}, {0.5, 0.5}});                // along the axis
  rejects({{0, 0.5}, {0.2, 1.01}, {0.5, 0.5}});
  rejects({{0, 0.5}, {-0.1, 0.5}, {0.5, 0.5}});
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    for (std::size_t i = 0; i < 3; ++i)
      for (const int axis : {0, 1}) {
        std::vector<Point> points{{0, 0.5}, {0.2, 0.4}, {0.5, 0.5}};
        points[i][axis] = bad;
        rejects(points);
      }
  std::vector<Point> many;
  for (std::size_t i = 0; i < OperatorProfile::kMostPoints; ++i)
    many.emplace_back(0.5 * static_cast<double>(i) / (OperatorProfile::kMostPoints - 1), 0.5);
  EXPECT_NO_THROW(validate(OperatorProfile{many, true}));
  many.insert(many.begin() + 1, many[1]);
  rejects(many);
}

}  // namespace
}  // namespace sinew
