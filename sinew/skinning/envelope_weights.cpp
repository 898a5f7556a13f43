#include <sinew/skinning/envelope_weights.h>

#include <algorithm>
#include <cassert>
#include <limits>

namespace sinew {

SkinWeights envelope_weights(std::span<const Vec3f> positions, std::span<const Bone> bones,
                             const EnvelopeOptions& options) {
  assert(!bones.empty() && options.reach > 0);
  std::vector<double> distance(bones.size());
  std::vector<Influence> row;
  SkinWeights weights;
  WeightRepairs repairs;
  for (const Vec3f& position : positions) {
    const Vec3d p = position.cast<double>();
    double nearest = std::numeric_limits<double>::infinity();
    for (std::size_t b = 0; b < bones.size(); ++b) {
      const Vec3d along = bones[b].tail - bones[b].head;
      const double squared = along.squaredNorm();
      const double t = squared > 0 ? std::clamp((p - bones[b].head).dot(along) / squared, 0.0, 1.0) : 0;
      distance[b] = (bones[b].head + t * along - p).norm();
      nearest = std::min(nearest, distance[b]);
    }
    row.clear();
    for (std::size_t b = 0; b < bones.size(); ++b) {
      const double excess = nearest > 0 ? distance[b] / nearest - 1 : (distance[b] > 0 ? options.reach : 0);
      const double rest = 1 - excess / options.reach;
      if (rest <= 0) continue;
      const auto weight = static_cast<float>(rest * rest);
      const auto joint = static_cast<std::uint32_t>(bones[b].joint);
      // Of a joint's several bones the nearest counts.
      const auto same = std::find_if(row.begin(), row.end(),
                                     [&](const Influence& influence) { return influence.joint == joint; });
      if (same == row.end())
        row.push_back({joint, weight});
      else
        same->weight = std::max(same->weight, weight);
    }
    append_row(weights, row, 0, repairs);
  }
  return weights;
}

}  // namespace sinew
