#include <sinew/tracking/bone_lift.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <tuple>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>
#include <Eigen/SVD>

#include <sinew/character/character.h>
#include <sinew/character/performer.h>
#include <sinew/core/error.h>
#include <sinew/core/rotation.h>
#include <sinew/implicit/compact_support.h>
#include <sinew/layers/character_fields.h>
#include <sinew/models/models.h>
#include <sinew/scene/gltf.h>

#include "tests/reference/bone_lift.h"
#include "tests/support/assets.h"
#include "tests/support/sanitized.h"
#include "tests/support/shared_models.h"

namespace sinew {
namespace {

using reference::FieldValues;

// A thick limb and a thin one, in metres. Edges of the thick one's skin are fine enough for the thin one to
// dent it.
constexpr double kThick = 0.3;
constexpr double kThin = 0.1;
constexpr double kFineEdge = 0.06;
// How high above the thick one's bone the thin one's is out of it: half of its own radius above the skin.
constexpr double kOut = kThick + 0.5 * kThin;

/// A bone with round flesh about it.
struct Limb {
  Vec3d head;
  std::vector<Vec3d> tails;
  double radius = kThin;
  int parent = -1;
  double edge = 0;  // of its skin, about; 0: fine enough for all
};

/// Capsules with one field, one transform and one bone each; skin is blended where limbs hang together.
struct Body {
  std::vector<Vec3f> positions;
  std::vector<Triangle> triangles;
  std::vector<std::int32_t> own;
  SkinWeights weights;
  std::shared_ptr<FieldSet> fields = std::make_shared<FieldSet>();

  explicit Body(const std::vector<Limb>& limbs) {
    for (std::size_t f = 0; f < limbs.size(); ++f) add(limbs[f], static_cast<std::uint32_t>(f));
  }

  std::size_t size() const { return fields->fields.size(); }
  MeshView mesh() const { return {positions, triangles}; }
  std::vector<Affine3d> rest() const { return std::vector<Affine3d>(size(), Affine3d::Identity()); }
  BoneLift lift(double share = 1) const { return BoneLift(mesh(), own, fields, weights, size(), share); }
  LiftChains chains() const { return make_lift_chains(mesh(), own, *fields, size()); }

  /// By linear blending.
  std::vector<Vec3f> skin(std::span<const Affine3d> posed) const {
    std::vector<Vec3f> result;
    for (std::size_t v = 0; v < positions.size(); ++v) {
      Vec3d at = Vec3d::Zero();
      for (std::size_t k = 0; k < weights.row_size(v); ++k)
        at += static_cast<double>(weights.row_values(v)[k]) *
              (posed[weights.row_joints(v)[k]] * positions[v].cast<double>());
      result.push_back(at.cast<float>());
    }
    return result;
  }

  Vec3d head(std::size_t f) const { return fields->fields[f].segments[0].head; }
  Vec3d tail(std::size_t f) const { return fields->fields[f].segments[0].tail; }
  /// Value of a posed field.
  double value(std::size_t f, std::span<const Affine3d> posed, const Vec3d& at) const {
    return fields->fields[f].value(posed[f].inverse() * at);
  }
  /// The most that a bone has of another one's field.
  double deepest(std::size_t bone, std::size_t other, std::span<const Affine3d> posed) const {
    double most = 0;
    for (int k = 0; k <= 20; ++k)
      most = std::max(
          most, value(other, posed, posed[bone] * Vec3d(head(bone) + k / 20.0 * (tail(bone) - head(bone)))));
    return most;
  }

