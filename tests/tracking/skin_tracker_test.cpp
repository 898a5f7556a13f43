#include <sinew/tracking/skin_tracker.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <set>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <sinew/character/character.h>
#include <sinew/core/error.h>
#include <sinew/geometry/one_rings.h>
#include <sinew/layers/character_fields.h>
#include <sinew/measure/flips.h>
#include <sinew/measure/surface_ruler.h>

#include "tests/reference/skinning.h"
#include "tests/support/allocations.h"
#include "tests/support/grid_tube.h"
#include "tests/support/sanitized.h"

namespace sinew {
namespace {

constexpr float kRadius = 0.2f;  // of the tube
const float kNan = std::nanf("");

float radians(double degrees) {
  return static_cast<float>(degrees * std::numbers::pi / 180);
}

/// The papers' tube with its fields, and poses of it.
struct Tube {
  std::shared_ptr<const Character> character;
  CharacterFields fields;

  explicit Tube(int rings = test::kSanitized ? 32 : 40, int segments = test::kSanitized ? 16 : 24,
                const ImplicitOptions& options = {}) {
    test::GridTubeOptions tube;
    tube.rings = rings;
    tube.segments = segments;
    Recipe recipe;
    recipe.normals = false;
    character = Character::make(test::make_grid_tube(tube), recipe);
    fields = make_character_fields(*character, options);
  }

  std::size_t size() const { return character->rest().size(); }
  MeshView mesh() const { return {character->rest(), character->triangles()}; }

  SkinTracker tracker(const TrackingOptions& options = {}) const {
    const std::vector<Affine3d> identity(2, Affine3d::Identity());
    return SkinTracker(mesh(), fields.own, fields.set, character->skin_weights(), identity, options);
  }

  /// Upper bone turned about z, towards +y: where y > 0 at rest the tube folds.
  static std::vector<Affine3d> bent(double degrees) {
    return {Affine3d::Identity(), Affine3d(Eigen::AngleAxisd(radians(degrees), Vec3d::UnitZ()))};
  }

  std::vector<Vec3f> dqs(std::span<const Affine3d> posed) const {
    std::vector<Vec3f> result(size());
    reference::dual_quaternion<double>(character->rest(), character->skin_weights(), posed, result);
    return result;
  }

