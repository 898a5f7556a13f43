#pragma once

#include <vector>

#include <sinew/fitting/limb_graph.h>

namespace sinew {

/// How many nodes there are at each depth below a node, itself first: {1, 2, 5} is a node with two children
/// and five grandchildren (Poirier 2009, §3.1.2.4, figure 3.7). An arc's is that of its lower node.
using ShapeDescriptor = std::vector<int>;

PerNode<ShapeDescriptor> shape_descriptors(const LimbGraph& graph);

/// The first two numbers, which is what matching compares (Poirier 2009, §3.1.3.1): {1, children}, or {1} for
/// a leaf.
ShapeDescriptor local_shape(const LimbGraph& graph, NodeId node);

}  // namespace sinew
