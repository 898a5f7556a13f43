#include <sinew/skeleton/bones.h>

#include <algorithm>
#include <cassert>

#include <sinew/core/index.h>

namespace sinew {

namespace {

// Lengths below this share of the skeleton's size are zero for our purposes.
constexpr double kZeroLength = 1e-9;

double skeleton_size(std::span<const Affine3d> world_from_joint) {
  Eigen::AlignedBox3d box;
  for (const Affine3d& joint : world_from_joint) box.extend(joint.translation());
  return box.isEmpty() ? 0 : box.diagonal().norm();
}

}  // namespace

LeafTail leaf_tail_to_surface(const SurfaceQuery& surface) {
  return [&surface](int, const Vec3d& head, const Vec3d& direction) -> std::optional<Vec3d> {
    const std::optional<RayHit> hit =
        surface.first_hit({.origin = head.cast<float>(), .direction = direction.cast<float>()});
    // A surface met from its front is another part: the leaf itself lies outside.
    if (!hit || hit->from_front) return std::nullopt;
    return hit->position.cast<double>();
  };
}

std::vector<Bone> derive_bones(const Skeleton& skeleton, std::span<const Affine3d> world_from_joint,
                               const LeafTail& leaf_tail) {
  assert(world_from_joint.size() == skeleton.size());
  const bool any_deforms = std::any_of(skeleton.joints.begin(), skeleton.joints.end(),
                                       [](const Joint& joint) { return joint.deforms; });
  const auto counts = [&](std::size_t j) { return !any_deforms || skeleton.joints[j].deforms; };

  // The nearest ancestor that counts is the parent in the skeleton of bones.
  std::vector<int> parent(skeleton.size(), -1);
  std::vector<std::vector<int>> children(skeleton.size());
  for (std::size_t j = 0; j < skeleton.size(); ++j) {
    const int above = skeleton.joints[j].parent;
    if (above >= 0) parent[j] = counts(to_size(above)) ? above : parent[to_size(above)];
    if (counts(j) && parent[j] >= 0) children[to_size(parent[j])].push_back(static_cast<int>(j));
  }

  const double zero = kZeroLength * std::max(skeleton_size(world_from_joint), 1e-30);
  const auto place = [&](int j) -> Vec3d { return world_from_joint[to_size(j)].translation(); };
  std::vector<Bone> bones;
  for (std::size_t j = 0; j < skeleton.size(); ++j) {
    if (!counts(j)) continue;
    const int joint = static_cast<int>(j);
    const std::size_t first = bones.size();
    for (int child : children[j])
      if ((place(child) - place(joint)).norm() > zero)
        bones.push_back({joint, child, place(joint), place(child)});
    if (bones.size() > first) continue;
    if (!children[j].empty()) {  // all children coincide with it
      bones.push_back({joint, children[j].front(), place(joint), place(joint)});
      continue;
    }
    double parent_length = 0;
    Vec3d direction = Vec3d::Zero();
    for (int above = parent[j]; above >= 0 && parent_length <= zero; above = parent[to_size(above)]) {
      direction = place(joint) - place(above);
      parent_length = direction.norm();
    }
    if (parent_length > zero) {
      direction /= parent_length;
    } else {
      direction = world_from_joint[j].linear().col(1);
      const double length = direction.norm();
      direction = length > 0 ? Vec3d(direction / length) : Vec3d::UnitY();
      parent_length = 0;
    }
    std::optional<Vec3d> tail;
    if (leaf_tail) tail = leaf_tail(joint, place(joint), direction);
    bones.push_back({joint, -1, place(joint), tail.value_or(place(joint) + 0.5 * parent_length * direction)});
  }
  return bones;
}

}  // namespace sinew
