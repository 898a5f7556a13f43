#include <sinew/implicit/composition.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <numeric>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/geometry/disjoint_sets.h>

namespace sinew {

CompositionTree::CompositionTree(std::size_t leaf_count, std::vector<Node> nodes,
                                 std::vector<Operator> operators)
    : leaf_count_(leaf_count), nodes_(std::move(nodes)), operators_(std::move(operators)) {
  constexpr std::uint32_t kNone = ~0u;
  if (nodes_.size() + (leaf_count_ > 0 ? 1 : 0) != leaf_count_)
    throw Error(fmt::format("a composition of {} fields needs {} nodes, not {}", leaf_count_,
                            leaf_count_ > 0 ? leaf_count_ - 1 : 0, nodes_.size()));
  parent_.assign(leaf_count_ + nodes_.size(), kNone);
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    const auto self = static_cast<std::uint32_t>(leaf_count_ + n);
    if (nodes_[n].operation >= operators_.size())
      throw Error(fmt::format("composition node {} has no operator", n));
    for (const std::uint32_t child : {nodes_[n].first, nodes_[n].second}) {
      if (child >= self) throw Error(fmt::format("composition node {} must come after its children", n));
      if (parent_[child] != kNone)
        throw Error(fmt::format("composition node {} uses something that another one uses", n));
      parent_[child] = self;
    }
  }
  if (!parent_.empty()) parent_.back() = static_cast<std::uint32_t>(parent_.size() - 1);
}

void CompositionTree::prune(std::span<const std::uint16_t> leaves, std::span<Step> steps) const {
  assert(leaves.size() <= kMostLeaves && steps.size() + 1 >= leaves.size());
  // Nodes come after their children, so the numbers of the nodes are an order in which to join: always the
  // two whose common node is the earliest. There are few leaves; plain search is fast.
  std::array<std::uint32_t, kMostLeaves> top{};  // what stands for the leaf in the tree so far
  std::array<std::uint8_t, kMostLeaves> slot{};  // where its sample is
  std::size_t count = leaves.size();
  for (std::size_t i = 0; i < count; ++i) top[i] = leaves[i], slot[i] = static_cast<std::uint8_t>(i);
  std::size_t done = 0;
  while (count > 1) {
    // Climb from the lowest: its parent is either also the parent of another, or just passed through.
    const std::size_t lowest = to_size(
        std::min_element(top.begin(), top.begin() + static_cast<std::ptrdiff_t>(count)) - top.begin());
    const std::uint32_t node = parent_[top[lowest]];
    top[lowest] = node;
    std::size_t same = count;
    for (std::size_t i = 0; i < count; ++i)
      if (i != lowest && top[i] == node) same = i;
    if (same == count) continue;
    // The result must end in slot 0: keep the smaller slot as the target. Operators are symmetric.
    const std::size_t keep = slot[lowest] < slot[same] ? lowest : same, drop = keep == lowest ? same : lowest;
    steps[done++] = {slot[keep], slot[drop], &operators_[nodes_[node - leaf_count_].operation]};
    top[keep] = node;
    --count;
    top[drop] = top[count], slot[drop] = slot[count];
  }
}

FieldSample CompositionTree::compose(std::span<const FieldSample> samples) const {
  assert(samples.size() == leaf_count_);
  if (leaf_count_ == 0) return {};
  std::vector<FieldSample> all(samples.begin(), samples.end());
  for (const Node& node : nodes_)
    all.push_back(combine(operators_[node.operation], all[node.first], all[node.second]));
  return all.back();
}

CompositionTree make_composition_tree(std::size_t leaf_count, std::span<const CompositionJoint> joints,
                                      std::vector<Operator> operators, std::uint32_t between) {
  for (const CompositionJoint& joint : joints)
    if (joint.parent >= leaf_count || joint.child >= leaf_count)
      throw Error(fmt::format("a joint composes fields {} and {}, but there are {}", joint.parent,
                              joint.child, leaf_count));
  std::vector<CompositionTree::Node> nodes;
  DisjointSets sets(leaf_count);
  std::vector<std::uint32_t> top(leaf_count);  // of each set, by its representative
  std::iota(top.begin(), top.end(), 0u);
  const auto join = [&](std::uint32_t a, std::uint32_t b, std::uint32_t operation) {
    const auto root_a = sets.find(a), root_b = sets.find(b);
    if (root_a == root_b) return;
    const auto node = static_cast<std::uint32_t>(leaf_count + nodes.size());
    nodes.push_back({top[root_a], top[root_b], operation});
    sets.join(root_a, root_b);
    top[sets.find(a)] = node;
  };
  for (auto joint = joints.rbegin(); joint != joints.rend(); ++joint)
    if (joint->first) join(joint->parent, joint->child, joint->operation);
  for (auto joint = joints.rbegin(); joint != joints.rend(); ++joint)
    if (!joint->first) join(joint->parent, joint->child, joint->operation);
  for (std::uint32_t leaf = 1; leaf < leaf_count; ++leaf) join(0, leaf, between);
  return CompositionTree(leaf_count, std::move(nodes), std::move(operators));
}

}  // namespace sinew
