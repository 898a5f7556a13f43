#pragma once

#include <string>
#include <utility>
#include <vector>

#include <sinew/skeleton/clip.h>
#include <sinew/skeleton/skeleton.h>

namespace sinew {

/// What retarget_clip found.
struct RetargetReport {
  std::vector<std::pair<std::string, std::string>> partners;  ///< names: source joint, target joint
  std::vector<std::string> sources_without_partner;           ///< animated joints whose motion is lost
  std::vector<std::string> targets_without_partner;           ///< joints that keep their rest
  double scale = 1;                                           ///< target lengths per source length
};

/// Per joint of `to`, the joint of `from` with the same name, or -1. Names are compared as they are first;
/// then without namespace ("rig:", "rig|"), prefix (mixamorig, DEF-, ORG-, MCH-), case, separators and
/// spelling of the side
/// (.L, _l, L_, Left); then by common synonyms (thigh and UpLeg, pelvis and Hips). No joint is used twice.
std::vector<int> match_joints(const Skeleton& from, const Skeleton& to);

/// `clip` of skeleton `from`, for skeleton `to`. A joint's rotation in the world, relative to its skeleton's
/// rest pose, is carried over: R_to(t) = R_from(t) R_from_rest⁻¹ R_to_rest. So both rest poses should show
/// the same posture (T with T). The topmost partners also carry their position, scaled by the ratio of leg
/// lengths, or of overall size where there are no legs; other animated translations and scales are carried
/// over relative to rest. Joints without partner keep their rest. Keys stand at all key times of the source,
/// interpolated linearly. Morph weights are left out. Throws Error when no joint of `to` has a partner.
Clip retarget_clip(const Skeleton& from, const Clip& clip, const Skeleton& to,
                   RetargetReport* report = nullptr);

}  // namespace sinew
