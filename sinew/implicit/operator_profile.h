#pragma once

#include <cstddef>
#include <vector>

#include <Eigen/Core>

namespace sinew {

/// Where an operator g(f1, f2) is ½ (Vaillant 2015, §4.5.1): a curve from (0, ½) to (½, ½), its mirror image
/// at f1 = f2, and, for contact, the diagonal from (½, ½) inwards, where the two skins meet. The depth d in
/// [0, 1] picks from a family: at 0 straight lines without contact, a clean union; at 1 the curve as drawn
/// and contact all the way.
struct OperatorProfile {
  static constexpr std::size_t kMostPoints = 16;

  /// Control points (f1, f2) at d = 1 of a clamped cubic B-spline (of lower degree when there are fewer than
  /// four). Below f2 = ½ the composed surface bulges, above it shrinks.
  std::vector<Eigen::Vector2d> points;
  bool contact = true;

  bool operator==(const OperatorProfile& other) const = default;
};

/// Throws Error unless there are 2 to 16 finite points within the unit square, the first (0, ½), the last
/// (½, ½), f1 never descends and leaves 0 at once, and none lies below the diagonal, which keeps the curve on
/// its side of it.
void validate(const OperatorProfile& profile);

/// Straight lines: clean union to full contact.
OperatorProfile contact_profile();
/// The bulge-in-contact of Vaillant 2015, §4.5.1.
OperatorProfile bulge_profile();

/// The half curve at a depth, as a polyline of that many segments. The control points move straight from
/// f2 = ½ to where they are drawn. The profile must be valid.
std::vector<Eigen::Vector2d> half_curve(const OperatorProfile& profile, double depth, int segments);

/// Where contact ends on the diagonal, as f1 = f2; ½ where there is none.
/// Differs: the paper's ½ + d/√2 leaves the unit square at d = 0.707.
double contact_end(const OperatorProfile& profile, double depth);

}  // namespace sinew
