#include <sinew/skinning/leaf_bones.h>

#include <algorithm>
#include <cassert>

namespace sinew {

LeafTail leaf_tail_from_weights(std::span<const Vec3f> positions, const SkinWeights& weights,
                                std::span<const int> joint_of_weight) {
  assert(weights.rows() == positions.size());
  return [=, &weights](int joint, const Vec3d& head, const Vec3d&) -> std::optional<Vec3d> {
    std::vector<Vec3d> dominated;
    for (std::size_t v = 0; v < positions.size(); ++v)
      for (std::size_t i = weights.starts[v]; i < weights.starts[v + 1]; ++i)
        if (joint_of_weight[weights.joints[i]] == joint && weights.values[i] > 0.5f)
          dominated.push_back(positions[v].cast<double>());
    if (dominated.empty()) return std::nullopt;
    Vec3d direction = Vec3d::Zero();
    double reach = 0;
    for (const Vec3d& p : dominated) {
      direction += p - head;
      reach = std::max(reach, (p - head).norm());
    }
    const double length = direction.norm() / static_cast<double>(dominated.size());
    if (!(length > 1e-9 * reach))
      return std::nullopt;  // all round the joint: no direction is better than another
    direction.normalize();
    double farthest = 0;
    for (const Vec3d& p : dominated) farthest = std::max(farthest, (p - head).dot(direction));
    return head + farthest * direction;
  };
}

}  // namespace sinew