 private:
  void add(const Limb& limb, std::uint32_t f) {
    Vec3d tail = Vec3d::Zero();
    for (const Vec3d& t : limb.tails) tail += t / static_cast<double>(limb.tails.size());
    const Vec3d along = (tail - limb.head).normalized();
    const Vec3d side = along.unitOrthogonal(), up = along.cross(side);
    const double length = (tail - limb.head).norm(), r = limb.radius;
    const double edge = limb.edge > 0 ? limb.edge : std::min(kFineEdge, r / 3);
    const int around = std::max(8, static_cast<int>(std::ceil(2 * std::numbers::pi * r / edge)));
    const int cap = around / 4, rows = std::max(1, static_cast<int>(std::ceil(length / edge)));

    const auto first = static_cast<std::uint32_t>(positions.size());
    std::vector<Vec3d> normals(positions.size(), Vec3d::Zero());
    const auto add_vertex = [&](const Vec3d& normal, double at) {
      positions.push_back((limb.head + at * along + r * normal).cast<float>());
      normals.push_back(normal);
      own.push_back(static_cast<std::int32_t>(f));
      // Half of it at the joint, where its parent takes over.
      Influence row[2] = {{f, 1}, {static_cast<std::uint32_t>(std::max(limb.parent, 0)), 0}};
      const double beyond = normal.dot(along) * r + at;
      if (limb.parent >= 0) row[1].weight = static_cast<float>(std::clamp(0.5 - beyond / (2 * r), 0.0, 1.0));
      row[0].weight = 1 - row[1].weight;
      WeightRepairs repairs;
      append_row(weights, row, 0, repairs);
    };
    std::vector<std::pair<double, double>> rings;  // latitude, place along the bone
    for (int k = 1; k <= cap; ++k) rings.emplace_back(-std::numbers::pi / 2 * (cap - k) / cap, 0);
    for (int k = 1; k < rows; ++k) rings.emplace_back(0, length * k / rows);
    for (int k = 0; k < cap; ++k) rings.emplace_back(std::numbers::pi / 2 * k / cap, length);
    add_vertex(-along, 0);
    for (const auto& [latitude, at] : rings)
      for (int i = 0; i < around; ++i) {
        const double turn = 2 * std::numbers::pi * i / around;
        add_vertex(
            std::sin(latitude) * along + std::cos(latitude) * (std::cos(turn) * side + std::sin(turn) * up),
            at);
      }
    add_vertex(along, length);

    BonePart part;
    const auto add_triangle = [&](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
      part.triangles.push_back(static_cast<std::uint32_t>(triangles.size()));
      triangles.push_back({first + a, first + b, first + c});
    };
    const auto n = static_cast<std::uint32_t>(around), count = static_cast<std::uint32_t>(rings.size());
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t j = (i + 1) % n, top = 1 + (count - 1) * n;
      add_triangle(0, 1 + j, 1 + i);
      for (std::uint32_t k = 0; k + 1 < count; ++k) {
        const std::uint32_t low = 1 + k * n, high = low + n;
        add_triangle(low + i, low + j, high + j);
        add_triangle(low + i, high + j, high + i);
      }
      add_triangle(top + i, top + j, 1 + count * n);
    }
    for (const Vec3d& t : limb.tails) part.segments.push_back({limb.head, t, false, false, Vec3d::Zero()});
    BoneFieldOptions options;
    options.samples = 60;
    options.grid_nodes = 12000;
    fields->fields.push_back(make_bone_field(mesh(), normals, part, options));
    fields->transform.push_back(f);
    if (limb.parent >= 0) fields->joints.push_back({static_cast<std::uint32_t>(limb.parent), f, limb.head});
  }
};

/// A thick limb (0) and, 10 m away, a thin one (1), both along x.
Body thick_and_thin() {
  return Body(
      {{Vec3d(-0.6, 0, 0), {Vec3d(0.6, 0, 0)}, kThick}, {Vec3d(-0.3, 10, 0), {Vec3d(0.3, 10, 0)}, kThin}});
}

/// The thin one at a height over the thick one's bone. Its skin is at kThick.
std::vector<Affine3d> thin_at(double height) {
  return {Affine3d::Identity(), Affine3d(Eigen::Translation3d(0, height - 10, 0))};
}

/// 0: a thick limb. 1 to 3: a thin row of three, 10 m above, whose last bone is in the middle at rest.
Body thick_and_row() {
  std::vector<Limb> limbs{{Vec3d(-0.6, 0, 0), {Vec3d(0.6, 0, 0)}, kThick}};
  for (int k = 0; k < 3; ++k)
    limbs.push_back({Vec3d(-1.3 + 0.5 * k, 10, 0), {Vec3d(-0.8 + 0.5 * k, 10, 0)}, kThin, k == 0 ? -1 : k});
  return Body(limbs);
}

Affine3d turned_about(const Vec3d& place, double degrees, const Vec3d& axis) {
  return Eigen::Translation3d(place) *
         Eigen::AngleAxisd(degrees * std::numbers::pi / 180, axis.normalized()) *
         Eigen::Translation3d(-place);
}

/// The row so low that its last bone, bent by some degrees towards the thick limb's bone, dips into it.
std::vector<Affine3d> row_at(const Body& body, double height, double degrees) {
  const Affine3d down(Eigen::Translation3d(0, height - 10, 0));
  return {Affine3d::Identity(), down, down, down * turned_about(body.head(3), -degrees, Vec3d::UnitZ())};
}

struct Lifted {
  bool as_posed = false;  // the very span that was given
  std::vector<Affine3d> transforms;
  std::vector<Vec3f> positions;
};

Lifted lift(const BoneLift& lifter, const std::vector<Affine3d>& posed, std::vector<Vec3f> positions = {}) {
  BoneLiftScratch scratch = lifter.make_scratch();
  const std::span<const Affine3d> lifted = lifter.lift(posed, scratch, positions);
  return {lifted.data() == posed.data(), {lifted.begin(), lifted.end()}, positions};
}

Lifted lift(const Body& body, const std::vector<Affine3d>& posed, double share = 1) {
  return lift(body.lift(share), posed, body.skin(posed));
}

bool same(const Affine3d& a, const Affine3d& b) {
  return a.matrix() == b.matrix();
}

void expect_as_posed(const Body& body, const std::vector<Affine3d>& posed, const std::string& what) {
  const Lifted lifted = lift(body, posed);
  EXPECT_TRUE(lifted.as_posed) << what;
  EXPECT_TRUE(lifted.positions == body.skin(posed)) << what;
}

/// How far the lift moves a bone's middle.
Vec3d moved(const Body& body, std::size_t f, const std::vector<Affine3d>& posed, const Lifted& lifted) {
  const Vec3d middle = (body.head(f) + body.tail(f)) / 2;
  return lifted.transforms[f] * middle - posed[f] * middle;
}

TEST(BoneLift, LeavesBonesOutsideOfOtherFlesh) {
  const Body body = thick_and_thin();
  expect_as_posed(body, body.rest(), "at rest");
  expect_as_posed(body, thin_at(2), "apart");
  // In the field, but half a thin radius above the skin.
  expect_as_posed(body, thin_at(kOut + 0.005), "near");
  EXPECT_GT(body.deepest(1, 0, thin_at(kOut + 0.005)), 0.3);
  EXPECT_FALSE(lift(body, thin_at(kOut - 0.01)).as_posed);
}

TEST(BoneLift, RowsThatFoldStayAsTheyAre) {
  // Neighbours lie in each other's flesh; tracking folds their skin.
  const Body body = thick_and_row();
  for (const double degrees : {60.0, 90.0, 120.0})
    expect_as_posed(body, row_at(body, 2, degrees), std::to_string(degrees));
}

TEST(BoneLift, AThinLimbRisesToHalfItsRadiusAboveTheSkinOfAThickOne) {
  const Body body = thick_and_thin();
  const double goal = compact_support(kOut - kThick, kThick);
  // However deep it has been.
  for (const double height : {0.34, 0.32, 0.28, 0.24, 0.2, 0.15, 0.1}) {
    const std::vector<Affine3d> posed = thin_at(height);
    ASSERT_GT(body.deepest(1, 0, posed), goal) << height;
    const Lifted lifted = lift(body, posed);
    ASSERT_FALSE(lifted.as_posed) << height;
    EXPECT_NEAR(body.deepest(1, 0, lifted.transforms), goal, 0.008) << height;
    for (const Vec3d& end : {body.head(1), body.tail(1)})
      EXPECT_NEAR((lifted.transforms[1] * end).y(), kOut, 0.05 * kThin) << height;
    // The shortest way: up.
    const Vec3d way = moved(body, 1, posed, lifted);
    EXPECT_NEAR(way.normalized().y(), 1, 0.01) << height;
    EXPECT_TRUE(same(lifted.transforms[0], posed[0])) << height;
  }
}

TEST(BoneLift, GoesOutTheShortestWay) {
  // Round the thick limb, out from its bone.
  const Body body = thick_and_thin();
  for (const double degrees : {0.0, 77.0, 160.0, 250.0, 301.0}) {
    const Affine3d round = turned_about(Vec3d::Zero(), degrees, Vec3d::UnitX());
    const std::vector<Affine3d> posed{Affine3d::Identity(), round * thin_at(0.2)[1]};
    const Vec3d way = moved(body, 1, posed, lift(body, posed));
    EXPECT_GT(way.norm(), 0.08) << degrees;
    EXPECT_GT(way.normalized().dot(round.linear() * Vec3d::UnitY()), 0.98) << degrees;
  }
}

TEST(BoneLift, LiesOnSkinTooCoarseForADent) {
  // Edges of 0.15 are 1.5 thin radii long: 0.9 of these the bone comes to lie above the skin.
  const Body coarse({{Vec3d(-0.6, 0, 0), {Vec3d(0.6, 0, 0)}, 0.5, -1, 0.16},
                     {Vec3d(-0.3, 10, 0), {Vec3d(0.3, 10, 0)}, kThin}});
  const LiftChains chains = coarse.chains();
  ASSERT_GT(chains.edge[0], 1.5 * kThin);
  ASSERT_LT(chains.edge[0] * 2.5, 0.5);
  for (const double height : {0.45, 0.52, 0.55}) {
    const Lifted lifted = lift(coarse, thin_at(height));
    EXPECT_NEAR((lifted.transforms[1] * coarse.head(1)).y(), 0.5 + 0.9 * kThin, 0.2 * kThin) << height;
  }
}

TEST(BoneLift, SkinTooCoarseForItsFieldMovesNobody) {
  // One triangle says how long the edges are; the other vertices are nobody's.
  for (const double edge : {0.1, 0.31}) {
    Body body = thick_and_thin();
    std::replace(body.own.begin(), body.own.end(), 0, -1);
    for (const Vec3d& corner : {Vec3d(0, 0, 0), Vec3d(1, 0, 0), Vec3d(0.5, std::sqrt(0.75), 0)}) {
      body.positions.push_back((edge * corner).cast<float>());
      body.own.push_back(0);
      Influence row[1] = {{0, 1}};
      WeightRepairs repairs;
      append_row(body.weights, row, 0, repairs);
    }
    const auto last = static_cast<std::uint32_t>(body.positions.size());
    body.triangles.push_back({last - 3, last - 2, last - 1});
    EXPECT_EQ(lift(body, thin_at(0.2)).as_posed, edge > kThick) << edge;
  }
}

TEST(BoneLift, OfEqualLimbsBothMove) {
  const Body body(
      {{Vec3d(-0.5, 0, 0), {Vec3d(0.5, 0, 0)}, 0.2}, {Vec3d(0, 10, -0.5), {Vec3d(0, 10, 0.5)}, 0.2}});
  // Crossed, the second one's bone 0.04 higher.
  const std::vector<Affine3d> posed{Affine3d::Identity(), Affine3d(Eigen::Translation3d(0, 0.04 - 10, 0))};
  const Lifted lifted = lift(body, posed);
  const Vec3d low = moved(body, 0, posed, lifted), high = moved(body, 1, posed, lifted);
  EXPECT_GT(high.y(), 0.05);
  EXPECT_LT(low.y(), -0.05);
  EXPECT_NEAR(low.y() + high.y(), 0, 0.15 * high.y());
  EXPECT_LT((low + high).norm(), 0.3 * high.norm());
  EXPECT_LT(body.deepest(1, 0, lifted.transforms), body.deepest(1, 0, posed));
}

TEST(BoneLift, BetweenTwoThickLimbsItGoesToWhereBothPressEqually) {
  // They overlap by 0.2, and leave each other's bones alone.
  const Body body({{Vec3d(-0.6, 0, 0), {Vec3d(0.6, 0, 0)}, 0.6},
                   {Vec3d(-0.6, 5, 0), {Vec3d(0.6, 5, 0)}, 0.6},
                   {Vec3d(-0.3, 10, 0), {Vec3d(0.3, 10, 0)}, kThin}});
  for (const double height : {-0.06, 0.04, 0.09}) {
    const std::vector<Affine3d> posed{Affine3d(Eigen::Translation3d(0, -0.5, 0)),
                                      Affine3d(Eigen::Translation3d(0, 0.5 - 5, 0)),
                                      Affine3d(Eigen::Translation3d(0, height - 10, 0))};
    const auto pressures = [&](std::span<const Affine3d> transforms) {
      const Vec3d middle = transforms[2] * Vec3d(0, 10, 0);
      return Eigen::Vector2d(body.value(0, transforms, middle), body.value(1, transforms, middle));
    };
    ASSERT_GT(std::abs(pressures(posed)[0] - pressures(posed)[1]), 0.1) << height;
    const Lifted lifted = lift(body, posed);
    ASSERT_FALSE(lifted.as_posed) << height;
    EXPECT_NEAR(pressures(lifted.transforms)[0], pressures(lifted.transforms)[1], 0.02) << height;
    // Neither lets it through to its far side.
    EXPECT_LT(pressures(lifted.transforms).maxCoeff(), 0.65) << height;
    EXPECT_NEAR((lifted.transforms[2] * Vec3d(0, 10, 0)).y(), 0, 0.01) << height;
    EXPECT_TRUE(same(lifted.transforms[0], posed[0])) << height;
    EXPECT_TRUE(same(lifted.transforms[1], posed[1])) << height;
  }
}

TEST(BoneLift, RowsKeepTheirLengthsAndHangTogether) {
  const Body body = thick_and_row();
  for (const double degrees : {20.0, 30.0, 40.0}) {
    const std::vector<Affine3d> posed = row_at(body, 0.35, degrees);
    const Lifted lifted = lift(body, posed);
    ASSERT_FALSE(lifted.as_posed) << degrees;
    EXPECT_GT(moved(body, 3, posed, lifted).y(), 0.05) << degrees;
    EXPECT_LT(body.deepest(3, 0, lifted.transforms), 0.55) << degrees;
    for (std::size_t f = 1; f <= 3; ++f) {
      const Vec3d head = lifted.transforms[f] * body.head(f), tail = lifted.transforms[f] * body.tail(f);
      EXPECT_NEAR((tail - head).norm(), 0.5, 0.01) << degrees << ' ' << f;
      if (f == 3) continue;
      EXPECT_LT((tail - lifted.transforms[f + 1] * body.head(f + 1)).norm(), 1e-5) << degrees << ' ' << f;
    }
    // What is not in anything stays behind.
    EXPECT_LT((lifted.transforms[1] * body.head(1) - posed[1] * body.head(1)).norm(), 0.01) << degrees;
  }
}

TEST(BoneLift, BonesCarryWhatHangsOnThem) {
  // The middle bone is in the thick limb, the last one beyond it.
  const Body body = thick_and_row();
  const Affine3d down(Eigen::Translation3d(0.7, 0.22 - 10, 0));
  const std::vector<Affine3d> posed{Affine3d::Identity(), down, down, down};
  const Lifted lifted = lift(body, posed);
  ASSERT_FALSE(lifted.as_posed);
  for (const std::size_t f : {2u, 3u}) EXPECT_GT(moved(body, f, posed, lifted).y(), 0.05) << f;
}

/// A limb (0) 10 m above, a forearm (1), and a palm (2) along x with fingers of two bones each (3 4, 5 6,
/// ...) side by side. Fingers spread from z = -spread to spread.
constexpr double kPalm = 0.15;
constexpr double kFinger = 0.06;
Body hand_and_limb(int fingers, double spread, double limb) {
  std::vector<Limb> limbs{{Vec3d(0.3, 10, 0), {Vec3d(1.5, 10, 0)}, limb, -1, 0.04},
                          {Vec3d(-0.7, 0, 0), {Vec3d(0, 0, 0)}, 0.1},
                          {Vec3d(0, 0, 0), {}, kPalm, 1}};
  for (int k = 0; k < fingers; ++k) {
    const double z = spread * (2.0 * k / (fingers - 1) - 1);
    const auto first = static_cast<int>(limbs.size());
    limbs[2].tails.push_back(Vec3d(0.4, 0, z));
    limbs.push_back({Vec3d(0.4, 0, z), {Vec3d(0.7, 0, z)}, kFinger, 2});
    limbs.push_back({Vec3d(0.7, 0, z), {Vec3d(1, 0, z)}, kFinger, first});
  }
  return Body(limbs);
}

/// The limb comes down to a height below the hand's middle.
std::vector<Affine3d> limb_below(const Body& body, double depth) {
  std::vector<Affine3d> posed = body.rest();
  posed[0] = Eigen::Translation3d(0.1, -depth - 10, 0);
  return posed;
}

/// The turn of a bone's lift, without its stretch.
Mat3d turn_of_lift(std::size_t f, const std::vector<Affine3d>& posed, const Lifted& lifted) {
  const Mat3d linear = (lifted.transforms[f] * posed[f].inverse()).linear();
  const Eigen::JacobiSVD<Mat3d> svd(linear, Eigen::ComputeFullU | Eigen::ComputeFullV);
  return svd.matrixU() * svd.matrixV().transpose();
}

/// Radians.
double angle_of(const Mat3d& turn) {
  return rotation_vector(Quatd(turn)).norm();
}

TEST(BoneLift, AHandOnBothSidesOfALimbGoesToOneSideInOnePiece) {
  // The limb is between the fingers, a bit below: these left and those right of it have opposite ways out.
  const double radius = 0.2;
  const Body body = hand_and_limb(3, 0.12, radius);
  ASSERT_EQ(body.chains().extremities[2], (std::vector<std::uint32_t>{3, 4, 5, 6, 7, 8}));
  for (const double side : {1.0, -1.0}) {
    const std::vector<Affine3d> posed = limb_below(body, side * 0.06);
    const Lifted lifted = lift(body, posed);
    const Vec3d palm = moved(body, 2, posed, lifted);
    EXPECT_GT(side * palm.y(), 0.1) << side;
    for (std::size_t f = 3; f < body.size(); ++f) {
      // Up to the side that is nearer, all of them.
      EXPECT_GT(side * moved(body, f, posed, lifted).y(), 0.1) << side << f;
      EXPECT_LT(body.deepest(f, 0, lifted.transforms), compact_support(0.5 * kFinger, radius) + 0.02)
          << side << f;
      const Affine3d in_palm = lifted.transforms[2].inverse() * lifted.transforms[f];
      for (const Vec3d& at : {body.head(f), body.tail(f)})
        EXPECT_LT((in_palm * at - at).norm(), 0.02 * kFinger) << side << f;
    }
  }
}

TEST(BoneLift, FingersThatAreNoHandGoToEitherSide) {
  // Two are no extremities: each goes its own way.
  const Body body = hand_and_limb(2, 0.12, 0.2);
  ASSERT_TRUE(body.chains().extremities[2].empty());
  const std::vector<Affine3d> posed = limb_below(body, 0.06);
  const Lifted lifted = lift(body, posed);
  EXPECT_LT(moved(body, 4, posed, lifted).z(), -0.5 * kFinger);
  EXPECT_GT(moved(body, 6, posed, lifted).z(), 0.5 * kFinger);
}

/// Hips (1) with as many legs (2 and, if 2, 3) 2 m apart along x, and a thick limb (0) across the first one's
/// way, a bit below it.
Body hips_and_limb(int legs) {
  std::vector<Limb> limbs{{Vec3d(0, 10, -1.4), {Vec3d(0, 10, -0.6)}, kThick},
                          {Vec3d(-0.5, 0, 0), {Vec3d(0, 0, -1), Vec3d(0, 0, 1)}, kThin}};
  for (int k = 0; k < legs; ++k)
    limbs.push_back({Vec3d(0, 0, 2 * k - 1), {Vec3d(1, 0, 2 * k - 1)}, kThin, 1});
  return Body(limbs);
}

std::vector<Affine3d> limb_across_leg(const Body& body) {
  std::vector<Affine3d> posed = body.rest();
  posed[0] = Eigen::Translation3d(0.36, -0.05 - 10, 0);
  return posed;
}

TEST(BoneLift, OneOfSeveralLimbsTurnsAboutItsHead) {
  const Body body = hips_and_limb(2);
  const std::vector<Affine3d> posed = limb_across_leg(body);
  const Lifted lifted = lift(body, posed);
  EXPECT_LT((lifted.transforms[2] * body.head(2) - body.head(2)).norm(), 1e-5);
  EXPECT_GT((lifted.transforms[2] * body.tail(2)).y(), 0.3);
  for (const std::size_t f : {0u, 1u, 3u}) EXPECT_LT(moved(body, f, posed, lifted).norm(), 1e-5) << f;
  // The only one takes its head along.
  const Body one = hips_and_limb(1);
  EXPECT_GT((lift(one, limb_across_leg(one)).transforms[2] * one.head(2)).y(), 0.1);
}

// Of a pinned bone in a round, where its way is a quarter of its length.
const double kLastTurn = std::asin(0.25);

TEST(BoneLift, RootsOfLimbsBendNoFurtherThanTheyCan) {
  // Free it would turn by 0.65 radians. By 0.2 it does in the rounds that keep shapes, then once more.
  const Body body = hips_and_limb(2);
  const std::vector<Affine3d> posed = limb_across_leg(body);
  const Lifted lifted = lift(body, posed);
  const double bend = angle_of(turn_of_lift(2, posed, lifted) * turn_of_lift(1, posed, lifted).transpose());
  EXPECT_GT(bend, 0.2 + 0.4 * kLastTurn);
  EXPECT_LT(bend, 0.2 + kLastTurn + 1e-4);
}

TEST(BoneLift, FingersBendFurtherThanRootsButNotForEver) {
  // A palm (1) that stays, since a great lump (2) hangs on it, and three fingers (3 to 5) side by side in a
  // limb (0). Free they would turn by 1.4 radians.
  std::vector<Limb> limbs{{Vec3d(0, 10, -0.3), {Vec3d(0, 10, 0.3)}, 0.6, -1, 0.05},
                          {Vec3d(-0.4, 0, 0), {Vec3d(-0.4, -3, 0)}, 0.08},
                          {Vec3d(-0.4, -3, 0), {Vec3d(-0.4, -3.3, 0)}, 1.2, 1, 0.3}};
  for (int k = -1; k <= 1; ++k) {
    limbs[1].tails.push_back(Vec3d(0, 0, 0.15 * k));
    limbs.push_back({Vec3d(0, 0, 0.15 * k), {Vec3d(0.4, 0, 0.15 * k)}, kFinger, 1});
  }
  const Body body(limbs);
  ASSERT_EQ(body.chains().extremities[1], (std::vector<std::uint32_t>{2, 3, 4, 5}));
  std::vector<Affine3d> posed = body.rest();
  posed[0] = Eigen::Translation3d(0.4, -0.05 - 10, 0);
  const Lifted lifted = lift(body, posed);
  for (const std::size_t f : {0u, 1u, 2u}) EXPECT_LT(moved(body, f, posed, lifted).norm(), 1e-5) << f;
  for (const std::size_t f : {3u, 4u, 5u}) {
    const double bend = angle_of(turn_of_lift(f, posed, lifted));
    EXPECT_GT(bend, 0.9 + 0.8 * kLastTurn) << f;
    EXPECT_LT(bend, 0.9 + kLastTurn + 1e-4) << f;
  }
}

TEST(BoneLift, ABentFingerLeavesItsPalmAcrossItsHingeOnly) {
  // Bent about z until its tip is in the palm, beside the palm's middle.
  const auto bend = [](const Body& body, std::size_t first) {
    std::vector<Affine3d> posed = body.rest();
    posed[first] = turned_about(body.head(first), 95, Vec3d::UnitZ());
    posed[first + 1] = posed[first] * turned_about(body.head(first + 1), 125, Vec3d::UnitZ());
    return posed;
  };
  const auto tip_way = [&](const Body& body, std::size_t first, const Affine3d& change) {
    std::vector<Affine3d> posed = bend(body, first);
    for (Affine3d& transform : posed) transform = change * transform;
    const Lifted lifted = lift(body, posed);
    const Vec3d tip = body.tail(first + 1);
    return Vec3d(change.linear().inverse() * (lifted.transforms[first + 1] * tip - posed[first + 1] * tip));
  };
  const Body hand = hand_and_limb(3, 0.1, 0.2);
  for (const auto& [first, z] : {std::pair(3u, -1.0), std::pair(7u, 1.0)}) {
    const Vec3d way = tip_way(hand, first, Affine3d::Identity());
    EXPECT_GT(way.y(), 0.5 * kFinger) << z;
    EXPECT_LT(std::abs(way.z()), 1e-4) << z;
    // Its hinge turns with the pose.
    const Affine3d turn(Eigen::AngleAxisd(1.1, Vec3d(1, -2, 3).normalized()));
    EXPECT_LT((tip_way(hand, first, turn) - way).norm(), 1e-4) << z;
  }
  // What is no finger goes aside as well.
  const Body two = hand_and_limb(2, 0.1, 0.2);
  const Vec3d way = tip_way(two, 5, Affine3d::Identity());
  EXPECT_GT(way.y(), 0.1 * kFinger);
  EXPECT_GT(way.z(), 0.2 * kFinger);
}

TEST(BoneLift, AFingerGoesAsideTheLessTheMoreItIsBent) {
  // Its last bone is in the palm in the same way, whichever way it came there.
  const Body hand = hand_and_limb(3, 0.1, 0.2);
  const Affine3d last = Eigen::Translation3d(-0.25, 0.2, 0) * turned_about(hand.head(8), 205, Vec3d::UnitZ());
  const auto aside = [&](double radians) {
    std::vector<Affine3d> posed = hand.rest();
    posed[8] = last;
    posed[7] = turned_about(last * hand.head(8), -radians * 180 / std::numbers::pi, Vec3d::UnitZ()) * last;
    const Vec3d way = moved(hand, 8, posed, lift(hand, posed));
    EXPECT_GT(way.y(), 0.1 * kFinger) << radians;
    return way.z() / way.norm();
  };
  const double straight = aside(0);
  EXPECT_GT(straight, 0.3);
  EXPECT_NEAR(aside(0.19), straight, 0.02);
  EXPECT_LT(aside(0.3), straight - 0.05);
  EXPECT_LT(aside(0.45), aside(0.3) - 0.05);
  for (const double radians : {0.61, 1.0, 2.0}) EXPECT_LT(std::abs(aside(radians)), 1e-3) << radians;
}

TEST(BoneLift, ChainsDoNotTwist) {
  // Against the bone before it, a bone turns about axes across itself only.
  const Body body = thick_and_row();
  std::mt19937 random(11);
  std::uniform_real_distribution<double> uniform(-1, 1);
  double twist = 0, plain_twist = 0, most_bend = 0;
  for (int k = 0; k < 20; ++k) {
    std::array<double, 6> n;
    for (double& value : n) value = uniform(random);
    std::vector<Affine3d> posed = row_at(body, 0.3 + 0.05 * n[0], 30 + 10 * n[1]);
    posed[3] = posed[3] * turned_about(body.head(3), 40 * n[2], Vec3d::UnitY());
    const Affine3d round = Eigen::Translation3d(0.1 * n[3], 0, 0.1 * n[4]) *
                           turned_about(Vec3d(0, 0.3, 0), 30 * n[5], Vec3d::UnitX());
    for (std::size_t f = 1; f <= 3; ++f) posed[f] = round * posed[f];
    const Lifted lifted = lift(body, posed);
    ASSERT_FALSE(lifted.as_posed) << k;
    for (std::size_t f = 2; f <= 3; ++f) {
      const auto axis = [&](std::size_t bone, const std::vector<Affine3d>& transforms) {
        return Vec3d((transforms[bone] * body.tail(bone) - transforms[bone] * body.head(bone)).normalized());
      };
      const Mat3d above = turn_of_lift(f - 1, posed, lifted), turn = turn_of_lift(f, posed, lifted);
      const Vec3d bend = rotation_vector(Quatd(Mat3d(turn * above.transpose())));
      twist = std::max(twist, std::abs(bend.dot(axis(f, lifted.transforms))));
      most_bend = std::max(most_bend, bend.norm());
      // Had each the shortest turn from its own pose, they would.
      const auto plain = [&](std::size_t bone) {
        return shortest_turn(axis(bone, posed), axis(bone, lifted.transforms));
      };
      const Vec3d plain_bend = rotation_vector(plain(f) * plain(f - 1).conjugate());
      plain_twist = std::max(plain_twist, std::abs(plain_bend.dot(axis(f, lifted.transforms))));
    }
  }
  EXPECT_LT(twist, 1e-6);
  EXPECT_GT(plain_twist, 1e-2);
  EXPECT_GT(most_bend, 0.3);
}

TEST(BoneLift, ShareSaysHowMuchIsTaken) {
  const Body body = thick_and_thin();
  const std::vector<Affine3d> posed = thin_at(0.2);
  EXPECT_TRUE(lift(body, posed, 0).as_posed);
  EXPECT_TRUE(lift(body, posed, 0).positions == body.skin(posed));
  const double whole = moved(body, 1, posed, lift(body, posed)).y();
  ASSERT_GT(whole, 0.05);
  for (const double share : {0.1, 0.25, 0.5, 0.9})
    EXPECT_NEAR(moved(body, 1, posed, lift(body, posed, share)).y(), share * whole, 1e-4) << share;
}

TEST(BoneLift, WhatABoneLiesInAtRestItDoesNotLeave) {
  // A limb that begins in the trunk: half of it lies in there at rest.
  const Body body(
      {{Vec3d(-0.6, 0, 0), {Vec3d(0.6, 0, 0)}, kThick}, {Vec3d(0, 0.1, 0), {Vec3d(0, 0.9, 0)}, kThin}});
  const LiftChains chains = body.chains();
  EXPECT_TRUE(chains.is_known(chains.samples_of(1).front(), 0));
  EXPECT_FALSE(chains.is_known(chains.samples_of(1).back(), 0));
  expect_as_posed(body, body.rest(), "at rest");
  // As deep, in other places of it.
  for (const double x : {-0.3, 0.2, 0.5})
    expect_as_posed(body, {Affine3d::Identity(), Affine3d(Eigen::Translation3d(x, 0, 0))}, std::to_string(x));
  // Its other end does not know the trunk.
  const std::vector<Affine3d> over{Affine3d::Identity(), turned_about(Vec3d(0, 0.1, 0), 80, Vec3d::UnitZ()) *
                                                             Eigen::Translation3d(0, -0.3, 0)};
  EXPECT_FALSE(lift(body, over).as_posed);
}

TEST(BoneLift, BonesDoNotLeaveWhatHangsOnThem) {
  // A thin bone with a thick one two joints on: nearly all of its limb's flesh. Folded back, the thick one
  // covers the thin one, but has its own bone far outside of it.
  const Body body({{Vec3d(0, 0, 0), {Vec3d(0.5, 0, 0)}, kThin},
                   {Vec3d(0.5, 0, 0), {Vec3d(1.2, 0, 0)}, kThin, 0},
                   {Vec3d(1.2, 0, 0), {Vec3d(1.9, 0, 0)}, kThick, 1}});
  const Affine3d folded = turned_about(body.head(1), 160, Vec3d::UnitZ());
  const std::vector<Affine3d> posed{Affine3d::Identity(), folded,
                                    Affine3d(Eigen::Translation3d(folded * body.head(2) - body.head(2)))};
  ASSERT_EQ(body.deepest(0, 2, body.rest()), 0);
  ASSERT_GT(body.deepest(0, 2, posed), 0.55);
  expect_as_posed(body, posed, "folded");
  // Free, it leaves it.
  Body loose = body;
  loose.fields = std::make_shared<FieldSet>(*body.fields);
  loose.fields->joints.clear();
  EXPECT_FALSE(lift(loose, posed).as_posed);
}

TEST(BoneLift, MovesTurnsScalesAndMirrorsWithThePose) {
  const Body body = thick_and_row();
  const std::vector<Affine3d> posed = row_at(body, 0.33, 30);
  const Lifted lifted = lift(body, posed);
  ASSERT_FALSE(lifted.as_posed);
  const Affine3d turn(Eigen::AngleAxisd(1.1, Vec3d(1, -2, 3).normalized()));
  const std::vector<std::pair<std::string, Affine3d>> changes{
      {"moved", Affine3d(Eigen::Translation3d(3, -2, 5))},
      {"turned", turn},
      {"larger", Affine3d(Eigen::Scaling(100.0)) * turn},
      {"smaller", Affine3d(Eigen::Scaling(0.01)) * turn},
      {"mirrored", Affine3d(Eigen::Scaling(-1.0, 1.0, 1.0)) * turn}};
  for (const auto& [name, change] : changes) {
    std::vector<Affine3d> changed;
    for (const Affine3d& transform : posed) changed.push_back(change * transform);
    const Lifted other = lift(body, changed);
    ASSERT_FALSE(other.as_posed) << name;
    const double size = std::cbrt(std::abs(change.linear().determinant()));
    double worst = 0;
    for (std::size_t f = 0; f < body.size(); ++f)
      for (const Vec3d& at : {body.head(f), body.tail(f)})
        worst = std::max(
            worst, (other.transforms[f] * at - change * (lifted.transforms[f] * at)).norm() / (size * kThin));
    for (std::size_t v = 0; v < body.positions.size(); ++v)
      worst = std::max(
          worst, (other.positions[v].cast<double>() - change * lifted.positions[v].cast<double>()).norm() /
                     (size * kThin));
    EXPECT_LT(worst, 5e-5) << name;  // measured: 8e-6 moved, 2e-6 else
  }
}

TEST(BoneLift, ScaledBonesCountByTheirPosedSizes) {
  // A pose that makes both twice as large, by scaling each about its own middle.
  const Body body = thick_and_thin();
  const auto twice = [](const Vec3d& middle) {
    return Affine3d(Eigen::Translation3d(middle) * Eigen::Scaling(2.0) * Eigen::Translation3d(-middle));
  };
  const std::vector<Affine3d> posed{twice(Vec3d::Zero()),
                                    Eigen::Translation3d(0, 0.4 - 10, 0) * twice(Vec3d(0, 10, 0))};
  const Vec3d small = moved(body, 1, thin_at(0.2), lift(body, thin_at(0.2)));
  const Vec3d large = moved(body, 1, posed, lift(body, posed));
  EXPECT_LT((large - 2 * small).norm(), 1e-3 * large.norm());
}

TEST(BoneLift, NearPosesGiveNearLifts) {
  const Body body = thick_and_thin();
  const BoneLift lifter = body.lift();
  const auto height_of = [&](double height, double along) {
    const std::vector<Affine3d> posed = thin_at(height);
    return (lift(lifter, posed).transforms[1] * Vec3d(body.head(1) + along * (body.tail(1) - body.head(1))))
        .y();
  };
  // From outside to a third of the way to the middle.
  double worst = 0;
  for (const double along : {0.0, 1.0}) {
    double last = height_of(0.34, along);
    for (double height = 0.339; height > 0.1; height -= 1e-3) {
      const double now = height_of(height, along);
      worst = std::max(worst, std::abs(now - last));
      last = now;
    }
  }
  EXPECT_LT(worst, 1.5e-3);  // measured: 1.03e-3
}

TEST(BoneLift, SkinGoesWithItsBones) {
  Body body = thick_and_row();
  const std::vector<Affine3d> posed = row_at(body, 0.33, 30);
  for (std::size_t v = 0; v < body.own.size(); v += 5) body.own[v] = -1;
  const std::vector<Vec3f> before = body.skin(posed);
  const Lifted lifted = lift(body, posed);
  ASSERT_FALSE(lifted.as_posed);
  const std::vector<Vec3f> blended = body.skin(lifted.transforms);
  std::size_t whole = 0, shared = 0;
  for (std::size_t v = 0; v < before.size(); ++v) {
    if (v % 5 == 0) {
      ASSERT_TRUE(lifted.positions[v] == before[v]) << v;  // nobody's
      continue;
    }
    if (body.weights.row_size(v) == 1) {
      ++whole;
      ASSERT_LT((lifted.positions[v] - blended[v]).norm(), 1e-5f) << v;
    } else {
      ++shared;
      ASSERT_LT((lifted.positions[v] - blended[v]).norm(), 0.1f * static_cast<float>(kThin)) << v;
    }
  }
  EXPECT_GT(whole, 100u);
  EXPECT_GT(shared, 100u);
  // Without skin bones rise all the same.
  const Lifted bare = lift(body.lift(), posed, {});
  for (std::size_t f = 0; f < body.size(); ++f)
    EXPECT_TRUE(same(bare.transforms[f], lifted.transforms[f])) << f;
}

TEST(BoneLift, JointsWithoutAFieldGoWithTheVertexOwn) {
  Body body = thick_and_thin();
  std::vector<Affine3d> posed = thin_at(0.2);
  const Lifted whole = lift(body, posed);
  for (std::uint32_t& joint : body.weights.joints)
    if (joint == 1) joint = 2;
  posed.push_back(posed[1]);
  const BoneLift lifter(body.mesh(), body.own, body.fields, body.weights, 3, 1);
  const Lifted twisted = lift(lifter, posed, body.skin(posed));
  EXPECT_FALSE(twisted.as_posed);
  EXPECT_TRUE(twisted.positions == whole.positions);
  EXPECT_TRUE(same(twisted.transforms[2], posed[2]));
}

TEST(BoneLift, HasNoHistoryAndItsScratchDoesNotGrow) {
  const Body body = thick_and_row();
  const BoneLift lifter = body.lift();
  BoneLiftScratch scratch = lifter.make_scratch();
  const auto capacities = [&] {
    return std::vector<std::size_t>{scratch.posed.capacity(),       scratch.scale.capacity(),
                                    scratch.posed_nodes.capacity(), scratch.nodes.capacity(),
                                    scratch.turns.capacity(),       scratch.meetings.capacity(),
                                    scratch.lifts.capacity(),       scratch.transforms.capacity()};
  };
  const std::vector<std::size_t> before = capacities();
  for (const double degrees : {40.0, 25.0, 0.0, 30.0}) {
    const std::vector<Affine3d> posed = row_at(body, 0.33, degrees);
    std::vector<Vec3f> positions = body.skin(posed);
    const auto lifted = lifter.lift(posed, scratch, positions);
    const Lifted fresh = lift(lifter, posed, body.skin(posed));
    EXPECT_TRUE(positions == fresh.positions) << degrees;
    for (std::size_t f = 0; f < body.size(); ++f)
      EXPECT_TRUE(same(lifted[f], fresh.transforms[f])) << degrees;
  }
  EXPECT_EQ(capacities(), before);
}

TEST(BoneLift, SameBitsWithAnyNumberOfThreads) {
  const Body body = thick_and_row();
  const BoneLift lifter = body.lift();
  const std::vector<Affine3d> posed = row_at(body, 0.33, 30);
  Lifted one, two;
  tbb::task_arena(1).execute([&] { one = lift(lifter, posed, body.skin(posed)); });
  tbb::task_arena(2).execute([&] { two = lift(lifter, posed, body.skin(posed)); });
  ASSERT_FALSE(one.as_posed);
  EXPECT_TRUE(one.positions == two.positions);
  for (std::size_t f = 0; f < body.size(); ++f) EXPECT_TRUE(same(one.transforms[f], two.transforms[f])) << f;
}

TEST(BoneLift, AbsurdTransformsGiveFiniteBones) {
  const Body body = thick_and_row();
  Affine3d flat = Affine3d::Identity(), none = Affine3d::Identity();
  flat.linear().col(1).setZero();
  none.linear().setZero();
  const Affine3d tiny(Eigen::Scaling(1e-14)), huge(Eigen::Scaling(1e14));
  const Affine3d far(Eigen::Translation3d(1e14, -1e14, 1e14));
  for (const Affine3d& absurd : {flat, none, tiny, huge, far, Affine3d(far * flat), Affine3d(far * huge)})
    for (std::size_t mask = 1; mask < 16; ++mask) {
      std::vector<Affine3d> posed = row_at(body, 0.33, 30);
      for (std::size_t f = 0; f < 4; ++f)
        if (mask >> f & 1) posed[f] = absurd * posed[f];
      const Lifted lifted = lift(body, posed);
      for (std::size_t f = 0; f < 4; ++f) ASSERT_TRUE(lifted.transforms[f].matrix().allFinite()) << mask << f;
      for (const Vec3f& p : lifted.positions) ASSERT_TRUE(p.allFinite()) << mask;
    }
}

/// A hand that has a limb between its fingers, one of which is bent into the palm.
std::vector<Affine3d> jammed_hand(const Body& body) {
  std::vector<Affine3d> posed = limb_below(body, 0.06);
  posed[7] = turned_about(body.head(7), 95, Vec3d::UnitZ());
  posed[8] = posed[7] * turned_about(body.head(8), 125, Vec3d::UnitZ());
  return posed;
}

TEST(BoneLift, BonesOfNoLengthGiveFiniteBones) {
  const Body body = hand_and_limb(3, 0.12, 0.2);
  const std::vector<Affine3d> posed = jammed_hand(body);
  ASSERT_FALSE(lift(body, posed).as_posed);
  for (std::uint32_t mask = 1; mask < 1u << body.size(); mask = mask < 1u << 8 ? mask << 1 : mask * 2 + 1) {
    Body short_ones = body;
    short_ones.fields = std::make_shared<FieldSet>(*body.fields);
    for (std::size_t f = 0; f < body.size(); ++f)
      if (mask >> f & 1)
        for (BoneSegment& segment : short_ones.fields->fields[f].segments) segment.tail = segment.head;
    const Lifted lifted = lift(short_ones, posed);
    for (const Affine3d& transform : lifted.transforms) ASSERT_TRUE(transform.matrix().allFinite()) << mask;
    for (const Vec3f& p : lifted.positions) ASSERT_TRUE(p.allFinite()) << mask;
  }
}

TEST(BoneLift, AbsurdTransformsOfHandsGiveFiniteBones) {
  const Body body = hand_and_limb(3, 0.12, 0.2);
  Affine3d flat = Affine3d::Identity(), none = Affine3d::Identity();
  flat.linear().col(1).setZero();
  none.linear().setZero();
  const Affine3d tiny(Eigen::Scaling(1e-14)), huge(Eigen::Scaling(1e14));
  const BoneLift lifter = body.lift();
  for (const Affine3d& absurd : {flat, none, tiny, huge})
    for (std::size_t bad = 0; bad <= body.size(); ++bad) {
      std::vector<Affine3d> posed = jammed_hand(body);
      for (std::size_t f = 0; f < body.size(); ++f)
        if (f == bad || bad == body.size()) posed[f] = posed[f] * absurd;
      const Lifted lifted = lift(lifter, posed, body.skin(posed));
      for (const Affine3d& transform : lifted.transforms) ASSERT_TRUE(transform.matrix().allFinite()) << bad;
      for (const Vec3f& p : lifted.positions) ASSERT_TRUE(p.allFinite()) << bad;
    }
}

TEST(BoneLift, WhatIsNotFiniteStaysAndHurtsNobody) {
  // A third limb, free of the others.
  const Body body({{Vec3d(-0.6, 0, 0), {Vec3d(0.6, 0, 0)}, kThick},
                   {Vec3d(-0.3, 10, 0), {Vec3d(0.3, 10, 0)}, kThin},
                   {Vec3d(-0.3, 20, 0), {Vec3d(0.3, 20, 0)}, kThin}});
  std::vector<Affine3d> posed = thin_at(0.2);
  posed.push_back(Affine3d::Identity());
  const Lifted sound = lift(body, posed);
  std::vector<Vec3f> positions = body.skin(posed);
  positions[0].x() = std::nanf("");
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    Affine3d shifted = Affine3d::Identity(), bent = Affine3d::Identity();
    shifted.translation().y() = bad;
    bent.linear()(1, 2) = bad;
    for (const Affine3d& transform : {shifted, bent}) {
      posed[2] = transform;
      const Lifted lifted = lift(body.lift(), posed, positions);
      for (const std::size_t f : {0u, 1u}) EXPECT_TRUE(same(lifted.transforms[f], sound.transforms[f]));
      for (std::size_t v = 1; v < positions.size(); ++v)
        ASSERT_TRUE(lifted.positions[v] == sound.positions[v]) << v;
      EXPECT_TRUE(std::isnan(lifted.positions[0].x()));
    }
  }
}

