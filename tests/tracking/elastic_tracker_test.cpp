#include <sinew/tracking/elastic_tracker.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <sinew/character/character.h>
#include <sinew/core/error.h>
#include <sinew/geometry/intrinsic_laplacian.h>
#include <sinew/geometry/one_rings.h>
#include <sinew/layers/character_fields.h>
#include <sinew/measure/surface_ruler.h>

#include "tests/reference/elastic_tracking.h"
#include "tests/reference/skinning.h"
#include "tests/support/grid_tube.h"
#include "tests/support/sanitized.h"

namespace sinew {
namespace {

constexpr double kRadius = 0.2;  // of the tube
const double kNan = std::nan("");

Affine3d turn(double degrees, const Vec3d& axis) {
  return Affine3d(Eigen::AngleAxisd(degrees * std::numbers::pi / 180, axis.normalized()));
}

/// Each vertex moved by its heaviest joint alone.
SkinWeights rigid_weights(const SkinWeights& weights) {
  SkinWeights result;
  WeightRepairs repairs;
  for (std::size_t v = 0; v < weights.rows(); ++v) {
    Influence row[1] = {{weights.row_joints(v)[0], 1}};
    append_row(result, row, 0, repairs);
  }
  return result;
}

/// The papers' tube with its fields, and poses of it.
struct Tube {
  std::shared_ptr<const Character> character;
  CharacterFields fields;
  SkinWeights weights;

  explicit Tube(int rings = test::kSanitized ? 24 : 36, int segments = test::kSanitized ? 12 : 20) {
    test::GridTubeOptions tube;
    tube.rings = rings;
    tube.segments = segments;
    Recipe recipe;
    recipe.normals = false;
    character = Character::make(test::make_grid_tube(tube), recipe);
    fields = make_character_fields(*character, ImplicitOptions());
    weights = character->skin_weights();
  }

  std::size_t size() const { return character->rest().size(); }
  const Vec3f& rest(std::size_t v) const { return character->rest()[v]; }
  MeshView mesh() const { return {character->rest(), character->triangles()}; }

  ElasticTracker tracker(const TrackingOptions& tracking = {}, std::span<const float> rigidity = {}) const {
    return ElasticTracker(mesh(), fields.own, fields.set, weights, 2, tracking, {}, rigidity);
  }

  /// Upper bone turned towards +y: where y > 0 at rest the tube folds.
  static std::vector<Affine3d> bent(double degrees) {
    return {Affine3d::Identity(), turn(degrees, Vec3d::UnitZ())};
  }
  static std::vector<Affine3d> twisted(double degrees) {
    return {Affine3d::Identity(), turn(degrees, Vec3d::UnitX())};
  }

  std::vector<Vec3f> dqs(std::span<const Affine3d> posed) const {
    std::vector<Vec3f> result(size());
    reference::dual_quaternion<double>(character->rest(), weights, posed, result);
    return result;
  }
};

/// A tracker with its state, as a performer would use it.
struct Skin {
  const Tube& tube;
  const ElasticTracker& tracker;
  ElasticState state = tracker.make_state();
  std::vector<Vec3f> positions{};

  void go(std::span<const Affine3d> posed) {
    positions = tube.dqs(posed);
    if (state.started)
      tracker.step(posed, state, positions);
    else
      tracker.start(posed, state, positions);
  }

  /// From the rest to a pose, and there until it settles.
  template <typename Pose>
  void go_to(const Pose& pose, double degrees, int steps = test::kSanitized ? 6 : 12, int held = 6) {
    for (int step = 0; step <= steps; ++step) go(pose(degrees * step / steps));
    for (int step = 0; step < held; ++step) go(pose(degrees));
  }

