#include <sinew/layers/volume_layer.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <sinew/character/performer.h>
#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/geometry/closed_surface.h>
#include <sinew/geometry/intersections.h>
#include <sinew/geometry/volume.h>
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

Scene tube_scene(int rings = 30, int segments = 16) {
  test::GridTubeOptions options;
  options.rings = rings;
  options.segments = segments;
  return test::make_grid_tube(options);
}

std::shared_ptr<const Character> make_character(const Scene& scene, const std::string& layers) {
  return Character::make(scene, parse_recipe(R"({"normals": false, "layers": [)" + layers + "]}", "test"));
}

/// After linear blending, with these settings.
std::shared_ptr<const Character> make_kept(const Scene& scene, const std::string& settings = "") {
  return make_character(scene,
                        R"("lbs", {"method": "volume")" + (settings.empty() ? "" : ", " + settings) + "}");
}

Pose bent(const Character& character, double degrees, const Vec3f& axis = Vec3f::UnitZ()) {
  Pose pose = character.rest_pose();
  const auto radians = static_cast<float>(degrees * std::numbers::pi / 180);
  pose.joints[1].rotation = pose.joints[1].rotation * Quatf(Eigen::AngleAxisf(radians, axis));
  return pose;
}

Surface perform(const std::shared_ptr<const Character>& character, const Pose& pose) {
  Performer performer(character);
  performer.perform(pose);
  return {performer.welded_positions().begin(), performer.welded_positions().end()};
}

double largest_difference(std::span<const Vec3f> a, std::span<const Vec3f> b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (std::size_t v = 0; v < a.size(); ++v)
    if (!((a[v] - b[v]).norm() <= largest)) largest = (a[v] - b[v]).norm();
  return largest;
}

/// Of each connected part, its borders closed by fans.
std::vector<double> part_volumes(const Character& character, std::span<const Vec3f> positions) {
  const ClosedSurface closed = close_surface(positions.size(), character.triangles());
  const Surface points = closed.place(positions);
  std::vector<std::vector<Triangle>> parts(closed.part_count);
  for (std::size_t t = 0; t < closed.triangles.size(); ++t)
    parts[closed.part[t]].push_back(closed.triangles[t]);
  std::vector<double> volumes;
  for (const std::vector<Triangle>& triangles : parts)
    volumes.push_back(enclosed_volume({points, triangles}));
  return volumes;
}

