#include <sinew/implicit/gradient_blend.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace sinew {

namespace {

constexpr double kUnionFrom = 0.7;  // deeper inside either field there is no blend

double clamped(double x, double largest) {
  return x > 0 ? std::min(x, largest) : 0;
}

// A line on each side of ½, continuous there, that reaches x at 0.7.
struct Border {
  double tan;

  double slope(double x) const { return x <= 0.5 ? tan : x <= kUnionFrom ? (7 - 5 * tan) / 2 : 1; }
  double operator()(double x) const {
    if (x <= 0.5) return tan * x;
    return x <= kUnionFrom ? slope(x) * x + 1.75 * (tan - 1) : x;
  }
  /// Of y > 0.
  double inverse(double y) const {
    if (y <= tan * 0.5) return y / tan;
    return y <= kUnionFrom ? (y - 1.75 * (tan - 1)) / slope(kUnionFrom) : y;
  }
};

}  // namespace

BlendValue gradient_blend(double f1, double f2, double theta) {
  f1 = clamped(f1, 1);
  f2 = clamped(f2, 1);
  const Border k{std::tan(clamped(theta, std::numbers::pi / 4))};
  const double larger = std::max(f1, f2), smaller = std::min(f1, f2);
  const BlendValue union_value{larger, f1 >= f2 ? 1.0 : 0.0, f1 >= f2 ? 0.0 : 1.0};
  if (larger > kUnionFrom || smaller <= k(larger)) return union_value;

  // At least 0 at the lower end, at most 0 at the upper one.
  const auto excess = [&](double c) {
    const double kc = k(c);
    return (f1 - kc) * (f1 - kc) + (f2 - kc) * (f2 - kc) - (c - kc) * (c - kc);
  };
  double below = larger, above = std::max(larger, k.inverse(smaller));
  // Newton within the bounds: on the side of the kink of k on which the root lies the equation is quadratic.
  if (below < 0.5 && above > 0.5) (excess(0.5) > 0 ? below : above) = 0.5;
  double c = (below + above) / 2;
  for (int i = 0; i < 64; ++i) {
    const double rest = excess(c);
    (rest > 0 ? below : above) = c;
    const double kc = k(c), slope = k.slope(c);
    const double derivative = -2 * (slope * (f1 + f2 - 2 * kc) + (c - kc) * (1 - slope));
    double next = c - rest / derivative;
    if (!(next > below && next < above)) next = (below + above) / 2;
    const double step = std::abs(next - c);
    c = next;
    if (step < 1e-15) break;
  }
  // From the equation's derivatives. The divisor vanishes where both fields are k(C) = C only: at 0.7.
  const double kc = k(c), slope = k.slope(c);
  const double divisor = slope * (f1 + f2 - 2 * kc) + (c - kc) * (1 - slope);
  if (!(divisor > 1e-12)) return union_value;
  return {c, (f1 - kc) / divisor, (f2 - kc) / divisor};
}

}  // namespace sinew
