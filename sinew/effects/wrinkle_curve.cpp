#include <sinew/effects/wrinkle_curve.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

#include <fmt/format.h>
#include <Eigen/Core>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

namespace sinew {

namespace {

constexpr std::size_t kMostSteps = 4096;
// Of the length at rest: shorter segments would have slopes beyond all use.
constexpr double kShortest = 1e-6;
// Bounds slopes, so that their squares stay finite.
constexpr double kSteepest = 1e12;

/// p[0] + p[1] t + … + p[4] t⁴: the slope of a smooth curve on one edge of its finest level.
using Quartic = std::array<double, 5>;

/// The derivative 30 u² (1 − u)² of the smooth step at u = (part + t) / parts.
constexpr Quartic smooth_slope(std::size_t part, std::size_t parts) {
  const double b = 1 / static_cast<double>(parts), a = static_cast<double>(part) * b;
  const double g0 = a * (1 - a), g1 = b * (1 - 2 * a), g2 = -b * b;  // u (1 − u)
  return {30 * g0 * g0, 60 * g0 * g1, 30 * (g1 * g1 + 2 * g0 * g2), 60 * g1 * g2, 30 * g2 * g2};
}

/// Those of an edge of 1, 2, 4 and 8 parts, one after another.
constexpr auto kSmoothSlopes = [] {
  std::array<Quartic, 15> slopes{};
  for (std::size_t parts = 1; parts <= 8; parts *= 2)
    for (std::size_t part = 0; part < parts; ++part) slopes[parts - 1 + part] = smooth_slope(part, parts);
  return slopes;
}();

double smooth_ramp(double t) {
  return t * t * t * (10 + t * (6 * t - 15));
}

/// Points and weights on 0…1.
template <int n>
struct GaussLegendre {
  Eigen::Array<double, n, 1> at, weight;

