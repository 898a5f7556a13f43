#include <sinew/tracking/bone_lift.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <string>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <sinew/character/character.h>
#include <sinew/character/character_fields.h>
#include <sinew/character/performer.h>
#include <sinew/core/error.h>
#include <sinew/models/models.h>
#include <sinew/scene/gltf.h>

#include "tests/reference/bone_lift.h"
#include "tests/support/assets.h"
#include "tests/support/sanitized.h"

namespace sinew {
namespace {

using reference::FieldValues;

// A thick limb and a thin one, in metres. Edges of the thick one's skin are fine enough for the thin one to
// dent it.
constexpr double kThick = 0.3;
constexpr double kThin = 0.1;
constexpr double kFineEdge = 0.06;

/// A bone with round flesh about it.
struct Limb {
  Vec3d head;
  std::vector<Vec3d> tails;
  double radius = kThin;
  int parent = -1;
  double edge = kFineEdge;  // of its skin, about, and not beyond a third of its radius
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
    const double length = (tail - limb.head).norm(), r = limb.radius, edge = std::min(limb.edge, r / 3);
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
    options.samples = 40;
    options.grid_nodes = 8000;
    fields->fields.push_back(make_bone_field(mesh(), normals, part, options));
    fields->transform.push_back(f);
    if (limb.parent >= 0) fields->joints.push_back({static_cast<std::uint32_t>(limb.parent), f, limb.head});
  }
};

/// A thick limb (0) and, 10 m away, a thin one (1), both along x.
Body thick_and_thin(double edge = kFineEdge) {
  return Body({{Vec3d(-0.6, 0, 0), {Vec3d(0.6, 0, 0)}, kThick, -1, edge},
               {Vec3d(-0.3, 10, 0), {Vec3d(0.3, 10, 0)}, kThin, -1, edge}});
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
  // In the field, but not inside of the skin.
  expect_as_posed(body, thin_at(0.33), "near");
  EXPECT_GT(body.deepest(1, 0, thin_at(0.33)), 0.3);
  EXPECT_FALSE(lift(body, thin_at(0.25)).as_posed);
}

TEST(BoneLift, RowsThatFoldStayAsTheyAre) {
  // Neighbours lie in each other's flesh; tracking folds their skin.
  const Body body = thick_and_row();
  for (const double degrees : {60.0, 120.0, 170.0})
    expect_as_posed(body, row_at(body, 2, degrees), std::to_string(degrees));
}

TEST(BoneLift, AThinLimbRisesToTheSkinOfAThickOne) {
  const Body body = thick_and_thin();
  for (const double height : {0.28, 0.24, 0.2, 0.15, 0.1}) {
    const std::vector<Affine3d> posed = thin_at(height);
    ASSERT_GT(body.deepest(1, 0, posed), 0.5 + 0.05) << height;
    const Lifted lifted = lift(body, posed);
    ASSERT_FALSE(lifted.as_posed) << height;
    EXPECT_LT(body.deepest(1, 0, lifted.transforms), 0.52) << height;
    // From 0.06 below on it lies beyond the skin, by 0.4 of its radius at most.
    EXPECT_GT(body.deepest(1, 0, lifted.transforms), height > 0.24 ? 0.45 : 0.35) << height;
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

TEST(BoneLift, DeepBonesRiseBeyondTheSkin) {
  const Body body = thick_and_thin();
  const auto height_above = [&](double height) {
    const Lifted lifted = lift(body, thin_at(height));
    return (lifted.transforms[1] * body.head(1)).y();
  };
  const double shallow = height_above(0.285), deep = height_above(0.1);
  EXPECT_NEAR(shallow, kThick, 0.1 * kThin);
  EXPECT_NEAR(deep - shallow, 0.4 * kThin, 0.1 * kThin);
}

TEST(BoneLift, LiesOnSkinTooCoarseForADent) {
  // Edges of 0.15 are 1.5 thin radii long: 0.9 of these the bone is above the skin. The thin limb's own skin
  // is as fine as ever.
  const Body coarse({{Vec3d(-0.6, 0, 0), {Vec3d(0.6, 0, 0)}, 0.5, -1, 0.16},
                     {Vec3d(-0.3, 10, 0), {Vec3d(0.3, 10, 0)}, kThin, -1, 0.03}});
  const LiftChains chains = coarse.chains();
  ASSERT_GT(chains.edge[0], 1.5 * kThin);
  ASSERT_LT(chains.edge[0] * 2.5, 0.5);
  for (const double height : {0.45, 0.52, 0.55}) {
    const Lifted lifted = lift(coarse, thin_at(height));
    EXPECT_NEAR((lifted.transforms[1] * coarse.head(1)).y(), 0.5 + 0.9 * kThin, 0.2 * kThin) << height;
  }
}

TEST(BoneLift, SkinTooCoarseForItsFieldMovesNobody) {
  // The same limb, once with skin of a few large triangles.
  for (const double edge : {0.05, 0.09, 0.2}) {
    Body body = thick_and_thin();
    for (std::size_t v = 0; v < body.own.size(); ++v)
      if (body.own[v] == 0) body.own[v] = -1;
    // One triangle says how long the edges are.
    for (const Vec3d& corner : {Vec3d(0, 0, 0), Vec3d(1, 0, 0), Vec3d(0.5, 0.8660254, 0)}) {
      body.positions.push_back((edge * kThick / 0.1 * corner).cast<float>());
      body.own.push_back(0);
      Influence row[1] = {{0, 1}};
      WeightRepairs repairs;
      append_row(body.weights, row, 0, repairs);
    }
    const auto last = static_cast<std::uint32_t>(body.positions.size());
    body.triangles.push_back({last - 3, last - 2, last - 1});
    const Lifted lifted = lift(body, thin_at(0.2));
    if (edge > 0.1) {
      EXPECT_TRUE(lifted.as_posed) << edge;  // edges of twice the support
    } else {
      EXPECT_FALSE(lifted.as_posed) << edge;
    }
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
  EXPECT_LT((low + high).norm(), 0.2 * high.norm());
  EXPECT_LT(body.deepest(1, 0, lifted.transforms), body.deepest(1, 0, posed));
}

TEST(BoneLift, BetweenTwoThickLimbsItComesToRest) {
  // They overlap by 0.1, but leave each other's bones alone; and so does the thin one, which both press.
  const Body body({{Vec3d(-0.6, 0, 0), {Vec3d(0.6, 0, 0)}, kThick},
                   {Vec3d(-0.6, 5, 0), {Vec3d(0.6, 5, 0)}, kThick},
                   {Vec3d(-0.3, 10, 0), {Vec3d(0.3, 10, 0)}, kThin}});
  for (const double height : {-0.06, 0.02, 0.07}) {
    const std::vector<Affine3d> posed{Affine3d(Eigen::Translation3d(0, -0.25, 0)),
                                      Affine3d(Eigen::Translation3d(0, 0.25 - 5, 0)),
                                      Affine3d(Eigen::Translation3d(0, height - 10, 0))};
    const Lifted lifted = lift(body, posed);
    ASSERT_FALSE(lifted.as_posed);
    const Vec3d middle = lifted.transforms[2] * Vec3d(0, 10, 0);
    const double below = body.value(0, lifted.transforms, middle),
                 above = body.value(1, lifted.transforms, middle);
    EXPECT_NEAR(below, above, 0.05) << height;
    EXPECT_GT(below, 0.55) << height;
    EXPECT_NEAR(middle.y(), 0, 0.02) << height;
    EXPECT_GT(std::abs(body.value(0, posed, posed[2] * Vec3d(0, 10, 0)) -
                       body.value(1, posed, posed[2] * Vec3d(0, 10, 0))),
              0.05)
        << height;
    EXPECT_TRUE(same(lifted.transforms[0], posed[0]));
    EXPECT_TRUE(same(lifted.transforms[1], posed[1]));
  }
}

TEST(BoneLift, RowsKeepTheirLengthsAndHangTogether) {
  const Body body = thick_and_row();
  for (const double degrees : {10.0, 25.0, 40.0}) {
    const std::vector<Affine3d> posed = row_at(body, 0.38, degrees);
    const Lifted lifted = lift(body, posed);
    ASSERT_FALSE(lifted.as_posed) << degrees;
    EXPECT_GT(moved(body, 3, posed, lifted).y(), 0.03) << degrees;
    EXPECT_LT(body.deepest(3, 0, lifted.transforms), body.deepest(3, 0, posed) - 0.1) << degrees;
    for (std::size_t f = 1; f <= 3; ++f) {
      const Vec3d head = lifted.transforms[f] * body.head(f), tail = lifted.transforms[f] * body.tail(f);
      EXPECT_NEAR((tail - head).norm(), 0.5, 0.02) << degrees << ' ' << f;
      if (f == 3) continue;
      EXPECT_LT((tail - lifted.transforms[f + 1] * body.head(f + 1)).norm(), 1e-5) << degrees << ' ' << f;
    }
    // What is not in anything stays behind.
    EXPECT_LT((lifted.transforms[1] * body.head(1) - posed[1] * body.head(1)).norm(), 0.02) << degrees;
  }
}

}  // namespace
}  // namespace sinew
