#include <sinew/effects/wrinkle_curve.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

namespace sinew {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr WrinkleGrowth kGrowths[] = {WrinkleGrowth::all, WrinkleGrowth::from_start,
                                      WrinkleGrowth::from_both_ends};

WrinkleShape shape_of(int folds, int crest, int spacing, WrinkleGrowth growth = WrinkleGrowth::all) {
  WrinkleShape shape;
  shape.folds = folds;
  shape.crest = crest;
  shape.spacing = spacing;
  shape.growth = growth;
  return shape;
}

class RandomShapes {
 public:
  double between(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(generator_);
  }
  int between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(generator_); }
  WrinkleShape next() {
    WrinkleShape shape = shape_of(between(1, 8), between(1, 3), between(0, 2), kGrowths[between(0, 2)]);
    shape.most_height = between(0.1, 2.0);
    shape.sharp = between(0, 3) == 0;
    shape.shares.resize(to_size(between(1, 4)));
    for (double& share : shape.shares) share = between(0.05, 1.0);
    return shape;
  }

 private:
  std::mt19937 generator_{7};
};

/// Polygons through points of the curve; the error of the finer one is a third of the difference of both.
class BruteLength {
 public:
  BruteLength(const WrinkleCurve& curve, std::size_t points_per_edge)
      : curve_(curve), count_(curve.steps(curve.levels() - 1) * points_per_edge) {
    for (std::size_t i = 0; i <= count_; ++i)
      places_.push_back(curve.place(static_cast<double>(i) / static_cast<double>(count_)));
  }
  double operator()(const WrinkleCurve::Heights& heights, double now) const {
    const auto height = [&](std::size_t i) { return curve_.height(heights, places_[i]); };
    const double width = now / static_cast<double>(count_);
    double fine = 0, coarse = 0;
    for (std::size_t i = 0; i < count_; i += 2) {
      const double a = height(i), b = height(i + 1), c = height(i + 2);
      fine += std::sqrt(width * width + (b - a) * (b - a)) + std::sqrt(width * width + (c - b) * (c - b));
      coarse += std::sqrt(4 * width * width + (c - a) * (c - a));
    }
    return fine + (fine - coarse) / 3;
  }

 private:
  const WrinkleCurve& curve_;
  std::size_t count_;
  std::vector<WrinkleCurve::Place> places_;
};

/// Heights of the crests of a level without room left over.
std::vector<double> crests(const WrinkleCurve& curve, const WrinkleCurve::Heights& heights,
                           const WrinkleShape& shape, std::size_t level = 0) {
  const std::span<const double> points = curve.control_heights(heights, level);
  std::vector<double> found;
  const auto period = to_size(shape.crest + 1 + shape.spacing);
  for (std::size_t i = 0; i < curve.folds(level); ++i) found.push_back(points[i * period + 1]);
  return found;
}

bool is_flat(const WrinkleCurve& curve, const WrinkleCurve::Heights& heights) {
  for (std::size_t k = 0; k < curve.levels(); ++k)
    for (const double h : curve.control_heights(heights, k))
      if (h != 0) return false;
  return true;
}

TEST(WrinkleCurve, ASmoothEdgeIsAsLongAsItsPolygon) {
  for (const double rise : {1e-3, 0.3, 1.0, 4.0, 20.0}) {
    const int count = 200000;
    double excess = 0;
    for (int i = 0; i < count; ++i) {
      const double t = (i + 0.5) / count, slope = rise * 30 * t * t * (1 - t) * (1 - t);
      excess += slope * slope / (1 + std::sqrt(1 + slope * slope)) / count;
    }
    EXPECT_NEAR(wrinkle_edge_excess(rise, false) / excess, 1, 1e-9) << rise;
    EXPECT_NEAR(wrinkle_edge_excess(rise, true), std::sqrt(1 + rise * rise) - 1, 1e-14 * (1 + rise)) << rise;
  }
}

