#include <sinew/layers/flesh_layer.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sinew/character/bake.h>
#include <sinew/character/performer.h>
#include <sinew/character/seek.h>
#include <sinew/core/error.h>
#include <sinew/layers/suggest_flesh.h>

#include "tests/support/assets.h"
#include "tests/support/grid_tube.h"

namespace sinew {
namespace {

using Surface = std::vector<Vec3f>;

Scene tube_scene() {
  test::GridTubeOptions options;
  options.rings = 24;
  options.segments = 12;
  return test::make_grid_tube(options);
}

std::shared_ptr<const Character> make_character(const Scene& scene, const std::string& elements) {
  return Character::make(
      scene, parse_recipe(R"({"normals": false, "layers": ["dqs", {"method": "flesh", "elements": [)" +
                              elements + "]}]}",
                          "test"));
}

const FleshLayer& layer_of(const Character& character) {
  return dynamic_cast<const FleshLayer&>(*character.layers()[1]);
}

/// The tube thrown up and down.
Pose thrown(const Character& character, double t) {
  Pose pose = character.rest_pose();
  pose.joints[0].translation.y() += static_cast<float>(0.3 * std::sin(2 * std::numbers::pi * t));
  return pose;
}

/// The largest distance from where dual quaternions alone put it, over a second.
double largest_swing(const Scene& scene, const std::string& element, double rate = 30) {
  const auto character = make_character(scene, element);
  const auto plain = Character::make(scene, parse_recipe(R"({"normals": false})", "test"));
  Performer performer(character), bare(plain);
  double most = 0;
  for (int frame = 0; frame <= rate; ++frame) {
    performer.perform(thrown(*character, frame / rate), 1 / rate);
    bare.perform(thrown(*plain, frame / rate), 1 / rate);
    for (std::size_t v = 0; v < bare.welded_positions().size(); ++v)
      most = std::max(
          most, static_cast<double>((performer.welded_positions()[v] - bare.welded_positions()[v]).norm()));
  }
  return most;
}

std::string on_lower(const Scene& scene, const std::string& more = "") {
  return R"({"joint": ")" + scene.skeleton.joints[0].name + "\"" + more + "}";
}

TEST(FleshLayer, SwingsBehindItsBoneAndComesToRest) {
  const Scene scene = tube_scene();
  const auto character = make_character(scene, on_lower(scene));
  ASSERT_EQ(layer_of(*character).elements().size(), 1u);
  EXPECT_TRUE(character->has_history());
  Performer performer(character);
  performer.perform(character->rest_pose(), 1.0 / 30);
  EXPECT_TRUE(std::ranges::equal(performer.welded_positions(), character->rest()))
      << "at rest it hangs as it is";
  EXPECT_GT(largest_swing(scene, on_lower(scene)), 0.01);
  for (int frame = 0; frame < 30; ++frame) performer.perform(thrown(*character, frame / 30.0), 1.0 / 30);
  for (int frame = 0; frame < 240; ++frame) performer.perform(character->rest_pose(), 1.0 / 30);
  double left = 0;
  for (std::size_t v = 0; v < character->rest().size(); ++v)
    left =
        std::max(left, static_cast<double>((performer.welded_positions()[v] - character->rest()[v]).norm()));
  EXPECT_LT(left, 1e-5);
}

TEST(FleshLayer, MovesTheSkinOfItsJointOnly) {
  const Scene scene = tube_scene();
  const auto character = make_character(scene, on_lower(scene));
  for (const FleshVertex& v : layer_of(*character).elements()[0].flesh.vertices)
    EXPECT_LT(character->rest()[v.vertex].x(), 0.41f);
  // A ball of all skin.
  const auto whole = make_character(
      scene, on_lower(scene, R"(, "skin": "*", "region": [{"x": -0.5, "y": 0, "z": 0, "radius": 0.3}])"));
  for (const FleshVertex& v : layer_of(*whole).elements()[0].flesh.vertices)
    EXPECT_LT((character->rest()[v.vertex] - Vec3f(-0.5f, 0, 0)).norm(), 0.3f);
}

TEST(FleshLayer, FrameRatesAgree) {
  const Scene scene = tube_scene();
  const auto character = make_character(scene, on_lower(scene));
  const auto play = [&](double rate) {
    Performer performer(character);
    for (int frame = 0; frame <= rate; ++frame) performer.perform(thrown(*character, frame / rate), 1 / rate);
    return Surface(performer.welded_positions().begin(), performer.welded_positions().end());
  };
  const Surface fine = play(600);
  const double peak = largest_swing(scene, on_lower(scene), 600);
  for (const double rate : {24.0, 30.0, 60.0}) {
    const Surface coarse = play(rate);
    double worst = 0;
    for (std::size_t v = 0; v < fine.size(); ++v)
      worst = std::max(worst, static_cast<double>((coarse[v] - fine[v]).norm()));
    EXPECT_LT(worst, 0.02 * peak) << rate;
  }
}

TEST(FleshLayer, SettingsDoWhatTheySay) {
  const Scene scene = tube_scene();
  const double usual = largest_swing(scene, on_lower(scene));
  EXPECT_LT(largest_swing(scene, on_lower(scene, R"(, "frequency": 8)")), 0.5 * usual);
  EXPECT_LT(largest_swing(scene, on_lower(scene, R"(, "damping": 2)")), usual);
  EXPECT_NEAR(largest_swing(scene, on_lower(scene, R"(, "strength": 0.5)")), 0.5 * usual, 1e-6);
  EXPECT_LT(largest_swing(scene, on_lower(scene, R"(, "limit": 0.05)")), 0.011);
  // Mass and stiffness instead: 2.5 Hz and a quarter of the critical damping.
  const double omega = 2 * std::numbers::pi * 2.5;
  const std::string constants = R"(, "mass": 2, "stiffness": )" + std::to_string(2 * omega * omega) +
                                R"(, "damping_constant": )" + std::to_string(2 * 2 * omega * 0.25);
  EXPECT_NEAR(largest_swing(scene, on_lower(scene, constants)), usual, 1e-5);
  const auto count = [&](const std::string& more) {
    return layer_of(*make_character(scene, on_lower(scene, more))).elements()[0].flesh.vertices.size();
  };
  const auto shares = [&](const std::string& more) {
    const auto character = make_character(scene, on_lower(scene, more));
    double sum = 0;
    for (const FleshVertex& v : layer_of(*character).elements()[0].flesh.vertices) sum += v.share;
    return sum;
  };
  EXPECT_GT(shares(R"(, "attenuation": "none")"), shares(R"(, "attenuation": "parabola")"));
  EXPECT_GT(shares(R"(, "attenuation": "parabola")"), shares(""));
  EXPECT_EQ(count(R"(, "weight": ")" + scene.skeleton.joints[1].name + "\""),
            count(R"(, "skin": "*", "weight": ")" + scene.skeleton.joints[1].name + "\""));
}

