#include <sinew/fitting/resolution_levels.h>

#include <algorithm>
#include <cassert>

#include <sinew/fitting/limb_alignment.h>

namespace sinew {

namespace {

std::size_t u(int i) {
  return static_cast<std::size_t>(i);
}

/// A tree that loses its short arcs. Nodes and arcs have the given graph's numbers; an arc is known by the
/// node at which it ends.
class Filter {
 public:
  explicit Filter(const LimbGraph& graph) : graph_(graph), nodes_(graph.nodes.size()) {
    for (int n = 0; n < static_cast<int>(nodes_.size()); ++n) {
      Node& node = nodes_[u(n)];
      for (const int arc : graph.node(n).arcs) node.children.push_back(graph.arc(arc).to);
      if (n == 0) continue;
      node.parent = graph.arc(graph.node(n).arc).from;
      node.passes = {n};
      node.length = graph.length(graph.node(n).arc);
    }
    for (int n = 1; n < static_cast<int>(nodes_.size()); ++n) pass_on(n);
  }

  /// Poirier 2009, figure 3.6, the shortest arc first. Arcs only grow by the others' going, so that a higher
  /// threshold goes on from where a lower one ended.
  void remove_shorter_than(double threshold) {
    for (int n = shortest(); n >= 0 && nodes_[u(n)].length < threshold; n = shortest()) {
      const int above = nodes_[u(n)].parent;
      if (nodes_[u(n)].children.empty()) {  // external: pruned
        std::erase(nodes_[u(above)].children, n);
        nodes_[u(n)].gone = true;
        pass_on(above);
      } else {  // internal: merged to its node nearer to the head
        merge_up(n);
      }
    }
  }

  ResolutionLevel level(double threshold) const {
    ResolutionLevel result;
    result.threshold = threshold;
    result.place.assign(nodes_.size(), -1);
    for (int n = 0; n < static_cast<int>(nodes_.size()); ++n) {
      if (nodes_[u(n)].gone) continue;
      result.place[u(n)] = static_cast<int>(result.origin.size());
      result.origin.push_back(n);
    }
    LimbGraph& graph = result.graph;
    for (const int n : result.origin) {
      graph.nodes.push_back(graph_.node(n));
      graph.nodes.back().arc = -1;
      graph.nodes.back().arcs.clear();
    }
    for (const int n : result.origin)
      for (const int child : nodes_[u(n)].children) {
        const int arc = static_cast<int>(graph.arcs.size()), to = result.place[u(child)];
        graph.nodes[u(result.place[u(n)])].arcs.push_back(arc);
        graph.nodes[u(to)].arc = arc;
        LimbGraph::Arc& added = graph.arcs.emplace_back();
        added.from = result.place[u(n)];
        added.to = to;
        for (const int passed : nodes_[u(child)].passes) {
          const LimbGraph::Arc& part = graph_.arc(graph_.node(passed).arc);
          added.points.insert(added.points.end(), part.points.begin(), part.points.end());
          added.radii.insert(added.radii.end(), part.radii.begin(), part.radii.end());
        }
        result.passes.push_back(nodes_[u(child)].passes);
      }
    result.finer_arc.assign(graph.arcs.size(), -1);
    result.coarser_arc.assign(graph.arcs.size(), -1);
    return result;
  }

 private:
  struct Node {
    int parent = -1;
    std::vector<int> children;
    std::vector<int> passes;  // nodes of the given graph after the parent, this one the last
    double length = 0;        // from the parent to here
    bool gone = false;
  };

  int shortest() const {
    int best = -1;
    for (int n = 1; n < static_cast<int>(nodes_.size()); ++n)
      if (!nodes_[u(n)].gone && (best < 0 || nodes_[u(n)].length < nodes_[u(best)].length)) best = n;
    return best;
  }

  /// A node between two arcs joins them, so that the graph keeps its size. The head stays.
  void pass_on(int n) {
    if (n != 0 && nodes_[u(n)].children.size() == 1) merge_up(n);
  }

  /// The arcs that leave n leave from its parent. Their ends stay; their ways begin with what led to n, so
  /// that lengths and places stay those of the limbs.
  void merge_up(int n) {
    Node& node = nodes_[u(n)];
    std::vector<int>& siblings = nodes_[u(node.parent)].children;
    for (const int c : node.children) {
      Node& child = nodes_[u(c)];
      child.parent = node.parent;
      child.passes.insert(child.passes.begin(), node.passes.begin(), node.passes.end());
      child.length += node.length;
    }
    const auto at = siblings.erase(std::find(siblings.begin(), siblings.end(), n));
    siblings.insert(at, node.children.begin(), node.children.end());
    node.children.clear();
    node.gone = true;
  }

  const LimbGraph& graph_;
  std::vector<Node> nodes_;
};

void link(ResolutionLevel& finer, ResolutionLevel& coarser) {
  for (std::size_t a = 0; a < coarser.passes.size(); ++a) {
    const int from = coarser.origin[u(coarser.graph.arcs[a].from)];
    for (const int b : finer.graph.node(finer.place[u(from)]).arcs) {
      const std::vector<int>&whole = coarser.passes[a], &part = finer.passes[u(b)];
      if (part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin()))
        coarser.finer_arc[a] = b;
    }
  }
  for (std::size_t b = 0; b < finer.passes.size(); ++b) {
    int found = -1, count = 0;
    for (std::size_t a = 0; a < coarser.passes.size(); ++a)
      if (std::count(coarser.passes[a].begin(), coarser.passes[a].end(), finer.passes[b].back()) > 0) {
        found = static_cast<int>(a);
        ++count;
      }
    finer.coarser_arc[b] = count == 1 ? found : -1;
  }
}

}  // namespace

ResolutionLevels resolution_levels(const LimbGraph& graph, const ResolutionOptions& options) {
  assert(options.count >= 1 && !graph.nodes.empty());
  const std::vector<double> ways = distances_from_head(graph);
  const double size = *std::max_element(ways.begin(), ways.end());
  ResolutionLevels levels;
  Filter filter(graph);
  for (int k = 0; k < options.count; ++k) {
    const double threshold = k == 0 ? 0 : options.coarsest * size * k / (options.count - 1);
    filter.remove_shorter_than(threshold);
    levels.push_back(filter.level(threshold));
    if (k > 0) link(levels[u(k - 1)], levels[u(k)]);
  }
  return levels;
}

}  // namespace sinew
