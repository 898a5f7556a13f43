#include <sinew/fitting/limb_alignment.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <sinew/core/index.h>
#include <sinew/core/rotation.h>
#include <sinew/fitting/polyline.h>

namespace sinew {

namespace {

constexpr double kImpossible = std::numeric_limits<double>::infinity();
/// Over which share of its last arc a limb's direction at a node is measured: of its tip, and of the limb for
/// the frame of what hangs on it. By hand, on the built-in characters.
constexpr double kTipShare = 0.125, kLimbShare = 0.5;
/// Shorter chains count as so long, as a share of the longest path: logarithms of nothing have no bound.
constexpr double kMinLength = 1e-4;

/// Direction in which a limb arrives at a node, over this share of its arc; zero for the head.
Vec3d arrival_direction(const LimbGraph& graph, NodeId node, double share) {
  const ArcId arc = graph.nodes[node].parent_arc;
  if (!arc.valid()) return Vec3d::Zero();
  std::vector<Vec3d> points{graph.nodes[graph.arcs[arc].from].position};
  points.insert(points.end(), graph.arcs[arc].points.begin(), graph.arcs[arc].points.end());
  const Polyline line(std::move(points));
  const Vec3d last = graph.nodes[node].position - line.at((1 - share) * line.length());
  return last.norm() > 0 ? Vec3d(last.normalized()) : Vec3d(Vec3d::Zero());
}

/// What a chain of a certain length counts, lengths as shares of the longest path from the head.
double length_weight(double length) {
  return std::sqrt(std::max(0.0, length));
}

/// One of the two trees, with what costs are made of.
struct MeasuredTree {
  explicit MeasuredTree(const LimbGraph& limbs) : graph(limbs), distance(distances_from_head(limbs)) {
    const double size = *std::max_element(distance.begin(), distance.end());
    for (double& each : distance) each /= size > 0 ? size : 1;
    weight_below.assign(graph.nodes.size(), 0);
    for (const NodeId n : reversed(graph.below_head()))
      weight_below[graph.parent(n)] += weight_below[n] + arc_weight(n);
    for (const NodeId n : graph.nodes.ids()) {
      tip_direction.push_back(arrival_direction(graph, n, kTipShare));
      limb_direction.push_back(arrival_direction(graph, n, kLimbShare));
    }
  }

  /// Of the arc that ends at a node.
  double arc_weight(NodeId n) const { return length_weight(distance[n] - distance[graph.parent(n)]); }
  /// Of that arc and all below it.
  double branch_weight(NodeId n) const { return weight_below[n] + arc_weight(n); }

  const LimbGraph& graph;
  PerNode<double> distance;      // from the head, over the longest
  PerNode<double> weight_below;  // of all arcs below a node
  PerNode<Vec3d> tip_direction, limb_direction;
};

class LimbAligner {
 public:
  LimbAligner(const LimbGraph& rig, const LimbGraph& mesh, const Mat3d& mesh_from_rig,
              const AlignmentWeights& weights)
      : rig_(rig), mesh_(mesh), mesh_from_rig_(mesh_from_rig), weights_(weights) {}

  Alignment run() {
    const PerNode<double> impossible(mesh_.graph.nodes.size(), kImpossible);
    cost_.assign(rig_.graph.nodes.size(), impossible);
    for (const NodeId r : reversed(rig_.graph.nodes.ids()))
      for (const NodeId m : mesh_.graph.nodes.ids()) cost_[r][m] = solve(r, m, nullptr);
    Alignment alignment;
    alignment.node_map.assign(rig_.graph.nodes.size(), NodeId::kNone);
    alignment.cost = cost_[LimbGraph::kHead][LimbGraph::kHead];
    backtrack(LimbGraph::kHead, LimbGraph::kHead, alignment.node_map);
    alignment.difference = difference(alignment.node_map);
    return alignment;
  }

  double difference(const NodeMap& node_map) const {
    double sum = 0, total_weight = 0;
    for (const NodeId r : rig_.graph.below_head()) {
      if (!node_map[r].valid()) continue;
      NodeId above = r;
      do above = rig_.graph.parent(above);
      while (above != LimbGraph::kHead && !node_map[above].valid());
      const NodeId m = node_map[above];
      sum += chain_cost(above, m, r, node_map[r], frame(above, m));
      total_weight += length_weight(rig_.distance[r] - rig_.distance[above]);
    }
    return total_weight > 0 ? sum / total_weight : 0;
  }