TEST(FleshLayer, NoStrengthGoesBeyondTheLimit) {
  const Scene scene = tube_scene();
  for (const double limit : {0.05, 0.2, 1.0}) {
    const std::string limited = fmt::format(R"(, "limit": {})", limit);
    const auto character = make_character(scene, on_lower(scene, limited));
    const double most = limit * layer_of(*character).elements()[0].flesh.thickness;
    double last = 0;
    for (const double strength : {0.5, 1.0, 2.0, 4.0}) {
      const double swing =
          largest_swing(scene, on_lower(scene, limited + fmt::format(R"(, "strength": {})", strength)));
      EXPECT_LT(swing, most + 1e-6) << strength;
      EXPECT_GT(swing, last - 1e-6) << strength;
      last = swing;
    }
    EXPECT_EQ(largest_swing(scene, on_lower(scene, limited + R"(, "strength": 1)")),
              largest_swing(scene, on_lower(scene, limited)));
    if (limit < 0.1) EXPECT_GT(last, 0.95 * most) << "four times as strong it comes near the limit";
  }
}

TEST(FleshLayer, HangsDownWhereTheBoneHasTurned) {
  const Scene scene = tube_scene();
  const auto lowest = [&](const std::string& more) {
    const auto character = make_character(scene, on_lower(scene, more));
    Performer performer(character);
    Pose pose = character->rest_pose();
    pose.joints[0].rotation =
        Quatf(Eigen::AngleAxisf(std::numbers::pi_v<float>, Vec3f::UnitX())) * pose.joints[0].rotation;
    for (int frame = 0; frame < 200; ++frame) performer.perform(pose, 1.0 / 30);
    float low = 0;
    for (const Vec3f& p : performer.welded_positions()) low = std::min(low, p.y());
    return low;
  };
  EXPECT_LT(lowest(R"(, "gravity": 0.5)"), lowest(R"(, "gravity": 0)") - 0.02f);
  EXPECT_LT(lowest(R"(, "gravity": 1)"), lowest(R"(, "gravity": 0.5)") - 0.02f);
}