  GaussLegendre() {
    for (int i = 0; i < n; ++i) {
      double x = std::cos(std::numbers::pi * (i + 0.75) / (n + 0.5)), slope = 1;
      for (int newton = 0; newton < 10; ++newton) {
        double p = 1, before = 0;
        for (int k = 0; k < n; ++k) {
          const double next = ((2 * k + 1) * x * p - k * before) / (k + 1);
          before = p;
          p = next;
        }
        slope = n * (x * p - before) / (x * x - 1);
        x -= p / slope;
      }
      at[i] = (1 + x) / 2;
      weight[i] = 1 / ((1 - x * x) * slope * slope);
    }
  }
};

template <int n>
const GaussLegendre<n>& gauss_legendre() {
  static const GaussLegendre<n> rule;
  return rule;
}

constexpr int kSamples = 10;  // errs by less than 1e-7 of the length, see is_tame
constexpr int kExactly = 16;  // by little more than rounding

/// What a curve of some slopes is longer than its ground, and how that changes with the height of a level.
struct Excess {
  double value = 0, change = 0;
};

/// √(1 + s²) − 1 without cancellation, and its derivative times `own`.
template <class Slopes, class Own, class Weights>
Excess weighted_excess(const Slopes& slopes, const Own& own, const Weights& weights) {
  const auto length = (1 + slopes.square()).sqrt().eval();
  return {(weights * slopes.square() / (1 + length)).sum(), (weights * slopes * own / length).sum()};
}

template <class Array>
Array evaluate(const Quartic& p, const Array& t) {
  return p[0] + t * (p[1] + t * (p[2] + t * (p[3] + t * p[4])));
}

/// Around the middle of a panel, for x from −1 to 1.
Quartic recentred(const Quartic& p, double middle, double half) {
  Quartic q = p;
  for (int low = 0; low < 4; ++low)
    for (int i = 3; i >= low; --i) q[to_size(i)] += middle * q[to_size(i) + 1];
  double power = 1;
  for (double& coefficient : q) {
    coefficient *= power;
    power *= half;
  }
  return q;
}

/// Whether √(1 + q²) is analytic in the ellipse with foci ±1 and half axes that add up to 2: Gauss's rule of
/// n points then errs by some 4^−n. In Chebyshev's polynomials, |T_i| ≤ (2^i + 2^−i) / 2 there, it is as long
/// as q stays away from ±i.
bool is_tame(const Quartic& q) {
  const double c0 = q[0] + q[2] / 2 + q[4] * 0.375, c1 = q[1] + q[3] * 0.75, c2 = (q[2] + q[4]) / 2,
               c3 = q[3] / 4, c4 = q[4] / 8;
  const double sway =
      1.25 * std::abs(c1) + 2.125 * std::abs(c2) + 4.0625 * std::abs(c3) + 8.03125 * std::abs(c4);
  return sway * sway < 1 + c0 * c0;
}

/// Of the curve with slope `slope`, to which a level of slope `own` S' contributes. Halves what is not tame:
/// that is around the few zeros of the slope only.
template <int n>
Excess integrate(const Quartic& slope, double own, double from, double to, int depth = 0) {
  const double half = (to - from) / 2, middle = from + half;
  const Quartic q = recentred(slope, middle, half);
  if (depth < 40 && !is_tame(q)) {
    const Excess left = integrate<n>(slope, own, from, middle, depth + 1);
    const Excess right = integrate<n>(slope, own, middle, to, depth + 1);
    return {left.value + right.value, left.change + right.change};
  }
  const GaussLegendre<n>& rule = gauss_legendre<n>();
  const Eigen::Array<double, n, 1> t = from + (to - from) * rule.at;
  const Eigen::Array<double, n, 1> owns = 30 * own * (t * (1 - t)).square();
  const Excess excess = weighted_excess(evaluate(slope, t), owns, rule.weight);
  return {(to - from) * excess.value, (to - from) * excess.change};
}

void add(Quartic& sum, const Quartic& p, double factor) {
  for (std::size_t i = 0; i < 5; ++i) sum[i] += factor * p[i];
}

Excess smooth_excess(double rise) {
  Quartic slope{};
  add(slope, kSmoothSlopes[0], rise);
  return integrate<kExactly>(slope, 1, 0, 1);
}

/// The rise of a smooth edge for its excess e. rise² / (e (e + 2)) would be 1 for a straight one; here it is
/// from 0.7 to 1 and, over 1 / √(1 + e), so smooth that a short Chebyshev series has it for all e.
class SmoothRise {
 public:
  SmoothRise() {
    std::array<double, kTerms> values;
    for (std::size_t i = 0; i < kTerms; ++i) {
      const double angle = std::numbers::pi * (static_cast<double>(i) + 0.5) / kTerms;
      const double w = (1 + std::cos(angle)) / 2;
      const double excess = (1 - w) * (1 + w) / (w * w);
      double rise = std::sqrt(excess * (excess + 2));
      // A straight edge of the same excess rises higher: from there Newton comes down.
      for (int newton = 0; newton < 12; ++newton) {
        const Excess now = smooth_excess(rise);
        rise -= (now.value - excess) / now.change;
      }
      values[i] = rise * rise / (excess * (excess + 2));
    }
    for (std::size_t k = 0; k < kTerms; ++k) {
      double sum = 0;
      for (std::size_t i = 0; i < kTerms; ++i)
        sum += values[i] *
               std::cos(std::numbers::pi * static_cast<double>(k) * (static_cast<double>(i) + 0.5) / kTerms);
      series_[k] = sum * (k == 0 ? 1 : 2) / kTerms;
    }
  }

  double operator()(double excess) const {
    const double x = 2 / std::sqrt(1 + excess) - 1;
    double one = 0, two = 0;
    for (std::size_t k = kTerms; k-- > 1;) {
      const double next = series_[k] + 2 * x * one - two;
      two = one;
      one = next;
    }
    return std::sqrt((series_[0] + x * one - two) * excess) * std::sqrt(excess + 2);
  }

