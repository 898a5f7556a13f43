#include <sinew/contact/contact_sides.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/implicit/compact_support.h>

namespace sinew {
namespace {

constexpr double kRadius = 0.2;

/// The field of a capsule about a segment along y, exact at the nodes of a grid that ends where it is zero.
BoneField capsule_field(const Vec3d& from, double length, int nodes = 17) {
  BoneField field;
  field.radius = kRadius;
  const double reach = 2.05 * kRadius;  // the support and a hair
  const Vec3d low = from - Vec3d::Constant(reach), size = Vec3d(0, length, 0) + Vec3d::Constant(2 * reach);
  const Affine3d grid_from_rest(
      Eigen::Scaling(Vec3d((nodes - 1) / size.x(), (nodes - 1) / size.y(), (nodes - 1) / size.z())) *
      Eigen::Translation3d(-low));
  field.grid = FieldGrid(grid_from_rest, {nodes, nodes, nodes});
  for (int x = 0; x < nodes; ++x)
    for (int y = 0; y < nodes; ++y)
      for (int z = 0; z < nodes; ++z) {
        Vec3d at = low + size.cwiseProduct(Vec3d(x, y, z)) / (nodes - 1) - from;
        at.y() -= std::clamp(at.y(), 0.0, length);
        field.grid.nodes()[field.grid.index(x, y, z)] = {
            static_cast<float>(compact_support(at.norm() - kRadius, kRadius)), 0, 0, 0};
      }
  field.grid.bound(0);
  return field;
}

SkinWeights weights_of(const std::vector<std::vector<Influence>>& rows) {
  SkinWeights weights;
  for (const auto& row : rows) {
    for (const Influence& i : row) {
      weights.joints.push_back(i.joint);
      weights.values.push_back(i.weight);
    }
    weights.starts.push_back(static_cast<std::uint32_t>(weights.joints.size()));
  }
  return weights;
}

/// Fields in a row along x, each moved by the transform of its number.
FieldSet fields_in_a_row(int count, double distance, double length = 0.6, int nodes = 17) {
  FieldSet set;
  for (int i = 0; i < count; ++i) {
    set.fields.push_back(capsule_field({i * distance, 0, 0}, length, nodes));
    set.transform.push_back(static_cast<std::uint32_t>(i));
  }
  return set;
}

std::vector<PosedField> posed_at_rest(const FieldSet& set, std::size_t transforms = 0) {
  std::vector<PosedField> posed(set.fields.size());
  pose_fields(set, std::vector<Affine3d>(std::max(transforms, set.fields.size()), Affine3d::Identity()),
              posed);
  return posed;
}

/// The numbers of the present fields.
std::vector<int> numbers(const ContactSides::Present& present) {
  return {present.fields, present.fields + present.count};
}

const Vec3f kEverywhereLow = Vec3f::Constant(-100), kEverywhereHigh = Vec3f::Constant(100);

// Two capsules that overlap: vertex 0 is the first one's, vertex 1 the second one's.
class TwoCapsules : public ::testing::Test {
 protected:
  const FieldSet set_ = fields_in_a_row(2, 0.3);
  const SkinWeights weights_ = weights_of({{{0, 1}}, {{1, 1}}});
  const ContactSides sides_{weights_, set_, {}};
  const std::vector<PosedField> posed_ = posed_at_rest(set_);
  const ContactSides::Present present_ = sides_.present(posed_, kEverywhereLow, kEverywhereHigh);

