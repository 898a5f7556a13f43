#include <sinew/fitting/shape_descriptor.h>

#include <gtest/gtest.h>

#include "tests/support/limb_graphs.h"

namespace sinew {
namespace {

using test::make_tree;

TEST(ShapeDescriptor, CountsNodesPerDepth) {
  // Figure 3.7: a node with two children; one of them with two, the other with three.
  EXPECT_EQ(shape_descriptors(make_tree({{}, {0}, {0}})).front(), (ShapeDescriptor{1, 2}));
  const LimbGraph graph = make_tree({{}, {0}, {0}, {1}, {1}, {2}, {2}, {2}});
  const std::vector<ShapeDescriptor> shapes = shape_descriptors(graph).values();
  EXPECT_EQ(shapes[0], (ShapeDescriptor{1, 2, 5}));
  EXPECT_EQ(shapes[1], (ShapeDescriptor{1, 2}));
  EXPECT_EQ(shapes[2], (ShapeDescriptor{1, 3}));
  EXPECT_EQ(shapes[7], (ShapeDescriptor{1}));
}

TEST(ShapeDescriptor, TellsApartWhatDepthAndDegreeDoNot) {
  // Figure 3.8: all three have depth 3 and degree 2; the left and the right one are alike, the middle not.
  const LimbGraph graph = make_tree(
      {{}, {0}, {0}, {0}, {1}, {1}, {4}, {4}, {5}, {2}, {2}, {9}, {10}, {3}, {3}, {13}, {14}, {14}});
  const std::vector<ShapeDescriptor> shapes = shape_descriptors(graph).values();
  EXPECT_EQ(shapes[1], (ShapeDescriptor{1, 2, 3}));
  EXPECT_EQ(shapes[2], (ShapeDescriptor{1, 2, 2}));
  EXPECT_EQ(shapes[3], (ShapeDescriptor{1, 2, 3}));
  EXPECT_EQ(shapes[0], (ShapeDescriptor{1, 3, 6, 8}));
}

TEST(ShapeDescriptor, DoesNotSeeHowDistantNodesHangTogether) {
  const std::vector<ShapeDescriptor> even =
      shape_descriptors(make_tree({{}, {0}, {0}, {1}, {1}, {2}, {2}})).values();
  const std::vector<ShapeDescriptor> uneven =
      shape_descriptors(make_tree({{}, {0}, {0}, {1}, {1}, {1}, {2}})).values();
  EXPECT_EQ(even[0], uneven[0]);
}

TEST(ShapeDescriptor, KeepsTwoNumbersForMatching) {
  const LimbGraph graph = make_tree({{}, {0}, {0}, {1}, {1}, {2}, {2}, {2}});
  EXPECT_EQ(local_shape(graph, NodeId(0)), (ShapeDescriptor{1, 2}));
  EXPECT_EQ(local_shape(graph, NodeId(2)), (ShapeDescriptor{1, 3}));
  EXPECT_EQ(local_shape(graph, NodeId(3)), (ShapeDescriptor{1}));
}

TEST(ShapeDescriptor, OfASingleNodeIsOne) {
  const LimbGraph graph = make_tree({{}});
  EXPECT_EQ(shape_descriptors(graph).values(), (std::vector<ShapeDescriptor>{{1}}));
  EXPECT_EQ(local_shape(graph, NodeId(0)), (ShapeDescriptor{1}));
}

}  // namespace
}  // namespace sinew