TEST(BoneLift, BonesOfAHandThatAreNotFiniteLeaveTheOthersFinite) {
  const Body body = hand_and_limb(3, 0.12, 0.2);
  const BoneLift lifter = body.lift();
  const std::vector<Affine3d> sound = jammed_hand(body);
  const std::vector<Vec3f> skin = body.skin(sound);
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()})
    for (std::size_t f = 0; f < body.size(); ++f)
      for (const bool bent : {false, true}) {
        std::vector<Affine3d> posed = sound;
        (bent ? posed[f].linear()(1, 2) : posed[f].translation().y()) = bad;
        const Lifted lifted = lift(lifter, posed, skin);
        for (std::size_t other = 0; other < body.size(); ++other)
          if (other != f) ASSERT_TRUE(lifted.transforms[other].matrix().allFinite()) << f << ' ' << other;
        for (const Vec3f& p : lifted.positions) ASSERT_TRUE(p.allFinite()) << f;
      }
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(BoneLift, SizesAndNumbersMustHold) {
  const Body body = thick_and_thin();
  using Change = std::function<void(Body&, std::size_t&)>;
  const auto message = [&](const Change& change) {
    Body changed = body;
    changed.fields = std::make_shared<FieldSet>(*body.fields);
    std::size_t transforms = 2;
    change(changed, transforms);
    return message_of(
        [&] { BoneLift(changed.mesh(), changed.own, changed.fields, changed.weights, transforms, 1); });
  };
  EXPECT_EQ(message([](Body&, std::size_t&) {}), "");
  const std::string sizes = message([](Body& b, std::size_t&) { b.own.pop_back(); });
  EXPECT_NE(sizes.find("own field and weights for each of " + std::to_string(body.positions.size())),
            std::string::npos)
      << sizes;
  EXPECT_EQ(message([](Body& b, std::size_t&) { b.weights = {}; }), sizes);
  EXPECT_NE(message([](Body& b, std::size_t&) { b.own[3] = 2; }).find("own field 2 of 2"), std::string::npos);
  EXPECT_NE(message([](Body& b, std::size_t&) { b.weights.joints[5] = 7; }).find("joint 7 of 2"),
            std::string::npos);
  EXPECT_NE(message([](Body& b, std::size_t&) { b.fields->transform[1] = 4; }).find("transform 4 of 2"),
            std::string::npos);
  EXPECT_NE(message([](Body&, std::size_t& transforms) { transforms = 1; }), "");
}

