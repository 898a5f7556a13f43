#include <sinew/core/index.h>
#include <sinew/fitting/graph_symmetry.h>

#include <numbers>
#include <ostream>

#include <gtest/gtest.h>

#include "tests/support/limb_graphs.h"

namespace sinew {

void PrintTo(const ArcSymmetry& s, std::ostream* out) {
  *out << "level " << s.level << " type " << static_cast<int>(s.type) << " side " << static_cast<int>(s.side)
       << " number " << s.number;
}

namespace {

/// By number, as arcs are given here.
std::vector<ArcSymmetry> symmetry_of(const LimbGraph& graph, const Mat3d& common_from_graph,
                                     const SymmetryOptions& options = {}) {
  return graph_symmetry(graph, common_from_graph, options).values();
}

using test::make_human;
using test::make_tree;

const ArcSymmetry kAxis{1, SymmetryType::primary};

ArcSymmetry axial(int level, Side side) {
  return {level, SymmetryType::axial, side};
}

ArcSymmetry radial(int level, int number) {
  return {level, SymmetryType::radial, Side::none, number};
}

TEST(GraphSymmetry, OfAHuman) {
  const std::vector<ArcSymmetry> symmetry = symmetry_of(make_human(1.0), Mat3d::Identity());
  EXPECT_EQ(symmetry, (std::vector<ArcSymmetry>{kAxis, axial(2, Side::left), axial(2, Side::right), kAxis,
                                                axial(2, Side::left), axial(2, Side::right)}));
}

TEST(GraphSymmetry, LeavesTheButterflysTailByItself) {
  // Figure 3.10: two wings that part in two; at the body's end two legs and a tail, all of the same shape,
  // and a tail that is longer.
  const LimbGraph graph = make_tree({{-1, {0, 10, 0}},
                                     {0, {0, 8, 0}},
                                     {1, {4, 9, 0}},
                                     {1, {-4, 9, 0}},
                                     {1, {0, 4, 0}},
                                     {4, {1, 3, 0}},
                                     {4, {-1, 3, 0.1}},
                                     {4, {0, 0, 0}},
                                     {2, {6, 11, 0}},
                                     {2, {6, 8, 0}},
                                     {3, {-6, 11, 0}},
                                     {3, {-6, 8, 0}}});
  const std::vector<ArcSymmetry> symmetry = symmetry_of(graph, Mat3d::Identity());
  EXPECT_EQ(symmetry[0], kAxis);
  EXPECT_EQ(symmetry[1], axial(2, Side::left));
  EXPECT_EQ(symmetry[2], axial(2, Side::right));
  EXPECT_EQ(symmetry[3], kAxis);
  EXPECT_EQ(symmetry[4], axial(2, Side::left));
  EXPECT_EQ(symmetry[5], axial(2, Side::right));
  EXPECT_EQ(symmetry[6], kAxis);
  // The wings' parts: across a second symmetry, told apart along y.
  for (const std::size_t upper : {7u, 9u}) {
    EXPECT_EQ(symmetry[upper], axial(3, Side::left));
    EXPECT_EQ(symmetry[upper + 1], axial(3, Side::right));
  }
  // With a wide C the tail and the legs are three of a kind.
  const std::vector<ArcSymmetry> wide = symmetry_of(graph, Mat3d::Identity(), {0.9});
  EXPECT_EQ(wide[6], radial(2, 1));
  EXPECT_EQ(wide[5].type, SymmetryType::radial);
}

TEST(GraphSymmetry, GroupsByTheWholeShape) {
  // Figure 3.8: all equally long; {1, 2, 3} left and right, {1, 2, 2} in the middle.
  std::vector<test::TreeNode> nodes{{-1, {0, 1, 0}}, {0, {0.6, 0.2, 0}}, {0, {0, 0, 0}}, {0, {-0.6, 0.2, 0}}};
  for (const int parent : {1, 1, 4, 4, 5, 2, 2, 9, 10, 3, 3, 13, 14, 14})
    nodes.push_back({parent, nodes[to_size(parent)].position - Vec3d(0, 0.1, 0)});
  const std::vector<ArcSymmetry> symmetry = symmetry_of(make_tree(nodes), Mat3d::Identity());
  EXPECT_EQ(symmetry[0], axial(2, Side::left));
  EXPECT_EQ(symmetry[1], kAxis);
  EXPECT_EQ(symmetry[2], axial(2, Side::right));
}

TEST(GraphSymmetry, NumbersThreeAndMoreByLength) {
  const std::vector<ArcSymmetry> fingers = symmetry_of(
      make_tree({{-1, {0, 10, 0}}, {0, {0, 1, 0}}, {1, {0.2, 0.2, 0}}, {1, {0, 0, 0}}, {1, {-0.2, 0.1, 0}}}),
      Mat3d::Identity());
  EXPECT_EQ(fingers[1], radial(2, 3));
  EXPECT_EQ(fingers[2], radial(2, 1));
  EXPECT_EQ(fingers[3], radial(2, 2));
}

TEST(GraphSymmetry, CutsWhereLengthsDifferMost) {
  // 1.00, 0.94, 0.88, 0.5 with C = 0.1: the first three are within 0.12. The wider gap decides: they part
  // as {1, 0.94, 0.88} and {0.5} first, then where two gaps are as wide, behind the longest.
  const auto down = [](double x, double length) { return test::TreeNode{0, Vec3d(x, -length, 0)}; };
  const LimbGraph graph = make_tree({{}, down(0, 1.0), down(0, 0.93), down(0, 0.88), down(0, 0.5)});
  const std::vector<ArcSymmetry> symmetry = symmetry_of(graph, Mat3d::Identity());
  EXPECT_EQ(symmetry[0], kAxis);
  EXPECT_EQ(symmetry[1].type, SymmetryType::axial);
  EXPECT_EQ(symmetry[2].type, SymmetryType::axial);
  EXPECT_EQ(symmetry[3], kAxis);
}

TEST(GraphSymmetry, WhatIsAloneOffTheAxisHasNone) {
  // A thumb: the only one of its length on a hand that is one of two.
  const LimbGraph graph = make_tree({{-1, {0, 1, 0}},
                                     {0, {1, 0, 0}},
                                     {0, {-1, 0, 0}},
                                     {1, {2, 0, 0}},
                                     {1, {1, 0.3, 0}},
                                     {2, {-2, 0, 0}},
                                     {2, {-1, 0.3, 0}}});
  const std::vector<ArcSymmetry> symmetry = symmetry_of(graph, Mat3d::Identity());
  for (std::size_t a = 2; a < 6; ++a) EXPECT_EQ(symmetry[a], (ArcSymmetry{2, SymmetryType::none}));
}

TEST(GraphSymmetry, LooksAlongTheNearestMainAxis) {
  // From front to back more than to the sides: z decides.
  const auto pair = [](const Vec3d& a, const Vec3d& b) {
    return symmetry_of(make_tree({{}, {0, a}, {0, b}}), Mat3d::Identity());
  };
  EXPECT_EQ(pair({-0.5, 0, 0.8}, {0.5, 0, -0.8})[0].side, Side::left);
  EXPECT_EQ(pair({-0.8, 0, 0.5}, {0.8, 0, -0.5})[0].side, Side::right);
  EXPECT_EQ(pair({0, -1, 0}, {0.2, 1, 0})[1].side, Side::left);
}

TEST(GraphSymmetry, IsTheSameWhereverACharacterLooks) {
  const LimbGraph human = make_human(0.8);
  const std::vector<ArcSymmetry> expected = symmetry_of(human, Mat3d::Identity());
  for (int k = 0; k < 8; ++k) {
    const Mat3d turn =
        Eigen::AngleAxisd(k * std::numbers::pi / 4 + 0.1, Vec3d(0.2, 1, 0.1).normalized()).toRotationMatrix();
    EXPECT_EQ(symmetry_of(test::moved(human, turn, 3, Vec3d(1, 2, 3)), turn.transpose()), expected);
  }
}

TEST(GraphSymmetry, OfOneNodeAndOfOneArc) {
  EXPECT_TRUE(symmetry_of(make_tree({{}}), Mat3d::Identity()).empty());
  EXPECT_EQ(symmetry_of(make_tree({{}, {0, {0, 1, 0}}}), Mat3d::Identity()),
            (std::vector<ArcSymmetry>{kAxis}));
  // Nothing has any length: all the same.
  EXPECT_EQ(symmetry_of(make_tree({{}, {0}, {0}}), Mat3d::Identity()).size(), 2u);
}

}  // namespace
}  // namespace sinew
