#pragma once

namespace sinew {

/// What an operator makes of two fields' values, in double precision.
struct BlendValue {
  double value = 0;
  double d1 = 0, d2 = 0;  ///< partial derivatives by the two fields
};

/// The gradient-based blend g_m of two field values in [0, 1] (Vaillant et al. 2012, §4.2, eq. 5; Gourmel et
/// al. 2013), θ in [0, π/4]: a full blend at 0, a union at π/4. A union, too, where one field exceeds 0.7 or
/// is much weaker than the other: min(f1, f2) <= k(max(f1, f2)). Elsewhere C between max(f1, f2) and
/// k⁻¹(min(f1, f2)) such that (f1 − k(C))² + (f2 − k(C))² = (C − k(C))². At f1 = f2 a union has the
/// derivatives of f1.
/// Differs: the paper branches k on the fields, which makes g jump at f1 = f2 = ½; ours branches on k's own
/// argument. Inputs out of range are clamped, NaN to 0.
BlendValue gradient_blend(double f1, double f2, double theta);

}  // namespace sinew
