#include <sinew/skinning/envelope_weights.h>

#include <algorithm>
#include <cassert>
#include <limits>

#include <sinew/core/index.h>

namespace sinew {

SkinWeights envelope_weights(std::span<const Vec3f> positions, std::span<const Bone> bones,
                             const EnvelopeOptions& options) {
  assert(!bones.empty() && options.reach > 0);
  std::vector<std::uint32_t> joints;
  for (const Bone& bone : bones) joints.push_back(static_cast<std::uint32_t>(bone.joint));
  std::sort(joints.begin(), joints.end());
  joints.erase(std::unique(joints.begin(), joints.end()), joints.end());
  std::vector<std::size_t> slot;  // per bone, its joint's place in the list
  for (const Bone& bone : bones)
    slot.push_back(
        to_size(std::lower_bound(joints.begin(), joints.end(), static_cast<std::uint32_t>(bone.joint)) -
                joints.begin()));
  std::vector<double> distance(joints.size());
  std::vector<Influence> row;
  SkinWeights weights;
  WeightRepairs repairs;
  for (const Vec3f& position : positions) {
    const Vec3d p = position.cast<double>();
    std::fill(distance.begin(), distance.end(), std::numeric_limits<double>::infinity());
    for (std::size_t b = 0; b < bones.size(); ++b) {
      const Vec3d along = bones[b].tail - bones[b].head;
      const double squared = along.squaredNorm();
      const double t = squared > 0 ? std::clamp((p - bones[b].head).dot(along) / squared, 0.0, 1.0) : 0;
      // Of a joint's several bones the nearest counts.
      distance[slot[b]] = std::min(distance[slot[b]], (bones[b].head + t * along - p).norm());
    }
    const double nearest = *std::min_element(distance.begin(), distance.end());
    row.clear();
    for (std::size_t j = 0; j < joints.size(); ++j) {
      const double excess = nearest > 0 ? distance[j] / nearest - 1 : (distance[j] > 0 ? options.reach : 0);
      const double rest = 1 - excess / options.reach;
      if (rest > 0) row.push_back({joints[j], static_cast<float>(rest * rest)});
    }
    append_row(weights, row, 0, repairs);
  }
  return weights;
}

}  // namespace sinew
