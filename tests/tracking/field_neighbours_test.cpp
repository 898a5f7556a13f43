#include <sinew/tracking/field_neighbours.h>
#include <sinew/tracking/fold_plane.h>

#include <cmath>

#include <gtest/gtest.h>

#include <sinew/implicit/compact_support.h>

namespace sinew {
namespace {

constexpr double kRadius = 0.2;

// The field of a ball on a grid; `strength` scales it.
BoneField ball_field(const Vec3d& center, double strength = 1, int nodes = 33) {
  BoneField field;
  field.radius = kRadius;
  const double half = 2.05 * kRadius;
  const Affine3d grid_from_rest(Eigen::Scaling((nodes - 1) / (2 * half)) *
                                Eigen::Translation3d(Vec3d::Constant(half) - center));
  const Affine3d rest_from_grid = grid_from_rest.inverse();
  field.grid = FieldGrid(grid_from_rest, {nodes, nodes, nodes});
  for (int x = 0; x < nodes; ++x)
    for (int y = 0; y < nodes; ++y)
      for (int z = 0; z < nodes; ++z) {
        const Vec3d from = rest_from_grid * Vec3d(x, y, z) - center;
        const double d = from.norm() - kRadius;
        const Vec3d g = from.norm() > 0 ? Vec3d(rest_from_grid.linear().transpose() * from / from.norm() *
                                                strength * compact_support_slope(d, kRadius))
                                        : Vec3d::Zero();
        field.grid.nodes()[field.grid.index(x, y, z)] = {
            static_cast<float>(strength * compact_support(d, kRadius)), static_cast<float>(g.x()),
            static_cast<float>(g.y()), static_cast<float>(g.z())};
      }
  field.grid.bound(0);
  return field;
}

/// Three balls in a row along x, 0.3 apart; transform 2 moves the first, 0 the second, 1 the third. The
/// second is weaker. The first is the parent of the second.
FieldSet three_balls() {
  FieldSet set;
  static const std::vector<BoneField> balls{ball_field({0, 0, 0}), ball_field({0.3, 0, 0}, 0.8),
                                            ball_field({0.6, 0, 0})};
  set.fields = balls;
  set.transform = {2, 0, 1};
  set.tree = CompositionTree(3, {{0, 1, 0}, {3, 2, 0}}, {Operator()});
  set.joints = {{0, 1, Vec3d(0.12, 0, 0)}};
  return set;
}

struct Row {
  Vec3f at;
  std::int32_t own;
  std::vector<Influence> influences;
};

FieldNeighbours find(const FieldSet& set, std::vector<Row> rows) {
  std::vector<PosedField> posed(set.fields.size());
  const std::vector<Affine3d> identity(3, Affine3d::Identity());
  pose_fields(set, identity, posed);
  std::vector<Vec3f> rest;
  std::vector<std::int32_t> own;
  SkinWeights weights;
  WeightRepairs repairs;
  for (Row& row : rows) {
    rest.push_back(row.at);
    own.push_back(row.own);
    append_row(weights, row.influences, 0, repairs);
  }
  return find_field_neighbours(set, posed, rest, own, weights);
}

float value(const FieldSet& set, std::size_t field, const Vec3f& at) {
  return set.fields[field].grid.sample_rest(at.cast<double>()).value;
}

TEST(FieldNeighbours, AreTheFieldsThatCoverAVertexOrMoveIt) {
  const FieldSet set = three_balls();
  const FieldNeighbours found = find(set, {{{0.15f, 0, 0}, 0, {{2, 1.0f}}},  // between the first two
                                           {{-0.2f, 0, 0}, 0, {{2, 1.0f}}},  // far from all others
                                           {{-0.2f, 0, 0}, 0, {{2, 0.7f}, {1, 0.3f}}},
                                           {{0.15f, 0, 0}, -1, {{2, 1.0f}}},  // has no field
                                           {{0.3f, 0, 0}, 1, {{0, 1.0f}}}});  // between all three
  ASSERT_EQ(found.starts.size(), 6u);
  ASSERT_EQ(found[0].size(), 1u);
  EXPECT_EQ(found[0][0].field, 1);
  EXPECT_TRUE(found[1].empty());
  ASSERT_EQ(found[2].size(), 1u);
  EXPECT_EQ(found[2][0].field, 2);  // transform 1 moves the third ball
  EXPECT_TRUE(found[3].empty());
  ASSERT_EQ(found[4].size(), 2u);
  EXPECT_EQ(found[4][0].field, 0);  // ascending
  EXPECT_EQ(found[4][1].field, 2);
}

TEST(FieldNeighbours, WeightsMakeNearAndAreFeltWhole) {
  const FieldSet set = three_balls();
  const Vec3f between(0.15f, 0, 0);
  const FieldNeighbours found = find(set, {{between, 0, {{2, 1.0f}}},
                                           {between, 0, {{2, 0.9f}, {0, 0.1f}}},
                                           {between, 0, {{2, 0.6f}, {0, 0.4f}}},
                                           {{-0.2f, 0, 0}, 0, {{2, 0.95f}, {1, 0.05f}}}});
  // The weaker ball is well above the values at which a field counts as near, though no weight says so.
  ASSERT_GT(value(set, 1, between), 0.4f);
  EXPECT_FLOAT_EQ(found[0][0].nearness, 1);
  EXPECT_FLOAT_EQ(found[0][0].damping, 0);
  EXPECT_GT(found[1][0].damping, 0.2f);
  EXPECT_LT(found[1][0].damping, 0.8f);
  EXPECT_FLOAT_EQ(found[2][0].damping, 1);
  EXPECT_FLOAT_EQ(found[2][0].nearness, 1);
  // Hardly any weight and no value: hardly near, but heard.
  EXPECT_GT(found[3][0].nearness, 0);
  EXPECT_LT(found[3][0].nearness, 0.3f);
  EXPECT_FLOAT_EQ(found[3][0].damping, 1);
}

TEST(FieldNeighbours, NearnessAndDampingFollowTheValueWithoutJumps) {
  const FieldSet set = three_balls();
  std::vector<Row> rows;
  for (int i = 0; i <= 200; ++i)
    rows.push_back({{-0.1f + 0.002f * static_cast<float>(i), 0, 0}, 0, {{2, 1.0f}}});
  const FieldNeighbours found = find(set, rows);
  float near = 0, damping = 1;
  for (std::size_t v = 0; v < rows.size(); ++v) {
    float next_near = 0, next_damping = 1;
    for (const FieldNeighbour& n : found[v])
      if (n.field == 1) next_near = n.nearness, next_damping = n.damping;
    EXPECT_NEAR(next_near, near, 0.06f);
    EXPECT_NEAR(next_damping, damping, 0.06f);
    if (rows[v].at.x() < 0.28f) {
      EXPECT_GE(next_near, near - 1e-6f);
      EXPECT_LE(next_damping, damping + 1e-6f);
    }
    near = next_near, damping = next_damping;
  }
  EXPECT_EQ(near, 1);
  EXPECT_EQ(damping, 0);
}

TEST(FieldNeighbours, OppositeGradientsAtRestCannotOpposeInAFold) {
  const FieldSet set = three_balls();
  // Between two balls their gradients point away from each other; above the middle they agree.
  const FieldNeighbours found = find(set, {{{0.15f, 0, 0}, 0, {{2, 1.0f}}},
                                           {{0.15f, 0.28f, 0}, 0, {{2, 0.5f}, {0, 0.5f}}},
                                           {{0.55f, 0, 0}, 2, {{1, 1.0f}}}});
  ASSERT_EQ(found[1].size(), 1u);
  EXPECT_FLOAT_EQ(found[0][0].rest_opposition, 1);
  EXPECT_LT(found[1][0].rest_opposition, 0.7f);
  EXPECT_GE(found[2].size(), 1u);
}

TEST(FieldNeighbours, RestSideCountsTheJointsBiasNearIt) {
  const FieldSet set = three_balls();
  const Vec3f joint(0.12f, 0, 0), near(0.12f, 0.05f, 0), far(0.12f, 0.2f, 0);
  const FieldNeighbours found = find(set, {{near, 0, {{2, 1.0f}}},
                                           {near, 1, {{0, 1.0f}}},
                                           {far, 0, {{2, 1.0f}}},
                                           {{0.45f, 0.05f, 0}, 1, {{0, 1.0f}}}});
  ASSERT_EQ(found.joint_radius.size(), 1u);
  EXPECT_NEAR(found.joint_radius[0], 0.05f, 1e-6f);
  const float bias = value(set, 0, joint) - value(set, 1, joint);
  EXPECT_GT(bias, 0.05f);
  const auto of = [&](std::size_t v, std::uint16_t field) {
    for (const FieldNeighbour& n : found[v])
      if (n.field == field) return n;
    ADD_FAILURE() << "no neighbour " << field << " of " << v;
    return FieldNeighbour();
  };
  EXPECT_EQ(of(0, 1).joint, 0);
  EXPECT_NEAR(of(0, 1).joint_bias, bias, 1e-5f);
  EXPECT_NEAR(of(1, 0).joint_bias, -bias, 1e-5f);
  const float side = value(set, 0, near) - value(set, 1, near), share = joint_bias_share(0.05f, 0.05f);
  EXPECT_NEAR(of(0, 1).rest_side, side - bias * share, 1e-5f);
  EXPECT_NEAR(of(1, 0).rest_side, -side + bias * share, 1e-5f);
  // Four radii off nothing of it is left.
  EXPECT_NEAR(of(2, 1).rest_side, value(set, 0, far) - value(set, 1, far), 1e-5f);
  EXPECT_NEAR(of(2, 1).joint_bias, bias, 1e-5f);
  // No joint between the second and the third.
  EXPECT_EQ(of(3, 2).joint, -1);
  EXPECT_EQ(of(3, 2).joint_bias, 0);
}

TEST(FieldNeighbours, PlaneSidesAreThoseOfTheJointsPlane) {
  FieldSet set = three_balls();
  // A bend: the parent's middle is at the left of the joint, the child's above it.
  const Vec3f joint(0.12f, 0, 0);
  set.fields[0].samples = {{Vec3d(-0.1, 0.1, 0), Vec3d::UnitY()}, {Vec3d(-0.1, -0.1, 0), -Vec3d::UnitY()}};
  set.fields[1].samples = {{Vec3d(0.12, 0.3, 0), Vec3d::UnitX()}};
  EXPECT_LT((middle_of(set.fields[0]) - Vec3f(-0.1f, 0, 0)).norm(), 1e-6f);
  EXPECT_LT((middle_of(set.fields[1]) - Vec3f(0.12f, 0.3f, 0)).norm(), 1e-6f);
  EXPECT_EQ(middle_of(BoneField()), Vec3f::Zero());
  const Vec3f above(0.12f, 0.05f, 0), left(0.02f, 0, 0), on(0.08f, 0.04f, 0.1f);
  const FieldNeighbours found = find(set, {{above, 0, {{2, 1.0f}}},
                                           {above, 1, {{0, 1.0f}}},
                                           {left, 0, {{2, 1.0f}}},
                                           {left, 1, {{0, 1.0f}}},
                                           {on, 0, {{2, 1.0f}}},
                                           {{0.45f, 0.05f, 0}, 1, {{0, 1.0f}}}});
  const auto of = [&](std::size_t v, std::uint16_t field) {
    for (const FieldNeighbour& n : found[v])
      if (n.field == field) return n;
    ADD_FAILURE() << "no neighbour " << field << " of " << v;
    return FieldNeighbour();
  };
  ASSERT_NEAR(found.joint_radius[0], 0.05f, 1e-6f);
  // The first ball is the parent.
  for (const std::size_t v : {0u, 2u, 4u}) EXPECT_EQ(of(v, 1).plane_sign, -1) << v;
  for (const std::size_t v : {1u, 3u}) EXPECT_EQ(of(v, 0).plane_sign, 1) << v;
  // Way across, in radii, by the slope.
  const float side = FoldPlane::kSlope * (above - joint).dot(Vec3f(1, 1, 0).normalized()) / 0.05f;
  EXPECT_GT(side, 0.5f);
  EXPECT_NEAR(of(0, 1).rest_plane_side, -side, 1e-5f);
  EXPECT_NEAR(of(1, 0).rest_plane_side, side, 1e-5f);
  EXPECT_NEAR(of(2, 1).rest_plane_side, 2 * side, 1e-5f);
  EXPECT_NEAR(of(3, 0).rest_plane_side, -2 * side, 1e-5f);
  EXPECT_NEAR(of(4, 1).rest_plane_side, 0, 1e-5f);
  // Where there is no joint there is no plane.
  EXPECT_EQ(of(5, 2).plane_sign, 0);
  EXPECT_EQ(of(5, 2).rest_plane_side, 0);
}

TEST(FieldNeighbours, JointsAnywhereAndUnusableFieldsAreHarmless) {
  FieldSet set = three_balls();
  set.joints.push_back({1, 2, Vec3d::Constant(std::nan(""))});
  const FieldNeighbours found = find(set, {{{0.45f, 0, 0}, 1, {{0, 1.0f}}}, {{0.45f, 0, 0}, 2, {{1, 1.0f}}}});
  for (const float radius : found.joint_radius) EXPECT_TRUE(std::isfinite(radius) && radius > 0);
  for (const FieldNeighbour& n : found.entries) {
    EXPECT_TRUE(std::isfinite(n.rest_side)) << n.field;
    EXPECT_TRUE(std::isfinite(n.joint_bias)) << n.field;
    EXPECT_TRUE(std::isfinite(n.rest_plane_side)) << n.field;
    EXPECT_EQ(n.plane_sign == 0, n.joint < 0) << n.field;
  }
  // A vertex at the joint itself: a radius of 0 would divide.
  set = three_balls();
  const FieldNeighbours at_joint = find(set, {{{0.12f, 0, 0}, 0, {{2, 1.0f}}}});
  EXPECT_GT(at_joint.joint_radius[0], 0);
  EXPECT_TRUE(std::isfinite(at_joint[0][0].rest_side));
  EXPECT_TRUE(std::isfinite(at_joint[0][0].rest_plane_side));
  // No vertices at all.
  const FieldNeighbours none = find(set, {});
  EXPECT_EQ(none.starts.size(), 1u);
  EXPECT_TRUE(std::isfinite(none.joint_radius[0]));
  // Fields without an inverse count as nothing.
  std::vector<Affine3d> flat(3, Affine3d::Identity());
  flat[2].linear().setZero();
  std::vector<PosedField> posed(3);
  pose_fields(set, flat, posed);
  const std::vector<Vec3f> rest{{0.15f, 0, 0}, {0.15f, 0, 0}};
  const std::vector<std::int32_t> own{0, 1};
  SkinWeights weights;
  WeightRepairs repairs;
  for (std::uint32_t joint : {2u, 0u}) {
    Influence row[1] = {{joint, 1}};
    append_row(weights, row, 0, repairs);
  }
  const FieldNeighbours unusable = find_field_neighbours(set, posed, rest, own, weights);
  EXPECT_TRUE(unusable[0].empty());
  for (const FieldNeighbour& n : unusable[1]) EXPECT_NE(n.field, 0);
}

TEST(SmoothStep, IsFlatAtItsEndsAndSteepBetween) {
  EXPECT_EQ(smooth_step(1.0f, 3.0f, 0.0f), 0);
  EXPECT_EQ(smooth_step(1.0f, 3.0f, 1.0f), 0);
  EXPECT_EQ(smooth_step(1.0f, 3.0f, 2.0f), 0.5f);
  EXPECT_EQ(smooth_step(1.0f, 3.0f, 3.0f), 1);
  EXPECT_EQ(smooth_step(1.0f, 3.0f, 9.0f), 1);
  EXPECT_NEAR(smooth_step(1, 3, 1.02f) / 0.02f, 0, 0.02f);
  EXPECT_EQ(joint_bias_share(0.1f, 0.2f), 1);
  EXPECT_EQ(joint_bias_share(0.2f, 0.2f), 0.5f);
  EXPECT_NEAR(joint_bias_share(0.3f, 0.2f), 0, 1e-6f);
}

TEST(SmoothStep, GradientsOpposeFromARightAngleOn) {
  const Vec3f x = Vec3f::UnitX(), y = Vec3f::UnitY();
  EXPECT_EQ(gradient_cosine(2 * x, 3 * x), 1);
  EXPECT_EQ(gradient_cosine(x, -5 * x), -1);
  EXPECT_EQ(gradient_cosine(x, Vec3f::Zero()), 1);
  EXPECT_EQ(opposition(x, -x), 1);
  EXPECT_EQ(opposition(x, y), 1);
  EXPECT_EQ(opposition(x, x), 0);
  EXPECT_EQ(opposition(x, x + 0.9f * y), 0);
  EXPECT_GT(opposition(x, x + 2 * y), 0.1f);
  EXPECT_EQ(opposition(Vec3f::Zero(), x), 0);
}

}  // namespace
}  // namespace sinew
