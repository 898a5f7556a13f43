#include <sinew/fitting/fit_rig.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/fitting/body_surface.h>
#include <sinew/fitting/bone_rolls.h>
#include <sinew/fitting/controller_links.h>
#include <sinew/fitting/controller_motion.h>
#include <sinew/fitting/rig_bones.h>
#include <sinew/fitting/rig_orientation.h>
#include <sinew/fitting/similarity.h>
#include <sinew/fitting/symmetrise.h>
#include <sinew/geometry/oriented_surface.h>
#include <sinew/geometry/segment.h>

namespace sinew {

namespace {

/// By hand, on the built-in characters and template rigs.
struct FitParams {
  // When a match is refused.
  /// OrientationHypothesis::difference, which does not depend on the pose: plausible matches have 0.4 to 1.5,
  /// a biped in a cat and a cat in a man 1.8 and 1.9.
  double max_difference = 1.62;
  double max_dropped = 0.45;  ///< share of the rig, by length

  // When forks of the rig that are near to each other are tried as one, as legs that leave a trunk one close
  // after the other.
  double large_limb = 0.2;       ///< a missing limb longer than this share of the longest path, or …
  double doubtful_score = 1.6;   ///< … a worse score …
  double far_forks = 0.22;       ///< … is reason to merge forks within this share of the longest path;
  double good_difference = 1.2;  ///< the result is used if its difference is below this …
  double better = 0.8;           ///< … and better by this factor

  // Which bones without a limb of their own are carried along.
  double min_inside = 0.6;  ///< share of their ends that must be in the flesh
  double on_skin = 1.3;     ///< times the skin's distance from the carrying bone that still counts as in it

