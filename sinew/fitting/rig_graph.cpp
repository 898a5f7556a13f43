#include <sinew/fitting/rig_graph.h>

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/text.h>
#include <sinew/geometry/segment.h>
#include <sinew/skeleton/joint_names.h>
#include <sinew/skeleton/joint_sides.h>

namespace sinew {

namespace {

// Ends of bones this near to each other, as a share of the rig's size, are one point.
constexpr double kSamePlace = 1e-4;
// Bones of a face are not farther from the head's than this many of its lengths.
constexpr double kFace = 1.0;

std::size_t u(int i) {
  return static_cast<std::size_t>(i);
}

/// Jaw, eyes, lips: what hangs on the head and stays near its bone with all that hangs on it. Meshes have no
/// limbs for these; they go along with the head.
std::vector<char> bones_of_face(const ControlRig& rig, const std::vector<int>& parents, int head_bone) {
  const RigBone& head = rig.bones[u(head_bone)];
  const double near = kFace * head.length();
  std::vector<char> small(rig.bones.size(), 0);
  if (parents[u(head_bone)] < 0) return small;  // the rig starts there: no head
  std::vector<int> top(rig.bones.size(),
                       -1);  // per bone below the head, the one that hangs on the head itself
  std::vector<char> far(rig.bones.size(), 0);
  for (std::size_t b = 0; b < rig.bones.size(); ++b) {
    int last = static_cast<int>(b), up = parents[b];
    while (up >= 0 && up != head_bone) {
      last = up;
      up = parents[u(up)];
    }
    if (up != head_bone || !rig.bones[b].deforms) continue;
    top[b] = last;
    for (const Vec3d& p : {rig.bones[b].head, rig.bones[b].tail})
      if ((nearest_on_segment(head.head, head.tail, p) - p).norm() > near) far[u(last)] = 1;
  }
  for (std::size_t b = 0; b < rig.bones.size(); ++b) small[b] = top[b] >= 0 && !far[u(top[b])];
  return small;
}

/// See rig_graph().
void merge_near_forks(RigGraph& rig, double share) {
  const LimbGraph whole = rig.graph;
  const std::vector<std::vector<int>> chains = rig.chains;
  const std::vector<int> node_point = rig.node_point;
  std::vector<double> way(whole.nodes.size(), 0);
  for (std::size_t n = 1; n < whole.nodes.size(); ++n)
    way[n] = way[u(whole.arc(whole.nodes[n].arc).from)] + whole.length(whole.nodes[n].arc);
  const double near = share * *std::max_element(way.begin(), way.end());
  rig.graph = {};
  rig.chains.clear();
  rig.node_point = {node_point[0]};
  rig.graph.nodes.push_back({whole.nodes[0].position, -1, {}, whole.nodes[0].saddle});
  std::vector<int> place(whole.nodes.size(), 0);             // of a node, or of the one it became part of
  std::vector<std::vector<int>> before(whole.nodes.size());  // points on the way to it from there
  for (std::size_t n = 1; n < whole.nodes.size(); ++n) {
    const int arc = whole.nodes[n].arc, from = whole.arc(arc).from;
    std::vector<int> chain = before[u(from)];
    chain.insert(chain.end(), chains[u(arc)].begin() + (chain.empty() ? 0 : 1), chains[u(arc)].end());
    const bool between_forks = from > 0 && !whole.nodes[n].arcs.empty();
    if (between_forks && way[n] - way[u(from)] < near) {
      place[n] = place[u(from)];
      before[n] = std::move(chain);
      continue;
    }
    place[n] = static_cast<int>(rig.graph.nodes.size());
    LimbGraph::Arc& added = rig.graph.arcs.emplace_back();
    added.from = place[u(from)];
    added.to = place[n];
    for (std::size_t k = 1; k < chain.size(); ++k) added.points.push_back(rig.points[u(chain[k])]);
    rig.graph.nodes[u(added.from)].arcs.push_back(static_cast<int>(rig.graph.arcs.size()) - 1);
    rig.graph.nodes.push_back(
        {whole.nodes[n].position, static_cast<int>(rig.graph.arcs.size()) - 1, {}, whole.nodes[n].saddle});
    rig.node_point.push_back(node_point[n]);
    rig.chains.push_back(std::move(chain));
  }
}

}  // namespace

int find_head_bone(const ControlRig& rig, const std::string& bone) {
  if (!bone.empty()) {
    const int found = rig.find(bone);
    if (found < 0) throw Error(fmt::format("rig '{}': has no bone '{}'", rig.name, bone));
    if (!rig.bones[u(found)].deforms)
      throw Error(
          fmt::format("rig '{}': bone '{}' is a controller; name one that moves skin", rig.name, bone));
    return found;
  }
  const std::vector<int> parents = deform_parents(rig);
  int best = -1, best_likeness = 0;
  for (std::size_t b = 0; b < rig.bones.size(); ++b) {
    if (!rig.bones[b].deforms || parse_side(rig.bones[b].name).side != Side::none) continue;
    const int likeness = head_likeness(rig.bones[b].name);
    if (likeness > best_likeness) {
      best_likeness = likeness;
      best = static_cast<int>(b);
    }
  }
  if (best >= 0) return best;
  // Rigify's heads are the last of the spine: the end of the chain of bones named spine, if it has one.
  int last_of_spine = -1;
  for (std::size_t b = 0; b < rig.bones.size(); ++b)
    if (rig.bones[b].deforms && lower_case(rig.bones[b].name).find("spine") != std::string::npos) {
      const bool goes_on = std::any_of(rig.bones.begin(), rig.bones.end(), [&](const RigBone& child) {
        const auto c = static_cast<std::size_t>(&child - rig.bones.data());
        return child.deforms && parents[c] == static_cast<int>(b) &&
               lower_case(child.name).find("spine") != std::string::npos;
      });
      if (!goes_on) last_of_spine = static_cast<int>(b);
    }
  if (last_of_spine >= 0 && rig.bones[u(last_of_spine)].tail.y() > rig.bones[u(last_of_spine)].head.y())
    return last_of_spine;
  for (const int b : parents_first(rig))
    if (rig.bones[u(b)].deforms && parents[u(b)] < 0) return b;
  throw Error(fmt::format("rig '{}': no bone moves skin; mark some as deforming", rig.name));
}

RigGraph rig_graph(const ControlRig& rig, int head_bone, double near_forks) {
  RigGraph result;
  const std::size_t count = rig.bones.size();
  const std::vector<int> parents = deform_parents(rig);
  Eigen::AlignedBox3d box;
  for (const RigBone& bone : rig.bones)
    if (bone.deforms) {
      box.extend(bone.head);
      box.extend(bone.tail);
    }
  const double same = kSamePlace * (box.isEmpty() ? 1 : box.diagonal().norm());
  result.head_point.assign(count, -1);
  result.tail_point.assign(count, -1);
  const auto point_at = [&](const Vec3d& p) {
    for (std::size_t k = 0; k < result.points.size(); ++k)
      if ((result.points[k] - p).norm() <= same) return static_cast<int>(k);
    result.points.push_back(p);
    result.neighbours.emplace_back();
    return static_cast<int>(result.points.size() - 1);
  };
  result.face = bones_of_face(rig, parents, head_bone);
  for (std::size_t b = 0; b < count; ++b)
    if (rig.bones[b].deforms && !result.face[b]) {
      result.head_point[b] = point_at(rig.bones[b].head);
      result.tail_point[b] = point_at(rig.bones[b].tail);
    }
  // A tree: a link between points that hang together already is left out.
  std::vector<int> root(result.points.size());
  for (std::size_t k = 0; k < root.size(); ++k) root[k] = static_cast<int>(k);
  const auto find = [&](int k) {
    while (root[u(k)] != k) k = root[u(k)] = root[u(root[u(k)])];
    return k;
  };
  const auto link = [&](int a, int b) {
    if (find(a) == find(b)) return;
    root[u(find(b))] = find(a);
    result.neighbours[u(a)].push_back(b);
    result.neighbours[u(b)].push_back(a);
  };
  const std::vector<int> order = parents_first(rig);
  for (const int b : order)
    if (result.head_point[u(b)] >= 0) link(result.head_point[u(b)], result.tail_point[u(b)]);
  int first_root = -1;
  for (const int b : order) {
    const int head = result.head_point[u(b)];
    if (head < 0) continue;
    const int parent = parents[u(b)];
    if (parent >= 0) {
      const RigBone& above = rig.bones[u(parent)];
      const Vec3d& at = rig.bones[u(b)].head;
      const bool tail_nearer = (above.tail - at).norm() <= (above.head - at).norm();
      link(tail_nearer ? result.tail_point[u(parent)] : result.head_point[u(parent)], head);
    } else if (first_root < 0) {
      first_root = head;
    }
  }
  // Pieces that hang on no other: to the nearest point of the first.
  for (std::size_t k = 0; k < result.points.size(); ++k) {
    if (first_root < 0 || find(static_cast<int>(k)) == find(first_root)) continue;
    int best_from = -1, best_to = -1;
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t a = 0; a < result.points.size(); ++a)
      for (std::size_t b = 0; b < result.points.size(); ++b)
        if (find(static_cast<int>(a)) == find(static_cast<int>(k)) &&
            find(static_cast<int>(b)) == find(first_root)) {
          const double distance = (result.points[a] - result.points[b]).norm();
          if (distance < best) {
            best = distance;
            best_from = static_cast<int>(a);
            best_to = static_cast<int>(b);
          }
        }
    link(best_to, best_from);
  }
  result.head = result.head_point[u(head_bone)];
  if (parents[u(head_bone)] >= 0 || head_likeness(rig.bones[u(head_bone)].name) > 0) {
    // On from the head's tail to the end, or to where antennae part.
    int before = result.head;
    result.head = result.tail_point[u(head_bone)];
    for (std::size_t steps = 0; result.neighbours[u(result.head)].size() == 2 && steps < count; ++steps) {
      const std::vector<int>& two = result.neighbours[u(result.head)];
      const int next = two[0] == before ? two[1] : two[0];
      before = result.head;
      result.head = next;
    }
  }

