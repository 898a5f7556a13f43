#include "tests/reference/iso_projection.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sinew::reference {

namespace {

Vec3f ring_mean(std::span<const std::uint32_t> ring, std::span<const Vec3f> positions) {
  Vec3f sum = Vec3f::Zero();
  for (const std::uint32_t n : ring) sum += positions[n];
  return sum / static_cast<float>(ring.size());
}

}  // namespace

std::vector<Vec3f> iso_projection(const FieldSet& fields, std::span<const PosedField> at_rest,
                                  std::span<const PosedField> posed, std::span<const Vec3f> rest,
                                  std::span<const Vec3f> skinned, const OneRings& rings,
                                  const IsoProjectionOptions& options) {
  constexpr double kDone = 1e-4, kFlat = 1e-3;
  const double most_cosine = std::cos(options.most_turn * std::numbers::pi / 180);
  double radius = 0;
  for (const BoneField& field : fields.fields) radius = std::max(radius, field.radius);
  const std::size_t count = rest.size();
  std::vector<double> iso(count);
  for (std::size_t v = 0; v < count; ++v)
    iso[v] = static_cast<double>(sample(fields, at_rest, rest[v]).value);
  std::vector<Vec3f> positions(skinned.begin(), skinned.end());
  std::vector<bool> stopped(count, false);
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t v = 0; v < count; ++v)
      for (int k = 0; k < 2 && !stopped[v]; ++k) {
        const FieldSample here = sample(fields, posed, positions[v]);
        const double slope = static_cast<double>(here.gradient.norm()) * radius;
        const double wanted = iso[v] - static_cast<double>(here.value);
        if (std::abs(wanted) < kDone || slope < kFlat) break;
        // v += σ (iso − f) ∇f / |∇f|²; the papers print the other sign.
        const double length =
            std::clamp(options.step * wanted / slope, -options.longest_step, options.longest_step);
        const Vec3f next = positions[v] + static_cast<float>(length * radius) * here.gradient.normalized();
        const Vec3f turned = sample(fields, posed, next).gradient;
        if (turned.dot(here.gradient) <
            most_cosine * static_cast<double>(turned.norm() * here.gradient.norm()))
          stopped[v] = true;
        else
          positions[v] = next;
      }
    std::vector<Vec3f> relaxed = positions;
    for (std::size_t v = 0; v < count; ++v) {
      const FieldSample here = sample(fields, posed, positions[v]);
      if (rings[v].empty() || stopped[v] || !(here.gradient.norm() > 0)) continue;
      const auto off = std::min(1.0, std::abs(static_cast<double>(here.value) - iso[v]));
      const auto mu = static_cast<float>(1 - std::pow(1 - off, 4));
      const Vec3f normal = here.gradient.normalized();
      Vec3f way = ring_mean(rings[v], positions) - positions[v];
      way -= way.dot(normal) * normal;
      relaxed[v] += mu * way;
    }
    positions.swap(relaxed);
  }
  std::vector<float> beta(count);
  for (std::size_t v = 0; v < count; ++v) beta[v] = stopped[v] ? 1.0f : 0.0f;
  for (int sweep = 0; sweep < options.diffusion; ++sweep) {
    std::vector<float> spread = beta;
    for (std::size_t v = 0; v < count; ++v)
      for (const std::uint32_t n : rings[v])
        spread[v] += (beta[n] - beta[v]) / static_cast<float>(2 * rings[v].size());
    beta.swap(spread);
  }
  std::vector<Vec3f> smooth = positions;
  for (std::size_t v = 0; v < count; ++v)
    if (!rings[v].empty()) smooth[v] += beta[v] * (ring_mean(rings[v], positions) - positions[v]);
  return smooth;
}

}  // namespace sinew::reference