// The twin.

// What rounding makes of a lift, in support radii of the thinnest limb. Measured in 160 poses: 3.4e-4.
constexpr double kRounding = 1e-3;

/// How far the two are apart, in support radii of the thinnest limb, and the farthest that the twin moves.
struct Difference {
  double worst = 0;
  double farthest = 0;
  bool as_posed = false, twin_as_posed = false;
};

struct Subject {
  MeshView mesh;
  std::span<const std::int32_t> own;
  std::shared_ptr<const FieldSet> fields;
  const SkinWeights& weights;
};

Difference compare(const Subject& subject, const std::vector<Affine3d>& posed,
                   const std::vector<Vec3f>& start, FieldValues values, double share = 1) {
  const LiftChains chains = make_lift_chains(subject.mesh, subject.own, *subject.fields, posed.size());
  const reference::LiftTask task{*subject.fields, chains, subject.own, subject.weights, share, values};
  std::vector<Vec3d> twin_start;
  for (const Vec3f& p : start) twin_start.push_back(p.cast<double>());
  const reference::LiftedBones twin = reference::lift_bones(task, posed, twin_start);
  const Lifted lifted =
      lift(BoneLift(subject.mesh, subject.own, subject.fields, subject.weights, posed.size(), share), posed,
           start);

  Difference result;
  result.as_posed = lifted.as_posed;
  result.twin_as_posed = !twin.any;
  double radius = std::numeric_limits<double>::infinity();
  for (const BoneField& field : subject.fields->fields) radius = std::min(radius, field.radius);
  for (std::size_t v = 0; v < start.size(); ++v) {
    result.worst =
        std::max(result.worst, (lifted.positions[v].cast<double>() - twin.positions[v]).norm() / radius);
    result.farthest = std::max(result.farthest, (twin.positions[v] - twin_start[v]).norm() / radius);
  }
  for (std::size_t f = 0; f < subject.fields->fields.size(); ++f)
    for (const BoneSegment& segment : subject.fields->fields[f].segments)
      for (const Vec3d& at : {segment.head, segment.tail}) {
        const std::uint32_t t = subject.fields->transform[f];
        result.worst =
            std::max(result.worst, (lifted.transforms[t] * at - twin.transforms[t] * at).norm() / radius);
      }
  return result;
}

