#include <sinew/fitting/limb_alignment.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <sinew/core/rotation.h>
#include <sinew/fitting/polyline.h>

namespace sinew {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostChains = 8;

std::size_t u(int i) {
  return static_cast<std::size_t>(i);
}

/// Direction in which a limb arrives at a node, over this share of its arc.
Vec3d arrival(const LimbGraph& graph, int node, double share) {
  const int arc = graph.node(node).arc;
  if (arc < 0) return Vec3d::Zero();
  std::vector<Vec3d> points{graph.node(graph.arc(arc).from).position};
  points.insert(points.end(), graph.arc(arc).points.begin(), graph.arc(arc).points.end());
  const Polyline way(std::move(points));
  const Vec3d last = graph.node(node).position - way.at((1 - share) * way.length());
  return last.norm() > 0 ? Vec3d(last.normalized()) : Vec3d(Vec3d::Zero());
}

class Aligner {
 public:
  Aligner(const LimbGraph& rig, const LimbGraph& mesh, const Mat3d& turn, const AlignmentWeights& weights)
      : rig_(rig), mesh_(mesh), turn_(turn), weights_(weights) {
    rig_way_ = distances_from_head(rig);
    mesh_way_ = distances_from_head(mesh);
    const double rig_size = *std::max_element(rig_way_.begin(), rig_way_.end());
    const double mesh_size = *std::max_element(mesh_way_.begin(), mesh_way_.end());
    for (double& way : rig_way_) way /= rig_size > 0 ? rig_size : 1;
    for (double& way : mesh_way_) way /= mesh_size > 0 ? mesh_size : 1;
    rig_burden_ = burden(rig_, rig_way_);
    mesh_burden_ = burden(mesh_, mesh_way_);
    for (std::size_t n = 0; n < rig.nodes.size(); ++n)
      rig_tip_.push_back(arrival(rig, static_cast<int>(n), 0.125));
    for (std::size_t n = 0; n < mesh.nodes.size(); ++n)
      mesh_tip_.push_back(arrival(mesh, static_cast<int>(n), 0.125));
    for (std::size_t n = 0; n < rig.nodes.size(); ++n)
      rig_arrival_.push_back(arrival(rig, static_cast<int>(n), 0.5));
    for (std::size_t n = 0; n < mesh.nodes.size(); ++n)
      mesh_arrival_.push_back(arrival(mesh, static_cast<int>(n), 0.5));
  }

  Alignment run() {
    const std::size_t rigs = rig_.nodes.size(), meshes = mesh_.nodes.size();
    cost_.assign(rigs * meshes, kNever);
    for (int r = static_cast<int>(rigs) - 1; r >= 0; --r)
      for (int m = 0; m < static_cast<int>(meshes); ++m) cost_[u(r) * meshes + u(m)] = solve(r, m, nullptr);
    Alignment alignment;
    alignment.image.assign(rigs, -1);
    alignment.cost = cost_[0];
    choose(0, 0, alignment.image);
    alignment.difference = difference(alignment.image);
    return alignment;
  }

  double difference(const std::vector<int>& image) const {
    double sum = 0, all = 0;
    for (int r = 1; r < static_cast<int>(rig_.nodes.size()); ++r) {
      if (image[u(r)] < 0) continue;
      int above = r;
      do above = rig_.arc(rig_.node(above).arc).from;
      while (above > 0 && image[u(above)] < 0);
      const int m = image[u(above)];
      sum += step(above, m, r, image[u(r)], frame(above, m));
      all += importance(rig_way_[u(r)] - rig_way_[u(above)]);
    }
    return all > 0 ? sum / all : 0;
  }

