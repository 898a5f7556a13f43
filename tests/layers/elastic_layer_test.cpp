#include <sinew/layers/elastic_layer.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <sinew/character/bake.h>
#include <sinew/character/performer.h>
#include <sinew/character/seek.h>
#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/measure/surface_ruler.h>
#include <sinew/models/models.h>

#include "tests/support/assets.h"
#include "tests/support/grid_tube.h"
#include "tests/support/one_joint.h"
#include "tests/support/sanitized.h"
#include "tests/support/shared_models.h"

namespace sinew {
namespace {

constexpr double kRadius = 0.2;  // of the grid tube

using Surface = std::vector<Vec3f>;

Scene tube_scene(int rings = test::kSanitized ? 24 : 36, int segments = test::kSanitized ? 12 : 20) {
  test::GridTubeOptions options;
  options.rings = rings;
  options.segments = segments;
  return test::make_grid_tube(options);
}

std::shared_ptr<const Character> make_character(const Scene& scene, const std::string& settings = "",
                                                const std::string& method = "elastic") {
  return Character::make(scene, parse_recipe(R"({"normals": false, "layers": ["dqs", {"method": ")" + method +
                                                 "\"" + (settings.empty() ? "" : ", " + settings) + "}]}",
                                             "test"));
}

Pose turned(const Character& character, double degrees, const Vec3f& axis) {
  Pose pose = character.rest_pose();
  const auto radians = static_cast<float>(degrees * std::numbers::pi / 180);
  pose.joints[1].rotation = pose.joints[1].rotation * Quatf(Eigen::AngleAxisf(radians, axis));
  return pose;
}

Pose bent(const Character& character, double degrees) {
  return turned(character, degrees, Vec3f::UnitZ());
}

Pose twisted(const Character& character, double degrees) {
  return turned(character, degrees, Vec3f::UnitX());
}

Surface surface_of(const Performer& performer) {
  return {performer.welded_positions().begin(), performer.welded_positions().end()};
}

double size_of(std::span<const Vec3f> points) {
  Eigen::AlignedBox3f box;
  for (const Vec3f& p : points) box.extend(p);
  return box.diagonal().norm();
}

struct Difference {
  double largest = 0;
  double root_mean_square = 0;
};

Difference difference(std::span<const Vec3f> a, std::span<const Vec3f> b) {
  EXPECT_EQ(a.size(), b.size());
  Difference result;
  double sum = 0;
  for (std::size_t v = 0; v < a.size(); ++v) {
    const double apart = (a[v] - b[v]).norm();
    if (!(apart <= result.largest)) result.largest = apart;
    sum += apart * apart;
  }
  result.root_mean_square = std::sqrt(sum / static_cast<double>(a.size()));
  return result;
}

bool all_finite(std::span<const Vec3f> points) {
  return std::all_of(points.begin(), points.end(), [](const Vec3f& p) { return p.allFinite(); });
}

const Clip& clip_of(const Scene& scene, std::string_view name) {
  for (const Clip& clip : scene.clips)
    if (clip.name == name) return clip;
  throw Error("no such clip");
}

Pose sampled(const Character& character, const Clip& clip, double seconds) {
  Pose pose = character.rest_pose();
  sample_clip(clip, seconds, pose);
  return pose;
}

/// Plays a clip forwards and backwards, then the rest for some frames; how far that is from the rest, in
/// sizes of the character.
double left_after(const Scene& scene, std::string_view name, int frames, int rest_frames) {
  const auto character = make_character(scene);
  const Clip& clip = clip_of(scene, name);
  Performer performer(character);
  performer.perform(character->rest_pose());
  EXPECT_LT(difference(performer.welded_positions(), character->rest()).largest,
            1e-5 * size_of(character->rest()))
      << name;
  for (int frame = 0; frame <= 2 * frames; ++frame)
    performer.perform(
        sampled(*character, clip, clip.duration() * std::min(frame, 2 * frames - frame) / frames), 1.0 / 30);
  for (int frame = 0; frame < rest_frames; ++frame) performer.perform(character->rest_pose(), 1.0 / 30);
  return difference(performer.welded_positions(), character->rest()).largest / size_of(character->rest());
}

TEST(ElasticLayer, ReturnsToTheRest) {
  const Scene scene = tube_scene();
  const int frames = test::kSanitized ? 10 : 30;
  EXPECT_LT(left_after(scene, "bend", frames, 20), 1e-4);
  EXPECT_LT(left_after(scene, "twist", frames, 20), 1e-4);
}

TEST(ElasticLayer, AnArmReturnsToTheRest) {
  if (test::kSanitized) GTEST_SKIP() << "too slow here";
  ModelOptions options;
  for (const Model& model : models())
    if (model.name == "arm") options.vertices = model.least_vertices;
  const Scene arm = test::shared_model("arm", options).scene;
  for (const char* clip : {"bend", "twist", "fist"}) EXPECT_LT(left_after(arm, clip, 20, 20), 1e-4) << clip;
}

TEST(ElasticLayer, ARealCharacterReturnsToTheRest) {
  if (test::kSanitized) GTEST_SKIP() << "too slow here";
  const auto path = test::asset("human.glb");
  if (!path) GTEST_SKIP() << test::missing_asset("human.glb");
  // In the webs between fingers some vertices come to rest beside their place.
  EXPECT_LT(left_after(read_scene(*path), "bend", 15, 20), 1.5e-3);
}

TEST(ElasticLayer, ATubeFoldsWithoutIntersecting) {
  const Scene scene = tube_scene(36, 20);
  const auto character = make_character(scene);
  const SurfaceRuler ruler({character->rest(), character->triangles()}, character->skin_weights());
  Performer performer(character);
  const int frames = test::kSanitized ? 10 : 30;
  for (int frame = 0; frame <= frames; ++frame) performer.perform(bent(*character, 120.0 * frame / frames));
  const SurfaceMeasurements is = ruler.measure(performer.welded_positions(), performer.posed_from_rest());
  EXPECT_EQ(is.intersecting_pairs, 0u);
  EXPECT_EQ(is.flipped_triangles, 0u);
  EXPECT_GT(is.volume_ratio, 0.93);
  EXPECT_LT(is.volume_ratio, 1.08);
}

TEST(ElasticLayer, AnElbowFoldsMoreCleanlyThanWithoutMemory) {
  if (test::kSanitized) GTEST_SKIP() << "too slow here";
  const Scene arm = test::shared_model("arm").scene;
  const auto character = make_character(arm), implicit = make_character(arm, "", "implicit");
  const SurfaceRuler ruler({character->rest(), character->triangles()}, character->skin_weights());
  const Clip& clip = clip_of(arm, "bend");  // 150 degrees
  Performer performer(character), without(implicit);
  constexpr int kFrames = 75;
  for (int frame = 0; frame <= kFrames; ++frame) {
    const Pose pose = sampled(*character, clip, clip.duration() * frame / kFrames);
    performer.perform(pose, 1.0 / 15);
    if (frame < 60 || frame % 5 != 0) continue;
    without.perform(pose);
    const SurfaceMeasurements is = ruler.measure(performer.welded_positions(), performer.posed_from_rest()),
                              was = ruler.measure(without.welded_positions(), without.posed_from_rest());
    EXPECT_LT(is.intersecting_pairs, was.intersecting_pairs) << frame;
    EXPECT_LT(is.buried_vertices, was.buried_vertices) << frame;
    EXPECT_LE(is.flipped_triangles, was.flipped_triangles) << frame;
    EXPECT_LT(is.edge_stretch.largest, 0.8 * was.edge_stretch.largest) << frame;
  }
}

TEST(ElasticLayer, RigidWeightsFold) {
  if (test::kSanitized) GTEST_SKIP() << "larger steps than those the bounds are for";
  Scene scene = tube_scene(36, 20);
  const SkinWeights smooth = scene.meshes[0].weights;
  WeightRepairs repairs;
  scene.meshes[0].weights = {};
  for (std::size_t v = 0; v < smooth.rows(); ++v) {
    Influence row[1] = {{smooth.row_joints(v)[0], 1}};
    append_row(scene.meshes[0].weights, row, 0, repairs);
  }
  const auto character = make_character(scene);
  const SurfaceRuler ruler({character->rest(), character->triangles()}, character->skin_weights());
  Performer performer(character);
  const int frames = test::kSanitized ? 12 : 40;
  for (int frame = 0; frame <= frames; ++frame) {
    performer.perform(bent(*character, 120.0 * frame / frames));
    if (frame % (frames / 4) != 0) continue;
    const SurfaceMeasurements is = ruler.measure(performer.welded_positions(), performer.posed_from_rest());
    EXPECT_LE(is.intersecting_pairs, 50u) << frame;
    EXPECT_LT(is.depth.largest, 0.15 * kRadius) << frame;
    EXPECT_LE(is.flipped_outside_contact, 6u) << frame;
    EXPECT_GT(is.volume_ratio, 0.9) << frame;
  }
}

TEST(ElasticLayer, LoopsOfAClipAgree) {
  const Scene scene = tube_scene();
  const auto character = make_character(scene);
  Performer performer(character);
  const int frames = test::kSanitized ? 8 : 20;
  std::vector<Surface> before;
  for (int loop = 0; loop < 3; ++loop)
    for (int frame = 0; frame < 2 * frames; ++frame) {
      performer.perform(bent(*character, 140.0 * std::min(frame, 2 * frames - frame) / frames), 1.0 / 30);
      if (loop > 0) {
        const Difference change = difference(performer.welded_positions(), before[to_size(frame)]);
        // The first loop begins at rest, the others in the middle of a motion.
        EXPECT_LT(change.largest, (loop == 1 && frame < 10 ? 0.1 : 4e-3) * kRadius) << loop << " " << frame;
        before[to_size(frame)] = surface_of(performer);
      } else {
        before.push_back(surface_of(performer));
      }
    }
}

TEST(ElasticLayer, FrameRatesAgree) {
  const Scene scene = tube_scene();
  const auto character = make_character(scene);
  // A bend there and back in a second, looked at six times.
  std::vector<std::vector<Surface>> seen;
  for (const int rate : {24, 30, 60}) {
    Performer performer(character);
    std::vector<Surface>& surfaces = seen.emplace_back();
    for (int frame = 0; frame <= rate; ++frame) {
      const double time = static_cast<double>(frame) / rate;
      performer.perform(bent(*character, 140 * (1 - std::abs(1 - 2 * time))), 1.0 / rate);
      if (frame % (rate / 6) == 0) surfaces.push_back(surface_of(performer));
    }
    if (test::kSanitized && rate == 30) break;
  }
  for (std::size_t rate = 1; rate < seen.size(); ++rate)
    for (std::size_t k = 0; k < seen[0].size(); ++k) {
      const Difference apart = difference(seen[rate][k], seen[0][k]);
      EXPECT_LT(apart.largest, 0.05 * kRadius) << rate << " " << k;
      EXPECT_LT(apart.root_mean_square, 0.01 * kRadius) << rate << " " << k;
    }
}

TEST(ElasticLayer, ASecondLookAtAPoseChangesNextToNothing) {
  const Scene scene = tube_scene();
  const auto character = make_character(scene);
  Performer performer(character);
  const int frames = test::kSanitized ? 12 : 30;
  for (int frame = 0; frame <= frames; ++frame) {
    const Pose pose = bent(*character, 90.0 * frame / frames);
    performer.perform(pose, 1.0 / 30);
    const Surface before = surface_of(performer);
    performer.perform(pose, 0);
    EXPECT_LT(difference(performer.welded_positions(), before).largest, 0.02 * kRadius) << frame;
  }
}

TEST(ElasticLayer, HeldPosesOfAnArmComeToRest) {
  if (test::kSanitized) GTEST_SKIP() << "too slow here";
  const Scene arm = test::shared_model("arm").scene;
  const auto character = make_character(arm);
  const SurfaceRuler ruler({character->rest(), character->triangles()}, character->skin_weights());
  const Clip& clip = clip_of(arm, "bend");
  Performer performer(character);
  for (int frame = 0; frame <= 30; ++frame)
    performer.perform(sampled(*character, clip, clip.duration() * frame / 30), 1.0 / 30);
  const Pose last = sampled(*character, clip, clip.duration());
  for (int frame = 0; frame < 15; ++frame) performer.perform(last, 1.0 / 30);
  const Surface before = surface_of(performer);
  performer.perform(last, 1.0 / 30);
  // In the depth of the fold skin still creeps, and single vertices find another place now and then.
  double largest = 0, squares = 0;
  for (std::size_t v = 0; v < before.size(); ++v) {
    const double move = (performer.welded_positions()[v] - before[v]).norm() / ruler.limb_radius()[v];
    largest = std::max(largest, move);
    squares += move * move;
  }
  EXPECT_LT(largest, 0.15);
  EXPECT_LT(std::sqrt(squares / static_cast<double>(before.size())), 0.015);
}

/// What a performer is given that no animator means.
class BadFrames : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(ElasticLayer, BadFrames, testing::Range(0, 16));

TEST_P(BadFrames, AreFiniteAndSoonForgotten) {
  if (test::kSanitized && GetParam() % 3 != 1) GTEST_SKIP() << "a third of them here";
  const Scene scene = tube_scene(28, 14);
  const auto character = make_character(scene);
  const Pose usual = bent(*character, 45);
  std::vector<Pose> bad(3, usual);
  for (std::size_t k = 0; k < bad.size(); ++k) {
    Transform &root = bad[k].joints[0], &upper = bad[k].joints[1];
    switch (GetParam()) {
      case 0:
        bad[k] = bent(*character, 150);
        break;
      case 1:
        bad[k] = bent(*character, k % 2 == 0 ? 150 : -150);
        break;
      case 2:
        bad[k] = twisted(*character, 180);
        break;
      case 3:
        bad[k] = twisted(*character, k % 2 == 0 ? 170 : -170);
        break;
      case 4:
        upper.rotation.x() = std::nanf("");
        break;
      case 5:
        root.translation.y() = std::nanf("");
        break;
      case 6:
        upper.scale = {1, -1, 1};
        break;
      case 7:
        upper.scale = {-1, -1, -1};
        break;
      case 8:
        upper.scale.setZero();
        break;
      case 9:
        upper.scale.setConstant(1e-3f);
        break;
      case 10:
        upper.scale.setConstant(1e6f);
        break;
      case 11:
        root.scale.setConstant(1e-7f);
        break;
      case 12:
        root.translation.setConstant(1e6f);
        break;
      case 13:
        root.translation.setConstant(1e14f);
        break;
      case 14:
        upper.translation = {0, 3, 0};
        break;
      default: {
        std::mt19937 random(static_cast<unsigned>(k));
        std::normal_distribution<float> normal;
        for (Transform& joint : bad[k].joints)
          joint.rotation = Quatf(normal(random), normal(random), normal(random), normal(random)).normalized();
      }
    }
  }
  Performer performer(character), spared(character);
  const auto both = [&](double degrees) {
    performer.perform(bent(*character, degrees), 1.0 / 30);
    spared.perform(bent(*character, degrees), 1.0 / 30);
  };
  for (int frame = 0; frame <= 5; ++frame) both(9 * frame);
  for (const Pose& pose : bad) {
    performer.perform(pose, 1.0 / 30);
    ASSERT_TRUE(all_finite(performer.welded_positions()));
  }
  for (int frame = 0; frame < 30; ++frame) {
    both(45 + frame % 15);
    ASSERT_TRUE(all_finite(performer.welded_positions()));
  }
  EXPECT_LT(difference(performer.welded_positions(), spared.welded_positions()).largest, 0.05 * kRadius);
}

TEST(ElasticLayer, RootMotionAloneMovesEverythingAsOnePiece) {
  const Scene scene = tube_scene();
  const auto character = make_character(scene);
  Performer performer(character);
  for (int frame = 0; frame <= 8; ++frame) performer.perform(bent(*character, 10 * frame));
  for (int frame = 0; frame < 8; ++frame) performer.perform(bent(*character, 80));
  const Surface before = surface_of(performer);
  for (int frame = 1; frame <= 6; ++frame) {
    Pose pose = bent(*character, 80);
    const Eigen::Affine3f root =
        Eigen::Translation3f(0.2f * static_cast<float>(frame), 0.1f, 0) *
        Eigen::AngleAxisf(0.7f * static_cast<float>(frame), Vec3f(1, 2, 3).normalized());
    pose.joints[0].translation = root * pose.joints[0].translation;
    pose.joints[0].rotation = Quatf(root.linear()) * pose.joints[0].rotation;
    performer.perform(pose);
    Surface expected = before;
    for (Vec3f& p : expected) p = root * p;
    ASSERT_LT(difference(performer.welded_positions(), expected).largest, 0.005 * kRadius) << frame;
  }
}

TEST(ElasticLayer, SizeDoesNotMatter) {
  const Scene scene = tube_scene();
  Scene large = scene;
  constexpr float kScale = 100;
  for (Vec3f& p : large.meshes[0].surface.positions) p *= kScale;
  for (Joint& joint : large.skeleton.joints) joint.rest.translation *= kScale;
  for (Mat4f& matrix : large.skins[0].joint_from_mesh) matrix.block<3, 1>(0, 3) *= kScale;
  const auto one = make_character(scene), other = make_character(large);
  Performer usual(one), scaled(other);
  for (int frame = 0; frame <= 8; ++frame) {
    usual.perform(bent(*one, 12 * frame)), scaled.perform(bent(*other, 12 * frame));
    Surface small = surface_of(scaled);
    for (Vec3f& p : small) p /= kScale;
    // Rounding decides on which frame skins begin to touch.
    EXPECT_LT(difference(usual.welded_positions(), small).largest, 0.04 * kRadius) << frame;
  }
}

TEST(ElasticLayer, SameBitsOnAnyNumberOfThreads) {
  const Scene scene = tube_scene();
  const auto character = make_character(scene);
  std::vector<Surface> results;
  for (const int threads : {1, 2, 4}) {
    Performer performer(character);
    tbb::task_arena(threads).execute([&] {
      for (int frame = 0; frame <= 6; ++frame) performer.perform(bent(*character, 20 * frame));
    });
    results.push_back(surface_of(performer));
  }
  EXPECT_TRUE(results[0] == results[1]);
  EXPECT_TRUE(results[0] == results[2]);
}

TEST(ElasticLayer, SeekingAndBakingPartsEqualsPlayingAll) {
  const Scene scene = tube_scene(24, 12);
  const auto character = make_character(scene);
  EXPECT_TRUE(character->has_history());
  Clip clip = clip_of(scene, "bend");
  for (Channel& channel : clip.channels)
    for (float& time : channel.times) time /= 15;  // 150 degrees in ten frames
  constexpr int kFrames = 11;
  std::vector<Surface> played;
  Performer performer(character);
  for (int frame = 0; frame < kFrames; ++frame) {
    performer.perform(sampled(*character, clip, frame / 30.0), seconds_before_frame(frame, 30));
    played.push_back(surface_of(performer));
  }
  EXPECT_GT(difference(played[10], character->rest()).largest, kRadius);
  for (const int frame : {7, 2, 10}) {
    seek(performer, clip, frame, 30);
    EXPECT_TRUE(surface_of(performer) == played[to_size(frame)]) << frame;
  }
  Performer other(character);
  Seeker seeker(character, clip, 30);
  for (const int frame : {9, 3, 4, 8, 0, 10}) {
    seeker.seek(other, frame);
    EXPECT_TRUE(surface_of(other) == played[to_size(frame)]) << frame;
  }

  class Recorder : public FrameWriter {
   public:
    void write_frame(std::span<const MeshFrame> meshes) override {
      frames.emplace_back(meshes[0].positions.begin(), meshes[0].positions.end());
    }
    void finish() override {}
    std::vector<std::filesystem::path> outputs() const override { return {}; }
    std::vector<Surface> frames;
  };
  BakeOptions options;
  options.first_frame = 5;
  options.last_frame = 8;
  options.set_pose = [&](int frame, Pose& pose) { sample_clip(clip, frame / 30.0, pose); };
  Recorder recorder;
  bake(character, options, recorder);
  ASSERT_EQ(recorder.frames.size(), 4u);
  for (std::size_t frame = 0; frame < 4; ++frame) EXPECT_TRUE(recorder.frames[frame] == played[5 + frame]);
}

TEST(ElasticLayer, RigidJointsKeepTheirSkinRigid) {
  const Scene scene = tube_scene();
  const std::string upper = scene.skeleton.joints[1].name;
  const auto farthest = [&](const std::string& settings) {
    const auto character = make_character(scene, settings);
    Performer performer(character);
    for (int frame = 0; frame <= 8; ++frame) performer.perform(bent(*character, 10 * frame));
    double most = 0;
    for (std::size_t v = 0; v < character->rest().size(); ++v) {
      const std::uint32_t binding = character->skin_weights().row_joints(v)[0];
      if (character->bindings()[binding].joint != 1) continue;
      const Vec3f carried = performer.posed_from_rest()[binding].cast<float>() * character->rest()[v];
      most = std::max(most, static_cast<double>((performer.welded_positions()[v] - carried).norm()));
    }
    return most;
  };
  EXPECT_GT(farthest(""), 0.3 * kRadius);
  EXPECT_LT(farthest(R"("rigid": [{"joint": ")" + upper + R"("}])"), 1e-5);
  EXPECT_GT(farthest(R"("rigid": [{"joint": "nobody"}])"), 0.3 * kRadius);
  // Half as rigid.
  const double half = farthest(R"("rigid": [{"joint": "*", "rigidity": 0.5}])");
  EXPECT_GT(half, 0.2 * farthest(""));
  EXPECT_LT(half, 0.85 * farthest(""));
  // The last entry that matches counts.
  EXPECT_GT(farthest(R"("rigid": [{"joint": "*"}, {"joint": "*", "rigidity": 0}])"), 0.3 * kRadius);
  EXPECT_THROW(make_character(scene, R"("rigid": [{"joint": "*", "rigidity": 1.5}])"), Error);
  EXPECT_THROW(make_character(scene, R"("settle": 0)"), Error);
}

TEST(ElasticLayer, PaintedSkinStaysRigid) {
  Scene scene = tube_scene();
  SceneMesh& mesh = scene.meshes[0];
  VertexAttribute paint{"_RIGID", 1, {}};
  for (const Vec3f& p : mesh.surface.positions) paint.values.push_back(p.z() > 0 ? 1.0f : 0.0f);
  mesh.attributes.push_back(paint);
  const auto character = make_character(scene),
             unpainted = make_character(scene, R"("rigid_attribute": "_OTHER")");
  ASSERT_EQ(character->painted("_RIGID").size(), character->rest().size());
  EXPECT_TRUE(character->painted("_OTHER").empty());
  Performer performer(character), other(unpainted);
  for (int frame = 0; frame <= 8; ++frame) {
    performer.perform(bent(*character, 10 * frame));
    other.perform(bent(*unpainted, 10 * frame));
  }
  double rigid = 0, free = 0, without = 0;
  for (std::size_t v = 0; v < character->rest().size(); ++v) {
    const std::uint32_t binding = character->skin_weights().row_joints(v)[0];
    const Vec3f carried = performer.posed_from_rest()[binding].cast<float>() * character->rest()[v];
    double& most = character->rest()[v].z() > 0 ? rigid : free;
    most = std::max(most, static_cast<double>((performer.welded_positions()[v] - carried).norm()));
    without = std::max(without, static_cast<double>((other.welded_positions()[v] - carried).norm()));
  }
  EXPECT_LT(rigid, 1e-5);
  EXPECT_GT(free, 0.2 * kRadius);
  EXPECT_GT(without, 0.2 * kRadius);
}

TEST(ElasticLayer, MorphTargetsAreSeen) {
  // A swelling of the lower half, far from the joint.
  Scene scene = tube_scene(24, 12);
  MorphTarget swelling;
  swelling.name = "swelling";
  for (const Vec3f& p : scene.meshes[0].surface.positions)
    swelling.displacements.push_back(std::abs(p.x() + 0.6f) < 0.15f ? Vec3f(0, 0.3f * p.y(), 0.3f * p.z())
                                                                    : Vec3f(Vec3f::Zero()));
  scene.meshes[0].morph_targets = {swelling};
  scene.meshes[0].morph_weights = {0};
  const auto character = make_character(scene);
  Performer performer(character);
  Pose pose = character->rest_pose();
  performer.perform(pose);
  const Surface before = surface_of(performer);
  ASSERT_EQ(pose.morph_weights.size(), 1u);
  pose.morph_weights[0] = 1;
  for (int frame = 0; frame < 3; ++frame) performer.perform(pose);
  EXPECT_GT(difference(performer.welded_positions(), before).largest, 0.1 * kRadius);
}

TEST(ElasticLayer, MorphsDoNotMakeSkinSlide) {
  Scene scene = tube_scene(24, 12);
  MorphTarget swelling;
  swelling.name = "longer";
  for (const Vec3f& p : scene.meshes[0].surface.positions)
    swelling.displacements.emplace_back(0.4f * std::max(0.0f, -0.4f - p.x()) * Vec3f::UnitX());
  scene.meshes[0].morph_targets = {swelling};
  scene.meshes[0].morph_weights = {0};
  const auto character = make_character(scene), plain = make_character(scene, R"("reach": 0)");
  Performer performer(character), without(plain);
  Pose pose = character->rest_pose();
  pose.morph_weights[0] = 1;
  for (int frame = 0; frame < 3; ++frame) {
    performer.perform(pose, 1.0 / 30);
    without.perform(pose, 1.0 / 30);
  }
  EXPECT_GT(difference(without.welded_positions(), character->rest()).largest, kRadius);
  EXPECT_LT(difference(performer.welded_positions(), without.welded_positions()).largest, 1e-5);
}

/// Largest second difference of a clip's frames beyond that of dual quaternions (as `sinew measure` has it)
/// and how many exceed a hundredth of a radius.
struct Pops {
  double largest = 0;
  std::size_t count = 0;
};

Pops pops(const std::shared_ptr<const Character>& character, const std::shared_ptr<const Character>& plain,
          double degrees_per_frame) {
  Performer performer(character), base(plain);
  std::vector<Surface> beyond;
  Pops result;
  for (int frame = 0; degrees_per_frame * frame <= 140; ++frame) {
    performer.perform(bent(*character, degrees_per_frame * frame), 1.0 / 30);
    base.perform(bent(*plain, degrees_per_frame * frame), 1.0 / 30);
    Surface& now = beyond.emplace_back(surface_of(performer));
    for (std::size_t v = 0; v < now.size(); ++v) now[v] -= base.welded_positions()[v];
    if (frame < 2) continue;
    const Surface &before = beyond[to_size(frame - 1)], &first = beyond[to_size(frame - 2)];
    for (std::size_t v = 0; v < now.size(); ++v) {
      const double pop = (now[v] - 2 * before[v] + first[v]).norm();
      result.largest = std::max(result.largest, pop);
      result.count += pop > 0.01 * kRadius;
    }
  }
  return result;
}

TEST(ElasticLayer, PopsNoMoreThanWithoutMemory) {
  const Scene scene = tube_scene();
  const auto plain = Character::make(scene, parse_recipe(R"({"normals": false, "layers": ["dqs"]})", "test"));
  const Pops elastic = pops(make_character(scene), plain, 4),
             implicit = pops(make_character(scene, "", "implicit"), plain, 4);
  EXPECT_LT(elastic.largest, 1.6 * implicit.largest);
  EXPECT_LE(elastic.count, implicit.count + implicit.count / 4);
}

/// As in implicit_layer_test.cpp: how deep the crease of a tube's fold is, and how far skin of the upper bone
/// is from that bone's axis, at most, both in radii.
struct Fold {
  double crease = 1e9, thickest = 0;
};

Fold fold(const Scene& scene, const std::string& settings, double degrees) {
  const auto character = make_character(scene, settings);
  Performer performer(character);
  for (int frame = 0; frame < 3; ++frame) performer.perform(bent(*character, degrees), 1.0 / 30);
  const Surface posed = surface_of(performer);
  const double angle = degrees * std::numbers::pi / 180;
  const Vec3f upper(static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle)), 0);
  const Vec3f inwards = (upper - Vec3f::UnitX()).normalized();
  Fold result;
  for (std::size_t v = 0; v < posed.size(); ++v) {
    const Vec3f rest = character->rest()[v];
    if (rest.y() < 0.98 * kRadius || std::abs(rest.x()) > 0.6f) continue;  // in the middle of the fold
    result.crease = std::min(result.crease, static_cast<double>(posed[v].dot(inwards)) / kRadius);
    const float along = posed[v].dot(upper);
    if (rest.x() > 0 && along > kRadius)
      result.thickest =
          std::max(result.thickest, static_cast<double>((posed[v] - along * upper).norm()) / kRadius);
  }
  return result;
}

