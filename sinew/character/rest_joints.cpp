#include <sinew/character/rest_joints.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/LU>

#include <sinew/core/index.h>
#include <sinew/skinning/leaf_bones.h>

namespace sinew {

namespace {

constexpr double kLargestPlace = 1e15;

/// Bindings of meshes that hang on a joint without a skin: solid things.
std::vector<bool> solid_bindings(const Character& character) {
  std::vector<bool> solid(character.bindings().size(), false);
  for (const CharacterMesh& mesh : character.meshes()) {
    if (mesh.skinned) continue;
    for (std::size_t v = mesh.first_vertex; v < mesh.first_vertex + mesh.weld.size(); ++v)
      for (const std::uint32_t binding : character.skin_weights().row_joints(v)) solid[binding] = true;
  }
  return solid;
}

}  // namespace

bool RestJoints::is_usable(std::size_t binding) const {
  return places_[binding].allFinite() && places_[binding].cwiseAbs().maxCoeff() < kLargestPlace;
}

RestJoints::RestJoints(const Character& character)
    : bindings_(character.bindings().begin(), character.bindings().end()),
      rest_world_(character.skeleton().size()),
      solid_(solid_bindings(character)),
      bindings_of_joint_(character.skeleton().size()) {
  const Skeleton& skeleton = character.skeleton();
  forward_kinematics(skeleton, character.rest_pose().joints, rest_world_);
  std::vector<int> joint_of_binding;
  for (std::size_t b = 0; b < bindings_.size(); ++b) {
    const Affine3d& joint_from_rest = bindings_[b].joint_from_rest;
    places_.push_back(joint_from_rest.linear().inverse() * -joint_from_rest.translation());
    joint_of_binding.push_back(bindings_[b].joint);
    if (bindings_[b].joint >= 0 && !solid_[b] && is_usable(b))
      bindings_of_joint_[to_size(bindings_[b].joint)].push_back(b);
  }

  std::vector<Affine3d> rest_from_joint = rest_world_;
  std::vector<bool> known(skeleton.size(), false);
  for (std::size_t j = 0; j < skeleton.size(); ++j) {
    const int parent = skeleton.joints[j].parent;
    if (!bindings_of_joint_[j].empty()) {
      rest_from_joint[j] = bindings_[bindings_of_joint_[j].front()].joint_from_rest.inverse();
      known[j] = true;
    } else if (parent >= 0 && known[to_size(parent)]) {
      rest_from_joint[j] = rest_from_joint[to_size(parent)] * character.rest_pose().joints[j].matrix();
      known[j] = true;
    }
  }
  bones_ = derive_bones(skeleton, rest_from_joint,
                        leaf_tail_from_weights(character.rest(), character.skin_weights(), joint_of_binding));
}

std::span<const Bone> RestJoints::bones_of(int joint) const {
  const auto begin = std::lower_bound(bones_.begin(), bones_.end(), joint,
                                      [](const Bone& bone, int j) { return bone.joint < j; });
  auto end = begin;
  while (end != bones_.end() && end->joint == joint) ++end;
  return {begin, end};
}

Vec3d RestJoints::tail(std::size_t binding, const Bone& bone) const {
  const std::vector<std::size_t>& candidates = bindings_of_joint_[to_size(bone.joint)];
  if (candidates.empty() || candidates.front() == binding) return bone.tail;
  return bindings_[binding].joint_from_rest.inverse() *
         (bindings_[candidates.front()].joint_from_rest * bone.tail);
}

int RestJoints::binding_beside(std::size_t binding, int joint) const {
  const std::vector<std::size_t>& candidates = bindings_of_joint_[to_size(joint)];
  if (candidates.empty()) return -1;
  if (candidates.size() == 1 || bindings_[binding].joint < 0) return static_cast<int>(candidates.front());
  const Vec3d expected =
      rest_world_[to_size(bindings_[binding].joint)].inverse() * rest_world_[to_size(joint)].translation();
  const auto error = [&](std::size_t b) {
    const double distance = (bindings_[binding].joint_from_rest * places_[b] - expected).norm();
    return std::isfinite(distance) ? distance : std::numeric_limits<double>::max();
  };
  double least = std::numeric_limits<double>::max();
  for (const std::size_t b : candidates) least = std::min(least, error(b));
  // Skins of one rest space differ by the file's rounding only; of those the nearest number will do.
  const double tolerance = expected.allFinite() ? 1e-4 * expected.norm() : 0.0;
  const auto apart = [&](std::size_t b) { return b > binding ? b - binding : binding - b; };
  std::size_t best = candidates.front(), best_apart = std::numeric_limits<std::size_t>::max();
  for (const std::size_t b : candidates)
    if (error(b) <= least + tolerance && apart(b) < best_apart) best = b, best_apart = apart(b);
  return static_cast<int>(best);
}

}  // namespace sinew
