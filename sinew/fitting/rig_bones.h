#pragma once

#include <string_view>
#include <vector>

#include <sinew/fitting/ids.h>
#include <sinew/skeleton/control_rig.h>

/// A rig's bones by BoneId.
namespace sinew {

inline IndexRange<BoneId> bone_ids(const ControlRig& rig) {
  return {BoneId(0), BoneId(rig.bones.size())};
}

inline const RigBone& bone_at(const ControlRig& rig, BoneId bone) {
  return rig.bones[bone.offset()];
}
inline RigBone& bone_at(ControlRig& rig, BoneId bone) {
  return rig.bones[bone.offset()];
}

/// kNone for a root.
inline BoneId parent_of(const ControlRig& rig, BoneId bone) {
  return BoneId(bone_at(rig, bone).parent);
}

/// kNone when no bone has that name.
inline BoneId find_bone(const ControlRig& rig, std::string_view name) {
  return BoneId(rig.find(name));
}

/// See deform_parents() and parents_first().
inline PerBone<BoneId> deforming_parents(const ControlRig& rig) {
  PerBone<BoneId> parents;
  for (const int parent : deform_parents(rig)) parents.push_back(BoneId(parent));
  return parents;
}
inline std::vector<BoneId> bones_parents_first(const ControlRig& rig) {
  std::vector<BoneId> order;
  for (const int bone : parents_first(rig)) order.push_back(BoneId(bone));
  return order;
}

}  // namespace sinew