  double cost_of(const std::vector<int>& image) const {
    double cost = 0;
    std::vector<int> above(rig_.nodes.size(), 0);    // per node of the rig, the nearest above it with a limb
    std::vector<char> kept(rig_.nodes.size(), 0);    // it or something below it has a limb
    std::vector<int> chains(mesh_.nodes.size(), 0);  // per node of the mesh, those on the arc that ends there
    kept[0] = 1;
    for (int r = 1; r < static_cast<int>(rig_.nodes.size()); ++r) {
      const int from = above[u(parent_of(rig_, u(r)))], end = image[u(r)];
      const int at = from == 0 ? 0 : image[u(from)];  // heads always meet
      above[u(r)] = from;
      const std::vector<int> way = end < 0 ? std::vector<int>{} : mesh_.path(at, end);
      if (way.empty()) continue;
      const double here = step(from, at, r, end, frame(from, at));
      if (here == kNever) continue;
      cost += here;
      above[u(r)] = r;
      for (const int n : way) ++chains[u(n)];
      for (int n = r; !kept[u(n)]; n = parent_of(rig_, u(n))) kept[u(n)] = 1;
    }
    for (std::size_t r = 1; r < kept.size(); ++r)
      if (!kept[r]) cost += weights_.drop * importance(rig_way_[r] - rig_way_[u(parent_of(rig_, r))]);
    for (std::size_t n = 1; n < chains.size(); ++n) {
      const double piece = importance(mesh_way_[n] - mesh_way_[u(parent_of(mesh_, n))]);
      if (chains[n] != 1) cost += (chains[n] == 0 ? weights_.ignore : weights_.merge) * piece;
    }
    return cost;
  }

 private:
  struct Choice {
    int chain = -1;   // number of the child arc's place in its node's list
    int target = -1;  // node of the rig
    int node = -1;    // node of the mesh
  };

  static int parent_of(const LimbGraph& graph, std::size_t n) { return graph.arc(graph.nodes[n].arc).from; }
  static double importance(double length) { return std::sqrt(std::max(0.0, length)); }

  /// Per node, all arcs below it.
  static std::vector<double> burden(const LimbGraph& graph, const std::vector<double>& way) {
    std::vector<double> sum(graph.nodes.size(), 0);
    for (std::size_t n = graph.nodes.size(); n-- > 1;) {
      const int above = graph.arc(graph.nodes[n].arc).from;
      sum[u(above)] += sum[n] + importance(way[n] - way[u(above)]);
    }
    return sum;
  }

  /// The turn from the rig's space at one of its nodes to the mesh's.
  Mat3d frame(int r, int m) const {
    const Vec3d &from = rig_arrival_[u(r)], &to = mesh_arrival_[u(m)];
    if (from.isZero() || to.isZero()) return turn_;
    return shortest_turn(turn_ * from, to).toRotationMatrix() * turn_;
  }

  /// A chain from r to its descendant d on the limb from m to its descendant n.
  double step(int r, int m, int d, int n, const Mat3d& turn) const {
    const double rig_length = rig_way_[u(d)] - rig_way_[u(r)],
                 mesh_length = mesh_way_[u(n)] - mesh_way_[u(m)];
    if (!(mesh_length > 0)) return kNever;
    const double ratio = std::abs(std::log(std::max(rig_length, 1e-4) / mesh_length));
    const Vec3d a = turn * (rig_.node(d).position - rig_.node(r).position);
    const Vec3d b = mesh_.node(n).position - mesh_.node(m).position;
    const double angle = std::atan2(a.cross(b).norm(), a.dot(b));
    const Vec3d tip = turn * rig_tip_[u(d)];
    const double tip_angle = std::atan2(tip.cross(mesh_tip_[u(n)]).norm(), tip.dot(mesh_tip_[u(n)]));
    return importance(rig_length) *
           (weights_.length * ratio + weights_.direction * angle + weights_.tip * tip_angle);
  }

  /// Chains that leave r, the heaviest first, at most kMostChains.
  std::vector<int> chains(int r, double& dropped) const {
    std::vector<int> arcs = rig_.node(r).arcs;
    const auto weight = [&](int arc) {
      const int to = rig_.arc(arc).to;
      return rig_burden_[u(to)] + importance(rig_way_[u(to)] - rig_way_[u(r)]);
    };
    std::stable_sort(arcs.begin(), arcs.end(), [&](int a, int b) { return weight(a) > weight(b); });
    dropped = 0;
    while (arcs.size() > kMostChains) {
      dropped += weights_.drop * weight(arcs.back());
      arcs.pop_back();
    }
    return arcs;
  }