TEST(FleshLayer, TurnsBehindItsBoneOnRequest) {
  const Scene scene = tube_scene();
  const auto with = make_character(scene, on_lower(scene, R"(, "rotation": 1, "gravity": 0)")),
             without = make_character(scene, on_lower(scene, R"(, "gravity": 0)"));
  Performer turning(with), plain(without);
  double most = 0, left = 0;
  for (int frame = 0; frame <= 200; ++frame) {
    Pose pose = with->rest_pose();
    pose.joints[0].rotation =
        Quatf(Eigen::AngleAxisf(0.1f * static_cast<float>(std::min(frame, 6)), Vec3f::UnitX())) *
        pose.joints[0].rotation;
    turning.perform(pose, 1.0 / 30);
    plain.perform(pose, 1.0 / 30);
    left = 0;
    for (std::size_t v = 0; v < with->rest().size(); ++v)
      left = std::max(
          left, static_cast<double>((turning.welded_positions()[v] - plain.welded_positions()[v]).norm()));
    most = std::max(most, left);
  }
  EXPECT_GT(most, 0.01);
  EXPECT_LT(most, 0.12);
  EXPECT_LT(left, 1e-5) << "it comes after";
}

TEST(FleshLayer, SeeksAndForgetsTeleports) {
  const Scene scene = tube_scene();
  const auto character = make_character(scene, on_lower(scene, R"(, "rotation": 0.5)"));
  Performer straight(character), jumping(character);
  const Clip& clip = scene.clips[0];
  for (int frame = 0; frame <= 20; ++frame) {
    Pose pose = character->rest_pose();
    sample_clip(clip, frame / 30.0, pose);
    straight.perform(pose, 1.0 / 30);
  }
  seek(jumping, clip, 5);
  seek(jumping, clip, 20);
  EXPECT_TRUE(std::ranges::equal(straight.welded_positions(), jumping.welded_positions()));
  // A teleport, and times that are none.
  const float inf = std::numeric_limits<float>::infinity();
  for (const float far : {5.0f, 1e6f, inf, std::nanf("")}) {
    Pose pose = character->rest_pose();
    pose.joints[0].translation.x() += far;
    for (const double seconds : {1.0 / 30, 0.0, -1.0, 1e-9, 1e9, std::nan("")}) {
      jumping.perform(pose, seconds);
      for (const Vec3f& p : jumping.welded_positions()) ASSERT_TRUE(p.allFinite());
    }
    for (int frame = 0; frame < 200; ++frame) jumping.perform(character->rest_pose(), 1.0 / 30);
    for (std::size_t v = 0; v < character->rest().size(); ++v)
      ASSERT_LT((jumping.welded_positions()[v] - character->rest()[v]).norm(), 1e-3f) << far;
  }
}

/// Keeps all frames of the first mesh.
class Recorder : public FrameWriter {
 public:
  std::vector<std::filesystem::path> outputs() const override { return {}; }
  void write_frame(std::span<const MeshFrame> meshes) override {
    frames.emplace_back(meshes[0].positions.begin(), meshes[0].positions.end());
  }
  void finish() override {}
  std::vector<Surface> frames;
};