TEST(WrinkleCurve, RiseAndExcessAreInverse) {
  for (const bool sharp : {true, false}) {
    EXPECT_EQ(wrinkle_edge_rise(0, sharp), 0);
    EXPECT_EQ(wrinkle_edge_excess(0, sharp), 0);
    for (double rise = 1e-7; rise < 1e15; rise *= 1.3)
      EXPECT_NEAR(wrinkle_edge_rise(wrinkle_edge_excess(rise, sharp), sharp) / rise, 1, 1e-9) << rise;
    EXPECT_EQ(wrinkle_edge_excess(-2, sharp), wrinkle_edge_excess(2, sharp));
    EXPECT_TRUE(std::isnan(wrinkle_edge_excess(std::nan(""), sharp)));
  }
}

TEST(WrinkleCurve, ASharpFoldHasTheHeightOfTheArticle) {
  WrinkleShape shape = shape_of(1, 1, 0);
  shape.sharp = true;
  const WrinkleCurve curve(shape);
  WrinkleCurve::Heights heights = curve.make_heights();
  const double rest = 2.5;
  for (const double d : {1e-9, 0.01, 0.3, 1.0, 2.4}) {
    ASSERT_TRUE(curve.solve(rest, rest - d, heights));
    const double step = (rest - d) / 2;
    // Larboulette, Cani and Arnaldi 2006, §3.2.3.
    EXPECT_NEAR(curve.control_heights(heights, 0)[1] / std::sqrt(d * step + d * d / 4), 1, 1e-6) << d;
  }
}

TEST(WrinkleCurve, LaysOutFoldsCrestsAndSpaces) {
  WrinkleShape shape = shape_of(2, 2, 1);
  shape.shares = {1, 1};
  const WrinkleCurve curve(shape);
  ASSERT_EQ(curve.levels(), 2u);
  ASSERT_EQ(curve.steps(0), 7u);
  ASSERT_EQ(curve.steps(1), 14u);
  EXPECT_EQ(curve.folds(0), 2u);
  EXPECT_EQ(curve.folds(1), 3u);  // 11 of 14 steps, 1 left before them, 2 after
  WrinkleCurve::Heights heights = curve.make_heights();
  ASSERT_TRUE(curve.solve(1, 0.8, heights));
  const auto up = [&](std::size_t level) {
    std::string text;
    for (const double h : curve.control_heights(heights, level)) text += h > 0 ? '^' : '_';
    return text;
  };
  EXPECT_EQ(up(0), "_^^__^^_");
  EXPECT_EQ(up(1), "__^^__^^__^^___");
  const std::span<const double> points = curve.control_heights(heights, 1);
  EXPECT_EQ(points[2], points[3]);
}

TEST(WrinkleCurve, KeepsItsLength) {
  RandomShapes random;
  int sharp = 0, several = 0;
  const int cases = 60;
  for (int i = 0; i < cases; ++i) {
    const WrinkleShape shape = random.next();
    sharp += shape.sharp ? 1 : 0;
    several += shape.shares.size() > 1 ? 1 : 0;
    const WrinkleCurve curve(shape);
    WrinkleCurve::Heights heights = curve.make_heights();
    const BruteLength brute(curve, shape.sharp ? 2 : 300);
    for (const double lost : {random.between(0.0, 0.1), random.between(0.1, 0.9), 0.9}) {
      const double rest = std::pow(10.0, random.between(-3.0, 3.0)), now = rest * (1 - lost);
      ASSERT_TRUE(curve.solve(rest, now, heights));
      const double length = brute(heights, now);
      EXPECT_NEAR(length / rest, 1, 1e-6) << i << " lost " << lost;
      EXPECT_NEAR(curve.arc_length(heights, now) / length, 1, 2e-7) << i << " lost " << lost;
      for (std::size_t k = 0; k < curve.levels(); ++k) {
        const std::span<const double> points = curve.control_heights(heights, k);
        EXPECT_EQ(points.front(), 0);
        EXPECT_EQ(points.back(), 0);
        for (const double h : points) ASSERT_GE(h, 0);
      }
      EXPECT_EQ(curve.height(heights, curve.place(0)), 0);
      EXPECT_NEAR(curve.height(heights, curve.place(1)), 0, 1e-15 * rest);
    }
  }
  EXPECT_GT(sharp, cases / 8);
  EXPECT_GT(several, cases / 2);
}