  /// Every vertex moved by its heaviest bone alone.
  std::vector<Vec3f> rigid(std::span<const Affine3d> posed) const {
    std::vector<Vec3f> result;
    for (std::size_t v = 0; v < size(); ++v)
      result.push_back(posed[character->skin_weights().row_joints(v)[0]].cast<float>() *
                       character->rest()[v]);
    return result;
  }
};

struct Tracked {
  std::vector<Vec3f> positions;
  std::vector<TrackMark> marks;
};

Tracked track(const SkinTracker& tracker, std::span<const Affine3d> posed, std::vector<Vec3f> positions) {
  TrackingScratch scratch = tracker.make_scratch();
  tracker.track(posed, scratch, positions);
  tracker.untangle(scratch, positions);
  return {positions, scratch.marks};
}

Tracked track(const Tube& tube, double degrees, const TrackingOptions& options = {}) {
  const auto posed = Tube::bent(degrees);
  return track(tube.tracker(options), posed, tube.dqs(posed));
}

std::size_t count(const Tracked& tracked, TrackMark mark) {
  return static_cast<std::size_t>(std::count(tracked.marks.begin(), tracked.marks.end(), mark));
}

/// How far a point is on the upper bone's side of the plane in which the bent tube folds.
float above_fold(const Vec3f& at, double degrees) {
  return at.dot(Vec3f(1 + std::cos(radians(degrees)), std::sin(radians(degrees)), 0).normalized());
}

/// Only Newton's steps towards the iso-value at rest.
TrackingOptions plain_projection() {
  TrackingOptions options;
  options.ease = options.swelling = options.coherence = options.relaxation = 0;
  options.smoothing = options.untangling = 0;
  options.strain = 100;
  options.rounds = 8;
  return options;
}

void expect_finite(std::span<const Vec3f> positions) {
  for (std::size_t v = 0; v < positions.size(); ++v) ASSERT_TRUE(positions[v].allFinite()) << v;
}

TEST(SkinTracker, SizesMustAgree) {
  const Tube tube(12, 8);
  const std::vector<Affine3d> identity(2, Affine3d::Identity());
  const auto make = [&](std::span<const std::int32_t> own, const SkinWeights& weights) {
    SkinTracker(tube.mesh(), own, tube.fields.set, weights, identity, {});
  };
  const std::span<const std::int32_t> own = tube.fields.own;
  EXPECT_NO_THROW(make(own, tube.character->skin_weights()));
  EXPECT_THROW(make(own.subspan(1), tube.character->skin_weights()), Error);
  EXPECT_THROW(make(own, SkinWeights()), Error);
}

TEST(SkinTracker, IsoIsTheComposedFieldAtRest) {
  const Tube tube(40, 24);
  const std::vector<float> iso = tube.tracker().iso();
  ASSERT_EQ(iso.size(), tube.size());
  for (std::size_t v = 0; v < iso.size(); ++v) {
    const Vec3f at = tube.character->rest()[v];
    double exact = 0;
    for (const BoneField& field : tube.fields.set->fields)
      exact = std::max(exact, field.value(at.cast<double>()));
    // The grid follows the field to about a hundredth, less well at the sharp rims of the ends.
    ASSERT_NEAR(iso[v], exact, std::abs(at.x()) < 0.9f ? 0.02 : 0.08) << at.transpose();
    if (std::abs(at.x()) < 0.9f) {
      ASSERT_NEAR(iso[v], 0.5, 0.06) << at.transpose();
    }
  }
}

TEST(SkinTracker, VerticesWithoutAFieldAreLeftAlone) {
  const Tube tube(24, 12);
  std::vector<std::int32_t> own = tube.fields.own;
  for (std::size_t v = 0; v < own.size(); v += 3) own[v] = -1;
  const std::vector<Affine3d> identity(2, Affine3d::Identity());
  const SkinTracker tracker(tube.mesh(), own, tube.fields.set, tube.character->skin_weights(), identity, {});
  const auto posed = Tube::bent(130);
  const std::vector<Vec3f> before = tube.dqs(posed);
  const Tracked after = track(tracker, posed, before);
  EXPECT_GT(count(after, TrackMark::moved) + count(after, TrackMark::returned), 10u);
  for (std::size_t v = 0; v < own.size(); v += 3) {
    EXPECT_TRUE(after.positions[v] == before[v]) << v;
    EXPECT_EQ(after.marks[v], TrackMark::still);
    EXPECT_EQ(tracker.iso()[v], 0);
  }
}

TEST(SkinTracker, MovedVerticesAreOnTheirIso) {
  const Tube tube(40, 24);
  for (const double degrees : {30.0, 60.0}) {
    const auto posed = Tube::bent(degrees);
    const SkinTracker tracker = tube.tracker(plain_projection());
    const std::vector<Vec3f> before = tube.dqs(posed);
    const Tracked after = track(tracker, posed, before);
    const std::vector<float> iso = tracker.iso();
    std::vector<PosedField> fields(2);
    pose_fields(*tube.fields.set, posed, fields);
    std::size_t off_before = 0;
    for (std::size_t v = 0; v < tube.size(); ++v) {
      if (after.marks[v] != TrackMark::moved) continue;
      const float now = sample(*tube.fields.set, fields, after.positions[v]).value;
      ASSERT_NEAR(now, iso[v], 1.01 * tracker.options().tolerance)
          << degrees << " " << tube.character->rest()[v].transpose();
      double exact = 0;
      for (std::size_t f = 0; f < 2; ++f)
        exact =
            std::max(exact, tube.fields.set->fields[f].value(posed[tube.fields.set->transform[f]].inverse() *
                                                             after.positions[v].cast<double>()));
      ASSERT_NEAR(now, exact, 0.05);
      off_before += std::abs(sample(*tube.fields.set, fields, before[v]).value - iso[v]) > 0.01f;
    }
    EXPECT_GT(count(after, TrackMark::moved), tube.size() / 20) << degrees;
    EXPECT_GT(off_before, tube.size() / 40) << degrees;
    // At these angles hardly anything touches.
    EXPECT_LT(count(after, TrackMark::contact) + count(after, TrackMark::returned), tube.size() / 20);
  }
}

TEST(SkinTracker, SmallerStepsArriveAtTheSamePlace) {
  const Tube tube(24, 12);
  TrackingOptions options = plain_projection();
  const Tracked whole = track(tube, 45, options);
  options.step = 0.35;
  options.steps = 4;
  const Tracked part = track(tube, 45, options);
  for (std::size_t v = 0; v < tube.size(); ++v)
    if (whole.marks[v] == TrackMark::moved && part.marks[v] == TrackMark::moved) {
      EXPECT_LT((whole.positions[v] - part.positions[v]).norm(), 0.02f * kRadius) << v;
    }
}

TEST(SkinTracker, AtRestNothingIsDone) {
  const Tube tube;
  const std::vector<Affine3d> identity(2, Affine3d::Identity());
  const std::vector<Vec3f> rest(tube.character->rest().begin(), tube.character->rest().end());
  const Tracked after = track(tube.tracker(), identity, rest);
  EXPECT_TRUE(after.positions == rest);
  EXPECT_EQ(count(after, TrackMark::still), tube.size());
}

TEST(SkinTracker, ContactIsInTheFoldOnly) {
  const Tube tube;
  for (const double degrees : {60.0, 90.0, 130.0}) {
    const Tracked after = track(tube, degrees);
    for (std::size_t v = 0; v < tube.size(); ++v) {
      const Vec3f rest = tube.character->rest()[v];
      if (after.marks[v] >= TrackMark::contact) {
        EXPECT_GT(rest.y(), 0) << degrees << ": " << rest.transpose();
        EXPECT_LT(std::abs(rest.x()), 2.6f * kRadius) << degrees << ": " << rest.transpose();
      }
      // Far from the joint the layer before has done all there is to do.
      if (std::abs(rest.x()) > 0.85f) {
        EXPECT_EQ(after.marks[v], TrackMark::still) << rest.transpose();
      }
    }
    if (degrees == 130) {
      EXPECT_GT(count(after, TrackMark::contact) + count(after, TrackMark::returned), 8u);
    }
  }
}

TEST(SkinTracker, NoVertexEndsBeyondTheFold) {
  const Tube tube;
  for (const double degrees : {90.0, 110.0, 130.0}) {
    const auto posed = Tube::bent(degrees);
    const std::vector<Vec3f> before = tube.dqs(posed);
    const Tracked after = track(tube.tracker(), posed, before);
    float worst_before = 0, worst = 0;
    for (std::size_t v = 0; v < tube.size(); ++v) {
      const float side = tube.fields.own[v] == 1 ? 1.0f : -1.0f;
      if (std::abs(tube.character->rest()[v].x()) < 0.02f) continue;
      worst_before = std::max(worst_before, -side * above_fold(before[v], degrees));
      worst = std::max(worst, -side * above_fold(after.positions[v], degrees));
    }
    EXPECT_LT(worst, 0.05f * kRadius) << degrees;
    if (degrees == 130) {
      EXPECT_GT(worst_before, 0.1f * kRadius);
    }
  }
}

TEST(SkinTracker, VerticesThatWerePushedAcrossComeBack) {
  const Tube tube;
  for (const double degrees : {70.0, 100.0}) {
    const auto posed = Tube::bent(degrees);
    const SkinTracker tracker = tube.tracker();
    std::vector<Vec3f> before = track(tracker, posed, tube.dqs(posed)).positions;
    const Vec3f across = Vec3f(1 + std::cos(radians(degrees)), std::sin(radians(degrees)), 0).normalized();
    std::vector<std::size_t> pushed;
    for (std::size_t v = 0; v < tube.size(); ++v) {
      const Vec3f rest = tube.character->rest()[v];
      const float above = above_fold(before[v], degrees);
      // A patch of the upper arm's inner side, through the fold into the lower arm.
      if (tube.fields.own[v] != 1 || rest.y() < 0.8f * kRadius || rest.x() > 2 * kRadius ||
          rest.x() < 0.2f * kRadius)
        continue;
      before[v] -= (above + 0.2f * kRadius) * across;
      pushed.push_back(v);
    }
    ASSERT_GT(pushed.size(), 5u);
    const Tracked after = track(tracker, posed, before);
    std::size_t returned = 0;
    for (const std::size_t v : pushed) {
      EXPECT_GT(above_fold(after.positions[v], degrees), -0.06f * kRadius)
          << degrees << ": " << tube.character->rest()[v].transpose();
      returned += after.marks[v] == TrackMark::returned;
    }
    EXPECT_GT(returned, pushed.size() / 2) << degrees;
  }
}

TEST(SkinTracker, ARigidSkinIsUnfolded) {
  // Nothing blends: the two halves go through each other at the inner side and gape at the outer one.
  const Tube tube;
  const SurfaceRuler ruler(tube.mesh());
  for (const double degrees : {60.0, 100.0}) {
    const auto posed = Tube::bent(degrees);
    const std::vector<Vec3f> before = tube.rigid(posed);
    const Tracked after = track(tube.tracker(), posed, before);
    const SurfaceMeasurements was = ruler.measure(before), is = ruler.measure(after.positions);
    EXPECT_GT(was.overlap.total(), 1e-4);
    EXPECT_LT(is.overlap.total(), 0.2 * was.overlap.total()) << degrees;
    EXPECT_GT(count(after, TrackMark::returned), 5u);
  }
}

TEST(SkinTracker, SwellingIsKeptAsAsked) {
  const Tube tube;
  const auto posed = Tube::bent(90);
  const std::vector<Vec3f> before = tube.dqs(posed);
  // How far the outer side stands out from the two bones.
  const auto outer = [&](std::span<const Vec3f> positions) {
    float farthest = 0;
    for (std::size_t v = 0; v < tube.size(); ++v)
      if (tube.character->rest()[v].y() < -0.7f * kRadius && std::abs(tube.character->rest()[v].x()) < 0.5f) {
        const Vec3f& p = positions[v];
        const float to_lower = Vec3f(std::max(p.x(), 0.0f), p.y(), p.z()).norm();
        const float to_upper = Vec3f(p.x(), std::min(p.y(), 0.0f), p.z()).norm();
        farthest = std::max(farthest, std::min(to_lower, to_upper));
      }
    return farthest;
  };
  TrackingOptions options = plain_projection();
  std::vector<float> radius;
  for (const double swelling : {0.0, 0.5, 1.0}) {
    options.swelling = swelling;
    radius.push_back(outer(track(tube.tracker(options), posed, before).positions));
  }
  EXPECT_GT(outer(before), 1.1f * kRadius);
  EXPECT_LT(radius[0], 1.05f * kRadius);
  EXPECT_GT(radius[1], radius[0] + 0.1f * (outer(before) - kRadius));
  EXPECT_LT(radius[1], outer(before) - 0.1f * (outer(before) - kRadius));
  EXPECT_NEAR(radius[2], outer(before), 1e-5f);
}

TEST(SkinTracker, EaseLeavesSmallErrors) {
  const Tube tube(24, 12);
  TrackingOptions options = plain_projection();
  const auto posed = Tube::bent(40);
  const std::vector<Vec3f> before = tube.dqs(posed);
  const Tracked strict = track(tube.tracker(options), posed, before);
  options.ease = 0.01;
  const SkinTracker eased_tracker = tube.tracker(options);
  const Tracked eased = track(eased_tracker, posed, before);
  EXPECT_LT(count(eased, TrackMark::moved), count(strict, TrackMark::moved));
  EXPECT_GT(count(eased, TrackMark::moved), 0u);
  // What moved stops an ease short of its iso-value: so nothing pops as it begins to move.
  std::vector<PosedField> fields(2);
  pose_fields(*tube.fields.set, posed, fields);
  for (std::size_t v = 0; v < tube.size(); ++v)
    if (eased.marks[v] == TrackMark::moved) {
      const float now = sample(*tube.fields.set, fields, eased.positions[v]).value;
      EXPECT_GT(std::abs(now - eased_tracker.iso()[v]), 0.98 * options.ease);
    }
}

TEST(SkinTracker, StrainBoundsHowNeighboursDiffer) {
  const Tube tube;
  const auto posed = Tube::bent(130);
  const std::vector<Vec3f> before = tube.rigid(posed);
  const OneRings rings = one_rings(tube.size(), tube.character->triangles());
  // Largest difference of a displacement from the mean of its neighbours', in edges.
  const auto strain = [&](double allowed) {
    TrackingOptions options;
    options.strain = allowed;
    options.untangling = 0;
    const Tracked after = track(tube.tracker(options), posed, before);
    float worst = 0;
    for (std::size_t v = 0; v < tube.size(); ++v) {
      if (after.marks[v] == TrackMark::still) continue;
      Vec3f mean = Vec3f::Zero();
      float edge = 0;
      for (const std::uint32_t n : rings[v]) {
        mean += after.positions[n] - before[n];
        edge += (tube.character->rest()[n] - tube.character->rest()[v]).norm();
      }
      mean /= static_cast<float>(rings[v].size());
      worst = std::max(
          worst, (after.positions[v] - before[v] - mean).norm() * static_cast<float>(rings[v].size()) / edge);
    }
    return worst;
  };
  const float free = strain(100), bound = strain(0.1);
  EXPECT_GT(free, 1.5f);
  EXPECT_LT(bound, 0.5f);  // its two sweeps do not reach the bound everywhere
}

TEST(SkinTracker, CoherenceEvensOutNeighbours) {
  const Tube tube;
  const OneRings rings = one_rings(tube.size(), tube.character->triangles());
  const auto posed = Tube::bent(110);
  std::vector<Vec3f> before = tube.dqs(posed);
  // Every other vertex of the outer side is sunk in.
  for (std::size_t v = 0; v < tube.size(); v += 2) before[v] *= 0.97f;
  const auto roughness = [&](double coherence) {
    TrackingOptions options;
    options.coherence = coherence;
    options.smoothing = 0;
    options.step = 0.05;  // so that the last projection does not undo it
    options.rounds = 6;
    const Tracked after = track(tube.tracker(options), posed, before);
    double sum = 0;
    for (std::size_t v = 0; v < tube.size(); ++v) {
      Vec3f mean = Vec3f::Zero();
      for (const std::uint32_t n : rings[v]) mean += after.positions[n] - before[n];
      sum += (after.positions[v] - before[v] - mean / static_cast<float>(rings[v].size())).squaredNorm();
    }
    return std::sqrt(sum);
  };
  EXPECT_LT(roughness(0.9), 0.95 * roughness(0));
}

/// How vertices move while a tube bends by a quarter of a degree per frame.
struct Sweep {
  float largest_step = 0;
  float largest_change = 0;  // of a step, from one frame to the next
  double mean_step = 0;
};

Sweep sweep(const Tube& tube, double first, double last) {
  const SkinTracker tracker = tube.tracker();
  TrackingScratch scratch = tracker.make_scratch();
  std::array<std::vector<Vec3f>, 3> frames;
  Sweep result;
  std::size_t steps = 0;
  for (double degrees = first; degrees <= last; degrees += 0.25) {
    const auto posed = Tube::bent(degrees);
    std::rotate(frames.begin(), frames.begin() + 1, frames.end());
    frames[2] = tube.dqs(posed);
    tracker.track(posed, scratch, frames[2]);
    tracker.untangle(scratch, frames[2]);
    if (frames[0].empty()) continue;
    for (std::size_t v = 0; v < tube.size(); ++v) {
      const Vec3f step = frames[2][v] - frames[1][v], before = frames[1][v] - frames[0][v];
      const float length = step.norm();
      result.largest_step = std::max(result.largest_step, length);
      result.largest_change = std::max(result.largest_change, (step - before).norm());
      result.mean_step += length;
      ++steps;
    }
  }
  result.mean_step /= static_cast<double>(steps);
  return result;
}

TEST(SkinTracker, NothingFlickersWhileATubeBends) {
  // Measured: steps change by up to 0.033 radii, where skins begin to touch. The tube's own end moves by 3.7
  // mean steps, the quickest vertex by 4.6.
  const Sweep all = sweep(Tube(36, 16), test::kSanitized ? 60 : 0, test::kSanitized ? 64 : 118);
  EXPECT_LT(all.largest_change, 0.05f * kRadius);
  EXPECT_LT(all.largest_step, 6 * all.mean_step);
}

TEST(SkinTracker, NothingJumpsInSlowMotion) {
  // A hundredth of a degree moves the tube's far end by 0.0009 radii. What jumps by ten times that is not
  // continuous in the pose. Deep folds included; the rigid skin tears the tube apart.
  const Tube tube(36, 16);
  const SkinTracker tracker = tube.tracker();
  std::size_t jumps = 0, steps = 0;
  float largest = 0;
  for (double degrees = 70; degrees <= 150; degrees += test::kSanitized ? 40 : 2)
    for (const bool rigid : {false, true}) {
      std::array<Tracked, 2> frames;
      for (int k = 0; k < 2; ++k) {
        const auto posed = Tube::bent(degrees + 0.01 * k);
        frames[static_cast<std::size_t>(k)] =
            track(tracker, posed, rigid ? tube.rigid(posed) : tube.dqs(posed));
      }
      for (std::size_t v = 0; v < tube.size(); ++v) {
        const float step = (frames[1].positions[v] - frames[0].positions[v]).norm();
        jumps += step > 0.01f * kRadius;
        largest = std::max(largest, step);
        ++steps;
      }
    }
  EXPECT_LE(static_cast<double>(jumps), 1e-4 * static_cast<double>(steps)) << jumps << " of " << steps;
  EXPECT_LT(largest, 0.1f * kRadius);
}

TEST(SkinTracker, FlippedTrianglesAreUntangled) {
  const Tube tube(48, 20);
  const auto posed = Tube::bent(150);
  const std::vector<Vec3f> before = tube.dqs(posed);
  const auto flips = [&](int sweeps) {
    TrackingOptions options;
    options.untangling = sweeps;
    return flipped_triangles(tube.mesh(), track(tube.tracker(options), posed, before).positions,
                             tube.character->skin_weights(), posed)
        .size();
  };
  EXPECT_GT(flips(0), 4 * flips(8)) << flips(8);
}

TEST(SkinTracker, MirroredAndSmallCharactersAreTheSame) {
  const Tube tube(36, 16);
  const std::vector<Affine3d> bent = Tube::bent(120);
  const Tracked usual = track(tube.tracker(), bent, tube.dqs(bent));
  for (const double scale : {0.05, -1.0}) {
    // All of it scaled, or seen in a mirror.
    Affine3d change = Affine3d::Identity();
    change.linear() = Vec3d(scale, std::abs(scale), std::abs(scale)).asDiagonal();
    std::vector<Affine3d> posed;
    for (const Affine3d& bone : bent) posed.push_back(change * bone);
    std::vector<Vec3f> start = tube.dqs(bent);
    for (Vec3f& p : start) p = change.cast<float>() * p;
    const Tracked changed = track(tube.tracker(), posed, start);
    std::size_t differ = 0;
    for (std::size_t v = 0; v < tube.size(); ++v)
      differ += (change.cast<float>() * usual.positions[v] - changed.positions[v]).norm() >
                0.01f * kRadius * static_cast<float>(std::abs(scale));
    EXPECT_LT(differ, tube.size() / 100) << scale;
  }
}

TEST(SkinTracker, WhatIsOffItsPlaceIsTrackedAtAnyScale) {
  // Skin that its bone carries where it is, as everything round it, is left alone. How exactly goes by the
  // size in the pose: a character in millimetres must not keep dents that one in metres loses.
  const Tube tube;
  TrackingOptions eager;
  eager.ease = eager.swelling = 0;
  const SkinTracker tracker = tube.tracker(eager);
  for (const double scale : {1.0, 0.001}) {
    const std::vector<Affine3d> posed(2, Affine3d(Eigen::UniformScaling<double>(scale)));
    std::vector<Vec3f> start = tube.rigid(posed);
    std::size_t dents = 0;
    for (std::size_t v = 0; v < tube.size(); v += 5) {
      const Vec3f out(0, tube.character->rest()[v].y(), tube.character->rest()[v].z());
      if (out.norm() < 0.9f * kRadius) continue;  // the ends
      start[v] -= static_cast<float>(scale) * 0.005f * out;
      ++dents;
    }
    const Tracked tracked = track(tracker, posed, start);
    EXPECT_GT(dents, 50u);
    EXPECT_GT(count(tracked, TrackMark::moved), dents * 9 / 10) << scale;
    EXPECT_LT(count(tracked, TrackMark::moved), dents * 11 / 10) << scale;
  }
}

TEST(SkinTracker, WhatMovesAsOneStaysWhereItsBoneCarriesIt) {
  // Far from the joint, to the bit; beside it skin is tracked.
  const Tube tube;
  const auto posed = Tube::bent(100);
  const std::vector<Vec3f> start = tube.dqs(posed);
  const Tracked tracked = track(tube, 100);
  std::size_t still = 0, other = 0;
  for (std::size_t v = 0; v < tube.size(); ++v)
    (tracked.positions[v] == start[v] && tracked.marks[v] == TrackMark::still) ? ++still : ++other;
  EXPECT_GT(still, tube.size() / 10);
  EXPECT_GT(other, tube.size() / 10);
}

TEST(SkinTracker, NoTransformsAtAll) {
  const std::vector<Vec3f> rest{Vec3f(0, 0, 0), Vec3f(1, 0, 0), Vec3f(0, 1, 0)};
  const std::vector<Triangle> triangles{{0, 1, 2}};
  const std::vector<std::int32_t> own(3, -1);
  SkinWeights weights;
  weights.starts.assign(4, 0);
  const SkinTracker tracker({rest, triangles}, own, std::make_shared<FieldSet>(), weights, {}, {});
  const Tracked tracked = track(tracker, {}, rest);
  EXPECT_EQ(tracked.positions, rest);
}

TEST(SkinTracker, UntanglingReachesWhatNothingElseMoves) {
  // A twisted tube touches nothing, but here and there a vertex lies beyond one of its neighbours.
  const Tube tube(36, 16);
  const std::vector<Affine3d> posed{Affine3d::Identity(),
                                    Affine3d(Eigen::AngleAxisd(radians(90), Vec3d::UnitX()))};
  const OneRings rings = one_rings(tube.size(), tube.character->triangles());
  std::vector<Vec3f> before = tube.dqs(posed);
  std::size_t moved = 0;
  for (std::size_t v = 0; v < tube.size(); v += 7) {
    const auto values = tube.character->skin_weights().row_values(v);
    if (values.size() < 2 || values[1] < 0.1f || rings[v].size() < 5) continue;
    const Vec3f& beside = before[rings[v][0]];
    before[v] = beside + 0.3f * (beside - before[v]);
    ++moved;
  }
  const auto flips = [&](std::span<const Vec3f> positions) {
    return flipped_triangles(tube.mesh(), positions, tube.character->skin_weights(), posed).size();
  };
  const std::size_t flipped = flips(before);
  ASSERT_GT(flipped, moved);
  TrackingOptions none;
  none.untangling = 0;
  EXPECT_GT(flips(track(tube.tracker(none), posed, before).positions), flipped / 2);
  EXPECT_EQ(flips(track(tube.tracker(), posed, before).positions), 0u);
}

TEST(SkinTracker, SameBitsOnAnyNumberOfThreadsAndAgain) {
  const Tube tube;
  const auto posed = Tube::bent(120);
  const SkinTracker tracker = tube.tracker();
  const std::vector<Vec3f> before = tube.dqs(posed);
  const Tracked alone = track(tracker, posed, before);
  Tracked one, four;
  tbb::task_arena(1).execute([&] { one = track(tracker, posed, before); });
  tbb::task_arena(4).execute([&] { four = track(tracker, posed, before); });
  EXPECT_TRUE(one.positions == four.positions && one.positions == alone.positions);
  EXPECT_TRUE(one.marks == four.marks && one.marks == alone.marks);
  // Nor does a frame depend on the one before.
  TrackingScratch scratch = tracker.make_scratch();
  for (const double degrees : {140.0, 20.0, 75.0}) {
    std::vector<Vec3f> other = tube.dqs(Tube::bent(degrees));
    tracker.track(Tube::bent(degrees), scratch, other);
    tracker.untangle(scratch, other);
  }
  std::vector<Vec3f> again = before;
  tracker.track(posed, scratch, again);
  tracker.untangle(scratch, again);
  EXPECT_TRUE(again == alone.positions);
  EXPECT_TRUE(scratch.marks == alone.marks);
  // Nor a tracker on the others that are made like it.
  EXPECT_TRUE(track(Tube().tracker(), posed, before).positions == alone.positions);
}

TEST(SkinTracker, FramesAllocateNothing) {
  if (!test::counts_allocations()) GTEST_SKIP() << "sanitizers do the allocating";
  ImplicitOptions bulges;
  bulges.operation.kind = static_cast<std::size_t>(OperatorKind::contact);
  for (const ImplicitOptions& options : {ImplicitOptions(), bulges}) {
    const Tube tube(32, 16, options);
    const SkinTracker tracker = tube.tracker();
    TrackingScratch scratch = tracker.make_scratch();
    const auto posed = Tube::bent(120);
    std::vector<Vec3f> positions = tube.dqs(posed);
    std::size_t in_frame = 0;
    tbb::task_arena(1).execute([&] {
      const std::size_t before = test::allocations();
      tracker.track(posed, scratch, positions);
      tracker.untangle(scratch, positions);
      in_frame = test::allocations() - before;
    });
    EXPECT_EQ(in_frame, 0u);
    EXPECT_GT(test::allocations(), 0u);
  }
}

class BadPositions : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(SkinTracker, BadPositions, testing::Bool());

TEST_P(BadPositions, ThatAreNotFiniteStayAndHurtNobody) {
  const Tube tube = GetParam() ? Tube(10, 6) : Tube();  // the first is too coarse to be trusted
  const SkinTracker tracker = tube.tracker();
  const float inf = std::numeric_limits<float>::infinity();
  for (const double degrees : {0.0, 60.0, 130.0}) {
    const auto posed = Tube::bent(degrees);
    for (const Vec3f& bad : {Vec3f(kNan, kNan, kNan), Vec3f(0, kNan, 0), Vec3f(inf, 0, 0),
                             Vec3f(-inf, inf, kNan), Vec3f(1e30f, -1e30f, 1e30f)}) {
      std::vector<Vec3f> before = tube.dqs(posed);
      std::set<std::size_t> spoilt;
      for (std::size_t v = 0; v < tube.size(); v += 17) before[v] = bad, spoilt.insert(v);
      const Tracked after = track(tracker, posed, before);
      for (std::size_t v = 0; v < tube.size(); ++v) {
        if (spoilt.count(v) && !bad.allFinite()) {
          EXPECT_EQ(after.marks[v], TrackMark::still);
          for (int k = 0; k < 3; ++k)
            ASSERT_TRUE(after.positions[v][k] == bad[k] ||
                        (std::isnan(after.positions[v][k]) && std::isnan(bad[k])))
                << degrees << ": " << bad.transpose() << " is now " << after.positions[v].transpose();
        } else {
          ASSERT_TRUE(after.positions[v].allFinite())
              << degrees << " " << bad.transpose() << " " << tube.character->rest()[v].transpose();
        }
      }
    }
    const std::vector<Vec3f> all(tube.size(), Vec3f::Constant(kNan));
    EXPECT_EQ(count(track(tracker, posed, all), TrackMark::still), tube.size());
  }
}

TEST(SkinTracker, TransformsThatCannotBeInvertedGiveFinitePositions) {
  const Tube tube(24, 12);
  const SkinTracker tracker = tube.tracker();
  const std::vector<Vec3f> rest(tube.character->rest().begin(), tube.character->rest().end());
  Affine3d flat = Affine3d::Identity(), huge = Affine3d::Identity(), tiny = Affine3d::Identity();
  flat.linear()(1, 1) = 0;
  huge.linear() *= 1e20;
  tiny.linear() *= 1e-20;
  Affine3d nothing = Affine3d::Identity(), unknown = Affine3d::Identity(), far = Affine3d::Identity();
  nothing.linear().setZero();
  unknown.linear()(0, 0) = std::nan("");
  far.translation().setConstant(1e15);
  for (const Affine3d& bad : {flat, huge, tiny, nothing, unknown, far})
    for (const bool both : {false, true}) {
      const std::vector<Affine3d> posed{both ? bad : Affine3d::Identity(), bad};
      expect_finite(track(tracker, posed, rest).positions);
      expect_finite(track(tracker, posed, tube.dqs(Tube::bent(120))).positions);
    }
  // Two fields that count as nothing move nobody.
  EXPECT_TRUE(track(tracker, std::vector<Affine3d>(2, nothing), rest).positions == rest);
}

TEST(SkinTracker, SmallSetsAndMeshes) {
  const Tube tube(24, 12);
  const std::vector<Affine3d> identity(2, Affine3d::Identity());
  const auto posed = Tube::bent(100);
  // No fields at all, and no vertices.
  const SkinTracker none(tube.mesh(), std::vector<std::int32_t>(tube.size(), -1),
                         std::make_shared<FieldSet>(), tube.character->skin_weights(), identity, {});
  EXPECT_TRUE(track(none, posed, tube.dqs(posed)).positions == tube.dqs(posed));
  const SkinTracker empty(MeshView{}, {}, tube.fields.set, SkinWeights(), identity, {});
  EXPECT_TRUE(track(empty, posed, {}).positions.empty());
  // One triangle on the tube's inner side.
  const std::vector<Vec3f> corners{{-0.02f, 0.2f, 0}, {0.02f, 0.2f, 0.01f}, {0, 0.2f, -0.02f}};
  const std::vector<Triangle> triangle{{0, 1, 2}};
  SkinWeights weights;
  WeightRepairs repairs;
  for (int v = 0; v < 3; ++v) {
    Influence row[2] = {{0, 0.5f}, {1, 0.5f}};
    append_row(weights, row, 0, repairs);
  }
  const std::vector<std::int32_t> own{0, 1, 0};
  const SkinTracker three(MeshView{corners, triangle}, own, tube.fields.set, weights, identity, {});
  EXPECT_TRUE(track(three, identity, corners).positions == corners);
  std::vector<Vec3f> skinned(3);
  reference::dual_quaternion<double>(corners, weights, posed, skinned);
  expect_finite(track(three, posed, skinned).positions);
  // The same without any triangle.
  const SkinTracker loose(MeshView{corners, {}}, own, tube.fields.set, weights, identity, {});
  expect_finite(track(loose, posed, skinned).positions);
}

TEST(SkinTracker, FieldsAreWhereTheRestIs) {
  // A rest surface that stands elsewhere than the space the fields were made in.
  const Tube tube(24, 12);
  const Affine3d moved(Eigen::Translation3d(3, -2, 1) * Eigen::AngleAxisd(1, Vec3d(1, 2, 3).normalized()));
  std::vector<Vec3f> rest;
  for (const Vec3f& p : tube.character->rest()) rest.push_back(moved.cast<float>() * p);
  const std::vector<Affine3d> at_rest(2, moved);
  const SkinTracker tracker(MeshView{rest, tube.character->triangles()}, tube.fields.own, tube.fields.set,
                            tube.character->skin_weights(), at_rest, {});
  const std::vector<float> iso = tube.tracker().iso(), same = tracker.iso();
  for (std::size_t v = 0; v < tube.size(); ++v) ASSERT_NEAR(iso[v], same[v], 1e-4) << v;
  const Tracked after = track(tracker, at_rest, rest);
  EXPECT_TRUE(after.positions == rest);
}

TEST(SkinTracker, ACoarseTubeIsNotWorseThanItsSkin) {
  const Tube tube(15, 10);
  const SurfaceRuler ruler(tube.mesh());
  for (const double degrees : {60.0, 90.0, 130.0, 150.0}) {
    const auto posed = Tube::bent(degrees);
    const std::vector<Vec3f> before = tube.dqs(posed);
    const Tracked after = track(tube.tracker(), posed, before);
    expect_finite(after.positions);
    const SurfaceMeasurements was = ruler.measure(before), is = ruler.measure(after.positions);
    EXPECT_LE(is.overlap.total(), was.overlap.total() + 1e-7) << degrees;
    EXPECT_LE(is.new_buried_vertices, was.new_buried_vertices) << degrees;
    EXPECT_LE(is.depth.largest, was.depth.largest + 1e-6) << degrees;
  }
}

}  // namespace
}  // namespace sinew
