#include <sinew/tracking/palm_shares.h>

#include <algorithm>

namespace sinew {

PalmShares find_palm_shares(const FieldSet& fields, const LiftChains& chains,
                            std::span<const std::int32_t> own, const SkinWeights& weights) {
  const std::vector<std::int32_t> field_of = fields_of_transforms(fields);
  PalmShares result;
  std::vector<float> sums(fields.fields.size(), 0);
  for (std::size_t v = 0; v < own.size(); ++v) {
    const auto mine = static_cast<std::size_t>(std::max(own[v], 0));
    if (own[v] >= 0 && chains.palm_of[mine] >= 0) {
      const auto joints = weights.row_joints(v);
      const auto values = weights.row_values(v);
      std::vector<std::size_t> parts;
      float all = 0;
      for (std::size_t k = 0; k < joints.size(); ++k) {
        const std::int32_t field = joints[k] < field_of.size() ? field_of[joints[k]] : -1;
        if (field < 0 || !chains.share_palm(mine, static_cast<std::size_t>(field)) || !(values[k] > 0))
          continue;
        if (sums[static_cast<std::size_t>(field)] == 0) parts.push_back(static_cast<std::size_t>(field));
        sums[static_cast<std::size_t>(field)] += values[k];
        all += values[k];
      }
      for (const std::size_t f : parts) {
        if (parts.size() > 1) result.entries.push_back({static_cast<std::uint16_t>(f), sums[f] / all});
        sums[f] = 0;
      }
    }
    result.starts.push_back(static_cast<std::uint32_t>(result.entries.size()));
  }
  return result;
}

}  // namespace sinew