double largest_volume_error(const Character& character, std::span<const Vec3f> positions) {
  const std::vector<double> rest = part_volumes(character, character.rest()),
                            now = part_volumes(character, positions);
  double worst = 0;
  for (std::size_t p = 0; p < rest.size(); ++p) {
    const double error = std::abs(now[p] / rest[p] - 1);
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

TEST(VolumeLayer, IsExactAfterEverySkin) {
  const Scene scene = tube_scene();
  for (const std::string before : {R"("lbs")", R"("dqs")", R"("bulge_free")", R"("stretch_twist")",
                                   R"("dqs", "implicit")", R"("dqs", "elastic")"})
    for (const std::string preset : {"isotropic", "muscle", "fat", "rubber"}) {
      if (test::kSanitized && preset != "isotropic" && before != R"("lbs")") continue;
      const auto character =
          make_character(scene, before + R"(, {"method": "volume", "preset": ")" + preset + "\"}");
      const auto without = make_character(scene, before);
      Performer performer(character), bare(without);
      for (const double degrees : {30.0, 80.0, 120.0}) {
        if (test::kSanitized && degrees < 100) continue;
        const Pose pose = bent(*character, degrees);
        performer.perform(pose);
        bare.perform(pose);
        EXPECT_LT(largest_volume_error(*character, performer.welded_positions()), 1e-6) << before << preset;
      }
      EXPECT_GT(largest_volume_error(*without, bare.welded_positions()), 3e-5) << before;
    }
}

TEST(VolumeLayer, IsExactOnModels) {
  for (const std::string name : {"arm", "hand", "mannequin"}) {
    ModelOptions options;
    options.vertices = name == "mannequin" ? 6500 : test::kSanitized ? 1500 : 6000;
    const Scene scene = test::shared_model(name, options).scene;
    const auto character = make_character(scene, R"("dqs", "volume")");
    Performer performer(character);
    for (const Clip& clip : scene.clips) {
      Pose pose = character->rest_pose();
      sample_clip(clip, clip.duration() / 2, pose);
      performer.perform(pose);
      EXPECT_LT(largest_volume_error(*character, performer.welded_positions()), 1e-6) << name << clip.name;
    }
  }
}

TEST(VolumeLayer, IsExactOnARealCharacter) {
  const auto path = test::asset("human.glb");
  if (!path) GTEST_SKIP() << "no assets";
  const Scene scene = read_scene(*path);
  const auto character = make_character(scene, R"("dqs", "volume")"),
             without = make_character(scene, R"("dqs")");
  Performer performer(character), bare(without);
  for (const Clip& clip : scene.clips) {
    Pose pose = character->rest_pose();
    sample_clip(clip, clip.duration(), pose);
    performer.perform(pose), bare.perform(pose);
    const std::vector<double> rest = part_volumes(*character, character->rest()),
                              now = part_volumes(*character, performer.welded_positions());
    for (std::size_t p = 0; p < rest.size(); ++p) EXPECT_NEAR(now[p], rest[p], 1e-6 * std::abs(rest[p])) << p;
    // Nothing is torn out of the skin.
    EXPECT_LT(largest_difference(performer.welded_positions(), bare.welded_positions()), 0.05) << clip.name;
  }
}

TEST(VolumeLayer, TheRestStaysAsItIs) {
  const Scene scene = tube_scene();
  const auto character = make_kept(scene), without = make_character(scene, R"("lbs")");
  EXPECT_EQ(perform(character, character->rest_pose()), perform(without, without->rest_pose()));
}

TEST(VolumeLayer, ElbowsPayForElbows) {
  ModelOptions options;
  options.vertices = test::kSanitized ? 1500 : 6000;
  const Scene scene = test::shared_model("arm", options).scene;
  const auto character = make_kept(scene), without = make_character(scene, R"("lbs")");
  Pose pose = character->rest_pose();
  const int elbow = scene.skeleton.find("lower_arm");
  ASSERT_GE(elbow, 0);
  pose.joints[to_size(elbow)].rotation =
      pose.joints[to_size(elbow)].rotation * Quatf(Eigen::AngleAxisf(1.5f, Vec3f::UnitZ()));
  const Surface kept = perform(character, pose), lost = perform(without, pose);
  double near = 0, hand = 0;
  for (std::size_t v = 0; v < kept.size(); ++v) {
    const int joint = character->bindings()[character->skin_weights().row_joints(v)[0]].joint;
    const std::string& name = character->skeleton().joints[to_size(joint)].name;
    double& most =
        name == "lower_arm" || name == "upper_arm" || name == "wrist" || name == "shoulder" ? near : hand;
    most = std::max(most, static_cast<double>((kept[v] - lost[v]).norm()));
  }
  EXPECT_GT(near, 1e-3);
  EXPECT_LT(hand, 1e-6);
}

TEST(VolumeLayer, NothingPopsWhenAJointBeginsToMove) {
  const Scene scene = tube_scene();
  for (const Vec3f& axis : {Vec3f(Vec3f::UnitZ()), Vec3f(0.2f, 0.1f, 1), Vec3f(Vec3f::UnitX())}) {
    const auto character = make_kept(scene, R"("preset": "muscle")"),
               without = make_character(scene, R"("lbs")");
    Performer performer(character), bare(without);
    std::array<Surface, 3> moved;  // what the layer adds, of the last frames
    double farthest = 0, quickest = 0;
    for (int frame = 0; frame < 60; ++frame) {
      const Pose pose = bent(*character, -15 + 0.5 * frame, axis.normalized());
      performer.perform(pose), bare.perform(pose);
      std::rotate(moved.begin(), moved.begin() + 1, moved.end());
      moved[2].clear();
      for (std::size_t v = 0; v < bare.welded_positions().size(); ++v)
        moved[2].push_back(performer.welded_positions()[v] - bare.welded_positions()[v]);
      for (std::size_t v = 0; v < moved[2].size(); ++v) {
        farthest = std::max(farthest, static_cast<double>(moved[2][v].norm()));
        if (frame < 2) continue;
        quickest =
            std::max(quickest, static_cast<double>((moved[2][v] - 2 * moved[1][v] + moved[0][v]).norm()));
      }
    }
    EXPECT_GT(farthest, 1e-5);
    EXPECT_LT(quickest, 0.05 * farthest) << axis.transpose();
  }
}

TEST(VolumeLayer, GoesWithTheCharacter) {
  const Scene scene = tube_scene();
  const auto character = make_kept(scene);
  const Surface here = perform(character, bent(*character, 70));
  Pose pose = bent(*character, 70);
  const Quatf turn(Eigen::AngleAxisf(1.1f, Vec3f(1, 2, 3).normalized()));
  const Vec3f way(0.4f, -0.3f, 0.7f);
  pose.joints[0].rotation = turn * pose.joints[0].rotation;
  pose.joints[0].translation = turn * pose.joints[0].translation + way;
  Surface there = perform(character, pose);
  for (Vec3f& p : there) p = turn.conjugate() * (p - way);
  EXPECT_LT(largest_difference(here, there), 2e-6);
}

TEST(VolumeLayer, ScaledJointsHoldAsMuchMore) {
  const Scene scene = tube_scene();
  const auto character = make_kept(scene);
  const double rest = enclosed_volume({character->rest(), character->triangles()});
  Pose pose = bent(*character, 60);
  for (Transform& joint : pose.joints) joint.translation *= 2.0f;
  pose.joints[0].scale.setConstant(2);
  for (std::size_t j = 1; j < pose.joints.size(); ++j) pose.joints[j].translation /= 2.0f;
  EXPECT_NEAR(enclosed_volume({perform(character, pose), character->triangles()}) / rest, 8, 1e-4);
  // The upper half alone; what is between follows the weights.
  pose = character->rest_pose();
  pose.joints[1].scale.setConstant(1.2f);
  const Surface swollen = perform(character, pose);
  EXPECT_LT(largest_difference(swollen, perform(make_character(scene, R"("lbs")"), pose)), 0.05 * kRadius);
}

TEST(VolumeLayer, MorphTargetsMayChangeTheVolume) {
  Scene scene = tube_scene();
  MorphTarget swelling;
  for (const Vec3f& p : scene.meshes[0].surface.positions)
    swelling.displacements.push_back(std::abs(p.x() + 0.6f) < 0.2f ? Vec3f(0, 0.3f * p.y(), 0.3f * p.z())
                                                                   : Vec3f(Vec3f::Zero()));
  scene.meshes[0].morph_targets = {swelling};
  scene.meshes[0].morph_weights = {0};
  const auto character = make_kept(scene), without = make_character(scene, R"("lbs")");
  Pose pose = character->rest_pose();
  pose.morph_weights[0] = 1;
  EXPECT_LT(largest_difference(perform(character, pose), perform(without, pose)), 1e-6);
  const double morphed = enclosed_volume({perform(without, pose), character->triangles()});
  Pose both = bent(*character, 80);
  both.morph_weights[0] = 1;
  EXPECT_NEAR(enclosed_volume({perform(character, both), character->triangles()}) / morphed, 1, 1e-6);
}

/// How far the layer moves vertices that fit and that do not, at a bend of 100 degrees.
struct Moved {
  double inside = 0, outside = 0;
};
template <class Fits>
Moved moved_by(const Scene& scene, const std::string& settings, const Fits& fits) {
  const auto character = make_kept(scene, settings), without = make_character(scene, R"("lbs")");
  const Surface kept = perform(character, bent(*character, 100)),
                lost = perform(without, bent(*without, 100));
  EXPECT_LT(largest_volume_error(*character, kept), 1e-6) << settings;
  Moved moved;
  for (std::size_t v = 0; v < kept.size(); ++v) {
    double& most = fits(character->rest()[v]) ? moved.inside : moved.outside;
    most = std::max(most, static_cast<double>((kept[v] - lost[v]).norm()));
  }
  return moved;
}

TEST(VolumeLayer, PaintedSkinStays) {
  Scene scene = tube_scene();
  VertexAttribute paint{"_SIGMA", 1, {}};
  for (const Vec3f& p : scene.meshes[0].surface.positions) paint.values.push_back(p.z() > 0 ? 1.0f : 0.0f);
  scene.meshes[0].attributes.push_back(paint);
  const auto front = [](const Vec3f& p) { return p.z() > 0; };
  const Moved painted = moved_by(scene, "", front);
  EXPECT_EQ(painted.outside, 0);
  EXPECT_GT(painted.inside, 0.01 * kRadius);
  EXPECT_GT(moved_by(tube_scene(), "", front).outside, 0.01 * kRadius);
  // A mesh that nobody painted is free.
  SceneMesh second = tube_scene().meshes[0];
  second.name = "second";
  second.attributes.clear();
  scene.meshes.push_back(second);
  const auto both = make_kept(scene), without = make_character(scene, R"("lbs")");
  const Surface kept = perform(both, bent(*both, 100)), lost = perform(without, bent(*without, 100));
  EXPECT_LT(largest_volume_error(*both, kept), 1e-6) << "each part for itself";
  const std::size_t first = both->meshes()[1].first_vertex;
  double behind = 0;
  for (std::size_t v = first; v < kept.size(); ++v)
    if (!front(both->rest()[v])) behind = std::max(behind, static_cast<double>((kept[v] - lost[v]).norm()));
  EXPECT_GT(behind, 0.01 * kRadius);
}

TEST(VolumeLayer, FreedomFollowsWeightsRegionsAndSides) {
  const Scene scene = tube_scene();
  const std::string upper = scene.skeleton.joints[1].name;
  const Moved weight =
      moved_by(scene, R"("weight": ")" + upper + "\"", [](const Vec3f& p) { return p.x() > -0.39f; });
  EXPECT_GT(weight.inside, 0.01 * kRadius);
  EXPECT_EQ(weight.outside, 0);
  const Moved ball = moved_by(scene, R"("region": [{"x": 0, "y": 0.2, "z": 0, "radius": 0.25}])",
                              [](const Vec3f& p) { return (p - Vec3f(0, 0.2f, 0)).norm() < 0.25f; });
  EXPECT_GT(ball.inside, 0.01 * kRadius);
  EXPECT_EQ(ball.outside, 0);
  const Moved side =
      moved_by(scene, R"("side": "-y", "spread": 15)", [](const Vec3f& p) { return p.y() < 0; });
  EXPECT_GT(side.inside, 0.01 * kRadius);
  EXPECT_LT(side.outside, 0.01 * side.inside);
}

