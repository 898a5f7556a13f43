#include <sinew/fitting/graph_matching.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdlib>

#include <sinew/fitting/shape_descriptor.h>

namespace sinew {

namespace {

/// The longest path from the head; 1 for a graph without length.
double graph_size(const LimbGraph& graph) {
  const PerNode<double> distances = distances_from_head(graph);
  const double size = *std::max_element(distances.begin(), distances.end());
  return size > 0 ? size : 1;
}

class GraphMatcher {
 public:
  GraphMatcher(const LimbGraph& rig, const ResolutionLevels& levels, const Mat3d& mesh_from_rig,
               const MatchingOptions& options)
      : rig_(rig), levels_(levels), options_(options), rig_size_(graph_size(rig)) {
    rig_symmetry_ = graph_symmetry(rig, Mat3d::Identity(), options.symmetry);
    // Poirier 2009, §3.1.2.3: each level of the mesh has its own.
    for (const ResolutionLevel& level : levels)
      symmetry_.push_back(graph_symmetry(level.graph, mesh_from_rig.transpose(), options.symmetry));
    mesh_size_ = graph_size(levels[0].graph);
    node_map_.assign(rig.nodes.size(), NodeId::kNone);
    use_.assign(levels[0].reduced.size(), Use::unused);
  }

  NodeMap run() {
    // The paper does not say at which level the head is: at the coarsest that has as many children there as
    // the rig.
    const NodeId head = LimbGraph::kHead;
    std::size_t level = levels_.size() - 1;
    while (level > 0 && local_shape(levels_[level].graph, head) != local_shape(rig_, head)) --level;
    if (local_shape(levels_[level].graph, head) != local_shape(rig_, head)) level = levels_.size() - 1;
    node_map_[head] = head;
    use_[head] = Use::matched;
    match_chains(head, {level, head});
    return std::move(node_map_);
  }

 private:
  /// What an original node of the mesh is used for: a limb runs through it, or ends there.
  enum class Use : char { unused, passed, matched };
  struct LevelNode {
    std::size_t level = 0;
    NodeId node;
  };
  struct LevelArc {
    std::size_t level = 0;
    ArcId arc;
  };

  /// Algorithm 1 for all chains that leave a node. Those with a limb of exactly their shape choose first.
  void match_chains(NodeId rig_node, LevelNode mesh_node) {
    std::vector<ArcId> left;
    std::vector<std::pair<NodeId, LevelNode>> next;
    for (const ArcId chain : rig_.nodes[rig_node].child_arcs) {
      const LevelArc limb = find_limb(chain, mesh_node, false);
      if (limb.arc.valid())
        next.push_back({rig_.arcs[chain].to, assign(rig_.arcs[chain].to, limb)});
      else
        left.push_back(chain);
    }
    if (options_.nearest_shape)
      for (const ArcId chain : left)
        if (const LevelArc limb = find_limb(chain, mesh_node, true); limb.arc.valid())
          next.push_back({rig_.arcs[chain].to, assign(rig_.arcs[chain].to, limb)});
    for (const auto& [rig_below, mesh_below] : next) match_chains(rig_below, mesh_below);
  }

  /// "foreach arc_M inutilisé". The paper leaves the order open; ours compares their shares of the graphs'
  /// sizes. Ends with the first that matches, which the printed loop does not.
  LevelArc find_limb(ArcId chain, LevelNode mesh_node, bool nearest) const {
    const LimbGraph& graph = levels_[mesh_node.level].graph;
    std::vector<ArcId> arcs = graph.nodes[mesh_node.node].child_arcs;
    const double share = rig_.length(chain) / rig_size_;
    std::stable_sort(arcs.begin(), arcs.end(), [&](ArcId a, ArcId b) {
      return std::abs(graph.length(a) / mesh_size_ - share) < std::abs(graph.length(b) / mesh_size_ - share);
    });
    const int wanted = child_count(rig_, chain);
    LevelArc best;
    int best_difference = 0;
    for (const ArcId arc : arcs) {
      // SymMéta(arc_M) = SymMéta(arc_S)
      if (symmetry_[mesh_node.level][arc] != rig_symmetry_[chain]) continue;
      // Finer and finer until FormeL(arc_S) = FormeL(arc_M). The printed loop does not end at the finest.
      for (LevelArc at{mesh_node.level, arc};; at = {at.level - 1, levels_[at.level].finer_arc[at.arc]}) {
        const int difference = std::abs(child_count(levels_[at.level].graph, at.arc) - wanted);
        if (is_free(at)) {
          if (difference == 0) return at;
          if (nearest && (!best.arc.valid() || difference < best_difference)) {
            best = at;
            best_difference = difference;
          }
        }
        if (at.level == 0) break;
      }
    }
    return best;
  }

  static int child_count(const LimbGraph& graph, ArcId arc) {
    return static_cast<int>(graph.nodes[graph.arcs[arc].to].child_arcs.size());
  }

  /// Used limbs are used at all resolutions: no limb ends where another ends or passes, or passes where one
  /// ends.
  bool is_free(LevelArc limb) const {
    const std::vector<NodeId>& originals = levels_[limb.level].originals_on[limb.arc];
    for (const NodeId n : originals)
      if (use_[n] == Use::matched) return false;
    return use_[originals.back()] == Use::unused;
  }

  /// Matches the end of a rig's chain with the end of a limb. Gives the mesh's node at the coarsest level at
  /// which its local shape is still the same.
  LevelNode assign(NodeId rig_node, LevelArc limb) {
    const ResolutionLevel& level = levels_[limb.level];
    for (const NodeId n : level.originals_on[limb.arc]) use_[n] = Use::passed;
    LevelNode end{limb.level, level.graph.arcs[limb.arc].to};
    const NodeId original = level.original[end.node];
    use_[original] = Use::matched;
    node_map_[rig_node] = original;
    const ShapeDescriptor shape = local_shape(level.graph, end.node);
    // while FormeL(noeud_S) = FormeL(noeud_CM)
    for (std::size_t coarser = limb.level + 1; coarser < levels_.size(); ++coarser) {
      const NodeId node = levels_[coarser].reduced[original];
      if (!node.valid() || local_shape(levels_[coarser].graph, node) != shape) break;
      end = {coarser, node};
    }
    return end;
  }

  const LimbGraph& rig_;
  const ResolutionLevels& levels_;
  MatchingOptions options_;
  double rig_size_ = 1, mesh_size_ = 1;
  PerArc<ArcSymmetry> rig_symmetry_;
  std::vector<PerArc<ArcSymmetry>> symmetry_;  // per level
  NodeMap node_map_;
  PerNode<Use> use_;  // per original node
};

}  // namespace

NodeMap match_graphs(const LimbGraph& rig, const ResolutionLevels& mesh, const Mat3d& mesh_from_rig,
                     const MatchingOptions& options) {
  assert(!rig.nodes.empty() && !mesh.empty());
  return GraphMatcher(rig, mesh, mesh_from_rig, options).run();
}

}  // namespace sinew
