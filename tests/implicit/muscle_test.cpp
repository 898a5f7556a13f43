#include <sinew/implicit/muscle.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/implicit/compact_support.h>
#include <sinew/implicit/field_set.h>

#include "tests/reference/muscle.h"

namespace sinew {
namespace {

constexpr double kSupport = 0.1;  // of the host
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Transforms: 0 carries the host, 1 the next bone, which bends the muscle, and 2 nothing.
Muscle biceps() {
  Muscle muscle;
  muscle.host = 0;
  muscle.origin = {0.05, 0.03, 0.01};
  muscle.insertion = {0.25, 0.025, 0};
  muscle.radius = 0.02;
  muscle.swell = 0.5;
  muscle.lift = 0.25;
  muscle.outwards = Vec3d::UnitY();
  muscle.driver_transform = 1;
  muscle.driver_parent_transform = 0;
  muscle.driver_bone = Vec3d::UnitX();
  muscle.full_angle = 2;
  return muscle;
}

Vec3d random_vector(std::mt19937& random, double size) {
  std::uniform_real_distribution<double> number(-size, size);
  const double x = number(random), y = number(random), z = number(random);
  return {x, y, z};
}

Affine3d random_transform(std::mt19937& random, bool scaled = false) {
  Affine3d t(Eigen::Translation3d(random_vector(random, 1)) *
             Eigen::AngleAxisd(random_vector(random, 3).x(), random_vector(random, 1).normalized()));
  if (scaled)
    t = t * Eigen::Scaling(Vec3d(Vec3d::Constant(1.2) + random_vector(random, 0.5))) *
        Eigen::AngleAxisd(1, Vec3d::UnitX());
  return t;
}

/// The joint at the end of the host turned about an axis, on top of all that moves both.
std::vector<Affine3d> bent(double radians, const Vec3d& axis = Vec3d::UnitZ(),
                           const Affine3d& all = Affine3d::Identity()) {
  const Vec3d joint(0.3, 0, 0);
  return {all,
          all * Eigen::Translation3d(joint) * Eigen::AngleAxisd(radians, axis) * Eigen::Translation3d(-joint),
          Affine3d::Identity()};
}

PosedMuscle posed_muscle(const Muscle& muscle, const std::vector<Affine3d>& posed_from_rest) {
  PosedMuscle posed;
  EXPECT_TRUE(pose_muscle(muscle, kSupport, posed_from_rest[0], posed_from_rest, posed));
  return posed;
}

/// A bone along x with the field of a tube round it, exact at the nodes.
BoneField tube_field(double tube_radius = 0.05) {
  constexpr int kNodes[3] = {61, 31, 31};
  const Vec3d low(-0.1, -0.15, -0.15), size(0.5, 0.3, 0.3);
  BoneField field;
  field.radius = kSupport;
  Affine3d grid_from_rest = Affine3d::Identity();
  for (int k = 0; k < 3; ++k) grid_from_rest.linear()(k, k) = (kNodes[k] - 1) / size[k];
  grid_from_rest.translation() = -(grid_from_rest.linear() * low);
  field.grid = FieldGrid(grid_from_rest, {kNodes[0], kNodes[1], kNodes[2]});
  for (int x = 0; x < kNodes[0]; ++x)
    for (int y = 0; y < kNodes[1]; ++y)
      for (int z = 0; z < kNodes[2]; ++z) {
        const Vec3d at = grid_from_rest.inverse() * Vec3d(x, y, z);
        const Vec3d across(0, at.y(), at.z());
        const double d = across.norm() - tube_radius;
        Vec3d g = Vec3d::Zero();
        if (across.norm() > 0) g = compact_support_slope(d, kSupport) * across.normalized();
        g = grid_from_rest.linear().inverse() * g;
        field.grid.nodes()[field.grid.index(x, y, z)] = {static_cast<float>(compact_support(d, kSupport)),
                                                         static_cast<float>(g.x()), static_cast<float>(g.y()),
                                                         static_cast<float>(g.z())};
      }
  field.grid.bound(0);
  return field;
}

FieldSet tube_with(std::vector<Muscle> muscles) {
  static const BoneField tube = tube_field();
  FieldSet set;
  set.fields = {tube};
  set.transform = {0};
  set.tree = CompositionTree(1, {}, {});
  set.muscles = std::move(muscles);
  return set;
}

PosedField posed_field(const FieldSet& set, const std::vector<Affine3d>& posed_from_rest) {
  std::vector<PosedField> posed(set.fields.size());
  pose_fields(set, posed_from_rest, posed);
  return posed[0];
}

/// How far a field's gradient is from its differences.
double gradient_error(const std::function<FieldSample(const Vec3f&)>& field, const Vec3d& at) {
  const double h = 4e-4;
  Vec3d error = field(at.cast<float>()).gradient.cast<double>();
  for (int k = 0; k < 3; ++k) {
    const Vec3f ahead = (at + h * Vec3d::Unit(k)).cast<float>(),
                behind = (at - h * Vec3d::Unit(k)).cast<float>();
    error[k] -= static_cast<double>(field(ahead).value - field(behind).value) /
                static_cast<double>(ahead[k] - behind[k]);
  }
  return error.norm();
}

TEST(Muscle, IsTheSpindleThatItsFormulaSays) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> angle(0, 2.5);
  int inside = 0, outside = 0;
  for (int trial = 0; trial < 60; ++trial) {
    Muscle muscle = biceps();
    muscle.origin += random_vector(random, 0.03);
    muscle.insertion_transform = trial % 2;
    auto posed_from_rest =
        bent(angle(random), random_vector(random, 1).normalized(), random_transform(random, trial % 3 == 0));
    const PosedMuscle posed = posed_muscle(muscle, posed_from_rest);
    const auto spindle = reference::muscle_spindle(muscle, posed_from_rest[0], posed_from_rest);
    for (int i = 0; i < 40; ++i) {
      const Vec3d rest = spindle.center + random_vector(random, i % 2 == 0 ? 0.15 : 0.03);
      const double expected = reference::muscle_value(spindle, kSupport, rest);
      const Vec3f at = (posed_from_rest[0] * rest).cast<float>();
      EXPECT_NEAR(static_cast<double>(posed.sample(at).value), expected, 2e-4);
      EXPECT_TRUE(posed.covers(at) || expected < 1e-6);
      (expected > 0 ? inside : outside)++;
    }
  }
  EXPECT_GT(inside, 500);
  EXPECT_GT(outside, 100);
}

TEST(Muscle, ItsSurfaceIsAtHalfAndAsSteepAsSkin) {
  Muscle muscle = biceps();
  std::mt19937 random(2);
  for (const double radius : {0.01, 0.05, 0.099}) {
    muscle.radius = radius;
    const PosedMuscle posed = posed_muscle(muscle, bent(0));
    const Vec3d axis = muscle.insertion - muscle.origin, center = (muscle.origin + muscle.insertion) / 2;
    for (int i = 0; i < 20; ++i) {
      const Vec3d side = axis.cross(random_vector(random, 1)).normalized();
      const double t = random_vector(random, 1).x();
      const Vec3d on = center + std::sin(t) * axis / 2 + std::cos(t) * radius * side;
      EXPECT_NEAR(posed.sample(on.cast<float>()).value, 0.5f, 1e-5f);
      const FieldSample middle = posed.sample((center + radius * side).cast<float>());
      EXPECT_NEAR(static_cast<double>(middle.gradient.norm()) * kSupport, 15.0 / 16, 1e-4);
      EXPECT_LT((middle.gradient.normalized().cast<double>() + side).norm(), 1e-4);
    }
    EXPECT_NEAR(posed.sample(muscle.origin.cast<float>()).value, 0.5f, 1e-5f);
    EXPECT_NEAR(posed.sample(muscle.insertion.cast<float>()).value, 0.5f, 1e-5f);
    EXPECT_GT(posed.sample(center.cast<float>()).value, 0.55f);
  }
}

TEST(Muscle, GradientsAreThoseOfTheValues) {
  std::mt19937 random(3);
  const FieldSet set = tube_with({biceps()});
  const Vec3d middle(0.15, 0.04, 0.005);
  for (int trial = 0; trial < 4; ++trial) {
    const auto posed_from_rest = bent(0.5 * trial, Vec3d::UnitZ(), random_transform(random, trial % 2 == 1));
    const PosedMuscle muscle = posed_muscle(biceps(), posed_from_rest);
    const PosedField field = posed_field(set, posed_from_rest);
    int merged = 0;
    for (int i = 0; i < 100; ++i) {
      const Vec3d at = posed_from_rest[0] * (middle + random_vector(random, 0.06));
      EXPECT_LT(gradient_error([&](const Vec3f& x) { return muscle.sample(x); }, at), 0.05);
      const float a = field.sample_bone(at.cast<float>()).value, b = muscle.sample(at.cast<float>()).value;
      if (std::abs(a - b) < 0.25f * (a + b)) ++merged;
      // The host's grid interpolates values and gradients, each on its own: no worse than that.
      const double host_error = gradient_error([&](const Vec3f& x) { return field.sample_bone(x); }, at);
      EXPECT_LT(gradient_error([&](const Vec3f& x) { return field.sample(x); }, at), 1.1 * host_error + 0.1);
    }
    EXPECT_GT(merged, 20);
  }
}

TEST(Muscle, EndsSmoothlyWhereItsSupportEnds) {
  const PosedMuscle posed = posed_muscle(biceps(), bent(0));
  const Vec3d center = (biceps().origin + biceps().insertion) / 2;
  float before = posed.sample(center.cast<float>()).value;
  bool ended = false;
  for (double y = 0; y < 0.3; y += 0.0005) {
    const Vec3f at = (center + Vec3d(0, y, 0)).cast<float>();
    const FieldSample s = posed.sample(at);
    EXPECT_LE(s.value, before + 1e-6f);
    EXPECT_LT(before - s.value, 0.02f);
    before = s.value;
    EXPECT_TRUE(s.value > 0 || s.gradient == Vec3f::Zero());
    if (s.value == 0) ended = true;
    EXPECT_TRUE(s.value > 0 || y > 0.02 + 0.8 * kSupport);
    EXPECT_TRUE(s.value == 0 || y < 0.02 + kSupport);
  }
  EXPECT_TRUE(ended);
}

TEST(Muscle, MergingIsSmoothAndElsewhereAUnion) {
  const auto merge = [](float a, float b) { return merge_muscle({a, Vec3f(1, 0, 0)}, {b, Vec3f(0, 1, 0)}); };
  for (float a = 0; a <= 1; a += 0.05f)
    for (float b = 0; b <= 1; b += 0.01f) {
      const FieldSample s = merge(a, b);
      EXPECT_NEAR(static_cast<double>(s.value),
                  reference::merged_value(static_cast<double>(a), static_cast<double>(b)), 1e-6);
      EXPECT_GE(s.value, std::max(a, b));
      EXPECT_LE(s.value, 1);
      EXPECT_EQ(s.value, merge(b, a).value);
      if (std::abs(a - b) >= kMuscleBlend * (a + b)) {
        EXPECT_EQ(s.value, std::max(a, b));
        EXPECT_EQ(s.gradient, a >= b ? Vec3f(1, 0, 0) : Vec3f(0, 1, 0));
      }
      // The shares of both gradients are the derivatives by a and b, and change by little from place to
      // place.
      if (s.value >= 1 || a + b < 0.3f) continue;
      const float h = 2e-3f;
      EXPECT_NEAR(s.gradient.x(), (merge(a + h, b).value - merge(a - h, b).value) / (2 * h), 0.01f);
      EXPECT_NEAR(s.gradient.y(), (merge(a, b + h).value - merge(a, b - h).value) / (2 * h), 0.01f);
      EXPECT_LT((merge(a, b + h).gradient - s.gradient).norm(), 0.1f);
    }
  EXPECT_EQ(merge(0, 0).value, 0);
  EXPECT_GT(merge(0.5f, 0.5f).value, 0.51f);
}

TEST(Muscle, FollowsTheBendOfItsDriver) {
  Muscle muscle = biceps();
  std::mt19937 random(4);
  for (int trial = 0; trial < 10; ++trial) {
    const Affine3d all = trial == 0 ? Affine3d::Identity() : random_transform(random);
    const Vec3d across = Vec3d(0, random_vector(random, 1).x(), 1).normalized();
    EXPECT_NEAR(muscle_bend(muscle, bent(0, across, all)), 0, 1e-9);
    EXPECT_NEAR(muscle_bend(muscle, bent(1, across, all)), 0.5, 1e-9);
    EXPECT_NEAR(muscle_bend(muscle, bent(2, across, all)), 1, 1e-9);
    EXPECT_NEAR(muscle_bend(muscle, bent(3, across, all)), 1, 1e-9);
    for (const double angle : {0.2, 0.7, 1.3, 1.9})
      EXPECT_NEAR(muscle_bend(muscle, bent(angle, across, all)),
                  reference::muscle_bend(muscle, bent(angle, across, all)), 1e-9);
    // A forearm that turns about itself does not bend.
    EXPECT_NEAR(muscle_bend(muscle, bent(2, Vec3d::UnitX(), all)), 0, 1e-9);
    EXPECT_NEAR(muscle_bend(muscle, bent(1, across, all * Eigen::Scaling(40.0))), 0.5, 1e-9);
  }
  muscle.driver_bone.setZero();  // any turn
  EXPECT_NEAR(muscle_bend(muscle, bent(0)), 0, 1e-9);
  EXPECT_NEAR(muscle_bend(muscle, bent(1, Vec3d::UnitX(), random_transform(random))), 0.5, 1e-9);
  EXPECT_NEAR(muscle_bend(muscle, bent(-1, Vec3d(1, 2, 3).normalized())), 0.5, 1e-9);
}

TEST(Muscle, SwellsAndRises) {
  Muscle muscle = biceps();
  muscle.origin.z() = muscle.insertion.z() = 0, muscle.insertion.y() = muscle.origin.y();
  const auto top = [&](double radians) {
    const PosedMuscle posed = posed_muscle(muscle, bent(radians));
    double y = 0.03;
    while (posed.sample(Vec3f(0.15f, static_cast<float>(y), 0)).value > 0.5f) y += 1e-5;
    return y;
  };
  EXPECT_NEAR(top(0), 0.05, 3e-5);
  EXPECT_NEAR(top(2), 0.03 + 0.25 * 0.02 + 1.5 * 0.02, 3e-5);
  EXPECT_NEAR(top(1), 0.03 + 0.125 * 0.02 + 1.25 * 0.02, 3e-5);
  muscle.lift = 0;
  EXPECT_NEAR(top(2), 0.03 + 1.5 * 0.02, 3e-5);
  muscle.swell = 0;
  EXPECT_NEAR(top(2), 0.05, 3e-5);
}

TEST(Muscle, KeepsItsVolumeWithinBounds) {
  Muscle muscle = biceps();
  muscle.swell = muscle.lift = 0;
  muscle.insertion_transform = 2;
  const auto thickness = [&](double stretch) {
    std::vector<Affine3d> posed(3, Affine3d::Identity());
    posed[2].translation() = (stretch - 1) * (muscle.insertion - muscle.origin);
    return static_cast<double>(posed_muscle(muscle, posed).thickness) * kSupport / muscle.radius;
  };
  EXPECT_NEAR(thickness(1), 1, 1e-6);
  EXPECT_NEAR(thickness(0.8), std::sqrt(1 / 0.8), 1e-6);
  EXPECT_NEAR(thickness(1.5), std::sqrt(1 / 1.5), 1e-6);
  EXPECT_NEAR(thickness(10), 0.7, 1e-6);
  EXPECT_NEAR(thickness(0.1), 1.5, 1e-6);
  EXPECT_NEAR(thickness(0), 1.5, 1e-6);
}

TEST(Muscle, OneShorterThanThickIsABall) {
  Muscle muscle = biceps();
  muscle.swell = muscle.lift = 0;
  for (const double length : {0.0, 1e-12, 0.01, 0.039}) {
    muscle.insertion = muscle.origin + Vec3d(length, 0, 0);
    const PosedMuscle posed = posed_muscle(muscle, bent(0));
    std::mt19937 random(5);
    for (int i = 0; i < 10; ++i) {
      const Vec3d on =
          (muscle.origin + muscle.insertion) / 2 + muscle.radius * random_vector(random, 1).normalized();
      EXPECT_NEAR(posed.sample(on.cast<float>()).value, 0.5f, 1e-4f) << length;
    }
    const FieldSample middle = posed.sample(((muscle.origin + muscle.insertion) / 2).cast<float>());
    EXPECT_TRUE(middle.gradient.allFinite());
    EXPECT_GT(middle.value, 0.5f);
  }
}

TEST(Muscle, GoesWithItsHost) {
  std::mt19937 random(6);
  const FieldSet set = tube_with({biceps()});
  for (int trial = 0; trial < 10; ++trial) {
    const Affine3d motion = random_transform(random);
    const double angle = 0.25 * trial;
    const PosedField still = posed_field(set, bent(angle)),
                     moved = posed_field(set, bent(angle, Vec3d::UnitZ(), motion));
    for (int i = 0; i < 40; ++i) {
      const Vec3d x = Vec3d(0.15, 0.04, 0) + random_vector(random, 0.1);
      const FieldSample a = still.sample(x.cast<float>()), b = moved.sample((motion * x).cast<float>());
      EXPECT_NEAR(a.value, b.value, 1e-4f);
      EXPECT_LT((motion.linear() * a.gradient.cast<double>() - b.gradient.cast<double>()).norm(), 0.02);
    }
  }
}

TEST(Muscle, WithoutAnyAFieldIsItsGrid) {
  const FieldSet set = tube_with({});
  const PosedField field = posed_field(set, bent(1));
  std::mt19937 random(7);
  EXPECT_EQ(field.muscle_count, 0u);
  for (int i = 0; i < 100; ++i) {
    const Vec3f at = (Vec3d(0.15, 0, 0) + random_vector(random, 0.25)).cast<float>();
    EXPECT_EQ(field.sample(at).value, field.sample_bone(at).value);
    EXPECT_EQ(field.sample(at).gradient, field.sample_bone(at).gradient);
    EXPECT_EQ(field.covers(at), field.grid->covers(field.to_grid(at)));
  }
}

TEST(Muscle, SeveralAreMergedOneAfterTheOther) {
  Muscle second = biceps();
  second.origin.y() = second.insertion.y() = -0.04;
  const FieldSet both = tube_with({biceps(), second});
  check_muscles(both, 3);
  std::vector<PosedField> posed(1);
  for (const double angle : {1.0, 2.0})
    pose_fields(both, bent(angle), posed);  // nothing is left of the first
  const PosedField& field = posed[0];
  ASSERT_EQ(field.muscle_count, 2u);
  for (const float y : {-0.07f, -0.05f, 0.05f, 0.07f}) {
    const Vec3f at(0.15f, y, 0);
    const double first = reference::merged_value(static_cast<double>(field.sample_bone(at).value),
                                                 static_cast<double>(field.muscles[0].sample(at).value));
    EXPECT_NEAR(static_cast<double>(field.sample(at).value),
                reference::merged_value(first, static_cast<double>(field.muscles[1].sample(at).value)), 1e-5);
    EXPECT_GT(field.sample(at).value, field.sample_bone(at).value);
  }
}

TEST(Muscle, IsReachedWhereItsHostEnds) {
  Muscle muscle = biceps();
  muscle.origin = {0.1, 0.25, 0}, muscle.insertion = {0.2, 0.25, 0};  // beyond the grid
  const FieldSet set = tube_with({muscle});
  std::mt19937 random(8);
  int reached = 0, missed = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const Affine3d all = random_transform(random, trial % 2 == 0);
    const PosedField field = posed_field(set, bent(0.01 * trial, Vec3d::UnitZ(), all));
    const Vec3f corner = (all * (Vec3d(0.15, 0.25, 0) + random_vector(random, 0.3))).cast<float>();
    const Vec3f size = random_vector(random, 0.1).cwiseAbs().cast<float>();
    const bool does = reaches(field, corner - size, corner + size);
    (does ? reached : missed)++;
    for (int i = 0; i < 20; ++i) {
      const Vec3f at = corner + size.cwiseProduct(random_vector(random, 1).cast<float>());
      const float value = field.sample(at).value;
      EXPECT_TRUE(does || value == 0);
      EXPECT_TRUE(field.covers(at) || value == 0);
    }
  }
  EXPECT_GT(reached, 50);
  EXPECT_GT(missed, 50);
  const PosedField field = posed_field(set, bent(0));
  EXPECT_GE(field.sample({0.15f, 0.25f, 0}).value, 0.5f);
  EXPECT_EQ(field.sample_bone({0.15f, 0.25f, 0}).value, 0);
  EXPECT_TRUE(field.covers({0.15f, 0.25f, 0}));
  EXPECT_TRUE(reaches(field, {0.1f, 0.24f, 0}, {0.2f, 0.26f, 0}));
  EXPECT_TRUE(reaches(field, Vec3f::Constant(-static_cast<float>(kInfinity)),
                      Vec3f::Constant(static_cast<float>(kInfinity))));
}