TEST(VolumeLayer, ProfilesSayWhereItSwells) {
  const Scene scene = tube_scene(60, 16);
  const Moved muscle = moved_by(scene, R"("preset": "muscle", "max_displacement": 10)",
                                [](const Vec3f& p) { return p.x() < 0; });
  EXPECT_GT(muscle.inside, 0.01 * kRadius);
  EXPECT_EQ(muscle.outside, 0);
  const Moved drawn = moved_by(
      scene,
      R"("max_displacement": 10, "profile": [{"along": 0.3}, {"along": 0.5, "value": 1}, {"along": 0.7}])",
      [](const Vec3f& p) { return p.x() > 0.29f && p.x() < 0.71f; });
  EXPECT_GT(drawn.inside, 0.01 * kRadius);
  EXPECT_EQ(drawn.outside, 0);
}

TEST(VolumeLayer, TheLastEntryForAJointCounts) {
  const Scene scene = tube_scene();
  const std::string upper = scene.skeleton.joints[1].name;
  const auto far = [](const Vec3f& p) { return p.x() < 0; };
  const Moved plain = moved_by(scene, "", far);
  const Moved named =
      moved_by(scene,
               R"("max_displacement": 10, "joints": [{"joint": "*", "preset": "fat"}, {"joint": ")" + upper +
                   R"(", "preset": "muscle", "max_displacement": 10}])",
               far);
  EXPECT_GT(plain.outside, 0);
  EXPECT_EQ(named.outside, 0);
}

