#pragma once

#include <span>
#include <vector>

#include <sinew/core/math.h>
#include <sinew/geometry/one_rings.h>
#include <sinew/implicit/field_set.h>

// The papers' own way to bring skin into contact (Vaillant et al. 2012, §5; 2013, §4; 2015, §4.6.2), to
// compare with: vertices walk down the gradient of the composed field.
namespace sinew::reference {

struct IsoProjectionOptions {
  double step = 0.35;         ///< σ: share of a Newton step that is taken
  int rounds = 20;            ///< of two steps and a relaxation
  double most_turn = 55;      ///< degrees that a gradient turns in a step that crosses no contact
  double longest_step = 0.5;  ///< support radii
  int diffusion = 6;          ///< sweeps that spread the contact's β before it smooths
};

/// `skinned` are positions by a geometric method; `at_rest` the fields posed at rest. A vertex goes towards
/// the value of the composed field that it had at rest and stops where a step would turn the gradient by more
/// than `most_turn`: there, the paper says, skin meets skin. In between it relaxes along its iso-surface
/// (towards the mean of its ring, where the papers have mean value coordinates); stopped vertices are
/// smoothed in the end.
std::vector<Vec3f> iso_projection(const FieldSet& fields, std::span<const PosedField> at_rest,
                                  std::span<const PosedField> posed, std::span<const Vec3f> rest,
                                  std::span<const Vec3f> skinned, const OneRings& rings,
                                  const IsoProjectionOptions& options = {});

}  // namespace sinew::reference
