#include <sinew/fitting/rig_graph.h>

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/text.h>
#include <sinew/fitting/rig_bones.h>
#include <sinew/geometry/disjoint_sets.h>
#include <sinew/geometry/segment.h>
#include <sinew/skeleton/joint_names.h>
#include <sinew/skeleton/joint_sides.h>

namespace sinew {

namespace {

/// Ends of bones this near to each other, as a share of the rig's size, are one point. By hand.
constexpr double kSamePoint = 1e-4;
/// Bones of a face are not farther from the head's bone than this many of its lengths. By hand, on the
/// built-in characters.
constexpr double kFaceRadius = 1.0;

bool is_spine(const RigBone& bone) {
  return bone.deforms && lower_case(bone.name).find("spine") != std::string::npos;
}

/// Jaw, eyes, lips: children of the head that stay near its bone with all their descendants. Meshes have no
/// limbs for these; they move with the head.
PerBone<char> face_bones(const ControlRig& rig, const PerBone<BoneId>& parents, BoneId head_bone) {
  const RigBone& head = bone_at(rig, head_bone);
  const double near = kFaceRadius * head.length();
  PerBone<char> result(rig.bones.size(), 0);
  if (!parents[head_bone].valid()) return result;  // the rig starts there: no head
  PerBone<BoneId> branch(rig.bones.size());        // per bone below the head, the head's child above it
  PerBone<char> is_far(rig.bones.size(), 0);       // per child of the head
  for (const BoneId b : bone_ids(rig)) {
    BoneId last = b, up = parents[b];
    while (up.valid() && up != head_bone) {
      last = up;
      up = parents[up];
    }
    const RigBone& bone = bone_at(rig, b);
    if (up != head_bone || !bone.deforms) continue;
    branch[b] = last;
    for (const Vec3d& p : {bone.head, bone.tail})
      if ((nearest_on_segment(head.head, head.tail, p) - p).norm() > near) is_far[last] = 1;
  }
  for (const BoneId b : bone_ids(rig)) result[b] = branch[b].valid() && !is_far[branch[b]];
  return result;
}

class RigGraphBuilder {
 public:
  RigGraphBuilder(const ControlRig& rig, BoneId head_bone)
      : rig_(rig), head_bone_(head_bone), parents_(deforming_parents(rig)) {}

  RigGraph build(double merge_forks_within) {
    add_points();
    link_points();
    find_head();
    trace_chains();
    merge_near_forks(merge_forks_within);
    return std::move(result_);
  }

 private:
  void add_points() {
    Eigen::AlignedBox3d box;
    for (const RigBone& bone : rig_.bones)
      if (bone.deforms) {
        box.extend(bone.head);
        box.extend(bone.tail);
      }
    const double tolerance = kSamePoint * (box.isEmpty() ? 1 : box.diagonal().norm());
    const auto point_at = [&](const Vec3d& position) {
      for (const PointId p : result_.points.ids())
        if ((result_.points[p] - position).norm() <= tolerance) return p;
      result_.neighbours.emplace_back();
      return result_.points.push_back(position);
    };
    result_.head_point.assign(rig_.bones.size(), PointId::kNone);
    result_.tail_point.assign(rig_.bones.size(), PointId::kNone);
    result_.is_face_bone = face_bones(rig_, parents_, head_bone_);
    for (const BoneId b : bone_ids(rig_))
      if (bone_at(rig_, b).deforms && !result_.is_face_bone[b]) {
        result_.head_point[b] = point_at(bone_at(rig_, b).head);
        result_.tail_point[b] = point_at(bone_at(rig_, b).tail);
      }
  }