  // Chains between points where the tree parts or ends.
  LimbGraph& graph = result.graph;
  graph.nodes.push_back({result.points[u(result.head)], -1, {}, result.points[u(result.head)]});
  result.node_point.push_back(result.head);
  std::vector<std::pair<int, int>> open;  // node, next point
  for (const int next : result.neighbours[u(result.head)]) open.push_back({0, next});
  for (std::size_t k = 0; k < open.size(); ++k) {
    const auto [node, start] = open[k];
    std::vector<int> chain{result.node_point[u(node)], start};
    while (result.neighbours[u(chain.back())].size() == 2) {
      const std::vector<int>& two = result.neighbours[u(chain.back())];
      chain.push_back(two[0] == chain[chain.size() - 2] ? two[1] : two[0]);
    }
    const int arc = static_cast<int>(graph.arcs.size()), to = static_cast<int>(graph.nodes.size());
    const Vec3d& end = result.points[u(chain.back())];
    graph.nodes.push_back({end, arc, {}, end});
    graph.nodes[u(node)].arcs.push_back(arc);
    LimbGraph::Arc& added = graph.arcs.emplace_back();
    added.from = node;
    added.to = to;
    for (std::size_t p = 1; p < chain.size(); ++p) added.points.push_back(result.points[u(chain[p])]);
    result.node_point.push_back(chain.back());
    for (const int next : result.neighbours[u(chain.back())])
      if (next != chain[chain.size() - 2]) open.push_back({to, next});
    result.chains.push_back(std::move(chain));
  }
  merge_near_forks(result, near_forks);
  return result;
}

}  // namespace sinew
