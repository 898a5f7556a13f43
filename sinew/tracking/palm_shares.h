#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sinew/implicit/field_set.h>
#include <sinew/skinning/weights.h>
#include <sinew/tracking/lift_chains.h>

namespace sinew {

/// The share of one palm bone in a vertex's own field.
struct PalmShare {
  std::uint16_t field = 0;
  float share = 0;
};

/// The bones of a palm lie side by side in the same flesh, so the bone that moves a vertex most means little
/// there. The vertex's own field is the mean of these bones' fields, by its weights, which leaves no seams
/// between them, and they are never in contact with each other. In compact storage; none for vertices of one
/// bone alone.
struct PalmShares {
  std::vector<std::uint32_t> starts{0};
  std::vector<PalmShare> entries;

  std::span<const PalmShare> operator[](std::size_t v) const {
    return {entries.data() + starts[v], starts[v + 1] - starts[v]};
  }
};

/// `own` names each vertex's own field, -1: none; `weights` are by transforms.
PalmShares find_palm_shares(const FieldSet& fields, const LiftChains& chains,
                            std::span<const std::int32_t> own, const SkinWeights& weights);

/// A vertex's own field: `sample(field)` samples one bone's.
template <typename SampleOf>
FieldSample own_sample(std::size_t own, std::span<const PalmShare> shares, const SampleOf& sample) {
  if (shares.empty()) return sample(own);
  FieldSample mean;
  for (const PalmShare& part : shares) {
    const FieldSample of_bone = sample(part.field);
    mean.value += part.share * of_bone.value, mean.gradient += part.share * of_bone.gradient;
  }
  return mean;
}

}  // namespace sinew
