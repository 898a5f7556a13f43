#pragma once

#include <span>
#include <vector>

#include <sinew/implicit/field_set.h>
#include <sinew/skinning/weights.h>
#include <sinew/tracking/lift_chains.h>

#include "tests/reference/implicit_tracking.h"

// The rise of bones out of other flesh, written for reading: in double, every field asked everywhere.
namespace sinew::reference {

/// What rises. How the bones hang together is taken as make_lift_chains() finds it; muscles are left out;
/// transforms must have an inverse.
struct LiftTask {
  const FieldSet& fields;
  const LiftChains& chains;
  std::span<const std::int32_t> own;
  const SkinWeights& weights;
  double share = 1;
  FieldValues values = FieldValues::exact;
};

struct LiftedBones {
  bool any = false;  ///< whether anything rose; if not, the rest is as it was given
  std::vector<Affine3d> transforms;
  std::vector<Vec3d> positions;
};

/// What BoneLift does. Six rounds of these stages:
///
/// 1. rise: every point of a bone walks out of what it lies in; the group takes nearly the longest way of
///    its heads' half and of its tails' half, to which a palm counts its fingers, and all that hangs on it
///    comes along. The more the ways out of a limb's end disagree, the more all of it goes the same way:
///    the shortest of 26.
/// 2. keep shapes, but not in the last round: from the roots on, tails go to where their bone's turn puts
///    them. No bone bends too far against the one that it hangs on.
/// 3. make transforms: of each bone, from where the pose puts it to where it has risen to.
///
/// At the end positions are carried along by their weights.
LiftedBones lift_bones(const LiftTask& task, std::span<const Affine3d> posed_from_rest,
                       std::span<const Vec3d> positions);

}  // namespace sinew::reference