/// A thick limb (0), a medium one (1), and a forearm (2) with the two bones of a palm (3, 4), and a finger on
/// each (5, 6). The first is so coarse that others lie more on it than in it, the second one moves them less.
Body arm_and_limbs() {
  return Body({{Vec3d(-0.6, 0, 0), {Vec3d(0.6, 0, 0)}, kThick, -1, 0.08},
               {Vec3d(0, 5, -0.4), {Vec3d(0, 5, 0.4)}, 0.15, -1, 0.075},
               {Vec3d(-0.7, 10, 0), {Vec3d(0, 10, -0.04), Vec3d(0, 10, 0.04)}, kThin},
               {Vec3d(0, 10, -0.04), {Vec3d(0.4, 10, -0.06)}, kThin, 2},
               {Vec3d(0, 10, 0.04), {Vec3d(0.4, 10, 0.06)}, kThin, 2},
               {Vec3d(0.4, 10, -0.06), {Vec3d(0.8, 10, -0.2)}, 0.07, 3},
               {Vec3d(0.4, 10, 0.06), {Vec3d(0.8, 10, 0.2)}, 0.07, 4}});
}

/// Limbs across each other, the hand somewhere on them, fingers bent, by numbers from -1 to 1.
std::vector<Affine3d> arm_pose(const Body& body, const std::function<double()>& number) {
  std::array<double, 13> n;  // one after the other: compilers evaluate arguments in different orders
  for (double& value : n) value = number();
  std::vector<Affine3d> posed(7, Affine3d::Identity());
  posed[1] = Eigen::Translation3d(0.3 * n[0], 0.32 + 0.1 * n[1] - 5, 0.2 * n[2]) *
             turned_about(Vec3d(0, 5, 0), 40 * n[3], Vec3d::UnitY());
  posed[2] = Eigen::Translation3d(-0.2 + 0.3 * n[4], 0.27 + 0.1 * n[5] - 10, 0.2 * n[6]) *
             turned_about(Vec3d(0, 10, 0), 30 * n[7], Vec3d(n[8], n[9], 1));
  posed[3] = posed[4] = posed[2] * turned_about(Vec3d(0, 10, 0), 30 * n[10], Vec3d::UnitZ());
  for (const std::size_t finger : {5u, 6u})
    posed[finger] =
        posed[finger - 2] * turned_about(body.head(finger), 30 + 40 * n[finger + 6], -Vec3d::UnitZ());
  return posed;
}

