#include <sinew/tracking/probe_lanes.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <sinew/character/character.h>
#include <sinew/character/performer.h>
#include <sinew/layers/character_fields.h>
#include <sinew/models/models.h>
#include <sinew/skeleton/clip.h>
#include <sinew/tracking/skin_tracker.h>

#include "tests/reference/skinning.h"
#include "tests/support/grid_tube.h"
#include "tests/support/oval_limb.h"
#include "tests/support/sanitized.h"
#include "tests/support/shared_models.h"
#include "tests/support/simd_targets.h"

// Many probes at once against single ones.
namespace sinew {
namespace {

/// A skin that a tracker has tracked into a pose.
struct TrackedSkin {
  CharacterFields fields;
  std::unique_ptr<SkinTracker> tracker;
  TrackingScratch scratch;

  TrackedSkin(const Scene& scene, const ImplicitOptions& options, std::span<const Affine3d> posed) {
    const auto character =
        Character::make(scene, parse_recipe(R"({"normals": false, "layers": ["dqs"]})", "test"));
    fields = make_character_fields(*character, options);
    const std::vector<Affine3d> identity(posed.size(), Affine3d::Identity());
    tracker =
        std::make_unique<SkinTracker>(MeshView{character->rest(), character->triangles()}, fields.own,
                                      fields.set, character->skin_weights(), identity, TrackingOptions());
    scratch = tracker->make_scratch();
    std::vector<Vec3f> positions(character->rest().size());
    reference::dual_quaternion<double>(character->rest(), character->skin_weights(), posed, positions);
    tracker->track(posed, scratch, positions);
  }
};

/// The hand's bones, carried by the last pose of its fist.
std::vector<Affine3d> fist(const Scene& scene) {
  const auto character = Character::make(scene, parse_recipe(R"({"layers": ["dqs"]})", "test"));
  const auto clip = std::find_if(scene.clips.begin(), scene.clips.end(),
                                 [](const Clip& candidate) { return candidate.name == "fist"; });
  Pose pose = rest_pose(scene);
  sample_clip(*clip, clip->duration(), pose);
  Performer performer(character);
  performer.perform(pose, 0);
  return {performer.posed_from_rest().begin(), performer.posed_from_rest().end()};
}

/// The single probe, all fields joined by unions.
SkinProbe union_probe(const ProbeTables& tables, std::span<const std::uint16_t> fields, std::size_t i,
                      const Vec3f& at) {
  std::array<FieldSample, CompositionTree::kMostLeaves> felt;
  SkinProbe result = tables.meet_fields(fields, true, i, at, felt);
  result.all = result.own;
  for (std::size_t k = 0; k < fields.size(); ++k)
    if (felt[k].value > result.all.value) result.all = felt[k];
  return result;
}

struct Met {
  std::size_t lanes = 0, neighbours = 0, strangers = 0, across = 0, pressed = 0, turned = 0, planes = 0;
};

/// Asks at points round where the vertices are, all kinds of asking in turn.
Met compare(TrackedSkin& skin, const std::string& what) {
  const ProbeTables tables = skin.tracker->probe_tables(skin.scratch);
  std::mt19937 random(7);
  std::normal_distribution<float> off(0, 0.15f);
  Met met;
  const std::size_t tracked = skin.scratch.work.size();
  for (std::size_t b = 0; b < skin.scratch.blocks.size(); ++b) {
    const TrackingScratch::Block& block = skin.scratch.blocks[b];
    const std::span<const std::uint16_t> fields(block.fields.data(), block.field_count);
    for (const Asked asked : {Asked::here, Asked::known_here, Asked::known}) {
      std::vector<ProbeLane> lanes;
      std::vector<std::uint64_t> present;
      for (std::size_t i = 64 * b; i < std::min(64 * (b + 1), tracked); ++i) {
        if (random() % 4 == 0) continue;  // not all of a block, and so not all lanes of a vector
        const float radius = tables.radius[tables.own[i]];
        const Vec3f at = skin.scratch.now[i] + radius * Vec3f(off(random), off(random), off(random));
        const bool anew = random() % 3 != 0;
        lanes.push_back({static_cast<std::uint32_t>(i), at, anew});
        // What the single probe is to ask.
        std::uint64_t bits = asked == Asked::here ? 0 : tables.present[i];
        const bool asks = asked == Asked::here || (asked == Asked::known_here && anew);
        for (std::size_t k = 0; asks && k < fields.size(); ++k) {
          const Vec3f seen = tables.turned[i] ? tables.seen_place(i, fields[k], at) : at;
          bits |= std::uint64_t{tables.posed[fields[k]].covers(seen)} << k;
        }
        present.push_back(bits);
      }
      if (lanes.empty()) continue;
      std::vector<SkinProbe> probes(lanes.size());
      probe_lanes(tables, fields, asked, Finds::pressure, lanes, probes);
      for (std::size_t k = 0; k < lanes.size(); ++k) {
        const std::size_t i = lanes[k].vertex;
        // Points within rounding of a cell's border may be on either side of it: the field is weak there.
        if (tables.present[i] != present[k]) {
          EXPECT_LE(std::popcount(tables.present[i] ^ present[k]), 1) << what << ", vertex " << i;
          continue;
        }
        const SkinProbe& many = probes[k];
        const SkinProbe one = union_probe(tables, fields, i, lanes[k].at);
        const float per_metre = 1 / tables.radius[tables.own[i]];
        const std::string where = what + ", vertex " + std::to_string(i);
        EXPECT_NEAR(many.own.value, one.own.value, 2e-5f) << where;
        EXPECT_LT((many.own.gradient - one.own.gradient).norm(), 1e-3f * per_metre) << where;
        EXPECT_NEAR(many.all.value, one.all.value, 2e-5f) << where;
        EXPECT_NEAR(many.stranger, one.stranger, 2e-5f) << where;
        EXPECT_NEAR(many.pressed, one.pressed, 2e-3f) << where;
        EXPECT_NEAR(many.nearest.side, one.nearest.side, 5e-4f) << where;
        ++met.lanes;
        met.strangers += one.stranger > 0;
        met.across += one.nearest.side < 0;
        met.pressed += one.pressed > 0;
        met.turned += tables.turned[i];
        met.planes += one.nearest.firm > 0;
        met.neighbours += one.nearest.side < SkinContact::kNone && one.stranger == 0;
        // Which contact is the nearest, and which field the strongest, hangs on rounding where two are equal.
        if (one.nearest.side < 0.3f && std::abs(many.nearest.apart - one.nearest.apart) < 1e-4f) {
          EXPECT_NEAR(many.nearest.meets, one.nearest.meets, 2e-3f) << where;
          EXPECT_NEAR(many.nearest.firm, one.nearest.firm, 2e-3f) << where;
          EXPECT_LT((many.nearest.back - one.nearest.back).norm(), 0.02f * per_metre) << where;
          EXPECT_LT((many.nearest.rival - one.nearest.rival).norm(), 0.02f * per_metre) << where;
        }
      }
    }
  }
  return met;
}

TEST(ProbeLanes, SayWhatSingleProbesSayInAFist) {
  ModelOptions options;
  options.vertices = test::kSanitized ? 2500 : 6000;
  const Scene scene = test::shared_model("hand", options).scene;
  const std::vector<Affine3d> posed = fist(scene);
  test::for_each_simd_target([&](const std::string& target) {
    TrackedSkin skin(scene, {}, posed);
    const Met met = compare(skin, "fist, " + target);
    // It says nothing unless all of it was met.
    EXPECT_GT(met.neighbours, met.lanes / 20) << target;
    EXPECT_GT(met.strangers, met.lanes / 20) << target;
    EXPECT_GT(met.across, met.lanes / 50) << target;
    EXPECT_GT(met.pressed, met.lanes / 50) << target;
    EXPECT_GT(met.planes, met.lanes / 50) << target;
  });
}

TEST(ProbeLanes, SayWhatSingleProbesSayWhereBonesTwist) {
  const test::OvalLimb limb;
  const std::vector<Eigen::AngleAxisd> turns{Eigen::AngleAxisd(1.4, Vec3d::UnitX())};
  test::for_each_simd_target([&](const std::string& target) {
    TrackedSkin skin(limb.scene, {}, limb.posed(turns));
    const Met met = compare(skin, "twist, " + target);
    EXPECT_GT(met.turned, met.lanes / 5) << target;
    EXPECT_LT(met.turned, met.lanes) << target;
  });
}

TEST(ProbeLanes, SayWhatSingleProbesSayOfMuscles) {
  const Scene scene = test::make_grid_tube({});
  const Recipe recipe = parse_recipe(
      R"({"layers": ["dqs", {"method": "implicit", "muscles": [{"joint": "lower", "driver": "upper", "side": "+y"}]}]})",
      "test");
  const auto& options = dynamic_cast<const ImplicitOptions&>(*recipe.layers.at(1).options);
  const std::vector<Affine3d> posed{Affine3d::Identity(), Affine3d(Eigen::AngleAxisd(1.5, Vec3d::UnitZ()))};
  TrackedSkin skin(scene, options, posed);
  ASSERT_FALSE(skin.fields.set->muscles.empty());
  const Met met = compare(skin, "muscle");
  EXPECT_GT(met.across, met.lanes / 100);
}

TEST(ProbeLanes, PlacesThatAreNotFiniteHaveNoFields) {
  const Scene scene = test::make_grid_tube({});
  const std::vector<Affine3d> posed{Affine3d::Identity(), Affine3d::Identity()};
  TrackedSkin skin(scene, {}, posed);
  const ProbeTables tables = skin.tracker->probe_tables(skin.scratch);
  const TrackingScratch::Block& block = skin.scratch.blocks[0];
  std::vector<ProbeLane> lanes;
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::max()})
    lanes.push_back({static_cast<std::uint32_t>(lanes.size()), Vec3f(0, bad, 0), true});
  lanes.push_back({4, skin.scratch.now[4], true});
  std::vector<SkinProbe> probes(lanes.size());
  probe_lanes(tables, {block.fields.data(), block.field_count}, Asked::here, Finds::pressure, lanes, probes);
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_EQ(probes[k].own.value, 0) << k;
    EXPECT_EQ(probes[k].all.value, 0) << k;
    EXPECT_EQ(probes[k].nearest.side, SkinContact::kNone) << k;
    EXPECT_EQ(tables.present[k], 0u) << k;
  }
  EXPECT_NEAR(probes[4].all.value, 0.5f, 0.2f);
}