TEST(FleshLayer, LoopsAreBakedWithoutASeam) {
  const Scene scene = tube_scene();
  const auto character = make_character(scene, on_lower(scene, R"(, "damping": 0.1)"));
  const auto seam = [&](int loop_frames) {
    BakeOptions options;
    options.last_frame = 30;  // the same pose as frame 0
    options.loop_frames = loop_frames;
    options.set_pose = [&](int frame, Pose& pose) { pose = thrown(*character, frame / 30.0); };
    Recorder recorder;
    bake(character, options, recorder);
    double widest = 0;
    for (std::size_t v = 0; v < recorder.frames[0].size(); ++v)
      widest = std::max(widest, static_cast<double>((recorder.frames[0][v] - recorder.frames[30][v]).norm()));
    return widest;
  };
  EXPECT_GT(seam(0), 0.005);
  EXPECT_LT(seam(30), 0.002);
}

TEST(FleshLayer, SaysWhatDoesNotFit) {
  const Scene scene = tube_scene();
  const auto message = [&](const std::string& element) -> std::string {
    try {
      make_character(scene, element);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message(R"({"joint": "nobody"})").find("nobody"), std::string::npos);
  EXPECT_NE(message(on_lower(scene, R"(, "to": "nobody")")).find("to: no joint below"), std::string::npos);
  EXPECT_NE(message(on_lower(scene, R"(, "attribute": "_NONE")")).find("_NONE"), std::string::npos);
  EXPECT_NE(message(on_lower(scene, R"(, "mass": 1)")).find("stiffness"), std::string::npos);
  EXPECT_NE(message(on_lower(scene, R"(, "frequency": 0)")).find("frequency"), std::string::npos);
}

TEST(FleshLayer, IsFoundByItself) {
  // By thickness, where names say nothing.
  Scene scene = tube_scene();
  const auto found = Character::make(scene, parse_recipe(R"({"layers": ["dqs", "flesh"]})", "test"));
  EXPECT_EQ(found->layers()[1]->idle_because(), "");
  const std::vector<FleshChoice> thick = suggest_flesh(*found);
  EXPECT_TRUE(std::ranges::any_of(
      thick, [&](const FleshChoice& choice) { return choice.joint == scene.skeleton.joints[0].name; }));
  // By name.
  scene.skeleton.joints[0].name = "Left_UpLeg";
  ASSERT_EQ(suggest_flesh(*Character::make(scene, Recipe())).size(), 1u);
  EXPECT_EQ(suggest_flesh(*Character::make(scene, Recipe()))[0].name, "thigh");
  scene.skeleton.joints[0].name = "pelvis";
  scene.skeleton.joints[1].name = "spine_01";
  const std::vector<FleshChoice> belly = suggest_flesh(*Character::make(scene, Recipe()));
  ASSERT_EQ(belly.size(), 1u);
  EXPECT_EQ(belly[0].name, "belly");
  EXPECT_EQ(belly[0].to, "spine_01");
  // A thin thing has none.
  for (SceneMesh& mesh : scene.meshes)
    for (Vec3f& p : mesh.surface.positions) p.y() *= 0.01f, p.z() *= 0.01f;
  EXPECT_TRUE(suggest_flesh(*Character::make(scene, Recipe())).empty());
  const auto idle = Character::make(scene, parse_recipe(R"({"layers": ["dqs", "flesh"]})", "test"));
  EXPECT_NE(idle->layers()[1]->idle_because(), "");
}

TEST(FleshLayer, IsFoundOnRealCharacters) {
  const std::pair<const char*, std::size_t> expected[] = {{"human.glb", 7}, {"fox.glb", 4}};
  for (const auto& [name, count] : expected) {
    const auto path = test::asset(name);
    if (!path) GTEST_SKIP() << test::missing_asset(name);
    const Scene scene = read_scene(*path);
    EXPECT_EQ(suggest_flesh(*Character::make(scene, Recipe())).size(), count) << name;
  }
}

}  // namespace
}  // namespace sinew