Subject subject_of(const Body& body) {
  return {body.mesh(), body.own, body.fields, body.weights};
}

class Numbers {
 public:
  double operator()() { return uniform_(random_); }

 private:
  std::mt19937 random_{5};
  std::uniform_real_distribution<double> uniform_{-1, 1};
};

TEST(BoneLiftTwin, LimbsOfAllSizes) {
  const Body body = arm_and_limbs();
  Numbers numbers;
  for (int k = 0; k < (test::kSanitized ? 8 : 60); ++k) {
    const std::vector<Affine3d> posed = arm_pose(body, std::ref(numbers));
    const double share = k % 4 == 0 ? 0.6 : 1;
    const Difference d = compare(subject_of(body), posed, body.skin(posed), FieldValues::grid, share);
    EXPECT_LT(d.worst, kRounding) << k;
    EXPECT_GT(d.farthest, 0.5) << k;
  }
}

/// A limb anywhere in the hand, and fingers bent, some into the palm.
std::vector<Affine3d> hand_pose(const Body& body, const std::function<double()>& number) {
  std::array<double, 16> n;
  for (double& value : n) value = number();
  std::vector<Affine3d> posed = body.rest();
  posed[0] = Eigen::Translation3d(0.3 + 0.3 * n[0], 0.15 * n[1] - 10, 0.1 * n[2]) *
             turned_about(Vec3d(0.3, 10, 0), 60 * n[3], Vec3d(n[4], n[5], 1));
  posed[2] = turned_about(body.head(2), 20 * n[6], Vec3d(0.5 * n[7], n[8], 1));
  for (std::size_t finger = 0; finger < 3; ++finger) {
    const std::size_t first = 3 + 2 * finger;
    const double bend = 50 + 60 * n[9 + finger], aside = 10 * n[12 + finger];
    posed[first] = posed[2] * turned_about(body.head(first), bend, Vec3d::UnitZ()) *
                   turned_about(body.head(first), aside, Vec3d::UnitY());
    posed[first + 1] =
        posed[first] * turned_about(body.head(first + 1), (finger == 1 ? 0.1 : 1.2) * bend, Vec3d::UnitZ());
  }
  return posed;
}