TEST(ProbeLanes, ALaneDoesNotHangOnThoseBesideIt) {
  const test::OvalLimb limb;
  const std::vector<Eigen::AngleAxisd> turns{Eigen::AngleAxisd(2, Vec3d::UnitZ())};
  TrackedSkin skin(limb.scene, {}, limb.posed(turns));
  const ProbeTables tables = skin.tracker->probe_tables(skin.scratch);
  const TrackingScratch::Block& block = skin.scratch.blocks[3];
  const std::span<const std::uint16_t> fields(block.fields.data(), block.field_count);
  std::vector<ProbeLane> lanes;
  for (std::uint32_t i = 192; i < 256; ++i) lanes.push_back({i, skin.scratch.now[i], true});
  std::vector<SkinProbe> together(64);
  probe_lanes(tables, fields, Asked::here, Finds::sides, lanes, together);
  for (std::size_t k = 0; k < 64; ++k) {
    SkinProbe alone;
    probe_lanes(tables, fields, Asked::here, Finds::sides, {&lanes[k], 1}, {&alone, 1});
    EXPECT_EQ(alone.all.value, together[k].all.value) << k;
    EXPECT_EQ(alone.nearest.side, together[k].nearest.side) << k;
    EXPECT_EQ(alone.all.gradient, together[k].all.gradient) << k;
  }
}

}  // namespace
}  // namespace sinew