 private:
  static constexpr std::size_t kTerms = 40;
  std::array<double, kTerms> series_;
};

/// How much of itself a fold has got that comes up at time 0 and is full at time 1: the integral of the hat
/// function from −½ to 1½. Sums over all whole shifts to the time.
double grown(double time) {
  if (time <= -0.5) return 0;
  if (time >= 1.5) return 1;
  return time < 0.5 ? (time + 0.5) * (time + 0.5) / 2 : 1 - (1.5 - time) * (1.5 - time) / 2;
}

/// The same of the one at `place` of `count` that come up one after another, `time` from 0 to `count`. The
/// first and the last take what falls on neighbours that they do not have: the sum is exactly the time.
double grown_in_row(double time, std::size_t place, std::size_t count) {
  double part = grown(time - static_cast<double>(place));
  if (place == 0) part += grown(time + 1) - 1;
  if (place + 1 == count) part += grown(time - static_cast<double>(count));
  return std::max(part, 0.0);
}

/// When the pairs of an odd number of folds, the middle one alone, have got `folds` in all.
double time_of_odd_pairs(double folds, std::size_t pairs) {
  if (pairs == 1) return folds;
  const double start = static_cast<double>(pairs) - 1.5;  // of the middle one: 2 time − (time − start)² / 2
  const double left = folds - 2 * start;
  if (left <= 0) return folds / 2;
  if (left < 1.5) return start + 2 - std::sqrt(4 - 2 * left);
  return folds - static_cast<double>(pairs - 1);
}

}  // namespace

double wrinkle_edge_excess(double rise, bool sharp) {
  rise = std::abs(rise);
  if (!(rise < kSteepest)) return rise - 1;
  return sharp ? rise * rise / (1 + std::sqrt(1 + rise * rise)) : smooth_excess(rise).value;
}

double wrinkle_edge_rise(double excess, bool sharp) {
  if (sharp) return std::sqrt(excess) * std::sqrt(excess + 2);
  static const SmoothRise rise;
  return rise(excess);
}

WrinkleCurve::WrinkleCurve(const WrinkleShape& shape)
    : growth_(shape.growth), most_height_(shape.most_height), sharp_(shape.sharp) {
  if (shape.folds < 1) throw Error(fmt::format("a wrinkle curve wants 1 fold or more, not {}", shape.folds));
  if (shape.crest < 1)
    throw Error(fmt::format("a wrinkle's crest wants 1 control point or more, not {}", shape.crest));
  if (shape.spacing < 0)
    throw Error(fmt::format("a wrinkle curve's spacing must be 0 or more steps, not {}", shape.spacing));
  if (!(shape.most_height > 0) || !std::isfinite(shape.most_height))
    throw Error(fmt::format("a wrinkle's most height must be above 0, not {}", shape.most_height));
  if (shape.shares.empty() || shape.shares.size() > kMostLevels)
    throw Error(fmt::format("a wrinkle curve has 1 to {} levels, not {}", kMostLevels, shape.shares.size()));
  for (const double share : shape.shares)
    if (!(share >= 0) || !std::isfinite(share))
      throw Error(fmt::format("a wrinkle level's share of the length must be 0 or more, not {}", share));
  const double most = *std::max_element(shape.shares.begin(), shape.shares.end());
  if (most == 0) throw Error("a wrinkle curve's levels have no share of the length: all are 0");
  double sum = 0;
  for (const double share : shape.shares) sum += share / most;

  const auto footprint = static_cast<double>(shape.crest) + 1;
  const double coarse_steps = shape.folds * footprint + (shape.folds - 1.0) * shape.spacing;
  if (coarse_steps > static_cast<double>(kMostSteps))
    throw Error(fmt::format(
        "a wrinkle curve has {} steps at most, not the {} of {} folds with crests of {} and {} between",
        kMostSteps, coarse_steps, shape.folds, shape.crest, shape.spacing));
  crest_ = to_size(shape.crest);
  spacing_ = to_size(shape.spacing);
  level_count_ = shape.shares.size();
  const std::size_t period = crest_ + 1 + spacing_;
  std::size_t points = 0;
  for (std::size_t k = 0; k < level_count_; ++k) {
    Level& level = levels_[k];
    level.steps = to_size(coarse_steps) << k;
    level.folds = (level.steps + spacing_) / period;
    level.first_step = (level.steps + spacing_ - level.folds * period) / 2;
    level.first_point = points;
    level.share = shape.shares[k] / most / sum;
    points += level.steps + 1;
  }
}

WrinkleCurve::Place WrinkleCurve::place(double u) const {
  u = u > 0 ? std::min(u, 1.0) : 0;
  Place place;
  for (std::size_t k = 0; k < level_count_; ++k) {
    const double along = u * static_cast<double>(levels_[k].steps);
    const std::size_t edge = std::min(to_size(along), levels_[k].steps - 1);
    const double t = along - static_cast<double>(edge);
    place.point[k] = static_cast<std::uint32_t>(levels_[k].first_point + edge);
    place.step[k] = sharp_ ? t : smooth_ramp(t);
  }
  return place;
}

WrinkleCurve::Heights WrinkleCurve::make_heights() const {
  const Level& finest = levels_[level_count_ - 1];
  Heights heights;
  heights.points_.resize(finest.first_point + finest.steps + 1);
  if (level_count_ > 1) {
    heights.edges_.resize(finest.steps);
    heights.kinds_.resize(finest.steps);
    if (!sharp_) heights.samples_.resize(finest.steps * kSamples);
  }
  return heights;
}

std::span<const double> WrinkleCurve::control_heights(const Heights& heights, std::size_t level) const {
  return std::span(heights.points_).subspan(levels_[level].first_point, levels_[level].steps + 1);
}

/// Of the sum of the levels before `end_level`, on an edge of level `grid`.
std::array<double, 5> WrinkleCurve::slope(const std::vector<double>& points, std::size_t end_level,
                                          std::size_t grid, std::size_t edge, double now) const {
  Quartic sum{};
  for (std::size_t k = 0; k < end_level; ++k) {
    const std::size_t parts = std::size_t{1} << (grid - k), own = edge >> (grid - k);
    const double* point = points.data() + levels_[k].first_point + own;
    const double rise = (point[1] - point[0]) / now * static_cast<double>(levels_[k].steps);
    if (rise == 0) continue;
    if (sharp_)
      sum[0] += rise;
    else
      add(sum, kSmoothSlopes[parts - 1 + (edge & (parts - 1))], rise);
  }
  return sum;
}

double WrinkleCurve::edge_excess(const std::array<double, 5>& slopes) const {
  if (sharp_) return wrinkle_edge_excess(slopes[0], true);
  return slopes == Quartic{} ? 0 : integrate<kSamples>(slopes, 0, 0, 1).value;
}

/// As if the level stood on flat ground: a fold that absorbs x has two edges of excess x / 2. `loss` of the
/// level and `most_loss` of a fold before the next one grows in steps of the level.
void WrinkleCurve::raise_folds(const Level& level, double loss, double most_loss, double step,
                               double* points) const {
  const std::size_t count = level.folds, pairs = (count + 1) / 2;
  const bool together = growth_ == WrinkleGrowth::all || !(loss < most_loss * static_cast<double>(count));
  double time = 0;
  if (!together) {
    time = loss / most_loss;
    if (growth_ == WrinkleGrowth::from_both_ends)
      time = count % 2 == 0 ? time / 2 : time_of_odd_pairs(time, pairs);
  }
  double last_part = -1, height = 0;
  for (std::size_t i = 0; i < count; ++i) {
    double part;
    if (together)
      part = loss / static_cast<double>(count);
    else if (growth_ == WrinkleGrowth::from_start)
      part = most_loss * grown_in_row(time, i, count);
    else
      part = most_loss * grown_in_row(time, std::min(i, count - 1 - i), pairs);
    if (part != last_part) height = step * wrinkle_edge_rise(part / 2, sharp_);
    last_part = part;
    double* crest = points + level.first_step + i * (crest_ + 1 + spacing_) + 1;
    std::fill(crest, crest + crest_, height);
  }
}

/// Sorts the edges of a level into kinds that are alike: the folds repeat. Those that rise come first;
/// returns how many they are.
std::size_t WrinkleCurve::find_edges(std::size_t level, double now, Heights& heights) const {
  const Level& own = levels_[level];
  const double* points = heights.points_.data() + own.first_point;
  const double per_step = static_cast<double>(own.steps) / now;
  // After so many steps a fold of the coarsest level and a fold of this one begin again.
  const std::size_t period = (crest_ + 1 + spacing_) << level;
  std::size_t count = 0;
  for (std::size_t e = 0; e < own.steps; ++e) {
    const double rise = (points[e + 1] - points[e]) * per_step;
    const Quartic below = slope(heights.points_, level, level, e, now);
    if (e >= period) {
      Heights::Edge& before = heights.edges_[heights.kinds_[e - period]];
      if (before.rise == rise && before.below == below) {
        before.count += 1;
        heights.kinds_[e] = heights.kinds_[e - period];
        continue;
      }
    }
    heights.kinds_[e] = count;
    heights.edges_[count] = {below, rise, 1};
    ++count;
  }
  const auto edges = heights.edges_.begin();
  const auto end = std::partition(edges, edges + static_cast<std::ptrdiff_t>(count),
                                  [](const Heights::Edge& edge) { return edge.rise != 0; });
  heights.edge_count_ = count;
  return to_size(end - edges);
}

/// The factor for a level whose folds stand on the slopes of coarser ones, so that all of them together are
/// `excess`, in steps of this level, longer than the segment.
double WrinkleCurve::correction(std::size_t level, double excess, double now, Heights& heights) const {
  const std::size_t rising = find_edges(level, now, heights);
  const auto edges = std::span<const Heights::Edge>(heights.edges_).first(heights.edge_count_);
  if (rising == 0) return 1;
  for (const Heights::Edge& edge : edges.subspan(rising)) excess -= edge.count * edge_excess(edge.below);

  // Newton's method. The length is convex in the factor and at 0 it is too short: from where it is too long
  // the factors come down monotonously, and from anywhere else where it grows they first get there.
  const auto find_factor = [&](double factor, double precision, const auto& excess_of) {
    for (int newton = 0; newton < 60; ++newton) {
      Excess sum;
      for (std::size_t e = 0; e < rising; ++e) {
        const Excess one = excess_of(e, factor);
        sum.value += edges[e].count * one.value;
        sum.change += edges[e].count * one.change;
      }
      const double missing = excess - sum.value;
      if (!(sum.change > 0)) {
        if (missing <= 0) break;  // by rounding only
        factor *= 2;
        continue;
      }
      const double next = std::clamp(factor + missing / sum.change, 0.0, kSteepest);
      const bool done = std::abs(next - factor) <= precision * next;
      factor = next;
      if (done || factor == 0) break;
    }
    return factor;
  };

  if (sharp_)
    return find_factor(1, 1e-8, [&](std::size_t e, double factor) {
      const double s = edges[e].below[0] + factor * edges[e].rise, length = std::sqrt(1 + s * s);
      return Excess{s * s / (1 + length), s * edges[e].rise / length};
    });

  // A few samples per edge bring it near; with the exact length one or two steps are left.
  using Samples = Eigen::Array<double, kSamples, 1>;
  const GaussLegendre<kSamples>& rule = gauss_legendre<kSamples>();
  const Samples smooth = evaluate(kSmoothSlopes[0], rule.at);
  for (std::size_t e = 0; e < rising; ++e)
    Eigen::Map<Samples>(heights.samples_.data() + e * kSamples) = evaluate(edges[e].below, rule.at);
  const double near = find_factor(1, 1e-3, [&](std::size_t e, double factor) {
    const Samples own = edges[e].rise * smooth;
    const Samples slopes = Eigen::Map<const Samples>(heights.samples_.data() + e * kSamples) + factor * own;
    return weighted_excess(slopes, own, rule.weight);
  });
  return find_factor(near > 0 ? near : 1, 1e-5, [&](std::size_t e, double factor) {
    Quartic total = edges[e].below;
    add(total, kSmoothSlopes[0], factor * edges[e].rise);
    return integrate<kSamples>(total, edges[e].rise, 0, 1);
  });
}

bool WrinkleCurve::solve(double rest_length, double now, Heights& heights) const {
  assert(heights.points_.size() ==
         levels_[level_count_ - 1].first_point + levels_[level_count_ - 1].steps + 1);
  std::fill(heights.points_.begin(), heights.points_.end(), 0.0);
  if (!(now > 0) || !(now < rest_length) || !std::isfinite(rest_length)) return false;
  now = std::max(now / rest_length, kShortest);  // from here on the length at rest is 1
  if (!(now < 1)) return false;
  const double most_loss = growth_ == WrinkleGrowth::all
                               ? 0
                               : 2 * wrinkle_edge_excess(std::min(most_height_ / now, kSteepest), sharp_);
  double absorbed = 0;
  for (std::size_t k = 0; k < level_count_; ++k) {
    const Level& level = levels_[k];
    const double loss = level.share * (1 - now);
    if (loss == 0) continue;
    const double step = now / static_cast<double>(level.steps);
    double* points = heights.points_.data() + level.first_point;
    raise_folds(level, loss / step, most_loss, step, points);
    if (absorbed > 0) {
      const double factor = correction(k, (absorbed + loss) / step, now, heights);
      for (std::size_t i = 0; i <= level.steps; ++i) points[i] *= factor;
    }
    absorbed += loss;
  }
  for (double& height : heights.points_) height *= rest_length;
  return true;
}

double WrinkleCurve::arc_length(const Heights& heights, double now) const {
  if (!(now > 0) || !std::isfinite(now)) return 0;
  const std::size_t grid = level_count_ - 1;
  const double highest = *std::max_element(heights.points_.begin(), heights.points_.end());
  const double ground = std::max(now, highest / kSteepest);
  double excess = 0;
  for (std::size_t e = 0; e < levels_[grid].steps; ++e)
    excess += edge_excess(slope(heights.points_, level_count_, grid, e, ground));
  return now + excess * (ground / static_cast<double>(levels_[grid].steps));
}

}  // namespace sinew