TEST(WrinkleCurve, KeepsItsLengthWhenNearlyNothingIsLeftOrLost) {
  RandomShapes random;
  for (int i = 0; i < 40; ++i) {
    const WrinkleShape shape = random.next();
    const WrinkleCurve curve(shape);
    WrinkleCurve::Heights heights = curve.make_heights();
    for (const double lost : {1e-13, 1e-9, 1e-5, 0.99, 0.999, 0.99999}) {
      ASSERT_TRUE(curve.solve(1, 1 - lost, heights));
      EXPECT_NEAR(curve.arc_length(heights, 1 - lost), 1, 1e-6) << i << " lost " << lost;
    }
    for (const double now : {1e-9, 1e-300, 5e-324}) {
      ASSERT_TRUE(curve.solve(1, now, heights));
      for (std::size_t k = 0; k < curve.levels(); ++k)
        for (const double h : curve.control_heights(heights, k)) ASSERT_TRUE(h >= 0 && h <= 1) << i << h;
    }
  }
}

TEST(WrinkleCurve, AboveNextToNoGroundItIsAsLongAsItGoesUpAndDown) {
  for (const bool sharp : {false, true}) {
    WrinkleShape shape = shape_of(3, 1, 0);
    shape.sharp = sharp;
    const WrinkleCurve curve(shape);
    WrinkleCurve::Heights heights = curve.make_heights();
    ASSERT_TRUE(curve.solve(1, 0.5, heights));
    for (const double now : {1e-12, 1e-300, 5e-324})
      EXPECT_NEAR(curve.arc_length(heights, now), 6 * curve.control_heights(heights, 0)[1], 1e-9) << now;
  }
}

TEST(WrinkleCurve, IsFlatWhenNothingIsLostOrLengthsAreNone) {
  for (const WrinkleGrowth growth : kGrowths) {
    WrinkleShape shape = shape_of(3, 1, 0, growth);
    shape.shares = {1, 1};
    const WrinkleCurve curve(shape);
    WrinkleCurve::Heights heights = curve.make_heights();
    EXPECT_TRUE(is_flat(curve, heights));
    const double nan = std::nan(""), least = std::numeric_limits<double>::denorm_min();
    for (const auto& [rest, now] : {std::pair(1.0, 1.0),
                                    {1.0, 2.0},
                                    {1.0, 0.0},
                                    {1.0, -1.0},
                                    {0.0, 0.0},
                                    {-1.0, -2.0},
                                    {nan, 1.0},
                                    {1.0, nan},
                                    {nan, nan},
                                    {kInfinity, 1.0},
                                    {1.0, kInfinity},
                                    {kInfinity, kInfinity},
                                    {least, least}}) {
      ASSERT_TRUE(curve.solve(1, 0.5, heights));
      ASSERT_FALSE(is_flat(curve, heights));
      EXPECT_FALSE(curve.solve(rest, now, heights)) << rest << " " << now;
      EXPECT_TRUE(is_flat(curve, heights)) << rest << " " << now;
    }
    EXPECT_EQ(curve.arc_length(heights, 0.75), 0.75);
    EXPECT_EQ(curve.arc_length(heights, nan), 0);
    EXPECT_EQ(curve.arc_length(heights, 0), 0);
    EXPECT_EQ(curve.arc_length(heights, -1), 0);
  }
}

TEST(WrinkleCurve, FoldsComeUpFromTheStart) {
  for (const bool sharp : {false, true}) {
    WrinkleShape shape = shape_of(5, 1, 1, WrinkleGrowth::from_start);
    shape.sharp = sharp;
    const WrinkleCurve curve(shape);
    WrinkleCurve::Heights heights = curve.make_heights();
    const double most = shape.most_height / static_cast<double>(curve.steps(0));
    std::size_t most_up = 0, partly = 0;
    bool all_full = false;
    for (double now = 0.999; now > 0.3; now -= 0.001) {
      ASSERT_TRUE(curve.solve(1, now, heights));
      const std::vector<double> h = crests(curve, heights, shape);
      ASSERT_TRUE(std::is_sorted(h.rbegin(), h.rend())) << now;
      ASSERT_GT(h[0], 0);
      const auto up = to_size(std::count_if(h.begin(), h.end(), [](double x) { return x > 0; }));
      ASSERT_GE(up, most_up);
      ASSERT_LE(up, most_up + 1);  // one after another
      most_up = up;
      if (h.back() < most * (1 - 1e-9)) {
        ASSERT_LE(h[0], most * (1 + 1e-9)) << now;
        if (up >= 3) {
          EXPECT_NEAR(h[up - 3] / most, 1, 1e-9) << now;  // only two grow at a time
        }
        partly += up > 1 && up < 5 ? 1 : 0;
      } else {
        all_full = true;
        ASSERT_NEAR(h.front(), h.back(), 1e-12) << now;
      }
    }
    EXPECT_EQ(most_up, 5u);
    EXPECT_GT(partly, 10u);
    EXPECT_TRUE(all_full);
  }
}

