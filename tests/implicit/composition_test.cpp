#include <sinew/implicit/composition.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/implicit/compact_support.h>

#include "tests/reference/implicit_fields.h"
#include "tests/support/sanitized.h"

namespace sinew {
namespace {

using Nodes = std::vector<CompositionTree::Node>;

std::vector<Operator> all_kinds() {
  static OperatorLibrary library(17, 9);
  return {Operator(), library.make(OperatorKind::contact, depth_response(ResponsePreset::elbow)),
          library.make(OperatorKind::bulge, depth_response(ResponsePreset::elbow)),
          library.make(OperatorKind::blend, angle_response(ResponsePreset::elbow))};
}

// Joins two random ones until one is left.
CompositionTree random_tree(std::size_t leaf_count, const std::vector<Operator>& operators,
                            std::mt19937& random) {
  std::vector<std::uint32_t> loose(leaf_count);
  std::iota(loose.begin(), loose.end(), 0u);
  Nodes nodes;
  const auto take = [&] {
    std::swap(loose[std::uniform_int_distribution<std::size_t>(0, loose.size() - 1)(random)], loose.back());
    const std::uint32_t last = loose.back();
    loose.pop_back();
    return last;
  };
  while (loose.size() > 1) {
    const std::uint32_t first = take(), second = take();
    const auto operation = std::uniform_int_distribution<std::uint32_t>(
        0, static_cast<std::uint32_t>(operators.size() - 1))(random);
    loose.push_back(static_cast<std::uint32_t>(leaf_count + nodes.size()));
    nodes.push_back({first, second, operation});
  }
  return CompositionTree(leaf_count, nodes, operators);
}

std::vector<FieldSample> random_samples(std::size_t count, std::mt19937& random) {
  std::uniform_real_distribution<float> value(0.01f, 0.99f), number(-1, 1);
  std::vector<FieldSample> samples;
  for (std::size_t i = 0; i < count; ++i)
    samples.push_back({value(random), {number(random), number(random), number(random)}});
  return samples;
}

FieldSample run(const CompositionTree& tree, std::span<const FieldSample> samples,
                const std::vector<std::uint16_t>& leaves) {
  std::vector<FieldSample> slots;
  for (const std::uint16_t leaf : leaves) slots.push_back(samples[leaf]);
  std::vector<CompositionTree::Step> steps(leaves.empty() ? 0 : leaves.size() - 1);
  tree.prune(leaves, steps);
  for (const CompositionTree::Step& step : steps)
    slots[step.target] = combine(*step.operation, slots[step.target], slots[step.other]);
  return slots.empty() ? FieldSample() : slots[0];
}

TEST(Composition, IsTheTwin) {
  std::mt19937 random(1);
  const std::vector<Operator> operators = all_kinds();
  for (const std::size_t count : {1u, 2u, 3u, 7u, 40u})
    for (int trial = 0; trial < 10; ++trial) {
      const CompositionTree tree = random_tree(count, operators, random);
      EXPECT_EQ(tree.leaf_count(), count);
      EXPECT_EQ(tree.nodes().size(), count - 1);
      const std::vector<FieldSample> samples = random_samples(count, random);
      const FieldSample all = tree.compose(samples);
      const FieldSample twin = reference::compose(tree, samples, std::vector<bool>(count, true));
      EXPECT_EQ(all.value, twin.value);
      EXPECT_EQ(all.gradient, twin.gradient);
    }
}

TEST(Composition, PrunedTreesGiveWhatWholeOnesDo) {
  std::mt19937 random(2);
  const std::vector<Operator> operators = all_kinds();
  std::size_t trials = 0, differ = 0, below_one = 0;
  for (int trial = 0; trial < (test::kSanitized ? 100 : 1000); ++trial) {
    const auto count = std::uniform_int_distribution<std::size_t>(1, 120)(random);
    const CompositionTree tree = random_tree(count, operators, random);
    const std::vector<FieldSample> samples = random_samples(count, random);
    std::vector<std::uint16_t> leaves(count);
    std::iota(leaves.begin(), leaves.end(), std::uint16_t{0});
    std::shuffle(leaves.begin(), leaves.end(), random);
    leaves.resize(
        std::uniform_int_distribution<std::size_t>(0, std::min(count, CompositionTree::kMostLeaves))(random));
    std::sort(leaves.begin(), leaves.end());
    std::vector<FieldSample> others_zero(count);
    std::vector<bool> used(count, false);
    for (const std::uint16_t leaf : leaves) others_zero[leaf] = samples[leaf], used[leaf] = true;

    const FieldSample pruned = run(tree, samples, leaves), whole = tree.compose(others_zero);
    const FieldSample twin = reference::compose(tree, samples, used);
    ASSERT_EQ(pruned.value, whole.value) << count << ' ' << leaves.size();
    ASSERT_EQ(pruned.value, twin.value);
    ++trials;
    differ += pruned.value != tree.compose(samples).value ? 1 : 0;
    // Of two fields that are both 1, a union takes the gradient of either.
    if (pruned.value == 1) continue;
    ++below_one;
    ASSERT_EQ(pruned.gradient, whole.gradient);
    ASSERT_EQ(pruned.gradient, twin.gradient);
  }
  EXPECT_GT(differ, trials / 4);  // the leaves left out mattered
  EXPECT_GT(below_one, trials / 4);
}

TEST(Composition, LeavesThatAreZeroDoNoHarmInAPrunedTree) {
  std::mt19937 random(3);
  const std::vector<Operator> operators = all_kinds();
  for (int trial = 0; trial < 200; ++trial) {
    const CompositionTree tree = random_tree(30, operators, random);
    std::vector<FieldSample> samples = random_samples(30, random);
    std::vector<std::uint16_t> more, fewer;
    for (std::uint16_t leaf = 0; leaf < 30; ++leaf) {
      const auto dice = random() % 3;
      if (dice != 2) samples[leaf] = {};
      if (dice != 0) more.push_back(leaf);
      if (dice == 2) fewer.push_back(leaf);
    }
    const FieldSample a = run(tree, samples, more), b = run(tree, samples, fewer);
    EXPECT_EQ(a.value, b.value);
    EXPECT_EQ(a.gradient, b.gradient);
  }
}

TEST(Composition, StepsUseEverySlotOnce) {
  std::mt19937 random(4);
  const CompositionTree tree = random_tree(200, all_kinds(), random);
  std::vector<std::uint16_t> leaves;
  for (std::uint16_t i = 0; i < CompositionTree::kMostLeaves; ++i)
    leaves.push_back(static_cast<std::uint16_t>(3 * i + 2));
  std::vector<CompositionTree::Step> steps(leaves.size() - 1);
  tree.prune(leaves, steps);
  std::set<int> used_up;
  for (const CompositionTree::Step& step : steps) {
    ASSERT_NE(step.operation, nullptr);
    EXPECT_LT(step.target, step.other);
    EXPECT_LT(step.other, leaves.size());
    EXPECT_EQ(used_up.count(step.target), 0u);
    EXPECT_TRUE(used_up.insert(step.other).second);
  }
  EXPECT_EQ(used_up.size(), leaves.size() - 1);
  EXPECT_EQ(used_up.count(0), 0u);
}

TEST(Composition, UnionsOfEqualFieldsHaveTheirValue) {
  std::mt19937 random(6);
  const CompositionTree tree = random_tree(12, {Operator()}, random);
  std::vector<FieldSample> samples = random_samples(12, random);
  for (FieldSample& sample : samples) sample.value = std::round(sample.value * 3) / 3;
  std::vector<std::uint16_t> leaves(12);
  std::iota(leaves.begin(), leaves.end(), std::uint16_t{0});
  EXPECT_EQ(run(tree, samples, leaves).value, tree.compose(samples).value);
}

TEST(Composition, NoFieldsAndOneField) {
  const CompositionTree none, zero(0, {}, {}), one(1, {}, {});
  EXPECT_EQ(none.compose({}).value, 0);
  EXPECT_EQ(zero.compose({}).value, 0);
  const FieldSample sample{0.4f, {1, 2, 3}};
  EXPECT_EQ(one.compose(std::span(&sample, 1)).gradient, sample.gradient);
  EXPECT_EQ(run(one, std::span(&sample, 1), {0}).value, 0.4f);
  EXPECT_EQ(run(one, std::span(&sample, 1), {}).value, 0);
  none.prune({}, {});
}

TEST(Composition, RejectsWhatIsNoTree) {
  const std::vector<Operator> unions(1);
  EXPECT_NO_THROW(CompositionTree(3, Nodes{{0, 1, 0}, {3, 2, 0}}, unions));
  EXPECT_THROW(CompositionTree(3, Nodes{{0, 1, 0}}, unions), Error);  // a leaf left over
  EXPECT_THROW(CompositionTree(3, Nodes{{0, 1, 0}, {3, 2, 0}, {4, 4, 0}}, unions), Error);  // a node too many
  EXPECT_THROW(CompositionTree(3, Nodes{{0, 1, 0}, {0, 2, 0}}, unions), Error);             // a leaf twice
  EXPECT_THROW(CompositionTree(3, Nodes{{0, 0, 0}, {3, 2, 0}}, unions), Error);             // with itself
  EXPECT_THROW(CompositionTree(3, Nodes{{4, 1, 0}, {0, 2, 0}}, unions), Error);             // a later node
  EXPECT_THROW(CompositionTree(3, Nodes{{3, 1, 0}, {0, 2, 0}}, unions), Error);             // its own child
  EXPECT_THROW(CompositionTree(3, Nodes{{0, 1, 0}, {3, ~0u, 0}}, unions), Error);           // nothing
  EXPECT_THROW(CompositionTree(3, Nodes{{0, 1, 0}, {3, 2, 1}}, unions), Error);             // no operator
  EXPECT_THROW(CompositionTree(0, Nodes{{0, 0, 0}}, unions), Error);
  EXPECT_THROW(CompositionTree(1, Nodes{{0, 0, 0}}, unions), Error);
  EXPECT_THROW(CompositionTree(2, Nodes{}, unions), Error);
}

// Fields of balls; every one overlaps others.
FieldSample ball(const Vec3d& center, const Vec3d& x) {
  const double from = (x - center).norm(), d = from - 0.5;
  return {static_cast<float>(compact_support(d, 0.5)),
          (compact_support_slope(d, 0.5) / from * (x - center)).cast<float>()};
}

TEST(Composition, GradientIsTheDerivative) {
  static OperatorLibrary library(65, 9);
  const double quarter = std::numbers::pi / 4;
  // The response is the same for any angle, since the chain rule leaves the angle's gradient out. Values and
  // slopes of tables are interpolated each for itself, so they agree as well as the table is fine.
  struct Case {
    const char* name;
    Operator operation;
    double tolerance, on_average;
  };
  const Case cases[]{
      {"union", Operator(), 1e-3, 1e-3},
      {"clean union", library.make(OperatorKind::contact, {{0, 1, 2}, {0, 0, 0}, {1, 1}}), 0.1, 0.01},
      {"bulge", library.make(OperatorKind::bulge, {{0, 1, 2}, {0.5, 0.5, 0.5}, {1, 1}}), 0.1, 0.02},
      {"blend",
       library.make(OperatorKind::blend, {{0, 1, 2}, {quarter / 2, quarter / 2, quarter / 2}, {1, 1}}), 0.1,
       0.01}};
  std::mt19937 random(8);
  std::uniform_real_distribution<double> number(-1, 1);
  for (const Case& c : cases) {
    double sum = 0;
    int count = 0, off = 0;
    for (int trial = 0; trial < 40; ++trial) {
      const CompositionTree tree = random_tree(4, {c.operation}, random);
      std::vector<Vec3d> centers;
      for (int i = 0; i < 4; ++i)
        centers.emplace_back(0.5 * Vec3d(number(random), number(random), number(random)));
      const auto composed = [&](const Vec3d& x) {
        std::vector<FieldSample> samples;
        for (const Vec3d& center : centers) samples.push_back(ball(center, x));
        return tree.compose(samples);
      };
      for (int i = 0; i < 50; ++i) {
        const Vec3d x = 0.9 * Vec3d(number(random), number(random), number(random));
        const double h = 1e-3;
        Vec3d difference;
        for (int axis = 0; axis < 3; ++axis)
          difference[axis] = (static_cast<double>(composed(x + h * Vec3d::Unit(axis)).value) -
                              static_cast<double>(composed(x - h * Vec3d::Unit(axis)).value)) /
                             (2 * h);
        const double error = (composed(x).gradient.cast<double>() - difference).norm();
        ++count;
        off += error > c.tolerance ? 1 : 0;
        sum += error;
      }
    }
    // Creases are allowed to fall between the two points of a difference.
    EXPECT_LT(off, 0.02 * count) << c.name;
    EXPECT_LT(sum / count, c.on_average) << c.name;
  }
}

// All leaves below a node.
std::set<std::uint32_t> leaves_below(const CompositionTree& tree, std::uint32_t number) {
  if (number < tree.leaf_count()) return {number};
  const CompositionTree::Node& node = tree.nodes()[number - tree.leaf_count()];
  std::set<std::uint32_t> all = leaves_below(tree, node.first);
  all.merge(leaves_below(tree, node.second));
  return all;
}

// Number of the node where two leaves meet.
std::uint32_t meeting(const CompositionTree& tree, std::uint32_t a, std::uint32_t b) {
  for (std::uint32_t n = 0; n < tree.nodes().size(); ++n) {
    const auto below = leaves_below(tree, static_cast<std::uint32_t>(tree.leaf_count()) + n);
    if (below.count(a) && below.count(b)) return n;
  }
  return ~0u;
}

TEST(Composition, PairsMarkedFirstAreAtTheBottom) {
  // A body with two arms of two parts each; elbows (2-3, 5-6) blend.
  const std::vector<CompositionJoint> joints{
      {0, 1, 1, false}, {1, 2, 1, false}, {2, 3, 2, true}, {1, 4, 1, false}, {4, 5, 2, true}};
  const CompositionTree tree = make_composition_tree(6, joints, all_kinds(), 0);
  EXPECT_EQ(tree.nodes().size(), 5u);
  for (const CompositionJoint& joint : joints) {
    const std::uint32_t node = meeting(tree, joint.parent, joint.child);
    ASSERT_LT(node, tree.nodes().size());
    EXPECT_EQ(tree.nodes()[node].operation, joint.operation);
    if (joint.first) {
      // Nothing but these two leaves.
      EXPECT_LT(tree.nodes()[node].first, 6u);
      EXPECT_LT(tree.nodes()[node].second, 6u);
    }
  }
  EXPECT_LT(std::max(meeting(tree, 2, 3), meeting(tree, 4, 5)),
            std::min({meeting(tree, 0, 1), meeting(tree, 1, 2), meeting(tree, 1, 4)}));
  // Children before parents.
  EXPECT_LT(meeting(tree, 1, 2), meeting(tree, 0, 1));
}

TEST(Composition, AnyTwoFieldsMeet) {
  std::mt19937 random(9);
  for (int trial = 0; trial < 50; ++trial) {
    const auto count = std::uniform_int_distribution<std::uint32_t>(1, 25)(random);
    std::vector<CompositionJoint> joints;
    for (std::uint32_t child = 1; child < count; ++child)
      if (random() % 4 != 0)  // some are roots of their own
        joints.push_back({static_cast<std::uint32_t>(random() % child), child,
                          static_cast<std::uint32_t>(1 + random() % 2), random() % 3 == 0});
    const CompositionTree tree = make_composition_tree(count, joints, all_kinds(), 3);
    std::size_t between = 0;
    for (const CompositionTree::Node& node : tree.nodes()) between += node.operation == 3 ? 1 : 0;
    EXPECT_EQ(between, count - 1 - joints.size());
    for (const CompositionJoint& joint : joints)
      EXPECT_EQ(tree.nodes()[meeting(tree, joint.parent, joint.child)].operation, joint.operation);
    for (std::uint32_t a = 0; a < count; ++a)
      for (std::uint32_t b = 0; b < a; ++b) EXPECT_LT(meeting(tree, a, b), tree.nodes().size());
  }
}

TEST(Composition, FieldsThatNothingConnectMeetLast) {
  const CompositionTree tree =
      make_composition_tree(4, std::vector<CompositionJoint>{{1, 2, 1, false}}, all_kinds(), 0);
  EXPECT_EQ(meeting(tree, 1, 2), 0u);
  EXPECT_EQ(tree.nodes()[0].operation, 1u);
  EXPECT_EQ(tree.nodes()[meeting(tree, 0, 1)].operation, 0u);
  EXPECT_EQ(tree.nodes()[meeting(tree, 3, 2)].operation, 0u);
}

TEST(Composition, RejectsJointsOfNoFields) {
  const std::vector<Operator> unions(1);
  using Joints = std::vector<CompositionJoint>;
  EXPECT_THROW(make_composition_tree(2, Joints{{0, 2, 0, false}}, unions, 0), Error);
  EXPECT_THROW(make_composition_tree(2, Joints{{~0u, 1, 0, true}}, unions, 0), Error);
  EXPECT_THROW(make_composition_tree(0, Joints{{0, 0, 0, true}}, unions, 0), Error);
  EXPECT_THROW(make_composition_tree(2, Joints{{0, 1, 1, false}}, unions, 0), Error);
  EXPECT_THROW(make_composition_tree(2, Joints{}, unions, 1), Error);
  EXPECT_NO_THROW(
      make_composition_tree(2, Joints{{0, 1, 0, false}, {1, 0, 0, true}, {0, 0, 0, false}}, unions, 9));
  EXPECT_EQ(make_composition_tree(0, Joints{}, {}, 0).leaf_count(), 0u);
}

}  // namespace
}  // namespace sinew
