#include <sinew/implicit/response_curve.h>

#include <cmath>
#include <numbers>
#include <utility>

#include <fmt/format.h>

#include <sinew/core/error.h>

namespace sinew {

namespace {

constexpr double kPi = std::numbers::pi;

constexpr std::array<std::pair<ResponsePreset, std::string_view>, 4> kNames{{
    {ResponsePreset::elbow, "elbow"},
    {ResponsePreset::finger, "finger"},
    {ResponsePreset::shoulder, "shoulder"},
    {ResponsePreset::none, "none"},
}};

// κ(x) = 1 − exp(1 − 1/(1 − exp(1 − 1/x))), κ(0) = 0, κ(1) = 1 (Gourmel et al. 2013). With u = exp(1 − 1/x)
// the outer exponent is −u/(1 − u); expm1 keeps what 1 − exp would round away.
double kappa(double x) {
  if (!(x > 0)) return 0;
  if (x >= 1) return 1;
  const double exponent = 1 - 1 / x;
  return -std::expm1(std::exp(exponent) / std::expm1(exponent));
}

}  // namespace

double ResponseCurve::evaluate(double alpha) const {
  if (!(alpha > angles[0])) return values[0];
  if (alpha >= angles[2]) return values[2];
  // 0 at the middle point, 1 at its neighbour.
  const std::size_t side = alpha < angles[1] ? 0 : 1;
  const std::size_t outer = 2 * side;
  const double x = (alpha - angles[1]) / (angles[outer] - angles[1]);
  return values[1] + (values[outer] - values[1]) * std::pow(kappa(x), slopes[side]);
}

void validate(const ResponseCurve& curve, ResponseQuantity quantity) {
  const double largest = quantity == ResponseQuantity::depth ? 1 : kPi / 4;
  // Comparisons are such that NaN fails them.
  for (std::size_t i = 0; i < 3; ++i) {
    if (!(curve.angles[i] >= 0 && curve.angles[i] <= kPi))
      throw Error(fmt::format("response curve: angle {} is {}, not within 0 and pi", i, curve.angles[i]));
    if (i > 0 && !(curve.angles[i] > curve.angles[i - 1]))
      throw Error(fmt::format("response curve: angle {} ({}) does not exceed angle {} ({})", i,
                              curve.angles[i], i - 1, curve.angles[i - 1]));
    if (!(curve.values[i] >= 0 && curve.values[i] <= largest))
      throw Error(
          fmt::format("response curve: value {} is {}, not within 0 and {}", i, curve.values[i], largest));
  }
  for (std::size_t i = 0; i < 2; ++i)
    if (!(curve.slopes[i] > 0 && std::isfinite(curve.slopes[i])))
      throw Error(fmt::format("response curve: slope {} is {}, not a positive number", i, curve.slopes[i]));
}

ResponseCurve depth_response(ResponsePreset preset) {
  switch (preset) {
    case ResponsePreset::elbow:
      return {{kPi / 4, kPi / 2, kPi}, {0, 0, 1}, {1, 1}};
    case ResponsePreset::finger:
      return {{kPi / 8, kPi / 2, kPi}, {0, 1, 1}, {0.05, 1}};
    case ResponsePreset::shoulder:
      return {{kPi / 4, kPi / 2, kPi}, {0, 0.5, 1}, {1, 1}};
    case ResponsePreset::none:
      break;
  }
  return {{0, kPi / 2, kPi}, {0, 0, 0}, {1, 1}};
}

ResponseCurve angle_response(ResponsePreset preset) {
  switch (preset) {
    case ResponsePreset::elbow:
      return {{0, kPi / 4, kPi / 2}, {kPi / 4, 2 * kPi / 15, kPi / 4}, {1, 1}};
    case ResponsePreset::finger:
      return {{0, kPi / 4, kPi / 2}, {kPi / 4, kPi / 5, kPi / 4}, {1, 1}};
    case ResponsePreset::shoulder:
      return {{0, kPi / 4, kPi}, {kPi / 4, kPi / 15, kPi / 4}, {1, 1}};
    case ResponsePreset::none:
      break;
  }
  return {{0, kPi / 2, kPi}, {kPi / 4, kPi / 4, kPi / 4}, {1, 1}};
}

std::string_view name_of(ResponsePreset preset) {
  for (const auto& entry : kNames)
    if (entry.first == preset) return entry.second;
  return "none";
}

std::optional<ResponsePreset> response_preset(std::string_view name) {
  for (const auto& entry : kNames)
    if (entry.second == name) return entry.first;
  return std::nullopt;
}

}  // namespace sinew