  double cost_of(const NodeMap& node_map) const {
    double cost = 0;
    const NodeId head = LimbGraph::kHead;
    PerNode<NodeId> above(rig_.graph.nodes.size(), head);  // the nearest node above that has a limb
    PerNode<char> kept(rig_.graph.nodes.size(), 0);        // the node or one below it has a limb
    PerNode<int> chains_on(mesh_.graph.nodes.size(), 0);   // of the mesh: chains on the arc that ends there
    kept[head] = 1;
    for (const NodeId r : rig_.graph.below_head()) {
      const NodeId from = above[rig_.graph.parent(r)], end = node_map[r];
      const NodeId at = from == head ? head : node_map[from];  // heads always match
      above[r] = from;
      const std::vector<NodeId> path = end.valid() ? mesh_.graph.path(at, end) : std::vector<NodeId>{};
      if (path.empty()) continue;
      const double here = chain_cost(from, at, r, end, frame(from, at));
      if (here == kImpossible) continue;
      cost += here;
      above[r] = r;
      for (const NodeId n : path) ++chains_on[n];
      for (NodeId n = r; !kept[n]; n = rig_.graph.parent(n)) kept[n] = 1;
    }
    for (const NodeId r : rig_.graph.below_head())
      if (!kept[r]) cost += weights_.drop * rig_.arc_weight(r);
    for (const NodeId n : mesh_.graph.below_head())
      if (chains_on[n] != 1)
        cost += (chains_on[n] == 0 ? weights_.ignore : weights_.merge) * mesh_.arc_weight(n);
    return cost;
  }

 private:
  /// One chain of a node of the rig, in the mesh.
  struct Choice {
    NodeId target;  // node of the rig at which the chain ends
    NodeId node;    // node of the mesh that it is mapped to
  };

  /// What solve() knows of a node of the mesh at or below the one it is called for. Sets of chains are bit
  /// masks.
  struct Subproblem {
    std::vector<double> cost;         // per set: least cost of its chains on the node's arc and below
    std::vector<std::size_t> shared;  // per set and child of the node: the chains that go on there
    std::vector<Choice> single;       // per chain: where it ends when it ends here alone
  };
  using Subproblems = PerNode<Subproblem>;

  /// The rotation from the rig's space at one of its nodes to the mesh's.
  Mat3d frame(NodeId r, NodeId m) const {
    const Vec3d &from = rig_.limb_direction[r], &to = mesh_.limb_direction[m];
    if (from.isZero() || to.isZero()) return mesh_from_rig_;
    return shortest_turn(mesh_from_rig_ * from, to).toRotationMatrix() * mesh_from_rig_;
  }

  /// A chain from r to its descendant d on the limb from m to its descendant n.
  double chain_cost(NodeId r, NodeId m, NodeId d, NodeId n, const Mat3d& rotation) const {
    const double rig_length = rig_.distance[d] - rig_.distance[r],
                 mesh_length = mesh_.distance[n] - mesh_.distance[m];
    if (!(mesh_length > 0)) return kImpossible;
    const double ratio = std::abs(std::log(std::max(rig_length, kMinLength) / mesh_length));
    const Vec3d a = rotation * (rig_.graph.nodes[d].position - rig_.graph.nodes[r].position);
    const Vec3d b = mesh_.graph.nodes[n].position - mesh_.graph.nodes[m].position;
    const double angle = std::atan2(a.cross(b).norm(), a.dot(b));
    const Vec3d tip = rotation * rig_.tip_direction[d];
    const Vec3d& mesh_tip = mesh_.tip_direction[n];
    const double tip_angle = std::atan2(tip.cross(mesh_tip).norm(), tip.dot(mesh_tip));
    return length_weight(rig_length) *
           (weights_.length * ratio + weights_.direction * angle + weights_.tip * tip_angle);
  }

  /// Where the chains that leave r lead, the heaviest first; `dropped` receives the cost of those that are
  /// too many.
  std::vector<NodeId> heaviest_children(NodeId r, double& dropped) const {
    std::vector<NodeId> children;
    for (const ArcId arc : rig_.graph.nodes[r].child_arcs) children.push_back(rig_.graph.arcs[arc].to);
    std::stable_sort(children.begin(), children.end(),
                     [&](NodeId a, NodeId b) { return rig_.branch_weight(a) > rig_.branch_weight(b); });
    dropped = 0;
    while (children.size() > weights_.max_chains) {
      dropped += weights_.drop * rig_.branch_weight(children.back());
      children.pop_back();
    }
    return children;
  }

  /// The least cost of everything below r and m; `choices`, when given, receives what makes it.
  double solve(NodeId r, NodeId m, std::vector<Choice>* choices) const {
    double dropped = 0;
    const std::vector<NodeId> chains = heaviest_children(r, dropped);
    const std::size_t masks = std::size_t{1} << chains.size();
    const Mat3d rotation = frame(r, m);
    // Nodes of the mesh at and below m, parents first; they are solved from the last to m.
    std::vector<NodeId> below{m};
    for (std::size_t k = 0; k < below.size(); ++k)
      for (const ArcId arc : mesh_.graph.nodes[below[k]].child_arcs)
        below.push_back(mesh_.graph.arcs[arc].to);
    Subproblems solved(mesh_.graph.nodes.size());
    for (std::size_t k = below.size(); k-- > 1;) {
      const NodeId n = below[k];
      Subproblem& here = solved[n];
      const std::vector<double> sum = share_out(n, masks, solved);
      here.cost.assign(masks, kImpossible);
      here.single.resize(chains.size());
      const double weight = mesh_.arc_weight(n);
      here.cost[0] = weights_.ignore * (weight + mesh_.weight_below[n]);
      for (std::size_t mask = 1; mask < masks; ++mask) {
        const bool several = (mask & (mask - 1)) != 0;
        here.cost[mask] = sum[mask] + (several ? weights_.merge * weight : 0);
        if (several) continue;
        const auto i = to_size(std::countr_zero(mask));
        double cost = kImpossible;
        const NodeId target = best_target(r, m, chains[i], n, rotation, cost);
        if (target.valid() && cost <= here.cost[mask]) {
          here.cost[mask] = cost;
          here.single[i] = {target, n};
        }
      }
    }
    const std::vector<double> sum = share_out(m, masks, solved);
    double least = kImpossible;
    std::size_t kept = 0;
    for (std::size_t mask = 0; mask < masks; ++mask) {
      double total = sum[mask];
      for (std::size_t i = 0; i < chains.size(); ++i)
        if ((mask >> i & 1) == 0) total += weights_.drop * rig_.branch_weight(chains[i]);
      if (total < least) {
        least = total;
        kept = mask;
      }
    }
    if (choices != nullptr) collect(m, kept, solved, *choices);
    return least + dropped;
  }