  /// A tree: a link between points that are connected already is left out.
  void link_points() {
    DisjointSets components(result_.points.size());
    const auto component = [&](PointId p) { return components.find(static_cast<std::uint32_t>(p.offset())); };
    const auto link = [&](PointId a, PointId b) {
      if (component(a) == component(b)) return;
      components.join(component(a), component(b));
      result_.neighbours[a].push_back(b);
      result_.neighbours[b].push_back(a);
    };
    const std::vector<BoneId> order = bones_parents_first(rig_);
    for (const BoneId b : order)
      if (result_.head_point[b].valid()) link(result_.head_point[b], result_.tail_point[b]);
    PointId root;
    for (const BoneId b : order) {
      const PointId head = result_.head_point[b];
      if (!head.valid()) continue;
      const BoneId parent = parents_[b];
      if (parent.valid()) {
        const RigBone& above = bone_at(rig_, parent);
        const Vec3d& at = bone_at(rig_, b).head;
        const bool tail_nearer = (above.tail - at).norm() <= (above.head - at).norm();
        link(tail_nearer ? result_.tail_point[parent] : result_.head_point[parent], head);
      } else if (!root.valid()) {
        root = head;
      }
    }
    // Components without that root: to its component's nearest point.
    for (const PointId p : result_.points.ids()) {
      if (!root.valid() || component(p) == component(root)) continue;
      PointId best_from, best_to;
      double best = std::numeric_limits<double>::infinity();
      for (const PointId a : result_.points.ids())
        for (const PointId b : result_.points.ids())
          if (component(a) == component(p) && component(b) == component(root)) {
            const double distance = (result_.points[a] - result_.points[b]).norm();
            if (distance < best) {
              best = distance;
              best_from = a;
              best_to = b;
            }
          }
      link(best_to, best_from);
    }
  }

  void find_head() {
    result_.head = result_.head_point[head_bone_];
    if (!parents_[head_bone_].valid() && head_likeness(bone_at(rig_, head_bone_).name) == 0) return;
    // On from the head's tail to the end, or to where antennae branch off.
    PointId before = result_.head;
    result_.head = result_.tail_point[head_bone_];
    for (std::size_t steps = 0; result_.neighbours[result_.head].size() == 2 && steps < rig_.bones.size();
         ++steps) {
      const std::vector<PointId>& two = result_.neighbours[result_.head];
      const PointId next = two[0] == before ? two[1] : two[0];
      before = result_.head;
      result_.head = next;
    }
  }

  /// Chains between points where the tree branches or ends.
  void trace_chains() {
    LimbGraph& graph = result_.graph;
    const Vec3d& top = result_.points[result_.head];
    graph.nodes.push_back({top, ArcId::kNone, {}, top});
    result_.node_point.push_back(result_.head);
    std::vector<std::pair<NodeId, PointId>> open;  // a node, and the first point of a chain that leaves it
    for (const PointId next : result_.neighbours[result_.head]) open.push_back({LimbGraph::kHead, next});
    for (std::size_t k = 0; k < open.size(); ++k) {
      const auto [node, start] = open[k];
      std::vector<PointId> chain{result_.node_point[node], start};
      while (result_.neighbours[chain.back()].size() == 2) {
        const std::vector<PointId>& two = result_.neighbours[chain.back()];
        chain.push_back(two[0] == chain[chain.size() - 2] ? two[1] : two[0]);
      }
      const Vec3d& end = result_.points[chain.back()];
      const NodeId to = graph.nodes.push_back({end, graph.arcs.next_id(), {}, end});
      graph.nodes[node].child_arcs.push_back(graph.arcs.next_id());
      graph.arcs.push_back({node, to, positions(chain), {}});
      result_.node_point.push_back(chain.back());
      for (const PointId next : result_.neighbours[chain.back()])
        if (next != chain[chain.size() - 2]) open.push_back({to, next});
      result_.chains.push_back(std::move(chain));
    }
  }

