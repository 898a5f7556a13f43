#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <sinew/skinning/weights.h>

namespace sinew {

/// Skinning weights laid out for the kernels. Vertices come in blocks of kBlock; a block holds as many
/// influences per vertex as its richest vertex needs, rounded up to 1, 2, 4, 6, 8 …, influence after
/// influence: entry k of vertex i of the block stands at first + k * kBlock + i. Influence 0 is the vertex's
/// heaviest. Missing influences have weight 0 and repeat a joint of their vertex.
class PackedWeights {
 public:
  static constexpr std::size_t kBlock = 64;

  struct Block {
    std::uint32_t first;       ///< index of the block's first entry
    std::uint32_t influences;  ///< per vertex
  };

  PackedWeights() = default;
  /// Every row must have an influence, be sorted heaviest first and sum to 1; joint numbers below 65 536.
  explicit PackedWeights(const SkinWeights& weights);

  std::size_t vertex_count() const { return vertex_count_; }
  const std::vector<Block>& blocks() const { return blocks_; }
  const std::uint16_t* joints() const { return joints_.data(); }
  const float* weights() const { return weights_.data(); }
  /// All (heaviest joint, other joint) pairs that meet at some vertex, sorted, each once. Small: it grows
  /// with the skeleton, not with the mesh.
  const std::vector<std::pair<std::uint16_t, std::uint16_t>>& joint_pairs() const { return joint_pairs_; }

 private:
  std::size_t vertex_count_ = 0;
  std::vector<Block> blocks_;
  std::vector<std::uint16_t> joints_;
  std::vector<float> weights_;
  std::vector<std::pair<std::uint16_t, std::uint16_t>> joint_pairs_;
};

}  // namespace sinew
