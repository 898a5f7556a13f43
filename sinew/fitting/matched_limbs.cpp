#include <sinew/fitting/matched_limbs.h>

#include <algorithm>
#include <cmath>

#include <sinew/fitting/polyline.h>

namespace sinew {

namespace {

/// A limb behind a fork that keeps this share of the thickness before it may be the trunk. By hand, on the
/// built-in characters.
constexpr double kTrunkThickness = 0.72;

class LimbFinder {
 public:
  LimbFinder(const RigGraph& rig, const LimbGraph& mesh, const NodeMap& node_map)
      : rig_(rig), mesh_(mesh), node_map_(node_map) {}

  MatchedLimbs find() {
    find_scale();
    find_chains();
    for (const LimbId l : result_.limbs.ids()) find_own_sections(l);
    keep_one_trunk_per_fork();
    if (is_hand()) find_scale_by_tips();
    return std::move(result_);
  }

 private:
  /// By the longest path that is matched.
  void find_scale() {
    const PerNode<double> rig_distances = distances_from_head(rig_.graph),
                          mesh_distances = distances_from_head(mesh_);
    double rig_longest = 0, mesh_longest = 0;
    for (const NodeId n : node_map_.ids())
      if (node_map_[n].valid() && rig_distances[n] > rig_longest) {
        rig_longest = rig_distances[n];
        mesh_longest = mesh_distances[node_map_[n]];
      }
    if (rig_longest > 0 && mesh_longest > 0) result_.scale = mesh_longest / rig_longest;
  }

  /// The chains of the rig between matched nodes.
  void find_chains() {
    const LimbGraph& graph = rig_.graph;
    for (const NodeId n : graph.below_head()) {
      if (!node_map_[n].valid()) continue;
      MatchedLimb limb;
      limb.to = n;
      std::vector<std::vector<PointId>> pieces;
      NodeId above = n;
      do {
        pieces.push_back(rig_.chains[graph.nodes[above].parent_arc]);
        above = graph.parent(above);
      } while (above != LimbGraph::kHead && !node_map_[above].valid());
      limb.from = above;
      for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece)
        limb.chain.insert(limb.chain.end(), piece->begin() + (limb.chain.empty() ? 0 : 1), piece->end());
      result_.limbs.push_back(std::move(limb));
    }
  }

  /// The part of the mesh that is the limb's alone: its sections, thickness and direction.
  void find_own_sections(LimbId l) {
    MatchedLimb& limb = result_.limbs[l];
    const std::vector<NodeId> path = mesh_.path(node_map_[limb.from], node_map_[limb.to]);
    std::size_t shared = 0;  // nodes of the path that neighbours pass, too
    for (const LimbId o : result_.limbs.ids()) {
      if (o == l || result_.limbs[o].from != limb.from) continue;
      const std::vector<NodeId> other = mesh_.path(node_map_[limb.from], node_map_[result_.limbs[o].to]);
      std::size_t common = 0;
      while (common < path.size() && common < other.size() && path[common] == other[common]) ++common;
      shared = std::max(shared, std::min(common, path.size() - 1));
    }
    const NodeId fork = shared == 0 ? node_map_[limb.from] : path[shared - 1];
    limb.fork = fork;
    for (std::size_t k = shared; k < path.size(); ++k) {
      const LimbGraph::Arc& arc = mesh_.arcs[mesh_.nodes[path[k]].parent_arc];
      limb.centres.insert(limb.centres.end(), arc.points.begin(), arc.points.end());
      limb.radii.insert(limb.radii.end(), arc.radii.begin(), arc.radii.end());
    }
    const Polyline line(limb.centres);
    const double r0 = limb.radii[0];
    limb.radius =
        limb.radii[line.nearest_index(std::min(r0, kLimbMeasuring.radius_at_share * line.length()))];
    if (!(limb.radius > 0)) limb.radius = r0;
    const double first = std::min(kLimbMeasuring.direction_from * limb.radius,
                                  kLimbMeasuring.direction_from_share * line.length());
    const double last = std::min(kLimbMeasuring.direction_to * limb.radius,
                                 kLimbMeasuring.direction_to_share * line.length());
    const Vec3d direction = line.at(last) - line.at(first);
    limb.direction = direction.norm() > 0 ? Vec3d(direction.normalized()) : Vec3d(Vec3d::UnitY());
    const ArcId arc_before = mesh_.nodes[fork].parent_arc;
    if (arc_before.valid())
      limb.is_trunk = limb.radius >= kTrunkThickness * thickness_at_end(mesh_.arcs[arc_before].radii);
    else
      limb.is_trunk = true;  // the head's only limb
  }

  /// Just before a fork: the last section is already that of the fork.
  static double thickness_at_end(const std::vector<double>& radii) {
    return radii[radii.size() >= 2 ? radii.size() - 2 : 0];
  }

  /// Of a fork's limbs only one is the trunk: the longest of those thick enough.
  void keep_one_trunk_per_fork() {
    for (const LimbId l : result_.limbs.ids())
      for (const LimbId o : result_.limbs.ids()) {
        MatchedLimb& limb = result_.limbs[l];
        const MatchedLimb& other = result_.limbs[o];
        if (o != l && other.from == limb.from && limb.is_trunk && other.is_trunk &&
            Polyline(other.centres).length() > Polyline(limb.centres).length())
          limb.is_trunk = false;
      }
  }

  /// A rig of a hand has no trunk before its only fork, and the mesh may go on behind the wrist for as long
  /// as it likes: then the distances between the limbs' tips tell the size.
  bool is_hand() const {
    return result_.limbs.size() > 2 &&
           std::all_of(result_.limbs.begin(), result_.limbs.end(),
                       [](const MatchedLimb& limb) { return limb.from == LimbGraph::kHead; });
  }
  void find_scale_by_tips() {
    std::vector<double> ratios;
    for (const LimbId a : result_.limbs.ids())
      for (const LimbId b : result_.limbs.ids()) {
        if (!(a < b)) continue;
        const MatchedLimb &first = result_.limbs[a], &second = result_.limbs[b];
        const double rig = (rig_.points[first.chain.back()] - rig_.points[second.chain.back()]).norm();
        const double mesh = (first.centres.back() - second.centres.back()).norm();
        if (rig > 0 && mesh > 0) ratios.push_back(mesh / rig);
      }
    for (MatchedLimb& limb : result_.limbs) limb.is_trunk = false;
    if (ratios.empty()) return;
    const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
    std::nth_element(ratios.begin(), middle, ratios.end());
    result_.scale = *middle;
  }

  const RigGraph& rig_;
  const LimbGraph& mesh_;
  const NodeMap& node_map_;
  MatchedLimbs result_;
};

}  // namespace

MatchedLimbs matched_limbs(const RigGraph& rig, const LimbGraph& mesh, const NodeMap& node_map) {
  return LimbFinder(rig, mesh, node_map).find();
}

}  // namespace sinew