  /// Per set of chains, the least cost of sharing it out among the children of a mesh's node, whose
  /// subproblems are solved. Fills the node's `shared`.
  std::vector<double> share_out(NodeId n, std::size_t masks, Subproblems& solved) const {
    const std::vector<ArcId>& children = mesh_.graph.nodes[n].child_arcs;
    std::vector<std::size_t>& shared = solved[n].shared;
    std::vector<double> sum(masks, kImpossible);
    sum[0] = 0;
    shared.assign(masks * children.size(), 0);
    for (std::size_t c = 0; c < children.size(); ++c) {
      const std::vector<double>& child = solved[mesh_.graph.arcs[children[c]].to].cost;
      std::vector<double> next(masks, kImpossible);
      for (std::size_t mask = 0; mask < masks; ++mask)
        for (std::size_t part = mask;; part = (part - 1) & mask) {
          const double total = child[part] + sum[mask ^ part];
          if (total < next[mask]) {
            next[mask] = total;
            shared[mask * children.size() + c] = part;
          }
          if (part == 0) break;
        }
      sum = std::move(next);
    }
    return sum;
  }

  /// The best node of the rig, at or below `chain_end`, to match with the mesh's node n. What branches off on
  /// the way there is dropped. `cost` receives the least cost.
  NodeId best_target(NodeId r, NodeId m, NodeId chain_end, NodeId n, const Mat3d& rotation,
                     double& cost) const {
    NodeId best;
    cost = kImpossible;
    std::vector<std::pair<NodeId, double>> open{{chain_end, 0.0}};
    while (!open.empty()) {
      const auto [d, skipped] = open.back();
      open.pop_back();
      const double total = chain_cost(r, m, d, n, rotation) + weights_.drop * skipped + cost_[d][n];
      if (total < cost) {
        cost = total;
        best = d;
      }
      for (const ArcId next : rig_.graph.nodes[d].child_arcs) {
        const NodeId to = rig_.graph.arcs[next].to;
        const double others = rig_.weight_below[d] - rig_.weight_below[to] - rig_.arc_weight(to);
        if (weights_.drop * (skipped + others) < cost) open.push_back({to, skipped + std::max(0.0, others)});
      }
    }
    return best;
  }

  /// The choices that make the cost of a set of chains below a mesh's node.
  void collect(NodeId n, std::size_t mask, const Subproblems& solved, std::vector<Choice>& choices) const {
    const std::vector<ArcId>& children = mesh_.graph.nodes[n].child_arcs;
    for (std::size_t c = children.size(); c-- > 0;) {
      const std::size_t part = solved[n].shared[mask * children.size() + c];
      mask ^= part;
      if (part == 0) continue;
      const NodeId child = mesh_.graph.arcs[children[c]].to;
      const Choice& single = solved[child].single[to_size(std::countr_zero(part))];
      if ((part & (part - 1)) == 0 && single.target.valid())
        choices.push_back(single);
      else
        collect(child, part, solved, choices);
    }
  }

  void backtrack(NodeId r, NodeId m, NodeMap& node_map) const {
    node_map[r] = m;
    std::vector<Choice> choices;
    solve(r, m, &choices);
    for (const Choice& choice : choices) backtrack(choice.target, choice.node, node_map);
  }

  MeasuredTree rig_, mesh_;
  Mat3d mesh_from_rig_;
  AlignmentWeights weights_;
  PerNode<PerNode<double>> cost_;  // of everything below a node of the rig and one of the mesh
};

}  // namespace

Alignment align_limbs(const LimbGraph& rig, const LimbGraph& mesh, const Mat3d& mesh_from_rig,
                      const AlignmentWeights& weights) {
  return LimbAligner(rig, mesh, mesh_from_rig, weights).run();
}

double alignment_cost(const LimbGraph& rig, const LimbGraph& mesh, const Mat3d& mesh_from_rig,
                      const NodeMap& node_map, const AlignmentWeights& weights) {
  return LimbAligner(rig, mesh, mesh_from_rig, weights).cost_of(node_map);
}

}  // namespace sinew
