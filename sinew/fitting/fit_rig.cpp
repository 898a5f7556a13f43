#include <sinew/fitting/fit_rig.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/fitting/body_surface.h>
#include <sinew/fitting/bone_rolls.h>
#include <sinew/fitting/controllers.h>
#include <sinew/fitting/rig_orientation.h>
#include <sinew/fitting/similarity.h>
#include <sinew/fitting/symmetrise.h>
#include <sinew/geometry/oriented_surface.h>
#include <sinew/geometry/segment.h>

namespace sinew {

namespace {

// Differences, scores without what the pose does to them, above this mean that there is no sane match: those
// of sane ones are 0.4 to 1.5, of a biped in a cat and a cat in a man 1.8 and 1.9.
constexpr double kWorstDifference = 1.62;
// Where a limb longer than the first share of the longest way is missing, or the score is above the second,
// forks of the rig as near to each other as the third are tried as one, and taken so if the difference is
// below the fourth and better by the last factor.
constexpr double kLargeLimb = 0.2, kDoubtful = 1.6, kFarForks = 0.22, kGoodDifference = 1.2, kBetter = 0.8;
// Chains that make up more than this share of the rig may not be dropped.
constexpr double kMostDropped = 0.45;
// Of the points of a limb that is not in the mesh, this share must lie in flesh for it to be carried along.
constexpr double kInFlesh = 0.6;
// A point counts as in flesh up to this many times as far from its bone as the skin is.
constexpr double kOnSkin = 1.3;

std::size_t u(int i) {
  return static_cast<std::size_t>(i);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class Fitter {
 public:
  Fitter(const MeshView& mesh, const ControlRig& rig, const FitOptions& options)
      : mesh_(mesh), rig_(rig), options_(options) {}

  FittedRig run(FitReport& report) {
    const auto start = std::chrono::steady_clock::now();
    body_ = body_surface(mesh_);
    report.components = body_.components;
    report.wrapped = body_.wrapped;
    const int head_bone = find_head_bone(rig_, options_.head_bone);
    graph_ = rig_graph(rig_, head_bone);
    if (graph_.graph.arcs.empty())
      throw Error(fmt::format("rig '{}': its deforming bones have no length", rig_.name));
    report.head_bone = rig_.bones[u(head_bone)].name;
    size_ = mesh_size(body_.view());
    MeshGraphs meshes(body_.view(), options_.graph);
    OrientationHypothesis hypothesis = find_orientation(rig_, graph_, meshes, options_.head_point);
    if (dropped_share(graph_.graph, hypothesis.alignment.image, kLargeLimb) > 0 ||
        hypothesis.score > kDoubtful) {
      // Legs that part from the trunk one close after the other may do so in another order than in the rig.
      RigGraph merged = rig_graph(rig_, head_bone, kFarForks);
      OrientationHypothesis other = find_orientation(rig_, merged, meshes, options_.head_point);
      if (other.difference < std::min(kBetter * hypothesis.difference, kGoodDifference)) {
        graph_ = std::move(merged);
        hypothesis = std::move(other);
      }
    }
    const LimbGraph& limbs = meshes.graph(hypothesis.head);
    refuse_insane(hypothesis, limbs);
    report.graph_seconds = meshes.seconds();
    report.matching_seconds = seconds_since(start) - report.graph_seconds;

    const auto placing = std::chrono::steady_clock::now();
    LimbPlacement placement =
        place_limbs(graph_, limbs, hypothesis.alignment.image, hypothesis.mesh_from_rig, options_.placement);
    const OrientedSurface flesh(body_.view());
    place_tails(placement, hypothesis.mesh_from_rig);
    if (options_.symmetric) report.mirror = symmetrise(placement, flesh);
    report.head = body_.positions[hypothesis.head].cast<double>();
    report.head_guessed = !options_.head_point;
    report.mesh_from_rig = hypothesis.mesh_from_rig;
    report.cost = hypothesis.alignment.cost;
    report.score = hypothesis.score;
    report.by_descriptors = hypothesis.by_descriptors;
    report.limbs = placement.limbs.size();
    report.mesh_graph = limbs;
    report.scale = size_ / std::max(rig_size(graph_), 1e-12);
    count_ignored(limbs, hypothesis, report);
    report.placement_seconds = seconds_since(placing);

    const auto carrying = std::chrono::steady_clock::now();
    FittedRig fitted = carry(placement, flesh, report);
    report.controllers_seconds = seconds_since(carrying);
    return fitted;
  }

 private:
  /// Names the bones of a chain of the rig.
  std::string chain_name(int node) const {
    const std::vector<int>& chain = graph_.chains[u(graph_.graph.node(node).arc)];
    std::string first, last;
    for (std::size_t k = 0; k + 1 < chain.size(); ++k)
      for (std::size_t b = 0; b < rig_.bones.size(); ++b) {
        const int head = graph_.head_point[b], tail = graph_.tail_point[b];
        if ((head == chain[k] && tail == chain[k + 1]) || (tail == chain[k] && head == chain[k + 1])) {
          if (first.empty()) first = rig_.bones[b].name;
          last = rig_.bones[b].name;
        }
      }
    if (first.empty()) return "a gap between two bones";
    return first == last ? fmt::format("'{}'", first) : fmt::format("'{}' to '{}'", first, last);
  }

  void refuse_insane(const OrientationHypothesis& hypothesis, const LimbGraph& limbs) const {
    const std::vector<double> way = distances_from_head(graph_.graph);
    int worst = -1;
    const double dropped = dropped_share(graph_.graph, hypothesis.alignment.image, kSmallLimb, &worst);
    std::size_t ends = 0;
    for (std::size_t n = 1; n < limbs.nodes.size(); ++n) ends += limbs.nodes[n].arcs.empty();
    const char* hint =
        "; is this the rig for this character? The mesh's head can be named with a point, the rig's with a "
        "bone";
    if (dropped > kMostDropped && worst > 0)
      throw Error(fmt::format(
          "rig '{}': no limb of the mesh fits the bones {} ({} ends of limbs found, {:.0f} % of the "
          "rig left over){}",
          rig_.name, chain_name(worst), ends, 100 * dropped, hint));
    if (hypothesis.difference > kWorstDifference) {
      // The chain that fits worst.
      const std::vector<double> mesh_way = distances_from_head(limbs);
      double most = 0;
      for (int n = 1; n < static_cast<int>(graph_.graph.nodes.size()); ++n) {
        const int from = graph_.graph.arc(graph_.graph.node(n).arc).from;
        const int a = hypothesis.alignment.image[u(from)], b = hypothesis.alignment.image[u(n)];
        if (a < 0 || b < 0) continue;
        const double ratio =
            std::abs(std::log((mesh_way[u(b)] - mesh_way[u(a)]) / std::max(1e-12, way[u(n)] - way[u(from)]) *
                              rig_size(graph_) / size_));
        if (ratio > most) {
          most = ratio;
          worst = n;
        }
      }
      throw Error(
          fmt::format("rig '{}': its limbs and the mesh's differ too much, most of all at the bones {} "
                      "(score {:.2f}, at most {:.2f} is sane){}",
                      rig_.name, worst > 0 ? chain_name(worst) : "of the head", hypothesis.difference,
                      kWorstDifference, hint));
    }
  }

  void count_ignored(const LimbGraph& limbs, const OrientationHypothesis& hypothesis,
                     FitReport& report) const {
    std::vector<char> used(limbs.nodes.size(), 0);
    for (const int m : hypothesis.alignment.image)
      for (int n = m; n >= 0 && !used[u(n)];
           n = limbs.node(n).arc >= 0 ? limbs.arc(limbs.node(n).arc).from : -1)
        used[u(n)] = 1;
    for (std::size_t n = 1; n < limbs.nodes.size(); ++n)
      report.ignored_limbs += limbs.nodes[n].arcs.empty() && !used[n];
  }

  /// Bones that end beside a chain, such as a wrist's in the palm: their tails go with the joints round them.
  void place_tails(LimbPlacement& placement, const Mat3d& turn) const {
    const std::vector<char> known = placement.placed;
    for (std::size_t b = 0; b < rig_.bones.size(); ++b) {
      const int head = graph_.head_point[b], tail = graph_.tail_point[b];
      if (head < 0 || !known[u(head)] || placement.placed[u(tail)]) continue;
      std::vector<Vec3d> from, to;
      std::vector<int> reached{head};
      std::vector<char> seen(graph_.points.size(), 0);
      seen[u(head)] = 1;
      for (std::size_t k = 0; k < reached.size() && reached.size() < 24; ++k) {
        const int p = reached[k];
        if (known[u(p)]) {
          from.push_back(graph_.points[u(p)]);
          to.push_back(placement.points[u(p)]);
          if (from.size() >= 8) break;
        }
        for (const int next : graph_.neighbours[u(p)])
          if (!seen[u(next)]) {
            seen[u(next)] = 1;
            reached.push_back(next);
          }
      }
      placement.points[u(tail)] =
          carried(from, to, graph_.points[u(tail)], turn, size_ / std::max(rig_size(graph_), 1e-12));
      placement.placed[u(tail)] = 1;
    }
  }

  std::optional<MirrorPlane> symmetrise(LimbPlacement& placement, const OrientedSurface& flesh) const {
    std::vector<SymmetricPoints> pairs;
    const std::vector<int> partner = partner_bones(rig_);
    std::vector<char> taken(graph_.points.size(), 0);
    for (std::size_t b = 0; b < rig_.bones.size(); ++b) {
      const int other = partner[b];
      if (other < 0 || graph_.head_point[b] < 0 || graph_.head_point[u(other)] < 0) continue;
      for (const auto& [left, right] : {std::pair{graph_.head_point[b], graph_.head_point[u(other)]},
                                        std::pair{graph_.tail_point[b], graph_.tail_point[u(other)]}}) {
        if (taken[u(left)] || taken[u(right)] || !placement.placed[u(left)] || !placement.placed[u(right)])
          continue;
        taken[u(left)] = taken[u(right)] = 1;
        // Which is which does not matter: the plane has no sides.
        pairs.push_back({left, right});
      }
    }
    return make_symmetric(body_.view(), flesh.query(), pairs, placement.points);
  }

  FittedRig carry(const LimbPlacement& placement, const OrientedSurface& flesh, FitReport& report) const {
    const std::size_t count = rig_.bones.size();
    FittedRig fitted{rig_, std::vector<BoneFate>(count, BoneFate::carried)};
    std::vector<char> placed(count, 0);
    for (std::size_t b = 0; b < count; ++b) {
      const int head = graph_.head_point[b], tail = graph_.tail_point[b];
      if (head < 0 || !placement.placed[u(head)] || !placement.placed[u(tail)]) continue;
      placed[b] = 1;
      fitted.fate[b] = BoneFate::placed;
      fitted.rig.bones[b].head = placement.points[u(head)];
      fitted.rig.bones[b].tail = placement.points[u(tail)];
    }
    transfer_rolls(rig_, placed, fitted.rig);
    const std::vector<ControllerLink> links = link_controllers(rig_);
    // Small limbs that the mesh's graph does not show, such as a jaw, go along where they then lie in flesh;
    // a finger that the mesh does not have would hang in the air.
    const std::vector<int> parents = deform_parents(rig_);
    FittedRig tried = fitted;
    carry_controllers(rig_, links, tried);
    std::vector<std::vector<std::size_t>> loose(count);  // bones without a limb, by the first of them
    std::vector<int> first(count, -1);
    for (const int b : parents_first(rig_)) {
      if (!rig_.bones[u(b)].deforms || placed[u(b)]) continue;
      const int parent = parents[u(b)];
      first[u(b)] = parent >= 0 && first[u(parent)] >= 0 ? first[u(parent)] : b;
      loose[u(first[u(b)])].push_back(u(b));
    }
    for (const std::vector<std::size_t>& bones : loose) {
      if (bones.empty()) continue;
      std::size_t inside = 0;
      for (const std::size_t b : bones) {
        inside += lies_in_flesh(tried.rig, bones[0], parents, placed, tried.rig.bones[b].head, flesh);
        inside += lies_in_flesh(tried.rig, bones[0], parents, placed, tried.rig.bones[b].tail, flesh);
      }
      const bool in_flesh = graph_.face[bones[0]] ||
                            static_cast<double>(inside) >= kInFlesh * 2 * static_cast<double>(bones.size());
      for (const std::size_t b : bones) {
        fitted.fate[b] = in_flesh ? BoneFate::carried : BoneFate::dropped;
        (in_flesh ? report.carried : report.dropped).push_back(rig_.bones[b].name);
      }
    }
    carry_controllers(rig_, links, fitted);
    return fitted;
  }

  /// Whether a point is hardly farther from the placed bone that carries it than the skin is there: a face's
  /// bones are in and on the head, a finger's beyond the palm.
  static bool lies_in_flesh(const ControlRig& fitted, std::size_t bone, const std::vector<int>& parents,
                            const std::vector<char>& placed, const Vec3d& p, const OrientedSurface& flesh) {
    int above = parents[bone];
    while (above >= 0 && !placed[u(above)]) above = parents[u(above)];
    if (above < 0) return flesh.contains(p);
    const RigBone& carrier = fitted.bones[u(above)];
    const Vec3d from = nearest_on_segment(carrier.head, carrier.tail, p);
    const Vec3d way = p - from;
    return way.norm() < 1e-12 || way.norm() <= kOnSkin * flesh.reach(from, way.normalized());
  }

  MeshView mesh_;
  const ControlRig& rig_;
  const FitOptions& options_;
  BodySurface body_;
  RigGraph graph_;
  double size_ = 1;
};

}  // namespace

FittedRig fit_rig(const MeshView& mesh, const ControlRig& rig, const FitOptions& options, FitReport* report) {
  check_rig(rig, "rig");
  FitReport own;
  return Fitter(mesh, rig, options).run(report != nullptr ? *report : own);
}

}  // namespace sinew