TEST(BoneLiftTwin, Hands) {
  const Body body = hand_and_limb(3, 0.12, 0.2);
  ASSERT_FALSE(body.chains().extremities[2].empty());
  Numbers numbers;
  int far = 0;
  const int poses = test::kSanitized ? 8 : 80;
  for (int k = 0; k < poses; ++k) {
    const std::vector<Affine3d> posed = hand_pose(body, std::ref(numbers));
    const double share = k % 4 == 0 ? 0.6 : 1;
    const Difference d = compare(subject_of(body), posed, body.skin(posed), FieldValues::grid, share);
    EXPECT_EQ(d.as_posed, d.twin_as_posed) << k;
    EXPECT_LT(d.worst, kRounding) << k;
    far += d.farthest > 1;
  }
  EXPECT_GT(far, poses / 2);
}

TEST(BoneLiftTwin, StretchedAndMirroredLimbs) {
  const Body body = arm_and_limbs();
  const Affine3d wider =
      Eigen::Translation3d(0, 10, 0) * Eigen::Scaling(1.0, 1.3, 1.3) * Eigen::Translation3d(0, -10, 0);
  Numbers numbers;
  for (int k = 0; k < (test::kSanitized ? 4 : 20); ++k) {
    std::vector<Affine3d> posed = arm_pose(body, std::ref(numbers));
    posed[0] = posed[0] * Eigen::Scaling(1.0, 1.2, 0.9);
    posed[1] = Affine3d(Eigen::Scaling(1.1)) * posed[1] * Eigen::Scaling(1.0, 1.0, k % 2 == 0 ? -1.0 : 1.0);
    for (std::size_t f = 2; f < 7; ++f) posed[f] = posed[f] * wider;
    const Difference d = compare(subject_of(body), posed, body.skin(posed), FieldValues::grid);
    EXPECT_LT(d.worst, kRounding) << k;
    EXPECT_GT(d.farthest, 0.1) << k;
  }
}

