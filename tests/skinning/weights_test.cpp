#include <sinew/skinning/weights.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <sinew/skinning/packed_weights.h>

namespace sinew {
namespace {

SkinWeights one_row(std::vector<Influence> row, std::size_t most, WeightRepairs& repairs) {
  SkinWeights weights;
  append_row(weights, row, most, repairs);
  return weights;
}

TEST(Weights, RowIsSortedAndSumsToOne) {
  WeightRepairs repairs;
  const SkinWeights weights = one_row({{4, 0.1f}, {2, 0.6f}, {9, 0.3f}}, 0, repairs);
  EXPECT_EQ(weights.joints, (std::vector<std::uint32_t>{2, 9, 4}));
  EXPECT_FLOAT_EQ(weights.values[0], 0.6f);
  EXPECT_EQ(repairs.rescaled_rows, 0u);
}

TEST(Weights, EqualWeightsKeepTheOrderOfJoints) {
  WeightRepairs repairs;
  EXPECT_EQ(one_row({{7, 0.25f}, {1, 0.25f}, {3, 0.5f}}, 0, repairs).joints,
            (std::vector<std::uint32_t>{3, 1, 7}));
}

TEST(Weights, CutRowsAreRescaled) {
  WeightRepairs repairs;
  const SkinWeights weights = one_row({{0, 0.5f}, {1, 0.3f}, {2, 0.2f}}, 2, repairs);
  ASSERT_EQ(weights.values.size(), 2u);
  EXPECT_FLOAT_EQ(weights.values[0], 0.75f);  // both less by what goes
  EXPECT_FLOAT_EQ(weights.values[1], 0.25f);
}

// Over a surface weights change gradually. So must what is left of them where one joint takes another one's
// place among the heaviest; by plain cutting, the last of them changes hands with a jump.
TEST(Weights, CuttingIsContinuous) {
  constexpr std::size_t kJoints = 7, kMost = 4;
  constexpr int kSteps = 2000;
  WeightRepairs repairs;
  std::vector<float> before(kJoints, 0);
  float largest = 0, largest_by_plain_cutting = 0;
  std::vector<float> plain_before(kJoints, 0);
  for (int step = 0; step <= kSteps; ++step) {
    std::vector<Influence> row;
    for (std::uint32_t j = 0; j < kJoints; ++j)
      row.push_back(
          {j, 0.08f + 0.07f * std::sin(0.004f * static_cast<float>(step) + 2.4f * static_cast<float>(j))});
    row[0].weight += 0.4f;
    std::vector<Influence> plain = row;
    std::sort(plain.begin(), plain.end(), [](const auto& a, const auto& b) { return a.weight > b.weight; });
    plain.resize(kMost);
    float sum = 0;
    for (const Influence& i : plain) sum += i.weight;
    std::vector<float> now(kJoints, 0), plain_now(kJoints, 0);
    for (const Influence& i : plain) plain_now[i.joint] = i.weight / sum;
    const SkinWeights weights = one_row(row, kMost, repairs);
    ASSERT_LE(weights.joints.size(), kMost);
    for (std::size_t k = 0; k < weights.joints.size(); ++k) now[weights.joints[k]] = weights.values[k];
    for (std::size_t j = 0; j < kJoints && step > 0; ++j) {
      largest = std::max(largest, std::abs(now[j] - before[j]));
      largest_by_plain_cutting = std::max(largest_by_plain_cutting, std::abs(plain_now[j] - plain_before[j]));
    }
    before = now, plain_before = plain_now;
  }
  EXPECT_LT(largest, 0.003f);
  EXPECT_GT(largest_by_plain_cutting, 0.05f);  // else there was nothing to see
}

TEST(Weights, CuttingLeavesOneInAnyCase) {
  std::vector<Influence> even{{0, 0.2f}, {1, 0.2f}, {2, 0.2f}, {3, 0.2f}, {4, 0.2f}};
  EXPECT_EQ(cut_smoothly(even, 4).size(), 4u);  // by half of the heaviest only
  std::vector<Influence> light{{0, 0.1f}, {1, 0.05f}};
  EXPECT_EQ(cut_smoothly(light, 2).size(), 2u);
  EXPECT_EQ(cut_smoothly(light, 1).size(), 1u);
  EXPECT_TRUE(cut_smoothly(light, 0).empty());
  EXPECT_TRUE(cut_smoothly({}, 4).empty());
}

TEST(Weights, RepairsAreCounted) {
  WeightRepairs repairs;
  EXPECT_EQ(one_row({{0, 0.5f}, {0, 0.5f}}, 0, repairs).joints.size(), 1u);
  EXPECT_EQ(repairs.merged_duplicates, 1u);
  EXPECT_EQ(one_row({{0, -0.5f}, {1, 1.0f}}, 0, repairs).joints.size(), 1u);
  EXPECT_EQ(repairs.negative_weights, 1u);
  EXPECT_TRUE(one_row({{0, 0.0f}}, 0, repairs).joints.empty());
  EXPECT_EQ(repairs.unweighted_vertices, 1u);
  one_row({{0, 2.0f}}, 0, repairs);
  EXPECT_EQ(repairs.rescaled_rows, 1u);
}

TEST(Weights, PropertiesOfAnyRow) {
  EXPECT_TRUE(rc::check("rows are sorted, unique, positive and sum to 1", [] {
    const auto joints = *rc::gen::container<std::vector<std::uint8_t>>(rc::gen::inRange<std::uint8_t>(0, 12));
    const auto most = *rc::gen::inRange<std::size_t>(0, 6);
    std::vector<Influence> row;
    for (std::uint8_t joint : joints) row.push_back({joint, *rc::gen::inRange(-3, 20) / 10.0f});
    bool any = false;
    for (const Influence& influence : row) any = any || influence.weight > 0;
    WeightRepairs repairs;
    const SkinWeights weights = one_row(row, most, repairs);
    RC_ASSERT(any == !weights.joints.empty());
    if (!any) return;
    RC_ASSERT(most == 0 || weights.joints.size() <= most);
    RC_ASSERT(std::abs(std::accumulate(weights.values.begin(), weights.values.end(), 0.0) - 1) < 1e-6);
    for (std::size_t i = 0; i < weights.values.size(); ++i) {
      RC_ASSERT(weights.values[i] > 0);
      if (i > 0) RC_ASSERT(weights.values[i - 1] >= weights.values[i]);
      for (std::size_t k = 0; k < i; ++k) RC_ASSERT(weights.joints[k] != weights.joints[i]);
    }
  }));
}

TEST(PackedWeights, HoldTheSameRows) {
  SkinWeights weights;
  WeightRepairs repairs;
  for (std::uint32_t v = 0; v < 150; ++v) {
    // The second block is rigid, the others mixed.
    std::vector<Influence> row{{v % 5, 0.5f}};
    if (v < 64 || v >= 128) row.insert(row.end(), {{5 + v % 3, 0.3f}, {9, 0.2f}});
    append_row(weights, row, 0, repairs);
  }
  const PackedWeights packed(weights);
  ASSERT_EQ(packed.blocks().size(), 3u);
  EXPECT_EQ(packed.blocks()[0].influences, 4u);
  EXPECT_EQ(packed.blocks()[1].influences, 1u);
  for (std::size_t v = 0; v < weights.rows(); ++v) {
    const PackedWeights::Block block = packed.blocks()[v / PackedWeights::kBlock];
    for (std::size_t k = 0; k < block.influences; ++k) {
      const std::size_t entry = block.first + k * PackedWeights::kBlock + v % PackedWeights::kBlock;
      if (k < weights.row_size(v)) {
        EXPECT_EQ(packed.joints()[entry], weights.row_joints(v)[k]);
        EXPECT_EQ(packed.weights()[entry], weights.row_values(v)[k]);
      } else {
        EXPECT_EQ(packed.weights()[entry], 0);
      }
    }
  }
  for (const auto& [pivot, other] : packed.joint_pairs()) EXPECT_NE(pivot, other);
  EXPECT_EQ(packed.joint_pairs().size(), 5u * 3 + 5);
}

TEST(SharedWeights, CopiesAreTheSameWeights) {
  SkinWeights rows;
  rows.joints = {3, 1};
  rows.values = {0.75f, 0.25f};
  rows.starts = {0, 2};
  const SharedWeights shared(rows), copy = shared;
  EXPECT_EQ(&*copy, &*shared);
  EXPECT_EQ(*copy, rows);
  EXPECT_EQ(copy->row_joints(0)[1], 1u);
  EXPECT_EQ(SharedWeights()->rows(), 0u);
}

}  // namespace
}  // namespace sinew
