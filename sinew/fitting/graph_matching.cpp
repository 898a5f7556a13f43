#include <sinew/fitting/graph_matching.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdlib>

#include <sinew/fitting/limb_alignment.h>
#include <sinew/fitting/shape_descriptor.h>

namespace sinew {

namespace {

std::size_t u(int i) {
  return static_cast<std::size_t>(i);
}

double size_of(const LimbGraph& graph) {
  const std::vector<double> ways = distances_from_head(graph);
  const double size = *std::max_element(ways.begin(), ways.end());
  return size > 0 ? size : 1;
}

class Matcher {
 public:
  Matcher(const LimbGraph& rig, const ResolutionLevels& levels, const Mat3d& mesh_from_rig,
          const MatchingOptions& options)
      : rig_(rig), levels_(levels), options_(options), rig_size_(size_of(rig)) {
    rig_symmetry_ = graph_symmetry(rig, Mat3d::Identity(), options.symmetry);
    // §3.1.2.3: each level of the mesh has its own.
    for (const ResolutionLevel& level : levels)
      symmetry_.push_back(graph_symmetry(level.graph, mesh_from_rig.transpose(), options.symmetry));
    mesh_size_ = size_of(levels[0].graph);
    image_.assign(rig.nodes.size(), -1);
    used_.assign(levels[0].place.size(), Use::free);
  }

  std::vector<int> run() {
    // The paper does not say at which level the head is: at the coarsest that parts as the rig's does.
    std::size_t level = levels_.size() - 1;
    while (level > 0 && local_shape(levels_[level].graph, 0) != local_shape(rig_, 0)) --level;
    if (local_shape(levels_[level].graph, 0) != local_shape(rig_, 0)) level = levels_.size() - 1;
    image_[0] = 0;
    used_[0] = Use::image;
    match_chains(0, {level, 0});
    return std::move(image_);
  }

 private:
  enum class Use : char { free, passed, image };
  /// A node or an arc of a level.
  struct Place {
    std::size_t level = 0;
    int number = -1;
  };

  /// Algorithm 1 for all chains that leave a node. Those with a limb of the very shape choose first.
  void match_chains(int rig_node, Place mesh_node) {
    std::vector<int> left;
    std::vector<std::pair<int, Place>> next;
    for (const int chain : rig_.node(rig_node).arcs) {
      const Place arc = find_arc(chain, mesh_node, false);
      if (arc.number >= 0)
        next.push_back({rig_.arc(chain).to, take(rig_.arc(chain).to, arc)});
      else
        left.push_back(chain);
    }
    if (options_.nearest_shape)
      for (const int chain : left)
        if (const Place arc = find_arc(chain, mesh_node, true); arc.number >= 0)
          next.push_back({rig_.arc(chain).to, take(rig_.arc(chain).to, arc)});
    for (const auto& [rig_below, mesh_below] : next) match_chains(rig_below, mesh_below);
  }

  /// "foreach arc_M inutilisé". The paper leaves the order open; ours is by how near their shares of the
  /// graphs' sizes come. Ends with the first that matches, which the printed loop does not.
  Place find_arc(int chain, Place mesh_node, bool nearest) const {
    const LimbGraph& graph = levels_[mesh_node.level].graph;
    std::vector<int> arcs = graph.node(mesh_node.number).arcs;
    const double share = rig_.length(chain) / rig_size_;
    std::stable_sort(arcs.begin(), arcs.end(), [&](int a, int b) {
      return std::abs(graph.length(a) / mesh_size_ - share) < std::abs(graph.length(b) / mesh_size_ - share);
    });
    const int wanted = static_cast<int>(rig_.node(rig_.arc(chain).to).arcs.size());
    Place best;
    int best_difference = 0;
    for (const int arc : arcs) {
      // SymMéta(arc_M) = SymMéta(arc_S)
      if (symmetry_[mesh_node.level][u(arc)] != rig_symmetry_[u(chain)]) continue;
      // Finer and finer until FormeL(arc_S) = FormeL(arc_M). The printed loop does not end at the finest.
      for (Place at{mesh_node.level, arc};; at = {at.level - 1, levels_[at.level].finer_arc[u(at.number)]}) {
        const LimbGraph& here = levels_[at.level].graph;
        const int difference =
            std::abs(static_cast<int>(here.node(here.arc(at.number).to).arcs.size()) - wanted);
        if (is_free(at)) {
          if (difference == 0) return at;
          if (nearest && (best.number < 0 || difference < best_difference)) {
            best = at;
            best_difference = difference;
          }
        }
        if (at.level == 0) break;
      }
    }
    return best;
  }

  /// Used limbs are used at all resolutions: none ends where another ends or passes, or passes where one
  /// ends.
  bool is_free(Place arc) const {
    const std::vector<int>& passes = levels_[arc.level].passes[u(arc.number)];
    for (const int n : passes)
      if (used_[u(n)] == Use::image) return false;
    return used_[u(passes.back())] == Use::free;
  }

  /// The end of a rig's chain is the end of a limb. Gives the mesh's node at the coarsest level to which its
  /// local shape stays what it is.
  Place take(int rig_node, Place arc) {
    const ResolutionLevel& level = levels_[arc.level];
    for (const int n : level.passes[u(arc.number)]) used_[u(n)] = Use::passed;
    Place node{arc.level, level.graph.arc(arc.number).to};
    const int origin = level.origin[u(node.number)];
    used_[u(origin)] = Use::image;
    image_[u(rig_node)] = origin;
    const ShapeDescriptor shape = local_shape(level.graph, node.number);
    // while FormeL(noeud_S) = FormeL(noeud_CM)
    for (std::size_t coarser = arc.level + 1; coarser < levels_.size(); ++coarser) {
      const int number = levels_[coarser].place[u(origin)];
      if (number < 0 || local_shape(levels_[coarser].graph, number) != shape) break;
      node = {coarser, number};
    }
    return node;
  }

  const LimbGraph& rig_;
  const ResolutionLevels& levels_;
  MatchingOptions options_;
  double rig_size_ = 1, mesh_size_ = 1;
  std::vector<ArcSymmetry> rig_symmetry_;
  std::vector<std::vector<ArcSymmetry>> symmetry_;  // per level, per arc
  std::vector<int> image_;
  std::vector<Use> used_;  // per node of the given graph
};

}  // namespace

std::vector<int> match_graphs(const LimbGraph& rig, const ResolutionLevels& mesh, const Mat3d& mesh_from_rig,
                              const MatchingOptions& options) {
  assert(!rig.nodes.empty() && !mesh.empty());
  return Matcher(rig, mesh, mesh_from_rig, options).run();
}

}  // namespace sinew
