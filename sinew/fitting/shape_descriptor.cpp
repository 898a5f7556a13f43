#include <sinew/fitting/shape_descriptor.h>

namespace sinew {

PerNode<ShapeDescriptor> shape_descriptors(const LimbGraph& graph) {
  PerNode<ShapeDescriptor> shapes(graph.nodes.size(), {1});
  // Children stand behind their parents: theirs are complete when a node's turn comes.
  for (const NodeId n : reversed(graph.nodes.ids()))
    for (const ArcId arc : graph.nodes[n].child_arcs) {
      const ShapeDescriptor& child = shapes[graph.arcs[arc].to];
      if (shapes[n].size() < child.size() + 1) shapes[n].resize(child.size() + 1, 0);
      for (std::size_t depth = 0; depth < child.size(); ++depth) shapes[n][depth + 1] += child[depth];
    }
  return shapes;
}

ShapeDescriptor local_shape(const LimbGraph& graph, NodeId node) {
  const std::size_t children = graph.nodes[node].child_arcs.size();
  return children == 0 ? ShapeDescriptor{1} : ShapeDescriptor{1, static_cast<int>(children)};
}

}  // namespace sinew