  /// The least cost of everything below r and m; `choices`, when given, receives what makes it.
  double solve(int r, int m, std::vector<Choice>* choices) {
    double dropped = 0;
    const std::vector<int> arcs = chains(r, dropped);
    const std::size_t count = arcs.size(), masks = std::size_t{1} << count;
    const Mat3d turn = frame(r, m);
    // Nodes of the mesh below m, parents first; m itself is the last to be solved.
    std::vector<int> below{m};
    for (std::size_t k = 0; k < below.size(); ++k)
      for (const int arc : mesh_.node(below[k]).arcs) below.push_back(mesh_.arc(arc).to);
    // best[k][mask]: the chains of `mask` in what lies at and below below[k], seen from its arc.
    std::vector<std::vector<double>> best(below.size(), std::vector<double>(masks, kNever));
    std::vector<std::vector<Choice>> single(below.size(), std::vector<Choice>(count));
    std::vector<std::vector<std::size_t>> split(below.size());  // mask given to each child, per mask
    std::vector<int> place(mesh_.nodes.size(), -1);
    for (std::size_t k = 0; k < below.size(); ++k) place[u(below[k])] = static_cast<int>(k);
    for (std::size_t k = below.size(); k-- > 0;) {
      const int n = below[k];
      const std::vector<int>& children = mesh_.node(n).arcs;
      // What goes on below n, shared out among its limbs.
      std::vector<double> sum(masks, kNever);
      sum[0] = 0;
      split[k].assign(masks * children.size(), 0);
      for (std::size_t c = 0; c < children.size(); ++c) {
        const std::vector<double>& child = best[u(place[u(mesh_.arc(children[c]).to)])];
        std::vector<double> next(masks, kNever);
        std::vector<std::size_t> given(masks, 0);
        for (std::size_t mask = 0; mask < masks; ++mask)
          for (std::size_t part = mask;; part = (part - 1) & mask) {
            const double total = child[part] + sum[mask ^ part];
            if (total < next[mask]) {
              next[mask] = total;
              given[mask] = part;
            }
            if (part == 0) break;
          }
        sum = next;
        for (std::size_t mask = 0; mask < masks; ++mask) split[k][mask * children.size() + c] = given[mask];
      }
      if (k == 0) {
        // Chains that go nowhere are dropped.
        double least = kNever;
        std::size_t kept = 0;
        for (std::size_t mask = 0; mask < masks; ++mask) {
          double total = sum[mask];
          for (std::size_t i = 0; i < count; ++i)
            if ((mask >> i & 1) == 0) total += weights_.drop * subtree(arcs[i], r);
          if (total < least) {
            least = total;
            kept = mask;
          }
        }
        if (choices != nullptr) unfold(0, kept, below, place, split, single, best, *choices);
        return least + dropped;
      }
      const int above = mesh_.arc(mesh_.node(n).arc).from;
      const double piece = importance(mesh_way_[u(n)] - mesh_way_[u(above)]);
      best[k][0] = weights_.ignore * (piece + mesh_burden_[u(n)]);
      for (std::size_t mask = 1; mask < masks; ++mask) {
        const bool several = (mask & (mask - 1)) != 0;
        best[k][mask] = sum[mask] + (several ? weights_.merge * piece : 0);
        if (several) continue;
        const auto i = static_cast<std::size_t>(std::countr_zero(mask));
        const Choice ends = arrive(r, m, arcs[i], n, turn);
        const double here = ends.target < 0 ? kNever : arrive_cost_;
        single[k][i] = {-1, -1, -1};
        if (here <= best[k][mask]) {
          best[k][mask] = here;
          single[k][i] = {static_cast<int>(i), ends.target, n};
        }
      }
    }
    return kNever;
  }