TEST(VolumeLayer, TheOrderOfASkinsJointsDoesNotMatter) {
  const Scene scene = tube_scene();
  Scene turned = scene;
  Skin& skin = turned.skins[0];
  std::reverse(skin.joints.begin(), skin.joints.end());
  std::reverse(skin.joint_from_mesh.begin(), skin.joint_from_mesh.end());
  const auto last = static_cast<std::uint32_t>(skin.joints.size() - 1);
  for (std::uint32_t& joint : turned.meshes[0].weights.joints) joint = last - joint;
  for (const std::string preset : {"isotropic", "muscle"}) {
    const auto a = make_kept(scene, R"("preset": ")" + preset + "\""),
               b = make_kept(turned, R"("preset": ")" + preset + "\"");
    EXPECT_LT(largest_difference(perform(a, bent(*a, 70)), perform(b, bent(*b, 70))), 1e-6) << preset;
  }
}

TEST(VolumeLayer, CharactersOfAnySizeAreTheSame) {
  ModelOptions options;
  options.vertices = test::kSanitized ? 1200 : 3000;
  const Scene scene = test::shared_model("hand", options).scene;
  const auto character = make_kept(scene);
  Pose pose = character->rest_pose();
  sample_clip(scene.clips.back(), scene.clips.back().duration() / 2, pose);
  for (const bool rest : {true, false}) {
    Pose plain = rest ? character->rest_pose() : pose;
    const Surface expected = perform(character, plain);
    for (const float size : {0.01f, 0.3f, 2.0f, 100.0f}) {
      Pose scaled = plain;
      scaled.joints[0].scale *= size;
      scaled.joints[0].translation *= size;
      Surface positions = perform(character, scaled);
      for (Vec3f& p : positions) p /= size;
      EXPECT_LT(largest_difference(positions, expected), 3e-6) << size << rest;
    }
  }
}

