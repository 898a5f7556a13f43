#include <sinew/skinning/packed_weights.h>

#include <algorithm>
#include <cassert>

namespace sinew {

PackedWeights::PackedWeights(const SkinWeights& weights) : vertex_count_(weights.rows()) {
  std::size_t crowd = 65536;
  for (std::size_t begin = 0; begin < vertex_count_; begin += kBlock) {
    const std::size_t end = std::min(begin + kBlock, vertex_count_);
    std::size_t influences = 1;
    for (std::size_t v = begin; v < end; ++v) influences = std::max(influences, weights.row_size(v));
    if (influences > 1) influences += influences % 2;  // kernels take two at a time

    const std::size_t first = joints_.size();
    blocks_.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(influences)});
    joints_.resize(first + influences * kBlock, 0);
    weights_.resize(first + influences * kBlock, 0.0f);
    for (std::size_t v = begin; v < end; ++v) {
      const auto row_joints = weights.row_joints(v);
      const auto row_values = weights.row_values(v);
      assert(!row_joints.empty());
      for (std::size_t k = 0; k < influences; ++k) {
        const std::size_t entry = first + k * kBlock + (v - begin);
        const bool used = k < row_joints.size();
        assert(row_joints[used ? k : 0] < 65536);
        joints_[entry] = static_cast<std::uint16_t>(row_joints[used ? k : 0]);
        weights_[entry] = used ? row_values[k] : 0.0f;
      }
      for (std::size_t k = 1; k < row_joints.size(); ++k) {
        const std::pair<std::uint16_t, std::uint16_t> pair(row_joints[0], row_joints[k]);
        if (joint_pairs_.empty() || joint_pairs_.back() != pair) joint_pairs_.push_back(pair);
      }
    }
    // Neighbouring vertices repeat the same few pairs: thin the list out before it grows with the mesh.
    if (joint_pairs_.size() > crowd || end == vertex_count_) {
      std::sort(joint_pairs_.begin(), joint_pairs_.end());
      joint_pairs_.erase(std::unique(joint_pairs_.begin(), joint_pairs_.end()), joint_pairs_.end());
      crowd = std::max(crowd, 2 * joint_pairs_.size());
    }
  }
  joints_.shrink_to_fit();
  weights_.shrink_to_fit();
}

}  // namespace sinew