  /// See RigGraphOptions::merge_forks_within.
  void merge_near_forks(double share) {
    const LimbGraph whole = result_.graph;
    const PerArc<std::vector<PointId>> chains = result_.chains;
    const PerNode<PointId> node_point = result_.node_point;
    const PerNode<double> distances = distances_from_head(whole);
    const double near = share * *std::max_element(distances.begin(), distances.end());
    LimbGraph& graph = result_.graph;
    graph = {};
    graph.nodes.push_back({whole.nodes.front().position, ArcId::kNone, {}, whole.nodes.front().saddle});
    result_.chains.clear();
    result_.node_point = {node_point.front()};
    // Per node of `whole`: what it became, or the node it was merged into, and the points from there to it.
    PerNode<NodeId> merged(whole.nodes.size(), LimbGraph::kHead);
    PerNode<std::vector<PointId>> points_from_merged(whole.nodes.size());
    for (const NodeId n : whole.below_head()) {
      const LimbGraph::Node& node = whole.nodes[n];
      const NodeId from = whole.parent(n);
      std::vector<PointId> chain = points_from_merged[from];
      const std::vector<PointId>& own = chains[node.parent_arc];
      chain.insert(chain.end(), own.begin() + (chain.empty() ? 0 : 1), own.end());
      const bool between_forks = from != LimbGraph::kHead && !whole.is_leaf(n);
      if (between_forks && distances[n] - distances[from] < near) {
        merged[n] = merged[from];
        points_from_merged[n] = std::move(chain);
        continue;
      }
      merged[n] = graph.nodes.push_back({node.position, graph.arcs.next_id(), {}, node.saddle});
      graph.nodes[merged[from]].child_arcs.push_back(graph.arcs.next_id());
      graph.arcs.push_back({merged[from], merged[n], positions(chain), {}});
      result_.node_point.push_back(node_point[n]);
      result_.chains.push_back(std::move(chain));
    }
  }

  /// Of a chain's points but the first.
  std::vector<Vec3d> positions(const std::vector<PointId>& chain) const {
    std::vector<Vec3d> positions;
    for (std::size_t k = 1; k < chain.size(); ++k) positions.push_back(result_.points[chain[k]]);
    return positions;
  }

  const ControlRig& rig_;
  BoneId head_bone_;
  PerBone<BoneId> parents_;
  RigGraph result_;
};

}  // namespace

BoneId find_head_bone(const ControlRig& rig, const std::string& name) {
  if (!name.empty()) {
    const BoneId found = find_bone(rig, name);
    if (!found.valid()) throw Error(fmt::format("rig '{}': has no bone '{}'", rig.name, name));
    if (!bone_at(rig, found).deforms)
      throw Error(
          fmt::format("rig '{}': bone '{}' is a controller; name one that moves skin", rig.name, name));
    return found;
  }
  const PerBone<BoneId> parents = deforming_parents(rig);
  BoneId best;
  int best_likeness = 0;
  for (const BoneId b : bone_ids(rig)) {
    const RigBone& bone = bone_at(rig, b);
    if (!bone.deforms || parse_side(bone.name).side != Side::none) continue;
    const int likeness = head_likeness(bone.name);
    if (likeness > best_likeness) {
      best_likeness = likeness;
      best = b;
    }
  }
  if (best.valid()) return best;
  // Rigify's head is the end of the chain of bones named spine.
  BoneId last_of_spine;
  for (const BoneId b : bone_ids(rig))
    if (is_spine(bone_at(rig, b))) {
      bool continues = false;
      for (const BoneId child : bone_ids(rig))
        continues |= parents[child] == b && is_spine(bone_at(rig, child));
      if (!continues) last_of_spine = b;
    }
  if (last_of_spine.valid() && bone_at(rig, last_of_spine).tail.y() > bone_at(rig, last_of_spine).head.y())
    return last_of_spine;
  for (const BoneId b : bones_parents_first(rig))
    if (bone_at(rig, b).deforms && !parents[b].valid()) return b;
  throw Error(fmt::format("rig '{}': no bone moves skin; mark some as deforming", rig.name));
}

RigGraph rig_graph(const ControlRig& rig, BoneId head_bone, const RigGraphOptions& options) {
  return RigGraphBuilder(rig, head_bone).build(options.merge_forks_within);
}

}  // namespace sinew