TEST(VolumeLayer, HingesTurnSmoothly) {
  // The bend goes all round, slowly, at angles where the hinge is only half known; then the root turns.
  const Scene scene = tube_scene();
  const auto character = make_kept(scene, R"("preset": "muscle", "side": "+y")"),
             without = make_character(scene, R"("lbs")");
  Performer performer(character), bare(without);
  // At 15 degrees, across the usual hinge, there is one pose where the line may be any.
  for (const double degrees : {6.0, 12.0, 19.0, 25.0}) {
    Surface last;
    double farthest = 0, quickest = 0;
    for (int frame = 0; frame <= 180; ++frame) {
      const float turn = static_cast<float>(frame * std::numbers::pi / 90);
      const Pose pose = bent(*character, degrees, Vec3f(0, std::cos(turn), std::sin(turn)));
      performer.perform(pose), bare.perform(pose);
      Surface moved;
      for (std::size_t v = 0; v < bare.welded_positions().size(); ++v)
        moved.push_back(performer.welded_positions()[v] - bare.welded_positions()[v]);
      for (std::size_t v = 0; v < moved.size(); ++v) {
        farthest = std::max(farthest, static_cast<double>(moved[v].norm()));
        if (!last.empty()) quickest = std::max(quickest, static_cast<double>((moved[v] - last[v]).norm()));
      }
      last = moved;
    }
    EXPECT_GT(farthest, 1e-5);
    EXPECT_LT(quickest, 0.15 * farthest) << degrees;
  }
}