TEST(WrinkleCurve, FoldsComeUpFromBothEnds) {
  for (const int folds : {1, 2, 3, 4, 5, 6, 7}) {
    const WrinkleShape shape = shape_of(folds, 1, 0, WrinkleGrowth::from_both_ends);
    const WrinkleCurve curve(shape);
    WrinkleCurve::Heights heights = curve.make_heights();
    const double most = shape.most_height / static_cast<double>(curve.steps(0));
    bool all_full = false, first_alone = false;
    for (double now = 0.999; now > 0.3; now -= 0.001) {
      ASSERT_TRUE(curve.solve(1, now, heights));
      const std::vector<double> h = crests(curve, heights, shape);
      const std::size_t pairs = (h.size() + 1) / 2;
      for (std::size_t i = 0; i < h.size(); ++i) ASSERT_EQ(h[i], h[h.size() - 1 - i]);
      ASSERT_TRUE(std::is_sorted(h.rend() - static_cast<std::ptrdiff_t>(pairs), h.rend()));
      first_alone |= h[0] > 0 && (pairs == 1 || h[1] == 0);
      const double inmost = h[pairs - 1];
      if (inmost < most * (1 - 1e-9)) {
        ASSERT_LE(h[0], most * (1 + 1e-9)) << folds << " " << now;
      } else {
        all_full = true;
        ASSERT_NEAR(h[0], inmost, 1e-12);
      }
      // An odd one out in the middle must not cost length.
      ASSERT_NEAR(curve.arc_length(heights, now), 1, 1e-8) << folds << " " << now;
    }
    EXPECT_TRUE(first_alone) << folds;
    EXPECT_TRUE(all_full) << folds;
  }
}

TEST(WrinkleCurve, ANewFoldStartsWithFiniteSpeed) {
  for (const WrinkleGrowth growth : {WrinkleGrowth::from_start, WrinkleGrowth::from_both_ends}) {
    const WrinkleShape shape = shape_of(4, 1, 0, growth);
    const WrinkleCurve curve(shape);
    WrinkleCurve::Heights heights = curve.make_heights();
    const auto second = [&](double now) {
      curve.solve(1, now, heights);
      return crests(curve, heights, shape)[1];
    };
    double down = 1, up = 0.5;  // where the second one begins
    ASSERT_GT(second(up), 0);
    for (int i = 0; i < 60; ++i) (second((down + up) / 2) > 0 ? up : down) = (down + up) / 2;
    ASSERT_GT(down, 0.6);
    ASSERT_LT(down, 0.999);
    // In proportion to what is lost: a root would grow by 1.41.
    EXPECT_NEAR(second(down - 2e-5) / second(down - 1e-5), 2, 0.02);
  }
}

TEST(WrinkleCurve, IsContinuous) {
  RandomShapes random;
  for (int i = 0; i < 25; ++i) {
    const WrinkleShape shape = random.next();
    const WrinkleCurve curve(shape);
    WrinkleCurve::Heights heights = curve.make_heights(), before = curve.make_heights();
    const double step = 1e-3;
    for (double now = 1; now > 0.15; now -= step) {
      curve.solve(1, now, heights);
      for (std::size_t k = 0; now < 1 && k < curve.levels(); ++k) {
        const auto a = curve.control_heights(before, k), b = curve.control_heights(heights, k);
        double jump = 0;
        for (std::size_t p = 0; p < a.size(); ++p) jump = std::max(jump, std::abs(a[p] - b[p]));
        ASSERT_LE(jump, 0.8 * std::sqrt(step)) << i << " " << now;
        // The root is at the very start only.
        if (now < 0.95) {
          ASSERT_LE(jump, 4 * step) << i << " level " << k << " now " << now;
        }
      }
      std::swap(heights, before);
    }
  }
}