Scene fine_tube() {
  if (test::kSanitized) return test::make_grid_tube({.rings = 61, .segments = 24});
  return test::make_grid_tube({.rings = 81, .segments = 24});
}

TEST(ElasticLayer, ContactDepthMovesTheCreaseFromTheUnionToTheJoint) {
  const Scene scene = fine_tube();
  const double place = 1 / std::cos(std::numbers::pi / 4);  // where two cylinders meet, outside
  EXPECT_NEAR(fold(scene, R"("operator": "union")", 90).crease, place, 0.1 * place);
  double before = 1e9;
  for (const double depth : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    if (test::kSanitized && depth > 0 && depth < 1) continue;
    const double crease =
        fold(
            scene,
            fmt::format(
                R"("operator": "contact", "response": "drawn", "curve": [{{"angle": 0, "value": 0}}, {{"angle": 20, "value": {0}}}, {{"angle": 180, "value": {0}}}])",
                depth),
            90)
            .crease;
    if (depth == 0) EXPECT_NEAR(crease, place, 0.1 * place);
    EXPECT_LT(crease, before - 0.04) << depth;
    before = crease;
  }
  EXPECT_LT(before, 1.15);
}

TEST(ElasticLayer, ABulgeRisesBesideTheCrease) {
  const Scene scene = fine_tube();
  const double flat = fold(scene, R"("operator": "union")", 90).thickest;
  EXPECT_NEAR(flat, 1, 0.05);
  EXPECT_GT(fold(scene, R"("operator": "bulge", "response": "finger")", 90).thickest, flat + 0.1);
}

TEST(ElasticLayer, ABlendIsSeenOnSkinThatSlides) {
  const Scene scene = fine_tube();
  // It fills the crease.
  EXPECT_GT(fold(scene, R"("operator": "blend", "response": "shoulder")", 50).crease,
            fold(scene, R"("operator": "union")", 50).crease + 0.02);
}

TEST(ElasticLayer, IdleWithoutTwoBonesThatHaveSkin) {
  Scene scene = tube_scene(12, 8);
  test::bind_to_first_joint(scene.meshes[0]);
  const auto character = make_character(scene);
  EXPECT_NE(character->layers()[1]->idle_because(), "");
  Performer performer(character);
  for (int frame = 0; frame < 3; ++frame) performer.perform(bent(*character, 30 * frame));
  EXPECT_LT(difference(performer.welded_positions(), character->rest()).largest, 1e-5);
}

}  // namespace
}  // namespace sinew
