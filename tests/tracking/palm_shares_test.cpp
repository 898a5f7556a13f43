#include <sinew/tracking/palm_shares.h>

#include <gtest/gtest.h>

namespace sinew {
namespace {

/// Fields 0 to 2 are of one palm, 3 of none, 4 and 5 of another; transform t moves field t, and transform 6
/// something of field 1's.
struct Hands {
  Hands() {
    fields.fields.resize(6);
    for (std::uint32_t f = 0; f < 6; ++f) fields.transform.push_back(f);
    fields.field_of_transform = {0, 1, 2, 3, 4, 5, 1, -1};
    chains.palm_of = {0, 0, 0, -1, 4, 4};
  }
  void add(std::int32_t owner, std::vector<std::uint32_t> joints, std::vector<float> values) {
    own.push_back(owner);
    weights.joints.insert(weights.joints.end(), joints.begin(), joints.end());
    weights.values.insert(weights.values.end(), values.begin(), values.end());
    weights.starts.push_back(static_cast<std::uint32_t>(weights.joints.size()));
  }
  PalmShares shares() const { return find_palm_shares(fields, chains, own, weights); }

  FieldSet fields;
  LiftChains chains;
  std::vector<std::int32_t> own;
  SkinWeights weights;
};

TEST(PalmShares, AreTheWeightsOnThePalmsBones) {
  Hands hands;
  hands.add(0, {0, 1, 3, 4}, {0.3f, 0.1f, 0.4f, 0.2f});
  const PalmShares shares = hands.shares();
  ASSERT_EQ(shares[0].size(), 2u);
  EXPECT_EQ(shares[0][0].field, 0);
  EXPECT_FLOAT_EQ(shares[0][0].share, 0.75f);
  EXPECT_EQ(shares[0][1].field, 1);
  EXPECT_FLOAT_EQ(shares[0][1].share, 0.25f);
}

TEST(PalmShares, TransformsOfOneFieldCountTogether) {
  Hands hands;
  hands.add(2, {6, 2, 1, 7}, {0.2f, 0.5f, 0.1f, 0.2f});
  const PalmShares shares = hands.shares();
  ASSERT_EQ(shares[0].size(), 2u);
  EXPECT_EQ(shares[0][0].field, 1);
  EXPECT_FLOAT_EQ(shares[0][0].share, 0.375f);
  EXPECT_FLOAT_EQ(shares[0][1].share, 0.625f);
}

TEST(PalmShares, NoneForSkinOfOneBoneAlone) {
  Hands hands;
  hands.add(0, {0, 3}, {0.6f, 0.4f});
  hands.add(3, {3, 0, 1}, {0.6f, 0.2f, 0.2f});
  hands.add(-1, {0, 1}, {0.5f, 0.5f});
  hands.add(1, {0, 1}, {0, 1});
  hands.add(5, {5, 4}, {0.5f, 0.5f});
  const PalmShares shares = hands.shares();
  for (std::size_t v = 0; v < 4; ++v) EXPECT_TRUE(shares[v].empty()) << v;
  EXPECT_EQ(shares[4].size(), 2u);
}

TEST(PalmShares, OwnSampleIsTheMean) {
  const auto sample = [](std::size_t field) {
    const float value = field == 1 ? 0.8f : 0.4f;
    return FieldSample{value, Vec3f(value, 0, static_cast<float>(field))};
  };
  EXPECT_EQ(own_sample(1, {}, sample).value, 0.8f);
  const std::vector<PalmShare> shares{{1, 0.25f}, {3, 0.75f}};
  const FieldSample mean = own_sample(1, shares, sample);
  EXPECT_FLOAT_EQ(mean.value, 0.5f);
  EXPECT_NEAR((mean.gradient - Vec3f(0.5f, 0, 2.5f)).norm(), 0, 1e-6f);
}

}  // namespace
}  // namespace sinew