  double subtree(int arc, int r) const {
    const int to = rig_.arc(arc).to;
    return rig_burden_[u(to)] + importance(rig_way_[u(to)] - rig_way_[u(r)]);
  }

  /// The best node of the rig, at or below the end of `arc`, to lie at the mesh's node n. What parts on the
  /// way there is dropped.
  Choice arrive(int r, int m, int arc, int n, const Mat3d& turn) {
    Choice choice;
    arrive_cost_ = kNever;
    std::vector<std::pair<int, double>> open{{rig_.arc(arc).to, 0.0}};
    while (!open.empty()) {
      const auto [d, skipped] = open.back();
      open.pop_back();
      const double total =
          step(r, m, d, n, turn) + weights_.drop * skipped + cost_[u(d) * mesh_.nodes.size() + u(n)];
      if (total < arrive_cost_) {
        arrive_cost_ = total;
        choice.target = d;
      }
      for (const int next : rig_.node(d).arcs) {
        const int to = rig_.arc(next).to;
        const double others =
            rig_burden_[u(d)] - rig_burden_[u(to)] - importance(rig_way_[u(to)] - rig_way_[u(d)]);
        if (weights_.drop * (skipped + others) < arrive_cost_)
          open.push_back({to, skipped + std::max(0.0, others)});
      }
    }
    return choice;
  }

  void unfold(std::size_t k, std::size_t mask, const std::vector<int>& below, const std::vector<int>& place,
              const std::vector<std::vector<std::size_t>>& split,
              const std::vector<std::vector<Choice>>& single, const std::vector<std::vector<double>>& best,
              std::vector<Choice>& choices) const {
    const std::vector<int>& children = mesh_.node(below[k]).arcs;
    for (std::size_t c = children.size(); c-- > 0;) {
      const std::size_t part = split[k][mask * children.size() + c];
      mask ^= part;
      if (part == 0) continue;
      const auto child = u(place[u(mesh_.arc(children[c]).to)]);
      const auto i = static_cast<std::size_t>(std::countr_zero(part));
      if ((part & (part - 1)) == 0 && single[child][i].target >= 0)
        choices.push_back(single[child][i]);
      else
        unfold(child, part, below, place, split, single, best, choices);
    }
  }

  void choose(int r, int m, std::vector<int>& image) {
    image[u(r)] = m;
    std::vector<Choice> choices;
    solve(r, m, &choices);
    for (const Choice& choice : choices) choose(choice.target, choice.node, image);
  }

  const LimbGraph &rig_, &mesh_;
  Mat3d turn_;
  AlignmentWeights weights_;
  std::vector<double> rig_way_, mesh_way_;        // from the head, over the longest
  std::vector<double> rig_burden_, mesh_burden_;  // importance of all below a node
  std::vector<Vec3d> rig_arrival_, mesh_arrival_, rig_tip_, mesh_tip_;
  std::vector<double> cost_;  // per node of the rig and of the mesh
  double arrive_cost_ = 0;
};

}  // namespace

std::vector<double> distances_from_head(const LimbGraph& graph) {
  std::vector<double> way(graph.nodes.size(), 0);
  for (std::size_t n = 1; n < graph.nodes.size(); ++n)
    way[n] = way[u(graph.arc(graph.nodes[n].arc).from)] + graph.length(graph.nodes[n].arc);
  return way;
}

Alignment align_limbs(const LimbGraph& rig, const LimbGraph& mesh, const Mat3d& mesh_from_rig,
                      const AlignmentWeights& weights) {
  return Aligner(rig, mesh, mesh_from_rig, weights).run();
}

double alignment_cost(const LimbGraph& rig, const LimbGraph& mesh, const Mat3d& mesh_from_rig,
                      const std::vector<int>& image, const AlignmentWeights& weights) {
  return Aligner(rig, mesh, mesh_from_rig, weights).cost_of(image);
}

}  // namespace sinew