TEST(VolumeLayer, SheetsAreToldAndStay) {
  Scene scene = tube_scene();
  SceneMesh cape = scene.meshes[0];
  cape.name = "cape";
  Polygons left;
  for (std::size_t p = 0; p < cape.surface.polygons.size(); ++p) {
    bool above = true;
    for (const std::uint32_t v : cape.surface.polygons[p]) above &= cape.surface.positions[v].y() > 0.1f;
    if (above) left.add(cape.surface.polygons[p]);
  }
  cape.surface = make_mesh(cape.surface.positions, left);
  scene.meshes.push_back(cape);
  const auto character = make_kept(scene), without = make_character(scene, R"("lbs")");
  ASSERT_EQ(character->warnings().size(), 1u);
  EXPECT_NE(character->warnings()[0].find("'cape'"), std::string::npos) << character->warnings()[0];
  const Surface kept = perform(character, bent(*character, 90)), lost = perform(without, bent(*without, 90));
  const std::size_t first = character->meshes()[1].first_vertex;
  for (std::size_t v = first; v < kept.size(); ++v) ASSERT_EQ(kept[v], lost[v]);
  EXPECT_GT(largest_difference(kept, lost), 0.01 * kRadius);
}

TEST(VolumeLayer, StrengthIsAShare) {
  const Scene scene = tube_scene();
  const double rest = enclosed_volume({make_kept(scene)->rest(), make_kept(scene)->triangles()});
  const auto volume = [&](const std::string& layers) {
    const auto character = make_character(scene, layers);
    return enclosed_volume({perform(character, bent(*character, 90)), character->triangles()}) / rest;
  };
  const double lost = volume(R"("lbs")");
  EXPECT_LT(lost, 0.99);
  EXPECT_NEAR(volume(R"("lbs", {"method": "volume", "strength": 0.5})"), (1 + lost) / 2, 1e-6);
  EXPECT_NEAR(volume(R"("lbs", {"method": "volume", "strength": 0})"), lost, 1e-6);
}

TEST(VolumeLayer, ContactsStayAsTheyAre) {
  const Scene scene = test::shared_model("tube").scene;
  const auto pairs = [&](const std::string& layers, double share) {
    const auto character = make_character(scene, layers);
    Pose pose = character->rest_pose();
    sample_clip(scene.clips[0], share * scene.clips[0].duration(), pose);
    const Surface positions = perform(character, pose);
    EXPECT_TRUE(layers.find("volume") == std::string::npos ||
                largest_volume_error(*character, positions) < 1e-6);
    return self_intersections(MeshView{positions, character->triangles()}).size();
  };
  for (const double share : {0.75, 0.9, 1.0})
    EXPECT_LE(pairs(R"("dqs", "implicit", "volume")", share), 1.25 * pairs(R"("dqs", "implicit")", share) + 8)
        << share;
  EXPECT_GT(
      pairs(R"("dqs", "implicit", {"method": "volume", "respect_contact": false, "max_displacement": 10})",
            1),
      5u);
}

TEST(VolumeLayer, OpenMeshesKeepTheirBorders) {
  Scene scene = tube_scene();
  // Both ends cut off, and a hole beside the joint.
  Mesh& mesh = scene.meshes[0].surface;
  Polygons left;
  for (std::size_t p = 0; p < mesh.polygons.size(); ++p) {
    Vec3f middle = Vec3f::Zero();
    for (const std::uint32_t v : mesh.polygons[p])
      middle += mesh.positions[v] / static_cast<float>(mesh.polygons[p].size());
    if (std::abs(middle.x()) < 0.9f && (middle - Vec3f(0.2f, 0.2f, 0)).norm() > 0.1f)
      left.add(mesh.polygons[p]);
  }
  mesh = make_mesh(mesh.positions, left);
  const auto character = make_kept(scene), without = make_character(scene, R"("lbs")");
  const ClosedSurface closed = close_surface(character->rest().size(), character->triangles());
  ASSERT_EQ(closed.borders.size(), 3u);
  const Surface kept = perform(character, bent(*character, 90)), lost = perform(without, bent(*without, 90));
  EXPECT_LT(largest_volume_error(*character, kept), 1e-6);
  EXPECT_GT(largest_volume_error(*without, lost), 1e-3);
  for (const std::vector<std::uint32_t>& border : closed.borders)
    for (const std::uint32_t v : border) EXPECT_EQ(kept[v], lost[v]);
}

