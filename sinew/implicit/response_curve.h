#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace sinew {

/// What the values of a response curve mean.
enum class ResponseQuantity {
  depth,  ///< d of the table operators: 0 clean union, 1 full contact or bulge
  angle,  ///< θ of the gradient-based blend, in radians: 0 full blend, π/4 union
};

/// How an operator answers to the angle α between two fields' gradients (Vaillant et al. 2012, §4.2 and table
/// 1; Gourmel et al. 2013): three points (angles[i], values[i]), constant outside, with two slopes between.
/// Slopes bend the way from the middle point to its neighbours: below 1 the curve leaves the middle value at
/// once, above 1 it stays near it for longer.
struct ResponseCurve {
  std::array<double, 3> angles{};  ///< radians, ascending within [0, π]
  std::array<double, 3> values{};  ///< ResponseQuantity says what they are
  std::array<double, 2> slopes{1, 1};

  /// Any number is allowed; NaN counts as an angle of 0.
  double evaluate(double alpha) const;

  bool operator==(const ResponseCurve&) const = default;
};

/// Throws Error unless all is finite, angles ascend within [0, π], slopes are positive, and values are within
/// [0, 1] (depth) or [0, π/4] (angle).
void validate(const ResponseCurve& curve, ResponseQuantity quantity);

/// Joints that ask for curves of their own.
enum class ResponsePreset {
  elbow,     ///< also knees: a fold from a right angle on
  finger,    ///< all of the fold at a right angle already
  shoulder,  ///< in between
  none,      ///< a union at any angle
};

/// Curves of depth. Elbow: none up to a right angle, all at π (Vaillant 2015, fig. 4.6a). Finger: the bulge
/// of Vaillant et al. 2012, table 1, whose slope of 0.05 makes it steep: d = 0.1 at 0.38 π, 0.5 at 0.47 π, 1
/// at π/2.
ResponseCurve depth_response(ResponsePreset preset);

/// Curves of θ. Elbow: Vaillant et al. 2012, table 1. Fingers blend less, shoulders more and for longer.
ResponseCurve angle_response(ResponsePreset preset);

std::string_view name_of(ResponsePreset preset);
/// Nothing for names there are no presets of.
std::optional<ResponsePreset> response_preset(std::string_view name);

}  // namespace sinew
