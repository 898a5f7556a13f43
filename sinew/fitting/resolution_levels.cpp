#include <sinew/fitting/resolution_levels.h>

#include <algorithm>
#include <cassert>

namespace sinew {

namespace {

/// A tree that loses its short arcs. Nodes have the original graph's indices; an arc is known by the node at
/// which it ends.
class GraphSimplifier {
 public:
  explicit GraphSimplifier(const LimbGraph& graph) : graph_(graph), nodes_(graph.nodes.size()) {
    for (const NodeId n : nodes_.ids()) {
      Node& node = nodes_[n];
      for (const ArcId arc : graph.nodes[n].child_arcs) node.children.push_back(graph.arcs[arc].to);
      if (n == LimbGraph::kHead) continue;
      node.parent = graph.parent(n);
      node.originals = {n};
      node.length = graph.length(graph.nodes[n].parent_arc);
    }
    for (const NodeId n : graph.below_head()) merge_if_single_child(n);
  }

  /// Poirier 2009, figure 3.6, the shortest arc first. Removing arcs only makes others longer, so that a
  /// higher threshold continues where a lower one ended.
  void remove_shorter_than(double threshold) {
    for (NodeId n = shortest(); n.valid() && nodes_[n].length < threshold; n = shortest()) {
      const NodeId parent = nodes_[n].parent;
      if (nodes_[n].children.empty()) {  // external: pruned
        std::erase(nodes_[parent].children, n);
        nodes_[n].removed = true;
        merge_if_single_child(parent);
      } else {  // internal: merged into its node nearer to the head
        merge_into_parent(n);
      }
    }
  }

  ResolutionLevel level(double threshold) const {
    ResolutionLevel result;
    result.threshold = threshold;
    result.reduced.assign(nodes_.size(), NodeId::kNone);
    for (const NodeId n : nodes_.ids())
      if (!nodes_[n].removed) result.reduced[n] = result.original.push_back(n);
    LimbGraph& graph = result.graph;
    for (const NodeId n : result.original) {
      graph.nodes.push_back(graph_.nodes[n]);
      graph.nodes.back().parent_arc = ArcId::kNone;
      graph.nodes.back().child_arcs.clear();
    }
    for (const NodeId n : result.original)
      for (const NodeId child : nodes_[n].children) {
        const ArcId arc = graph.arcs.next_id();
        graph.nodes[result.reduced[n]].child_arcs.push_back(arc);
        graph.nodes[result.reduced[child]].parent_arc = arc;
        LimbGraph::Arc& added = graph.arcs.emplace_back();
        added.from = result.reduced[n];
        added.to = result.reduced[child];
        for (const NodeId original : nodes_[child].originals) {
          const LimbGraph::Arc& part = graph_.arcs[graph_.nodes[original].parent_arc];
          added.points.insert(added.points.end(), part.points.begin(), part.points.end());
          added.radii.insert(added.radii.end(), part.radii.begin(), part.radii.end());
        }
        result.originals_on.push_back(nodes_[child].originals);
      }
    result.finer_arc.assign(graph.arcs.size(), ArcId::kNone);
    result.coarser_arc.assign(graph.arcs.size(), ArcId::kNone);
    return result;
  }

 private:
  struct Node {
    NodeId parent;
    std::vector<NodeId> children;
    std::vector<NodeId> originals;  // on the arc from the parent, this node the last
    double length = 0;              // of that arc
    bool removed = false;
  };

  NodeId shortest() const {
    NodeId best;
    for (const NodeId n : graph_.below_head())
      if (!nodes_[n].removed && (!best.valid() || nodes_[n].length < nodes_[best].length)) best = n;
    return best;
  }

  /// Joins the two arcs at a node between them, so that the graph keeps its size. The head stays.
  void merge_if_single_child(NodeId n) {
    if (n != LimbGraph::kHead && nodes_[n].children.size() == 1) merge_into_parent(n);
  }

  /// The arcs that leave n leave from its parent. Their ends stay; their polylines begin with what led to n,
  /// so that lengths and positions stay those of the limbs.
  void merge_into_parent(NodeId n) {
    Node& node = nodes_[n];
    std::vector<NodeId>& siblings = nodes_[node.parent].children;
    for (const NodeId c : node.children) {
      Node& child = nodes_[c];
      child.parent = node.parent;
      child.originals.insert(child.originals.begin(), node.originals.begin(), node.originals.end());
      child.length += node.length;
    }
    const auto at = siblings.erase(std::find(siblings.begin(), siblings.end(), n));
    siblings.insert(at, node.children.begin(), node.children.end());
    node.children.clear();
    node.removed = true;
  }

  const LimbGraph& graph_;
  PerNode<Node> nodes_;
};

void link(ResolutionLevel& finer, ResolutionLevel& coarser) {
  for (const ArcId a : coarser.graph.arcs.ids()) {
    const NodeId from = coarser.original[coarser.graph.arcs[a].from];
    for (const ArcId b : finer.graph.nodes[finer.reduced[from]].child_arcs) {
      const std::vector<NodeId>&whole = coarser.originals_on[a], &part = finer.originals_on[b];
      if (part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin()))
        coarser.finer_arc[a] = b;
    }
  }
  for (const ArcId b : finer.graph.arcs.ids()) {
    ArcId found;
    int count = 0;
    for (const ArcId a : coarser.graph.arcs.ids()) {
      const std::vector<NodeId>& originals = coarser.originals_on[a];
      if (std::count(originals.begin(), originals.end(), finer.originals_on[b].back()) > 0) {
        found = a;
        ++count;
      }
    }
    finer.coarser_arc[b] = count == 1 ? found : ArcId::kNone;
  }
}

}  // namespace

ResolutionLevels resolution_levels(const LimbGraph& graph, const ResolutionOptions& options) {
  assert(options.count >= 1 && !graph.nodes.empty());
  const PerNode<double> distances = distances_from_head(graph);
  const double size = *std::max_element(distances.begin(), distances.end());
  ResolutionLevels levels;
  GraphSimplifier simplifier(graph);
  for (int k = 0; k < options.count; ++k) {
    const double threshold = k == 0 ? 0 : options.coarsest * size * k / (options.count - 1);
    simplifier.remove_shorter_than(threshold);
    levels.push_back(simplifier.level(threshold));
    if (k > 0) link(levels[levels.size() - 2], levels.back());
  }
  return levels;
}

}  // namespace sinew
