#include "tests/support/limb_graphs.h"

#include <cmath>

namespace sinew::test {

LimbGraph make_tree(const std::vector<TreeNode>& nodes) {
  LimbGraph graph;
  for (const TreeNode& node : nodes) {
    const bool is_head = graph.nodes.empty();
    const ArcId arc = is_head ? ArcId::kNone : graph.arcs.next_id();
    const NodeId n = graph.nodes.push_back({node.position, arc, {}, node.position});
    if (is_head) continue;
    graph.nodes[NodeId(node.parent)].child_arcs.push_back(arc);
    graph.arcs.push_back({NodeId(node.parent), n, {node.position}, {}});
  }
  return graph;
}

LimbGraph moved(const LimbGraph& graph, const Mat3d& turn, double scale, const Vec3d& shift) {
  LimbGraph result = graph;
  const auto move = [&](Vec3d& p) { p = (scale * (turn * p) + shift).eval(); };
  for (LimbGraph::Node& node : result.nodes) {
    move(node.position);
    move(node.saddle);
  }
  for (LimbGraph::Arc& arc : result.arcs)
    for (Vec3d& point : arc.points) move(point);
  return result;
}

LimbGraph make_human(double arms) {
  const Vec3d chest(0, 1.4, 0);
  const double x = 0.7 * std::sin(arms), y = -0.7 * std::cos(arms);
  return make_tree({{-1, {0, 1.8, 0}},
                    {0, chest},
                    {1, chest + Vec3d(x, y, 0)},
                    {1, chest + Vec3d(-x, y, 0)},
                    {1, {0, 0.95, 0}},
                    {4, {0.12, 0, 0}},
                    {4, {-0.12, 0, 0}}});
}

}  // namespace sinew::test