TEST(Muscle, BadTransformsLeaveItOut) {
  Muscle muscle = biceps();
  muscle.insertion_transform = 2;
  const FieldSet set = tube_with({muscle});
  const auto expect_sane = [&](const std::vector<Affine3d>& posed_from_rest) {
    const PosedField field = posed_field(set, posed_from_rest);
    for (double x = -0.1; x < 0.5; x += 0.05)
      for (double y = -0.1; y < 0.3; y += 0.05) {
        const FieldSample s = field.sample(Vec3d(x, y, 0.01).cast<float>());
        EXPECT_TRUE(std::isfinite(s.value) && s.gradient.allFinite());
        EXPECT_TRUE(s.value >= 0 && s.value <= 1);
      }
    return field;
  };
  for (const double bad : {kNan, kInfinity, -kInfinity, 1e300}) {
    auto posed_from_rest = bent(1);
    posed_from_rest[2](1, 3) = bad;
    PosedField field = expect_sane(posed_from_rest);
    EXPECT_EQ(field.muscle_count, 0u) << bad;
    EXPECT_TRUE(field.usable);
    EXPECT_GT(field.sample({0.15f, 0.03f, 0}).value, 0.5f);  // the host's
    posed_from_rest = bent(1);
    posed_from_rest[1](0, 0) = bad;  // the driver: it does not know how far it is bent
    expect_sane(posed_from_rest);
    posed_from_rest = bent(1);
    posed_from_rest[0](0, 0) = bad;
    field = expect_sane(posed_from_rest);
    EXPECT_EQ(field.muscle_count, 0u);
  }
  auto flat = bent(1);
  flat[1].linear().setZero();
  expect_sane(flat);
  EXPECT_EQ(muscle_bend(muscle, flat), 0);
  flat[1].linear().setConstant(kNan);
  EXPECT_EQ(muscle_bend(muscle, flat), 0);
  flat = bent(1);
  flat[2].linear().setZero();
  EXPECT_EQ(expect_sane(flat).muscle_count, 1u);  // a place is all that an end needs
  flat = bent(1);
  flat[0].linear().setZero();
  EXPECT_FALSE(expect_sane(flat).usable);
  Muscle any_turn = muscle;
  any_turn.driver_bone.setZero();
  flat[1].linear().setZero();
  EXPECT_EQ(muscle_bend(any_turn, flat), 0);
  // Samples anywhere.
  const PosedField field = posed_field(set, bent(1));
  ASSERT_EQ(field.muscle_count, 1u);
  for (const float x : {std::nanf(""), static_cast<float>(kInfinity), 3e38f, -3e38f}) {
    const FieldSample s = field.sample({x, 0, 0});
    EXPECT_EQ(s.value, 0);
    EXPECT_EQ(s.gradient, Vec3f::Zero());
    EXPECT_FALSE(field.covers({x, x, x}));
  }
}

