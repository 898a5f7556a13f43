#include <sinew/fitting/graph_symmetry.h>

#include <algorithm>
#include <map>
#include <vector>

#include <sinew/fitting/shape_descriptor.h>

namespace sinew {

namespace {

/// Poirier 2009, §3.1.2.5: groups in which the longest and the shortest differ by less than C, split where
/// lengths differ most. `arcs` by length, longest first.
std::vector<std::vector<ArcId>> split_by_length(const std::vector<ArcId>& arcs, const PerArc<double>& length,
                                                double max_difference) {
  if (arcs.size() < 2 || length[arcs.front()] - length[arcs.back()] < max_difference) return {arcs};
  std::size_t split = 1;
  double widest = -1;
  for (std::size_t k = 1; k < arcs.size(); ++k)
    if (const double gap = length[arcs[k - 1]] - length[arcs[k]]; gap > widest) {
      widest = gap;
      split = k;
    }
  const auto middle = arcs.begin() + static_cast<std::ptrdiff_t>(split);
  std::vector<std::vector<ArcId>> groups = split_by_length({arcs.begin(), middle}, length, max_difference);
  for (std::vector<ArcId>& group : split_by_length({middle, arcs.end()}, length, max_difference))
    groups.push_back(std::move(group));
  return groups;
}

/// Poirier 2009, §3.1.2.6: which of a pair is on the positive side.
bool first_is_left(const Vec3d& first, const Vec3d& second) {
  const Vec3d across = first - second;
  Eigen::Index axis = 0;
  across.cwiseAbs().maxCoeff(&axis);
  return across[axis] > 0;
}

}  // namespace

PerArc<ArcSymmetry> graph_symmetry(const LimbGraph& graph, const Mat3d& common_from_graph,
                                   const SymmetryOptions& options) {
  const PerNode<ShapeDescriptor> shapes = shape_descriptors(graph);
  const PerNode<double> distances = distances_from_head(graph);
  const double max_difference =
      options.length_difference * *std::max_element(distances.begin(), distances.end());
  PerArc<double> length;
  for (const ArcId a : graph.arcs.ids()) length.push_back(graph.length(a));
  PerArc<ArcSymmetry> symmetry(graph.arcs.size());
  for (const LimbGraph::Node& node : graph.nodes) {
    const int level = node.parent_arc.valid() ? symmetry[node.parent_arc].level : 1;
    std::map<ShapeDescriptor, std::vector<ArcId>> same_shape;
    for (const ArcId arc : node.child_arcs) same_shape[shapes[graph.arcs[arc].to]].push_back(arc);
    for (auto& entry : same_shape) {
      std::vector<ArcId>& arcs = entry.second;
      std::stable_sort(arcs.begin(), arcs.end(), [&](ArcId a, ArcId b) { return length[a] > length[b]; });
      for (const std::vector<ArcId>& group : split_by_length(arcs, length, max_difference)) {
        if (group.size() == 1) {
          symmetry[group[0]] = {level, level == 1 ? SymmetryType::primary : SymmetryType::none};
          continue;
        }
        const bool pair = group.size() == 2;
        for (std::size_t k = 0; k < group.size(); ++k)
          symmetry[group[k]] = {level + 1, pair ? SymmetryType::axial : SymmetryType::radial, Side::none,
                                pair ? 0 : static_cast<int>(k) + 1};
        if (!pair) continue;
        const auto end = [&](ArcId a) {
          return Vec3d(common_from_graph * graph.nodes[graph.arcs[a].to].position);
        };
        const bool left = first_is_left(end(group[0]), end(group[1]));
        symmetry[group[0]].side = left ? Side::left : Side::right;
        symmetry[group[1]].side = left ? Side::right : Side::left;
      }
    }
  }
  return symmetry;
}

}  // namespace sinew