TEST(WrinkleCurve, IsSymmetric) {
  for (const WrinkleGrowth growth : {WrinkleGrowth::all, WrinkleGrowth::from_both_ends})
    for (const bool sharp : {false, true}) {
      WrinkleShape shape = shape_of(3, 1, 0, growth);
      shape.shares = {3, 2, 1};
      shape.sharp = sharp;
      const WrinkleCurve curve(shape);
      WrinkleCurve::Heights heights = curve.make_heights();
      for (const double now : {0.95, 0.8, 0.4}) {
        ASSERT_TRUE(curve.solve(1, now, heights));
        for (double u = 0; u < 0.5; u += 0.003)
          ASSERT_NEAR(curve.height(heights, curve.place(u)), curve.height(heights, curve.place(1 - u)),
                      1e-12);
      }
    }
}

TEST(WrinkleCurve, ScalesWithItsLengths) {
  RandomShapes random;
  for (int i = 0; i < 20; ++i) {
    const WrinkleCurve curve(random.next());
    WrinkleCurve::Heights unit = curve.make_heights(), scaled = curve.make_heights();
    const double now = random.between(0.1, 0.99);
    ASSERT_TRUE(curve.solve(1, now, unit));
    for (const double scale : {1e-300, 1e-3, 7.0, 1e300}) {
      ASSERT_TRUE(curve.solve(scale, scale * now, scaled));
      for (double u = 0; u <= 1; u += 0.01)
        ASSERT_NEAR(curve.height(scaled, curve.place(u)) / scale, curve.height(unit, curve.place(u)), 1e-9);
      EXPECT_NEAR(curve.arc_length(scaled, scale * now) / scale, 1, 1e-6);
    }
  }
}

TEST(WrinkleCurve, SmoothOnesAreLevelAtControlPoints) {
  for (const bool sharp : {false, true}) {
    WrinkleShape shape = shape_of(3, 2, 1);
    shape.sharp = sharp;
    shape.shares = {1, 1};
    const WrinkleCurve curve(shape);
    WrinkleCurve::Heights heights = curve.make_heights();
    ASSERT_TRUE(curve.solve(1, 0.6, heights));
    const double by = 1e-4;
    double steepest = 0;
    for (std::size_t i = 0; i <= curve.steps(0); ++i) {
      const double u = static_cast<double>(i) / static_cast<double>(curve.steps(0));
      const double h = curve.height(heights, curve.place(u));
      steepest = std::max({steepest, std::abs(curve.height(heights, curve.place(u - by)) - h) / by,
                           std::abs(curve.height(heights, curve.place(u + by)) - h) / by});
    }
    EXPECT_EQ(steepest > 0.5, sharp) << steepest;
    EXPECT_EQ(steepest < 1e-3, !sharp) << steepest;
  }
}

TEST(WrinkleCurve, PlacesAreClampedAndGoThroughControlPoints) {
  for (const bool sharp : {false, true}) {
    WrinkleShape shape = shape_of(3, 1, 1);
    shape.sharp = sharp;
    const WrinkleCurve curve(shape);
    WrinkleCurve::Heights heights = curve.make_heights();
    ASSERT_TRUE(curve.solve(2, 1.5, heights));
    const std::span<const double> points = curve.control_heights(heights, 0);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double u = static_cast<double>(i) / static_cast<double>(curve.steps(0));
      EXPECT_NEAR(curve.height(heights, curve.place(u)), points[i], 1e-12);
    }
    const double quarter = 0.25 / static_cast<double>(curve.steps(0));
    EXPECT_NEAR(curve.height(heights, curve.place(quarter)), points[1] * (sharp ? 0.25 : 0.103515625), 1e-12);
    for (const double u : {-1.0, 2.0, kInfinity, -kInfinity, std::nan("")})
      EXPECT_EQ(curve.height(heights, curve.place(u)), 0) << u;
  }
}

