#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sinew/implicit/field_sample.h>
#include <sinew/implicit/operators.h>

namespace sinew {

/// How the fields of a character are put together: a binary tree whose leaves are fields and whose nodes are
/// operators. Only the few leaves that are not zero at a point matter there: prune() makes the little program
/// that composes those.
class CompositionTree {
 public:
  /// A node that joins two others: numbers below the leaf count are leaves, others earlier nodes.
  struct Node {
    std::uint32_t first = 0;
    std::uint32_t second = 0;
    std::uint32_t operation = 0;  ///< number of its operator
  };

  CompositionTree() = default;
  /// Throws Error unless `nodes` make one tree of all leaves: each leaf and each node but the last is used
  /// exactly once, by a later node. No leaf, or one leaf and no node, is fine.
  CompositionTree(std::size_t leaf_count, std::vector<Node> nodes, std::vector<Operator> operators);

  std::size_t leaf_count() const { return leaf_count_; }
  std::span<const Node> nodes() const { return nodes_; }
  std::span<const Operator> operators() const { return operators_; }

  /// One step of a pruned tree: samples[target] = operator(samples[target], samples[other]).
  struct Step {
    std::uint8_t target = 0;
    std::uint8_t other = 0;
    const Operator* operation = nullptr;
  };
  static constexpr std::size_t kMostLeaves = 64;  ///< of a pruned tree

  /// The steps that compose the given leaves (ascending, at most kMostLeaves), into samples[0]; what is not
  /// named counts as 0. `steps` must have room for one less than there are leaves. Allocates nothing.
  void prune(std::span<const std::uint16_t> leaves, std::span<Step> steps) const;

  /// All leaves, one sample each: the plain way. Composes in place of `samples`' copy.
  FieldSample compose(std::span<const FieldSample> samples) const;

 private:
  std::size_t leaf_count_ = 0;
  std::vector<Node> nodes_;
  std::vector<Operator> operators_;
  std::vector<std::uint32_t> parent_;  // of leaves, then nodes; the root's is its own
};

/// A pair of fields that an operator of its own joins.
struct CompositionJoint {
  std::uint32_t parent = 0;  ///< field of the bone before the joint
  std::uint32_t child = 0;   ///< field of the joint's own bone
  std::uint32_t operation = 0;
  bool first = false;  ///< joined before all others, as bulges and blends are: only these two shall do it
};

/// The tree of a skeleton: pairs marked `first` at the bottom, joined along the skeleton; the others above
/// them, children before parents; what no joint connects last, with operator `between`. So any two fields
/// meet in some node. `joints` are sorted by child, parents before children. Throws Error for joints of
/// fields that do not exist, and for operators that do not.
CompositionTree make_composition_tree(std::size_t leaf_count, std::span<const CompositionJoint> joints,
                                      std::vector<Operator> operators, std::uint32_t between);

}  // namespace sinew