  TrackMark mark(std::size_t v) const { return state.tracking.marks[v]; }
};

double largest_difference(std::span<const Vec3f> a, std::span<const Vec3f> b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (std::size_t v = 0; v < a.size(); ++v) {
    const double apart = (a[v] - b[v]).norm();
    if (!(apart <= largest)) largest = apart;
  }
  return largest;
}

std::vector<Vec3d> in_double(std::span<const Vec3f> points) {
  std::vector<Vec3d> result;
  for (const Vec3f& p : points) result.push_back(p.cast<double>());
  return result;
}

bool all_finite(std::span<const Vec3f> points) {
  return std::all_of(points.begin(), points.end(), [](const Vec3f& p) { return p.allFinite(); });
}

/// The twin's view of a pose of the tube.
struct Twin {
  const Tube& tube;
  std::vector<Vec3d> rest = in_double(tube.character->rest());
  Eigen::SparseMatrix<double> laplacian = intrinsic_laplacian(tube.mesh()).laplacian;
  reference::ElasticSkin skin{rest, laplacian};

  std::vector<Vec3d> normals(std::span<const Affine3d> posed, std::span<const Vec3f> positions) const {
    std::vector<PosedField> fields(tube.fields.set->fields.size());
    pose_fields(*tube.fields.set, posed, fields);
    std::vector<Vec3d> result;
    for (const Vec3f& p : positions) {
      const Vec3d gradient = sample(*tube.fields.set, fields, p).gradient.cast<double>();
      result.push_back(gradient.norm() > 0 ? Vec3d(gradient.normalized()) : Vec3d(Vec3d::Zero()));
    }
    return result;
  }
};

double root_mean_square(std::span<const Vec3d> vectors) {
  double sum = 0;
  for (const Vec3d& v : vectors) sum += v.squaredNorm();
  return std::sqrt(sum / static_cast<double>(vectors.size()));
}

TEST(ElasticTwin, GradientIsThatOfTheEnergyAndVanishesAtTheMinimum) {
  const Tube tube(8, 6);
  const Twin twin{tube};
  const auto posed = Tube::bent(50);
  const std::vector<Mat3d> turns = reference::blended_turns(tube.weights, posed);
  std::vector<Vec3d> at = in_double(tube.dqs(posed));
  const std::vector<Vec3d> gradient = reference::elastic_gradient(twin.skin, turns, at);
  for (const std::size_t v : {0u, 20u, 25u})
    for (int k = 0; k < 3; ++k) {
      const double step = 1e-4;
      std::vector<Vec3d> ahead = at, behind = at;
      ahead[v][k] += step, behind[v][k] -= step;
      const double slope = (reference::elastic_energy(twin.skin, turns, ahead) -
                            reference::elastic_energy(twin.skin, turns, behind)) /
                           (2 * step);
      EXPECT_NEAR(slope, 4 * gradient[v][k], 1e-7);
    }
  const std::vector<Vec3d> normals = twin.normals(posed, tube.dqs(posed));
  std::vector<std::uint8_t> fixed(tube.size(), 0);
  fixed[3] = 1;
  const std::vector<Vec3d> least = reference::elastic_minimum(twin.skin, turns, at, normals, fixed);
  EXPECT_LT(root_mean_square(reference::tangential_gradient(twin.skin, turns, least, normals, fixed)), 1e-12);
  EXPECT_TRUE(least[3] == at[3]);
  for (std::size_t v = 0; v < tube.size(); ++v) EXPECT_NEAR((least[v] - at[v]).dot(normals[v]), 0, 1e-12);
  // What is moved as one piece has no energy.
  const std::vector<Affine3d> whole(2, turn(70, Vec3d(1, 2, 3)));
  EXPECT_NEAR(reference::elastic_energy(twin.skin, reference::blended_turns(tube.weights, whole),
                                        in_double(tube.dqs(whole))),
              0, 1e-10);
}

TEST(ElasticTracker, RejectsWhatDoesNotFit) {
  const Tube tube(12, 8);
  const auto make = [&](std::span<const std::int32_t> own, const SkinWeights& weights, std::size_t transforms,
                        std::span<const float> rigidity) {
    ElasticTracker(tube.mesh(), own, tube.fields.set, weights, transforms, {}, {}, rigidity);
  };
  const std::span<const std::int32_t> own = tube.fields.own;
  std::vector<float> rigidity(tube.size(), 0.5f);
  EXPECT_NO_THROW(make(own, tube.weights, 2, {}));
  EXPECT_NO_THROW(make(own, tube.weights, 2, rigidity));
  EXPECT_THROW(make(own.subspan(1), tube.weights, 2, {}), Error);
  EXPECT_THROW(make(own, SkinWeights(), 2, {}), Error);
  EXPECT_THROW(make(own, tube.weights, 1, {}), Error);
  EXPECT_THROW(make(own, tube.weights, 2, std::span(rigidity).subspan(1)), Error);
  for (const float bad : {-0.1f, 1.1f, std::nanf(""), std::numeric_limits<float>::infinity()}) {
    rigidity[5] = bad;
    EXPECT_THROW(make(own, tube.weights, 2, rigidity), Error) << bad;
  }
}

TEST(ElasticTracker, RestStaysRest) {
  const Tube tube;
  const ElasticTracker tracker = tube.tracker();
  Skin skin{tube, tracker};
  for (int step = 0; step < 4; ++step) {
    skin.go(Tube::bent(0));
    EXPECT_LT(largest_difference(skin.positions, tube.character->rest()), 2e-5) << step;
  }
}

/// Steps to a bend in which nothing touches, and looks at the twin's energy there.
TEST(ElasticTracker, ComesToTheMinimumOfTheEnergyOnTheIsoSurface) {
  const Tube tube(32, 16);
  const Twin twin{tube};
  TrackingOptions options;
  options.swelling = 0;  // so that the iso-value at rest is the goal
  const ElasticTracker tracker = tube.tracker(options);
  const std::vector<float> iso = tracker.tracker().iso();
  const double degrees = 55;
  Skin skin{tube, tracker};
  skin.go_to(Tube::bent, degrees, 6, 10);
  const auto posed = Tube::bent(degrees);
  const std::vector<Mat3d> turns = reference::blended_turns(tube.weights, posed);
  std::vector<Vec3f> carried;
  for (std::size_t v = 0; v < tube.size(); ++v)
    carried.push_back(posed[static_cast<std::size_t>(tube.fields.own[v])].cast<float>() * tube.rest(v));

  // The energy has nothing to say where something touches, at the sharp rims of the ends, nor where two
  // fields are equal: there the union's gradient jumps.
  std::vector<PosedField> fields(2);
  pose_fields(*tube.fields.set, posed, fields);
  std::vector<std::uint8_t> fixed(tube.size(), 0);
  std::size_t free = 0, on_iso = 0;
  for (std::size_t v = 0; v < tube.size(); ++v) {
    const float values[2] = {fields[0].sample(skin.positions[v]).value,
                             fields[1].sample(skin.positions[v]).value};
    fixed[v] = skin.mark(v) >= TrackMark::contact || std::abs(tube.rest(v).x()) > 0.85f ||
               (tube.rest(v).y() > 0 && std::abs(values[0] - values[1]) < 0.05f);
    free += fixed[v] == 0;
    const float value = sample(*tube.fields.set, fields, skin.positions[v]).value;
    if (fixed[v] == 0) on_iso += std::abs(value - iso[v]) < 3e-3f;
  }
  ASSERT_GT(free, tube.size() / 2);
  EXPECT_GT(on_iso, free - free / 50);

  const auto force = [&](std::span<const Vec3f> positions) {
    return root_mean_square(reference::tangential_gradient(twin.skin, turns, in_double(positions),
                                                           twin.normals(posed, positions), fixed));
  };
  EXPECT_LT(force(skin.positions), 0.05 * force(carried));
  // Nor would a direct solve from there move anything.
  const std::vector<Vec3d> now = in_double(skin.positions);
  const std::vector<Vec3d> least =
      reference::elastic_minimum(twin.skin, turns, now, twin.normals(posed, skin.positions), fixed);
  double farthest = 0;
  for (std::size_t v = 0; v < tube.size(); ++v) farthest = std::max(farthest, (least[v] - now[v]).norm());
  EXPECT_LT(farthest, 0.02 * kRadius);
  EXPECT_LT(reference::elastic_energy(twin.skin, turns, now),
            0.7 * reference::elastic_energy(twin.skin, turns, in_double(carried)));
}

TEST(ElasticTracker, ATwistIsSpreadOverTheTube) {
  // However abruptly the weights pass from one bone to the other.
  Tube tube(40, 16);
  tube.weights = rigid_weights(tube.weights);
  const ElasticTracker tracker = tube.tracker();
  Skin skin{tube, tracker};
  const double degrees = 60;
  skin.go_to(Tube::twisted, degrees, 6, 8);
  double before = -1;
  std::size_t between = 0;
  for (std::size_t ring = 0; ring < 40; ++ring) {
    const std::size_t v = ring * 16;
    const Vec3f& p = skin.positions[v];
    const double angle = std::atan2(p.z(), p.y()) * 180 / std::numbers::pi;
    EXPECT_GT(angle, before - 1) << tube.rest(v).x();  // it rises all the way
    EXPECT_NEAR(std::hypot(p.y(), p.z()), kRadius, 0.05 * kRadius) << tube.rest(v).x();
    if (tube.rest(v).x() < -0.8f) {
      EXPECT_NEAR(angle, 0, 1);
    }
    if (tube.rest(v).x() > 0.8f) {
      EXPECT_NEAR(angle, degrees, 1);
    }
    between += angle > 0.1 * degrees && angle < 0.9 * degrees;
    before = angle;
  }
  EXPECT_GE(between, 4u);  // of rings a quarter of a radius apart
}

TEST(ElasticTracker, NothingMovesFarFromTheJoint) {
  const Tube tube;
  const ElasticTracker tracker = tube.tracker();
  Skin skin{tube, tracker};
  for (const double degrees : {30.0, 90.0}) {
    const auto posed = Tube::bent(degrees);
    skin.go_to(Tube::bent, degrees);
    for (std::size_t v = 0; v < tube.size(); ++v) {
      if (std::abs(tube.rest(v).x()) < 0.85f) continue;
      const Affine3d& own = posed[tube.rest(v).x() > 0 ? 1 : 0];
      EXPECT_LT((skin.positions[v] - own.cast<float>() * tube.rest(v)).norm(), 0.04 * kRadius)
          << degrees << ": " << tube.rest(v).transpose();
    }
  }
}

TEST(ElasticTracker, SkinThatIsNotTrackedDoesNotHoldTheRestBack) {
  // Half of the tube belongs to no field. All of it turned as one must come out turned as one.
  const Tube tube;
  std::vector<std::int32_t> own = tube.fields.own;
  for (std::size_t v = 0; v < own.size(); ++v)
    if (tube.rest(v).x() > 0.5f) own[v] = -1;
  const ElasticTracker tracker(tube.mesh(), own, tube.fields.set, tube.weights, 2, {}, {});
  for (const double degrees : {30.0, 180.0}) {
    Skin skin{tube, tracker};
    const std::vector<Affine3d> posed(2, turn(degrees, Vec3d(1, 2, 3)));
    for (int step = 0; step < 4; ++step) skin.go(posed);
    EXPECT_LT(largest_difference(skin.positions, tube.dqs(posed)), 1e-3 * kRadius) << degrees;
  }
}

TEST(ElasticTracker, RigidSkinStaysWithItsBone) {
  const Tube tube;
  std::vector<float> rigidity(tube.size(), 0);
  for (std::size_t v = 0; v < tube.size(); ++v) rigidity[v] = tube.rest(v).x() > 0.15f ? 1.0f : 0.0f;
  const ElasticTracker tracker = tube.tracker({}, rigidity), free_tracker = tube.tracker();
  Skin skin{tube, tracker}, free{tube, free_tracker};
  skin.go_to(Tube::bent, 80), free.go_to(Tube::bent, 80);
  const Affine3d upper = Tube::bent(80)[1];
  double moved = 0, rigid = 0;
  for (std::size_t v = 0; v < tube.size(); ++v) {
    if (rigidity[v] == 0) continue;
    const Vec3f carried = upper.cast<float>() * tube.rest(v);
    rigid = std::max(rigid, static_cast<double>((skin.positions[v] - carried).norm()));
    moved = std::max(moved, static_cast<double>((free.positions[v] - carried).norm()));
  }
  EXPECT_LT(rigid, 1e-5);
  EXPECT_GT(moved, 0.1 * kRadius);
}

TEST(ElasticTracker, HalfRigidSkinIsInBetweenAndComesToRest) {
  const Tube tube;
  std::vector<float> rigidity(tube.size());
  for (std::size_t v = 0; v < tube.size(); ++v) rigidity[v] = static_cast<float>(v * 7 % 10) / 10;
  const ElasticTracker tracker = tube.tracker({}, rigidity);
  Skin skin{tube, tracker};
  skin.go_to(Tube::bent, 60, 12, test::kSanitized ? 10 : 20);
  ASSERT_TRUE(all_finite(skin.positions));
  const std::vector<Vec3f> before = skin.positions;
  skin.go(Tube::bent(60));
  EXPECT_LT(largest_difference(before, skin.positions), 0.05 * kRadius);
  const std::vector<Vec3f> skinned = tube.dqs(Tube::bent(60));
  EXPECT_LT(largest_difference(skin.positions, skinned), kRadius);
}

TEST(ElasticTracker, SkinBehindItsBoneDoesNotComeOutThere) {
  const Tube tube;
  const ElasticTracker tracker = tube.tracker();
  Skin skin{tube, tracker};
  skin.go(Tube::bent(0));
  // A patch as large as the tube is thick.
  std::size_t behind = 0;
  for (Vec3f& kept : skin.state.kept) {
    if (std::abs(kept.x() - 0.5f) > kRadius || kept.y() < 0.7f * kRadius) continue;
    kept.y() *= -0.3f, kept.z() *= -0.3f;
    ++behind;
  }
  ASSERT_GT(behind, 10u);
  std::fill(skin.state.awake.begin(), skin.state.awake.end(), std::uint8_t{1});
  for (int step = 0; step < 30; ++step) skin.go(Tube::bent(0));
  EXPECT_LT(largest_difference(skin.positions, tube.character->rest()), 0.02 * kRadius);
}

TEST(ElasticTracker, InAFoldSkinSlidesAlongTheJointsPlane) {
  const Tube tube;
  const ElasticTracker tracker = tube.tracker();
  Skin skin{tube, tracker};
  skin.go_to(Tube::bent, 140);
  const TrackingScratch& tracking = skin.state.tracking;
  ASSERT_EQ(tracking.planes.size(), 1u);
  std::size_t in_fold = 0;
  for (std::size_t i = 0; i < tube.size(); ++i) {
    const bool folded = tracking.state[i] >= TrackMark::contact && tracking.beta[i] > 0.5f;
    if (!folded || tracking.planes[0].share(tracking.now[i] - tracking.joints[0], kRadius) < 0.95f) continue;
    ++in_fold;
    EXPECT_GT(std::abs(skin.state.normal[i].dot(tracking.planes[0].normal)), 0.997f) << i;
  }
  EXPECT_GT(in_fold, 2u);
}

TEST(ElasticTracker, AHeldPoseComesToRest) {
  const Tube tube;
  const ElasticTracker tracker = tube.tracker();
  for (const bool twist : {false, true})
    for (const double degrees : {60.0, 120.0, 150.0}) {
      if (test::kSanitized && degrees == 120) continue;
      Skin skin{tube, tracker};
      const auto pose = [&](double angle) { return twist ? Tube::twisted(angle) : Tube::bent(angle); };
      skin.go_to(pose, degrees, 12, test::kSanitized ? 8 : 15);
      const std::vector<Vec3f> before = skin.positions;
      skin.go(pose(degrees));
      EXPECT_LT(largest_difference(before, skin.positions), 0.02 * kRadius) << degrees;
    }
}

TEST(ElasticTracker, OneStepOrManyEndInTheSamePlace) {
  const Tube tube;
  const ElasticTracker tracker = tube.tracker();
  Skin few{tube, tracker}, many{tube, tracker};
  few.go_to(Tube::bent, 60, 2, 8), many.go_to(Tube::bent, 60, test::kSanitized ? 12 : 30, 8);
  EXPECT_LT(largest_difference(few.positions, many.positions), 0.02 * kRadius);
}

TEST(ElasticTracker, PosesAnywhereAndOfAnySizeAreTheSame) {
  const Tube tube;
  const ElasticTracker tracker = tube.tracker();
  Skin usual{tube, tracker};
  usual.go_to(Tube::bent, 70);
  Affine3d mirrored = Affine3d::Identity(), large = turn(100, Vec3d(1, 1, 0)), small = Affine3d::Identity();
  mirrored.linear()(0, 0) = -1;
  large.linear() *= 100;
  small.linear() *= 0.01;
  const Affine3d moved = Eigen::Translation3d(3, -2, 1) * turn(130, Vec3d(3, 2, 1));
  for (const Affine3d& change : {mirrored, large, small, moved}) {
    Skin skin{tube, tracker};
    skin.go_to(
        [&](double degrees) {
          std::vector<Affine3d> posed = Tube::bent(degrees);
          for (Affine3d& bone : posed) bone = change * bone;
          return posed;
        },
        70);
    for (Vec3f& p : skin.positions) p = change.inverse().cast<float>() * p;
    EXPECT_LT(largest_difference(usual.positions, skin.positions), 0.01 * kRadius) << change.matrix();
  }
}

TEST(ElasticTracker, RootMotionAloneMovesTheSkinAsOnePiece) {
  const Tube tube;
  const ElasticTracker tracker = tube.tracker();
  Skin skin{tube, tracker};
  skin.go_to(Tube::bent, 70);
  const std::vector<Vec3f> before = skin.positions;
  for (int step = 1; step <= 8; ++step) {
    const Affine3d root = Eigen::Translation3d(0.3 * step, -0.1 * step, 0) * turn(25 * step, Vec3d(1, 2, 3));
    std::vector<Affine3d> posed = Tube::bent(70);
    for (Affine3d& bone : posed) bone = root * bone;
    skin.go(posed);
    std::vector<Vec3f> expected = before;
    for (Vec3f& p : expected) p = root.cast<float>() * p;
    ASSERT_LT(largest_difference(expected, skin.positions), 1e-3 * kRadius) << step;
  }
}

TEST(ElasticTracker, SameBitsOnAnyNumberOfThreadsAndAgain) {
  const Tube tube;
  const ElasticTracker tracker = tube.tracker();
  const auto play = [&](int threads) {
    Skin skin{tube, tracker};
    tbb::task_arena(threads).execute([&] { skin.go_to(Tube::bent, 110, 6, 1); });
    return skin.positions;
  };
  const std::vector<Vec3f> one = play(1);
  EXPECT_TRUE(one == play(2));
  EXPECT_TRUE(one == play(4));
  // A copied state goes on as the first.
  Skin skin{tube, tracker};
  skin.go_to(Tube::bent, 110, 6, 0);
  ElasticState copy = skin.state;
  skin.go(Tube::bent(100));
  std::vector<Vec3f> again = tube.dqs(Tube::bent(100));
  tracker.step(Tube::bent(100), copy, again);
  EXPECT_TRUE(again == skin.positions);
}

TEST(ElasticTracker, StartForgetsWhatWas) {
  const Tube tube(24, 12);
  const ElasticTracker tracker = tube.tracker();
  Skin used{tube, tracker}, fresh{tube, tracker};
  used.go_to(Tube::bent, 130, 4, 1);
  used.state.started = false;
  used.go(Tube::twisted(50)), fresh.go(Tube::twisted(50));
  EXPECT_TRUE(used.positions == fresh.positions);
}

class BadSteps : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(ElasticTracker, BadSteps, testing::Range(0, 10));

/// A few steps with transforms that no skin can follow; after that, the skin must find back.
TEST_P(BadSteps, AreFiniteAndForgotten) {
  const Tube tube(24, 12);
  const ElasticTracker tracker = tube.tracker();
  Affine3d bad = Affine3d::Identity();
  bool both = false;
  switch (GetParam()) {
    case 0:
      bad.linear().setZero();
      break;
    case 1:
      bad.linear()(1, 1) = 0;
      break;
    case 2:
      bad.linear() *= 1e-3;
      break;
    case 3:
      bad.linear() *= 1e6;
      break;
    case 4:
      bad.linear() *= -1;
      break;
    case 5:
      bad.linear()(0, 0) = kNan;
      break;
    case 6:
      bad.translation().setConstant(1e14);
      break;
    case 7:
      bad.translation().setConstant(1e7), both = true;
      break;
    case 8:
      bad.linear() *= 1e-7, both = true;
      break;
    default:
      bad = turn(179, Vec3d(1, 1, 1));
      break;
  }
  Skin skin{tube, tracker}, spared{tube, tracker};
  for (int step = 0; step <= 4; ++step) skin.go(Tube::bent(10 * step)), spared.go(Tube::bent(10 * step));
  for (int step = 0; step < 3; ++step) {
    skin.positions = tube.dqs(Tube::bent(40));
    tracker.step(std::vector<Affine3d>{both ? bad : Affine3d::Identity(), bad}, skin.state, skin.positions);
    ASSERT_TRUE(all_finite(skin.positions)) << step;
  }
  for (int step = 0; step < 12; ++step) {
    skin.go(Tube::bent(50)), spared.go(Tube::bent(50));
    ASSERT_TRUE(all_finite(skin.positions)) << step;
  }
  EXPECT_LT(largest_difference(skin.positions, spared.positions), 0.02 * kRadius);
}

TEST(ElasticTracker, SmallSetsAndMeshes) {
  const Tube tube(24, 12);
  const auto posed = Tube::bent(100);
  const auto play = [&](const ElasticTracker& tracker, std::vector<Vec3f> positions) {
    ElasticState state = tracker.make_state();
    const std::vector<Vec3f> given = positions;
    tracker.start(posed, state, positions);
    for (int step = 0; step < 2; ++step) {
      positions = given;
      tracker.step(posed, state, positions);
    }
    return positions;
  };
  // No fields at all, and no vertices.
  const ElasticTracker none(tube.mesh(), std::vector<std::int32_t>(tube.size(), -1),
                            std::make_shared<FieldSet>(), tube.weights, 2, {}, {});
  EXPECT_TRUE(play(none, tube.dqs(posed)) == tube.dqs(posed));
  const ElasticTracker empty(MeshView{}, {}, tube.fields.set, SkinWeights(), 2, {}, {});
  EXPECT_TRUE(play(empty, {}).empty());
  // One triangle on the tube's inner side, and its corners alone.
  const std::vector<Vec3f> corners{{-0.02f, 0.2f, 0}, {0.02f, 0.2f, 0.01f}, {0, 0.2f, -0.02f}};
  const std::vector<Triangle> triangle{{0, 1, 2}};
  SkinWeights weights;
  WeightRepairs repairs;
  for (int v = 0; v < 3; ++v) {
    Influence row[2] = {{0, 0.5f}, {1, 0.5f}};
    append_row(weights, row, 0, repairs);
  }
  const std::vector<std::int32_t> own{0, 1, 0};
  std::vector<Vec3f> skinned(3);
  reference::dual_quaternion<double>(corners, weights, posed, skinned);
  const ElasticTracker three(MeshView{corners, triangle}, own, tube.fields.set, weights, 2, {}, {});
  const ElasticTracker loose(MeshView{corners, {}}, own, tube.fields.set, weights, 2, {}, {});
  EXPECT_TRUE(all_finite(play(three, skinned)));
  EXPECT_TRUE(all_finite(play(loose, skinned)));
}

}  // namespace
}  // namespace sinew
