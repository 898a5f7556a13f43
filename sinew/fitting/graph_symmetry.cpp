#include <sinew/fitting/graph_symmetry.h>

#include <algorithm>
#include <map>

#include <sinew/fitting/limb_alignment.h>
#include <sinew/fitting/shape_descriptor.h>

namespace sinew {

namespace {

std::size_t u(int i) {
  return static_cast<std::size_t>(i);
}

/// §3.1.2.5: parts in which the longest and the shortest differ by less than C, cut where lengths differ
/// most. `arcs` by length, longest first.
std::vector<std::vector<int>> split_by_length(const std::vector<int>& arcs, const std::vector<double>& length,
                                              double most) {
  if (arcs.size() < 2 || length[u(arcs.front())] - length[u(arcs.back())] < most) return {arcs};
  std::size_t cut = 1;
  double widest = -1;
  for (std::size_t k = 1; k < arcs.size(); ++k)
    if (const double gap = length[u(arcs[k - 1])] - length[u(arcs[k])]; gap > widest) {
      widest = gap;
      cut = k;
    }
  const auto middle = arcs.begin() + static_cast<std::ptrdiff_t>(cut);
  std::vector<std::vector<int>> parts = split_by_length({arcs.begin(), middle}, length, most);
  for (std::vector<int>& part : split_by_length({middle, arcs.end()}, length, most))
    parts.push_back(std::move(part));
  return parts;
}

/// §3.1.2.6: which of a pair is on the positive side.
bool first_is_left(const Vec3d& first, const Vec3d& second) {
  const Vec3d across = first - second;
  Eigen::Index axis = 0;
  across.cwiseAbs().maxCoeff(&axis);
  return across[axis] > 0;
}

}  // namespace

std::vector<ArcSymmetry> graph_symmetry(const LimbGraph& graph, const Mat3d& common_from_graph,
                                        const SymmetryOptions& options) {
  const std::vector<ShapeDescriptor> shapes = shape_descriptors(graph);
  const std::vector<double> ways = distances_from_head(graph);
  const double most = options.length_difference * *std::max_element(ways.begin(), ways.end());
  std::vector<double> length;
  for (std::size_t a = 0; a < graph.arcs.size(); ++a) length.push_back(graph.length(static_cast<int>(a)));
  std::vector<ArcSymmetry> symmetry(graph.arcs.size());
  for (const LimbGraph::Node& node : graph.nodes) {
    const int level = node.arc < 0 ? 1 : symmetry[u(node.arc)].level;
    std::map<ShapeDescriptor, std::vector<int>> alike;
    for (const int arc : node.arcs) alike[shapes[u(graph.arc(arc).to)]].push_back(arc);
    for (auto& entry : alike) {
      std::vector<int>& arcs = entry.second;
      std::stable_sort(arcs.begin(), arcs.end(), [&](int a, int b) { return length[u(a)] > length[u(b)]; });
      for (const std::vector<int>& group : split_by_length(arcs, length, most)) {
        if (group.size() == 1) {
          symmetry[u(group[0])] = {level, level == 1 ? SymmetryType::primary : SymmetryType::none};
          continue;
        }
        const bool pair = group.size() == 2;
        for (std::size_t k = 0; k < group.size(); ++k)
          symmetry[u(group[k])] = {level + 1, pair ? SymmetryType::axial : SymmetryType::radial, Side::none,
                                   pair ? 0 : static_cast<int>(k) + 1};
        if (!pair) continue;
        const auto end = [&](int a) {
          return Vec3d(common_from_graph * graph.node(graph.arc(a).to).position);
        };
        const bool left = first_is_left(end(group[0]), end(group[1]));
        symmetry[u(group[0])].side = left ? Side::left : Side::right;
        symmetry[u(group[1])].side = left ? Side::right : Side::left;
      }
    }
  }
  return symmetry;
}

}  // namespace sinew
