#pragma once

#include <vector>

#include <sinew/fitting/limb_graph.h>

namespace sinew::test {

/// A node, given by its position and the number of its parent; the head has none.
struct TreeNode {
  int parent = -1;
  Vec3d position = Vec3d::Zero();
};

/// A graph with straight arcs: node n is the n-th given, arc n - 1 leads to it. Parents come first.
LimbGraph make_tree(const std::vector<TreeNode>& nodes);

/// The same graph, turned, scaled and moved.
LimbGraph moved(const LimbGraph& graph, const Mat3d& turn, double scale = 1,
                const Vec3d& shift = Vec3d::Zero());

/// The arms, legs and head of a human that looks along +z, arms spread by `arms` radians from hanging down. 0
/// the head's top, 1 the chest, 2 and 3 the left (+x) and right hand, 4 the pelvis, 5 and 6 the left and
/// right foot. About 1.8 m tall.
LimbGraph make_human(double arms);

}  // namespace sinew::test