TEST(Muscle, ThoseThatDoNotHoldAreRefused) {
  const auto error_of = [](const std::function<void(Muscle&)>& edit, std::size_t count = 1) {
    std::vector<Muscle> muscles(count, biceps());
    edit(muscles.back());
    const FieldSet set = tube_with(muscles);
    try {
      check_muscles(set, 3);
    } catch (const Error& error) {
      // What is refused does no harm either.
      const PosedField field = posed_field(set, bent(1));
      EXPECT_LE(field.muscle_count, PosedField::kMostMuscles);
      const FieldSample s = field.sample({0.15f, 0.04f, 0});
      EXPECT_TRUE(std::isfinite(s.value) && s.gradient.allFinite()) << error.what();
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(error_of([](Muscle&) {}), "no error");
  EXPECT_EQ(error_of([](Muscle&) {}, PosedField::kMostMuscles), "no error");
  EXPECT_EQ(error_of([](Muscle&) {}, PosedField::kMostMuscles + 1),
            "muscle 3: field 0 has more than 3 muscles");
  for (std::uint32_t Muscle::*const number :
       {&Muscle::host, &Muscle::origin_transform, &Muscle::insertion_transform, &Muscle::driver_transform,
        &Muscle::driver_parent_transform}) {
    Muscle stranger = biceps();
    stranger.*number = 3;
    const FieldSet set = tube_with({stranger});
    EXPECT_EQ(posed_field(set, bent(1)).muscle_count, 0u);
    EXPECT_NE(error_of([&](Muscle& m) { m.*number = 3; }).find("none of 1 fields and 3 transforms"),
              std::string::npos);
  }
  for (const double bad : {kNan, kInfinity}) {
    for (Vec3d Muscle::*const place :
         {&Muscle::origin, &Muscle::insertion, &Muscle::outwards, &Muscle::driver_bone})
      EXPECT_EQ(error_of([&](Muscle& m) { (m.*place).y() = bad; }),
                "muscle 0: a place or direction of it is not finite");
    EXPECT_NE(error_of([&](Muscle& m) { m.lift = bad; }), "no error");
    EXPECT_NE(error_of([&](Muscle& m) { m.radius = bad; }), "no error");
    EXPECT_NE(error_of([&](Muscle& m) { m.swell = bad; }), "no error");
    EXPECT_NE(error_of([&](Muscle& m) { m.full_angle = bad; }), "no error");
  }
  EXPECT_NE(error_of([](Muscle& m) { m.radius = 0; }).find("radius 0"), std::string::npos);
  EXPECT_NE(error_of([](Muscle& m) { m.radius = -1; }), "no error");
  EXPECT_NE(error_of([](Muscle& m) { m.swell = -1; }), "no error");
  EXPECT_NE(error_of([](Muscle& m) { m.full_angle = 0; }), "no error");
}

}  // namespace
}  // namespace sinew
