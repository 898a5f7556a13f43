#pragma once

namespace sinew {

/// t_r of a signed distance: 1 deep inside, ½ on the surface, 0 from `radius` outside on; C² throughout.
template <class Real>
Real compact_support(Real distance, Real radius) {
  const Real x = distance / radius;
  if (x <= -1) return 1;
  if (x >= 1) return 0;
  const Real x2 = x * x;
  return Real(0.5) - x * (Real(15) / 16 - x2 * (Real(5) / 8 - x2 * (Real(3) / 16)));
}

/// Its derivative by the distance, never positive. (The thesis prints the condition reversed.)
template <class Real>
Real compact_support_slope(Real distance, Real radius) {
  const Real x = distance / radius;
  if (!(x > -1 && x < 1)) return 0;
  const Real bump = x * x - 1;
  return Real(-15) / (16 * radius) * bump * bump;
}

}  // namespace sinew