  // Bones that end beside a chain.
  std::size_t max_landmarks = 8;         ///< known points round them that move them, …
  std::size_t max_points_searched = 24;  ///< … among so many
};
constexpr FitParams kFitParams;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class RigFitter {
 public:
  RigFitter(const MeshView& mesh, const ControlRig& rig, const FitOptions& options)
      : mesh_(mesh), rig_(rig), options_(options) {}

  FittedRig run(FitReport& report) {
    const auto start = std::chrono::steady_clock::now();
    body_ = body_surface(mesh_);
    report.components = body_.components;
    report.wrapped = body_.wrapped;
    size_ = mesh_size(body_.view());
    const BoneId head_bone = find_head_bone(rig_, options_.head_bone);
    report.head_bone = bone_at(rig_, head_bone).name;
    MeshGraphs meshes(body_.view(), options_.graph);
    const OrientationHypothesis match = find_match(head_bone, meshes);
    const LimbGraph& limbs = meshes.graph(match.head);
    reject_implausible(match, limbs);
    report.graph_seconds = meshes.seconds();
    report.matching_seconds = seconds_since(start) - report.graph_seconds;

    const auto placing = std::chrono::steady_clock::now();
    LimbPlacement placement =
        place_limbs(graph_, limbs, match.alignment.node_map, match.mesh_from_rig, options_.placement);
    const OrientedSurface flesh(body_.view());
    place_tails(placement, match.mesh_from_rig);
    if (options_.symmetric) report.mirror = symmetrise(placement, flesh);
    fill_report(match, limbs, placement, report);
    report.placement_seconds = seconds_since(placing);

    const auto moving = std::chrono::steady_clock::now();
    FittedRig fitted = move_bones(placement, flesh, report);
    report.controllers_seconds = seconds_since(moving);
    return fitted;
  }

 private:
  /// Sets graph_, too.
  OrientationHypothesis find_match(BoneId head_bone, MeshGraphs& meshes) {
    graph_ = rig_graph(rig_, head_bone);
    if (graph_.graph.arcs.empty())
      throw Error(fmt::format("rig '{}': its deforming bones have no length", rig_.name));
    OrientationHypothesis match = find_orientation(rig_, graph_, meshes, options_.head_point);
    if (!(dropped_share(graph_.graph, match.alignment.node_map, kFitParams.large_limb) > 0) &&
        !(match.score > kFitParams.doubtful_score))
      return match;
    // Legs that leave the trunk one close after the other may do so in another order than in the rig.
    RigGraph merged = rig_graph(rig_, head_bone, {kFitParams.far_forks});
    OrientationHypothesis other = find_orientation(rig_, merged, meshes, options_.head_point);
    if (other.difference < std::min(kFitParams.better * match.difference, kFitParams.good_difference)) {
      graph_ = std::move(merged);
      match = std::move(other);
    }
    return match;
  }

  /// Names the bones of the chain that ends at a node of the rig.
  std::string chain_name(NodeId node) const {
    const std::vector<PointId>& chain = graph_.chains[graph_.graph.nodes[node].parent_arc];
    std::string first, last;
    for (std::size_t k = 0; k + 1 < chain.size(); ++k)
      for (const BoneId b : bone_ids(rig_)) {
        const PointId head = graph_.head_point[b], tail = graph_.tail_point[b];
        if ((head == chain[k] && tail == chain[k + 1]) || (tail == chain[k] && head == chain[k + 1])) {
          last = bone_at(rig_, b).name;
          if (first.empty()) first = last;
        }
      }
    if (first.empty()) return "a gap between two bones";
    return first == last ? fmt::format("'{}'", first) : fmt::format("'{}' to '{}'", first, last);
  }

  void reject_implausible(const OrientationHypothesis& match, const LimbGraph& limbs) const {
    NodeId worst;
    const double dropped = dropped_share(graph_.graph, match.alignment.node_map, kSmallLimb, &worst);
    std::size_t ends = 0;
    for (const NodeId n : limbs.below_head()) ends += limbs.is_leaf(n);
    const char* hint =
        "; is this the rig for this character? The mesh's head can be named with a point, the rig's with a "
        "bone";
    if (dropped > kFitParams.max_dropped && worst > LimbGraph::kHead)
      throw Error(fmt::format(
          "rig '{}': no limb of the mesh fits the bones {} ({} ends of limbs found, {:.0f} % of the "
          "rig left over){}",
          rig_.name, chain_name(worst), ends, 100 * dropped, hint));
    if (match.difference <= kFitParams.max_difference) return;
    if (const NodeId chain = worst_chain(match.alignment.node_map, limbs); chain.valid()) worst = chain;
    throw Error(
        fmt::format("rig '{}': its limbs and the mesh's differ too much, most of all at the bones {} "
                    "(score {:.2f}, at most {:.2f} is sane){}",
                    rig_.name, worst > LimbGraph::kHead ? chain_name(worst) : "of the head", match.difference,
                    kFitParams.max_difference, hint));
  }

  /// The end of the chain whose length fits worst; kNone when all fit.
  NodeId worst_chain(const NodeMap& node_map, const LimbGraph& limbs) const {
    const PerNode<double> rig_distances = distances_from_head(graph_.graph),
                          mesh_distances = distances_from_head(limbs);
    double most = 0;
    NodeId worst;
    for (const NodeId n : graph_.graph.below_head()) {
      const NodeId from = graph_.graph.parent(n);
      const NodeId a = node_map[from], b = node_map[n];
      if (!a.valid() || !b.valid()) continue;
      const double ratio = std::abs(std::log((mesh_distances[b] - mesh_distances[a]) /
                                             std::max(1e-12, rig_distances[n] - rig_distances[from]) *
                                             rig_size(graph_) / size_));
      if (ratio > most) {
        most = ratio;
        worst = n;
      }
    }
    return worst;
  }

  void fill_report(const OrientationHypothesis& match, const LimbGraph& limbs, const LimbPlacement& placement,
                   FitReport& report) const {
    report.head = body_.positions[match.head].cast<double>();
    report.head_guessed = !options_.head_point;
    report.mesh_from_rig = match.mesh_from_rig;
    report.cost = match.alignment.cost;
    report.score = match.score;
    report.by_descriptors = match.by_descriptors;
    report.limbs = placement.limbs.size();
    report.mesh_graph = limbs;
    report.scale = mesh_per_rig();
    PerNode<char> used(limbs.nodes.size(), 0);
    for (const NodeId m : match.alignment.node_map)
      for (NodeId n = m; n.valid() && !used[n]; n = limbs.parent(n)) used[n] = 1;
    for (const NodeId n : limbs.below_head()) report.ignored_limbs += limbs.is_leaf(n) && !used[n];
  }

  double mesh_per_rig() const { return size_ / std::max(rig_size(graph_), 1e-12); }

  /// Bones that end beside a chain, such as a wrist's in the palm: their tails move with the points round
  /// them.
  void place_tails(LimbPlacement& placement, const Mat3d& mesh_from_rig) const {
    const PerPoint<char> known = placement.placed;
    for (const BoneId b : bone_ids(rig_)) {
      const PointId head = graph_.head_point[b], tail = graph_.tail_point[b];
      if (!head.valid() || !known[head] || placement.placed[tail]) continue;
      std::vector<Vec3d> from, to;
      std::vector<PointId> reached{head};
      PerPoint<char> seen(graph_.points.size(), 0);
      seen[head] = 1;
      for (std::size_t k = 0; k < reached.size() && reached.size() < kFitParams.max_points_searched; ++k) {
        const PointId p = reached[k];
        if (known[p]) {
          from.push_back(graph_.points[p]);
          to.push_back(placement.points[p]);
          if (from.size() >= kFitParams.max_landmarks) break;
        }
        for (const PointId next : graph_.neighbours[p])
          if (!seen[next]) {
            seen[next] = 1;
            reached.push_back(next);
          }
      }
      placement.points[tail] = warped(from, to, graph_.points[tail], mesh_from_rig, mesh_per_rig());
      placement.placed[tail] = 1;
    }
  }

  std::optional<MirrorPlane> symmetrise(LimbPlacement& placement, const OrientedSurface& flesh) const {
    std::vector<SymmetricPoints> pairs;
    const PerBone<BoneId> partner = mirror_bones(rig_);
    PerPoint<char> taken(graph_.points.size(), 0);
    for (const BoneId b : bone_ids(rig_)) {
      const BoneId other = partner[b];
      if (!other.valid() || !graph_.head_point[b].valid() || !graph_.head_point[other].valid()) continue;
      for (const auto& [left, right] : {std::pair{graph_.head_point[b], graph_.head_point[other]},
                                        std::pair{graph_.tail_point[b], graph_.tail_point[other]}}) {
        if (taken[left] || taken[right] || !placement.placed[left] || !placement.placed[right]) continue;
        taken[left] = taken[right] = 1;
        // Which is which does not matter: the plane has no sides.
        pairs.push_back({left, right});
      }
    }
    return make_symmetric(body_.view(), flesh.query(), pairs, placement.points);
  }

  FittedRig move_bones(const LimbPlacement& placement, const OrientedSurface& flesh,
                       FitReport& report) const {
    const std::size_t count = rig_.bones.size();
    FittedRig fitted{rig_, PerBone<BoneFate>(count, BoneFate::carried)};
    PerBone<char> placed(count, 0);
    for (const BoneId b : bone_ids(rig_)) {
      const PointId head = graph_.head_point[b], tail = graph_.tail_point[b];
      if (!head.valid() || !placement.placed[head] || !placement.placed[tail]) continue;
      placed[b] = 1;
      fitted.fate[b] = BoneFate::placed;
      bone_at(fitted.rig, b).head = placement.points[head];
      bone_at(fitted.rig, b).tail = placement.points[tail];
    }
    transfer_rolls(rig_, placed, fitted.rig);
    const PerBone<ControllerLink> links = link_controllers(rig_);
    drop_bones_outside(placed, links, flesh, fitted, report);
    move_controllers(rig_, links, fitted);
    return fitted;
  }

  /// Small limbs that the mesh's graph does not show, such as a jaw, are carried along where that puts them
  /// in the flesh; a finger that the mesh does not have would hang in the air and is dropped.
  void drop_bones_outside(const PerBone<char>& placed, const PerBone<ControllerLink>& links,
                          const OrientedSurface& flesh, FittedRig& fitted, FitReport& report) const {
    const PerBone<BoneId> parents = deforming_parents(rig_);
    FittedRig tried = fitted;
    move_controllers(rig_, links, tried);
    PerBone<std::vector<BoneId>> branches(rig_.bones.size());  // bones without a limb, by the topmost of them
    PerBone<BoneId> topmost(rig_.bones.size());
    for (const BoneId b : bones_parents_first(rig_)) {
      if (!bone_at(rig_, b).deforms || placed[b]) continue;
      const BoneId parent = parents[b];
      topmost[b] = parent.valid() && topmost[parent].valid() ? topmost[parent] : b;
      branches[topmost[b]].push_back(b);
    }
    for (const BoneId top : branches.ids()) {
      const std::vector<BoneId>& branch = branches[top];
      if (branch.empty()) continue;
      BoneId carrier = parents[top];
      while (carrier.valid() && !placed[carrier]) carrier = parents[carrier];
      std::size_t inside = 0;
      for (const BoneId b : branch) {
        inside += lies_in_flesh(tried.rig, carrier, bone_at(tried.rig, b).head, flesh);
        inside += lies_in_flesh(tried.rig, carrier, bone_at(tried.rig, b).tail, flesh);
      }
      const bool in_flesh =
          graph_.is_face_bone[top] ||
          static_cast<double>(inside) >= kFitParams.min_inside * 2 * static_cast<double>(branch.size());
      for (const BoneId b : branch) {
        fitted.fate[b] = in_flesh ? BoneFate::carried : BoneFate::dropped;
        (in_flesh ? report.carried : report.dropped).push_back(bone_at(rig_, b).name);
      }
    }
  }

  /// Whether a point is hardly farther from the placed bone that carries it than the skin is there: a face's
  /// bones are in and on the head, a finger's beyond the palm.
  static bool lies_in_flesh(const ControlRig& fitted, BoneId carrier, const Vec3d& p,
                            const OrientedSurface& flesh) {
    if (!carrier.valid()) return flesh.contains(p);
    const RigBone& bone = bone_at(fitted, carrier);
    const Vec3d from = nearest_on_segment(bone.head, bone.tail, p);
    const Vec3d offset = p - from;
    return offset.norm() < 1e-12 ||
           offset.norm() <= kFitParams.on_skin * flesh.reach(from, offset.normalized());
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
  return RigFitter(mesh, rig, options).run(report != nullptr ? *report : own);
}

}  // namespace sinew