TEST(VolumeLayer, SaysWhatDoesNotHold) {
  const Scene scene = tube_scene(12, 8);
  const auto message = [&](const std::string& settings) -> std::string {
    try {
      make_kept(scene, settings);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message(R"("share_along": 0, "share_hinge": 0, "share_across": 0)").find("shares"),
            std::string::npos);
  EXPECT_NE(message(R"("profile": [{"along": 0.3}])").find("two points"), std::string::npos);
  EXPECT_NE(
      message(R"("joints": [{"joint": "*", "profile": [{"along": 0.3}, {"along": 0.2}]}])").find("joints: 0"),
      std::string::npos);
  EXPECT_NE(message(R"("weight": "nobody")").find("nobody"), std::string::npos);
  EXPECT_NE(message(R"("freedom_attribute": "_NONE")").find("_NONE"), std::string::npos);
  const auto unused = make_kept(scene, R"("joints": [{"joint": "nobody"}])");
  ASSERT_EQ(unused->warnings().size(), 1u);
  EXPECT_NE(unused->warnings()[0].find("nobody"), std::string::npos);
  EXPECT_NE(message(R"("preset": "bone")").find("rubber"), std::string::npos);
  EXPECT_NE(message(R"("strength": 5)").find("strength"), std::string::npos);
}

TEST(VolumeLayer, IdleWithoutFreeSkin) {
  Scene scene = tube_scene(12, 8);
  VertexAttribute paint{"_SIGMA", 1, {}};
  paint.values.assign(scene.meshes[0].surface.positions.size(), 0.0f);
  scene.meshes[0].attributes.push_back(paint);
  const auto character = make_kept(scene), without = make_character(scene, R"("lbs")");
  EXPECT_NE(character->layers()[1]->idle_because(), "");
  EXPECT_EQ(perform(character, bent(*character, 90)), perform(without, bent(*without, 90)));
  EXPECT_EQ(make_kept(tube_scene(12, 8))->layers()[1]->idle_because(), "");
}

TEST(VolumeLayer, OddPosesStayFinite) {
  const Scene scene = tube_scene();
  for (const std::string layers :
       {R"("lbs", "volume")", R"("dqs", {"method": "volume", "preset": "muscle"})"}) {
    const auto character = make_character(scene, layers);
    Performer performer(character);
    const auto expect_finite = [&](const Pose& pose, const char* what) {
      performer.perform(pose);
      for (const Vec3f& p : performer.welded_positions()) ASSERT_TRUE(p.allFinite()) << what;
    };
    const Pose start = bent(*character, 100);
    Pose pose = start;
    pose.joints[1].scale.setZero();
    expect_finite(pose, "no size");
    pose = start;
    pose.joints[0].scale.setZero();
    expect_finite(pose, "no size at all");
    pose = start;
    pose.joints[1].scale = {1, 0, 1};
    expect_finite(pose, "flat");
    pose = start;
    pose.joints[1].scale = {1, -1, 1};
    expect_finite(pose, "mirrored");
    pose = start;
    pose.joints[0].scale.setConstant(1e-12f);
    expect_finite(pose, "tiny");
    pose = start;
    pose.joints[0].scale.setConstant(1e7f), pose.joints[0].translation.setConstant(1e14f);
    expect_finite(pose, "huge");
    pose = start;
    pose.joints[1].translation.setConstant(1e14f);
    expect_finite(pose, "torn apart");
    expect_finite(bent(*character, 180), "folded flat");
    expect_finite(bent(*character, 180, Vec3f::UnitX()), "wrung out");
    // And nothing of it is remembered.
    performer.perform(start);
    EXPECT_EQ(perform(character, start),
              Surface(performer.welded_positions().begin(), performer.welded_positions().end()));
  }
}

TEST(VolumeLayer, SameBitsOnAnyNumberOfThreads) {
  ModelOptions options;
  options.vertices = test::kSanitized ? 800 : 6000;
  const Scene scene = test::shared_model("hand", options).scene;
  const auto character = make_character(scene, R"("dqs", "implicit", "volume")");
  Pose pose = character->rest_pose();
  sample_clip(scene.clips.back(), scene.clips.back().duration(), pose);
  const Surface many = perform(character, pose);
  tbb::task_arena arena(1);
  arena.execute([&] { EXPECT_EQ(perform(character, pose), many); });
}

}  // namespace
}  // namespace sinew