  float side(std::uint32_t vertex, const Vec3f& at) const {
    return sides_.side(vertex, posed_, present_, at);
  }
};

TEST_F(TwoCapsules, SeeTheSameContactEachFromItsSide) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> x(-0.2f, 0.5f), y(-0.2f, 0.8f), z(-0.2f, 0.2f);
  for (int i = 0; i < 500; ++i) {
    const Vec3f at(x(random), y(random), z(random));
    const float first = posed_[0].sample(at).value, second = posed_[1].sample(at).value;
    EXPECT_NEAR(side(0, at), first - second, 1e-6);
    EXPECT_NEAR(side(0, at), -side(1, at), 1e-6);
  }
}

TEST_F(TwoCapsules, OwnSideIsPositiveAndTheOtherNegative) {
  EXPECT_GT(side(0, {0, 0.3f, 0}), 0.4f);
  EXPECT_LT(side(0, {0.3f, 0.3f, 0}), -0.4f);
  EXPECT_NEAR(side(0, {0.15f, 0.3f, 0}), 0, 1e-3);
  EXPECT_NEAR(side(0, {0.15f, 0.3f, 0.1f}), 0, 1e-3);
  EXPECT_GT(side(0, {0.14f, 0.3f, 0}), 0.01f);
  EXPECT_LT(side(0, {0.16f, 0.3f, 0}), -0.01f);
  EXPECT_EQ(side(0, {50, 0, 0}), 0);  // where there is no field
}

TEST_F(TwoCapsules, FollowThePose) {
  const Affine3d moved(Eigen::Translation3d(7, -3, 2) * Eigen::AngleAxisd(1, Vec3d(1, 2, 3).normalized()));
  std::vector<PosedField> posed(2);
  pose_fields(set_, std::vector<Affine3d>(2, moved), posed);
  const ContactSides::Present present = sides_.present(posed, kEverywhereLow, kEverywhereHigh);
  for (const Vec3f& at : {Vec3f(0, 0.3f, 0), Vec3f(0.2f, 0.1f, 0.05f), Vec3f(0.3f, 0.5f, 0.1f)})
    EXPECT_NEAR(sides_.side(0, posed, present, (moved * at.cast<double>()).cast<float>()), side(0, at), 1e-4);
}

TEST_F(TwoCapsules, FieldsThatCannotBeInvertedAreNotThere) {
  std::vector<PosedField> posed = posed_;
  posed[1].usable = false;
  const ContactSides::Present present = sides_.present(posed, kEverywhereLow, kEverywhereHigh);
  EXPECT_EQ(numbers(present), std::vector<int>{0});
  ContactSides::Present all;
  all.all = true;
  for (const Vec3f& at : {Vec3f(0, 0.3f, 0), Vec3f(0.15f, 0.3f, 0), Vec3f(0.3f, 0.3f, 0)}) {
    EXPECT_GE(sides_.side(0, posed, present, at), 0);
    EXPECT_EQ(sides_.side(0, posed, all, at), sides_.side(0, posed, present, at));
  }
}

TEST(ContactSides, SharesGrowFromNothingToAllWithTheWeight) {
  const FieldSet set = fields_in_a_row(2, 0.3);
  const std::vector<PosedField> posed = posed_at_rest(set);
  ContactParams params;
  params.own_from = 0.2f;
  params.own_wholly = 0.7f;
  // The second bone's weight as a share of the first one's, and how far its field is the vertex's own.
  const std::vector<std::pair<float, float>> steps{{0, 0},        {0.1f, 0},    {0.2f, 0}, {0.3f, 0.2f},
                                                   {0.45f, 0.5f}, {0.6f, 0.8f}, {0.7f, 1}, {1, 1}};
  std::vector<std::vector<Influence>> rows;
  for (const auto& [weight, share] : steps)
    rows.push_back({{0, 1 / (1 + weight)}, {1, weight / (1 + weight)}});
  const ContactSides sides(weights_of(rows), set, params);
  const ContactSides::Present present = sides.present(posed, kEverywhereLow, kEverywhereHigh);
  std::mt19937 random(2);
  std::uniform_real_distribution<float> number(-0.2f, 0.5f);
  for (std::uint32_t v = 0; v < steps.size(); ++v)
    for (int i = 0; i < 40; ++i) {
      const Vec3f at(number(random), 0.3f + 0.2f * number(random), 0.2f * number(random));
      const float first = posed[0].sample(at).value, second = posed[1].sample(at).value, a = steps[v].second;
      const float expected = std::max(first, second - 1 + a) - std::max(first - 1, second - a);
      EXPECT_NEAR(sides.side(v, posed, present, at), expected, 1e-6) << v;
    }
  // Wholly own: nowhere is another side.
  EXPECT_GT(sides.side(7, posed, present, {0.3f, 0.3f, 0}), 0.9f);
}

TEST(ContactSides, WeightsOfTransformsThatMoveTheSameFieldAddUp) {
  FieldSet set = fields_in_a_row(2, 0.3);
  // The second field also is that of transforms 2 and 3; transform 4 has none, and 5 is unknown.
  set.field_of_transform = {0, 1, 1, 1, -1};
  const std::vector<PosedField> posed = posed_at_rest(set);
  ContactParams params;
  params.own_from = 0.1f;
  params.own_wholly = 0.6f;
  const ContactSides sides(weights_of({{{0, 0.7f}, {1, 0.1f}, {2, 0.15f}, {3, 0.05f}},
                                       {{0, 0.7f}, {1, 0.3f}},
                                       {{4, 0.9f}, {0, 0.1f}},
                                       {{0, 1}},
                                       {{4, 0.5f}, {5, 0.5f}},
                                       {}}),
                           set, params);
  const ContactSides::Present present = sides.present(posed, kEverywhereLow, kEverywhereHigh);
  for (const float x : {-0.1f, 0.0f, 0.1f, 0.15f, 0.2f, 0.3f, 0.4f}) {
    const Vec3f at(x, 0.3f, 0);
    EXPECT_NEAR(sides.side(0, posed, present, at), sides.side(1, posed, present, at), 1e-6);
    EXPECT_EQ(sides.side(2, posed, present, at), sides.side(3, posed, present, at));
    // Nothing is own: there is the other side wherever there is a field.
    for (const std::uint32_t v : {4u, 5u}) {
      const float most = std::max(posed[0].sample(at).value, posed[1].sample(at).value);
      EXPECT_FLOAT_EQ(sides.side(v, posed, present, at), most - 1 - most);
    }
  }
}

TEST(ContactSides, PresentAreTheFieldsThatReachABox) {
  const FieldSet set = fields_in_a_row(5, 1);
  const std::vector<PosedField> posed = posed_at_rest(set);
  const ContactSides sides(weights_of({{{0, 1}}}), set, {});
  EXPECT_EQ(numbers(sides.present(posed, {-0.1f, 0, -0.1f}, {0.1f, 0.2f, 0.1f})), std::vector<int>{0});
  EXPECT_EQ(numbers(sides.present(posed, {0.9f, 0, 0}, {3.1f, 0, 0})), (std::vector<int>{1, 2, 3}));
  EXPECT_TRUE(numbers(sides.present(posed, {0, 5, 0}, {9, 6, 0})).empty());
  EXPECT_EQ(numbers(sides.present(posed, kEverywhereLow, kEverywhereHigh)).size(), 5u);
  EXPECT_FALSE(sides.present(posed, kEverywhereLow, kEverywhereHigh).all);
}

// A field that is zero in a box counts as zero there, whether it is looked at or not: else vertices jump when
// a far field's box comes near. Disabled: side() leaves out of both maxima what is not present.
TEST(ContactSides, FieldsThatDoNotReachABoxMakeNoDifferenceInIt) {
  const FieldSet set = fields_in_a_row(4, 0.35);
  const std::vector<PosedField> posed = posed_at_rest(set);
  const ContactSides sides(weights_of({{{0, 1}}, {{1, 1}}, {{0, 0.7f}, {1, 0.3f}}}), set, {});
  ContactSides::Present all;
  all.all = true;
  std::mt19937 random(3);
  std::uniform_real_distribution<float> x(-0.3f, 1.4f), y(-0.2f, 0.8f);
  for (int i = 0; i < 100; ++i) {
    const Vec3f at(x(random), y(random), 0.1f);
    const ContactSides::Present present = sides.present(posed, at, at);
    for (const std::uint32_t v : {0u, 1u, 2u})
      EXPECT_FLOAT_EQ(sides.side(v, posed, present, at), sides.side(v, posed, all, at)) << v << ' ' << at.x();
  }
}

TEST(ContactSides, MoreFieldsThanFitInAListAreNotLost) {
  constexpr int kMany = static_cast<int>(ContactSides::Present::kMost) + 6;
  // All in one place, but for the last one.
  FieldSet set = fields_in_a_row(kMany, 0, 0.6, 5);
  set.fields.back() = capsule_field({0.3, 0, 0}, 0.6, 5);
  const std::vector<PosedField> posed = posed_at_rest(set);
  const auto last = static_cast<std::uint32_t>(kMany - 1);
  const ContactSides sides(weights_of({{{last, 1}}, {{0, 1}}}), set, {});
  const ContactSides::Present present = sides.present(posed, kEverywhereLow, kEverywhereHigh);
  EXPECT_TRUE(present.all);
  EXPECT_GT(sides.side(0, posed, present, {0.3f, 0.3f, 0}), 0.1f);
  EXPECT_LT(sides.side(0, posed, present, {0, 0.3f, 0}), -0.1f);
  EXPECT_LT(sides.side(1, posed, present, {0.3f, 0.3f, 0}), -0.1f);
  // Exactly as many as fit.
  const std::vector<PosedField> fit(posed.begin(), posed.begin() + ContactSides::Present::kMost);
  const ContactSides::Present full = sides.present(fit, kEverywhereLow, kEverywhereHigh);
  EXPECT_FALSE(full.all);
  EXPECT_EQ(full.count, ContactSides::Present::kMost);
}

TEST(ContactSides, SmallPartsAreHarderAndSoftnessHalves) {
  FieldSet set = fields_in_a_row(4, 1);
  set.fields[1].radius = kRadius / 2;
  set.fields[2].radius = kRadius / 8;
  ContactParams params;
  params.hardness = 0.5f;
  params.hard_below = 0.5f;
  std::vector<float> strengths = field_strengths(set, params);
  ASSERT_EQ(strengths.size(), 4u);
  EXPECT_FLOAT_EQ(strengths[0], 1);
  EXPECT_FLOAT_EQ(strengths[1], 1);
  EXPECT_FLOAT_EQ(strengths[2], 2);  // a quarter of what counts as small: the root of four
  set.softness = {1, 0, -1, 0.5f};
  strengths = field_strengths(set, params);
  EXPECT_FLOAT_EQ(strengths[0], 0.5f);
  EXPECT_FLOAT_EQ(strengths[1], 1);
  EXPECT_FLOAT_EQ(strengths[2], 4);
  EXPECT_FLOAT_EQ(strengths[3], std::sqrt(0.5f));
}

// Two equal capsules meet in the middle; where one is soft, at the skin of the other one.
TEST(ContactSides, SoftPartsGiveWay) {
  FieldSet set = fields_in_a_row(2, 0.3);
  const std::vector<PosedField> posed = posed_at_rest(set);
  const auto contact = [&](float softness) {  // on the line between the bones
    set.softness = {softness, 0};
    const ContactSides sides(weights_of({{{0, 1}}, {{1, 1}}}), set, {});
    const ContactSides::Present present = sides.present(posed, kEverywhereLow, kEverywhereHigh);
    float low = 0, high = 0.3f;
    for (int i = 0; i < 30; ++i) {
      const float middle = (low + high) / 2;
      const float side = sides.side(0, posed, present, {middle, 0.3f, 0});
      EXPECT_NEAR(sides.side(1, posed, present, {middle, 0.3f, 0}), -side, 1e-6);  // both skins stop there
      (side > 0 ? low : high) = middle;
    }
    return low;
  };
  EXPECT_NEAR(contact(0), 0.15f, 2e-3);
  EXPECT_LT(contact(0.5f), 0.14f);
  EXPECT_GT(contact(-0.5f), 0.16f);
  EXPECT_LT(contact(1), 0.3f - kRadius + 0.02f);
}

TEST(ContactSides, RefusesMoreFieldsThanItCanNumber) {
  FieldSet set;
  set.fields.resize(0x10000);
  set.transform.resize(set.fields.size());
  EXPECT_THROW(ContactSides(weights_of({{{0, 1}}}), set, {}), Error);
  set.fields.pop_back();
  set.transform.pop_back();
  EXPECT_NO_THROW(ContactSides(weights_of({{{0, 1}}}), set, {}));
}

}  // namespace
}  // namespace sinew