TEST(WrinkleCurve, LevelsTakeTheirShares) {
  WrinkleShape shape = shape_of(4, 1, 0);
  const auto heights_of = [&](std::vector<double> shares) {
    shape.shares = std::move(shares);
    const WrinkleCurve curve(shape);
    WrinkleCurve::Heights heights = curve.make_heights();
    EXPECT_TRUE(curve.solve(1, 0.7, heights));
    std::vector<double> highest;
    for (std::size_t k = 0; k < curve.levels(); ++k) {
      const std::span<const double> points = curve.control_heights(heights, k);
      highest.push_back(*std::max_element(points.begin(), points.end()));
    }
    return highest;
  };
  const double whole = heights_of({1})[0];
  EXPECT_NEAR(heights_of({5, 0})[0], whole, 1e-12);
  EXPECT_EQ(heights_of({5, 0})[1], 0);
  EXPECT_EQ(heights_of({0, 5})[0], 0);
  EXPECT_NEAR(heights_of({0, 5})[1], whole / 2, 1e-9);  // the same folds, half as large
  const std::vector<double> some = heights_of({0.3, 0.1}), same = heights_of({1.5e308, 0.5e308});
  EXPECT_NEAR(some[0], same[0], 1e-12);
  EXPECT_NEAR(some[1], same[1], 1e-12);
  EXPECT_LT(some[0], whole);

  // What the first level takes is what a curve of its own would that loses as much.
  shape.shares = {0.75, 0.25};
  const WrinkleCurve both(shape);
  WrinkleCurve::Heights heights = both.make_heights();
  both.solve(1, 0.7, heights);
  const double step = 0.7 / 8, loss = 0.75 * 0.3 / 4;
  EXPECT_NEAR(both.control_heights(heights, 0)[1], step * wrinkle_edge_rise(loss / (2 * step), false), 1e-12);
}

TEST(WrinkleCurve, DoesNotRememberWhatItWasBefore) {
  RandomShapes random;
  for (int i = 0; i < 20; ++i) {
    const WrinkleCurve curve(random.next());
    WrinkleCurve::Heights used = curve.make_heights(), fresh = curve.make_heights();
    for (const double now : {0.2, 0.99, 0.5, 2.0, 0.9}) curve.solve(1, now, used);
    curve.solve(1, 0.9, fresh);
    for (std::size_t k = 0; k < curve.levels(); ++k)
      EXPECT_TRUE(std::ranges::equal(curve.control_heights(used, k), curve.control_heights(fresh, k)));
  }
}

TEST(WrinkleCurve, RejectsWhatItCannotBe) {
  const auto rejects = [](auto&& change) {
    WrinkleShape shape;
    change(shape);
    try {
      const WrinkleCurve curve(shape);
    } catch (const Error&) {
      return true;
    }
    return false;
  };
  EXPECT_FALSE(rejects([](WrinkleShape&) {}));
  EXPECT_TRUE(rejects([](WrinkleShape& s) { s.folds = 0; }));
  EXPECT_TRUE(rejects([](WrinkleShape& s) { s.crest = 0; }));
  EXPECT_TRUE(rejects([](WrinkleShape& s) { s.spacing = -1; }));
  EXPECT_TRUE(rejects([](WrinkleShape& s) { s.folds = std::numeric_limits<int>::max(); }));
  EXPECT_TRUE(rejects([](WrinkleShape& s) { s.crest = std::numeric_limits<int>::max(); }));
  EXPECT_TRUE(rejects([](WrinkleShape& s) { s.spacing = std::numeric_limits<int>::max(); }));
  EXPECT_FALSE(rejects([](WrinkleShape& s) { s.folds = 2048; }));
  EXPECT_TRUE(rejects([](WrinkleShape& s) { s.folds = 2049; }));
  for (const double bad : {0.0, -1.0, std::nan(""), kInfinity})
    EXPECT_TRUE(rejects([&](WrinkleShape& s) { s.most_height = bad; })) << bad;
  for (const std::vector<double>& bad : std::vector<std::vector<double>>{
           {}, {0}, {0, 0}, {1, -0.1}, {std::nan("")}, {1, kInfinity}, {1, 1, 1, 1, 1}})
    EXPECT_TRUE(rejects([&](WrinkleShape& s) { s.shares = bad; })) << bad.size();
  EXPECT_FALSE(rejects([](WrinkleShape& s) { s.shares = {0, 0, 0, 1}; }));
}

}  // namespace
}  // namespace sinew
