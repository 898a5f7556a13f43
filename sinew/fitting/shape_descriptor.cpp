#include <sinew/fitting/shape_descriptor.h>

namespace sinew {

std::vector<ShapeDescriptor> shape_descriptors(const LimbGraph& graph) {
  std::vector<ShapeDescriptor> shapes(graph.nodes.size(), {1});
  // Children stand behind their parents: theirs are complete when a node is met.
  for (std::size_t n = graph.nodes.size(); n-- > 0;)
    for (const int arc : graph.nodes[n].arcs) {
      const ShapeDescriptor& child = shapes[static_cast<std::size_t>(graph.arc(arc).to)];
      if (shapes[n].size() < child.size() + 1) shapes[n].resize(child.size() + 1, 0);
      for (std::size_t depth = 0; depth < child.size(); ++depth) shapes[n][depth + 1] += child[depth];
    }
  return shapes;
}

ShapeDescriptor local_shape(const LimbGraph& graph, int node) {
  const std::size_t children = graph.node(node).arcs.size();
  return children == 0 ? ShapeDescriptor{1} : ShapeDescriptor{1, static_cast<int>(children)};
}

}  // namespace sinew