TEST(BoneLiftTwin, ExactFieldsPutLimbsNearby) {
  // The grids follow the fields to about a hundredth, and more so in the middle of limbs. In one of these
  // poses (22) the shortest way out as one has another direction there.
  const Body body = arm_and_limbs();
  Numbers numbers;
  double sum = 0;
  int elsewhere = 0;
  const int poses = test::kSanitized ? 5 : 40;
  for (int k = 0; k < poses; ++k) {
    const std::vector<Affine3d> posed = arm_pose(body, std::ref(numbers));
    const Difference d = compare(subject_of(body), posed, body.skin(posed), FieldValues::exact);
    EXPECT_GT(d.worst, 1e-4) << k;
    if (d.worst < 1.3)
      sum += d.worst;
    else
      ++elsewhere;
  }
  EXPECT_LE(elsewhere, 1);
  EXPECT_LT(sum / poses, 0.15);  // measured: 0.10
}

struct Agreement {
  int poses = 0;
  int lifted = 0;
  int agreeing = 0;  // up to the tolerance
  double worst = 0;
};

/// All clips of a character, at shares of their times.
Agreement compare_clips(const Scene& scene, const std::vector<double>& times, FieldValues values,
                        double tolerance) {
  const Recipe recipe = parse_recipe(R"({"normals": false, "layers": ["lbs"]})", "test");
  const auto character = Character::make(scene, recipe);
  ImplicitOptions coarse;
  coarse.field.samples = 30;
  coarse.field.grid_nodes = 4000;
  const CharacterFields fields = make_character_fields(*character, coarse);
  const Subject subject{
      {character->rest(), character->triangles()}, fields.own, fields.set, character->skin_weights()};
  Performer performer(character);
  Agreement result;
  for (const Clip& clip : scene.clips)
    for (const double time : times) {
      Pose pose = character->rest_pose();
      sample_clip(clip, time * clip.duration(), pose);
      performer.perform(pose);
      const std::vector<Affine3d> posed(performer.posed_from_rest().begin(),
                                        performer.posed_from_rest().end());
      const std::vector<Vec3f> start(performer.welded_positions().begin(),
                                     performer.welded_positions().end());
      const Difference d = compare(subject, posed, start, values);
      EXPECT_EQ(d.as_posed, d.twin_as_posed) << clip.name << ' ' << time;
      ++result.poses;
      result.lifted += !d.as_posed;
      result.agreeing += d.worst < tolerance;
      result.worst = std::max(result.worst, d.worst);
    }
  return result;
}

const std::vector<double> kTenths{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1};

BuiltModel small_model(const std::string& name, std::size_t vertices) {
  ModelOptions size;
  size.vertices = vertices;
  return test::shared_model(name, size);
}

TEST(BoneLiftTwin, HandModel) {
  if (test::kSanitized) GTEST_SKIP() << "making the models takes too long";
  const BuiltModel hand = small_model("hand", 800);
  const Agreement grid = compare_clips(hand.scene, kTenths, FieldValues::grid, kRounding);
  EXPECT_EQ(grid.agreeing, grid.poses) << grid.worst;  // measured: 4e-6 radii of the thinnest finger
  EXPECT_GE(grid.lifted, 8);
  const Agreement exact = compare_clips(hand.scene, {0.9}, FieldValues::exact, 0.3);
  EXPECT_EQ(exact.agreeing, exact.poses) << exact.worst;  // measured: 0.16
  EXPECT_EQ(exact.lifted, 2);
}

TEST(BoneLiftTwin, Mannequin) {
  if (test::kSanitized) GTEST_SKIP() << "making the models takes too long";
  const BuiltModel model = small_model("mannequin", 6500);
  const Agreement grid = compare_clips(model.scene, kTenths, FieldValues::grid, 5e-4);
  EXPECT_EQ(grid.agreeing, grid.poses) << grid.worst;
  EXPECT_GE(grid.lifted, 20);
}

TEST(BoneLiftTwin, Human) {
  if (test::kSanitized) GTEST_SKIP() << "the twin takes too long";
  const auto path = test::asset("human.glb");
  if (!path) GTEST_SKIP() << test::missing_asset("human.glb");
  const Agreement grid = compare_clips(read_gltf(*path), kTenths, FieldValues::grid, 5e-4);
  EXPECT_EQ(grid.agreeing, grid.poses) << grid.worst;
  EXPECT_GE(grid.lifted, 7);
}

}  // namespace
}  // namespace sinew
