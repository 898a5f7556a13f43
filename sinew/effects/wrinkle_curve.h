#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/core/held_bytes.h>

namespace sinew {

/// Which folds of a level come up first.
enum class WrinkleGrowth : std::uint8_t {
  all,             ///< all at once, equally high
  from_start,      ///< one after another from the start
  from_both_ends,  ///< one pair after another from the ends to the middle
};

/// The folds of a wrinkle curve.
struct WrinkleShape {
  int folds = 3;    ///< of the coarsest level, 1 or more
  int crest = 1;    ///< control points of a crest, 1 or more
  int spacing = 0;  ///< flat steps between two folds, 0 or more
  WrinkleGrowth growth = WrinkleGrowth::all;
  /// How high a fold gets before the next one grows, as a share of its half width at rest, which is one step
  /// of its own level. Above 0; folds that come up all at once have no use for it. Once all folds are as high
  /// as this they rise together. On finer levels before their heights are corrected for what they stand on.
  double most_height = 0.7;
  bool sharp = false;             ///< a polygon instead of a smooth curve
  std::vector<double> shares{1};  ///< of the lost length per level, coarse to fine: 1 to 4, not all 0
};

/// What an edge of width 1 that rises by `rise` is longer than 1: √(1 + rise²) − 1 if sharp, otherwise the
/// same of the smooth step 6t⁵ − 15t⁴ + 10t³.
double wrinkle_edge_excess(double rise, bool sharp);
/// The other way round. `excess` of 0 or more; to 1e-9 of the rise.
double wrinkle_edge_rise(double excess, bool sharp);

/// A curve above a segment that keeps its length while the ends of the segment come nearer: it rises in folds
/// (Larboulette, Cani and Arnaldi 2006, §3.2). Its control points are evenly spaced on the segment, those of
/// the crests are lifted. Every level halves the steps of the one before it and takes a share of what the
/// segment has lost; the curve is the sum of its levels.
///
/// Differs: each edge rises by a smooth step with level tangents at both ends instead of a straight line,
/// unless the shape is sharp, and the heights take the length of that into account. On inclined edges, below
/// finer levels, the article's formula is inexact: there a whole level is scaled until the length is right.
/// The article's fold appears once the one before it has reached its most height; here it does so when that
/// one has taken half of what it can, slowly enough that its height grows at finite speed and none pops up.
class WrinkleCurve {
 public:
  static constexpr std::size_t kMostLevels = 4;

  /// Throws Error for a shape outside the bounds that it names, and for one of more than 4096 coarse steps.
  explicit WrinkleCurve(const WrinkleShape& shape);

  std::size_t levels() const { return level_count_; }
  /// Edges of a level; it has one control point more. `level` below levels().
  std::size_t steps(std::size_t level) const { return levels_[level].steps; }
  /// As many as have room on a level; the room left over is split between its ends.
  std::size_t folds(std::size_t level) const { return levels_[level].folds; }

  /// A place along the curve, of a vertex for instance: found once.
  struct Place {
    std::array<std::uint32_t, kMostLevels> point{};  ///< before it, among all control points
    std::array<double, kMostLevels> step{};          ///< how far it has risen towards the next
  };
  /// `u` from 0 to 1, clamped.
  Place place(double u) const;

  /// The curve as it is now. Made once by make_heights, for one curve; solving allocates nothing.
  class Heights {
   public:
    std::size_t bytes() const { return held_bytes(points_, edges_, kinds_, samples_); }

   private:
    friend class WrinkleCurve;

    /// Edges of the level being solved that are alike.
    struct Edge {
      std::array<double, 5> below;  ///< slope of the coarser levels, a polynomial from 0 to 1
      double rise;                  ///< of this level, over the width of the edge
      double count;
    };
    std::vector<double> points_;  ///< control heights, level after level
    std::vector<Edge> edges_;     ///< the first edge_count_ of them
    std::size_t edge_count_ = 0;
    std::vector<std::size_t> kinds_;  ///< per edge of the level, into edges_
    std::vector<double> samples_;     ///< of the slope below, per edge
  };
  Heights make_heights() const;

  /// Finds the heights for the length at rest and the length of the segment `now`. Flat if that is not
  /// shorter, and if either is not finite and positive. A segment shorter than a millionth of its rest is
  /// taken for one of that length. Continuous in `now`. Returns whether any fold is up.
  bool solve(double rest_length, double now, Heights& heights) const;

  double height(const Heights& heights, const Place& place) const {
    double sum = 0;
    for (std::size_t level = 0; level < level_count_; ++level) {
      const double* point = heights.points_.data() + place.point[level];
      sum += point[0] + (point[1] - point[0]) * place.step[level];
    }
    return sum;
  }

  /// Control heights of one level, steps(level) + 1.
  std::span<const double> control_heights(const Heights& heights, std::size_t level) const;

  /// Length of the whole curve above a segment of length `now`; 0 if that is not finite and positive.
  double arc_length(const Heights& heights, double now) const;

 private:
  struct Level {
    std::size_t steps = 0, folds = 0;
    std::size_t first_step = 0;   ///< where its first fold begins
    std::size_t first_point = 0;  ///< among all control points
    double share = 0;             ///< of the lost length
  };

  std::array<double, 5> slope(const std::vector<double>& points, std::size_t end_level, std::size_t grid,
                              std::size_t edge, double now) const;
  void raise_folds(const Level& level, double loss, double most_loss, double step, double* points) const;
  double edge_excess(const std::array<double, 5>& slopes) const;
  std::size_t find_edges(std::size_t level, double now, Heights& heights) const;
  double correction(std::size_t level, double excess, double now, Heights& heights) const;

  std::array<Level, kMostLevels> levels_;
  std::size_t level_count_ = 0;
  std::size_t crest_ = 1, spacing_ = 0;
  WrinkleGrowth growth_ = WrinkleGrowth::all;
  double most_height_ = 0;
  bool sharp_ = false;
};

}  // namespace sinew
